"""Packed text files: the same table as the file itself, by the ending of the name; damage is an error, and shows no cell."""

import bz2
import gzip
import lzma

import pandas as pd
import pytest

from sdv_plausible import fit_source, read_csv
from sdv_plausible.cli.main import main
from sdv_plausible.table.files.csv_files import csv_columns
from sdv_plausible.table.files.text_files import open_text

TYPES = {"town": {"sdtype": "categorical"}, "age": {"sdtype": "numerical"}}
TEXT = "town,age\n" + "".join(f'"Zü\r\nrich {i % 7}",{i % 90}\n' for i in range(5_000))
PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.fixture(params=PACKERS)
def packed(request, tmp_path):
    path = tmp_path / f"people.csv{request.param}"
    path.write_bytes(PACKERS[request.param](TEXT.encode()))
    return path


def test_a_packed_file_is_read_as_the_file_itself(packed, tmp_path):
    plain = tmp_path / "people.csv"
    plain.write_bytes(TEXT.encode())
    pd.testing.assert_frame_equal(read_csv(packed, TYPES), read_csv(plain, TYPES))
    assert csv_columns(packed) == ["town", "age"]
    assert read_csv(packed, TYPES)["town"][0] == "Zü\r\nrich 0"  # line ends inside of cells are the cell's


def test_a_damaged_file_is_an_error_that_shows_no_cell(packed):
    whole = packed.read_bytes()
    damaged = {"cut off": whole[: len(whole) // 2], "another kind": TEXT.encode(), "empty": b""}
    damaged["flipped"] = whole[:40] + bytes(byte ^ 255 for byte in whole[40:60]) + whole[60:]
    for what, data in damaged.items():
        packed.write_bytes(data)
        with pytest.raises(
            ValueError, match=r"cannot be read|no header line|encoding|not CSV|cells"
        ) as error:
            read_csv(packed, TYPES)
        assert "rich" not in str(error.value), what


def test_what_holds_no_text_is_named(tmp_path, capsys):
    for ending in (".xlsx", ".zip", ".sav"):
        path = tmp_path / f"people{ending}"
        path.write_bytes(b"PK\x03\x04")
        with pytest.raises(ValueError, match="not a text file, judging by its ending: save the table as CSV"):
            open_text(path, "utf-8")
        assert main(["synthesize", str(path), "-o", str(tmp_path / "rows.csv")]) == 2
        assert "save the table as CSV" in capsys.readouterr().err


def test_sources_take_packed_files(packed):
    domain = {"town": TYPES["town"], "age": {"range_min": 0, "range_max": 99}}
    for source in (packed, packed.parent):
        assert len(fit_source(source, domain=domain, epsilon=5.0).sample(10)) == 10

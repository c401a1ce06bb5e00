"""A column whose cells are written otherwise than the file is said to be comes out missing: ``check`` and ``fit`` say so."""

import json
import re

import numpy as np
import pytest

from sdv_plausible import Release
from sdv_plausible.cli.main import main

ROWS = 2000
DOMAIN = {
    "price": {"sdtype": "numerical", "range_min": 0.0, "range_max": 100.0},
    "size": {"sdtype": "numerical"},
    "many": {"sdtype": "numerical", "range_min": 0.0, "range_max": 100.0, "range_is_nullable": True},
    "grade": {"sdtype": "categorical", "range_values": ["A", "B", "C"]},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Prices with points, and a file that is said to have commas; the grades are read, and half of ``many``."""
    folder, rng = tmp_path_factory.mktemp("points"), np.random.default_rng(0)
    lines = ["price;size;many;grade"]
    for i, (price, size) in enumerate(rng.uniform(0, 35, (ROWS, 2))):
        many = f"{price:.2f}".replace(".", "," if i % 2 else ".")
        lines.append(f"{price:.2f};{size:.1f};{many};{'ABC'[i % 3]}")
    (folder / "table.csv").write_text("\n".join(lines))
    (folder / "domain.json").write_text(json.dumps(DOMAIN))
    return folder


def done(command, folder, *more, domain="domain.json", output=None):
    words = [command, folder / "table.csv", *(["--domain", folder / domain] if domain else []), *more]
    return main([*map(str, [*words, *(["-o", output] if output else [])])])


def test_fit_names_the_columns_that_come_out_missing(folder, capsys):
    """From answers alone: with and without a range. Control: a column of which half is missing, and one that is read."""
    assert done("fit", folder, "--decimal", ",", output=folder / "a.release") == 0
    said = capsys.readouterr().err
    table = said[said.index("  column") :]
    start, end = table.index("what happened"), table.index("what to do")
    happened, name = {}, ""
    for line in table.splitlines():
        name = line[:start].strip() or name
        happened[name] = f"{happened.get(name, '')} {line[start:end].strip()}"
    named = [name for name, text in happened.items() if "could not be read" in text]
    assert named == ["price", "size"]
    for name in named:
        assert re.match(r" [0-9]+% of the cells are missing or could not be read", happened[name])
    assert "Dates must lie in the years 1678 to 2262" in " ".join(said.split())
    assert "no value was common" not in said, "it is not the noise that hides them"
    rows = Release.load(folder / "a.release").sample(100)
    assert rows["price"].isna().mean() > 0.9


def test_check_names_them_too(folder, capsys):
    (folder / "again.json").write_text(json.dumps(DOMAIN))
    assert done("check", folder, "--decimal", ",", domain="again.json") == 0
    found = capsys.readouterr()
    told = f"cells that cannot be read, and count as missing: price {ROWS:,}, many {ROWS // 2:,}. If"
    assert told in found.err
    assert "every cell matches" not in found.out


def test_check_counts_codes_that_are_declared_as_numbers(tmp_path, capsys):
    """They are read as numbers, and lose their zeros. Control: decimals, a category, and the same without zeros."""
    told, domain = [], {
        "county": {"range_min": 0, "range_max": 99_999, "decimal_places": 0},
        "share": {"sdtype": "numerical"},
        "town": {"range_values": ["01", "02", "03"]},
    }  # fmt: skip
    (tmp_path / "domain.json").write_text(json.dumps(domain))
    for county in ("07001", "17001"):
        rows = f"county,share,town\n{county},0.5,01\n17002,0.25,02\n+17003,1e-3,03\n"
        (tmp_path / "table.csv").write_text(rows)
        assert done("check", tmp_path) == 0
        found = capsys.readouterr()
        told.append(re.findall(r"written as codes: (.*?)\. A number", found.err))
        assert "every cell matches" not in found.out
    assert told == [["county 2"], ["county 1"]], "of the plus alone the second time"


def test_cells_with_points_are_voted_for_as_such(folder, capsys):
    """The vote saw them, and the fit ended with an error after it was paid."""
    assert (
        done("fit", folder, "--decimal", ",", "--epsilon", "5", domain=None, output=folder / "b.release") == 0
    )
    capsys.readouterr()
    release = Release.load(folder / "b.release")
    assert release.domain["price"].number_format == "1234.5"
    prices = release.sample(200)["price"].dropna()
    assert len(prices) > 180
    assert all(re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", str(price)) for price in prices)

"""Damaged files: read cell by cell as a second, slow reader of the test's own reads them, or refused in one line without a value.

The comparison is exact: no false alarm. A reader that mends what is damaged is planted, and caught on given files, surely.
"""

import json
import random
import sys

import numpy as np
import pandas as pd
import pytest

from sdv_plausible import read_csv
from sdv_plausible.cli.main import main
from sdv_plausible.table.columns.cell_reader import CellReader, Spelling
from sdv_plausible.table.declared.column_types import column_types

SECRET = "Zq8canary"  # in many cells; no message may show it, or any part of four letters
DECLARED = {
    "age": {"range_min": 0, "range_max": 110},
    "name": {"sdtype": "categorical"},
    "grade": {"range_values": [1, 2, 3]},
    "start": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"},
    "member": {"sdtype": "boolean"},
}
FINE = "\n".join(
    [",".join(DECLARED)]
    + [f"{20 + i},{SECRET}{i},{i % 3 + 1},2020-01-{i + 1:02d},{'yes' if i % 2 else 'no'}" for i in range(9)]
    + [f'"7","{SECRET} ""quoted"", and",n/k,{SECRET},"two\nlines"', ",,,,", ""]
).encode()
PIECES = [
    b",", b'"', b"\n", b"\r", b"\r\n", b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xc3", b";", b"\t", b'""', b",,",
    b'"\n', b"-", b"0", b"\xe2\x80\xa8",
]  # fmt: skip


class RefusedError(Exception):
    """The test's reader finds the file malformed."""


def parse(text):
    """Records of a CSV text, character by character (RFC 4180; a quote inside a cell without quotes is itself)."""
    records, record, cell, state, i = [], [], "", "start", 0  # of a cell: start, plain, quoted, closed

    def end_record():
        nonlocal record, cell, state
        if record or cell or state != "start":
            records.append([*record, cell])
        record, cell, state = [], "", "start"

    while i < len(text):
        c = text[i]
        if state == "quoted":
            state, cell = ("closed", cell) if c == '"' else (state, cell + c)
        elif state == "closed" and c == '"':
            state, cell = "quoted", cell + c
        elif c == ",":
            record, cell, state = [*record, cell], "", "start"
        elif c in "\r\n":
            end_record()
            i += c == "\r" and text[i + 1 : i + 2] == "\n"
        elif state == "closed":
            raise RefusedError("text behind a quoted cell")
        elif state == "start" and c == '"':
            state = "quoted"
        else:
            state, cell = "plain", cell + c
        i += 1
    if state == "quoted":
        raise RefusedError("a quote is never closed")
    end_record()
    return records


def slow_reader(content):
    """The declared columns, each cell read alone by a reader of its own."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RefusedError from error
    if "\x00" in text and sys.version_info < (3, 11):
        raise RefusedError("Python's csv module takes no NUL yet")
    header, *rows = parse(text) or [[]]
    header = [name.removeprefix("\ufeff") if j == 0 else name for j, name in enumerate(header)]
    fine = (
        header
        and all(map(str.strip, header))
        and len(set(header)) == len(header)
        and {*DECLARED} <= {*header}
    )
    if not fine or any(len(row) != len(header) for row in rows):
        raise RefusedError("the header, or a row's length")
    types = column_types(DECLARED)
    return {
        name: [CellReader(types[name], Spelling()).read([row[j]])[0] for row in rows]
        for j, name in enumerate(header)
        if name in DECLARED
    }


def damaged(rng):
    """A fine file with one to four damages, or none, or nothing but random bytes."""
    if rng.random() < 0.05:
        return rng.randbytes(rng.randrange(60))
    content = bytearray(FINE)
    for _ in range(rng.choice([0, 1, 1, 2, 4])):
        a, b = sorted(rng.randrange(len(content) + 1) for _ in range(2))
        match rng.randrange(5):
            case 0:
                content[a:a] = rng.choice(PIECES)
            case 1:
                content[a : min(b, a + 3)] = b""
            case 2:
                content[a:b] = content[a:b] * 2
            case 3:
                content = content[:b]
            case 4:
                content[a : a + 1] = rng.randbytes(1)
    return bytes(content)


def check_message(message):
    assert "\n" not in message.strip()
    assert not [SECRET[i : i + 4] for i in range(len(SECRET) - 3) if SECRET[i : i + 4] in message], message


def check_file(path, content, read=read_csv):
    """Whether a file is accepted: then it is read cell by cell, else refused in one line that quotes nothing."""
    path.write_bytes(content)
    try:
        table = read(path, DECLARED)
    except ValueError as error:
        check_message(str(error))
        with pytest.raises(RefusedError):
            slow_reader(content)
        return False
    expected = slow_reader(content)
    assert table.columns.tolist() == list(expected)
    for name, cells in expected.items():
        found = table[name].to_numpy()
        assert found.dtype == (np.float64 if name == "age" else object)
        assert [(type(a), repr(a)) for a in found] == [(type(b), repr(b)) for b in cells], name
    return True


def fuzz(folder, number, seed):
    rng = random.Random(seed)
    return sum(check_file(folder / "t.csv", damaged(rng)) for _ in range(number))


def test_damaged_files(tmp_path):
    assert 10 < fuzz(tmp_path, 80, seed=1) < 70  # both kinds are met


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2, 12))
def test_ten_thousand_damaged_files(tmp_path, seed):
    fuzz(tmp_path, 1000, seed)


def mending(path, declared):
    """A reader that leaves out rows of a wrong length, as pandas can."""
    how = {"keep_default_na": False, "on_bad_lines": "skip", "encoding_errors": "replace"}
    table, types = pd.read_csv(path, dtype=str, **how), column_types(declared)
    return pd.DataFrame({n: CellReader(types[n], Spelling()).read(table[n].tolist()) for n in declared})


def quoting(path, declared):
    """A reader whose error quotes the line."""
    lines = path.read_text().splitlines()
    wrong = [line for line in lines if line.count(",") != lines[0].count(",")]
    if wrong:
        raise ValueError(f"bad line: {wrong[0]}")
    return read_csv(path, declared)


@pytest.mark.parametrize("read", [mending, quoting])
def test_readers_that_mend_or_quote_are_caught(tmp_path, read):
    longer = FINE.replace(f",{SECRET}3,".encode(), f",{SECRET}3,{SECRET},".encode())
    with pytest.raises((AssertionError, RefusedError)):
        check_file(tmp_path / "t.csv", longer, read)


def test_the_command_line_on_damaged_files(tmp_path, capsys):
    """``check`` reads as ``synthesize`` does, and fits nothing."""
    (tmp_path / "domain.json").write_text(json.dumps(DECLARED))
    rng, codes = random.Random(99), set()
    for _ in range(60):
        (tmp_path / "t.csv").write_bytes(damaged(rng))
        codes.add(main(["check", str(tmp_path / "t.csv"), "--domain", str(tmp_path / "domain.json")]))
        shown = capsys.readouterr()
        check_message(shown.err)
        assert SECRET not in shown.out
        assert "Traceback" not in shown.err
    assert codes == {0, 2}

"""The reader is found by the file's ending, or named."""

import json
import re
from copy import copy

import numpy as np
import pandas as pd
import pytest

from sdv_plausible import fit_source
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.table.declared.codebook import CODEBOOK_FORMATS, read_codebook


def test_by_ending_or_by_name(tmp_path):
    for name, form in (("book.csv", None), ("book.txt", "csv")):
        (tmp_path / name).write_text("name,type\na,id\n")
        assert read_codebook(tmp_path / name, form).columns == {"a": {"sdtype": "id", "source": name}}
    with pytest.raises(ValueError, match=r"ending '\.docx'"):
        read_codebook(tmp_path / "book.docx")
    with pytest.raises(ValueError, match=r"format \('excel'\) must be one of c45, csv"):
        read_codebook(tmp_path / "book.csv", "excel")


def test_json_is_one_of_four(tmp_path):
    path = tmp_path / "book.json"
    for document, found in (
        ({"a": {"description": "x", "values": {"1": "x"}}}, {"sdtype": "categorical", "range_values": [1]}),
        ({"properties": {"a": {"enum": ["x"]}}, "required": ["a"]},
         {"sdtype": "categorical", "range_values": ["x"], "range_is_nullable": False}),
        ({"fields": [{"name": "a", "type": "boolean"}]},
         {"sdtype": "boolean", "range_values": [False, True], "range_is_nullable": True}),
        ({"schema_type": "dataframe", "columns": {"a": {"dtype": "bool", "checks": None}}},
         {"sdtype": "boolean", "range_values": [False, True]}),
        ({"schema_type": "dataframe", "columns": {"a": {"dtype": "bool", "checks": None}}, "properties": {}, "fields": []},
         {"sdtype": "boolean", "range_values": [False, True]}),
    ):  # fmt: skip
        path.write_text(json.dumps(document))
        assert read_codebook(path).columns == {"a": {**found, "source": "book.json"}}


def test_json_that_two_readers_recognize_is_read_as_named_only(tmp_path):
    path = tmp_path / "book.json"
    path.write_text(
        json.dumps({"properties": {"a": {"enum": ["x"]}}, "fields": [{"name": "b", "type": "boolean"}]})
    )
    with pytest.raises(
        ValueError, match=r"book\.json can be read as frictionless and as json-schema: choose one"
    ):
        read_codebook(path)
    assert list(read_codebook(path, "frictionless").columns) == ["b"]
    assert list(read_codebook(path, "json-schema").columns) == ["a"]


KINDS, RANGE = {"a": "number", "b": "integer"}, {"minimum": 0, "maximum": 35}
NUMBERS = {
    "csv": ("book.csv", "name,type,min,max\na,number,0,35\nb,integer,0,35\n"),
    "frictionless": (
        "book.json",
        json.dumps({"fields": [{"name": name, "type": kind, "constraints": RANGE} for name, kind in KINDS.items()]}),
    ),
    "json-schema": (
        "book.json", json.dumps({"properties": {name: {"type": kind, **RANGE} for name, kind in KINDS.items()}})
    ),
    "pandera": (
        "book.json",
        json.dumps({"schema_type": "dataframe", "columns": {
            name: {"dtype": kind, "checks": {"in_range": {"min_value": 0, "max_value": 35}}}
            for name, kind in (("a", "float64"), ("b", "int64"))
        }}),
    ),
    "sql": (
        "book.sql",
        "CREATE TABLE t (a DOUBLE PRECISION CHECK (a BETWEEN 0 AND 35), b INTEGER CHECK (b BETWEEN 0 AND 35))",
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", NUMBERS)
def test_whole_ends_say_nothing_of_digits(form, tmp_path):
    """Of numbers that may have some, digits are learned; whole numbers stay whole.

    5,000 rows stand out from noise of some rows by far: a false alarm is below 1e-9.
    """
    name, text = NUMBERS[form]
    if form == "sql":
        pytest.importorskip("sqlglot")
    (tmp_path / name).write_text(text)
    columns = read_codebook(tmp_path / name, form).columns
    assert [type(columns["a"][end]) for end in ("range_min", "range_max")] == [float, float]
    assert "decimal_places" not in columns["a"]
    assert columns["b"]["decimal_places"] == 0
    rng = np.random.default_rng(1)
    rows = pd.DataFrame(
        {"a": rng.choice([5.32, 7.97, 14.07, 12.61], 5000), "b": rng.integers(0, 36, 5000)}, dtype=object
    )
    domain = {name: {k: v for k, v in words.items() if k != "source"} for name, words in columns.items()}
    made = fit_source(rows, domain=domain, epsilon=20.0).sample(200)
    assert (made["a"].astype(float) % 1 > 0).mean() > 0.9
    assert (made["b"].dropna().astype(float) % 1 == 0).all()


FIELDS = [
    {"name": "id", "type": "integer", "constraints": {"unique": True}},
    {"name": "a", "type": "integer", "constraints": {"minimum": 0, "maximum": 9, "required": True}},
    {"name": "d", "type": "date", "format": "default", "constraints": {"minimum": "2000-01-01"}},
    {"name": "c", "type": "string", "categories": [{"value": "1", "label": "x"}]},
    {"name": "t", "type": "boolean", "trueValues": ["ja"], "falseValues": ["nein"]},
]
RECORD = {
    "a": {"type": "integer", "minimum": 0, "exclusiveMaximum": 9}, "b": {"enum": ["x", None]},
    "c": {"type": ["number", "null"], "multipleOf": 0.01}, "d": {"type": "string", "format": "date"},
}  # fmt: skip
COLUMNS = {
    "a": {"dtype": "int64", "nullable": False, "checks": {"in_range": {"min_value": 0, "max_value": 9}}},
    "b": {"dtype": "str", "checks": [{"value": ["x", "y"], "options": {"check_name": "isin"}}]},
    "c": {"dtype": "float64", "checks": {"greater_than": 3}},
}
BOOKS = {
    "c45": (".names", "no, yes. | classes\nage: continuous.\nsex: Female, Male.\nn: discrete 4.\n"),
    "csv": (
        ".csv",
        "name,type,min,max,values,missing,decimals,format\nage,integer,0,99,,no,,\nsex,category,,,1|2,yes,,\n"
        "born,date,1900-01-01,2020-12-31,,,,%Y-%m-%d\npay,number,0,1e6,,,2,\n",
    ),
    "ddi": (
        ".xml",
        '<codeBook><var name="AGE"><valrng><range min="0" max="120"/></valrng><invalrng><item VALUE="999"/>'
        '</invalrng></var><var name="SEX"><catgry missing="Y"><catValu>9</catValu></catgry><catgry>'
        "<catValu>1</catValu></catgry></var></codeBook>",
    ),
    "frictionless": (".json", json.dumps({"fields": FIELDS, "missingValues": [""], "primaryKey": ["id"]})),
    "json-schema": (".json", json.dumps({"items": {"required": ["a"], "properties": RECORD}})),
    "nist": (
        ".json",
        json.dumps(
            {
                "AGEP": {"description": "age", "values": {"min": "0", "max": "99", "N": "none"}},
                "SEX": {"description": "sex", "values": {"1": "m", "2": "f"}},
            }
        ),
    ),
    "pandera": (".json", json.dumps({"schema_type": "dataframe", "columns": COLUMNS, "checks": None})),
    "sps": (
        ".sps",
        "VARIABLE LABELS age 'Age' sex 'Sex'.\nVALUE LABELS sex 1 'male' 2 'it''s' /age -1 'none'.\n"
        "MISSING VALUES sex (9) age (-1, 98 THRU 99).\n",
    ),
    "sql": (
        ".sql",
        "CREATE TABLE t (id INT PRIMARY KEY, age INTEGER CHECK (age BETWEEN 0 AND 120), pay DECIMAL(8,2), "
        "sex CHAR(1) CHECK (sex IN ('m', 'f')));\n",
    ),
    "statistics": (".sav", ""),
}
"""A code book of every form; that of a statistics package is made by the test."""
STRANGE = (None, [], {}, 1, -1.5, "x", True, [None], [[1]], {"x": None}, 10**400, "9" * 5000)
OTHER_WORDS = re.compile(
    r"object (is not|has no)|unhashable|codec can|argument of|\(char \d|cannot convert|Error\b|Traceback"
)


def other_trees(node, put=lambda tree: tree):
    """A document with something strange in every place, and without every entry."""
    for strange in STRANGE:
        yield put(strange)
    keys = [*node] if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in keys:
        others = copy(node)
        del others[key]
        yield put(others)

        def within(tree, key=key):
            changed = copy(node)
            changed[key] = tree
            return put(changed)

        yield from other_trees(node[key], within)


def damaged(ending, data):
    """A code book cut off, spoilt and in other encodings."""
    few = ending == ".sav"  # each is read by a process of its own
    for i in range(0, len(data), len(data) // (2 if few else 40)):
        yield data[:i]
    if few:
        yield data[:180] + b"\xff" + data[181:]  # which ends the process that reads it
        yield b"\0" * 400
        return
    for i in range(0, len(data), len(data) // 20):
        for spoilt in (b"\xff", b"\0", b'"', b"'", b"9" * 400, b"(", b"\x1b[2J"):
            yield data[:i] + spoilt + data[i:]
    text = data.decode()
    yield from (text.encode("utf-16"), (text + "# \xe9").encode("latin-1"), b" \n", b"PK\x03\x04" + bytes(99))
    yield from (b"[" * 100_000, b"(" * 20_000, b"<a>" * 20_000, bytes(range(256)))
    yield from (other.encode() for _, other in BOOKS.values())
    lines = text.splitlines(keepends=True)
    yield from ("".join(lines[:i] + lines[i + 1 :]).encode() for i in range(len(lines)))
    yield from ("".join(lines[: i + 1] + lines[i:]).encode() for i in range(len(lines)))
    if ending == ".json":
        yield from (json.dumps(tree).encode() for tree in other_trees(json.loads(data)))
    elif ending == ".csv":
        rows = [line.split(",") for line in text.splitlines()]
        for j in range(len(rows[0])):
            yield "\n".join(",".join(row[:j] + row[j + 1 :]) for row in rows).encode()
            for other in ("x", "1e999", "nan", "|||", "9" * 400, "%"):
                yield "\n".join(",".join([*row[:j], other, *row[j + 1 :]]) for row in rows).encode()
    elif ending == ".xml":
        bomb = '<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]>'
        for head in (bomb, bomb.lower(), *(f'<?xml version="1.0" encoding="{e}"?>' for e in ("utf-16", "x"))):
            yield (head + text).encode()
        yield from (text.replace(found, f'"{s}"').encode() for found in re.findall('"[^"]*"', text)
                    for s in ("", "x", "nan", "1e999", "9" * 5000))  # fmt: skip


def refusal(path, form):
    """What reading a code book ends in, if it is not read."""
    try:
        assert isinstance(read_codebook(path, form).lines, list)
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("form", CODEBOOK_FORMATS)
def test_a_damaged_code_book_ends_in_one_line_that_names_the_file(form, tmp_path):
    ending, text = BOOKS[form]
    path = tmp_path / f"its name{ending}"
    if form == "sql":
        pytest.importorskip("sqlglot")
    if form == "statistics":
        pyreadstat = pytest.importorskip("pyreadstat")
        pyreadstat.write_sav(
            pd.DataFrame({"a": [1.0, 2.0], "s": ["x", "y"]}), str(path), missing_ranges={"a": [9.0]},
            variable_value_labels={"a": {1.0: "one"}},
        )  # fmt: skip
    else:
        path.write_text(text)
    whole = path.read_bytes()
    assert read_codebook(path, form).columns
    refused = 0
    for data in damaged(ending, whole):
        path.write_bytes(data)
        if (error := refusal(path, form)) is not None:
            refused, said = refused + 1, str(error)
            assert type(error) in (ValueError, Refused), (data[:500], error)
            assert str(path) in said, (data[:500], said)
            assert len(said) < 600 + len(str(path)), said
            assert said.isprintable(), said
            assert not OTHER_WORDS.search(said), said
    assert refused >= 3
    path.write_bytes(whole[: len(whole) // 2])
    if ending in (".json", ".xml", ".sav"):
        with pytest.raises(ValueError, match=re.escape(str(path))):
            read_codebook(path, form)

"""CREATE TABLE, as far as it is read."""

from __future__ import annotations

import pytest

from sdv_plausible.declaring.sql import read_sql

TABLE = """
-- people
CREATE TABLE IF NOT EXISTS survey.people (
    id INTEGER PRIMARY KEY,
    age SMALLINT NOT NULL CHECK (age BETWEEN 0 AND 110),
    "pay per year" DECIMAL(10, 2) CHECK ("pay per year" >= 0 AND "pay per year" <= 1e6),
    weeks INT CHECK (weeks > 0 AND (weeks < 53)),
    sex ENUM('f', 'm', 'it''s') NOT NULL,
    region CHAR(1) CHECK (region IN ('N', 'S')),
    grade INT,
    member BOOLEAN DEFAULT FALSE,
    born DATE, seen TIMESTAMP, /* a
    comment */ name VARCHAR(80),
    share REAL CHECK (share >= 0),
    odd INT CHECK (odd % 2 = 1) CHECK (odd < 0 OR odd > 9),
    CONSTRAINT grades CHECK (grade IN (1, 2, 3)),
    CHECK (age < weeks),
    UNIQUE (name)
);
"""


def written(tmp_path, text):
    path = tmp_path / "table.sql"
    path.write_text(text)
    return path


def test_every_column(tmp_path):
    found = read_sql(written(tmp_path, TABLE))
    whole = {"sdtype": "numerical", "decimal_places": 0}
    assert found.columns == {
        "id": {**whole, "range_is_nullable": False},
        "age": {**whole, "range_min": 0, "range_max": 110, "range_is_nullable": False},
        "pay per year": {
            "sdtype": "numerical", "decimal_places": 2, "range_min": 0, "range_max": 1e6, "range_is_nullable": True,
        },
        "weeks": {**whole, "range_min": 1, "range_max": 52, "range_is_nullable": True},
        "sex": {"sdtype": "categorical", "range_values": ["f", "m", "it's"], "range_is_nullable": False},
        "region": {"sdtype": "categorical", "range_values": ["N", "S"], "range_is_nullable": True},
        "grade": {"sdtype": "categorical", "range_values": [1, 2, 3], "range_is_nullable": True},
        "member": {"sdtype": "boolean", "range_values": [False, True], "range_is_nullable": True},
        "born": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d", "range_is_nullable": True},
        "seen": {"sdtype": "datetime", "range_is_nullable": True},
        "name": {"sdtype": None},
        "share": {"sdtype": "numerical", "range_is_nullable": True},
        "odd": {**whole, "range_is_nullable": True},
    }  # fmt: skip
    said = "\n".join(found.messages)
    for words in (
        "odd: the CHECK odd % 2 = 1 is not read",
        "odd: the CHECK odd < 0 OR odd > 9 is not read",
        "the CHECK age < weeks is not read",
        "share: no range is told",
        "name: no values",
    ):
        assert words in said


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "must hold one CREATE TABLE, and holds 0"),
        ("CREATE TABLE a (b INT); CREATE TABLE c (d INT);", "holds 2"),
        ("CREATE TABLE a (b INT", "is not closed"),
        ("CREATE TABLE a", "is not closed"),
        ("CREATE TABLE a ()", "no columns"),
        ("CREATE TABLE a (b INT CHECK (b BETWEEN 3 AND 1))", "no number is between 3 and 1"),
        ("CREATE TABLE a (b INT, b INT)", "two columns 'b'"),
        ("CREATE TABLE a (b ENUM('x))", "line 1 is not understood"),
    ],
)
def test_damaged(tmp_path, text, words):
    with pytest.raises(ValueError, match=words):
        read_sql(written(tmp_path, text))

"""CREATE TABLE, as far as it is read."""

import sys

import pytest

from sdv_plausible.extensions.codebooks import sql
from sdv_plausible.extensions.codebooks.sql import read_sql

WHOLE = {"sdtype": "numerical", "decimal_places": 0}
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


def test_every_column(written):
    found = read_sql(written(TABLE))

    assert found.columns == {
        "id": {**WHOLE, "range_is_nullable": False},
        "age": {**WHOLE, "range_min": 0, "range_max": 110, "range_is_nullable": False},
        "pay per year": {
            "sdtype": "numerical", "decimal_places": 2, "range_min": 0, "range_max": 1e6, "range_is_nullable": True,
        },
        "weeks": {**WHOLE, "range_min": 1, "range_max": 52, "range_is_nullable": True},
        "sex": {"sdtype": "categorical", "range_values": ["f", "m", "it's"], "range_is_nullable": False},
        "region": {"sdtype": "categorical", "range_values": ["N", "S"], "range_is_nullable": True},
        "grade": {"sdtype": "categorical", "range_values": [1, 2, 3], "range_is_nullable": True},
        "member": {"sdtype": "boolean", "range_values": [False, True], "range_is_nullable": True},
        "born": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d", "range_is_nullable": True},
        "seen": {"sdtype": "datetime", "range_is_nullable": True},
        "name": {"sdtype": None},
        "share": {"sdtype": "numerical", "range_min": 0, "range_is_nullable": True},
        "odd": {**WHOLE, "range_is_nullable": True},
    }  # fmt: skip
    said = "\n".join(found.lines)
    for words in (
        "odd: the CHECK odd % 2 = 1 is not read",
        "odd: the CHECK odd < 0 OR odd > 9 is not read",
        "the CHECK age < weeks is not read",
        "share: no range is told",
        "name: no values",
    ):
        assert words in said


def test_damaged(written):
    for text, words in (
        ("", "must hold a CREATE TABLE"),
        ("CREATE TABLE a (b INT", "line 1 is not understood"),
        ("CREATE TABLE a", "holds none"),
        ("CREATE TABLE a ()", "holds none"),
        ("CREATE TABLE a (b INT CHECK (b BETWEEN 3 AND 1))", "no number is between 3 and 1"),
        ("CREATE TABLE a (b INT, b INT)", "two columns 'b'"),
        ("CREATE TABLE a (b ENUM('x))", "line 1 is not understood"),
    ):
        with pytest.raises(ValueError, match=words):
            read_sql(written(text))


POSTGRES = """
SET client_encoding = 'UTF8';
\\connect survey
CREATE TABLE public.people (
    age integer NOT NULL,
    sex character varying(1) DEFAULT 'm'::character varying,
    born date,
    CONSTRAINT sexes CHECK (((sex)::text = ANY ((ARRAY['m'::character varying, 'f'::character varying])::text[]))),
    CONSTRAINT ages CHECK (((age >= 0) AND (age <= 120)))
);
COPY public.people (age, sex, born) FROM stdin;
41\tSECRET 'x\t(
\\.
ALTER TABLE ONLY public.people ADD CONSTRAINT people_pkey PRIMARY KEY (born);
"""
SERVER = """
SET ANSI_NULLS ON
GO
CREATE TABLE [dbo].[people](
\t[age] [int] NOT NULL,
\t[sex] [nvarchar](1) NULL,
\t[paid] [bit] NULL,
\t[seen] [datetime2](7) NULL,
 CONSTRAINT [PK_people] PRIMARY KEY CLUSTERED ([age] ASC)
) ON [PRIMARY]
GO
ALTER TABLE [dbo].[people]  WITH CHECK ADD  CONSTRAINT [CK] CHECK  (([sex]=N'f' OR [sex]=N'm'))
GO
"""
MINE = """
CREATE TABLE `people` (`s` enum('a','b') NOT NULL, `i` int(11) DEFAULT NULL CHECK (0 < `i` AND `i` <= 9),
  PRIMARY KEY (`i`)) ENGINE=InnoDB DEFAULT CHARSET=utf8;
"""
DUMPS = {
    "PostgreSQL": (POSTGRES, {
        "age": {**WHOLE, "range_is_nullable": False, "range_min": 0, "range_max": 120},
        "sex": {"sdtype": "categorical", "range_is_nullable": True, "range_values": ["m", "f"]},
        "born": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d", "range_is_nullable": False},
    }),
    "SQL Server": (SERVER, {
        "age": {**WHOLE, "range_is_nullable": False},
        "sex": {"sdtype": "categorical", "range_is_nullable": True, "range_values": ["f", "m"]},
        "paid": {"sdtype": "categorical", "range_values": [0, 1], "range_is_nullable": True},
        "seen": {"sdtype": "datetime", "range_is_nullable": True},
    }),
    "MySQL": (MINE, {
        "s": {"sdtype": "categorical", "range_values": ["a", "b"], "range_is_nullable": False},
        "i": {**WHOLE, "range_min": 1, "range_max": 9, "range_is_nullable": False},
    }),
}  # fmt: skip


def test_schemas_as_systems_write_them(written):
    """Without a word of the rows of a dump."""
    for text, columns in DUMPS.values():
        found = read_sql(written(text))
        assert found.columns == columns
        assert "SECRET" not in "".join(found.lines)
    with pytest.raises(ValueError, match="is not understood") as raised:
        read_sql(written("CREATE TABLE a (b INT);\nINSERT INTO a VALUES ('SECRET"))
    assert "SECRET" not in str(raised.value)
    assert raised.value.__context__ is None


def test_two_tables_in_one_file(written):
    found = read_sql(written("CREATE TABLE a (b INT, c DATE); CREATE TABLE d (b INT, c TEXT);"))
    assert found.columns == {"b": {**WHOLE, "range_is_nullable": True}, "c": {"sdtype": None}}
    assert "c: several tables have such a column, declared otherwise" in found.lines


def test_without_sqlglot_it_is_said_how_to_get_it(written, monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(ImportError, match=r"pip install 'sdv-plausible\[codebooks\]'"):
        read_sql(written(TABLE))


def test_many_conditions_in_one_check_are_read(written):
    """More than Python nests calls. Control: brackets that nest as deeply are refused in one line."""
    many = " AND ".join(f"age >= {i}" for i in range(3000))
    path = written(f"CREATE TABLE t (age INTEGER CHECK ({many}))")
    assert read_sql(path).columns["age"]["range_min"] == 2999
    with pytest.raises(ValueError, match="is nested too deeply"):
        read_sql(written(f"CREATE TABLE t (age INTEGER CHECK ({'(' * 3000}age > 1{')' * 3000}))"))


def test_tables_are_compared_once_however_many_there_are():
    """Each column of each table: 300 tables of a column of their own, and one that two declare otherwise."""
    compared = []

    class Counted(dict):
        def items(self):
            compared.extend(self)
            return super().items()

    made = sql._Tables()
    for i in range(300):
        made.tables[f"t{i}"] = Counted({f"c{i}": {"sdtype": None}, "both": {"sdtype": "numerical"}})
    made.tables["t7"]["both"] = {"sdtype": "boolean"}
    found = made.codebook()
    assert found.columns["both"] == {"sdtype": None}
    assert ("both", "several tables have such a column, declared otherwise") in found.messages
    assert len(compared) == 2 * 2 * 300  # once to finish each, once to compare

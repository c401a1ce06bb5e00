"""The result of a query, cell by cell, from connections of several kinds."""

import sqlite3
from datetime import datetime

import pandas as pd
import pytest

from sdv_plausible import read_sql

DECLARED = {
    "age": {"sdtype": "numerical"}, "sex": {"range_values": ["f", "m"]},
    "day": {"sdtype": "datetime", "datetime_format": "%d.%m.%Y"},
}  # fmt: skip


@pytest.fixture
def people():
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE people (age, sex, day, name)")
    rows = [(34, "f", "31.01.2020", "A"), (None, "m", None, "B"), ("x", None, "2020-01-31", "C")]
    connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", rows)
    return connection


def test_declared_columns_are_read_cell_by_cell(people):
    """A missing or odd age changes neither the other ages nor the dtype, as it would with pandas.read_sql."""
    table = read_sql("SELECT * FROM people", people, DECLARED)
    assert table["age"].tolist()[0] == 34
    assert table.isna().to_numpy().tolist() == [[False] * 3, [True, False, True], [True] * 3]
    assert table["day"].tolist()[0] == "31.01.2020"
    few = read_sql("SELECT age FROM people WHERE age = 34", people, {"age": DECLARED["age"]})
    none = read_sql("SELECT age FROM people WHERE age < 0", people, {"age": DECLARED["age"]})
    assert {frame["age"].dtype for frame in (table, few, none)} == {table["age"].dtype}
    assert len(none) == 0
    assert people.execute("SELECT 1").fetchone() == (1,)  # it stays open


def test_connections_of_duckdb_and_sqlalchemy(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    dates = {"day": {"sdtype": "datetime"}, "zone": {"sdtype": "datetime"}}
    query = "SELECT DATE '2020-01-31' AS day, TIMESTAMPTZ '2020-01-31 02:00:00+02' AS zone"
    table = read_sql(query, duckdb.connect(), dates)
    assert table.iloc[0].tolist() == [pd.Timestamp(datetime(2020, 1, 31))] * 2
    sqlalchemy = pytest.importorskip("sqlalchemy")
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path / 'p.db'}")
    with engine.connect() as connection:
        for one in (engine, connection):
            assert read_sql("SELECT 1 AS age", one, {"age": DECLARED["age"]})["age"].tolist() == [1]


def test_mistakes(people):
    with pytest.raises(TypeError, match=r"connection \(str\) must be an open connection"):
        read_sql("SELECT 1", "people.db", DECLARED)
    with pytest.raises(ValueError, match="lacks the declared columns"):
        read_sql("SELECT age FROM people", people, DECLARED)
    with pytest.raises(ValueError, match="have the same name"):
        read_sql("SELECT age, age FROM people", people, DECLARED)
    with pytest.raises(ValueError, match="no header line"):
        read_sql("CREATE TABLE more (a)", people, DECLARED)
    with pytest.raises(ValueError, match="declare no column"):
        read_sql("SELECT * FROM people", people)

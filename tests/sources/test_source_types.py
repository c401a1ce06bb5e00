"""What can be fitted where it is, and what is said of the rest."""

import sys

import pytest
from like_spark import LikeSpark
from tables import COLUMNS, ENGINES, held, table

from sdv_plausible.sources.source_columns import RowCountTask
from sdv_plausible.sources.source_types import open_source
from sdv_plausible.table.declared.column_types import column_types

TYPES = column_types(None, COLUMNS)
FRAME = table(30)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_is_known(engine, tmp_path):
    source = open_source(held(engine, FRAME, tmp_path), TYPES)
    assert list(source.names) == list(FRAME)
    assert list(source.empty(["age", "city"])) == ["age", "city"]
    assert not len(source.empty(["age"]))


def test_others_are_refused(tmp_path):
    for source in ([1, 2], 5, {"a": [1]}):
        with pytest.raises(ValueError, match="must be a path"):
            open_source(source, TYPES)
    with pytest.raises(ValueError, match=r"lacks the declared columns \['key'\]"):
        open_source(FRAME.drop(columns="key"), TYPES)
    FRAME.to_csv(tmp_path / "a.csv")
    FRAME.to_parquet(tmp_path / "b.parquet")
    with pytest.raises(ValueError, match="different kinds"):
        open_source(tmp_path, TYPES)


class Other:
    """What Spark's DataFrames may be that cannot be counted."""

    columns = ["age"]  # noqa: RUF012
    mapInArrow = isStreaming = True  # noqa: N815


def test_other_tables_of_spark_are_refused(monkeypatch):
    for module, says in (
        ("pyspark.sql.connect.dataframe", r"Spark Connect.*write the table to Parquet"),
        ("pyspark.sql.classic.dataframe", r"stream of Spark.*write it to Parquet"),
    ):
        monkeypatch.setattr(Other, "__module__", module)
        with pytest.raises(ValueError, match=says):
            open_source(Other(), TYPES)


def test_executors_without_this_package_are_refused(monkeypatch):
    """Or with another version of it: before anything is paid for."""
    monkeypatch.setitem(sys.modules, "sdv_plausible.extensions.clusters.spark_source", None)
    with pytest.raises(ValueError, match=r"executors must have .* have \['no sdv_plausible"):
        open_source(LikeSpark.of(FRAME), TYPES)


def test_what_spark_writes_is_read(tmp_path):
    FRAME.to_parquet(tmp_path / "part-00000-0d6e.c000.snappy.parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".part-00000-0d6e.c000.snappy.parquet.crc").write_bytes(b"crc")
    found = open_source(tmp_path, TYPES)
    assert found.total(RowCountTask(), ["age"]) == len(FRAME)

"""Sessions of Spark, where it and Java are: one at a time in a process."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import sdv_plausible
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

HERE = Path(__file__).parent


def why_not() -> str:
    """Why there is no Spark here, or nothing."""
    if importlib.util.find_spec("pyspark") is None:
        return "pyspark is not installed"
    java = os.environ.get("JAVA_HOME")
    found = Path(java, "bin/java").exists() if java else shutil.which("java")
    return "" if found else "there is no Java for Spark"


needs_spark = pytest.mark.skipif(bool(why_not()), reason=why_not())


@contextmanager
def session(master: str, **settings: str) -> Iterator[Any]:
    """A session whose executors find the package, and the tests, where this process does."""
    from pyspark.sql import SparkSession

    places = os.pathsep.join([str(Path(sdv_plausible.__file__).parents[1]), str(HERE)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([places, os.environ.get("PYTHONPATH", "")]))
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        builder = SparkSession.builder.master(master).appName("tests")
        usual = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.session.timeZone": "America/New_York",
            "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
            "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"],
        }
        for name, value in {**usual, **settings}.items():
            builder = builder.config(name, value)
        found = builder.getOrCreate()
        found.sparkContext.setLogLevel("OFF")
        try:
            yield found
        finally:
            found.stop()


def partitions(spark: Any, frame: pd.DataFrame, number: int = 3) -> Any:
    """The frame as Spark has it, in so many partitions."""
    import pyarrow as pa

    table = pa.Table.from_pandas(frame, preserve_index=False)
    rows = [tuple(row.values()) for row in table.to_pylist()]
    schema = spark.createDataFrame(table).schema
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, number), schema)


def persisted(spark: Any) -> int:
    """Tables that executors keep."""
    return spark.sparkContext._jsc.getPersistentRDDs().size()


@dataclass(frozen=True)
class Numbers:
    """Work: numbers of parts, their rows, and what their streams draw first. Executors import it."""

    rng: KeyedRNG

    def count(self, part: pd.DataFrame, number: int) -> list[tuple[int, int, float]]:
        return [(number, len(part), float(self.rng.spawn("part", number).uniform()))] if len(part) else []

    def merge(self, one: list[Any], other: list[Any]) -> list[Any]:
        return one + other


@dataclass(frozen=True)
class Cells:
    """Work: how often each row occurs. Executors import it."""

    def count(self, part: pd.DataFrame, number: int) -> Counter[Any]:
        return Counter(map(str, part.astype(object).itertuples(index=False)))

    def merge(self, one: Counter[Any], other: Counter[Any]) -> Counter[Any]:
        return one + other

"""A cluster of Spark of two executors, one of which is killed in the middle of a fit: the release is the same.

Planted: a partition that comes in another order when it is made again. The fit stops.
"""

import os
import signal
from pathlib import Path

import pytest
from sparks import needs_spark, partitions, persisted, session
from tables import COLUMNS, DECLARED, SEED, document, table

from sdv_plausible import Person, fit_source
from sdv_plausible.extensions.clusters.spark_source import SparkParts

pytestmark = [pytest.mark.slow, needs_spark]
FRAME = table(2_000)


@pytest.fixture(scope="module")
def spark():
    with session("local-cluster[2,1,1024]") as found:
        yield found


def fitted(source, **more):
    """By a budget that asks for pairs, too: a pass more."""
    more = {"random_state": SEED, "allow_no_claim": True, "epsilon": 1000, **more}
    return fit_source(source, COLUMNS, DECLARED, **more)


def executors(spark):
    """Processes that the session's own Java machine has started as executors."""
    java = spark.sparkContext._gateway.proc.pid
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((place / "stat").read_text().rsplit(")", 1)[1].split()[1])
            words = (place / "cmdline").read_bytes()
        except OSError:  # it has ended
            continue
        if parent == java and b"CoarseGrainedExecutorBackend" in words:
            found.append(int(place.name))
    return sorted(found)


@pytest.fixture
def killed(spark, monkeypatch):
    """An executor is killed when codes are kept and have been counted once."""
    seen, killed, total = [], [], SparkParts.total

    def counted(self, work, names):
        seen.append(work)
        if len(seen) == 2:
            killed.append(executors(spark)[0])
            os.kill(killed[0], signal.SIGKILL)
        return total(self, work, names)

    monkeypatch.setattr(SparkParts, "total", counted)
    return killed


def test_an_executor_that_is_killed_changes_nothing(spark, killed):
    found = document(fitted(partitions(spark, FRAME, 6)))
    assert len(killed) == 1
    assert found == document(fitted(FRAME))
    assert persisted(spark) == 0


def test_nor_of_rows_of_people_that_were_chosen(spark, killed):
    """They are chosen again, after another shuffle: the same rows."""
    people = partitions(spark, FRAME.assign(key=[f"k{i % 700}" for i in range(len(FRAME))]), 6)
    found = [document(fitted(people, person=Person("key", rows=2))) for _ in range(2)]
    assert len(killed) == 1
    assert found[0] == found[1]
    assert persisted(spark) == 0


@pytest.mark.parametrize("change", ["another order", "other cells"])
def test_a_partition_that_is_made_again_otherwise_stops_the_fit(change, spark, killed, tmp_path):
    source = partitions(spark, FRAME, 6)
    folder = str(tmp_path)

    def otherwise(batches):
        import pyarrow as pa
        from pyspark import TaskContext

        mark = Path(folder) / str(TaskContext.get().partitionId())
        whole = pa.Table.from_batches(list(batches))
        if mark.exists():
            places = list(range(len(whole)))[::-1] if change == "another order" else [0] * len(whole)
            whole = whole.take(places)
        mark.touch()
        yield from whole.to_batches()

    with pytest.raises(RuntimeError, match="other rows, or rows in other places, than in an earlier pass"):
        fitted(source.mapInArrow(otherwise, source.schema))
    assert len(killed) == 1
    assert persisted(spark) == 0

"""What is asked of Spark, on a stand-in: sums come together once, and what executors make again is held against what they made.

On Spark itself: test_spark.py, test_spark_lost.py.
"""

import pandas as pd
import pyarrow as pa
import pytest
from like_spark import HELD, LikeSpark
from tables import COLUMNS, DECLARED, SEED, document, table

from sdv_plausible import Person, fit_source
from sdv_plausible.extensions.clusters import spark_source
from sdv_plausible.extensions.clusters.spark_source import SparkParts, SparkSource
from sdv_plausible.sources.source_columns import RowCountTask
from sdv_plausible.table.declared.column_types import column_types

FRAME = table(600).assign(key=[f"k{i % 200}" for i in range(600)], sex=["f", "m", "x"] * 200)
TYPES = column_types(DECLARED, COLUMNS)


def fitted(source, **more):
    return document(fit_source(source, COLUMNS, DECLARED, random_state=SEED, allow_no_claim=True, **more))


@pytest.mark.parametrize("partitions", [1, 3, 70])
@pytest.mark.parametrize("at_once", [2, 8])
def test_sums_come_together_once(partitions, at_once, monkeypatch):
    """Also in a tree of several levels, whose widths are known of what is kept, and guessed before."""
    monkeypatch.setattr(spark_source, "MERGE_FAN_IN", at_once)
    assert fitted(LikeSpark.of(FRAME, partitions)) == fitted(LikeSpark.of(FRAME, partitions))
    assert SparkSource(LikeSpark.of(FRAME, partitions), TYPES).total(RowCountTask(), ["age"]) == len(FRAME)


def test_planted_sums_that_come_to_two_tasks_are_seen(monkeypatch):
    whole = LikeSpark.repartition

    def twice(self, number, column="number"):
        once = whole(self, number, column)
        return LikeSpark(once.columns, lambda: once.partitions() * 2)

    monkeypatch.setattr(LikeSpark, "repartition", twice)
    assert SparkSource(LikeSpark.of(FRAME), TYPES).total(RowCountTask(), ["age"]) == 2 * len(FRAME)


def test_nothing_is_kept_after_a_fit_that_fails(monkeypatch):
    held, before = [], [*HELD]  # what other tests have left

    def stop(*_):
        held.extend(HELD)
        raise KeyboardInterrupt

    monkeypatch.setattr("sdv_plausible.fitting.fit.fit_release", stop)
    with pytest.raises(KeyboardInterrupt):
        fitted(LikeSpark.of(FRAME), person=Person("key", rows=2))
    assert len(held) > len(before)
    assert before == HELD


class Remade:
    """A table of which the second partition is another one from some time on."""

    def __init__(self, change, after):
        self.change, self.times, self.after = change, 0, after

    def table(self):

        whole = LikeSpark.of(FRAME)

        def partitions():
            parts = whole.partitions()
            self.times += 1
            if self.times > self.after:
                other = self.change(parts[1].to_pandas())
                parts[1] = pa.Table.from_pandas(other, parts[1].schema, preserve_index=False)
            return parts

        return LikeSpark(whole.columns, partitions)


def remade(change, after, **more):
    """A fit whose executors lose what they keep, each time."""
    one = Remade(change, after)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LikeSpark, "persist", lambda self: self)
        patch.setattr(LikeSpark, "unpersist", lambda self: None)
        found = fitted(one.table(), **more)
    assert one.times > after
    return found


def turned(part):
    return part.iloc[::-1]


def of_a_cell(part):
    """The first row's city is another one."""
    first = "Bern" if pd.isna(part["city"].iloc[0]) else None
    return part.assign(city=[first, *part["city"][1:]])


CHANGES = {"another order": turned, "a cell": of_a_cell, "a row less": lambda part: part.iloc[1:]}
EVERYONE = Person("key", rows=len(FRAME))


def test_what_is_made_again_is_the_same():
    for more in ({}, {"person": Person("key", rows=2)}):
        assert remade(lambda part: part, 3, **more) == fitted(LikeSpark.of(FRAME), **more)


@pytest.mark.parametrize("change", CHANGES)
def test_another_table_stops_the_fit(change):
    """The schema, the first rows of a task and so on are asked for before: the passes come after."""
    for after in (4, 5):
        with pytest.raises(RuntimeError, match="than in an earlier pass"):
            remade(CHANGES[change], after, epsilon=1000)  # so much that pairs, too, are asked
    if change == "another order":  # of the rows that are chosen it is no matter
        assert remade(turned, 5, person=EVERYONE, epsilon=1e5)
        return
    with pytest.raises(RuntimeError, match="than in an earlier pass"):
        remade(CHANGES[change], 5, person=EVERYONE, epsilon=1e5)


def test_codes_are_of_the_rows_that_were_looked_at_before():
    """Values of a column are learned of the rows chosen, which change before codes are made of them."""
    one, kept = Remade(of_a_cell, 99), SparkParts.persist

    def changed(self, work, names):
        one.after = one.times
        return kept(self, work, names)

    declared = {name: words for name, words in DECLARED.items() if name != "city"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SparkParts, "persist", changed)
        patch.setattr(LikeSpark, "persist", lambda self: self)
        patch.setattr(LikeSpark, "unpersist", lambda self: None)
        with pytest.raises(RuntimeError, match="than in an earlier pass"):
            fit_source(one.table(), COLUMNS, declared, person=EVERYONE, epsilon=8.0)

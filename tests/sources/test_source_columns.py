"""What is learned from of a column in parts is what it is of the whole."""

import copy
import pickle

import cloudpickle
import numpy as np
import pytest
from tables import table

from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.sources.source import FrameSource
from sdv_plausible.sources.source_columns import SourceColumns
from sdv_plausible.table.learned.raw_queries import FrameColumns, NumberReading
from sdv_plausible.table.learned.value_grid import ValueGrid

FRAME = table(500).assign(mixed=[True, 1, 1.0, "1", None] * 100)
LATTICE = ValueGrid(kind="float", decimals=1)


def test_answers_are_those_of_the_whole():
    for rows in (7, 100, 1000):
        parts, whole = SourceColumns(FrameSource(FRAME, rows), RuleSet(), list(FRAME)), FrameColumns(FRAME)
        assert parts.num_rows() == whole.num_rows()
        for name in ("city", "sex", "mixed"):
            (values, counts, missing), expected = parts.value_counts(name), whole.value_counts(name)
            assert (values, counts.tolist(), missing) == (expected[0], expected[1].tolist(), expected[2])
        for reading in (NumberReading("wage", "numerical"), NumberReading("age", "numerical")):
            assert np.array_equal(parts.precision_counts(reading), whole.precision_counts(reading))
            found = parts.point_counts(reading, LATTICE), whole.point_counts(reading, LATTICE)
            assert all(np.array_equal(one, other) for one, other in zip(*found, strict=True))


def test_a_column_is_read_once_for_several_questions(monkeypatch):
    source, passes = FrameSource(FRAME, 100), []
    monkeypatch.setattr(
        source, "pieces", lambda names: passes.append(names) or FrameSource.pieces(source, names)
    )
    columns = SourceColumns(source, RuleSet(), list(FRAME))
    for _ in range(3):
        columns.value_counts("city")
        columns.point_counts(NumberReading("wage", "numerical"), LATTICE)
    assert passes == [("city",), ("wage",)]


def test_rows_do_not_leave():
    for way in (pickle.dumps, cloudpickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="rows cannot be pickled"):
            way(SourceColumns(FrameSource(FRAME, 100), RuleSet(), list(FRAME)))

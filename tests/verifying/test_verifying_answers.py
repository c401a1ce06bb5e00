"""Answers and what pays for them: the sensitivities of the second reading are the questions' own."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sdv_plausible.models.base import ModelBudget
from sdv_plausible.models.paper.entropies import ENTROPY_GRID, Entropies
from sdv_plausible.models.paper.paper_network import least_rows
from sdv_plausible.models.paper.printed import PrintedCounts, PrintedEntropies, PrintedPlan, PrintedSize
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.questions.counts import Axis, CountTable, Distances, NumberOfRows
from sdv_plausible.questions.door import Answer
from sdv_plausible.questions.frequent import LEAST_HOLDERS, threshold
from sdv_plausible.verifying import answers
from sdv_plausible.verifying.verdict import LieError, OpenError, Unit

AXES = [Axis.of_codes(0, 3), Axis.of_codes(1, 2)]
UNITS = {
    (rows, replace): Neighbours(rows=rows, replace=replace, person="p")
    for rows in (1, 3)
    for replace in (False, True)
}


def told(question: Any, noise: str = "discrete gaussian") -> dict[str, Any]:
    """An answer as a file has it."""
    asked = question.asked()
    tables = [[axis.column for axis in axes] for axes in asked.tables]
    return {
        "kind": asked.kind,
        "tables": tables,
        "details": dict(asked.details),
        "noise": noise,
        "scale": 2.0,
    }


def questions(least: int) -> dict[str, Any]:
    entropies = {"cardinalities": (3, 2), "buckets": [a.buckets for a in AXES], "least_rows": least}
    return {
        "counts": CountTable(AXES),
        "number of rows": NumberOfRows(),
        "distances": Distances([AXES, AXES[:1], AXES[1:]], []),
        "entropies": Entropies(**entropies),
        "printed counts": PrintedCounts(AXES),
        "printed size": PrintedSize(),
        "printed entropies": PrintedEntropies(**entropies),
    }


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", questions(9))
def test_sensitivities_are_the_questions_own(name: str, unit: tuple[int, bool]) -> None:
    """Of the noise as printed for single rows alone, as the product has it."""
    who, ours = UNITS[unit], Unit(*unit, "p")
    is_printed = name.startswith("printed")
    if is_printed and unit != (1, False):
        pytest.skip("noise as printed is for single rows added or removed")
    for least in (1, 2, 50, 735, 100_000):
        question = questions(least)[name]
        answer = told(question, "discrete laplace" if is_printed else "discrete gaussian")
        parts = 6 if "entropies" in name else 1
        theirs = question.l1(who) if is_printed else question.sensitivity(who)
        assert answers._moved(0, answer, ours, parts) == pytest.approx(theirs, rel=1e-12)
    assert questions(9)["entropies"].asked().details["grid"] == ENTROPY_GRID


def test_thresholds_are_the_door_s() -> None:
    """Control: a count one below is refused."""
    assert answers.LEAST_HOLDERS == LEAST_HOLDERS
    for (rows, replace), who in UNITS.items():
        for sigma, failure in ((1.0, 1e-11), (34.8, 5e-11), (7.9, 1e-3)):
            least = threshold(sigma, failure, who)
            answer = {"details": {"public": ["missing"]}, "scale": sigma}
            unit = Unit(rows, replace, "p")
            answers._check_threshold(0, {**answer, "values": np.array([3, least])}, failure, unit)
            with pytest.raises(LieError, match="below its threshold"):
                answers._check_threshold(0, {**answer, "values": np.array([3, least - 1])}, failure, unit)


def test_pieces_are_compared_from_the_largest_on() -> None:
    """Nine small pieces pay for nine small answers, and not for one large one of the same sum."""
    charged = [(0.01, 9)]
    answers._compare("squares", [(0.01, 1)] * 9, charged)
    answers._compare("squares", [(0.09, 1)], [(0.09, 1)])
    answers._compare("squares", [(0.01, 1)] * 9, [(0.09, 1)])
    for spent in ([(0.09, 1)], [(0.02, 1), (0.001, 2)], [(0.01, 10)], [(0.01 * (1 + 1e-5), 9)]):
        with pytest.raises(LieError, match="where"):
            answers._compare("squares", spent, charged)


def test_a_question_of_one_s_own_is_open() -> None:
    answer = {"kind": "Mine", "noise": "discrete gaussian", "tables": [], "details": {}, "scale": 1.0}
    with pytest.raises(OpenError, match="its own"):
        answers._moved(0, answer, Unit(1, False, None), 1)
    assert math.isfinite(answers._moved(0, {**answer, "kind": "runs"}, Unit(1, False, None), 1))


@pytest.mark.parametrize("unit", UNITS)
def test_least_rows_are_the_learner_s(unit: tuple[int, bool]) -> None:
    """Of either noise. Control: nothing is allowed without a failure, or by a size of another noise."""
    for noisy, failure in ((400, 1e-11), (70, 1e-3), (5_000_000, 1e-12)):
        size = {"values": np.array([noisy]), "scale": 38.9, "noise": "discrete gaussian"}
        asked = SimpleNamespace(
            neighbours=UNITS[unit],
            ask=lambda *_, noisy=noisy: Answer(values=np.array([float(noisy)]), sigma=38.9),
        )
        theirs = least_rows(asked, SimpleNamespace(shares={"size": 0.1}, size_failure=failure))  # type: ignore[arg-type]
        assert answers._least_rows(size, "discrete gaussian", failure, Unit(*unit, "p")) == theirs
        assert answers._least_rows(size, "discrete laplace", failure, Unit(*unit, "p")) == 0
        assert answers._least_rows(size, "discrete gaussian", 0.0, Unit(*unit, "p")) == 0


def test_least_rows_as_printed_are_the_noisy_number_once_it_is_large() -> None:
    """From the learner's own limit on. Control: one below it."""
    plan = PrintedPlan.make(4, ModelBudget(epsilon=1.0, delta=1e-9), learns_structure=True)
    assert plan.shares is not None
    size = {"scale": 1 / plan.shares.size, "noise": "discrete laplace"}
    for noisy in (plan.least_noisy_rows - 1, plan.least_noisy_rows, 10**6):
        told = {**size, "values": np.array([noisy])}
        allowed = answers._least_rows(told, "discrete laplace", plan.size_failure, Unit(1, False, None))
        assert allowed == (noisy if noisy >= plan.least_noisy_rows else 0)

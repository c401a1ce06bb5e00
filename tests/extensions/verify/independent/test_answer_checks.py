"""Answers and what pays for them: the sensitivities of the second reading are the questions' own."""

import itertools
import math
from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sdv_plausible.extensions.models.paper.paper_network import least_rows
from sdv_plausible.extensions.models.paper.paper_plans import (
    PrintedCounts,
    PrintedEntropies,
    PrintedPlan,
    PrintedSize,
)
from sdv_plausible.extensions.models.paper.structure import ENTROPY_GRID, Entropies
from sdv_plausible.extensions.verify.independent import answer_checks
from sdv_plausible.extensions.verify.independent.totals import total
from sdv_plausible.extensions.verify.independent.verdict import (
    ContradictionError,
    ProtectedUnit,
    UncheckableError,
)
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.privacy.accounting.losses import GaussianLoss
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.queries.budget_tracker import QueryBudget
from sdv_plausible.queries.count_queries import Axis, CountTable, L1Distances, NumberOfRows, ScoreProducts
from sdv_plausible.queries.partition_selection import LEAST_HOLDERS, threshold
from sdv_plausible.queries.queryable import NoisyValues

AXES = [Axis.of_codes(0, 3), Axis.of_codes(1, 2)]
AXIS_DOCUMENTS = [{"column": axis.column, "buckets": axis.buckets} for axis in AXES]
UNITS = {
    (n, replace): Neighbours(rows=n, replace=replace, person="p") for n in (1, 3) for replace in (False, True)
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
        "counts": CountTable(AXES), "number of rows": NumberOfRows(),
        "distances": L1Distances([AXES, AXES[:1], AXES[1:]], []),
        "products": ScoreProducts([AXES, AXES[::-1]], {0: np.array([3, -5, 2]), 1: np.array([-4, 4])}),
        "entropies": Entropies(**entropies),
        "printed counts": PrintedCounts(AXES), "printed size": PrintedSize(),
        "printed entropies": PrintedEntropies(**entropies),
    }  # fmt: skip


def test_sensitivities_are_the_questions_own():
    """Of the noise as printed for single rows alone, as the product has it."""
    for (unit, who), name, least in itertools.product(UNITS.items(), questions(9), (1, 2, 50, 735, 100_000)):
        is_printed = name.startswith("printed")
        if is_printed and unit != (1, False):  # noise as printed is for single rows added or removed
            continue
        question = questions(least)[name]
        answer = told(question, "discrete laplace" if is_printed else "discrete gaussian")
        theirs = question.l1(who) if is_printed else question.sensitivity(who)
        ours = answer_checks._sensitivity(
            0, answer, ProtectedUnit(*unit, "p"), 6 if "entropies" in name else 1, AXIS_DOCUMENTS
        )
        assert ours == pytest.approx(theirs, rel=1e-12), (name, unit)
    assert questions(9)["entropies"].asked().details["grid"] == ENTROPY_GRID


def test_thresholds_are_the_door_s():
    """Control: a count one below is refused."""
    assert answer_checks.MIN_UNITS == LEAST_HOLDERS
    for (rows, replace), who in UNITS.items():
        for sigma, failure in ((1.0, 1e-11), (34.8, 5e-11), (7.9, 1e-3)):
            least = threshold(sigma, failure, who)
            answer = {"details": {"public": ["missing"]}, "scale": sigma}
            unit = ProtectedUnit(rows, replace, "p")
            found = answer_checks._failure_of_threshold
            assert answer_checks.threshold(sigma, failure, unit) == least
            assert found(0, {**answer, "values": np.array([3, least])}, [failure], unit) == failure
            assert found(0, {**answer, "values": np.array([3])}, [1e-300, failure], unit) == 1e-300
            with pytest.raises(ContradictionError, match="below its threshold"):
                found(0, {**answer, "values": np.array([3, least - 1])}, [1e-300, failure], unit)
            with pytest.raises(ContradictionError, match="no entry pays"):
                found(0, {**answer, "values": np.array([3, least])}, [], unit)


PACKED = {
    "one piece is cut into any": ([(0.01, 9)], [(0.09, 1)]),
    "each from its own": ([(0.02, 2), (0.01, 3)], [(0.01, 3), (0.02, 2)]),
    "two from one": ([(1.0, 1), (2.0, 1), (3.0, 2)], [(3.0, 3)]),
    "many from few": ([(0.01, 10_000_000)], [(0.3, 400_000)]),
    "in turn, and not from the largest on": ([(3.0, 1), (3.0, 1), (2.0, 3), (4.0, 1)], [(6.0, 1), (10.0, 1)]),
    "from the largest on, and not in turn": ([(1.0, 1), (2.0, 1), (4.0, 1)], [(2.0, 1), (5.0, 1)]),
    "nothing": ([], []),
    "rounding": ([(0.01 * (1 + 1e-8), 9)], [(0.01, 9)]),
}
NOT_PACKED = {
    "larger than any": ([(0.09, 1)], [(0.01, 9)]),
    "larger than most": ([(0.02, 1), (0.001, 2)], [(0.01, 9)]),
    "one more": ([(0.01, 10)], [(0.01, 9)]),
    "a little more": ([(0.01 * (1 + 1e-5), 9)], [(0.01, 9)]),
    "more even": ([(2.0, 2)], [(3.0, 1), (1.0, 1)]),  # the k largest cost no more, for any k
    "two that one cannot hold": ([(0.02, 3)], [(0.03, 2)]),
    "without a charge": ([(0.1, 1)], []),
}


def test_epsilons_are_taken_from_single_pieces():
    """Lemma 2 (b): what is taken from a piece adds up to it at most."""
    for case in PACKED.values():
        answer_checks._check_laplace(*case)


@pytest.mark.parametrize("name", NOT_PACKED)
def test_epsilons_that_no_piece_holds_are_refused(name):
    with pytest.raises(ContradictionError, match="where|cannot each be"):
        answer_checks._check_laplace(*NOT_PACKED[name])


@pytest.mark.parametrize("name", ["counts", "number of rows", "distances", "products", "entropies"])
def test_answers_have_the_shape_of_their_question(name):
    """A number too few or too many would have noise that nobody paid for, or none."""
    axes = AXIS_DOCUMENTS
    question = questions(50)[name]
    answer = told(question)
    shape = {
        "counts": (3, 2),
        "number of rows": (1,),
        "distances": (3,),
        "products": (2,),
        "entropies": (6,),
    }[name]
    answer_checks._check_shape(0, {**answer, "values": np.zeros(shape)}, axes)
    for other in ((*shape, 1), (shape[0] + 1, *shape[1:]), (0,)):
        with pytest.raises(ContradictionError, match="has shape"):
            answer_checks._check_shape(0, {**answer, "values": np.zeros(other)}, axes)


def test_products_need_a_score_for_each_bucket_of_pairs():
    answer = told(questions(9)["products"])
    for wrong in (
        {"details": {}}, {"details": {"scores": np.arange(4)}}, {"tables": [[0, 1], [1]]}, {"tables": [[0, 1], [2, 0]]},
        {"details": {"scores": np.full(5, 1.9)}}, {"details": {"scores": [1, 2, 3, None, 5]}},
        {"tables": [], "details": {"scores": np.zeros(0, dtype=int)}},
    ):  # fmt: skip
        coarse = {"column": 1, "buckets": np.zeros(2, dtype=int)}
        with pytest.raises(ContradictionError, match=r"answer 0 \(products\)"):
            answer_checks._sensitivity(
                0, {**answer, **wrong}, ProtectedUnit(1, False, None), 1, [*AXIS_DOCUMENTS, coarse]
            )


def test_the_smallest_integer_is_a_large_score():
    """It has no absolute value in 64 bits."""
    answer = told(questions(9)["products"])
    scores = np.array([-(2**63), 0, 0, 1, -1])
    length = answer_checks._length_of_products(0, {**answer, "details": {"scores": scores}}, AXIS_DOCUMENTS)
    assert length == pytest.approx(2**63 * math.sqrt(2))


def test_a_more_even_pair_costs_more():
    """Why it is not enough that the k largest cost no more than the k largest charges."""
    even, apart = (
        total([{"type": "PureDP", "epsilon": epsilon, "count": 1} for epsilon in pair], 0.2)
        for pair in ((2.0, 2.0), (3.0, 1.0))
    )
    assert even > 1.01 * apart


def test_failures_are_matched_one_by_one():
    """Each answer takes one that is as large as it needs. Control: the same with one large one the less."""
    check = answer_checks._check_failures
    check([1e-9, 1e-12, 1e-12], Counter({1e-9: 1, 1e-12: 2}))
    check([1e-12, 1e-12], Counter({1e-9: 2}))
    check([], Counter())
    with pytest.raises(
        ContradictionError, match="2 answers need a failure of 1e-09 or more, of which 1 are charged"
    ):
        check([1e-9, 1e-9, 1e-12], Counter({1e-9: 1, 1e-12: 10_000_000}))
    with pytest.raises(ContradictionError, match="3 answers may fail, and 2 failures are charged"):
        check([1e-12] * 3, Counter({1e-9: 2}))


@pytest.mark.parametrize("moved", [1.0, 3.0])
def test_gaussian_answers_add_up_in_both_terms(moved):
    """A share of more than a piece needs more noise than its square asks for; one piece pays for any that add up."""
    pieces, mu = [(1 / 25, 100)], 2.0

    def paid(found, charged, step=1.0):
        answer_checks._check_gaussian([(*one, step) for one in found], charged)

    paid([(1.0, 5.0)] * 100, pieces)
    paid([(moved, moved / mu * 100)] * 10_000, pieces)
    with pytest.raises(
        ContradictionError, match=r"squares of mu\)"
    ):  # planted: the deviation of the square alone
        paid([(1.0, 1 / mu)], pieces)
    allowance = QueryBudget.of(entries_of(GaussianLoss(sensitivity_over_sigma=0.2, count=100)))
    for step in (1.0, allowance.granularity(1.0, moved)):
        enough = allowance.sigma(1.0, moved, step)
        paid([(moved, enough)], pieces, step)
        with pytest.raises(ContradictionError, match="the answers spend"):
            paid([(moved, 0.995 * enough)], pieces, step)
    with pytest.raises(
        ContradictionError, match=r"squares of mu\)"
    ):  # planted: on whole numbers it costs more
        paid([(moved, enough)], pieces)
    paid([(1.0, 2 / mu)] * 4, [(mu**2, 1)])
    with pytest.raises(ContradictionError, match=r"squares of sensitivity over sigma\)"):
        paid([(1.0, 2 / mu)] * 5, [(mu**2, 1)])


def entries_of(*losses: GaussianLoss) -> list[LedgerEntry]:
    return [LedgerEntry(name="model", mechanism="", losses=losses, scope="the model")]


def test_a_question_of_one_s_own_is_open():
    answer = {"kind": "Mine", "noise": "discrete gaussian", "tables": [], "details": {}, "scale": 1.0}
    with pytest.raises(UncheckableError, match="its own"):
        answer_checks._sensitivity(0, answer, ProtectedUnit(1, False, None), 1, [])
    assert math.isfinite(
        answer_checks._sensitivity(0, {**answer, "kind": "runs"}, ProtectedUnit(1, False, None), 1, [])
    )


def test_least_rows_are_the_learner_s():
    """Of either noise. Control: nothing is allowed without a failure, or by a size of another noise."""
    for (unit, who), (noisy, failure) in itertools.product(
        UNITS.items(), ((400, 1e-11), (70, 1e-3), (5_000_000, 1e-12))
    ):
        size = {"values": np.array([noisy]), "scale": 38.9, "noise": "discrete gaussian"}
        answer = NoisyValues(values=np.array([float(noisy)]), sigma=38.9)
        asked = SimpleNamespace(neighbours=who, ask=lambda *_, answer=answer: answer)
        theirs = least_rows(asked, SimpleNamespace(shares={"size": 0.1}, size_failure=failure))  # type: ignore[arg-type]
        assert (
            answer_checks._least_rows(size, "discrete gaussian", failure, ProtectedUnit(*unit, "p")) == theirs
        )
        assert answer_checks._least_rows(size, "discrete laplace", failure, ProtectedUnit(*unit, "p")) == 0
        assert answer_checks._least_rows(size, "discrete gaussian", 0.0, ProtectedUnit(*unit, "p")) == 0


def test_least_rows_as_printed_are_the_noisy_number_once_it_is_large():
    """From the learner's own limit on. Control: one below it."""
    plan = PrintedPlan.make(4, ModelBudget(epsilon=1.0, delta=1e-9), learns_structure=True)
    assert plan.shares is not None
    size = {"scale": 1 / plan.shares.size, "noise": "discrete laplace"}
    for noisy in (plan.least_noisy_rows - 1, plan.least_noisy_rows, 10**6):
        told = {**size, "values": np.array([noisy])}
        allowed = answer_checks._least_rows(
            told, "discrete laplace", plan.size_failure, ProtectedUnit(1, False, None)
        )
        assert allowed == (noisy if noisy >= plan.least_noisy_rows else 0)


def test_every_answer_that_may_fail_needs_a_failure_that_is_charged():
    """Two columns of categories are no answers of one failure."""
    named = {
        "kind": "frequent values", "tables": [], "details": {"found": ["a"], "public": ["missing"]},
        "noise": "discrete gaussian", "scale": 10.0, "values": np.array([3, 10_000]),
    }  # fmt: skip
    noise = {"type": "GaussianLoss", "sensitivity_over_sigma": 0.2, "count": 2}
    for failures, is_paid in ((1, False), (2, True)):
        losses = [noise, {"type": "ApproxDP", "epsilon": 0.0, "delta": 1e-11, "count": failures}]
        if is_paid:
            answer_checks._check_paid([(0, named), (1, named)], losses, [], ProtectedUnit(1, False, None))
            continue
        with pytest.raises(ContradictionError, match="2 answers may fail, and 1 failures are charged"):
            answer_checks._check_paid([(0, named), (1, named)], losses, [], ProtectedUnit(1, False, None))

"""Every answer of the door has noise for the unit that is protected: each of its methods, for each unit of ``guarded.py``.

How far a unit moves what is counted is written down here once more, as numbers. Planted: a door that takes every unit for one
row, and a release test that does.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import guarded
import numpy as np
import pytest

from sdv_plausible.mechanism.privacy_tests.release_level import ReleaseTest
from sdv_plausible.privacy.accounting.losses import ApproxDP, BoundedRangeLoss, GaussianLoss, ReleaseLoss
from sdv_plausible.privacy.accounting.sampled_gaussian import SampledGaussianLoss
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.noise.mechanisms import record_calls
from sdv_plausible.queries.count_queries import Axis, CodeArray, CountTable
from sdv_plausible.queries.queryable import MANY_TABLES, Queryable
from tests.flat import bound

CARDS = (3, 2, 4)
CODES = np.random.default_rng(0).integers(0, CARDS, (90, 3))
FIRST, SECOND = Axis.of_codes(0, 3), Axis.of_codes(1, 2)
MU, SUM, SHARE, EPSILON = 0.5, 0.25, 0.5, 0.5
PAID = (
    GaussianLoss(sensitivity_over_sigma=MU), ApproxDP(epsilon=EPSILON, delta=0.02), BoundedRangeLoss(epsilon=EPSILON),
    SampledGaussianLoss(sensitivity_over_sigma=SUM, rate=0.5, count=1),
)  # fmt: skip


class Moves(NamedTuple):
    """How far a unit moves a table of counts, and the number of rows."""

    l1: int
    l2: float
    rows: int


MOVES = {
    "row": Moves(1, 1.0, 1), "person": Moves(3, 3.0, 3), "row replaced": Moves(2, math.sqrt(2), 1),
    "person replaced": Moves(4, 2 * math.sqrt(2), 2),
}  # fmt: skip


class Counts(CountTable):
    """A table of counts that may be asked for by any method."""

    def l1(self, neighbours: Neighbours) -> int:
        return neighbours.histogram_l1

    def occurring(self, rows: Any) -> Any:
        counts = self.exact(rows)
        return ["a", "b"], counts[:2], counts[2:]


class Scores(Counts):
    """The same as scores of candidates, of which each moves by whole numbers."""

    def sensitivity(self, neighbours: Neighbours) -> float:
        return self.l1(neighbours)


# Method -> how it is asked, and the scale of its noise where a unit moves counts so far.
ASKED: dict[str, tuple[Callable[[Queryable], Any], Callable[[Moves], float]]] = {
    "ask": (lambda rows: rows.ask(Counts([FIRST]), SHARE), lambda unit: unit.l2 / (MU * math.sqrt(SHARE))),
    "ask_tables": (
        lambda rows: rows.ask_tables([[FIRST], [FIRST, SECOND], []], [SHARE / 3] * 3),
        lambda unit: unit.l2 / (MU * math.sqrt(SHARE / 3)),
    ),
    "ask_tables, many": (
        lambda rows: rows.ask_tables([[FIRST]] * MANY_TABLES, [SHARE / MANY_TABLES] * MANY_TABLES),
        lambda unit: unit.l2 / (MU * math.sqrt(SHARE / MANY_TABLES)),
    ),
    "ask_frequent": (
        lambda rows: rows.ask_frequent(Counts([FIRST]), SHARE, 0.01),
        lambda unit: unit.l2 / (MU * math.sqrt(SHARE)),
    ),
    "ask_laplace": (lambda rows: rows.ask_laplace(Counts([FIRST]), EPSILON), lambda unit: unit.l1 / EPSILON),
    "count_rows": (lambda rows: rows.count_rows(EPSILON, 0.01), lambda unit: unit.rows / EPSILON),
    "choose": (lambda rows: rows.choose(Scores([FIRST])), lambda unit: 2 * unit.l1 / EPSILON),
    "ask_sampled": (lambda rows: rows.ask_sampled(Counts([FIRST]), 0.5), lambda unit: unit.l2 / SUM),
    "release_groups": (
        lambda rows: rows.release_groups(
            [[0], [1]], bound(ReleaseTest, k=2, epsilon0=EPSILON, delta=0.01, neighbours=rows.neighbours)
        ),
        lambda unit: unit.l1 / EPSILON,
    ),
}  # fmt: skip
ONE_ROW_ALONE = ("ask_sampled",)


def scales(method: str, unit: Neighbours, kind: type[Queryable] = Queryable) -> list[float]:
    """Scales of all noise that one answer is given."""
    sizes = (ReleaseLoss(epsilon0=EPSILON, delta=0.01, l1=l1) for l1 in range(1, 5))  # of any unit
    entry = LedgerEntry(name="model", mechanism="test", losses=(*PAID, *sizes), scope="test")
    ledger = PrivacyLedger(delta=1e-6, neighbours=unit)
    rows = kind(CodeArray(CODES, CARDS), ledger, [entry], KeyedRNG.from_os_entropy())
    with record_calls() as calls:
        ASKED[method][0](rows)
    assert calls
    return [call.scale for call in calls]


@pytest.mark.parametrize("method", ASKED)
@pytest.mark.parametrize("unit", guarded.UNITS)
def test_the_noise_of_every_answer_is_for_the_unit(unit: str, method: str) -> None:
    neighbours = guarded.UNITS[unit]
    if method in ONE_ROW_ALONE and neighbours != ONE_ROW:
        with pytest.raises(ValueError, match="single rows"):
            scales(method, neighbours)
        return
    for scale in scales(method, neighbours):
        assert scale == pytest.approx(ASKED[method][1](MOVES[unit]), rel=1e-6)


class ForOneRow(Queryable):
    """Planted: whoever is protected, noise is for one row that comes or goes."""

    neighbours = ONE_ROW  # type: ignore[assignment]


@pytest.mark.parametrize("method", [name for name in ASKED if name not in ONE_ROW_ALONE])
def test_a_door_that_takes_every_unit_for_one_row_is_caught(method: str) -> None:
    needs = ASKED[method][1]
    for unit, neighbours in guarded.UNITS.items():
        is_more = needs(MOVES[unit]) > needs(MOVES["row"])
        for scale in scales(method, neighbours, ForOneRow):
            assert (scale < 0.9 * needs(MOVES[unit])) == is_more


def answering(kind: type) -> set[str]:
    """Public methods of a door that pay for an answer."""
    methods = {name: one for name, one in inspect.getmembers(kind, inspect.isfunction) if name[0] != "_"}
    return {name for name, method in methods.items() if "._meter.spend" in inspect.getsource(method)}


def test_every_method_that_answers_is_among_them() -> None:
    class Wider(Queryable):
        def ask_median(self) -> None:
            self._meter.spend(share=1.0)

    asked = {name.split(",")[0] for name in ASKED}
    assert answering(Queryable) == asked
    assert answering(Wider) - asked == {"ask_median"}
    assert set(MOVES) == set(guarded.UNITS)

"""The adaptive learner looks at rows only through charged releases (docs/explanation/proofs/adaptive_network.md)."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from sdv_plausible.models.adaptive.learner import AdaptiveLearner, Schedule, _Measurements
from sdv_plausible.models.base import LearningRows, ModelBudget
from sdv_plausible.models.measuring import GaussianBudget
from sdv_plausible.privacy.accounting.composition import calibrate_gaussian
from sdv_plausible.privacy.ledger import BudgetExceededError, PrivacyLedger
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.privacy.noise.mechanisms import record_calls
from sdv_plausible.table.domain import Attribute, Domain

CARDS = (3, 2, 4, 12)


def domain() -> Domain:
    nominal = [Attribute(name=f"c{j}", kind="categorical", values=tuple(range(c))) for j, c in enumerate(CARDS[:3])]
    ends = tuple(range(CARDS[3]))
    return Domain((*nominal, Attribute(name="number", kind="integer", lower=ends, upper=ends)))


def table(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 3, n)
    return np.stack(
        [first, (first + rng.integers(0, 2, n)) % 2, rng.integers(0, 4, n), first * 3 + rng.integers(0, 4, n)], axis=1
    )


def fit(codes: np.ndarray, epsilon: float = 1.0, coins: Coins | None = None) -> tuple[PrivacyLedger, list]:
    ledger = PrivacyLedger(delta=1e-6)
    with record_calls() as calls:
        AdaptiveLearner().fit(
            LearningRows(structure=codes, parameters=codes),
            domain(),
            ModelBudget(epsilon=epsilon, delta=1e-6),
            ledger,
            coins or Coins.from_os_entropy(),
        )
    return ledger, calls


@pytest.mark.parametrize("n", [1, 30, 2000])
def test_the_noise_calls_add_up_to_the_charge(n):
    ledger, calls = fit(table(n))
    mu = calibrate_gaussian(1.0, 1e-6)
    spent = sum((call.sensitivity / call.scale) ** 2 for call in calls)
    assert spent <= mu**2 * (1 + 1e-9)
    assert ledger.total() <= 1.0
    assert all(call.name == "discrete_gaussian" for call in calls)


def test_noise_covers_every_declared_cell_whatever_the_rows():
    """One-way tables have the declared shapes; removing the only record of a cell changes no shape and no scale."""
    codes = table(2000)
    codes[0, 2] = 3
    codes[1:, 2] %= 3  # row 0 holds the only record of value 3
    shapes = [[(c.shape, c.scale) for c in fit(rows, coins=Coins.from_seed(5))[1]][:5] for rows in (codes, codes[1:])]
    assert shapes[0][0][0] == (1,)
    assert [s for s, _ in shapes[0][1:]] == [(c,) for c in CARDS]
    assert [s for s, _ in shapes[0]] == [s for s, _ in shapes[1]]


def scores(measurements: _Measurements, rows: np.ndarray, reference: dict) -> np.ndarray:
    return np.array([np.abs(measurements._table(rows, e) - np.rint(reference[e])).sum() for e in sorted(reference)])


def test_score_sensitivity_by_brute_force():
    """Adding any row changes each score by at most 1. Control: a score against the product of the true margins does not."""
    codes = table(25, seed=3)
    budget = GaussianBudget(5.0, Coins.from_seed(1))
    made = _Measurements(codes, domain(), budget, Schedule.make(1e6, budget, 4))  # as for a large table: small floor
    pairs = list(itertools.combinations(range(4), 2))
    estimate = {e: made._estimate(e) for e in pairs}
    before, worst, control = scores(made, made._rows, estimate), 0.0, 0.0

    def true_margin_score(rows: np.ndarray, e: tuple[int, int]) -> float:
        t = made._table(rows, e).astype(float)
        return float(np.abs(t - np.outer(t.sum(1), t.sum(0)) / t.sum()).sum())

    for row in itertools.product(*(range(s) for s in made._sizes)):
        rows = np.vstack([made._rows, row])
        worst = max(worst, float(np.abs(scores(made, rows, estimate) - before).max()))
        control = max(control, *(abs(true_margin_score(rows, e) - true_margin_score(made._rows, e)) for e in pairs))
    assert worst <= 1
    assert control > 1.2


def test_nothing_is_looked_at_before_it_is_charged():
    class Refuses(PrivacyLedger):
        def charge(self, *entries):
            raise BudgetExceededError("no")

    class Untouchable:
        def __getattr__(self, name):
            raise AssertionError("looked at")

    with pytest.raises(BudgetExceededError, match="no"):
        AdaptiveLearner().fit(
            LearningRows(structure=Untouchable(), parameters=Untouchable()),
            domain(),
            ModelBudget(epsilon=1.0, delta=1e-6),
            Refuses(delta=1e-6),
            Coins.from_seed(0),
        )


def test_a_share_cannot_be_spent_twice():
    budget = GaussianBudget(1.0, Coins.from_seed(0))
    budget.release(np.zeros(3, dtype=int), 0.6)
    with record_calls() as calls, pytest.raises(BudgetExceededError, match="left"):
        budget.release(np.zeros(3, dtype=int), 0.6)
    assert not calls


def test_without_privacy_there_is_no_noise_and_no_claim():
    ledger, calls = fit(table(500), epsilon=math.inf)
    assert not calls
    assert not ledger.claims_privacy
    assert math.isinf(ledger.total())

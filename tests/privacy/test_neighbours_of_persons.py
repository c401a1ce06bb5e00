"""The neighbour relation: its words, its arguments, and the figures of what several rows cost."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

from sdv_plausible.extensions.models.datasynthesizer.greedy_bayes import GreedyPlan, _most_rows
from sdv_plausible.extensions.models.paper.paper_network import PaperNetwork, least_rows
from sdv_plausible.extensions.models.paper.paper_plans import LearningPlan
from sdv_plausible.fitting.fit import fit_release
from sdv_plausible.models.adaptive.schedule import SCORE_SHARE, SET_SCORE_SHARE, SIZE_SHARE
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.privacy.accounting.attacker_bounds import attackers
from sdv_plausible.privacy.accounting.composition import calibrate_gaussian, compose
from sdv_plausible.privacy.accounting.gaussian import discrete_gaussian_mu, gaussian_log_delta
from sdv_plausible.privacy.accounting.losses import (
    ZCDP,
    ApproxDP,
    DiscreteLaplaceLoss,
    GaussianLoss,
    ReleaseLoss,
)
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.privacy.noise import mechanisms as noise
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import CodeArray
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.table.columns.domain import Attribute, Domain
from tests.flat import settings_of

PEOPLE = Neighbours(rows=10, person="home")
PAGES = Path(__file__).parents[2] / "docs/explanation"
DELTA = 1e-9
TEN_ROWS = "all rows with one value of home, of which at most 10 are used"
ONE_USED = "all rows with one value of home, of which at most 1 is used"


def gaussian_epsilon(mu: float) -> float:
    """Epsilon of the Gaussian mechanism at DELTA, by its closed form."""
    return float(brentq(lambda e: float(gaussian_log_delta(mu, e)) - math.log(DELTA), 0, 500))


def said_on(page: str, *words: str) -> list[str]:
    """Those of some words that a page does not say, wherever its lines break."""
    text = re.sub(r"\s+", " ", (PAGES / page).read_text(encoding="utf-8"))
    return [word for word in words if word not in text]


def test_ten_rows_of_a_release_made_for_one_cost_more_than_ten() -> None:
    """By k mu at exactly (1, 1e-9), by group privacy of zCDP, and by ten equal steps."""
    mu = float(brentq(lambda m: gaussian_epsilon(m) - 1, 0.01, 1))
    charged = calibrate_gaussian(1.0, DELTA)
    whole, spent = (compose([ZCDP(rho=share * (10 * charged) ** 2 / 2)], DELTA) for share in (1, 0.998))

    def equal_steps(total: float) -> float:
        log_sum = math.log(math.expm1(total)) - math.log(math.expm1(total / 10))
        return float(gaussian_log_delta(mu, total / 10)) + log_sum - math.log(DELTA)

    exact, steps = gaussian_epsilon(10 * mu), float(brentq(equal_steps, 1, 50))
    assert 12 < exact < spent < whole < steps
    words = "{}. Group privacy of the zCDP bound says {} ({} for the 99.8 % that a default fit spends), ten"
    figures = [rounded_up(epsilon, 4) for epsilon in (exact, whole, spent, steps)]
    told = words.format(*figures[:3]), f"steps of $(\\epsilon, \\delta)$ say {figures[3]}:"
    assert said_on("proofs/persons.md", *told) == []


def test_a_replaced_row_costs_less_than_two_steps() -> None:
    """A default release made for addition and removal: 1.4787 under replacement, where adding up says 2."""
    mu = discrete_gaussian_mu(1 / calibrate_gaussian(1.0, DELTA))
    replaced = Neighbours(replace=True)
    scores = SCORE_SHARE + SET_SCORE_SHARE  # of pairs and of sets: one may move by 2
    tables = 1 - scores - SIZE_SHARE  # the number of rows does not change
    moved = math.sqrt(scores * replaced.histogram_l1**2 + tables * replaced.histogram_l2**2)
    assert gaussian_epsilon(moved * mu) == pytest.approx(1.4787, abs=0.0005)
    for page in ("privacy_promise.md", "proofs/persons.md"):
        text = " ".join((PAGES / page).read_text(encoding="utf-8").split())
        assert f"costs {rounded_up(gaussian_epsilon(moved * mu))}" in text
    assert gaussian_epsilon(replaced.histogram_l2 * mu) == pytest.approx(1.44, abs=0.005)
    assert 2 * gaussian_epsilon(mu) == pytest.approx(2.0, abs=0.01)


def test_the_default_releases_attackers_are_as_the_pages_say() -> None:
    ours = attackers([GaussianLoss(sensitivity_over_sigma=calibrate_gaussian(1.0, DELTA))])
    gain, hits = rounded_up(ours.advantage), [rounded_up(100 * hit) for hit in ours.hits.values()]
    told = f"advantage {gain.lstrip('0')}, at most {hits[0]} % found at 1 % false alarms and {hits[1].lstrip('0')} %"
    assert said_on("proofs/attackers.md", told) == []
    any_release = attackers([ApproxDP(epsilon=1.0, delta=DELTA)]).advantage
    worst, gained = (rounded_up(100 * share, 2) for share in (any_release, ours.advantage))
    told = f"gains at most {gained} %, not {worst} %"
    assert said_on("choosing.md", told, f"at most {worst} % of any release, {gained} % of one") == []
    assert f"hits exceed false alarms by at most {gained} %" in ours.rare()
    right = rounded_up(50 * (1 + ours.advantage))
    assert said_on("choosing.md", f"right at most {right} % of the time") == []


def test_the_charge_covers_the_discreteness_of_every_sensitivity() -> None:
    """Noise sigma = s/m costs s times its own mu: never more than is charged for m at sensitivity 1."""
    sensitivities = math.sqrt(2), 2.0, 3.0, 10.0, 10 * math.sqrt(2), 200.0
    for sensitivity, m in itertools.product(sensitivities, (0.001, 0.05, 0.18, 1.0, 5.0)):
        cost = sensitivity * discrete_gaussian_mu(sensitivity / m)
        assert m <= cost <= GaussianLoss(sensitivity_over_sigma=m).mu * (1 + 2e-8)  # roundings of both


def test_discreteness_shrinks_as_sigma_grows() -> None:
    """sigma times mu(sigma) falls, which the charge rests on (persons.md, Theorem 1)."""
    sigmas = np.geomspace(0.15, 2000, 400)
    scaled = np.array([s * discrete_gaussian_mu(s) for s in sigmas])
    assert (np.diff(scaled) <= 4e-9).all()


def test_the_rows_of_a_person_in_one_size_are_worst() -> None:
    """Shifts of several sizes that add up to c lose no more than one shift by c: products enumerated."""
    rate, c = 0.5, 3
    one = DiscreteLaplaceLoss(epsilon=rate * c, sensitivity=c)
    a, z = math.exp(-rate), np.arange(-60, 61)
    law = [(1 - a) / (1 + a) * a ** np.abs(z - shift) for shift in range(c + 1)]
    for split, epsilon in itertools.product(((3,), (2, 1), (1, 1, 1)), (0.0, 0.3, 0.7, 1.1, 1.4)):
        p = q = np.ones(1)
        for shift in split:
            p, q = np.multiply.outer(p, law[shift]).ravel(), np.multiply.outer(q, law[0]).ravel()
        found = np.maximum(p - math.exp(epsilon) * q, 0).sum()
        assert found <= float(one.profile(epsilon)[0]) + 1e-12
        assert split != (3,) or found == pytest.approx(float(one.profile(epsilon)[0]), abs=1e-9)


def test_the_loss_of_the_release_test_is_the_old_one_for_one_row() -> None:
    epsilon = np.linspace(0, 3, 31)
    old, new = (ReleaseLoss(epsilon0=1.0, delta=1e-3, **how).profile(epsilon) for how in ({}, {"l1": 1}))
    assert np.array_equal(old, new)
    totals = [compose([ReleaseLoss(epsilon0=1.0, delta=4e-10, l1=c)], DELTA) for c in (1, 2, 10)]
    assert all(0.99 < total <= 1 + 1e-9 for total in totals)


def bounds(
    bound: Callable[[Queryable, Any], int], rows: int, unit: Neighbours, plan: Any, sigma: float, sign: int
) -> list[int]:
    """Bounds from a noisy number of rows, for the last noises within the tail that is charged: all noise is tried."""
    entries = plan.entries("cfs") if isinstance(plan, LearningPlan) else plan.entries()
    tail = math.sqrt(-2 * math.log(plan.size_failure)) * sigma  # Pr[z > tail] <= failure, sub-Gaussian
    found = []
    for z in range(math.floor(tail) - 5, math.floor(tail) + 1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(noise, "discrete_gaussian", lambda values, z=z, **_: np.asarray(values) + sign * z)
            ledger = PrivacyLedger(delta=1e-3, neighbours=unit)
            codes = CodeArray(np.zeros((rows, 2), dtype=int), (2, 2))
            found.append(bound(Queryable(codes, ledger, entries, KeyedRNG.from_seed(0)), plan))
    return found


TWO = Domain(tuple(Attribute(name=n, kind="categorical", values=(0, 1)) for n in "ab"))


@pytest.mark.parametrize("rows", [1, 7])
def test_the_bound_holds_for_the_smaller_table(rows: int) -> None:
    """Unless noise exceeds the tail that is charged, no number from n + c rows is above n."""
    unit, size = Neighbours(rows=rows), 5000
    plan = LearningPlan.make("cfs", TWO, ModelBudget(epsilon=1.0, delta=1e-3, neighbours=unit))
    sigma = unit.histogram_l2 / (plan.mu * math.sqrt(plan.shares["size"]))
    assert size - 3 < max(bounds(least_rows, size + rows, unit, plan, sigma, 1)) <= size


@pytest.mark.parametrize("rows", [1, 7])
def test_the_bound_from_above_holds_for_the_larger_table(rows: int) -> None:
    """The same for GreedyBayes: no number from n rows is below n + c."""
    unit, size = Neighbours(rows=rows), 5000
    plan = GreedyPlan.make(TWO, ModelBudget(epsilon=1.0, delta=1e-3, neighbours=unit))
    found = bounds(_most_rows, size, unit, plan, unit.histogram_l2 / plan.mu_each("size"), -1)
    assert size + rows <= min(found) < size + rows + 3


PEOPLE_OF_THREE = "one person (with at most 3 rows)"
WORDS = [
    (ONE_ROW, "addition or removal of any one row", "Adding or removing any one row", "one row"),
    (PEOPLE, f"addition or removal of any one person ({TEN_ROWS})", "Adding or removing any one person", f"one person ({TEN_ROWS})"),
    (
        Neighbours(replace=True), "replacement of any one row by another one (the number of rows is public)",
        "Replacing any one row by another one", "one row",
    ),
    (
        Neighbours(replace=True, person="home"),
        f"replacement of any one person by another one ({ONE_USED}; the number of people is public)",
        "Replacing any one person by another one", f"one person ({ONE_USED})",
    ),
    (Neighbours(rows=3), f"addition or removal of any {PEOPLE_OF_THREE}", "Adding or removing any one person", PEOPLE_OF_THREE),
]  # fmt: skip


@pytest.mark.parametrize(("neighbours", "relation", "comparison", "unit"), WORDS)
def test_the_ledger_speaks_of_its_unit(
    neighbours: Neighbours, relation: str, comparison: str, unit: str
) -> None:
    ledger = PrivacyLedger(delta=DELTA, neighbours=neighbours)
    loss = GaussianLoss(sensitivity_over_sigma=0.18)
    ledger.charge(LedgerEntry(name="model", mechanism="noise", losses=(loss,), scope="the model"))
    assert f"for the {relation}. {comparison} changes the probability of any outcome" in ledger.sentence()
    told = json.loads(ledger.to_json())
    assert (told["unit"], told["neighbours"]) == (unit, relation)
    assert told["headline"] == ledger.sentence()


def test_nothing_says_that_rows_multiply_epsilon() -> None:
    rows, people = (PrivacyLedger(delta=DELTA, neighbours=n).not_covered for n in (ONE_ROW, PEOPLE))
    grows = "several rows of one person: their loss grows faster than their number"
    assert any(grows in item for item in rows)
    assert not any("several rows" in item for item in people)
    assert any("under several values of home" in item for item in people)
    assert "multiplied by their number" not in " ".join((*rows, *people))


def test_a_ledger_for_others_is_refused() -> None:
    """Noise is made for the ledger's neighbours, thresholds for the settings': they must be the same."""
    settings = settings_of(
        epsilon=1.0, delta=DELTA, k=5, gamma=4.0, epsilon0=1.0, omega=None, test="release",
        row_cap=10, seed_free_share=0.5, neighbours=PEOPLE,
    )  # fmt: skip
    rows = CodeArray(np.zeros((9, 2), dtype=np.int32), (2, 2))
    learner = PaperNetwork(structure="independent")
    refused = r"must have the neighbours of the settings .*home.*same neighbours"
    with pytest.raises(ValueError, match=refused):
        fit_release(rows, TWO, settings, learner, PrivacyLedger(delta=DELTA), KeyedRNG.from_seed(0))
    ledger = settings.empty_ledger()
    fit_release(rows, TWO, settings, learner, ledger, KeyedRNG.from_seed(0))
    assert ledger.total() <= 1.0

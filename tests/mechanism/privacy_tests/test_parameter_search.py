"""Randomised tests whose rows cost at most a total, and plans within a total."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import pytest

from sdv_plausible import PlausibleDeniabilitySynthesizer, RandomizedTest, ReleaseTest, metadata_of
from sdv_plausible.mechanism.privacy_tests import row_tests
from sdv_plausible.mechanism.privacy_tests.row_tests import charged_cost, cheapest
from sdv_plausible.privacy.neighbours import ONE_ROW

WORDS = {f"c{i}": {"sdtype": "categorical", "range_values": list("abcd")} for i in range(4)}
ASKED = {"rows": 100, "least_rows": 5000}
# Epsilon, the arguments, and the k of a search by charges alone, which took 3 to 80 s for each.
SLOW_SEARCH = [
    (0.5, {"rows": 100, "least_rows": 20_000}, 395),
    (0.5, {"rows": 1_000, "least_rows": 20_000}, 2291),
    (1.0, {"rows": 100, "least_rows": 5_000}, 286),
    (1.0, {"rows": 1_000, "least_rows": 20_000}, 559),
    (2.0, {"rows": 1_000, "least_rows": 20_000}, 177),
    (2.0, {"rows": 10_000, "least_rows": 20_000}, 1276),
    (4.0, {"rows": 1_000, "least_rows": 30_000}, 52),
    (8.0, {"rows": 10_000, "least_rows": 1_000_000, "delta": 1e-6}, 6),
    (0.3, {"rows": 1, "least_rows": 500}, 101),
    (1.0, {"rows": 100, "least_rows": 5_000, "k": 150}, 150),
]


@pytest.fixture(scope="module")
def found() -> RandomizedTest:
    return RandomizedTest.within(1.0, **ASKED)


def keeps_what_was_asked(epsilon: float, asked: dict[str, Any], k: int) -> None:
    """The charge is within epsilon, and k is that of the slow search."""
    test, delta = RandomizedTest.within(epsilon, **asked), asked.get("delta", 1e-9)
    assert charged_cost(test, delta / 2) <= epsilon
    assert test.k == k


@pytest.mark.parametrize(("epsilon", "asked", "k"), SLOW_SEARCH)
def test_a_fast_search_gives_the_k_of_the_slow_one(epsilon: float, asked: dict[str, Any], k: int) -> None:
    keeps_what_was_asked(epsilon, asked, k)


def test_estimates_that_are_too_low_never_let_the_charge_exceed_epsilon(monkeypatch: Any) -> None:
    """Planted faults: estimates a tenth too low cost a larger k at most; without the last charge, epsilon is broken."""
    honest = RandomizedTest.estimated_cost
    monkeypatch.setattr(RandomizedTest, "estimated_cost", lambda test: 0.9 * honest(test))
    test = RandomizedTest.within(1.0, **ASKED)
    assert charged_cost(test, 5e-10) <= 1.0
    assert test.k <= 1.06 * 286
    monkeypatch.setattr(row_tests, "charged_cost", lambda *_: 0.0)
    with pytest.raises(AssertionError):
        keeps_what_was_asked(1.0, ASKED, 286)


def test_estimates_that_are_too_high_change_k_and_the_comparison_sees_it(monkeypatch: Any) -> None:
    honest = RandomizedTest.estimated_cost
    monkeypatch.setattr(RandomizedTest, "estimated_cost", lambda test: 1.2 * honest(test))
    with pytest.raises(AssertionError):
        keeps_what_was_asked(1.0, ASKED, 286)


@pytest.mark.parametrize("k", [100, 400, 4500])
def test_an_estimate_is_an_upper_bound_close_to_the_charge(k: int) -> None:
    test, estimate = cheapest(RandomizedTest(k=k, row_cap=100, least_rows=5000), 5e-10)
    charge = charged_cost(test, 5e-10)
    assert charge * (1 - 1e-4) <= estimate <= 1.01 * charge
    for epsilon0 in (test.epsilon0, 0.8 * test.epsilon0):
        other = replace(test, epsilon0=epsilon0).bound(5e-10, ONE_ROW)
        assert other.is_feasible == (charged_cost(other, 5e-10) < math.inf)


def test_where_a_k_close_to_all_records_is_infeasible_smaller_ones_are_searched() -> None:
    """The charge falls until k is about nine tenths of the records, and rises then."""
    test = RandomizedTest.within(4.0, rows=1_000, least_rows=1_000)
    assert test.k < 900
    assert charged_cost(test, 5e-10) <= 4.0
    assert charged_cost(cheapest(replace(test, k=1_000), 5e-10)[0], 5e-10) > 4.0


def test_rows_cost_at_most_what_was_asked_and_a_smaller_k_costs_more(found: RandomizedTest) -> None:
    cost = charged_cost(cheapest(found, 5e-10)[0], 5e-10)
    assert 0.9 < cost <= 1.0
    assert (found.row_cap, found.least_rows, found.seed_free_share) == (100, 5000, 0.5)
    fewer = RandomizedTest(k=round(found.k * 0.9), row_cap=100, least_rows=5000)
    assert cheapest(fewer, 5e-10)[1] > 1.0


def test_epsilon0_is_the_cheapest(found: RandomizedTest) -> None:
    least = charged_cost(found, 5e-10)
    assert least <= 1.0
    assert charged_cost(replace(found, epsilon0=1.3 * found.epsilon0), 5e-10) > least
    with pytest.raises(ValueError, match="cannot be reached|is too small"):
        replace(found, epsilon0=0.85 * found.epsilon0).bound(5e-10, ONE_ROW).charge(1.0)


def test_a_given_k_takes_the_fewest_candidates_without_a_seed(found: RandomizedTest) -> None:
    less = RandomizedTest.within(1.0, k=round(found.k * 0.6), **ASKED)
    assert less.seed_free_share > 0.5
    before = row_tests.SHARES[row_tests.SHARES.index(less.seed_free_share) - 1]
    with pytest.raises(ValueError, match=rf"k \({less.k}\) is too small: 100 rows"):
        RandomizedTest.within(1.0, k=less.k, seed_free_share=before, **ASKED)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"epsilon": 0.05, "rows": 10**6, "least_rows": 100},
            "epsilon (0.05) cannot be reached for 1,000,000 rows",
        ),
        ({"epsilon": 0.0, "rows": 10, "least_rows": 100}, "epsilon (0.0) must be"),
        ({"epsilon": 1.0, "rows": 0, "least_rows": 100}, "rows (0) must be"),
        ({"epsilon": 1.0, "rows": 10, "least_rows": 100, "k": 0}, "k (0) must be"),
        (
            {"epsilon": 1.0, "rows": 10, "least_rows": 100, "k": 10**8},
            "10 rows of a table of at least 100 cost inf",
        ),
        ({"epsilon": 1.0, "rows": 10, "least_rows": 100, "delta": 2.0}, "delta (2.0) must lie"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, float], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        RandomizedTest.within(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["release", "randomized"])
def test_a_plan_within_a_total_uses_nearly_all_of_it(kind: str, found: RandomizedTest) -> None:
    test = ReleaseTest(k=50, epsilon0=0.5, omega=2) if kind == "release" else found
    synth = PlausibleDeniabilitySynthesizer(metadata_of(WORDS), domain=WORDS, test=test)
    plan = synth.plan(total=2.0)
    assert 1.99 < plan.ledger.total() <= 2.0
    assert plan.epsilon < 2.0
    assert (
        PlausibleDeniabilitySynthesizer(metadata_of(WORDS), domain=WORDS, test=test, epsilon=plan.epsilon)
        .plan()
        .ledger.total()
        == plan.ledger.total()
    )


def test_a_total_below_the_test_s_own_is_refused() -> None:
    synth = PlausibleDeniabilitySynthesizer(
        metadata_of(WORDS), domain=WORDS, test=ReleaseTest(k=50, epsilon0=2.0, omega=2)
    )
    with pytest.raises(
        ValueError, match=r"total \(1\) cannot be reached: at epsilon 0.01 the release costs 2"
    ):
        synth.plan(total=1.0)
    with pytest.raises(ValueError, match="cannot be combined with max_advantage"):
        synth.plan(total=3.0, max_advantage=0.1)


def test_a_large_total_names_what_lowers_it() -> None:
    synth = PlausibleDeniabilitySynthesizer(
        metadata_of(WORDS), domain=WORDS, test=RandomizedTest(row_cap=10_000, least_rows=30_000)
    )
    (said,) = [one for one in synth.plan().warnings if "hardly any protection" in one]
    assert "row_cap (10,000) or epsilon0" in said

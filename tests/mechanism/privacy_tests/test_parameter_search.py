"""Randomised tests whose rows cost at most a total, and plans within a total."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from sdv_plausible import PlausibleDeniabilitySynthesizer, RandomizedTest, ReleaseTest, metadata_of
from sdv_plausible.mechanism.privacy_tests import row_tests
from sdv_plausible.mechanism.privacy_tests.row_tests import cheapest
from sdv_plausible.privacy.accounting.composition import compose
from sdv_plausible.privacy.neighbours import ONE_ROW

WORDS = {f"c{i}": {"sdtype": "categorical", "range_values": list("abcd")} for i in range(4)}
ASKED = {"rows": 100, "least_rows": 5000}


@pytest.fixture(scope="module")
def found() -> RandomizedTest:
    return RandomizedTest.within(1.0, **ASKED)


def test_rows_cost_at_most_what_was_asked_and_a_smaller_k_costs_more(found: RandomizedTest) -> None:
    cost = cheapest(found, 5e-10)[1]
    assert 0.9 < cost <= 1.0
    assert (found.row_cap, found.least_rows, found.seed_free_share) == (100, 5000, 0.5)
    fewer = RandomizedTest(k=round(found.k * 0.9), row_cap=100, least_rows=5000)
    assert cheapest(fewer, 5e-10)[1] > 1.0


def cost(test: RandomizedTest) -> float:
    losses = [loss for entry in test.bound(5e-10, ONE_ROW).charge(1.0) for loss in entry.losses]
    return compose(losses, 5e-10)


def test_epsilon0_is_the_cheapest(found: RandomizedTest) -> None:
    least = cost(found)
    assert least <= 1.0
    assert cost(replace(found, epsilon0=1.3 * found.epsilon0)) > least
    with pytest.raises(ValueError, match="out of reach"):
        cost(replace(found, epsilon0=0.85 * found.epsilon0))


def test_a_given_k_takes_the_fewest_candidates_without_a_seed(found: RandomizedTest) -> None:
    less = RandomizedTest.within(1.0, k=round(found.k * 0.6), **ASKED)
    assert less.seed_free_share > 0.5
    before = row_tests.SHARES[row_tests.SHARES.index(less.seed_free_share) - 1]
    with pytest.raises(ValueError, match=rf"k \({less.k}\) is out of reach: 100 rows"):
        RandomizedTest.within(1.0, k=less.k, seed_free_share=before, **ASKED)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"epsilon": 0.05, "rows": 10**6, "least_rows": 100},
            "epsilon (0.05) is out of reach for 1,000,000 rows",
        ),
        ({"epsilon": 0.0, "rows": 10, "least_rows": 100}, "epsilon (0.0) must be"),
        ({"epsilon": 1.0, "rows": 0, "least_rows": 100}, "rows (0) must be"),
        ({"epsilon": 1.0, "rows": 10, "least_rows": 100, "k": 0}, "k (0) must be"),
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
    with pytest.raises(ValueError, match=r"total \(1\) cannot be kept: at epsilon 0.01 the release costs 2"):
        synth.plan(total=1.0)
    with pytest.raises(ValueError, match="does not go with max_advantage"):
        synth.plan(total=3.0, max_advantage=0.1)


def test_a_large_total_names_what_lowers_it() -> None:
    synth = PlausibleDeniabilitySynthesizer(
        metadata_of(WORDS), domain=WORDS, test=RandomizedTest(row_cap=10_000, least_rows=30_000)
    )
    (said,) = [one for one in synth.plan().warnings if "hardly any protection" in one]
    assert "row_cap (10,000) or epsilon0" in said

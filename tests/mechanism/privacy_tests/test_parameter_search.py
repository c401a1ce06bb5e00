"""Randomised tests whose rows cost at most a total, and plans within a total."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sdv_plausible import (
    DeterministicTest,
    PlausibleDeniabilitySynthesizer,
    RandomizedTest,
    Release,
    ReleaseTest,
    fit_source,
    metadata_of,
)
from sdv_plausible.fitting import fit as fit_module
from sdv_plausible.mechanism.privacy_tests import row_tests
from sdv_plausible.mechanism.privacy_tests.row_tests import charged_cost, cheapest
from sdv_plausible.privacy.neighbours import ONE_ROW

WORDS = {f"c{i}": {"sdtype": "categorical", "range_values": list("abcd")} for i in range(4)}
TABLE = pd.DataFrame(
    np.array(list("abcd"))[np.random.default_rng(0).integers(0, 4, (1_000, 4))], columns=[*WORDS]
)
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


# --- epsilon as the total ------------------------------------------------------------------------------

WITHIN = {
    "release": ReleaseTest.within(k=5, omega=3),
    "randomized": RandomizedTest.within(rows=1, least_rows=500),
}


def made(test: Any, **given: Any) -> PlausibleDeniabilitySynthesizer:
    return PlausibleDeniabilitySynthesizer(metadata_of(WORDS), domain=WORDS, test=test, **given)


def keeps_the_total(kind: str, epsilon: float = 1.0) -> None:
    """Plan and fit cost nearly all of epsilon and no more, and the model gets what composition leaves."""
    synth = made(WITHIN[kind], epsilon=epsilon)
    plan = synth.plan()
    assert 0.999 * epsilon < plan.ledger.total() <= plan.epsilon == epsilon
    settings = synth._fit_template.settings
    assert settings.epsilon > epsilon / 2
    synth.fit(TABLE)
    assert synth.privacy_ledger().total() == plan.ledger.total()
    assert len(synth.sample(1)) == 1


@pytest.mark.parametrize("kind", [*WITHIN])
def test_epsilon_is_the_total_of_a_test_within_it(kind: str) -> None:
    keeps_the_total(kind)


def test_a_model_that_gets_half_or_all_of_the_total_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    for share in (0.5, 1.0):
        monkeypatch.setattr(fit_module, "epsilon_within", lambda total, _, share=share: share * total)
        with pytest.raises(AssertionError):
            keeps_the_total("release")


def test_a_release_file_of_a_test_within_epsilon_says_what_was_found() -> None:
    """From both entry points, in a file that loads again; with a seed for tests, and a public total as before."""
    synth = made(WITHIN["release"])
    synth.fit(TABLE)
    by_source = fit_source(TABLE, metadata_of(WORDS), WORDS, test=WITHIN["release"])
    for release in (synth.release(), by_source):
        found = Release.from_bytes(release.to_bytes())
        assert found.settings["epsilon0"] == 0.5
        assert 0.5 < found.settings["epsilon"] < 0.51
        assert 0.999 < found.ledger.total() <= 1
        again = PlausibleDeniabilitySynthesizer.from_release(found)
        assert again.plan().ledger.total() == found.ledger.total()
    repeated = made(WITHIN["release"], random_state=1)
    repeated.plan()
    assert repeated._fit_template.settings.epsilon == synth._fit_template.settings.epsilon


def test_columns_that_change_change_what_the_model_gets() -> None:
    """The total is searched for again where SDV constraints change the columns, and only there."""
    synth, searched = made(WITHIN["release"]), []
    honest = fit_module.Fit.within_total
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit_module.Fit, "within_total", lambda fit: searched.append(1) or honest(fit))
        synth.plan()
        synth.plan(10)
        assert searched == [1]
        patch.setattr(type(synth), "_modelled_specs", lambda _: {"c0": WORDS["c0"]})
        with pytest.raises(ValueError, match="omega"):  # 3 of one column
            synth.plan()
        assert searched == [1, 1]


def test_without_kept_values_all_of_epsilon_is_the_model_s() -> None:
    assert (
        made(ReleaseTest.within(k=20))._fit_template.settings
        == made(ReleaseTest(k=20))._fit_template.settings
    )


def charged_for_rows(test: Any) -> float:
    plan = made(test).plan()
    assert plan.ledger.claims_privacy
    return plan.ledger.total()


@pytest.mark.parametrize("kind", [RandomizedTest, DeterministicTest])
def test_a_test_without_seeds_costs_what_the_model_costs(kind: Any) -> None:
    """Proof: release_test.md, without seeds. Any number of rows, and a release file. Control: a column is kept."""
    synth = made(kind(omega="all", row_cap=10))
    assert synth.plan().ledger.total() == made("release").plan().ledger.total()
    assert "with k = all records and gamma = 1" in str(synth.plan())
    assert "nothing bounds" not in str(synth.plan())
    synth.fit(TABLE)
    assert len(synth.sample(50)) == 50
    assert synth.release().settings["privacy_test"] == "release"
    kept = made(kind(omega=3, row_cap=10)).plan().ledger
    assert "rows" in [entry.name for entry in kept.entries]


REFUSED_WITHIN: list[tuple[Any, str]] = [
    (lambda: made(WITHIN["release"], epsilon=math.inf), r"epsilon \(inf\) must be finite with test=ReleaseTest.within"),
    (lambda: made(WITHIN["release"], epsilon=-1.0), r"epsilon \(-1.0\) must be"),
    (lambda: made(WITHIN["randomized"], neighbours="replace_one"), "single rows added or removed"),
    (lambda: made(WITHIN["randomized"], epsilon=0.05), r"epsilon \(0.025\) is out of reach"),
    (lambda: made(WITHIN["release"]).plan(total=2.0), r"test=ReleaseTest.within.* leave out total \(2.0\)"),
    (lambda: made(WITHIN["release"]).plan(max_advantage=0.1), r"makes epsilon the total: .*max_advantage \(0.1\)"),
    (lambda: RandomizedTest.within(rows=5, least_rows=50, delta=1e-6), r"delta \(1e-06\) is the synthesizer's"),  # type: ignore[call-overload]
    (lambda: RandomizedTest.within(rows=5, least_rows=50, k=0), r"k \(0\) must"),
    (lambda: ReleaseTest.within(k=0), r"k \(0\) must"),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(REFUSED_WITHIN)))
def test_what_cannot_share_epsilon_is_refused_before_a_row(case: int) -> None:
    call, words = REFUSED_WITHIN[case]
    with pytest.raises(ValueError, match=f"^.*{words}"):
        call()

"""The frontier of k against the total and the share of candidates that pass."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sdv_plausible import PlausibleDeniabilitySynthesizer, RandomizedTest, metadata_of
from sdv_plausible.fitting import frontier as module
from sdv_plausible.fitting.frontier import pass_shares
from sdv_plausible.privacy.neighbours import ONE_ROW
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

WORDS = {f"c{i}": {"sdtype": "categorical", "range_values": list("abcd")} for i in range(4)}
TEST = RandomizedTest(k=120, epsilon0=0.16, row_cap=100, least_rows=2_000, omega=3)


def synth(test: Any) -> PlausibleDeniabilitySynthesizer:
    return PlausibleDeniabilitySynthesizer(metadata_of(WORDS), domain=WORDS, test=test)


def check_totals(test: RandomizedTest, num_rows: int | None = None) -> None:
    """Each total is that of a plan with the row's own test, for the rows wanted."""
    table = synth(test).plan(num_rows).frontier([60, 120, 240])
    assert [row.k for row in table] == [60, 120, 240]
    for row in table:
        other = replace(test, k=row.k, epsilon0=row.epsilon0, row_cap=num_rows or test.row_cap)
        assert row.total == synth(other).plan().ledger.total()


def test_totals_are_those_of_plans() -> None:
    check_totals(TEST)
    check_totals(TEST, 40)
    (own,) = (row for row in synth(TEST).plan().frontier() if row.k == TEST.k)
    assert (own.epsilon0, own.total) == (TEST.epsilon0, synth(TEST).plan().ledger.total())


def test_totals_of_another_number_of_rows_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = module._at
    monkeypatch.setattr(
        module, "_at", lambda settings, test, k: honest(settings, replace(test, row_cap=101), k)
    )
    with pytest.raises(AssertionError):
        check_totals(TEST)


def check_shares(test: RandomizedTest, cells: int) -> None:
    """A simulation of the test: candidates without a seed, and with seeds spread evenly, or each alone."""
    test, rng, draws = test.bound(5e-10, ONE_ROW), KeyedRNG.from_seed(1), 200_000
    least, expected = pass_shares(test, [4, 4, 4, 4])

    def passing(group: int) -> float:
        free = np.random.default_rng(0).random(draws) < test.seed_free_share
        return float(test.passes(np.where(free, test.least_rows, group), rng).mean())

    assert passing(test.least_rows // cells) == pytest.approx(expected, abs=0.006)
    assert passing(1) > least - 0.006


@pytest.mark.parametrize(("omega", "cells"), [(3, 4), (2, 16), ("all", 1), (None, 8)])
def test_shares_are_those_of_a_simulation(omega: Any, cells: int) -> None:
    for k in (125, 250, 500, 1_000):
        check_shares(replace(TEST, omega=omega, k=k, epsilon0=0.02), cells)


def test_shares_of_a_threshold_without_noise_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        module, "log_pass_probability", lambda c, k, *_: np.where(np.asarray(c) >= k, 0.0, -math.inf)
    )
    with pytest.raises(AssertionError):
        check_shares(replace(TEST, k=500, epsilon0=0.02), 4)


def test_larger_k_cost_less_and_pass_less_often() -> None:
    table = synth(TEST).plan().frontier()
    assert [row.k for row in table] == [30, 60, 120, 240, 480, 960]
    shares = [row.expected_share for row in table]
    assert shares == sorted(shares, reverse=True)
    searched = [row.total for row in table if row.k != TEST.k]
    assert searched == sorted(searched, reverse=True)
    assert all(row.least_share <= row.expected_share for row in table)


def test_the_table_is_aligned_and_says_what_is_out_of_reach() -> None:
    lines = str(synth(TEST).plan().frontier([120, 20_000])).split("\n")
    assert len({len(line) for line in lines}) == 1
    assert " ".join(lines[0].split()) == "k epsilon0 total epsilon pass at least pass if even"
    assert lines[2].split() == ["20,000", "-", "out", "of", "reach", "-", "-"]


def test_the_figure_shows_the_rows_that_are_in_reach() -> None:
    table = synth(TEST).plan().frontier([120, 240, 20_000])
    total, share = table.figure().data
    assert list(total.x) == list(share.x) == [120, 240]
    assert list(total.y) == [row.total for row in table[:2]]
    assert list(share.y) == [row.expected_share for row in table[:2]]
    assert (total.yaxis, share.yaxis) == (None, "y2")


@pytest.mark.parametrize("test", ["release", "deterministic"])
def test_other_tests_have_none(test: str) -> None:
    with pytest.raises(
        ValueError,
        match="has no frontier: the total depends on k and the number of rows only under RandomizedTest",
    ):
        synth(test).plan().frontier()


def test_a_k_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^ks \(0\)"):
        synth(TEST).plan().frontier([0])

"""Rows as uses of a single row: exact enumeration, brute force over sizes, and formulas that must be caught."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import oracles_accounting as oracle
import pytest
from cases import fast_and_nightly
from oracles_accounting import EPSILONS, OVERLAPPING, PREFIXES, TOLERANCE
from theory.fixed_omega import fixed_omega_loss

from sdv_plausible.extensions.audit.disclosure import exact
from sdv_plausible.privacy.accounting.composition import compose
from sdv_plausible.privacy.accounting.loss_distribution import Composer, SortedLosses
from sdv_plausible.privacy.accounting.losses import ApproxDP, Loss
from sdv_plausible.privacy.accounting.released_rows import (
    IndependentRows,
    ReleasedRows,
    released_rows_loss,
    rows_loss,
)
from sdv_plausible.privacy.neighbours import Neighbours

A = Fraction(1, 5)  # exp(-epsilon0): rational, so that the enumeration is exact
EPSILON0 = math.log(5)


class OneSize(IndependentRows):
    """Planted bug: only groups of size k - 1 are looked at."""

    def profile(self, epsilon):
        p = [
            oracle.pass_probability(c, self.k, self.epsilon0, "discrete_laplace")
            for c in (self.k - 1, self.k)
        ]
        factor = np.exp(np.asarray(epsilon, dtype=float))
        remove = np.maximum(0, p[1] * self.k - factor * p[0] * (self.k - 1)) / self.passing_seeds
        return remove, super().profile(epsilon)[1]


def excess(claim: Loss, more: np.ndarray, less: np.ndarray) -> float:
    """By how much the worse direction exceeds the claim."""
    composed = Composer(SortedLosses.of([claim])).distribution(0.0)
    claimed = np.array([composed.delta(float(e)) for e in EPSILONS])
    worse = np.maximum(oracle.hockey_sticks(more, less), oracle.hockey_sticks(less, more))
    return float(np.max(worse - claimed))


Pair = tuple[IndependentRows, np.ndarray, np.ndarray]


def claims(
    likelihood: list[list[Fraction]], test: exact.PassProbability, gamma: float, sizes: tuple[int, ...] = (5,)
) -> Iterator[Pair]:
    for n, _, _, more, less, floor in oracle.released_pairs(likelihood, Fraction(2), test, 2, sizes):
        common = {"num_rows": 2, "k": 3, "gamma": gamma, "epsilon0": EPSILON0}
        yield IndependentRows(**common, pass_rate_floor=floor, n_lower=n), more, less  # type: ignore[arg-type]


@pytest.mark.parametrize("sizes", fast_and_nightly([(5,)], [((2, 4, 5),)]))
@pytest.mark.parametrize(("likelihood", "gamma"), [(PREFIXES, 1.0), (OVERLAPPING, 2.0)])
def test_claim_covers_every_pair(
    likelihood: list[list[Fraction]], gamma: float, sizes: tuple[int, ...]
) -> None:
    found = list(claims(likelihood, exact.randomized_pass(3, A), gamma, sizes))
    assert max(excess(claim, more, less) for claim, more, less in found) <= TOLERANCE
    # Planted: one row not charged; one size in place of all.
    assert max(excess(replace(claim, num_rows=1), more, less) for claim, more, less in found) > 1e-3
    one_size = [(OneSize(**claim.__dict__), more, less) for claim, more, less in found]
    assert max(excess(*pair) for pair in one_size) > 1e-3


def test_a_sharp_threshold_breaks_the_claim() -> None:
    found = claims(OVERLAPPING, exact.deterministic_pass(3), 2.0)
    assert max(excess(*pair) for pair in found) > 1e-3


@pytest.mark.parametrize("sizes", fast_and_nightly([(4,)], [((2, 4, 5),)]))
def test_mixture_over_omega_is_covered_with_gamma_one(sizes: tuple[int, ...]) -> None:
    """Groups of four records under omega = m (all), a coarse and a fine prefix; omega is part of the output."""
    groups = [(0, 0, 0, 0), (0, 0, 1, 1), (0, 1, 2, 3)]
    weights = [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]
    likelihood = [
        [w * (group[d] == g) for w, group in zip(weights, groups, strict=True) for g in range(max(group) + 1)]
        for d in range(4)
    ]
    found = claims(likelihood, exact.randomized_pass(3, A), 1.0, sizes)
    assert max(excess(*pair) for pair in found) <= TOLERANCE


def test_claim_needs_gamma() -> None:
    """Planted: the factor gamma forgotten. One record's likelihood is gamma times the others'."""
    likelihood = [[Fraction(11, 1000), Fraction(989, 1000), 0], [Fraction(1, 10), 0, Fraction(9, 10)]]
    test, table = exact.randomized_pass(9, A), (0,) * 8
    more, less = (exact.attempt(t, likelihood, test, Fraction(10)) for t in ((*table, 1), table))
    rows = [oracle.rows(w, 1) for w in (more, less)]
    floor = float(min(sum(more), sum(less)))
    claim = IndependentRows(num_rows=1, k=9, gamma=10.0, epsilon0=EPSILON0, pass_rate_floor=floor, n_lower=8)
    assert excess(claim, *rows) <= TOLERANCE
    assert excess(replace(claim, gamma=1.0), *rows) > 1e-6


@pytest.mark.parametrize("noise", ["laplace", "discrete_laplace"])
@pytest.mark.parametrize("gamma", [1.0, 2.0, 4.0])
def test_one_rows_profile_is_the_highest_of_all_lines(noise: str, gamma: float) -> None:
    for k, epsilon0 in [(1, 3.0), (5, 0.05), (50, 1.0), (40, 0.1)]:
        common = {"num_rows": 1, "gamma": gamma, "pass_rate_floor": 0.5, "n_lower": 90, "noise": noise}
        row = IndependentRows(k=k, epsilon0=epsilon0, **common)  # type: ignore[arg-type]
        p = np.array([oracle.pass_probability(c, k, epsilon0, noise) for c in range(4 * k + 900)])
        c = np.arange(len(p) - 1)
        epsilons = np.linspace(0.0, epsilon0 + math.log(1 + gamma) + 0.1, 60)
        remove, add = row.profile(epsilons)
        for e, found, other in zip(epsilons, remove, add, strict=True):
            lines = [
                p[1:] * (others + 1) - math.exp(e) * p[:-1] * others for others in (c / gamma, c * gamma)
            ]
            expected = min(1.0, max(0.0, float(np.max(lines))) / 45)
            # Beyond the last size that is looked at a bound stands in, where ratios are next to 1.
            room = 1.3 / 45 if e < 5 * gamma / k else 0
            assert expected * (1 - 1e-11) - 1e-15 <= found <= expected * (1 + 1e-9) + 1e-15 + room
            mass = max(1.0, float(np.max(p[1:] + gamma * c * np.diff(p))))
            assert other == pytest.approx(max(0.0, 1 - math.exp(e) / (1 + mass / 45)), rel=0.03, abs=1e-12)


SETTINGS = [
    (50, 1.0, 735_000, 10_000), (200, 0.1, 735_000, 10_000), (50, 1.0, 1000, 3), (50, 1.0, 100_000, 10), (20, 2.0, 200, 2),
]  # fmt: skip


@pytest.mark.parametrize(("k", "epsilon0", "n", "num_rows"), SETTINGS)
def test_never_below_one_fixed_omega_and_close_to_it(k: int, epsilon0: float, n: int, num_rows: int) -> None:
    """One fixed omega is a special case whose loss is known exactly, to .25 %."""
    common = {"num_rows": num_rows, "k": k, "epsilon0": epsilon0, "pass_rate_floor": 0.5, "n_lower": n}
    for delta in (1e-6, 1e-9):
        special = fixed_omega_loss(delta=delta, **common)
        found = compose([IndependentRows(gamma=1.0, **common)], delta)
        assert special / 1.0026 <= found
        loss, epsilon = rows_loss(gamma=1.0, delta=delta, **common)
        assert epsilon <= min(found, released_rows_loss(gamma=1.0, delta=delta, **common).epsilon)
        assert special / 1.0026 <= epsilon <= 1.03 * special
        assert special / 1.0026 <= compose([loss], delta) <= 1.04 * special


def test_the_smaller_bound_is_charged_and_a_pair_beyond_any_protection() -> None:
    common = {"k": 50, "gamma": 1.0, "epsilon0": 1.0, "delta": 1e-6, "pass_rate_floor": 0.5}
    assert isinstance(rows_loss(num_rows=1000, n_lower=100_000, **common)[0], IndependentRows)
    assert isinstance(rows_loss(num_rows=10, n_lower=1000, **common)[0], ReleasedRows)
    loss, epsilon = rows_loss(num_rows=1_000_000, n_lower=1000, **common)
    assert isinstance(loss, ApproxDP)
    assert loss.epsilon == epsilon > 1e5
    assert rows_loss(num_rows=10, n_lower=1000, **{**common, "delta": 1e-60})[1] == math.inf


@pytest.mark.parametrize(("num_rows", "n"), [(10, 100_000), (300, 100_000), (10, 1000)])
@pytest.mark.parametrize("rows", [1, 2])
def test_a_replacement_is_charged_a_pair_of_its_own(rows: int, num_rows: int, n: int) -> None:
    """No profile is proved for replacement. Planted: that of a unit that comes or goes, which says less than is lost."""
    common = {
        "num_rows": num_rows, "k": 50, "gamma": 1.0, "epsilon0": 1.0, "delta": 1e-6, "pass_rate_floor": 0.5, "n_lower": n,
    }  # fmt: skip
    replaced, moved = Neighbours(rows=rows, replace=True), Neighbours(rows=rows)
    loss, epsilon = rows_loss(**common, neighbours=replaced)
    assert epsilon == released_rows_loss(**common, neighbours=replaced).epsilon
    assert loss == ApproxDP(epsilon=epsilon, delta=1e-6)
    planted, less = rows_loss(**common, neighbours=moved)
    assert not isinstance(planted, ApproxDP)
    assert compose([loss], 1e-6) == pytest.approx(epsilon)
    assert max(less, compose([planted], 1e-6)) < epsilon


def test_errors_name_the_parameter() -> None:
    common = {"k": 2, "epsilon0": 1.0, "pass_rate_floor": 0.5, "n_lower": 4}
    with pytest.raises(ValueError, match=r"gamma \(0.5\) must"):
        IndependentRows(num_rows=1, gamma=0.5, **common)
    assert IndependentRows(num_rows=7, gamma=1.0, **common).count == 7

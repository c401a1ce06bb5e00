"""Rows under the randomised test: exact enumeration, the theorem recomputed, and formulas that must be caught."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import oracles_accounting as oracle
import pytest
from oracles_accounting import OVERLAPPING, PREFIXES, TOLERANCE

from sdv_plausible.extensions.audit.disclosure import exact
from sdv_plausible.privacy.accounting.paper_theorems import theorem1_best
from sdv_plausible.privacy.accounting.released_rows import (
    ReleasedRows,
    largest_feasible_t,
    largest_mass_increase,
    released_rows_loss,
)

A = Fraction(1, 5)  # exp(-epsilon0): rational, so that the enumeration is exact
EPSILON0 = math.log(5)


class WithoutSmallPartitions(ReleasedRows):
    """Planted bug: small partitions are not charged."""

    def _small_partition_probability(self) -> float:
        return 0.0


def worst_excess(
    likelihood: list[list[Fraction]], test: exact.PassProbability, sizes: tuple[int, ...], ts: tuple[int, ...]
) -> float:
    """Largest excess of what is enumerated over the claims."""
    worst = -1.0
    for n, _, _, more, less, floor in oracle.released_pairs(likelihood, Fraction(2), test, 2, sizes):
        for t in ts:
            claim = ReleasedRows(
                num_rows=2, k=3, gamma=2.0, epsilon0=EPSILON0, t=t, pass_rate_floor=floor, n_lower=n
            )
            worst = max(worst, oracle.excess(claim, more, less))
    return worst


def test_claim_covers_every_pair() -> None:
    for likelihood in (PREFIXES, OVERLAPPING):
        assert worst_excess(likelihood, exact.randomized_pass(3, A), (2, 3, 4, 5), (1, 2, 3)) <= TOLERANCE


def test_a_sharp_threshold_breaks_the_claim() -> None:
    assert worst_excess(OVERLAPPING, exact.deterministic_pass(3), (4, 5), (2,)) > 1e-3


def test_mixture_over_omega_is_covered_with_gamma_one_and_floor_by_construction() -> None:
    """Groups of four records under omega = m (all), a coarse and a fine prefix; omega is part of the output."""
    groups = [(0, 0, 0, 0), (0, 0, 1, 1), (0, 1, 2, 3)]
    weights = [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]
    likelihood = [
        [w * (group[d] == g) for w, group in zip(weights, groups, strict=True) for g in range(max(group) + 1)]
        for d in range(4)
    ]
    worst, without_small, pairs = -1.0, -1.0, 0
    enumerated = oracle.released_pairs(likelihood, Fraction(2), exact.randomized_pass(3, A), 2, (3, 4))
    for n, _, _, more, less, tight in enumerated:
        floor = float(weights[0]) * oracle.pass_probability(n, 3, EPSILON0, "discrete_laplace")
        assert floor <= tight
        common = {"num_rows": 2, "k": 3, "gamma": 1, "epsilon0": EPSILON0, "n_lower": n}
        for t in (1, 2):
            worst = max(worst, oracle.excess(ReleasedRows(t=t, pass_rate_floor=floor, **common), more, less))
            pairs += 1
        bare = WithoutSmallPartitions(t=2, pass_rate_floor=tight, **common)
        without_small = max(without_small, oracle.excess(bare, more, less))
    assert pairs > 300
    assert worst <= TOLERANCE
    assert without_small > 1e-3  # planted


def test_claim_needs_gamma() -> None:
    """Planted: the factor gamma forgotten in ratio and mass. One record's likelihood is gamma times the others'."""
    likelihood = [[Fraction(11, 1000), Fraction(989, 1000)], [Fraction(1, 10), Fraction(9, 10)]]
    test, table = exact.randomized_pass(2, Fraction(1, 2)), (0,) * 4
    more, less = (exact.attempt(t, likelihood, test, Fraction(10)) for t in ((*table, 1), table))
    rows = [oracle.rows(w, 2) for w in (more, less)]
    common = {
        "num_rows": 2, "k": 2, "epsilon0": math.log(2), "t": 4, "n_lower": 4,
        "pass_rate_floor": float(min(sum(more), sum(less))),
    }  # fmt: skip
    assert oracle.excess(WithoutSmallPartitions(gamma=10.0, **common), *rows) <= TOLERANCE
    assert oracle.excess(WithoutSmallPartitions(gamma=1.0, **common), *rows) > 1e-6


def test_loss_is_a_thousand_times_below_theorem1_added_up() -> None:
    added = 10_000 * theorem1_best(50, 4.0, 1.0, 1e-10).epsilon
    common = {
        "num_rows": 10_000, "k": 50, "epsilon0": 1.0, "delta": 1e-6, "pass_rate_floor": 0.5, "n_lower": 735_000,
    }  # fmt: skip
    assert added > 10_000
    assert released_rows_loss(gamma=4.0, **common).epsilon < 15
    ours = released_rows_loss(gamma=1.0, **common).epsilon
    assert ours == pytest.approx(7.57, abs=0.01)  # the proof page's figure


def test_the_best_t_is_looked_for_below_the_largest() -> None:
    common = {
        "num_rows": 500,
        "k": 40,
        "gamma": 2.0,
        "epsilon0": 0.5,
        "pass_rate_floor": 0.3,
        "n_lower": 5000,
    }
    rows = ReleasedRows(t=1, **common)
    largest = largest_feasible_t(rows, 1e-6)
    charged = [ReleasedRows(**{**common, "t": t}).small_partition_delta() for t in (largest, largest + 1)]
    assert charged[0] < 1e-6 <= charged[1]
    found = released_rows_loss(delta=1e-6, **common)
    every = min(ReleasedRows(**{**common, "t": t}).epsilon(1e-6) for t in range(1, largest + 1))
    assert found.t < largest
    assert every <= found.epsilon <= 1.01 * every
    assert largest_feasible_t(rows, 1e-30) == 0
    assert released_rows_loss(delta=1e-30, **common).epsilon == math.inf


@pytest.mark.parametrize("noise", ["laplace", "discrete_laplace"])
@pytest.mark.parametrize("gamma", [1.0, 4.0])
def test_largest_mass_increase_is_the_maximum_over_all_sizes(noise: str, gamma: float) -> None:
    for k, epsilon0 in [(1, 3.0), (5, 0.05), (50, 1.0), (200, 0.1)]:
        p = np.array([oracle.pass_probability(c, k, epsilon0, noise) for c in range(6 * k + 800)])
        steps = p[1:] + gamma * np.arange(len(p) - 1) * np.diff(p)
        found = largest_mass_increase(k, epsilon0, gamma, noise)  # type: ignore[arg-type]
        assert max(1.0, steps.max()) <= found * (1 + 1e-12) <= max(1.0, steps.max()) * 1.02


def test_errors_name_parameter_value_and_way_out() -> None:
    good = {
        "num_rows": 10, "k": 5, "gamma": 2.0, "epsilon0": 1.0, "delta": 1e-6, "pass_rate_floor": 0.5, "n_lower": 100,
    }  # fmt: skip
    bad = {
        "num_rows": 0, "k": 0, "gamma": 0.5, "epsilon0": -1.0, "delta": 1.0, "pass_rate_floor": 1.5, "n_lower": 0,
    }  # fmt: skip
    for name, value in bad.items():
        with pytest.raises(ValueError, match=rf"{name} \({value}\) must"):
            released_rows_loss(**{**good, name: value})
    with pytest.raises(ValueError, match="noise"):
        released_rows_loss(**good, noise="gaussian")
    with pytest.raises(ValueError, match="raise epsilon0"):
        released_rows_loss(**{**good, "epsilon0": 1e-9})

"""Rows under the randomised test where a unit has several seeds: exact enumeration, and planted bugs.

Proofs: docs/explanation/proofs/persons.md, Theorems 5 and 6. Nothing is drawn.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import oracles_accounting as oracle
import pytest
from cases import each_once, fast_and_nightly
from oracles_accounting import OVERLAPPING, PREFIXES, TOLERANCE
from test_released_rows import WithoutSmallPartitions

from sdv_plausible.extensions.audit.disclosure import exact
from sdv_plausible.privacy.accounting.released_rows import ReleasedRows, released_rows_loss
from sdv_plausible.privacy.neighbours import Neighbours

A = Fraction(1, 2)  # exp(-epsilon0)
EPSILON0, K = math.log(2), 3


def tables(likelihood: Any, n: int) -> Iterator[tuple[int, ...]]:
    return itertools.combinations_with_replacement(range(len(likelihood)), n)


def attempt(table: tuple[int, ...], likelihood: Any, test: exact.PassProbability) -> list[Fraction]:
    return exact.attempt(table, likelihood, test, Fraction(2))


def pairs(
    likelihood: Any, test: exact.PassProbability, unit: int, sizes: tuple[int, ...], num_rows: int = 2
) -> Iterator[Any]:
    """Every table and every unit: size, rows with and without it, a pass-rate floor."""
    for n in sizes:
        for table in tables(likelihood, n):
            less = attempt(table, likelihood, test)
            for added in range(1, unit + 1):
                for extra in tables(likelihood, added):
                    more = attempt((*table, *extra), likelihood, test)
                    if sum(more) and sum(less):
                        floor = float(min(sum(more), sum(less)))
                        yield n, oracle.rows(more, num_rows), oracle.rows(less, num_rows), floor


def worst_excess(claimed: int, likelihood: Any, unit: int, kind: type[ReleasedRows], *sizes: int) -> float:
    """Largest excess over a claim for so many seeds, where a unit really has ``unit``."""
    worst = -1.0
    common: dict[str, Any] = {"num_rows": 2, "k": K, "gamma": 2.0, "epsilon0": EPSILON0, "unit": claimed}
    for n, more, less, floor in pairs(likelihood, exact.randomized_pass(K, A), unit, sizes):
        claims = [kind(**common, t=t, pass_rate_floor=floor, n_lower=n) for t in (1, 2, 3, 5)]
        worst = max(worst, *(oracle.excess(claim, more, less) for claim in claims))
    return worst


@pytest.mark.parametrize(("likelihood", "unit"), each_once([PREFIXES, OVERLAPPING], [2, 3]))
def test_claim_covers_every_unit(likelihood: Any, unit: int) -> None:
    assert worst_excess(unit, likelihood, unit, ReleasedRows, 2, 3, 4) <= TOLERANCE


@pytest.mark.parametrize("unit", fast_and_nightly([2], [3]))
def test_planted_the_claim_of_one_seed(unit: int) -> None:
    """With small partitions uncharged, one seed's ratio is passed by far; and they must be charged."""
    assert worst_excess(1, OVERLAPPING, unit, WithoutSmallPartitions, 4) > 1e-2
    assert worst_excess(unit, PREFIXES, unit, WithoutSmallPartitions, 2) > 1e-3


def test_planted_a_sharp_threshold() -> None:
    """A group that enters shows with certainty, where the claim has a small probability only."""
    more, less = (attempt((0,) * c + (2,) * 60, PREFIXES, exact.deterministic_pass(K)) for c in (4, 2))
    claim = ReleasedRows(
        num_rows=1, k=K, gamma=1, epsilon0=math.log(30), t=1, pass_rate_floor=0.9, n_lower=62, unit=2
    )  # fmt: skip
    factor = 1e6
    shown = np.maximum(oracle.rows(more, 1) - factor * oracle.rows(less, 1), 0).sum()
    assert shown > 10 * float(claim.profile(math.log(factor))[0])


ONE_SEED = [(1.0, 3, 1, 90), (4.0, 5, 1, 90), (2.0, 1, 1, 90)]


@pytest.mark.parametrize(
    ("gamma", "t", "unit", "n"), [*ONE_SEED, (1.0, 3, 2, 400), (4.0, 5, 3, 400), (2.0, 1, 6, 400)]
)
def test_claim_is_the_theorem_recomputed(gamma: float, t: int, unit: int, n: int) -> None:
    """Theorem 5 of persons.md, and for one seed 2 of seed_test.md, term by term; there small partitions are not small."""
    num_rows, k, epsilon0, floor = 20, 6, 0.8, 0.7
    p = [oracle.pass_probability(c, k, epsilon0, "discrete_laplace") for c in range(300)]
    small = unit * max((1 + gamma * (t - 1) / r) * p[t - 1 + r] for r in range(1, unit + 1)) / (n * floor)
    ratio = (1 + gamma * unit / t) * p[t + unit] / p[t]
    mass = unit * max(p[c + 1] + gamma * c * (p[c + 1] - p[c]) for c in range(250))
    top = min(ratio - 1, mass / (n * floor * (1 - small)))
    kept = (1 - small) ** num_rows
    rows = ReleasedRows(
        num_rows=num_rows, k=k, gamma=gamma, epsilon0=epsilon0, t=t, pass_rate_floor=floor, n_lower=n, unit=unit
    )  # fmt: skip
    for epsilon in (0.5, 1.5, 3.0):
        shifted = max(0.0, epsilon + num_rows * math.log(1 - small))
        worst = [0.0, 0.0]
        for increase in np.linspace(top / 30, top, 30):
            a0 = increase / (ratio - 1) * (1 - 1e-12)
            a1 = ratio * a0 / (1 + increase)
            worst[0] = max(worst[0], oracle.binomial_delta(num_rows, a1, a0, shifted))
            worst[1] = max(worst[1], oracle.binomial_delta(num_rows, a0, a1, shifted))
        for found, delta in zip(rows.profile(epsilon), worst, strict=True):
            expected = 1 - kept + kept * delta
            assert expected * (1 - 1e-9) <= float(found) <= expected * 1.06 + (1 - kept) * delta
    if unit == 1:
        delta = 1 - kept + 1e-3
        found = rows.epsilon(delta)
        assert float(max(rows.profile(found))) <= delta * 1.1
        assert found > -num_rows * math.log(1 - small)


def replacements(
    unit: int, likelihood: Any, others: list[tuple[int, ...]], a: Fraction, k: int
) -> Iterator[Any]:
    """Every pair of units on top of the same other seeds: their number, both rows, a pass-rate floor."""
    test = exact.randomized_pass(k, a)
    units = [e for size in range(1, unit + 1) for e in tables(likelihood, size)]
    for table in others:
        made = [attempt((*table, *extra), likelihood, test) for extra in ((), *units)]
        if all(sum(one) for one in made):
            rows = [oracle.rows(one, 1) for one in made[1:]]
            yield len(table), list(itertools.permutations(rows, 2)), float(min(map(sum, made)))


FEW = [table for n in (3, 4) for table in tables(OVERLAPPING, n)]
MANY = [(0,) * i + (1,) * j + (2,) * (90 - i - j) for i, j in itertools.product((0, 1, 2, 4, 6, 8), repeat=2)]


@pytest.mark.parametrize(
    ("unit", "likelihood", "others", "a", "k", "gamma"),
    [(1, OVERLAPPING, FEW, 30, 3, 2.0), (1, PREFIXES, MANY, 5, 8, 1.0), (2, PREFIXES, MANY, 5, 8, 1.0)],
)
def test_two_steps_cover_every_replacement(
    unit: int, likelihood: Any, others: list[tuple[int, ...]], a: int, k: int, gamma: float
) -> None:
    """The claim is one epsilon at one delta; the loss of one of two steps, planted, does not cover them."""
    checked, planted = 0, -1.0
    for (n, found, floor), delta in itertools.product(
        replacements(unit, likelihood, others, Fraction(1, a), k), (0.3, 0.05, 1e-3)
    ):
        common: dict[str, Any] = {
            "num_rows": 1, "k": k, "gamma": gamma, "epsilon0": math.log(a), "delta": delta,
            "pass_rate_floor": floor, "n_lower": n,
        }  # fmt: skip
        claim = released_rows_loss(**common, neighbours=Neighbours(rows=unit, replace=True)).epsilon
        step = released_rows_loss(**common, neighbours=Neighbours(rows=unit)).epsilon
        for p, q in found:
            if math.isfinite(claim):
                assert np.maximum(p - math.exp(claim) * q, 0).sum() <= delta + TOLERANCE
                checked += 1
            if math.isfinite(step):
                planted = max(planted, float(np.maximum(p - math.exp(step) * q, 0).sum()) / delta)
    assert checked > 100
    assert planted > 2 or others is not FEW  # with many others the bound of one step is wide enough for both


def test_a_unit_of_one_is_the_old_bound_and_more_seeds_cost_more() -> None:
    common = {
        "num_rows": 100, "k": 50, "gamma": 1.0, "epsilon0": 1.0, "delta": 1e-9, "pass_rate_floor": 0.5, "n_lower": 10_000,
    }  # fmt: skip
    found = [released_rows_loss(**common, neighbours=Neighbours(rows=c)).epsilon for c in (1, 2, 5)]
    assert found[0] == released_rows_loss(**common).epsilon  # type: ignore[arg-type]
    assert found[0] < found[1] < found[2]
    replaced = released_rows_loss(**common, neighbours=Neighbours(replace=True)).epsilon
    assert 2 * found[0] < replaced  # two steps; the second one at a smaller delta

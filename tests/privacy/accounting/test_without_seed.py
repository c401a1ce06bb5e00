"""Candidates without a seed: rows lose what candidates with one make of them, and no bound is much below the charge.

Mechanism 1 is enumerated: a group of seeds makes its own rows alone, and candidates without a seed make any row.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom

from sdv_plausible.privacy.accounting.composition import compose
from sdv_plausible.privacy.accounting.paper_theorems import floor_by_construction, log_pass_probability
from sdv_plausible.privacy.accounting.released_rows import IndependentRows, ReleasedRows, rows_loss

K, EPSILON0, DELTA = 3, 0.8, 1e-3
EPSILONS = np.array([0.0, 0.05, 0.1, 0.3, 0.7, 1.5, 3.0])


def passing(size: int) -> float:
    return math.exp(float(log_pass_probability(size, K, EPSILON0)))


def row_law(groups: list[int], free: np.ndarray, v: float) -> np.ndarray:
    """Law of a released row: each group makes two rows of its own, equally likely; ``free`` is seed-free."""
    n = sum(groups)
    seeded = np.repeat([size * passing(size) / 2 for size in groups], 2)
    weight = (1 - v) * seeded + v * n * passing(n) * free
    return weight / weight.sum()


def pairs(rng: np.random.Generator, number: int) -> Iterator[tuple[np.ndarray, np.ndarray, int, float]]:
    """Laws of a row of random tables and of the same with one seed more, and the number of their seeds."""
    for _ in range(number):
        groups = rng.integers(0, 6, 4).tolist()
        groups[0] += max(0, 6 - sum(groups))
        more = groups.copy()
        more[rng.integers(4)] += 1
        free = rng.dirichlet(np.full(8, 0.3))
        v = float(rng.choice([0.2, 0.5, 0.9]))
        yield row_law(groups, free, v), row_law(more, free, v), sum(groups), v


def rows_of(n: int, v: float, number: int = 1, *, stated: float | None = None) -> IndependentRows:
    return IndependentRows(
        num_rows=number, k=K, gamma=1.0, epsilon0=EPSILON0, n_lower=n,
        pass_rate_floor=floor_by_construction(v, K, EPSILON0, n), seed_free_share=v if stated is None else stated,
    )  # fmt: skip


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def excess(stated: float | None = None) -> float:
    """How far a true divergence of one row is above its profile, at most."""
    worst = -math.inf
    for without, with_one, n, v in pairs(np.random.default_rng(5), 400):
        remove, add = rows_of(n, v, stated=stated).profile(EPSILONS)
        for i, epsilon in enumerate(EPSILONS.tolist()):
            worst = max(worst, hockey_stick(with_one, without, epsilon) - float(remove[i]))
            worst = max(worst, hockey_stick(without, with_one, epsilon) - float(add[i]))
    return worst


def test_the_profile_of_a_row_covers_every_pair() -> None:
    assert excess() <= 1e-12
    assert excess(stated=0.95) > 0.01, "planted: more candidates without a seed than there are"


def several(law: np.ndarray, number: int) -> np.ndarray:
    return np.array([math.prod(rows) for rows in itertools.product(law, repeat=number)])


@pytest.mark.parametrize("number", [2, 3])
def test_rows_lose_at_most_what_is_charged(number: int) -> None:
    for without, with_one, n, v in pairs(np.random.default_rng(6), 12):
        common: dict[str, Any] = {
            "k": K,
            "epsilon0": EPSILON0,
            "gamma": 1.0,
            "n_lower": n,
            "seed_free_share": v,
        }
        floor = floor_by_construction(v, K, EPSILON0, n)
        _, epsilon = rows_loss(num_rows=number, delta=DELTA, pass_rate_floor=floor, **common)
        p, q = several(with_one, number), several(without, number)
        assert max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon)) <= DELTA
        coin = ReleasedRows(num_rows=number, pass_rate_floor=floor, t=1, **common)
        remove, add = coin.profile(EPSILONS)
        for i, eps in enumerate(EPSILONS.tolist()):
            assert hockey_stick(p, q, eps) <= remove[i] + 1e-12
            assert hockey_stick(q, p, eps) <= add[i] + 1e-12


def of_an_explicit_pair(number: int, k: int, epsilon0: float, n: int, v: float, delta: float) -> float:
    """What rows lose where one group has k - 1 seeds, or k, and every other seed is alone: exactly."""

    def pt(size: int) -> float:
        return math.exp(float(log_pass_probability(size, k, epsilon0)))

    def share(size: int, seeds: int) -> float:
        group = (1 - v) * size * pt(size)
        return group / (group + (1 - v) * (seeds - size) * pt(1) + v * seeds * pt(seeds))

    a, b = share(k - 1, n), share(k, n + 1)
    one, none = math.log(b / a), math.log((1 - b) / (1 - a))

    def beyond(epsilon: float) -> float:
        rows = math.floor((epsilon - number * none) / (one - none))
        return float(binom.sf(rows, number, b) - math.exp(epsilon) * binom.sf(rows, number, a)) - delta

    return float(brentq(beyond, 1e-6, 60.0))


@pytest.mark.parametrize(
    ("k", "epsilon0", "number", "near"),
    [(50, 1.0, 1000, 1.01), (200, 0.2, 10_000, 1.02), (1000, 0.05, 1000, 1.05)],
)
def test_no_accounting_could_charge_much_less(k: int, epsilon0: float, number: int, near: float) -> None:
    """A pair of tables that loses nearly as much as is charged; before, the charge was up to 1.45 times that."""
    n, v, delta = 30_000, 0.5, 5e-10
    asked: dict[str, Any] = {
        "num_rows": number, "k": k, "gamma": 1.0, "epsilon0": epsilon0, "delta": delta, "n_lower": n,
        "pass_rate_floor": floor_by_construction(v, k, epsilon0, n),
    }  # fmt: skip
    least = of_an_explicit_pair(number, k, epsilon0, n, v, delta)
    _, charged = rows_loss(**asked, seed_free_share=v)
    assert least <= charged <= near * least
    assert rows_loss(**asked)[1] > 1.3 * least, "without the theorem"


def test_few_seeds_change_nothing() -> None:
    """All seeds may then be the worst group, or a partition that is charged to delta."""
    coin: dict[str, Any] = {"num_rows": 1, "k": K, "epsilon0": EPSILON0, "gamma": 1.0, "n_lower": 6}
    shares = [
        ReleasedRows(t=t, pass_rate_floor=0.4, seed_free_share=0.5, **coin).without_seed for t in (6, 7)
    ]
    assert shares == [0.5, 0.0]
    for n in (1, K - 1):
        few, known = rows_of(n, 0.5), rows_of(n, 0.5, stated=0.0)
        assert few.without_seed == 0
        np.testing.assert_array_equal(few.profile(EPSILONS), known.profile(EPSILONS))
        assert compose([few], DELTA) == compose([known], DELTA)

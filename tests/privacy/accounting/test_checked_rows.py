"""Rows whose plausible seeds are counted among some of the seeds: exact enumeration, and bounds that must be caught."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import oracles_accounting as oracle
import pytest
from oracles_accounting import OVERLAPPING, PREFIXES, TOLERANCE

from sdv_plausible.extensions.audit.disclosure import exact
from sdv_plausible.privacy.accounting import released_rows
from sdv_plausible.privacy.accounting.losses import ApproxDP, InfiniteLoss
from sdv_plausible.privacy.accounting.released_rows import CheckedRows, checked_rows_loss

A = Fraction(1, 5)  # exp(-epsilon0)
EPSILON0 = math.log(5)
K, MOST = 2, 4


def hypergeometric(n: int, c: int, s: int) -> dict[int, Fraction]:
    """Law of how many of s records, out of n of which c count, do."""
    return {
        x: Fraction(math.comb(c, x) * math.comb(n - c, s - x), math.comb(n, s))
        for x in range(max(0, s - n + c), min(c, s) + 1)
    }


def chance(n: int, c: int, s: int, most: int) -> Fraction:
    """a_c(n)."""
    passes = exact.randomized_pass(K, A)
    law = hypergeometric(n, c, min(s, n))
    return sum((p * passes(min(x, most)) for x, p in law.items()), Fraction(0))


def pairs(likelihood: list[list[Fraction]], s: int, sizes: tuple[int, ...], gamma: int = 2) -> Iterator[Any]:
    """All pairs of neighbours: rows of the larger and of the smaller table, and the smaller pass rate."""
    kinds = range(len(likelihood))
    for n in sizes:
        tests = {size: partial(lambda size, c: chance(size, c, s, MOST), size) for size in (n, n + 1)}
        for table, new in itertools.product(itertools.combinations_with_replacement(kinds, n), kinds):
            more, less = (
                exact.attempt(rows, likelihood, tests[len(rows)], Fraction(gamma))
                for rows in ((*table, new), table)
            )
            yield n, oracle.rows(more, 2), oracle.rows(less, 2), float(min(sum(more), sum(less)))


class WithoutSmallPartitions(CheckedRows):
    """Planted bug: small partitions are not charged."""

    def _small_partition_probability(self) -> float:
        return 0.0


class WithoutTheChance(CheckedRows):
    """Planted bug: the new record's partition is taken to pass no more often than before."""

    log_chance = 0.0  # type: ignore[assignment]


def claim(
    n: int, floor: float, s: int, made: type[CheckedRows] = CheckedRows, t: int = 2, gamma: float = 2.0
) -> CheckedRows:
    return made(
        num_rows=2, k=K, gamma=gamma, epsilon0=EPSILON0, t=t, pass_rate_floor=floor, n_lower=n, max_checked=s,
        max_plausible=MOST,
    )  # fmt: skip


def worst_excess(likelihood: list[list[Fraction]], s: int, gamma: int) -> float:
    found = [
        (claim(n, floor, s, t=t, gamma=float(gamma)), rows)
        for n, *rows, floor in pairs(likelihood, s, (3,), gamma) for t in (1, 2)
    ]  # fmt: skip
    return max(oracle.excess(one, *rows) for one, rows in found if math.isfinite(one.log_others))


def test_claim_covers_every_pair() -> None:
    """At gamma 1 overlapping records are in partitions of their own; s = 1 is below k."""
    for likelihood, s in itertools.product([PREFIXES, OVERLAPPING], (1, 2, 9)):
        assert worst_excess(likelihood, s, 2) <= TOLERANCE
    assert max(worst_excess(OVERLAPPING, s, 1) for s in (1, 4)) <= TOLERANCE


def test_planted_bugs_are_caught() -> None:
    worst = dict.fromkeys((CheckedRows, WithoutSmallPartitions, WithoutTheChance), -1.0)
    for n, more, less, floor in pairs(PREFIXES, 4, (4,)):
        for made in worst:
            for t in (1, 2, 3):
                stated = claim(n, floor, 4, made, t, gamma=1.0)
                worst[made] = max(worst[made], oracle.excess(stated, more, less))
    assert worst.pop(CheckedRows) <= TOLERANCE
    assert min(worst.values()) > 1e-2


def far(t: int, s: int, n: int) -> tuple[float, float]:
    """Log likelihood ratios of one partition that the new record is not in, and of its own: (least, most)."""
    own = math.log(chance(n + 1, t + 1, s, MOST) / chance(n, t, s, MOST))
    other = math.log(chance(n + 1, n - t, s, MOST) / chance(n, n - t, s, MOST))
    return other, own


@pytest.mark.parametrize("n", [2, 5, 8])
def test_the_new_records_own_partition_gains_what_is_said_and_no_less(n: int) -> None:
    """Exact, and attained where nobody else counts: half of it, or the chance of the larger table, is too little."""
    for s in range(1, n + 3):
        stated = claim(n, 0.5, s).log_chance
        gained = max(far(t, s, n)[1] for t in range(n + 1))
        assert gained == pytest.approx(stated, rel=1e-12)
        assert gained > 1.5 * stated / 2


def test_forgetting_what_is_displaced_is_caught() -> None:
    """Planted: other partitions taken as unchanged, as under full counts. They do change, and the bound holds."""
    stated = claim(8, 0.5, 2)
    fell = -far(4, 2, 8)[0]
    assert fell > 1e-3  # full counts: 0
    assert fell <= stated.log_others


def test_lemma_1() -> None:
    passes = exact.randomized_pass(K, A)
    for most in (2, 4, 20):
        f = [passes(min(x, most)) for x in range(15)]
        kappa = max(x * (1 - f[x - 1] / f[x]) for x in range(1, 15))
        stated = CheckedRows(
            num_rows=1, k=K, gamma=1.0, epsilon0=EPSILON0, t=1, pass_rate_floor=1.0, n_lower=1, max_checked=1,
            max_plausible=most,
        )  # fmt: skip
        assert stated.displaced == pytest.approx(float(kappa), rel=1e-9)
        for n in range(1, 10):
            for s in range(1, n + 1):
                for c in range(n + 1):
                    before = chance(n, c, s, most)
                    joined, other = chance(n + 1, c + 1, s, most), chance(n + 1, c, s, most)
                    assert before <= joined <= (1 + Fraction(s, n + 1) * 4) * before
                    assert (1 - kappa / (n + 1)) * before <= other <= before
                    assert (c + 1) * (joined - before) <= kappa


def test_a_smaller_kappa_is_caught() -> None:
    """Planted: half of kappa. Some other partition falls by more."""
    kappa = claim(8, 0.5, 8).displaced
    falls = [
        float(1 - chance(n + 1, c, s, MOST) / chance(n, c, s, MOST)) * (n + 1)
        for n in range(2, 10) for s in range(1, n + 1) for c in range(1, n + 1)
    ]  # fmt: skip
    assert max(falls) > kappa / 2
    assert max(falls) <= kappa * (1 + 1e-12)


def test_best_t_and_what_is_out_of_reach() -> None:
    common = {
        "k": 50,
        "gamma": 4.0,
        "epsilon0": 1.0,
        "delta": 1e-9,
        "pass_rate_floor": 0.5,
        "max_plausible": 100,
    }
    loss, epsilon = checked_rows_loss(num_rows=1000, **common, n_lower=735_000, max_checked=50_000)
    assert isinstance(loss, CheckedRows)
    assert loss.epsilon(1e-9) == pytest.approx(epsilon)
    few, _ = checked_rows_loss(num_rows=1000, **common, n_lower=10, max_checked=5)
    assert isinstance(few, InfiniteLoss)
    lossy, large = checked_rows_loss(num_rows=1_000_000, **common, n_lower=60_000, max_checked=50_000)
    assert isinstance(lossy, (ApproxDP, CheckedRows, InfiniteLoss))
    assert large > epsilon
    with pytest.raises(ValueError, match="single rows"):
        replace(claim(8, 0.5, 2), unit=2)


@pytest.mark.parametrize("s", [7, 40, 90, 500])
def test_the_claim_is_the_theorem_recomputed(s: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Theorem 2 of checked_seeds.md term by term; the profile of what comes out is test_released_rows.py's.

    Planted below: a table of one row more, and what other partitions lose forgotten.
    """
    k, epsilon0, gamma, t, n, floor, most = 6, 0.8, 2.0, 4, 90, 0.7, 12
    f = [oracle.pass_probability(c, k, epsilon0, "discrete_laplace") for c in range(most + 1)]
    kappa = max(x * (1 - f[x - 1] / f[x]) for x in range(1, most + 1))
    eta, sigma = kappa / (n + 1), s / (n + 1) if s <= n else 1.0
    a_t = f[t] if s > n else min(f[t], f[0] * (1 + s / n * math.expm1(epsilon0)) ** t)
    small = (1 + gamma * (t - 1)) * a_t / (n * floor)
    r = (1 + sigma * math.expm1(epsilon0)) * (1 + gamma / t) / (1 - eta)
    v = math.log(1 + (1 + gamma * kappa) / (n * floor * (1 - small))) - math.log(1 - eta)
    asked: list[tuple[float, float]] = []
    noted = lambda log_r, u, _: asked.append((float(log_r[0]), float(u[0])))  # noqa: E731
    monkeypatch.setattr(released_rows, "cover", noted)
    rows = CheckedRows(
        num_rows=20, k=k, gamma=gamma, epsilon0=epsilon0, t=t, pass_rate_floor=floor, n_lower=n,
        max_checked=s, max_plausible=most,
    )  # fmt: skip
    rows._pairs(0.01)
    (found,) = asked
    assert rows._small_partition_probability() == pytest.approx(small, rel=1e-9)
    assert found == pytest.approx((math.log(r), v), rel=1e-9)
    for wrong in (kappa / (n + 2), 0.0):  # of eta
        assert found[0] != pytest.approx(math.log(r * (1 - eta) / (1 - wrong)), rel=1e-9)
        assert found[1] != pytest.approx(v + math.log(1 - eta) - math.log(1 - wrong), rel=1e-9)

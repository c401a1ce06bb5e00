"""Slow, obvious references for the accountant: enumeration with fractions, and sums over every outcome.

Nothing here is imported from ``sdv_plausible.privacy``: these are the definitions that the formulas are held against.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from fractions import Fraction

import numpy as np
from scipy import stats

Distribution = dict[Hashable, Fraction]


def geometric_tail(s: int, a: Fraction) -> Fraction:
    """Pr[Z >= s] of the discrete Laplace Pr[Z = z] = (1 - a)/(1 + a) a^|z|."""
    return a**s / (1 + a) if s >= 0 else 1 - a ** (1 - s) / (1 + a)


def randomised_test(k: int, a: Fraction) -> Callable[[int], Fraction]:
    """Privacy Test 2 with discrete Laplace noise: chance that c plausible seeds pass."""
    return lambda c: geometric_tail(k - c, a)


def deterministic_test(k: int) -> Callable[[int], Fraction]:
    """Privacy Test 1, which is not differentially private."""
    return lambda c: Fraction(int(c >= k))


def partition(p: Fraction, gamma: Fraction) -> int:
    """Partition i with gamma^-(i+1) < p <= gamma^-i."""
    i = 0
    while p <= gamma ** -(i + 1):
        i += 1
    return i


def attempt(
    table: Sequence[int], likelihood: Sequence[Sequence[Fraction]], gamma: Fraction, test: Callable[[int], Fraction]
) -> list[Fraction]:
    """Mechanism 1, one attempt: probability that candidate y is made and passes, for every y."""
    released = [Fraction(0)] * len(likelihood[0])
    for seed in table:
        for y, p in enumerate(likelihood[seed]):
            if p:
                same = sum(1 for d in table if likelihood[d][y] and partition(likelihood[d][y], gamma) == partition(p, gamma))
                released[y] += p / len(table) * test(same)
    return released


def sequences(row: Distribution, num_rows: int) -> Distribution:
    """Distribution of `num_rows` independent rows."""
    joint: Distribution = {}
    for rows in itertools.product(row.items(), repeat=num_rows):
        joint[tuple(y for y, _ in rows)] = math.prod((p for _, p in rows), start=Fraction(1))
    return joint


def hockey_stick(p: Distribution, q: Distribution, factor: Fraction) -> Fraction:
    """Smallest delta with P(S) <= factor Q(S) + delta for every event S."""
    return sum((max(Fraction(0), mass - factor * q.get(y, Fraction(0))) for y, mass in p.items()), Fraction(0))


def multisets(universe: int, size: int) -> Iterator[tuple[int, ...]]:
    """All tables of the given size over records 0..universe-1."""
    return itertools.combinations_with_replacement(range(universe), size)


def binomial_delta(num_draws: int, a1: float, a0: float, epsilon: float) -> float:
    """Hockey-stick divergence of Binomial(N, a1) from Binomial(N, a0), summed over every count."""
    x = np.arange(num_draws + 1)
    first, second = stats.binom.logpmf(x, num_draws, a1), stats.binom.logpmf(x, num_draws, a0)
    gap = np.minimum(epsilon + second - first, 0.0)
    return float(np.sum(-np.exp(first) * np.expm1(gap)))


def binomial_epsilon(num_draws: int, a1: float, a0: float, delta: float) -> float:
    """Smallest epsilon >= 0, within 1e-7, at which both directions stay within delta."""

    def worst(epsilon: float) -> float:
        return max(binomial_delta(num_draws, a1, a0, epsilon), binomial_delta(num_draws, a0, a1, epsilon))

    if worst(0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while worst(high) > delta:
        low, high = high, 2 * high
    while high - low > 1e-7:
        middle = (low + high) / 2
        low, high = (low, middle) if worst(middle) <= delta else (middle, high)
    return low


def pass_probability(c: int, k: int, epsilon0: float, noise: str) -> float:
    """Pr[c + noise >= k], from the noise's distribution function."""
    if noise == "laplace":
        return float(stats.laplace.sf(k - c, scale=1 / epsilon0))
    return float(stats.dlaplace.sf(k - c - 1, epsilon0))


def fixed_omega_coin(c: int, a0: float, k: int, epsilon0: float, noise: str) -> float:
    """Chance a1 that a released row is from the group with the added row, where it was a0 with c rows."""
    ratio = (1 + 1 / c) * pass_probability(c + 1, k, epsilon0, noise) / pass_probability(c, k, epsilon0, noise)
    return ratio * a0 / (1 - a0 + ratio * a0)


def fixed_omega_epsilon(
    num_rows: int,
    k: int,
    epsilon0: float,
    delta: float,
    floor: float,
    n: int,
    noise: str,
    *,
    sizes: Iterable[int],
    rates: int = 7,
) -> float:
    """Largest loss over the given group sizes and a grid of admissible shares a0: a lower bound on the worst case."""
    worst = 0.0
    for c in sizes:
        top = min(1.0 - 1e-9, c * pass_probability(c, k, epsilon0, noise) / (n * floor))
        for share in np.linspace(top / rates, top, rates):
            a1 = fixed_omega_coin(c, float(share), k, epsilon0, noise)
            worst = max(worst, binomial_epsilon(num_rows, a1, float(share), delta))
    return worst


def histograms(n: int, largest: int | None = None) -> Iterator[tuple[int, ...]]:
    """All histograms of n rows up to relabelling: the partitions of n."""
    if n == 0:
        yield ()
        return
    for part in range(min(n, largest or n), 0, -1):
        for rest in histograms(n - part, part):
            yield (part, *rest)


def entropy(counts: Iterable[int]) -> float:
    """Empirical entropy in bits."""
    kept = [c for c in counts if c]
    n = sum(kept)
    return -math.fsum(c / n * math.log2(c / n) for c in kept) if n else 0.0


def one_row_more(counts: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Every histogram that has one row more: in any present cell, or in a new one."""
    for i in range(len(counts)):
        yield (*counts[:i], counts[i] + 1, *counts[i + 1 :])
    yield (*counts, 1)


Atoms = list[tuple[float, float]]  # outcomes of a mechanism: probability under each neighbour


def compose_atoms(mechanisms: Sequence[Atoms]) -> Atoms:
    """Joint outcomes of mechanisms used one after the other."""
    return [(math.prod(p for p, _ in outcome), math.prod(q for _, q in outcome)) for outcome in itertools.product(*mechanisms)]


def atoms_delta(atoms: Atoms, epsilon: float) -> float:
    """Hockey-stick divergence of the first neighbour from the second."""
    return math.fsum(max(0.0, p - math.exp(epsilon) * q) for p, q in atoms)


def flipped(atoms: Atoms) -> Atoms:
    """The other direction."""
    return [(q, p) for p, q in atoms]


def randomised_response(epsilon: float) -> Atoms:
    """The worst epsilon-DP mechanism."""
    high = 1 / (1 + math.exp(-epsilon))
    return [(high, 1 - high), (1 - high, high)]


def discrete_laplace(epsilon: float, shift: int = 1) -> Atoms:
    """Noisy integers, neighbours `shift` apart; outcomes outside the two values are merged, as their ratio is constant."""
    a = math.exp(-epsilon / shift)
    peak = (1 - a) / (1 + a)
    middle = [(peak * a**x, peak * a ** (shift - x)) for x in range(1, shift)]
    outside = 1 / (1 + a)
    return [(outside, outside * a**shift), *middle, (outside * a**shift, outside)]


def discrete_gaussian(sigma: float, shift: int = 1) -> Atoms:
    """Noisy integers, neighbours `shift` apart, out to 20 sigma."""
    reach = math.ceil(20 * sigma) + shift + 5
    x = np.arange(-reach, reach + 1)
    weight = np.exp(-(x**2) / (2 * sigma**2))
    moved = np.exp(-((x - shift) ** 2) / (2 * sigma**2))
    total = math.fsum(weight)
    return [(float(p), float(q)) for p, q in zip(weight / total, moved / total, strict=True)]


def exponential_mechanism(scores: Sequence[float], changed: Sequence[float], scale: float) -> Atoms:
    """Choice with probability proportional to exp(score/scale), for two neighbours' scores."""
    first = np.exp((np.asarray(scores) - max(scores)) / scale)
    second = np.exp((np.asarray(changed) - max(changed)) / scale)
    return [(float(p), float(q)) for p, q in zip(first / first.sum(), second / second.sum(), strict=True)]

"""Exact output distributions of Mechanism 1 and of the release-level test on small universes, in fractions.

The code follows the definitions (Bindschaedler, Shokri, Gunter, PVLDB 2017, section 2) and imports nothing of
the accountant, so that it can verify the accountant. Noise weights ``a = exp(-epsilon0)`` are exact
fractions.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

PassProbability = Callable[[int], Fraction]
Weights = Sequence[Sequence[Fraction]]


def discrete_laplace_tail(s: int, a: Fraction) -> Fraction:
    """Return ``Pr[Z >= s]`` for ``Pr[Z = z] = (1 - a)/(1 + a) a^|z|`` on the integers, 0 < a < 1."""
    return a**s / (1 + a) if s > 0 else 1 - a ** (1 - s) / (1 + a)


def discrete_laplace_mass(z: int, a: Fraction) -> Fraction:
    """Return ``Pr[Z = z]`` of discrete Laplace noise."""
    return (1 - a) / (1 + a) * a ** abs(z)


def randomized_pass(k: int, a: Fraction) -> PassProbability:
    """Privacy Test 2: pass probability with c plausible seeds, Pr[c + Z >= k].

    Parameters
    ----------
    k : int
        Threshold of the test.
    a : Fraction
        Weight ``exp(-epsilon0)`` of the noise, in (0, 1).
    """
    return lambda c: discrete_laplace_tail(k - c, a)


def deterministic_pass(k: int) -> PassProbability:
    """Privacy Test 1: pass if there are at least k plausible seeds.

    Parameters
    ----------
    k : int
        Threshold of the test.
    """
    return lambda c: Fraction(int(c >= k))


def plausible_seeds(y: int, seed: int, table: Sequence[int], likelihood: Weights, gamma: Fraction) -> int:
    """Count k', the records in the partition ``gamma^-(i+1) < p <= gamma^-i`` of the seed."""
    # With gamma 1, these are the records with the same likelihood.
    seed_partition = _partition(likelihood[seed][y], gamma)
    in_partition = {
        d for d in set(table) if likelihood[d][y] and _partition(likelihood[d][y], gamma) == seed_partition
    }
    return sum(1 for d in table if d in in_partition)


def attempt(
    table: Sequence[int], likelihood: Weights, test: PassProbability, gamma: Fraction
) -> list[Fraction]:
    """Return, for every candidate y, the probability that one attempt of Mechanism 1 releases y."""
    # ``table`` has the record index of every seed. ``likelihood[d][y] = Pr[y = M(d)]``; a mixture over a
    # visible omega lists (omega, y) as candidates. With gamma 1, a partition has equal likelihoods. The
    # missing mass is the probability of a rejection.
    released = [Fraction(0)] * len(likelihood[0])
    for seed, copies in Counter(table).items():
        for y, p in enumerate(likelihood[seed]):
            if p:
                passes = test(plausible_seeds(y, seed, table, likelihood, gamma))
                released[y] += Fraction(copies, len(table)) * p * passes
    return released


def rows_given_release(one_attempt: Sequence[Fraction], num_rows: int) -> dict[Hashable, Fraction]:
    """Distribution of N released rows, proposing until N are accepted: independent given release."""
    rate = sum(one_attempt)
    row = {y: p / rate for y, p in enumerate(one_attempt) if p}
    return {
        rows: math.prod((row[y] for y in rows), start=Fraction(1))
        for rows in itertools.product(row, repeat=num_rows)
    }


def with_rejection(one_attempt: Sequence[Fraction]) -> dict[Hashable, Fraction]:
    """Distribution of one attempt with a visible rejection, which Theorem 1 does not cover."""
    return {**dict(enumerate(one_attempt)), "rejected": Fraction(1) - sum(one_attempt)}


def released_groups(
    sizes: Mapping[Hashable, int], k: int, margin: int, a: Fraction, top: int
) -> dict[Hashable, Fraction]:
    """Distribution of the release-level test's output: the released groups with their noisy sizes."""
    # Groups of at least k enter and are released if their noisy size is at least k + margin. Sizes (0 for an
    # absent group) get noise of weight ``a = exp(-epsilon0)``. Noisy sizes of ``top`` or more are one
    # outcome, which is exact for any two tables whose groups are all smaller.
    per_group = [[(g, s, p) for s, p in _noisy_size(n, k, margin, a, top)] for g, n in sorted(sizes.items())]
    distribution: dict[Hashable, Fraction] = {}
    for parts in itertools.product(*per_group):
        released = tuple((key, size) for key, size, _ in parts if size is not None)
        distribution[released] = distribution.get(released, Fraction(0)) + math.prod(
            (p for _, _, p in parts), start=Fraction(1)
        )
    return distribution


@lru_cache(maxsize=4096)
def _partition(p: Fraction, gamma: Fraction) -> Fraction | int:
    if gamma == 1:  # partitions are equal likelihoods
        return p
    i = 0
    while p <= gamma ** -(i + 1):
        i += 1
    return i


def _noisy_size(n: int, k: int, margin: int, a: Fraction, top: int) -> list[tuple[int | None, Fraction]]:
    """Return the released noisy sizes of one group with their probabilities; None: not released."""
    if n < k:
        return [(None, Fraction(1))]
    low = k + margin
    released: list[tuple[int | None, Fraction]] = [
        (s, discrete_laplace_mass(s - n, a)) for s in range(low, top)
    ]
    last = max(low, top)
    return [
        (None, 1 - discrete_laplace_tail(low - n, a)),
        *released,
        (last, discrete_laplace_tail(last - n, a)),
    ]

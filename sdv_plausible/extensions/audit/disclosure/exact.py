"""Exact output distributions of Mechanism 1 and of the release-level test on small universes, in fractions.

Everything here follows the definitions (Bindschaedler, Shokri, Gunter, PVLDB 2017, section 2) and imports
nothing of the accountant, so that the accountant can be held against it. Noise weights are exact: ``a =
exp(-epsilon0)`` is given as a fraction.
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
    """``Pr[Z >= s]`` for ``Pr[Z = z] = (1 - a)/(1 + a) a^|z|`` on the integers, 0 < a < 1."""
    return a**s / (1 + a) if s > 0 else 1 - a ** (1 - s) / (1 + a)


def discrete_laplace_mass(z: int, a: Fraction) -> Fraction:
    """``Pr[Z = z]``."""
    return (1 - a) / (1 + a) * a ** abs(z)


def randomized_pass(k: int, a: Fraction) -> PassProbability:
    """Privacy Test 2: chance that c plausible seeds pass, c + Z >= k."""
    return lambda c: discrete_laplace_tail(k - c, a)


def deterministic_pass(k: int) -> PassProbability:
    """Privacy Test 1: c plausible seeds pass if c >= k."""
    return lambda c: Fraction(int(c >= k))


def plausible_seeds(y: int, seed: int, table: Sequence[int], likelihood: Weights, gamma: Fraction) -> int:
    """Number k' of candidate y from a seed: records in its partition, ``gamma^-(i+1) < p <= gamma^-i``."""
    # At gamma 1 these are the records of the same likelihood.
    own = _partition(likelihood[seed][y], gamma)
    same = {d for d in set(table) if likelihood[d][y] and _partition(likelihood[d][y], gamma) == own}
    return sum(1 for d in table if d in same)


def attempt(
    table: Sequence[int], likelihood: Weights, test: PassProbability, gamma: Fraction
) -> list[Fraction]:
    """One attempt of Mechanism 1: probability that candidate y is made and passes, for every y."""
    # ``table`` has the kind of every seed record; ``likelihood[d][y] = Pr[y = M(d)]``, where a mixture over a
    # known omega lists (omega, y) as candidates. At gamma 1 only equal likelihoods are of one partition. What
    # is missing from 1 is the probability of a rejection.
    released = [Fraction(0)] * len(likelihood[0])
    for seed, copies in Counter(table).items():
        for y, p in enumerate(likelihood[seed]):
            if p:
                passes = test(plausible_seeds(y, seed, table, likelihood, gamma))
                released[y] += Fraction(copies, len(table)) * p * passes
    return released


def rows_given_release(one_attempt: Sequence[Fraction], num_rows: int) -> dict[Hashable, Fraction]:
    """Distribution of N rows, proposals being made until N are accepted: independent, given release."""
    rate = sum(one_attempt)
    row = {y: p / rate for y, p in enumerate(one_attempt) if p}
    return {
        rows: math.prod((row[y] for y in rows), start=Fraction(1))
        for rows in itertools.product(row, repeat=num_rows)
    }


def with_rejection(one_attempt: Sequence[Fraction]) -> dict[Hashable, Fraction]:
    """Distribution of one attempt whose rejection can be seen: the mistake that Theorem 1 does not cover."""
    return {**dict(enumerate(one_attempt)), "rejected": Fraction(1) - sum(one_attempt)}


def released_groups(
    sizes: Mapping[Hashable, int], k: int, margin: int, a: Fraction, top: int
) -> dict[Hashable, Fraction]:
    """What the release-level test shows: for every outcome, the released groups with their noisy sizes."""
    # Groups of at least k enter, and are released from a noisy size of k + margin on; sizes (0 for an absent
    # group) get noise of weight ``a = exp(-epsilon0)``. Noisy sizes from ``top`` on are one outcome, which is
    # exact for every two tables whose groups are all below it.
    per_group = [[(g, s, p) for s, p in _noisy_size(n, k, margin, a, top)] for g, n in sorted(sizes.items())]
    law: dict[Hashable, Fraction] = {}
    for parts in itertools.product(*per_group):
        shown = tuple((key, size) for key, size, _ in parts if size is not None)
        law[shown] = law.get(shown, Fraction(0)) + math.prod((p for _, _, p in parts), start=Fraction(1))
    return law


@lru_cache(maxsize=4096)
def _partition(p: Fraction, gamma: Fraction) -> Fraction | int:
    if gamma == 1:  # partitions of equal likelihoods
        return p
    i = 0
    while p <= gamma ** -(i + 1):
        i += 1
    return i


def _noisy_size(n: int, k: int, margin: int, a: Fraction, top: int) -> list[tuple[int | None, Fraction]]:
    """Released noisy sizes of one group with their probabilities; None is "not released"."""
    if n < k:
        return [(None, Fraction(1))]
    low = k + margin
    shown: list[tuple[int | None, Fraction]] = [(s, discrete_laplace_mass(s - n, a)) for s in range(low, top)]
    last = max(low, top)
    return [(None, 1 - discrete_laplace_tail(low - n, a)), *shown, (last, discrete_laplace_tail(last - n, a))]

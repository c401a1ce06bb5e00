"""Exact output distributions of Mechanism 1 and of the release-level test on small universes, in fractions.

Everything here follows the definitions (Bindschaedler, Shokri, Gunter, PVLDB 2017, section 2) and imports
nothing of the accountant, so that the accountant can be held against it. Noise weights are exact: ``a =
exp(-epsilon0)`` is given as a fraction.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from sdv_plausible.models.bayesian_network import BayesianNetwork

Distribution = Mapping[Hashable, Fraction]
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
    """Number k' of candidate y from a seed: records in its partition, ``gamma^-(i+1) < p <= gamma^-i``.

    At gamma 1 these are the records of the same likelihood.
    """
    own = _partition(likelihood[seed][y], gamma)
    same = {d for d in set(table) if likelihood[d][y] and _partition(likelihood[d][y], gamma) == own}
    return sum(1 for d in table if d in same)


def attempt(
    table: Sequence[int], likelihood: Weights, test: PassProbability, gamma: Fraction
) -> list[Fraction]:
    """One attempt of Mechanism 1: probability that candidate y is made and passes, for every y.

    Parameters
    ----------
    table : sequence of int
        Kind of every seed record, at least one.
    likelihood : shape (kinds, candidates)
        ``Pr[y = M(d)]`` for every kind d of record; a mixture over a known omega lists (omega, y) as
        candidates.
    test : callable
        Pass probability of a number of plausible seeds.
    gamma : Fraction
        Partition width, >= 1; at 1 only equal likelihoods are of one partition.

    Returns
    -------
    list of Fraction
        One per candidate; what is missing from 1 is the probability of a rejection.
    """
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


def rows_with_one_threshold(
    table: Sequence[int], likelihood: Weights, k: int, a: Fraction, gamma: Fraction, num_rows: int, reach: int
) -> dict[Hashable, Fraction]:
    """N rows when one noise is drawn for all candidates: a mistake.

    Thresholds that nothing passes are drawn again. Noise below ``-reach`` counts as ``-reach``; choose it so
    that everything passes there.
    """
    mixture: dict[Hashable, Fraction] = {}
    whole = Fraction(0)
    for z in range(-reach, max(len(table) - k, 0) + 1):
        weight = discrete_laplace_tail(reach, a) if z == -reach else discrete_laplace_mass(z, a)
        released = attempt(table, likelihood, deterministic_pass(k + z), gamma)
        if sum(released):
            whole += weight
            for rows, p in rows_given_release(released, num_rows).items():
                mixture[rows] = mixture.get(rows, Fraction(0)) + weight * p
    return {rows: p / whole for rows, p in mixture.items()}


def released_groups(
    sizes: Mapping[Hashable, int], k: int, margin: int, a: Fraction, top: int
) -> dict[Hashable, Fraction]:
    """What the release-level test shows: for every outcome, the released groups with their noisy sizes.

    Parameters
    ----------
    sizes : mapping
        True size of every prefix group; 0 for an absent one.
    k, margin : int
        Groups of at least k enter; they are released from a noisy size of k + margin on.
    a : Fraction
        Noise weight, ``exp(-epsilon0)``.
    top : int
        Noisy sizes from here on are one outcome, which is exact for every two tables whose groups are all
        below it.
    """
    per_group = [
        [(key, size, p) for size, p in _noisy_size(n, k, margin, a, top)] for key, n in sorted(sizes.items())
    ]
    outcomes: dict[Hashable, Fraction] = {}
    for parts in itertools.product(*per_group):
        shown = tuple((key, size) for key, size, _ in parts if size is not None)
        outcomes[shown] = outcomes.get(shown, Fraction(0)) + math.prod(
            (p for _, _, p in parts), start=Fraction(1)
        )
    return outcomes


def hockey_stick(p: Distribution, q: Distribution, factor: Fraction) -> Fraction:
    """Smallest delta with ``P(S) <= factor Q(S) + delta`` for every event S; factor stands for e^epsilon."""
    return sum(
        (max(Fraction(0), mass - factor * q.get(y, Fraction(0))) for y, mass in p.items()), Fraction(0)
    )


def exact_delta(p: Distribution, q: Distribution, factor: Fraction) -> Fraction:
    """Smallest delta that holds in both directions at ``e^epsilon = factor``."""
    return max(hockey_stick(p, q, factor), hockey_stick(q, p, factor))


def tables_of(kinds: int, rows: int) -> Iterator[tuple[int, ...]]:
    """All tables of the given number of rows over kinds 0..kinds-1, order aside."""
    return itertools.combinations_with_replacement(range(kinds), rows)


def network_likelihood(
    network: BayesianNetwork, omegas: Iterable[tuple[int, Fraction]]
) -> tuple[np.ndarray, list[list[Fraction]]]:
    """``Pr[(omega, y) = M(d)]`` for all records d and y of a small universe, from a network's tables.

    Parameters
    ----------
    network : BayesianNetwork
        Cells are taken as the exact values of their doubles; use dyadic ones, whose rows sum to exactly 1.
    omegas : iterable of (int, Fraction)
        Numbers of resampled attributes, each with its probability; omega is part of the candidate.

    Returns
    -------
    records : ndarray of int, shape (u, m)
        The universe, in column order.
    likelihood : list of list of Fraction, shape (u, number of omegas times u)
        Candidate ``i u + y`` is record y made with the i-th omega.
    """
    records = np.array(list(itertools.product(*(range(c) for c in network.cardinalities))), dtype=np.int32)
    cells = [
        [Fraction(float(p)) for p in t.probabilities[t.configuration(records), records[:, t.child]]]
        for t in network.tables
    ]
    ordered = records[:, network.order]
    likelihood: list[list[Fraction]] = [[] for _ in records]
    for omega, weight in omegas:
        kept = network.num_attributes - omega
        for d, row in enumerate(likelihood):
            same = (ordered[:, :kept] == ordered[d, :kept]).all(axis=1)
            made = (math.prod((c[y] for c in cells[kept:]), start=Fraction(1)) for y in range(len(records)))
            row.extend(weight * p if s else Fraction(0) for s, p in zip(same, made, strict=True))
    return records, likelihood


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
    shown: list[tuple[int | None, Fraction]] = [
        (size, discrete_laplace_mass(size - n, a)) for size in range(low, top)
    ]
    last = max(low, top)
    return [(None, 1 - discrete_laplace_tail(low - n, a)), *shown, (last, discrete_laplace_tail(last - n, a))]

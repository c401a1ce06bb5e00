"""Transition matrices of Mechanism 1 and of the release-level test, over all tables of a small universe.

The distributions are those of :mod:`.exact`, in fractions, and do not use the accountant. A table is
represented by the counts of all records of the universe, in the order of :func:`universe`.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from sdv_plausible.extensions.audit.disclosure import exact
from sdv_plausible.extensions.audit.disclosure.exact import PassProbability, Weights
from sdv_plausible.extensions.audit.disclosure.transition_matrix import (
    Counts,
    TransitionMatrix,
    tables_of_counts,
)
from sdv_plausible.models.base import Proposals, SeedModel
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.neighbours import Relation
from sdv_plausible.queries.queryable import SeedRecords

NOTHING = "nothing"  # the output if no row can pass


def universe(cardinalities: Sequence[int]) -> np.ndarray:
    """Return all records as int32 codes (records, columns), the last column varying fastest.

    Parameters
    ----------
    cardinalities : sequence of int
        Number of codes of every column.
    """
    return np.array(list(itertools.product(*map(range, cardinalities))), dtype=np.int32)


def tables_of_sizes(records: int, sizes: Iterable[int]) -> tuple[Counts, ...]:
    """Return all tables of the given sizes over ``records`` distinct records, as counts.

    Parameters
    ----------
    records : int
        Number of distinct records.
    sizes : iterable of int
        Numbers of rows.
    """
    return tuple(table for size in sizes for table in tables_of_counts(size, records))


def seed_likelihood(
    model: SeedModel, cardinalities: Sequence[int], omegas: Mapping[int, Fraction], *, hidden: bool = False
) -> list[list[Fraction]]:
    """Return Pr[y = M(d)] for all records d and y of a small universe, by the model's own likelihood.

    Parameters
    ----------
    model : SeedModel
        Any model; it is not modified.
    cardinalities : sequence of int
        Number of codes of every column.
    omegas : mapping of int to Fraction
        Numbers of resampled attributes, each with its probability.
    hidden : bool
        Whether the privacy test does not see omega. Then likelihoods are those of the mixture, with one
        candidate per record. Otherwise candidate ``i u + y`` is record y of u, made with the i-th omega.

    Returns
    -------
    list of list of Fraction, shape (records, candidates)
        The exact values of the model's floats.
    """
    records, seeded_model = universe(cardinalities), copy.copy(model)
    seeded_model.attach_seeds(SeedRecords(records))
    size = len(records)
    blocks: list[list[list[Fraction]]] = []
    for omega, weight in omegas.items():
        proposals = Proposals(
            candidates=np.asfortranarray(records),
            seeds=np.zeros(size, dtype=np.int64),
            omega=np.full(size, check.whole("omegas", omega, 0), dtype=np.int64),
        )
        probabilities = np.exp(seeded_model.log_likelihood(proposals, np.arange(size))).T
        blocks.append([[weight * Fraction(float(p)) for p in row] for row in probabilities])
    per_record = zip(*blocks, strict=True)
    if hidden:
        return [[sum(ps, Fraction(0)) for ps in zip(*rows, strict=True)] for rows in per_record]
    return [[p for row in rows for p in row] for rows in per_record]


def mechanism_matrix(
    tables: Iterable[Counts],
    likelihood: Weights,
    test: PassProbability,
    gamma: Fraction,
    *,
    num_rows: int = 1,
    shown: Sequence[Hashable] | None = None,
    rejection_shows: bool = False,
    neighbours: Relation = "add_remove",
) -> TransitionMatrix:
    """Return the exact transition matrix of Mechanism 1: released rows, conditional on release.

    Parameters
    ----------
    tables : iterable of tuple of int
        Seed tables, as counts of the records.
    likelihood : shape (records, candidates)
        From :func:`seed_likelihood`, or any other.
    test : callable
        ``exact.randomized_pass(k, a)`` or ``exact.deterministic_pass(k)``: pass probability by the number of
        plausible seeds.
    gamma : Fraction
        Partition width, > 1.
    num_rows : int
        Number of rows released one after the other.
    shown : sequence, optional
        Released label of every candidate; ``range(u)`` repeated hides omega. By default its index.
    rejection_shows : bool
        Whether to model one attempt with a visible rejection instead of released rows: the case that the
        paper's Theorem 1 does not cover.
    neighbours : {"add_remove", "replace_one"}
        Neighbouring relation.

    Returns
    -------
    TransitionMatrix
        The exact matrix.

    Raises
    ------
    ValueError
        If `shown` has the wrong length.
    """
    check.whole("num_rows", num_rows, 1)
    labels = list(range(len(likelihood[0])) if shown is None else shown)
    if len(labels) != len(likelihood[0]):
        raise ValueError(
            f"shown ({len(labels)}) must have one label for each of {len(likelihood[0])} candidates"
        )
    distributions: dict[Counts, Mapping[Hashable, Fraction]] = {}
    for table in tables:
        attempt_probabilities = exact.attempt(_rows(table), likelihood, test, gamma)
        if rejection_shows:
            distributions[table] = exact.with_rejection(attempt_probabilities)
            continue
        merged: dict[Hashable, Fraction] = {}
        for label, p in zip(labels, attempt_probabilities, strict=True):
            merged[label] = merged.get(label, Fraction(0)) + p
        distributions[table] = _released(merged, num_rows)
    return TransitionMatrix.of(distributions, neighbours)


def release_test_matrix(
    tables: Iterable[Counts],
    groups: Sequence[Hashable],
    *,
    k: int,
    margin: int,
    epsilon0: float,
    neighbours: Relation = "add_remove",
) -> TransitionMatrix:
    """Return the exact transition matrix of the release-level test's output: groups with noisy sizes.

    Rows are drawn from this output, so any number of rows has no larger privacy loss.

    Parameters
    ----------
    tables : iterable of tuple of int
        Seed tables, as counts of the records.
    groups : sequence
        Prefix group of every record.
    k, margin : int
        Groups of at least k rows enter; they are released if their noisy size is at least k + margin.
    epsilon0 : float
        Inverse scale of the noise on every size. It is their privacy loss if rows are added or removed, and
        half of the loss if a row is replaced, which changes two sizes.
    neighbours : {"add_remove", "replace_one"}
        Neighbouring relation.

    Returns
    -------
    TransitionMatrix
        The exact matrix.
    """
    table_list = list(tables)
    weight = noise_weight(epsilon0)
    top = max(k + margin, *map(sum, table_list)) + 1
    distributions: dict[Counts, Mapping[Hashable, Fraction]] = {}
    for table in table_list:
        sizes = dict.fromkeys(groups, 0)
        for group, count in zip(groups, table, strict=True):
            sizes[group] += count
        distributions[table] = exact.released_groups(sizes, k, margin, weight, top)
    return TransitionMatrix.of(distributions, neighbours)


def noise_weight(epsilon0: float) -> Fraction:
    """Return ``a = exp(-epsilon0)`` of discrete Laplace noise, as :mod:`.exact` uses it.

    Parameters
    ----------
    epsilon0 : float
        Inverse scale of the noise, > 0.
    """
    return Fraction(math.exp(-check.positive("epsilon0", epsilon0, "try 1.0")))


def _rows(table: Counts) -> list[int]:
    return [kind for kind, count in enumerate(table) for _ in range(count)]


def _released(
    attempt_probabilities: Mapping[Hashable, Fraction], num_rows: int
) -> Mapping[Hashable, Fraction]:
    """Distribution of released rows, each outcome a tuple of labels."""
    labels = list(attempt_probabilities)
    if not sum(attempt_probabilities.values()):
        return {NOTHING: Fraction(1)}
    distribution = exact.rows_given_release(list(attempt_probabilities.values()), num_rows)
    return {tuple(labels[y] for y in rows): p for rows, p in distribution.items()}  # type: ignore[attr-defined]

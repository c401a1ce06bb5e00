"""Mechanism 1 and the release-level test over every table of a small universe, as transition matrices.

The distributions are those of :mod:`.exact`, in fractions: nothing here knows the accountant. A table is
written as the counts of all records of the universe, in the order of :func:`universe`.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from sdv_plausible.extensions.audit.disclosure import exact
from sdv_plausible.extensions.audit.disclosure.count_tables import Counts, tables_of_counts
from sdv_plausible.extensions.audit.disclosure.exact import PassProbability, Weights
from sdv_plausible.extensions.audit.disclosure.transition_matrix import TransitionMatrix
from sdv_plausible.models.base import Proposals, SeedModel
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.neighbours import Relation
from sdv_plausible.queries.queryable import SeedRecords

NOTHING = "nothing"  # the output where no row can pass


def universe(cardinalities: Sequence[int]) -> np.ndarray:
    """All records, as int32 codes (records, columns), the last column fastest."""
    return np.array(list(itertools.product(*map(range, cardinalities))), dtype=np.int32)


def tables_of_sizes(records: int, sizes: Iterable[int]) -> tuple[Counts, ...]:
    """All tables of these numbers of rows over so many different records, as counts."""
    return tuple(table for size in sizes for table in tables_of_counts(size, records))


def seed_likelihood(
    model: SeedModel, cardinalities: Sequence[int], omegas: Mapping[int, Fraction], *, hidden: bool = False
) -> list[list[Fraction]]:
    """Pr[y = M(d)] for all records d and y of a small universe, from any model's own likelihood.

    Parameters
    ----------
    model : SeedModel
        Any; it is left as it is.
    cardinalities : sequence of int
        Number of codes of every column.
    omegas : mapping of int to Fraction
        Numbers of resampled attributes, each with its probability.
    hidden : bool
        Whether the test must do without omega: likelihoods are then those of the mixture, one candidate for
        each record. Otherwise candidate ``i u + y`` is record y of u, made with the i-th omega.

    Returns
    -------
    list of list of Fraction, shape (records, candidates)
        The exact values of the model's doubles.
    """
    records, asked = universe(cardinalities), copy.copy(model)
    asked.attach_seeds(SeedRecords(records))
    size = len(records)
    blocks: list[list[list[Fraction]]] = []
    for omega, weight in omegas.items():
        proposals = Proposals(
            candidates=np.asfortranarray(records),
            seeds=np.zeros(size, dtype=np.int64),
            omega=np.full(size, check.whole("omegas", omega, 0), dtype=np.int64),
        )
        made = np.exp(asked.log_likelihood(proposals, np.arange(size))).T
        blocks.append([[weight * Fraction(float(p)) for p in row] for row in made])
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
    """Exact transition matrix of Mechanism 1: released rows, given that they are released.

    Parameters
    ----------
    tables : iterable of tuple of int
        Seed tables, as counts of the records.
    likelihood : shape (records, candidates)
        Of :func:`seed_likelihood`, or any other.
    test : callable
        ``exact.randomized_pass(k, a)`` or ``exact.deterministic_pass(k)``: pass probability of a number of
        plausible seeds.
    gamma : Fraction
        Partition width, > 1.
    num_rows : int
        Rows released, one after the other.
    shown : sequence, optional
        What is released of every candidate; ``range(u)`` repeated hides omega. By default its number.
    rejection_shows : bool
        One attempt whose failure can be seen, in the place of released rows: the mistake that the paper's
        Theorem 1 does not cover.
    neighbours : {"add_remove", "replace_one"}
        Which tables are neighbours.
    """
    check.whole("num_rows", num_rows, 1)
    labels = list(range(len(likelihood[0])) if shown is None else shown)
    if len(labels) != len(likelihood[0]):
        raise ValueError(
            f"shown ({len(labels)}) must have one label for each of {len(likelihood[0])} candidates"
        )
    laws: dict[Counts, Mapping[Hashable, Fraction]] = {}
    for table in tables:
        one = exact.attempt(_rows(table), likelihood, test, gamma)
        if rejection_shows:
            laws[table] = exact.with_rejection(one)
            continue
        merged: dict[Hashable, Fraction] = {}
        for label, p in zip(labels, one, strict=True):
            merged[label] = merged.get(label, Fraction(0)) + p
        laws[table] = _released(merged, num_rows)
    return TransitionMatrix.of(laws, neighbours)


def release_test_matrix(
    tables: Iterable[Counts],
    groups: Sequence[Hashable],
    *,
    k: int,
    margin: int,
    epsilon0: float,
    neighbours: Relation = "add_remove",
) -> TransitionMatrix:
    """Exact transition matrix of what the release-level test lets out: groups with their noisy sizes.

    Rows are drawn from that, so whatever number of them has no larger loss.

    Parameters
    ----------
    tables : iterable of tuple of int
        Seed tables, as counts of the records.
    groups : sequence
        Prefix group of every record.
    k, margin : int
        Groups of at least k enter; they are released from a noisy size of k + margin on.
    epsilon0 : float
        Inverse scale of the noise on every size: their loss, where rows are added or removed; half of it,
        where a row is replaced, which moves two sizes.
    neighbours : {"add_remove", "replace_one"}
        Which tables are neighbours.
    """
    known = list(tables)
    weight = noise_weight(epsilon0)
    top = max(k + margin, *map(sum, known)) + 1
    laws: dict[Counts, Mapping[Hashable, Fraction]] = {}
    for table in known:
        sizes = dict.fromkeys(groups, 0)
        for group, count in zip(groups, table, strict=True):
            sizes[group] += count
        laws[table] = exact.released_groups(sizes, k, margin, weight, top)
    return TransitionMatrix.of(laws, neighbours)


def noise_weight(epsilon0: float) -> Fraction:
    """``a = exp(-epsilon0)`` of discrete Laplace noise, as :mod:`.exact` takes it."""
    return Fraction(math.exp(-check.positive("epsilon0", epsilon0, "try 1.0")))


def _rows(table: Counts) -> list[int]:
    return [kind for kind, count in enumerate(table) for _ in range(count)]


def _released(one: Mapping[Hashable, Fraction], num_rows: int) -> Mapping[Hashable, Fraction]:
    """Rows given release, each tuple by the labels of its rows."""
    labels = list(one)
    if not sum(one.values()):
        return {NOTHING: Fraction(1)}
    numbered = exact.rows_given_release(list(one.values()), num_rows)
    return {tuple(labels[y] for y in rows): p for rows, p in numbered.items()}  # type: ignore[attr-defined]

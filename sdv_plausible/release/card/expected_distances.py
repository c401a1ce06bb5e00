"""Expected distances of columns and pairs between a table and its release, from the noisy answers alone.

The estimates are post-processing: they cost no privacy and read no row. They are for the default learner.
benchmarks/expected_distances.py measures how close they are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sdv_plausible.models.adaptive.schedule import pair_noise
from sdv_plausible.models.conditional_table import project_to_simplex
from sdv_plausible.models.forecast import SHOWN_BINS
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.transcript import ALL_ROWS, NoisyAnswer
from sdv_plausible.release.intervals.margins import measured_over
from sdv_plausible.release.intervals.measured_counts import MeasuredTable, estimate_row_count, measured_tables
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.learned.lost_mass import estimate_lost_mass

NUM_DRAWS = 20  # draws of noise per column, from a public seed
Pair = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class ExpectedDistances:
    """Expected total variation distances, in [0, 1]; columns that were not measured are left out."""

    columns: Mapping[str, float]
    pairs: Mapping[tuple[str, ...], float]


def expected_distances(answers: Sequence[NoisyAnswer], domain: Domain) -> ExpectedDistances:
    """Estimate the distances between the shares of a table and those of many rows of its release.

    Ordered columns are compared in ``SHOWN_BINS`` bins of about equal shares, other columns by value. Noise,
    values outside a learned domain, sampling of the table and lost dependence count as independent.
    """
    tables = measured_tables(answers)
    if not tables:
        return ExpectedDistances(columns={}, pairs={})
    rows = max(estimate_row_count(tables, len(domain))[0], 1.0)
    lost = {mass.column: mass.replaced for mass in estimate_lost_mass(domain, answers)}
    rng, shares, columns = KeyedRNG.from_seed(0), dict[int, np.ndarray](), dict[int, float]()
    binned = dict[int, np.ndarray]()
    for j, attribute in enumerate(domain):
        table = measured_over(tables, (j,))
        if table is not None and table.counts.size == attribute.cardinality:
            shares[j] = project_to_simplex(table.counts.astype(float), rows) / rows
            starts = _bins(attribute, shares[j])
            binned[j] = np.add.reduceat(shares[j], starts)
            noise = _noise_distance(shares[j], table, rows, starts, rng.spawn(j))
            columns[j] = min(noise + lost.get(attribute.name, 0.0), 1.0)
    dependence = _lost_dependence(answers, tables, shares, rows)
    pairs: dict[tuple[str, ...], float] = {}
    for i, j in itertools.combinations(columns, 2):
        parts = (
            columns[i],
            columns[j],
            _sampling_distance(binned[i], binned[j], rows),
            dependence.get((i, j), 0.0),
        )
        pairs[domain.names[i], domain.names[j]] = min(math.hypot(*parts), 1.0)
    return ExpectedDistances(columns={domain.names[j]: d for j, d in columns.items()}, pairs=pairs)


def _bins(attribute: Attribute, shares: np.ndarray) -> np.ndarray:
    """First code of every bin; a code outside the order is a bin of its own."""
    ordered = attribute.num_ordered if attribute.is_ordered else 0
    middle = np.cumsum(shares[:ordered]) - shares[:ordered] / 2
    bins = np.floor(SHOWN_BINS * middle / max(shares[:ordered].sum(), 1e-12))
    return np.concatenate([np.flatnonzero(np.diff(bins, prepend=-1)), np.arange(ordered, len(shares))])


def _noise_distance(
    shares: np.ndarray, table: MeasuredTable, rows: float, starts: np.ndarray, rng: KeyedRNG
) -> float:
    """Mean distance that fresh noise of the table adds to the shares, once it is reduced again."""
    noise = table.median_deviation * rng.normal((NUM_DRAWS, len(shares)))
    moved = [
        np.add.reduceat(project_to_simplex(shares * rows + one, rows) / rows - shares, starts)
        for one in noise
    ]
    return float(np.abs(moved).sum(1).mean() / 2)


def _sampling_distance(first: np.ndarray, second: np.ndarray, rows: float) -> float:
    """Expected distance between the cells of two independent columns and their expected counts."""
    (p, num_p), (q, num_q) = _distinct(first), _distinct(second)
    counts = rows * np.outer(p, q)
    deviations = np.where(
        counts < 1, 2 * counts * np.exp(-counts), 0.8 * np.sqrt(counts)
    )  # of a Poisson count
    return float(num_p @ deviations @ num_q / (2 * rows))


def _distinct(shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shares, rounded to about a tenth so that few are left, and how many columns' values have each."""
    logarithms, numbers = np.unique(np.round(np.log(shares[shares > 0]), 1), return_counts=True)
    return np.exp(logarithms), numbers


def _lost_dependence(
    answers: Sequence[NoisyAnswer],
    tables: Sequence[MeasuredTable],
    shares: Mapping[int, np.ndarray],
    rows: float,
) -> dict[Pair, float]:
    """Distance by which the model misses a pair's dependence: measured, or the noise of the pair's counts."""
    lost: dict[Pair, float] = {}
    for answer in answers:
        if answer.asked.kind != "distances" or answer.rows != ALL_ROWS:
            continue
        for axes, score in zip(answer.asked.tables, answer.values.tolist(), strict=True):
            if len(axes) == 2 and all(axis.column in shares for axis in axes):
                coarse = [np.bincount(axis.buckets, shares[axis.column]) for axis in axes]
                distance = score / (2 * rows) - _sampling_distance(coarse[0], coarse[1], rows)
                lost[axes[0].column, axes[1].column] = max(distance, 0.0)
    for first, second in {t.columns for t in tables if len(t.axes) == len({*t.columns}) == 2}:
        if (table := measured_over(tables, (first, second))) is not None:
            noise = float(pair_noise(*map(np.array, table.counts.shape)))
            lost[first, second] = table.median_deviation * noise / (2 * rows)
    return {(min(e), max(e)): distance for e, distance in lost.items()}

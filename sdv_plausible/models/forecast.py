"""Forecast of the effect of noise on columns and on dependence, from public figures only."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import ndtri

from sdv_plausible.models.conditional_table import project_to_simplex
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.utils.messages import ColumnNote

NEAR_NOISE = 0.25  # total variation distance from which columns and dependence count as close to noise
NAMED = 0.10  # total variation distance from which a warning names the column
GOOD = 0.05  # mean total variation distance up to which a forecast is good
MOST_ROWS = 10**10
SMALL = 16  # number of codes up to which a column counts as small
SHOWN_BINS = 16  # bins of an ordered column in the distance of a pair
PAIR_FACTOR, PAIR_CELLS = 1.5, 0.75
"""Factor and exponent of the bound on a pair's distance, 1 - exp(-factor * sqrt(cells^exponent / power)).

At least 95 % of the class means on seven tables lie below the bound, from 344 rows to all rows, at epsilon
0.3, 1 and 3. It was validated on nine other tables (benchmarks.pair_forecasts).
"""
CLASSES = ("both small", "one large", "both large")
"""Classes of pairs, by the number of columns with more than ``SMALL`` codes."""
MANY = 20  # number of values from which numeric categories cause a warning
NEARLY_ALL = 0.9  # share of these values that are numbers
NUMBER = re.compile(r"[-+]?(0|[1-9]\d*)([.,]\d+)?")  # amounts only: codes may begin with zeros


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """Expected effect of noise on a table of about ``rows`` rows, computed without the rows."""

    rows: int
    # Total variation distance, in [0, 1], that noise adds to each column: an upper bound, reached for equally
    # likely values
    columns: Mapping[str, float]
    # Smallest distance from independence, in [0, 1], at which dependence stands out from noise; None if the
    # model learns no dependence
    link: float | None
    assumed: tuple[str, ...] = ()  # columns whose number of values is unknown and was assumed
    # The part of ``link`` that is due to the number of columns and about proportional to it: every pair is
    # scored, and the noise on each score grows with the number of pairs
    crowd: float = 0.0
    # Mean total variation distance, in [0, 1], of the pairs of each class of ``CLASSES`` between synthetic
    # rows and as many source rows: an upper bound. Empty if unknown for the model
    pairs: Mapping[str, float] = field(default_factory=dict)
    # As ``columns``, with ordered columns in ``SHOWN_BINS`` bins; empty if unknown for the model
    shown: Mapping[str, float] = field(default_factory=dict)

    @property
    def mean(self) -> float:
        """Mean distance over the columns."""
        return float(np.mean(list(self.columns.values()))) if self.columns else 0.0

    @property
    def is_good(self) -> bool:
        """Whether columns and dependence are well above the noise."""
        return self.mean <= GOOD and (self.link is None or self.link <= 2 * GOOD)

    def __str__(self) -> str:
        worst = max(self.columns, key=lambda name: self.columns[name], default="")
        sentences = [
            f"At about {self.rows:,} rows, noise moves a column by up to {self.mean:.2g} on average"
            + (f" (most: {worst}, {self.columns[worst]:.2g})" if worst else "")
            + ", in total variation distance (0 to 1)"
        ]
        if self.link is not None:
            sentences.append(f"Dependences weaker than about {min(self.link, 1):.2g} are lost")
        if self.pairs:
            sentences.append(f"Pairs of columns are off by up to {_by_class(self.pairs)}")
        if self.assumed:
            columns = "1 column is" if len(self.assumed) == 1 else f"{len(self.assumed)} columns are"
            sentences.append(f"{columns} undeclared, for which a typical number of values was assumed")
        return ". ".join(sentences)

    def warnings(self) -> list[str]:
        """Return warnings where the output is close to noise; they are the same before and after a fit."""
        at, messages = f"at about {self.rows:,} rows", list[str]()
        is_dependence_lost = self.pairs.get(CLASSES[0], 0.0) > NEAR_NOISE
        if is_dependence_lost or (self.link or 0.0) > NEAR_NOISE:
            messages.append(
                f"{at}, dependences between columns are mostly noise: do not rely on them. Raise epsilon, "
                "use more rows, or model fewer columns"
            )
        if noisy := [name for name, distance in self.columns.items() if distance > NEAR_NOISE]:
            messages.append(
                ColumnNote(
                    noisy,
                    f"values are close to noise {at}",
                    "Raise epsilon, declare fewer values or wider bins, or drop the column.",
                )
            )
        lost = {name: far for name, far in self.shown.items() if far > NAMED and name not in noisy}
        if lost:
            messages.append(
                ColumnNote(
                    {name: f"up to {far:.0%}" for name, far in lost.items()},
                    f"of the cells may be moved by noise {at}",
                    "Raise epsilon, declare fewer values, or drop the column.",
                )
            )
        if far := {name: distance for name, distance in self.pairs.items() if distance > NEAR_NOISE}:
            messages.append(
                f"{at}, pairs of columns may be off by {_by_class(far)} (small: at most {SMALL} codes; total "
                "variation distance, 0 to 1)"
            )
        if (
            not is_dependence_lost
            and self.link is not None
            and self.link <= self.crowd
            and self.crowd > 2 * GOOD
        ):
            fewer = max(int(len(self.columns) * 2 * GOOD / self.crowd), 2)
            messages.append(
                f"{at}, {len(self.columns)} columns are too many for the budget: every pair is compared, "
                f"and only dependences stronger than about {min(self.crowd, 1):.2g} exceed the noise. Model "
                f"fewer columns (about {fewer} would keep dependences from {2 * GOOD:.2g} on), raise "
                "epsilon, or use more rows"
            )
        return messages


def _by_class(classes: Mapping[str, float]) -> str:
    return ", ".join(f"{distance:.2g} ({name})" for name, distance in classes.items()) + " on average"


def noise_distance(cardinality: int, sigma: float, rows: float) -> float:
    """Return the total variation distance that projected noise adds to equally likely values."""
    # Uses the expected order statistics of Gaussian noise (normal quantiles) instead of random noise.
    # ``sigma`` is the standard deviation of the noise on each count.
    quantiles = ndtri((np.arange(cardinality) + 0.5) / cardinality)
    cleaned = project_to_simplex(rows / cardinality + sigma * quantiles, rows)
    return float(np.abs(cleaned / rows - 1 / cardinality).sum() / 2)


def shown_distance(attribute: Attribute, sigma: float, rows: float) -> float:
    """Return :func:`noise_distance` with ordered columns in ``SHOWN_BINS`` bins."""
    bins = min(attribute.cardinality, SHOWN_BINS) if attribute.is_ordered else attribute.cardinality
    return noise_distance(bins, sigma * math.sqrt(attribute.cardinality / bins), rows)


def pair_distances(domain: Domain, mu: float, rows: int) -> dict[str, float]:
    """Return an upper bound on the mean distance of the pairs of each class in ``CLASSES``.

    Ordered columns are compared in ``SHOWN_BINS`` bins, other columns by value. ``mu`` is the Gaussian
    parameter of a count. Sampling error enters the power like noise of mu 1.
    """
    attributes = [a for a in domain if a.cardinality > 1]
    cells = np.array([min(a.cardinality, SHOWN_BINS) if a.is_ordered else a.cardinality for a in attributes])
    is_large = np.array([a.cardinality > SMALL for a in attributes], dtype=int)
    a, b = np.triu_indices(len(attributes), 1)
    power = rows * mu / (1 + mu)
    bound = -np.expm1(-PAIR_FACTOR * np.sqrt((cells[a] * cells[b]) ** PAIR_CELLS / power))
    num_large = is_large[a] + is_large[b]
    return {
        name: float(bound[num_large == k].mean()) for k, name in enumerate(CLASSES) if (num_large == k).any()
    }


def numeric_category_warnings(domain: Domain) -> list[str]:
    """Return a warning about categories whose values are numbers, from the declaration alone."""
    columns = [
        f"{a.name!r} ({len(a.values)} values)"
        for a in domain
        if a.kind == "categorical"
        and len(a.values) >= MANY
        and a.groups is None
        and a.buckets is None
        and sum(map(_is_plain_number, a.values)) >= NEARLY_ALL * len(a.values)
    ]
    if not columns:
        return []
    return [
        f"{', '.join(columns)}: categories that look like numbers. Each value is learned separately. If "
        "neighbouring values are similar, declare the column numerical (range_min, range_max) or ordinal. "
        "If the values are codes with a hierarchy, declare groups"
    ]


def _is_plain_number(value: Any) -> bool:
    """Whether a value is a number or the text of one."""
    if isinstance(value, str):
        return NUMBER.fullmatch(value.strip()) is not None
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def undeclared_columns(domain: Domain) -> tuple[str, ...]:
    """Return the names of columns whose number of codes is only assumed."""
    return tuple(a.name for a in domain if a.provenance != "declared")


def rows_needed(forecast: Callable[[int], Forecast | None]) -> int | None:
    """Return the smallest of 100, 200, 400, ... rows with a good forecast, or None."""
    rows = 100
    while rows <= MOST_ROWS:
        expected = forecast(rows)
        if expected is None:
            return None
        if expected.is_good:
            return rows
        rows *= 2
    return None

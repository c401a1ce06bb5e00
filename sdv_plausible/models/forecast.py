"""What a budget can carry, from public figures alone.

How far noise will move columns, and which links it will hide.
"""

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

NEAR_NOISE = 0.25  # total variation distance from which a column, or the links, are called close to noise
NAMED = 0.10  # the same from which a column is named, as of any loss
GOOD = 0.05
MOST_ROWS = 10**10
SMALL = 16  # codes up to which a column is called small
SHOWN_BINS = 16  # of an ordered column in the distance of a pair
PAIR_FACTOR, PAIR_CELLS = 1.5, 0.75
"""Of the upper figure for a pair's distance, 1 - exp(-factor * sqrt(cells^exponent / power)).

Chosen so that at least 95 % of the means by class on seven tables lie below it, from 344 rows to all, at
epsilon 0.3, 1 and 3; checked on nine others (benchmarks.pair_forecasts).
"""
CLASSES = ("both small", "one large", "both large")
"""Of pairs of columns, by how many of the two have more than ``SMALL`` codes."""
MANY = 20  # values, from which on a plan warns
NEARLY_ALL = 0.9  # share of them that are numbers
NUMBER = re.compile(r"[-+]?(0|[1-9]\d*)([.,]\d+)?")  # as people write amounts: codes may begin with zeros


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """How noise will show on a table of about so many rows. No row is looked at."""

    rows: int
    # Per column the total variation distance, in [0, 1], by which noise moves it; an upper figure, for
    # equally likely values
    columns: Mapping[str, float]
    # The distance from independence, in [0, 1], that two columns must have to be told from noise; None if the
    # model learns no links
    link: float | None
    assumed: tuple[str, ...] = ()  # columns whose number of values is not known yet and was assumed
    # The part of ``link`` that the number of columns makes, about in proportion to it: every pair is
    # compared, and the noise on each grows with the number of pairs
    crowd: float = 0.0
    # Mean distance, in [0, 1], of the pairs of columns of each class (of ``CLASSES``) between synthetic rows
    # and as many rows of the source; an upper figure. Empty if it is not known of this model
    pairs: Mapping[str, float] = field(default_factory=dict)
    # As ``columns``, of ordered columns over ``SHOWN_BINS`` bins; empty if it is not known of this model
    shown: Mapping[str, float] = field(default_factory=dict)

    @property
    def mean(self) -> float:
        """Mean over the columns."""
        return float(np.mean(list(self.columns.values()))) if self.columns else 0.0

    @property
    def is_good(self) -> bool:
        """Whether columns and links are well above the noise."""
        return self.mean <= GOOD and (self.link is None or self.link <= 2 * GOOD)

    def __str__(self) -> str:
        worst = max(self.columns, key=lambda name: self.columns[name], default="")
        links = (
            ""
            if self.link is None
            else f"; links between columns weaker than about {min(self.link, 1):.2g} are lost"
        )
        return (
            f"At about {self.rows:,} rows noise moves a column by up to {self.mean:.2g} on average"
            + (f" ({worst!r}: {self.columns[worst]:.2g})" if worst else "")
            + links
            + ("; pairs of columns are off by up to " + _by_class(self.pairs) if self.pairs else "")
            + " (total variation distance, 0 to 1)"
            + (
                f"; {len(self.assumed)} column{'s' * (len(self.assumed) > 1)} that nobody declared: a usual "
                "number of values was assumed"
                if self.assumed
                else ""
            )
        )

    def warnings(self) -> list[str]:
        """Where the output is close to noise: the same sentences before a fit and after it."""
        at, found = f"at about {self.rows:,} rows", list[str]()
        hidden = self.pairs.get(CLASSES[0], 0.0) > NEAR_NOISE
        if hidden or (self.link or 0.0) > NEAR_NOISE:
            found.append(
                f"{at} links between columns are mostly noise: do not rely on them. Raise epsilon, have more "
                "rows, or model fewer columns"
            )
        if noisy := [name for name, distance in self.columns.items() if distance > NEAR_NOISE]:
            found.append(
                f"{at} these columns are close to noise: {', '.join(map(repr, noisy))}. Raise "
                "epsilon, declare fewer values or wider bins, or leave such columns out"
            )
        lost = {name: far for name, far in self.shown.items() if far > NAMED and name not in noisy}
        if lost:
            names = ", ".join(f"{name!r} ({far:.2g})" for name, far in lost.items())
            found.append(
                f"{at} noise may move more than a tenth of the cells of {names} (total variation distance, "
                "0 to 1). Raise epsilon, declare fewer values, or leave columns out"
            )
        if far := {name: distance for name, distance in self.pairs.items() if distance > NEAR_NOISE}:
            found.append(
                f"{at} pairs of columns may be off by {_by_class(far)} (small: at most {SMALL} codes; total "
                "variation distance, 0 to 1)"
            )
        if not hidden and self.link is not None and self.link <= self.crowd and self.crowd > 2 * GOOD:
            fewer = max(int(len(self.columns) * 2 * GOOD / self.crowd), 2)
            found.append(
                f"{at} {len(self.columns)} columns are too many for the budget to carry their links: every "
                f"pair is compared, and only links stronger than about {min(self.crowd, 1):.2g} stand out. "
                f"Model fewer columns (about {fewer} would keep links from {2 * GOOD:.2g} on), raise "
                "epsilon, or have more rows"
            )
        return found


def _by_class(classes: Mapping[str, float]) -> str:
    return ", ".join(f"{distance:.2g} ({name})" for name, distance in classes.items()) + " on average"


def noise_distance(cardinality: int, sigma: float, rows: float) -> float:
    """Total variation distance that projected noise adds to equally likely values."""
    # Computed on the expected order statistics of Gaussian noise (normal quantiles) instead of random noise.
    # ``sigma`` is that of the noise on each count.
    quantiles = ndtri((np.arange(cardinality) + 0.5) / cardinality)
    cleaned = project_to_simplex(rows / cardinality + sigma * quantiles, rows)
    return float(np.abs(cleaned / rows - 1 / cardinality).sum() / 2)


def shown_distance(attribute: Attribute, sigma: float, rows: float) -> float:
    """:func:`noise_distance` of ordered columns in ``SHOWN_BINS`` bins, and of other values by themselves."""
    bins = min(attribute.cardinality, SHOWN_BINS) if attribute.is_ordered else attribute.cardinality
    return noise_distance(bins, sigma * math.sqrt(attribute.cardinality / bins), rows)


def pair_distances(domain: Domain, mu: float, rows: int) -> dict[str, float]:
    """Upper figure for the mean distance of the pairs of each class of ``CLASSES`` that there is.

    As the distance is measured: ordered columns in ``SHOWN_BINS`` bins, every other value by itself. ``mu``
    is that of a count; what sampling alone does is in the power, as if it were noise of mu 1.
    """
    shown = [a for a in domain if a.cardinality > 1]
    cells = np.array([min(a.cardinality, SHOWN_BINS) if a.is_ordered else a.cardinality for a in shown])
    large = np.array([a.cardinality > SMALL for a in shown], dtype=int)
    a, b = np.triu_indices(len(shown), 1)
    power = rows * mu / (1 + mu)
    off = -np.expm1(-PAIR_FACTOR * np.sqrt((cells[a] * cells[b]) ** PAIR_CELLS / power))
    kinds = large[a] + large[b]
    return {name: float(off[kinds == k].mean()) for k, name in enumerate(CLASSES) if (kinds == k).any()}


def looks_numeric(domain: Domain) -> list[str]:
    """Warn of declared categories that are numbers: from the declaration alone."""
    found = [
        f"{a.name!r} ({len(a.values)} values)"
        for a in domain
        if a.kind == "categorical"
        and len(a.values) >= MANY
        and a.groups is None
        and a.buckets is None
        and sum(map(_is_plain_number, a.values)) >= NEARLY_ALL * len(a.values)
    ]
    if not found:
        return []
    return [
        f"categories that look like numbers: {', '.join(found)}. Each value is learned by itself; where "
        "neighbours are alike, declare the column numerical (range_min, range_max) or ordinal, where the "
        "values are codes with a hierarchy, declare its groups"
    ]


def _is_plain_number(value: Any) -> bool:
    """Whether a value is a number, or a text that writes one."""
    if isinstance(value, str):
        return NUMBER.fullmatch(value.strip()) is not None
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def undeclared(domain: Domain) -> tuple[str, ...]:
    """Names of the columns whose codes a forecast can only assume."""
    return tuple(a.name for a in domain if a.provenance != "declared")


def rows_needed(forecast: Callable[[int], Forecast | None]) -> int | None:
    """Smallest of 100, 200, 400, ... rows whose forecast is good; None if there is no noise, or never."""
    rows = 100
    while rows <= MOST_ROWS:
        found = forecast(rows)
        if found is None:
            return None
        if found.is_good:
            return rows
        rows *= 2
    return None

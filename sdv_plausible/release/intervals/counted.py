"""The counts that a fit measured, and the number of rows that they add up to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sdv_plausible.questions.counts import Axis
from sdv_plausible.questions.transcript import ALL_ROWS, NoisyAnswer


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One table of counts, and the parameter of the discrete Gaussian noise that is on each."""

    axes: tuple[Axis, ...]
    counts: np.ndarray
    sigma: float

    @property
    def columns(self) -> tuple[int, ...]:
        """Its columns' numbers."""
        return tuple(axis.column for axis in self.axes)


def measured_tables(answers: Sequence[NoisyAnswer]) -> list[Measured]:
    """Tables of counts of all rows, in the order in which they were asked for."""
    # Those of a part of the rows are left out: the table's counts do not follow from them.
    return [
        Measured(axes=tuple(a.asked.tables[0]), counts=a.values, sigma=a.scale)
        for a in answers
        if a.asked.kind == "counts" and a.rows == ALL_ROWS and a.noise == "discrete gaussian"
    ]


def estimated_rows(tables: Sequence[Measured], num_columns: int) -> tuple[float, list[float]]:
    """Estimate of the number of rows, and the deviation that each table used brings in."""
    # Every table adds up to it. Where each column has one, all are put together by inverse variance: that
    # there is one for each was settled before the first was answered. Otherwise the first table stands alone.
    single: dict[int, Measured] = {}
    for table in tables:
        if len(table.axes) == 1:
            single.setdefault(table.columns[0], table)
    used = list(single.values()) if len(single) == num_columns else [tables[0]]
    weights = np.array([1 / (t.sigma**2 * t.counts.size) for t in used])
    weights /= weights.sum()
    estimate = float(weights @ [float(t.counts.sum()) for t in used])
    deviations = [w * t.sigma * math.sqrt(t.counts.size) for w, t in zip(weights, used, strict=True)]
    return estimate, deviations


def number_of_rows(answers: Iterable[NoisyAnswer], num_columns: int) -> int:
    """Noisy number of rows, at least 0, from all one-way counts; else from what was asked of it alone.

    Raises
    ------
    ValueError
        If nothing tells it.
    """
    whole = [answer for answer in answers if answer.rows == ALL_ROWS]
    if tables := measured_tables(whole):
        return round(max(estimated_rows(tables, num_columns)[0], 1.0))
    told = [a.values.sum() for kind in ("number of rows", "counts") for a in whole if a.asked.kind == kind]
    if not told:
        raise ValueError(
            "num_rows (None) must be given: nothing in this release tells how many rows the table has"
        )
    return max(0, round(float(np.mean(told))))

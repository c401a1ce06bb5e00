"""Marginal counts with confidence intervals, from the noisy answers.

docs/explanation/proofs/error_bars.md proves their coverage. The index of a count is a value, a bin or a
group.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.queries.count_queries import Axis
from sdv_plausible.queries.transcript import DEVIATION, NoisyAnswer
from sdv_plausible.release.intervals.confidence_limits import (
    binomial_limits,
    check_level,
    half_widths,
    proportion_limits,
    sum_half_width,
)
from sdv_plausible.release.intervals.measured_counts import (
    HALF_A_COUNT,
    MeasuredTable,
    estimate_row_count,
    measured_tables,
)
from sdv_plausible.table.columns.domain import Attribute, Domain

FIELDS = ("estimate", "lower", "upper", "proportion", "proportion_lower", "proportion_upper")
MAX_CELLS = 1_000_000
ROWS_SHARE = 0.02  # share of the error probability for the number of rows


def margins(
    answers: Sequence[NoisyAnswer],
    domain: Domain,
    columns: str | Sequence[str],
    level: float = 0.95,
    *,
    rows_per_unit: int = 1,
) -> pd.DataFrame:
    """Counts over some columns, or of all rows, with confidence intervals; post-processing of the answers."""
    check_level(level)
    names = [columns] if isinstance(columns, str) else list(columns)
    indices = _column_indices(names, domain)
    tables = measured_tables(answers)
    if not tables:
        raise ValueError(
            "there are no noisy counts of all rows, which intervals need: the model was learned exactly, "
            'from a part of the rows (split), or from other queries. model="bayesian_network" measures '
            "such counts"
        )
    if not indices:
        return _rows_frame(tables, len(domain), 1 - level)
    measured = measured_over(tables, indices)
    if measured:
        frame = _frame(
            _cell_intervals(measured, tables, len(domain), 1 - level), measured.axes, domain, "measured"
        )
    else:
        frame = _frechet_frame(tables, indices, domain, 1 - level)
    if rows_per_unit > 1:  # Theorem 2 needs independent rows, and rows of one person are not
        frame[["proportion_lower", "proportion_upper"]] = np.nan
    return frame


def simulated_counts(codes: np.ndarray, domain: Domain, names: Sequence[str]) -> pd.DataFrame:
    """Counts of simulated rows, given as codes, over some columns."""
    shape = tuple(domain[name].cardinality for name in names)
    cells = np.zeros(shape)
    np.add.at(cells, tuple(codes[:, j] for j in _column_indices(names, domain)), 1)
    labels = [[code_label(domain[name], code) for code in range(domain[name].cardinality)] for name in names]
    index = pd.MultiIndex.from_product(labels, names=list(names))
    return pd.DataFrame({"estimate": cells.ravel()}, index=index)


def _column_indices(names: Sequence[str], domain: Domain) -> tuple[int, ...]:
    unknown = [name for name in names if name not in domain]
    if unknown or len(set(names)) != len(names):
        known = list(domain.names)[:20]
        rule = f"must be different modelled columns, of {known}: ids, personal data and columns that rules"
        value = names if all(isinstance(name, str) for name in names) else list
        raise Refused("columns", value, f"{rule} make are not measured")
    return tuple(domain.names.index(name) for name in names)


def measured_over(tables: Sequence[MeasuredTable], indices: tuple[int, ...]) -> MeasuredTable | None:
    """Measured table over exactly these columns; repeated queries give the inverse-variance mean."""
    candidates = [_in_order(t, indices) for t in tables if sorted(t.columns) == sorted(indices)]
    if not candidates:
        # Published tables were not chosen by a learner, so the one with the least noise may be picked.
        larger = [_in_order(t, indices) for t in tables if t.is_published and {*indices} <= {*t.columns}]
        return min(larger, key=lambda t: t.median_deviation, default=None)
    # An exact count needs no mean.
    first = next((t for t in candidates if t.noise == "rounded"), candidates[0])
    candidates = [t for t in candidates if _same_axes(t.axes, first.axes)]
    if len(candidates) == 1 or first.noise == "rounded":
        return first
    # a mixture gets the distribution with the heaviest tails, at its variance
    noise = first.noise if len({t.noise for t in candidates}) == 1 else "discrete laplace"
    scales = [DEVIATION[t.noise] / DEVIATION[noise] * np.asarray(t.sigma) for t in candidates]
    weights = np.stack(np.broadcast_arrays(*scales)) ** -2.0
    cell_weights = weights.reshape(-1, *(1,) * first.counts.ndim) if weights.ndim == 1 else weights
    mean = (cell_weights * np.array([t.counts for t in candidates])).sum(0) / cell_weights.sum(0)
    sigma = 1 / np.sqrt(weights.sum(0)) + HALF_A_COUNT
    return replace(first, counts=np.rint(mean).astype(np.int64), sigma=sigma, noise=noise)


def _in_order(table: MeasuredTable, indices: tuple[int, ...]) -> MeasuredTable:
    return table.moved([table.columns.index(j) for j in indices])


def _same_axes(a: Sequence[Axis], b: Sequence[Axis]) -> bool:
    return all(np.array_equal(x.buckets, y.buckets) for x, y in zip(a, b, strict=True))


def row_count_bounds(
    tables: Sequence[MeasuredTable], num_columns: int, miss: float
) -> tuple[float, float, float]:
    """Estimate of the number of rows, and bounds that fail with probability at most ``miss``."""
    estimate, deviations = estimate_row_count(tables, num_columns)
    half = sum_half_width(deviations, miss)
    if any(t.noise == "discrete laplace" for t in tables):  # sums may have heavier tails
        deviation = math.sqrt(math.fsum(d * d for d in deviations))
        half = max(
            half, float(half_widths("discrete laplace", deviation / DEVIATION["discrete laplace"], miss))
        )
    return (max(estimate, 1.0), max(math.floor(estimate - half), 0), max(math.ceil(estimate + half), 1))


def _rows_frame(tables: Sequence[MeasuredTable], num_columns: int, miss: float) -> pd.DataFrame:
    estimate, lower, upper = row_count_bounds(tables, num_columns, miss)
    row = {"estimate": estimate, "lower": lower, "upper": upper}
    row |= dict.fromkeys(FIELDS[3:], 1.0)
    return pd.DataFrame([row | {"basis": "measured"}], index=pd.Index(["all rows"]))


def _cell_intervals(
    table: MeasuredTable, tables: Sequence[MeasuredTable], num_columns: int, miss: float
) -> dict[str, np.ndarray]:
    """Estimates and limits of all cells; counts are at least 0."""
    half = half_widths(table.noise, table.sigma, miss)
    rows, least, most = row_count_bounds(tables, num_columns, miss * ROWS_SHARE)
    left = miss * (1 - ROWS_SHARE)
    if table.noise == "discrete gaussian" and np.ndim(table.sigma) == 0:
        low, high = proportion_limits(table.counts, float(table.sigma), int(least), int(most), left)
    else:  # any noise: half of the error for the count, half for sampling from the population
        wide = half_widths(table.noise, table.sigma, left / 2)
        low, high = binomial_limits(table.counts - wide, table.counts + wide, least, most, left / 2)
    return {
        "estimate": table.counts.astype(float),
        "lower": np.maximum(table.counts - half, 0).astype(float),
        "upper": np.maximum(table.counts + half, 0).astype(float),
        "proportion": np.clip(table.counts / rows, 0, 1),
        "proportion_lower": low,
        "proportion_upper": high,
    }


def _frechet_frame(
    tables: Sequence[MeasuredTable], indices: tuple[int, ...], domain: Domain, miss: float
) -> pd.DataFrame:
    """Frechet bounds of cells that were not measured, from the intervals of single columns."""
    # Union bound: a cell's bounds hold if the intervals of all its columns and of the number of rows hold.
    singles = [measured_over(tables, (j,)) for j in indices]
    measured = [t for t in singles if t is not None]
    cardinalities, columns = domain.cardinalities, zip(indices, singles, strict=True)
    axes = [t.axes[0] if t else Axis.of_codes(j, cardinalities[j]) for j, t in columns]
    cells = math.prod(axis.size for axis in axes)
    if cells > MAX_CELLS:
        raise ValueError(
            f"columns must have at most {MAX_CELLS:,} cells together if they were not measured together; "
            f"these have {cells:,}: use fewer columns"
        )
    shape = tuple(axis.size for axis in axes)
    undefined = np.full(shape, np.nan)
    if len(measured) < len(indices):
        return _frame(dict.fromkeys(FIELDS, undefined), axes, domain, "not identified")
    share = miss / (len(measured) + 1)
    _, _, max_rows = row_count_bounds(tables, len(domain), share)
    parts = [_cell_intervals(t, tables, len(domain), share) for t in measured]
    counts = _frechet([(p["lower"], p["upper"]) for p in parts], float(max_rows))
    parts = [_cell_intervals(t, tables, len(domain), miss / len(measured)) for t in measured]
    shares = _frechet([(p["proportion_lower"], p["proportion_upper"]) for p in parts], 1.0)
    values = dict(zip(FIELDS, (undefined, *counts, undefined, *shares), strict=True))
    return _frame(values, axes, domain, "bounds")


def _frechet(sides: Sequence[tuple[np.ndarray, np.ndarray]], total: float) -> tuple[np.ndarray, np.ndarray]:
    """Bounds on the size of an intersection of sets, from bounds on the sizes of the sets."""
    lows, highs = (np.meshgrid(*side, indexing="ij") for side in zip(*sides, strict=True))
    lower = np.maximum(sum(lows) - (len(sides) - 1) * total, 0.0)
    return np.asarray(lower), np.minimum.reduce(highs)


def _frame(values: dict[str, np.ndarray], axes: Sequence[Axis], domain: Domain, basis: str) -> pd.DataFrame:
    attributes = [domain[domain.names[axis.column]] for axis in axes]
    labels = [axis_labels(a, axis) for a, axis in zip(attributes, axes, strict=True)]
    names = [a.name for a in attributes]
    index: pd.Index = (
        pd.MultiIndex.from_product(labels, names=names)
        if len(labels) > 1
        else pd.Index(pd.Series(labels[0], dtype=object), name=names[0])
    )
    frame = pd.DataFrame({name: values[name].ravel() for name in FIELDS}, index=index)
    frame["basis"] = basis
    return frame


MISSING = "missing"
SEPARATOR = " or "


def axis_labels(attribute: Attribute, axis: Axis) -> list[Any]:
    """Labels of the buckets of an axis: the value of a single code, or a text for a group."""
    # A group has a text such as "17 to 24" or "'A' or 'B'", as its count says nothing about a single value.
    codes = [np.flatnonzero(axis.buckets == bucket) for bucket in range(axis.size)]
    return [code_label(attribute, int(g[0])) if len(g) == 1 else _group(attribute, g) for g in codes]


def code_label(attribute: Attribute, code: int) -> Any:
    """Label of one code: its value, the ends of its bin, or "missing"."""
    bins = len(attribute.lower)
    if code == attribute.missing_code:
        return MISSING
    if code >= bins:
        return attribute.values[code - bins]
    low, high = (_number(attribute, end[code]) for end in (attribute.lower, attribute.upper))
    return low if low == high else f"{low} to {high}"


def _group(attribute: Attribute, codes: Sequence[int] | np.ndarray) -> str:
    """Text for several codes; consecutive ordered codes form a range."""
    parts: list[str] = []
    ordered = [int(c) for c in codes if c < attribute.num_ordered]
    for run in np.split(np.array(ordered, dtype=int), np.flatnonzero(np.diff(ordered) > 1) + 1):
        if len(run):
            parts.append(_range(attribute, int(run[0]), int(run[-1])))
    parts += [str(code_label(attribute, int(c))) for c in codes if c >= attribute.num_ordered]
    return SEPARATOR.join(parts)


def _range(attribute: Attribute, first: int, last: int) -> str:
    if not attribute.lower:
        ends: list[Any] = [attribute.values[first], attribute.values[last]]
    else:
        ends = [_number(attribute, attribute.lower[first]), _number(attribute, attribute.upper[last])]
    return str(ends[0]) if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _number(attribute: Attribute, number: float) -> Any:
    if attribute.kind == "datetime":
        return pd.Timestamp(int(number))
    return int(number) if attribute.kind == "integer" else float(number)

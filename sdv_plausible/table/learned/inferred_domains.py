"""Domains inferred from the rows. Not private."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.table.cells.cell_series import mask_invalid
from sdv_plausible.table.cells.dates import (
    NANOSECONDS,
    as_nanoseconds,
    date_style,
    is_date_column,
    sentinel_texts,
)
from sdv_plausible.table.columns.column_document import Kind
from sdv_plausible.table.columns.domain import MAX_BINS, Attribute

FEW_CELLS = 20  # fewer cells are too few to distinguish free text from a category
MOST_DISTINCT = 0.5  # largest share of distinct cells in a category of text


def infer_attribute(
    name: str,
    column: pd.Series[Any],
    sdtype: str,
    spec: Mapping[str, Any] | None = None,
    max_bins: int = MAX_BINS,
) -> Attribute:
    """Infer a domain from the rows. Not private: its provenance is ``"inferred"``."""
    # There may be up to twice ``max_bins`` bins if frequent values alternate with rare ones.
    # ``spec``: ``range_values`` (the order of an ordinal) and ``datetime_format`` of the metadata.
    spec, column = spec or {}, mask_invalid(column)
    nullable = bool(column.isna().any())
    if sdtype == "numerical":
        numbers = _as_numbers(name, column.dropna())
        decimals = None if numbers.dtype.kind == "i" else _decimals(numbers)
        kind: Kind = "integer" if numbers.dtype.kind == "i" else "float"
        lower, upper = _distinct_as_floats(*quantile_bins(numbers, max_bins))
        return Attribute(
            name=name, kind=kind, lower=lower, upper=upper, nullable=nullable or not lower,
            decimals=decimals, provenance="inferred",
        )  # fmt: skip
    if sdtype == "datetime":
        date_format = None if is_date_column(column) else spec.get("datetime_format")
        placeholder_dates = [text for text in sentinel_texts(date_format) if (column == text).any()]
        column = column[~column.isin(placeholder_dates)]
        nanoseconds = as_nanoseconds(column, spec.get("datetime_format"))
        present = nanoseconds[~np.isnat(nanoseconds.view("M8[ns]"))]
        unit = next((u for u in NANOSECONDS.values() if not (present % u).any()), 1)
        lower, upper = quantile_bins(present, max_bins)
        return Attribute(
            name=name,
            kind="datetime",
            lower=lower,
            upper=upper,
            nullable=nullable or not (lower or placeholder_dates),
            values=tuple(placeholder_dates),
            unit=unit,
            provenance="inferred",
            **date_style(column, date_format),
        )
    _check_texts(name, column)
    values = _ordered_values(column, spec.get("range_values") if sdtype == "ordinal" else None)
    kind = "ordinal" if sdtype == "ordinal" else "categorical"
    return Attribute(
        name=name, kind=kind, values=values, nullable=nullable or not values, provenance="inferred"
    )


def _check_texts(name: str, column: pd.Series[Any]) -> None:
    """Reject text with mostly distinct cells: the output would repeat them verbatim."""
    present = column.dropna()
    if len(present) < FEW_CELLS or not all(isinstance(value, str) for value in present.iloc[:FEW_CELLS]):
        return
    if present.nunique() > MOST_DISTINCT * len(present):
        raise ValueError(
            f"column {name!r} has a different text in most rows, and undeclared='infer' would release these "
            "texts word for word. Set its sdtype (id, name, address, ...; metadata.update_column), drop "
            "the column, use undeclared='private', or declare its range_values"
        )


def quantile_bins(numbers: np.ndarray, max_bins: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Bins of about equal mass; a value with the mass of a bin gets a bin of its own."""
    # Such values (zeros of a capital gain, -1 for "never") stay exact in the output.
    values, counts = np.unique(numbers, return_counts=True)
    if len(values) <= max_bins:
        return tuple(values.tolist()), tuple(values.tolist())
    share = counts.sum() / max_bins
    heavy = counts >= share
    # Light values share bins by their cumulative mass; every heavy value is a bin.
    light_bins = max(1, max_bins - int(heavy.sum()))
    light_mass = np.cumsum(np.where(heavy, 0, counts))
    light_bin = np.minimum((light_mass - 1) * light_bins // max(1, light_mass[-1]), light_bins - 1)
    heavy_steps = np.cumsum(heavy + np.concatenate([[False], heavy[:-1]]))
    new_bin = np.concatenate([[True], (np.diff(light_bin) != 0) | (np.diff(heavy_steps) != 0)])
    starts = np.flatnonzero(new_bin)
    ends = np.append(starts[1:], len(values)) - 1
    return tuple(values[starts].tolist()), tuple(values[ends].tolist())


def _distinct_as_floats(
    lower: tuple[float, ...], upper: tuple[float, ...]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Merge bins of integers beyond 2**53 that start at the same float, as the codec reads floats."""
    first = [i for i, low in enumerate(lower) if i == 0 or float(low) > float(lower[i - 1])]
    last = [i - 1 for i in (*first[1:], len(lower))] if first else []
    return tuple(lower[i] for i in first), tuple(upper[i] for i in last)


def _as_numbers(name: str, present: pd.Series[Any]) -> np.ndarray:
    """Values as int64 if all are integers that fit, else as float64."""
    if (
        pd.api.types.is_integer_dtype(present.dtype)
        and len(present)
        and int(present.max()) <= np.iinfo(np.int64).max
    ):
        return present.to_numpy(dtype=np.int64)
    try:
        numbers = pd.to_numeric(present).to_numpy(dtype=float)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"column {name!r} is numerical in the metadata but contains other values: make such cells "
            "missing, or set its sdtype to categorical"
        ) from error
    if not np.isfinite(numbers).all():
        raise ValueError(
            f"column {name!r} contains infinite numbers: replace them by a bound or a missing value"
        )
    if (numbers == np.rint(numbers)).all() and (np.abs(numbers) < 2**53).all():
        return numbers.astype(np.int64)
    return numbers


def _decimals(numbers: np.ndarray) -> int | None:
    """Fewest decimal places, up to 14, that represent every number exactly; else None."""
    for digits in range(15):
        if (np.round(numbers, digits) == numbers).all():
            return digits
    return None


def _ordered_values(column: pd.Series[Any], order: Sequence[Hashable] | None) -> tuple[Hashable, ...]:
    present = [v.item() if isinstance(v, np.generic) else v for v in column.dropna().unique()]
    if order is not None:
        rank = {v: i for i, v in enumerate(order)}
        return tuple(sorted(present, key=lambda v: rank.get(v, len(rank))))
    try:
        return tuple(sorted(present))
    except TypeError:  # values of several types
        return tuple(sorted(present, key=lambda v: (type(v).__name__, str(v))))

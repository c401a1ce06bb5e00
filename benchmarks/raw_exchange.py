"""A raw table as plain arrays for a peer, and a peer's arrays as a raw table again.

Peers are handed every column in the form that they take best: categories as text labels, numbers as numbers (a code in
words, such as ``N`` beside incomes, as missing), dates as dates, the bounds of the whole code book. Two things they get
that ours must pay for: the values of categories without a declaration, read off the training rows, and which columns
have missing cells. On the way back, numbers are rounded to the column's digits and missing becomes the code in words.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from benchmarks.raw_codebooks import CodeBook
from benchmarks.raw_rules import plain, plain_column
from sdv_plausible.evaluation.table_pair import to_numbers

Arrays = dict[str, np.ndarray]
LAST_SECOND = 9_000_000_000  # some years before 2262, where pandas' dates end


def to_peer(train: pd.DataFrame, book: CodeBook) -> tuple[Arrays, list[dict[str, Any]]]:
    """One array per modelled column, named c00, c01, ..., and what each is."""
    arrays, columns = {}, []
    for position, name in enumerate(book.modelled):
        spec = book.full[name]
        if spec["sdtype"] in ("categorical", "boolean"):
            values = _categories(train[name], spec)
            place = {plain(v): i for i, v in enumerate(values)}
            codes = np.array([place.get(v, -1) for v in plain_column(train[name])], dtype=np.int64)
            column: dict[str, Any] = {"kind": "category", "size": len(values)}
        else:
            kind = "datetime" if spec["sdtype"] == "datetime" else "numerical"
            codes, _ = to_numbers(train[name], kind, spec.get("datetime_format"))  # type: ignore[arg-type]
            present = codes[~np.isnan(codes)]
            whole = bool(np.all(present == np.floor(present)))
            column = {
                "kind": "date" if kind == "datetime" else "number",
                "bounds": _bounds(spec),
                "whole": whole,
            }
        arrays[f"c{position:02d}"] = codes
        columns.append(column)
    return arrays, columns


def from_peer(arrays: Arrays, train: pd.DataFrame, book: CodeBook) -> pd.DataFrame:
    """A peer's rows in the raw table's types."""
    out = {}
    for position, name in enumerate(book.modelled):
        spec, values = book.full[name], arrays[f"c{position:02d}"]
        if spec["sdtype"] in ("categorical", "boolean"):
            table = np.array([*_categories(train[name], spec), None], dtype=object)
            out[name] = pd.Series(table[values]).infer_objects()
        elif spec["sdtype"] == "datetime":
            beyond = ~(np.abs(values) < LAST_SECOND)  # no date of pandas: a peer's noise, and so missing
            stamps = pd.Series(pd.to_datetime(np.where(beyond, np.nan, values), unit="s"))
            text = not pd.api.types.is_datetime64_any_dtype(train[name].dtype)
            out[name] = (
                stamps.dt.strftime(spec["datetime_format"]).where(stamps.notna(), None) if text else stamps
            )
        else:
            out[name] = _numbers(values, train[name], spec)
    return pd.DataFrame(out)


def _categories(column: pd.Series, spec: dict[str, Any]) -> list[Any]:
    declared = spec.get("range_values")
    return list(declared) if declared else sorted(column.dropna().unique().tolist(), key=str)


def _bounds(spec: dict[str, Any]) -> list[float] | None:
    if spec.get("range_min") is None:
        return None
    ends = pd.Series([spec["range_min"], spec["range_max"]])
    kind = "datetime" if spec["sdtype"] == "datetime" else "numerical"
    return [float(v) for v in to_numbers(ends, kind, spec.get("datetime_format"))[0]]  # type: ignore[arg-type]


def _numbers(values: np.ndarray, real: pd.Series, spec: dict[str, Any]) -> pd.Series:
    digits = spec.get("decimal_places")
    if digits is None:
        read = to_numbers(real, "numerical")[0]
        digits = 0 if np.all(np.isnan(read) | (read == np.floor(read))) else None
    rounded = pd.Series(values if digits is None else np.round(values, digits))
    words = [v for v in spec.get("special_values", ()) if isinstance(v, str)]
    if words and real.dtype == object:
        return rounded.astype(object).where(rounded.notna(), words[0])
    return (
        rounded.astype(np.int64)
        if pd.api.types.is_integer_dtype(real.dtype) and rounded.notna().all()
        else rounded
    )

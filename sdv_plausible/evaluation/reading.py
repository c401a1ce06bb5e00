"""A column's cells as numbers, and the error where they are not."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

Kind = Literal["numerical", "datetime", "categorical"]
Floats = npt.NDArray[np.float64]
_LOOKED_AT = 10_000


def as_numbers(column: pd.Series[Any], kind: Kind, datetime_format: str | None = None) -> tuple[Floats, Any]:
    """Return a column as floats (NaN: missing or unreadable), and which present values could not be read."""
    # Datetimes become seconds since 1970 in UTC; a time without a zone is taken for UTC.
    missing = column.isna().to_numpy(dtype=bool)
    if kind == "datetime":
        text = None if pd.api.types.is_datetime64_any_dtype(column.dtype) else datetime_format
        stamps = pd.to_datetime(column, format=text, utc=True, errors="coerce").dt.as_unit("us")
        values = stamps.astype("int64").to_numpy(dtype=np.float64) / 1e6
        values[stamps.isna().to_numpy(dtype=bool)] = np.nan
    else:
        plain = column.astype(object) if isinstance(column.dtype, pd.CategoricalDtype) else column
        values = np.array(pd.to_numeric(plain, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan))
    return values, np.isnan(values) & ~missing


def check_readable(name: str, column: pd.Series[Any], kind: Kind, datetime_format: str | None = None) -> None:
    """Refuse a column of which most present values (of about 10,000) are unreadable: comparing it is void."""
    present = column[column.notna()]
    present = present.iloc[:: 1 + len(present) // _LOOKED_AT]
    _, unreadable = as_numbers(present, kind, datetime_format)
    if 2 * int(unreadable.sum()) <= len(present):
        return
    form = f" of the format {datetime_format!r}" if datetime_format else ""
    way_out = "give its datetime_format in the metadata" if kind == "datetime" else "turn it into numbers"
    raise ValueError(
        f"column {name!r}: {int(unreadable.sum()):,} of {len(present):,} real values, such as "
        f"{present[unreadable].iloc[0]!r}, "
        f"cannot be read as {kind}{form}: {way_out}, or make the column categorical"
    )

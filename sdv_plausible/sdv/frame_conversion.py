"""Convert frames of other libraries to pandas by their schema, and rows back to the library of the input."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import narwhals
import pandas as pd

from sdv_plausible.table.cells.canonical_forms import as_objects
from sdv_plausible.table.cells.cell_series import normalize_cells
from sdv_plausible.table.files.storage_types import has_invalid_utf8, mask_invalid_utf8

FrameKind = Literal["polars", "pyarrow"]
Rows: TypeAlias = pd.DataFrame | Any
"""Rows in the form of the table passed to a fit: pandas, polars or pyarrow, or a dict of one frame."""


def split_input(data: Any, parameter: str = "data") -> tuple[str | None, pd.DataFrame]:
    """Table name (None for a bare frame) and pandas frame of an input; TypeError for anything else."""
    frame = _as_pandas(data)
    if frame is not None:
        return None, frame
    if isinstance(data, dict) and len(data) == 1:
        name, table = next(iter(data.items()))
        frame = _as_pandas(table)
        if frame is not None:
            return name, frame
    kind = f"a dict of {len(data)} entries" if isinstance(data, dict) else type(data).__name__
    raise TypeError(
        f"{parameter} ({kind}) must be a DataFrame (pandas, polars or pyarrow), or a dict of one: {{name: "
        "DataFrame}. Read a file with sdv_plausible.read_csv or read_parquet, or pass its path to fit(). "
        "For a table larger than memory, also give scratch="
    )


def _as_pandas(data: Any) -> pd.DataFrame | None:
    if isinstance(data, pd.DataFrame):
        return normalize_cells(mask_invalid_utf8(data))
    frame = narwhals.from_native(data, pass_through=True)
    if isinstance(frame, narwhals.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, narwhals.DataFrame):
        return None
    return normalize_cells(_by_schema(frame))


def _by_schema(frame: narwhals.DataFrame[Any]) -> pd.DataFrame:
    """Convert a frame to the pandas types that follow from its schema."""
    # pandas would turn integers with a missing cell into doubles, which merge long numbers, and booleans into
    # objects. One row would then change how all others are read.
    if frame.implementation.is_pandas_like():
        return frame.to_pandas()
    names = frame.columns
    if frame.implementation.is_pyarrow():  # the index of a former pandas table is no column
        names = frame.to_native().schema.empty_table().to_pandas().columns.to_list()
    return pd.DataFrame({name: _column(frame.select(name), frame.schema[name]) for name in names})


def _column(frame: narwhals.DataFrame[Any], kind: Any) -> pd.Series[Any]:
    """The only column of a frame; a nested column keeps its Arrow type, by which it is rejected."""
    if kind.is_nested():
        return frame.to_arrow().to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True).iloc[:, 0]
    if _is_exact(kind):
        arrow = frame.to_arrow()
        return arrow.to_pandas(types_mapper=_masked, ignore_metadata=True, date_as_object=False).iloc[:, 0]
    arrow = frame.to_arrow().column(0) if kind in (narwhals.String, narwhals.Categorical) else None
    try:
        if arrow is None or not has_invalid_utf8(arrow):
            return frame.to_pandas().iloc[:, 0]
    except (ValueError, OverflowError):  # a cell without a Python object, such as hour 24
        pass
    cells = pd.Series(as_objects(frame.to_arrow().column(0)), dtype=object)
    return cells.astype("category") if kind == narwhals.Categorical else cells


def _is_exact(kind: Any) -> bool:
    """Whether the default conversion of an Arrow column to pandas would lose its type."""
    return bool(kind.is_integer()) or kind in (narwhals.Boolean, narwhals.Date)


def _masked(stored: Any) -> Any:
    """Nullable pandas type for an Arrow integer or boolean type; None for dates."""
    name = str(stored).replace("uint", "UInt").replace("int", "Int").replace("bool", "boolean")
    return None if name.startswith("date") else pd.api.types.pandas_dtype(name)


def frame_kind(data: Any) -> FrameKind | None:
    """Library of a frame, in a dict or not; None for pandas and all others."""
    table = next(iter(data.values())) if isinstance(data, dict) and data else data
    frame = narwhals.from_native(table, pass_through=True)
    if not isinstance(frame, (narwhals.DataFrame, narwhals.LazyFrame)):
        return None
    if frame.implementation.is_polars():
        return "polars"
    return "pyarrow" if frame.implementation.is_pyarrow() else None


def in_kind(frame: pd.DataFrame, kind: FrameKind | None) -> Any:
    """Convert rows to a frame of a library; None is pandas."""
    if kind is None:
        return frame
    rows = narwhals.from_native(frame.rename(columns=str), eager_only=True)
    return rows.to_polars() if kind == "polars" else rows.to_arrow()

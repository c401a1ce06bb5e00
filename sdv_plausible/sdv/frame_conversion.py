"""Frames of other libraries become pandas' by their schema, and rows go back in the kind that was given."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import narwhals
import pandas as pd

from sdv_plausible.table.cells.cell_series import plain_cells
from sdv_plausible.table.cells.distinct import as_objects
from sdv_plausible.table.files.storage_types import holds_no_text, with_texts

FrameKind = Literal["polars", "pyarrow"]
Rows: TypeAlias = pd.DataFrame | Any
"""Rows in the kind that a fit was given: pandas as a rule; or polars, or pyarrow, or a dict of a frame."""


def split_input(data: Any, parameter: str = "data") -> tuple[str | None, pd.DataFrame]:
    """Table name (None for a bare frame) and pandas frame of what a user passed.

    Raises
    ------
    TypeError
        If it is neither a frame that narwhals knows (pandas, polars, pyarrow, ...) nor a dict of one table
        name and such a frame.
    """
    frame = _as_pandas(data)
    if frame is not None:
        return None, frame
    if isinstance(data, dict) and len(data) == 1:
        name, given = next(iter(data.items()))
        frame = _as_pandas(given)
        if frame is not None:
            return name, frame
    kind = f"a dict of {len(data)} entries" if isinstance(data, dict) else type(data).__name__
    raise TypeError(
        f"{parameter} ({kind}) must be a DataFrame (pandas, polars or pyarrow), or a dict of one: "
        "{name: DataFrame}. A file is read by sdv_plausible.read_csv or read_parquet; to fit() its path can "
        "be given, or with scratch= any table that need not fit in memory"
    )


def _as_pandas(data: Any) -> pd.DataFrame | None:
    if isinstance(data, pd.DataFrame):
        return plain_cells(with_texts(data))
    frame = narwhals.from_native(data, pass_through=True)
    if isinstance(frame, narwhals.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, narwhals.DataFrame):
        return None
    return plain_cells(_by_schema(frame))


def _by_schema(frame: narwhals.DataFrame[Any]) -> pd.DataFrame:
    """The frame in pandas' types that follow from its schema.

    Of whole numbers with one missing cell pandas would make doubles, in which long numbers become one, and
    objects of truth values: one row would change how all others are read.
    """
    if frame.implementation.is_pandas_like():
        return frame.to_pandas()
    names = frame.columns
    if frame.implementation.is_pyarrow():  # of what was once pandas', the index is no column
        names = frame.to_native().schema.empty_table().to_pandas().columns.to_list()
    return pd.DataFrame({name: _column(frame.select(name), frame.schema[name]) for name in names})


def _column(frame: narwhals.DataFrame[Any], kind: Any) -> pd.Series[Any]:
    """The one column of a frame; nested cells stay what their type says, so that it can be refused."""
    if kind.is_nested():
        return frame.to_arrow().to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True).iloc[:, 0]
    if _is_exact(kind):
        arrow = frame.to_arrow()
        return arrow.to_pandas(types_mapper=_masked, ignore_metadata=True, date_as_object=False).iloc[:, 0]
    arrow = frame.to_arrow().column(0) if kind in (narwhals.String, narwhals.Categorical) else None
    try:
        if arrow is None or not holds_no_text(arrow):
            return frame.to_pandas().iloc[:, 0]
    except (ValueError, OverflowError):  # of a cell that Python has no object for, such as an hour 24
        pass
    cells = pd.Series(as_objects(frame.to_arrow().column(0)), dtype=object)
    return cells.astype("category") if kind == narwhals.Categorical else cells


def _is_exact(kind: Any) -> bool:
    """Whether pandas' own reading of an Arrow column would lose what its type says."""
    return bool(kind.is_integer()) or kind in (narwhals.Boolean, narwhals.Date)


def _masked(stored: Any) -> Any:
    """Type of pandas that holds missing values as they are, for one of Arrow's whole numbers."""
    name = str(stored).replace("uint", "UInt").replace("int", "Int").replace("bool", "boolean")
    return None if name.startswith("date") else pd.api.types.pandas_dtype(name)


def frame_kind(data: Any) -> FrameKind | None:
    """Kind of frame that a user passed, in a dict or not; None for pandas and for all others."""
    given = next(iter(data.values())) if isinstance(data, dict) and data else data
    frame = narwhals.from_native(given, pass_through=True)
    if not isinstance(frame, (narwhals.DataFrame, narwhals.LazyFrame)):
        return None
    if frame.implementation.is_polars():
        return "polars"
    return "pyarrow" if frame.implementation.is_pyarrow() else None


def in_kind(frame: pd.DataFrame, kind: FrameKind | None) -> Any:
    """The rows in the kind of frame that the table was given in."""
    if kind is None:
        return frame
    known = narwhals.from_native(frame.rename(columns=str), eager_only=True)
    return known.to_polars() if kind == "polars" else known.to_arrow()

"""Input of a fit: checks that read no row, and the parts of a :class:`Fit` that a synthesizer keeps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import narwhals
import pandas as pd

import sdv_plausible.rules as kinds
from sdv_plausible.fitting.column_specs import ColumnSpecs
from sdv_plausible.fitting.fit import Fit
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.sdv.metadata import modelled_sdtypes
from sdv_plausible.table.cells.canonical_forms import as_objects
from sdv_plausible.table.cells.cell_series import normalize_cells, numbers_without_texts
from sdv_plausible.table.columns.column_document import type_words_by_column
from sdv_plausible.table.declared.declarations import Declarations, uses_metadata_values
from sdv_plausible.table.files.storage_types import (
    PERSON_SDTYPE,
    check_storage,
    has_invalid_utf8,
    mask_invalid_utf8,
)

# Convert frames of other libraries to pandas by their schema, and rows back to the library of the input.


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


def check_stored(
    data: Any,
    specs: Mapping[str, Mapping[str, Any]],
    keys: Collection[str],
    person: str | None,
    *,
    sees_cells: bool = False,
) -> None:
    """Reject columns of a pandas frame whose dtype prevents reading their cells."""
    if not isinstance(data, pd.DataFrame):
        return
    frame, sdtypes = data.rename(columns=str), modelled_sdtypes(specs, keys)
    if person is not None:
        sdtypes = {**sdtypes, person: PERSON_SDTYPE}
    counts = Counter(frame.columns)  # duplicate names are rejected elsewhere
    unique = {name: sdtype for name, sdtype in sdtypes.items() if counts[name] == 1}
    check_storage(frame, unique, sees_cells=sees_cells)


def check_unchanged(original: Any, current: Collection[Any]) -> None:
    """Reject metadata that was changed after construction."""
    # SDV 1.38 may hold an object of its older metadata class, whose document has another form.
    if any(type(one) is type(original) and one.to_dict() != original.to_dict() for one in current):
        raise ValueError(
            "metadata was changed after this synthesizer was created. Create a new one: "
            "PlausibleDeniabilitySynthesizer(metadata, ...)"
        )


def check_types_declared(fit: Fit) -> None:
    """Reject the steps of SDV's processing while column types are still to be inferred."""
    if fit.column_specs.open:
        raise Refused.saying(
            "types",
            'types ("voted"): only fit() infers types, before SDV, its constraints or custom transformers '
            "see a row. Call fit(), replace constraints by rules=[...], or declare the types",
        )


def check_no_person(fit: Fit) -> None:
    """Reject processed rows where a budget pays for a guarantee per person."""
    if (person := fit.settings.neighbours.person) is not None:
        raise Refused.saying(
            "person",
            f"person ({person!r}): processed rows do not identify persons, and a fit without a privacy "
            "guarantee cannot draw from a budget: call fit()",
        )


def schema_only(fit: Fit, max_bins: int) -> Fit:
    """The fit without the details of the metadata, which may hold values of rows."""
    specs = fit.column_specs
    splits_dates = specs.split_dates and any(
        isinstance(r, kinds.DateAndTime) for r in fit.rules.deriving_rules
    )
    if not (specs.open or splits_dates):  # nothing reads them again
        specs = ColumnSpecs(columns={}, max_bins=max_bins, split_dates=False)
    if not uses_metadata_values(specs.domain):
        specs = replace(specs, columns=type_words_by_column(specs.columns))
    return replace(fit, column_specs=specs, specs={})


def with_unsplit_dates(fit: Fit) -> Fit:
    """The fit in which a datetime column stays one column."""
    specs = replace(fit.column_specs, split_dates=False)
    declared, rules, _ = specs.read()
    return replace(fit, column_specs=specs, declared=declared, rules=rules)


def without_special_texts(
    frame: pd.DataFrame, declared: Declarations, names: Collection[str]
) -> pd.DataFrame:
    """The table with declared texts of numerical columns as missing, so that SDV can validate numbers."""
    attributes = {name: declared.known(name) for name in names}
    texts = {
        name: attribute.texts
        for name, attribute in attributes.items()
        if attribute is not None and attribute.kind != "datetime" and attribute.texts
    }
    if not texts:
        return frame
    return frame.apply(lambda c: numbers_without_texts(c, texts[str(c.name)]) if str(c.name) in texts else c)

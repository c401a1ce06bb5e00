"""Input of an evaluation: a real and a synthetic table, checked, with cells converted to numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from sdmetrics.errors import IncomputableMetricError

from sdv_plausible.table.cells.number_texts import main_number_format, number_kind, read_numbers
from sdv_plausible.utils.text_output import unhashable_types

Kind = Literal["numerical", "datetime", "categorical"]
Floats = npt.NDArray[np.float64]
_READABILITY_SAMPLE = 10_000


def to_numbers(column: pd.Series[Any], kind: Kind, form: str | None = None) -> tuple[Floats, Any]:
    """Return a column as floats (NaN: missing or unreadable) and a mask of the unreadable values."""
    # ``form``: the datetime_format of dates, or the format of numbers stored as text. Datetimes become
    # seconds since 1970 in UTC; naive times are read as UTC.
    missing = column.isna().to_numpy(dtype=bool)
    if kind == "datetime":
        text = None if pd.api.types.is_datetime64_any_dtype(column.dtype) else form
        stamps = pd.to_datetime(column, format=text, utc=True, errors="coerce").dt.as_unit("us")
        values = stamps.astype("int64").to_numpy(dtype=np.float64) / 1e6
        values[stamps.isna().to_numpy(dtype=bool)] = np.nan
    else:
        plain = column.astype(object) if isinstance(column.dtype, pd.CategoricalDtype) else column
        if form is not None and not pd.api.types.is_numeric_dtype(plain.dtype):
            plain = pd.Series(read_numbers(plain, form), index=plain.index, dtype=object)
        values = np.array(pd.to_numeric(plain, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan))
    return values, np.isnan(values) & ~missing


def check_readable(name: str, column: pd.Series[Any], kind: Kind, form: str | None = None) -> None:
    """Raise ValueError if more than half of about 10,000 present values cannot be read."""
    present = column[column.notna()]
    present = present.iloc[:: 1 + len(present) // _READABILITY_SAMPLE]
    _, unreadable = to_numbers(present, kind, form)
    if 2 * int(unreadable.sum()) <= len(present):
        return
    format_note = f" of the format {form!r}" if form else ""
    remedy = "give its datetime_format in the metadata" if kind == "datetime" else "turn it into numbers"
    raise ValueError(
        f"column {name!r}: {int(unreadable.sum()):,} of {len(present):,} real values, such as "
        f"{present[unreadable].iloc[0]!r}, "
        f"cannot be read as {kind}{format_note}: {remedy}, or make the column categorical"
    )


_KINDS: dict[str, Kind] = {
    "numerical": "numerical",
    "datetime": "datetime",
    "categorical": "categorical",
    "boolean": "categorical",
    "ordinal": "categorical",
}


@dataclass(frozen=True, kw_only=True)
class TablePair:
    """The compared columns of a real and a synthetic table, with their kinds and formats."""

    # Keys, personal data (``pii``) and ids are left out: a synthesizer generates them from scratch, so their
    # distance is meaningless.
    real: pd.DataFrame
    synthetic: pd.DataFrame
    kinds: dict[str, Kind]
    formats: dict[str, str]  # declared datetime formats, and number formats detected in the real table


def select_frame(data: Any, table_name: str | None, argument: str) -> pd.DataFrame:
    """Return the frame in ``data``: a frame, or a dict ``{table name: frame}``."""
    if isinstance(data, pd.DataFrame):
        return data
    if not isinstance(data, Mapping) or not all(isinstance(frame, pd.DataFrame) for frame in data.values()):
        raise ValueError(
            f"{argument} ({type(data).__name__}) must be a DataFrame or a dict {{table name: DataFrame}}"
        )
    table: pd.DataFrame = _select_table(data, table_name, argument)
    return table


def _select_table(tables: Mapping[str, Any], table_name: str | None, argument: str) -> Any:
    """Select a table by name; the name is optional if there is only one table."""
    if table_name is None and len(tables) == 1:
        return next(iter(tables.values()))
    if table_name not in tables:
        raise ValueError(
            f"table_name ({table_name!r}) must name one of the tables of {argument}: {sorted(tables)}"
        )
    return tables[str(table_name)]


def as_metadata_dict(metadata: Any) -> dict[str, Any] | None:
    """Return ``metadata`` (a dict, an SDV ``Metadata`` object, or None) as a dict or None."""
    if metadata is None:
        return None
    if not isinstance(metadata, dict) and not hasattr(metadata, "to_dict"):
        raise TypeError(
            f"metadata ({type(metadata).__name__}) must be a dict, an SDV Metadata object, or None"
        )
    document: dict[str, Any] = metadata if isinstance(metadata, dict) else dict(metadata.to_dict())
    tables = document["tables"].values() if "tables" in document else [document]
    invalid = [name for table in tables for name in table.get("columns", {}) if not isinstance(name, str)]
    if invalid:
        raise ValueError(
            f"metadata names the columns {invalid}: names must be text, as in SDV; write {str(invalid[0])!r} "
            f"for the column {invalid[0]!r}"
        )
    return document


def table_metadata(metadata: Any, table_name: str | None) -> dict[str, Any] | None:
    """Return the metadata of one table (``columns``, ...), or None."""
    document = as_metadata_dict(metadata)
    if document is None or "tables" not in document:
        return document
    tables = document["tables"]
    return dict(_select_table(tables, table_name, "metadata"))


def _infer_sdtype(column: pd.Series[Any]) -> str:
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return "datetime"
    if pd.api.types.is_bool_dtype(column.dtype) or not pd.api.types.is_numeric_dtype(column.dtype):
        return "categorical"
    return "numerical"


def column_kinds(metadata: dict[str, Any] | None, frame: pd.DataFrame) -> dict[str, Kind]:
    """Return the compared columns and their kinds, in the order of the metadata."""
    # Without metadata, infer the kinds from the dtypes of ``frame``, the real table.
    if metadata is None:
        return {str(name): _KINDS[_infer_sdtype(frame[name])] for name in frame.columns}
    keys: set[str] = set()
    for key in [metadata.get("primary_key") or [], *metadata.get("alternate_keys", [])]:
        keys.update([key] if isinstance(key, str) else key)
    return {
        name: _KINDS[column["sdtype"]]
        for name, column in metadata.get("columns", {}).items()
        if column.get("sdtype") in _KINDS and not column.get("pii") and name not in keys
    }


def column_formats(
    metadata: dict[str, Any] | None, kinds: Mapping[str, Kind], frame: pd.DataFrame
) -> dict[str, str]:
    """Return the declared datetime formats and the detected number formats of the compared columns."""
    columns = {} if metadata is None else metadata.get("columns", {})
    dates = {
        name: columns[name]["datetime_format"]
        for name in kinds
        if columns.get(name, {}).get("datetime_format")
    }
    numbers = {
        name: form for name in kinds if kinds[name] == "numerical" and (form := _number_format(frame[name]))
    }
    return dates | numbers


def _number_format(column: pd.Series[Any]) -> str | None:
    if pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_datetime64_any_dtype(column.dtype):
        return None
    texts = pd.Series([value for value in column.dropna().unique() if isinstance(value, str)], dtype=object)
    kinds = Counter(kind for kind in map(number_kind, texts) if kind is not None)
    number_format, num_readable = main_number_format(kinds, len(texts))
    return number_format if num_readable > pd.to_numeric(texts, errors="coerce").notna().sum() else None


def prepare_pair(
    real_data: Any, synthetic_data: Any, metadata: Any = None, table_name: str | None = None
) -> TablePair:
    """Check a real and a synthetic table, with SDV or SDMetrics metadata, and select the comparable columns.

    Raises ValueError for absent, duplicated, unhashable or mostly unreadable columns, and
    ``IncomputableMetricError`` if there is nothing to compare.
    """
    real = with_text_column_names(select_frame(real_data, table_name, "real_data"), "real_data")
    synthetic = with_text_column_names(
        select_frame(synthetic_data, table_name, "synthetic_data"), "synthetic_data"
    )
    table_document = table_metadata(metadata, table_name)
    kinds = column_kinds(table_document, real)
    for argument, frame in (("real_data", real), ("synthetic_data", synthetic)):
        absent = [name for name in kinds if name not in frame.columns]
        if absent:
            raise ValueError(
                f"{argument} lacks the columns {absent}: metadata and both tables must name the same ones"
            )
        if frame.empty:
            raise IncomputableMetricError(
                f"{argument} has no rows or no columns: there is nothing to compare"
            )
    if not kinds:
        raise IncomputableMetricError(
            "no column can be compared: keys, pii columns and sdtypes other than numerical, datetime, "
            "categorical, boolean and ordinal are left out"
        )
    names = list(kinds)
    for name in kinds:
        _check_cells("real_data", name, real[name])
        _check_cells("synthetic_data", name, synthetic[name])
    formats = column_formats(table_document, kinds, synthetic) | column_formats(table_document, kinds, real)
    for name, kind in kinds.items():
        if kind != "categorical":
            check_readable(name, real[name], kind, formats.get(name))
    return TablePair(
        real=_parse_columns(real[names], kinds, formats),
        synthetic=_parse_columns(synthetic[names], kinds, formats),
        kinds=kinds,
        formats=formats,
    )


def with_parsed_datetimes(frame: pd.DataFrame, metadata: dict[str, Any]) -> pd.DataFrame:
    """Return a table with its text datetimes parsed by their declared formats."""
    kinds: dict[str, Kind] = {
        name: kind
        for name, kind in column_kinds(metadata, frame).items()
        if kind == "datetime" and name in frame and not unhashable_types(frame[name])
    }
    return _parse_columns(frame, kinds, column_formats(metadata, kinds, frame))


def _parse_columns(
    frame: pd.DataFrame, kinds: Mapping[str, Kind], formats: Mapping[str, str]
) -> pd.DataFrame:
    """Parse text datetimes and text numbers once, so that metrics need not repeat it."""
    # Leave a column with unreadable text unchanged: unreadable values form a category of their own.
    parsed = {}
    for name, kind in kinds.items():
        if kind == "categorical" or frame[name].dtype.kind in "iufM" or len(frame) == 0:
            continue
        values, unreadable = to_numbers(frame[name], kind, formats.get(name))
        if not unreadable.any():
            parsed[name] = _to_datetimes(values) if kind == "datetime" else values
    return frame.assign(**parsed) if parsed else frame


def _to_datetimes(seconds: Floats) -> pd.DatetimeIndex:
    missing = np.isnan(seconds)
    microseconds = np.where(missing, 0, np.round(1e6 * seconds)).astype(np.int64)
    return pd.DatetimeIndex(np.where(missing, np.datetime64("NaT", "us"), microseconds.view("M8[us]")))


def with_text_column_names(frame: pd.DataFrame, argument: str) -> pd.DataFrame:
    """Convert column names to text, as SDV does; raise ValueError on duplicates."""
    names = frame.columns.map(str)
    duplicates = sorted(set(names[names.duplicated()]))
    if duplicates:
        raise ValueError(
            f"{argument} has the columns {duplicates} more than once: give every column a name of its own"
        )
    return frame if all(isinstance(name, str) for name in frame.columns) else frame.set_axis(names, axis=1)


def _check_cells(argument: str, name: str, column: pd.Series[Any]) -> None:
    unhashable = unhashable_types(column)
    if unhashable:
        raise ValueError(
            f"column {name!r} of {argument} holds values of type {', '.join(unhashable)}, which cannot be "
            "compared: turn them into text, or leave the column out"
        )


def prepare_holdout(pair: TablePair, holdout: Any, table_name: str | None = None) -> pd.DataFrame | None:
    """Return the compared columns of held-out real rows, or None."""
    if holdout is None:
        return None
    frame = with_text_column_names(select_frame(holdout, table_name, "holdout"), "holdout")
    absent = [name for name in pair.kinds if name not in frame.columns]
    if absent or frame.empty:
        raise ValueError(
            f"holdout ({len(frame)} rows, lacking columns {absent}) must have rows and all real columns"
        )
    for name in pair.kinds:
        _check_cells("holdout", name, frame[name])
    return _parse_columns(frame[list(pair.kinds)], pair.kinds, pair.formats)


def metadata_by_table(metadata: Any, real_data: Any, synthetic_data: Any) -> dict[str, Any]:
    """Return the metadata as ``{"tables": ...}``; a single unnamed table is called "table"."""
    document = as_metadata_dict(metadata)
    if document is None:
        raise ValueError(
            "metadata (None) must be a dict or an SDV Metadata object: it says what the columns are"
        )
    if "tables" in document:
        return document
    named = next((d for d in (real_data, synthetic_data) if isinstance(d, Mapping) and len(d) == 1), None)
    return {"tables": {next(iter(named)) if named else "table": document}}


def frames_by_table(data: Any, names: list[str], argument: str) -> dict[str, pd.DataFrame]:
    """Return ``{table name: frame}`` with text column names."""
    if isinstance(data, pd.DataFrame):
        if len(names) != 1:
            raise ValueError(
                f"{argument} (one DataFrame) must be a dict {{table name: DataFrame}} of tables {names}"
            )
        return {names[0]: with_text_column_names(data, argument)}
    if isinstance(data, Mapping):
        absent = [name for name in names if not isinstance(data.get(name), pd.DataFrame)]
        if not absent:
            return {name: with_text_column_names(data[name], argument) for name in names}
        raise ValueError(
            f"{argument} ({sorted(map(str, data))}) must hold a DataFrame for each of the tables {names}"
        )
    raise ValueError(
        f"{argument} ({type(data).__name__}) must be a DataFrame or a dict {{table name: DataFrame}}"
    )

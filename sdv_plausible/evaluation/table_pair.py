"""The tables an evaluation compares, in the forms SDV's users have them, and their cells as numbers."""

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
from sdv_plausible.utils.error_messages import unhashable_types

Kind = Literal["numerical", "datetime", "categorical"]
Floats = npt.NDArray[np.float64]
_LOOKED_AT = 10_000
DEFAULT_NUM_BINS = 20  # quantile bins of a numerical column
DEFAULT_MAX_ROWS = 10_000  # rows a classifier is trained on, and rows it is tested on, at most
DISTINGUISHERS = ("random_forest", "tree")  # the classifiers of [PD] table 5


def as_numbers(column: pd.Series[Any], kind: Kind, form: str | None = None) -> tuple[Floats, Any]:
    """Return a column as floats (NaN: missing or unreadable), and which present values could not be read."""
    # ``form``: datetime_format of dates, spelling of numbers that are text.
    # Datetimes become seconds since 1970 in UTC; a time without a zone is taken for UTC.
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
    """Refuse a column of which most present values (of about 10,000) are unreadable: comparing it is void."""
    present = column[column.notna()]
    present = present.iloc[:: 1 + len(present) // _LOOKED_AT]
    _, unreadable = as_numbers(present, kind, form)
    if 2 * int(unreadable.sum()) <= len(present):
        return
    written = f" of the format {form!r}" if form else ""
    way_out = "give its datetime_format in the metadata" if kind == "datetime" else "turn it into numbers"
    raise ValueError(
        f"column {name!r}: {int(unreadable.sum()):,} of {len(present):,} real values, such as "
        f"{present[unreadable].iloc[0]!r}, "
        f"cannot be read as {kind}{written}: {way_out}, or make the column categorical"
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
    """A real and a synthetic table, with the compared columns only, and how to read them."""

    # Keys, personal data (``pii``) and other ids are left out: a synthesizer makes them up anew, so their
    # distance means nothing.
    real: pd.DataFrame
    synthetic: pd.DataFrame
    kinds: dict[str, Kind]
    formats: dict[str, str]  # of dates as text, declared; of numbers as text, the real table's


def one_table(data: Any, table_name: str | None, argument: str) -> pd.DataFrame:
    """Return the frame in ``data``, which is a frame or a dict ``{table name: frame}``."""
    if isinstance(data, pd.DataFrame):
        return data
    if not isinstance(data, Mapping) or not all(isinstance(frame, pd.DataFrame) for frame in data.values()):
        raise ValueError(
            f"{argument} ({type(data).__name__}) must be a DataFrame or a dict {{table name: DataFrame}}"
        )
    found: pd.DataFrame = _named(data, table_name, argument)
    return found


def _named(tables: Mapping[str, Any], table_name: str | None, argument: str) -> Any:
    """One of several tables; the only one needs no name."""
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
    described: dict[str, Any] = metadata if isinstance(metadata, dict) else dict(metadata.to_dict())
    tables = described["tables"].values() if "tables" in described else [described]
    odd = [name for table in tables for name in table.get("columns", {}) if not isinstance(name, str)]
    if odd:
        raise ValueError(
            f"metadata names the columns {odd}: names must be text, as in SDV; write {str(odd[0])!r} for "
            f"the column {odd[0]!r}"
        )
    return described


def table_metadata(metadata: Any, table_name: str | None) -> dict[str, Any] | None:
    """Return the part of ``metadata`` that describes one table (``columns``, ...), or None."""
    described = as_metadata_dict(metadata)
    if described is None or "tables" not in described:
        return described
    tables = described["tables"]
    return dict(_named(tables, table_name, "metadata"))


def _infer_sdtype(column: pd.Series[Any]) -> str:
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return "datetime"
    if pd.api.types.is_bool_dtype(column.dtype) or not pd.api.types.is_numeric_dtype(column.dtype):
        return "categorical"
    return "numerical"


def column_kinds(metadata: dict[str, Any] | None, frame: pd.DataFrame) -> dict[str, Kind]:
    """Return the columns that evaluation compares, and their kinds, in the order of the metadata."""
    # Without metadata the kinds are read off the dtypes of ``frame``, the real table.
    if metadata is None:
        return {str(name): _KINDS[_infer_sdtype(frame[name])] for name in frame.columns}
    keys: set[str] = set()
    for key in [metadata.get("primary_key") or [], *metadata.get("alternate_keys", [])]:
        keys.update([key] if isinstance(key, str) else key)
    return {
        name: _KINDS[described["sdtype"]]
        for name, described in metadata.get("columns", {}).items()
        if described.get("sdtype") in _KINDS and not described.get("pii") and name not in keys
    }


def formats_of(
    metadata: dict[str, Any] | None, kinds: Mapping[str, Kind], frame: pd.DataFrame
) -> dict[str, str]:
    """Return the ``datetime_format`` of compared columns that declare one, and how text writes numbers."""
    columns = {} if metadata is None else metadata.get("columns", {})
    dates = {
        name: columns[name]["datetime_format"]
        for name in kinds
        if columns.get(name, {}).get("datetime_format")
    }
    numbers = {name: form for name in kinds if kinds[name] == "numerical" and (form := _spelled(frame[name]))}
    return dates | numbers


def _spelled(column: pd.Series[Any]) -> str | None:
    if pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_datetime64_any_dtype(column.dtype):
        return None
    texts = pd.Series([value for value in column.dropna().unique() if isinstance(value, str)], dtype=object)
    kinds = Counter(kind for kind in map(number_kind, texts) if kind is not None)
    form, read = main_number_format(kinds, len(texts))
    return form if read > pd.to_numeric(texts, errors="coerce").notna().sum() else None


def prepare(
    real_data: Any, synthetic_data: Any, metadata: Any = None, table_name: str | None = None
) -> TablePair:
    """Check a real and a synthetic table, with metadata of SDV or SDMetrics, and keep what can be compared.

    Refuses columns that are absent, named twice, hold lists or are mostly unreadable; nothing to compare is
    an ``IncomputableMetricError``.
    """
    real = with_text_names(one_table(real_data, table_name, "real_data"), "real_data")
    synthetic = with_text_names(one_table(synthetic_data, table_name, "synthetic_data"), "synthetic_data")
    described = table_metadata(metadata, table_name)
    kinds = column_kinds(described, real)
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
    formats = formats_of(described, kinds, synthetic) | formats_of(described, kinds, real)
    for name, kind in kinds.items():
        if kind != "categorical":
            check_readable(name, real[name], kind, formats.get(name))
    return TablePair(
        real=_read_once(real[names], kinds, formats),
        synthetic=_read_once(synthetic[names], kinds, formats),
        kinds=kinds,
        formats=formats,
    )


def with_moments(frame: pd.DataFrame, metadata: dict[str, Any]) -> pd.DataFrame:
    """Return one of the two tables with its texts of moments read, by their declared format alone."""
    kinds: dict[str, Kind] = {
        name: kind
        for name, kind in column_kinds(metadata, frame).items()
        if kind == "datetime" and name in frame and not unhashable_types(frame[name])
    }
    return _read_once(frame, kinds, formats_of(metadata, kinds, frame))


def _read_once(frame: pd.DataFrame, kinds: Mapping[str, Kind], formats: Mapping[str, str]) -> pd.DataFrame:
    """Return the frame with texts of moments and of numbers as what they say: each metric would read them."""
    # A column with a text that cannot be read stays as it is: what a cell is none of is a value of its own.
    read = {}
    for name, kind in kinds.items():
        if kind == "categorical" or frame[name].dtype.kind in "iufM" or len(frame) == 0:
            continue
        values, unreadable = as_numbers(frame[name], kind, formats.get(name))
        if not unreadable.any():
            read[name] = _moments(values) if kind == "datetime" else values
    return frame.assign(**read) if read else frame


def _moments(seconds: Floats) -> pd.DatetimeIndex:
    missing = np.isnan(seconds)
    microseconds = np.where(missing, 0, np.round(1e6 * seconds)).astype(np.int64)
    return pd.DatetimeIndex(np.where(missing, np.datetime64("NaT", "us"), microseconds.view("M8[us]")))


def with_text_names(frame: pd.DataFrame, argument: str) -> pd.DataFrame:
    """Give columns named by numbers the text names that SDV gives them."""
    names = frame.columns.map(str)
    twice = sorted(set(names[names.duplicated()]))
    if twice:
        raise ValueError(
            f"{argument} has the columns {twice} more than once: give every column a name of its own"
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
    """Return the compared columns of held-out real rows (a frame, a dict of frames, or None)."""
    if holdout is None:
        return None
    frame = with_text_names(one_table(holdout, table_name, "holdout"), "holdout")
    absent = [name for name in pair.kinds if name not in frame.columns]
    if absent or frame.empty:
        raise ValueError(
            f"holdout ({len(frame)} rows, lacking columns {absent}) must have rows and all real columns"
        )
    for name in pair.kinds:
        _check_cells("holdout", name, frame[name])
    return _read_once(frame[list(pair.kinds)], pair.kinds, pair.formats)


def described_tables(metadata: Any, real_data: Any, synthetic_data: Any) -> dict[str, Any]:
    """Return the metadata as ``{"tables": ...}``; of one table without a name it is "table"."""
    described = as_metadata_dict(metadata)
    if described is None:
        raise ValueError(
            "metadata (None) must be a dict or an SDV Metadata object: it says what the columns are"
        )
    if "tables" in described:
        return described
    named = next((d for d in (real_data, synthetic_data) if isinstance(d, Mapping) and len(d) == 1), None)
    return {"tables": {next(iter(named)) if named else "table": described}}


def by_table(data: Any, names: list[str], argument: str) -> dict[str, pd.DataFrame]:
    """Return ``{name: frame}`` of what was given."""
    if isinstance(data, pd.DataFrame):
        if len(names) != 1:
            raise ValueError(
                f"{argument} (one DataFrame) must be a dict {{table name: DataFrame}} of tables {names}"
            )
        return {names[0]: with_text_names(data, argument)}
    if isinstance(data, Mapping):
        absent = [name for name in names if not isinstance(data.get(name), pd.DataFrame)]
        if not absent:
            return {name: with_text_names(data[name], argument) for name in names}
        raise ValueError(
            f"{argument} ({sorted(map(str, data))}) must hold a DataFrame for each of the tables {names}"
        )
    raise ValueError(
        f"{argument} ({type(data).__name__}) must be a DataFrame or a dict {{table name: DataFrame}}"
    )

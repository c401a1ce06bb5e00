"""Parquet files: the column types are public schema.

Columns of another type than declared are parsed by the rules for text.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sdv_plausible.privacy.parameter_checks import require_columns
from sdv_plausible.table.cells.canonical_forms import as_objects, canonical
from sdv_plausible.table.cells.dates import arrow_to_numpy, mask_out_of_range
from sdv_plausible.table.columns.cell_reader import (
    FALSE_VALUES,
    TRUE_VALUES,
    CellReader,
    ColumnType,
    Spelling,
)
from sdv_plausible.table.columns.output_types import record_storage
from sdv_plausible.table.files.csv_files import PathLike, declared_cells
from sdv_plausible.table.files.storage_types import storage_error

if TYPE_CHECKING:
    import pyarrow as pa

_FLOAT_DIGITS = 8  # maximum digits after the point of a shortened 32-bit float


def read_parquet(
    path: PathLike,
    domain: Any = None,
    metadata: Any = None,
    *,
    decimal: str = ".",
    thousands: str | None = None,
    na_values: Sequence[str] = ("",),
    true_values: Sequence[str] = TRUE_VALUES,
    false_values: Sequence[str] = FALSE_VALUES,
) -> pd.DataFrame:
    """Read a Parquet file cell by cell, as declared.

    Parameters
    ----------
    path, domain, metadata, decimal, thousands, na_values, true_values, false_values
        As for :func:`~sdv_plausible.read_csv`. The options for cells apply to text columns.

    Returns
    -------
    DataFrame
        The declared columns in the file's order, shape (rows, declared columns). Numbers are doubles. Stored
        dates keep the file's unit and time zone. All else is objects.

    Raises
    ------
    ValueError
        If a declaration or option is invalid, the file is not Parquet, lacks a declared column or repeats a
        name, or a column's stored type does not match its declaration.
    """
    types, spelling = declared_cells(
        domain, metadata, decimal=decimal, thousands=thousands, na_values=na_values,
        true_values=true_values, false_values=false_values,
    )  # fmt: skip
    header = parquet_columns(path)
    require_columns(f"{path}: the file", types, header)
    names = [name for name in header if name in types]
    try:
        table = _parquet().read_table(path, columns=names)
    except (ValueError, OSError) as error:
        raise ValueError(f"{path} cannot be read as Parquet: the file is damaged, or not Parquet") from error
    return record_storage(parse_arrow_table(shorten_floats(table), types, spelling), table.schema)


def shorten_floats(table: pa.Table) -> pa.Table:
    """Replace 32-bit floats by the doubles of fewest digits that equal them."""
    from pyarrow import array, float32

    for place, field in enumerate(table.schema):
        if field.type == float32():
            doubles = _shortest_doubles(table.column(place).to_numpy())
            table = table.set_column(place, field.name, array(doubles, from_pandas=True))
    return table


def _shortest_doubles(numbers: np.ndarray) -> np.ndarray:
    doubles = numbers.astype(float)
    unresolved = np.isfinite(doubles)
    for digits in range(_FLOAT_DIGITS):
        with np.errstate(over="ignore", invalid="ignore"):
            short = np.round(doubles, digits)
            same = unresolved & (short.astype(np.float32) == numbers)
        doubles[same], unresolved[same] = short[same], False
    return doubles


def parse_arrow_table(
    table: pa.Table, types: Mapping[str, ColumnType], spelling: Spelling, *, categories: bool = False
) -> pd.DataFrame:
    """Parse the cells of an Arrow table, each by its column's declaration alone."""
    # ``categories``: text as pandas categories, which the codec encodes faster than objects, and numbers in
    # read-only Arrow memory.
    names = table.column_names
    columns = {
        name: _parse_column(table.column(name), types[name], spelling, categories=categories)
        for name in names
    }
    return pd.DataFrame(columns, copy=False)


def parquet_columns(path: PathLike) -> list[str]:
    """Column names of a Parquet file; errors as for :func:`read_parquet`."""
    return list(parquet_schema(path).names)


def parquet_schema(path: PathLike) -> pa.Schema:
    """Schema of a Parquet file without pandas' index columns; errors as for :func:`read_parquet`."""
    try:
        schema = _parquet().read_schema(path)
    except FileNotFoundError:
        raise
    except (ValueError, OSError) as error:
        raise ValueError(f"{path} cannot be read as Parquet: the file is damaged, or not Parquet") from error
    names = schema.names
    if len(set(names)) < len(names):
        raise ValueError(f"{path}: two columns have the same name: rename one")
    if not all(name.strip() for name in names):
        raise ValueError(
            f"{path}: column {[bool(n.strip()) for n in names].index(False) + 1} has no name: give it one"
        )
    for name in names:
        if name.startswith("__index_level_") and name.endswith("__"):
            schema = schema.remove(schema.get_field_index(name))
    return schema


def _parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ValueError(
            "reading Parquet needs pyarrow: pip install 'sdv-plausible[parquet]', or give a CSV file"
        ) from error
    return pyarrow.parquet


def _parse_column(
    cells: pa.ChunkedArray, column: ColumnType, spelling: Spelling, *, categories: bool
) -> pd.Series[Any]:
    from pyarrow import decimal128
    from pyarrow import types as is_

    kind = cells.type.value_type if is_.is_dictionary(cells.type) else cells.type
    if kind != cells.type and not (is_.is_string(kind) or is_.is_large_string(kind)):
        cells = cells.cast(kind)
    if is_.is_decimal(kind) and kind.bit_width < 128:  # Arrow cannot dictionary-encode these
        cells = cells.cast(decimal128(kind.precision, kind.scale))
    if not column.is_modelled and (is_.is_float32(kind) or is_.is_float16(kind)):
        cells = _mask_inexact(cells)
    number = is_.is_integer(kind) or is_.is_floating(kind) or is_.is_decimal(kind) or is_.is_boolean(kind)
    if column.sdtype == "numerical" and number:
        return _to_doubles(cells, is_read_only=categories)
    if column.sdtype == "datetime" and (is_.is_timestamp(kind) or is_.is_date(kind)):
        return mask_out_of_range(arrow_to_numpy(cells))
    text = is_.is_string(kind) or is_.is_large_string(kind) or is_.is_null(kind)
    single = text or number or is_.is_timestamp(kind) or is_.is_date(kind)
    if column.is_modelled and not (text or (single and column.sdtype not in ("numerical", "datetime"))):
        raise storage_error(column.name, kind, column.sdtype)
    # Arrow lacks empty dictionaries of some types, and pyarrow <= 25 dictionaries of half floats.
    if is_.is_null(kind) or is_.is_float16(kind) or not single or not len(cells):
        return _parse_as_text(as_objects(cells), column, spelling)
    return _parse_distinct(cells, column, spelling, categories=categories and text)


def _mask_inexact(cells: Any) -> Any:
    """Narrow floats as doubles; missing where a float stands for several whole numbers."""
    from pyarrow import compute, float32, float64, scalar

    most = 2.0**24 if cells.type == float32() else 2.0**11
    doubles = cells.cast(float64())
    return compute.if_else(compute.less(compute.abs(doubles), most), doubles, scalar(None, float64()))


def _parse_distinct(
    cells: Any, column: ColumnType, spelling: Spelling, *, categories: bool
) -> pd.Series[Any]:
    """Parse each distinct cell once."""
    from pyarrow import types as is_

    if is_.is_dictionary(cells.type) and cells.type.index_type.bit_width < 32:  # the index type may be full
        cells = cells.cast(cells.type.value_type)
    coded = cells.dictionary_encode().unify_dictionaries().combine_chunks()
    if hasattr(coded, "chunks"):
        coded = coded.chunk(0)
    distinct = _parse_as_text([*as_objects(coded.dictionary), None], column, spelling).to_numpy()
    indices = coded.indices.fill_null(len(coded.dictionary)) if coded.null_count else coded.indices
    where = indices.to_numpy(zero_copy_only=False)
    number_of, values = pd.factorize(distinct)  # missing is -1
    if categories and distinct.dtype == object and all(isinstance(value, str) for value in values):
        kind = pd.CategoricalDtype(pd.Index(values, dtype=object))
        small = number_of.astype(np.min_scalar_type(-len(values) - 1))
        is_same = not coded.null_count and len(values) == len(coded.dictionary)  # one code per value
        codes = where.astype(small.dtype) if is_same else small.take(where)
        return pd.Series(pd.Categorical.from_codes(codes, dtype=kind, validate=False))
    return pd.Series(distinct[where], dtype=distinct.dtype)


def _to_doubles(cells: pa.ChunkedArray, *, is_read_only: bool) -> pd.Series[Any]:
    import pyarrow as pa

    if pa.types.is_boolean(cells.type):
        cells = cells.cast(pa.int8())
    if pa.types.is_decimal(cells.type):  # Arrow rounds twice: 1.7 would be 1.7000000000000002
        cells = cells.cast(pa.string())
    values = cells.cast(pa.float64(), safe=False).to_numpy()
    finite = np.isfinite(values)
    return pd.Series(values if is_read_only and finite.all() else np.where(finite, values, np.nan))


def _parse_as_text(values: list[Any], column: ColumnType, spelling: Spelling) -> pd.Series[Any]:
    """Parse cells by the rules for text."""
    # Numbers and dates are converted to text first. Booleans and generated columns are kept.
    present = [i for i, value in enumerate(values) if value is not None and value == value]  # noqa: PLR0124  NaN is missing
    kept_types = (bool,) if bool in set(map(type, column.values)) else ()
    parsed_rows = [i for i in present if column.is_modelled and not isinstance(values[i], kept_types)]
    number = column.is_number
    parsed = np.full(len(values), np.nan if number else None, dtype=float if number else object)
    for i in [] if number else present:
        parsed[i] = str(values[i]) if isinstance(values[i], (list, dict, tuple)) else values[i]
    parsed[parsed_rows] = CellReader(column, spelling).read([_as_text(values[i]) for i in parsed_rows])
    return pd.Series(parsed, dtype=parsed.dtype)


def _as_text(value: Any) -> str:
    return value.isoformat() if isinstance(value, dt.date) else str(canonical(value))

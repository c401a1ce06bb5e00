"""Records of typed cells, from Excel files and databases, each cell parsed by itself as declared."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from typing import Any

import pandas as pd

from sdv_plausible.table.columns.cell_reader import (
    FALSE_VALUES,
    TRUE_VALUES,
    ColumnType,
    Spelling,
    reparse_columns,
)
from sdv_plausible.table.files.csv_files import check_names, declared_cells

MOMENT = "%Y-%m-%d %H:%M:%S.%f"  # of dates without a declared format


def read_sql(
    query: str,
    connection: Any,
    domain: Any = None,
    metadata: Any = None,
    *,
    decimal: str = ".",
    thousands: str | None = None,
    na_values: Sequence[str] = ("",),
    true_values: Sequence[str] = TRUE_VALUES,
    false_values: Sequence[str] = FALSE_VALUES,
) -> pd.DataFrame:
    """Read the result of a database query cell by cell, as declared: no row affects how another is read.

    Parameters
    ----------
    query : str
        A query that returns rows, such as ``"SELECT * FROM people"``.
    connection : object
        An open connection with ``cursor()`` (DB-API 2.0: sqlite3, DuckDB, psycopg and others), or an engine
        or connection of SQLAlchemy. It stays open.
    domain, metadata, decimal, thousands, na_values, true_values, false_values
        As for :func:`~sdv_plausible.read_csv`. The options for cells apply to text cells.

    Returns
    -------
    DataFrame
        The declared columns in the query's order, shape (rows, declared columns), as for
        :func:`~sdv_plausible.read_csv`. A date column without ``datetime_format`` has dtype datetime64, in
        UTC where the database has time zones.

    Raises
    ------
    TypeError
        If ``connection`` has no cursor.
    ValueError
        If a declaration or option is invalid, the query returns no columns, or lacks a declared column or
        repeats a name.

    Notes
    -----
    Each row of the result must come from rows of one unit alone. An aggregate or a window function over
    several people mixes their rows, and the guarantee does not cover that.
    """
    types, spelling = declared_cells(
        domain, metadata, decimal=decimal, thousands=thousands, na_values=na_values,
        true_values=true_values, false_values=false_values,
    )  # fmt: skip
    is_engine = hasattr(connection, "raw_connection")  # of SQLAlchemy, whose connections hold the driver's
    opened: Any = connection.raw_connection() if is_engine else connection
    opened = opened if hasattr(opened, "cursor") else getattr(opened, "connection", None)
    if not hasattr(opened, "cursor"):
        raise TypeError(
            f"connection ({type(connection).__name__}) must be an open connection, such as "
            "sqlite3.connect('people.db')"
        )
    with closing(opened) if is_engine else nullcontext(), closing(opened.cursor()) as cursor:
        cursor.execute(query)
        header = None if cursor.description is None else [str(column[0]) for column in cursor.description]
        names = check_names("query", header, types)
        return parse_records(names, cursor.fetchall(), types, spelling)[0]


def parse_records(
    header: Sequence[str],
    records: Iterable[Sequence[Any]],
    types: Mapping[str, ColumnType],
    spelling: Spelling,
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Parse the declared columns; also return how many present cells of each column could not be read."""
    names = [name for name in header if name in types]
    places = [header.index(name) for name in names]
    columns = list(zip(*([record[i] for i in places] for record in records), strict=True))
    cells = {
        name: pd.Series([_plain(cell, spelling) for cell in column], dtype=object)
        for name, column in zip(names, columns or [()] * len(names), strict=True)
    }
    moments = [n for n in names if types[n].sdtype == "datetime" and types[n].datetime_format is None]
    read = {name: types[name] for name in names}
    read |= {name: replace(types[name], datetime_format=MOMENT) for name in moments}
    parsed = reparse_columns(pd.DataFrame(cells), read, spelling)
    for name in moments:
        parsed[name] = pd.to_datetime(parsed[name], format=MOMENT, errors="coerce")
    empty = {name: column.map(lambda cell: _is_empty(cell, spelling)) for name, column in cells.items()}
    return parsed, {name: int((parsed[name].isna() & ~empty[name].astype(bool)).sum()) for name in names}


def _is_empty(cell: Any, spelling: Spelling) -> bool:
    return cell is None or (isinstance(cell, str) and spelling.is_missing(cell))


def _plain(cell: Any, spelling: Spelling) -> Any:
    """A cell as a text, number or date."""
    if isinstance(cell, bool):
        return next(iter(spelling.true_values if cell else spelling.false_values), str(cell))
    if isinstance(cell, dt.datetime) and cell.tzinfo is not None:
        return cell.astimezone(dt.timezone.utc).replace(tzinfo=None)
    return str(cell) if isinstance(cell, (dt.time, dt.timedelta)) else cell

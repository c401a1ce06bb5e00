"""Excel files (.xlsx): values of one sheet, read cell by cell and written without formulas."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import pandas as pd

from sdv_plausible.privacy.parameter_checks import Refused, one_of
from sdv_plausible.table.columns.cell_reader import FALSE_VALUES, TRUE_VALUES, ColumnType, Spelling
from sdv_plausible.table.files.csv_files import PathLike, check_names, check_no_record, declared_cells
from sdv_plausible.table.files.typed_records import parse_records

MOST_ROWS, MOST_COLUMNS, LONGEST_CELL = 1_048_575, 16_384, 32_767  # of a sheet, below the header
_MERGED = re.compile(rb"<(?:\w+:)?mergeCell[\s/>]")
_WRITTEN = re.compile(rb"\d{4}-\d\d-\d\dT[\d:]+Z")  # when a file was written
_FIRST_DAY = pd.Timestamp(1900, 3, 1)  # Excel has no dates before 1900, and a wrong day in February 1900
_CHUNK = 1 << 20


def read_excel(
    path: PathLike,
    domain: Any = None,
    metadata: Any = None,
    *,
    sheet: str | None = None,
    decimal: str = ".",
    thousands: str | None = None,
    na_values: Sequence[str] = ("",),
    true_values: Sequence[str] = TRUE_VALUES,
    false_values: Sequence[str] = FALSE_VALUES,
) -> pd.DataFrame:
    """Read a sheet of an Excel file (.xlsx) cell by cell, as declared. It needs openpyxl.

    Parameters
    ----------
    path : str or Path
        An Excel file. The first row of the sheet names the columns.
    domain, metadata, decimal, thousands, na_values, true_values, false_values
        As for :func:`~sdv_plausible.read_csv`. The options for cells apply to text cells.
    sheet : str or None
        Name of the sheet. None: the only one.

    Returns
    -------
    DataFrame
        The declared columns in the file's order, shape (rows, declared columns), as for
        :func:`~sdv_plausible.read_csv`. Dates are written in the column's ``datetime_format``; without one,
        the column has dtype datetime64. Error values such as #N/A are missing. Empty rows are skipped.

    Raises
    ------
    ValueError
        If a declaration or option is invalid, openpyxl is missing, the file is no Excel file, has several
        sheets and none is named, or the sheet has formulas or merged cells, lacks a declared column or
        repeats a name. The message gives the row, never a value.
    """
    types, spelling = declared_cells(
        domain, metadata, decimal=decimal, thousands=thousands, na_values=na_values,
        true_values=true_values, false_values=false_values,
    )  # fmt: skip
    return parse_excel(path, sheet, types, spelling)[0]


def excel_columns(path: PathLike, sheet: str | None, known: Collection[str] = ()) -> list[str]:
    """Column names in the first row of a sheet; errors as for :func:`read_excel`."""
    with closing(_records(path, sheet)) as records:
        header = check_names(path, next(records, None), (), known)
    if not set(known).intersection(header):
        check_no_record(path, header)
    return header


def parse_excel(
    path: PathLike, sheet: str | None, types: Mapping[str, ColumnType], spelling: Spelling
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Declared columns of a sheet, and how many cells of each do not match their declaration."""
    with closing(_records(path, sheet)) as records:
        header = check_names(path, next(records, None), types)
        return parse_records(header, records, types, spelling)


def openpyxl_or_error() -> Any:
    """The module openpyxl, or an error that explains how to install it."""
    try:
        import openpyxl
    except ImportError as error:
        raise ValueError(
            "Excel files need openpyxl: pip install 'sdv-plausible[excel]', or save the table as CSV (UTF-8)"
        ) from error
    return openpyxl


def _records(path: PathLike, sheet: str | None) -> Generator[list[Any]]:
    """Records of a sheet, the names first; all have the same number of cells."""
    with closing(_open(path)) as workbook:
        titles = [one.title for one in workbook.worksheets]
        if sheet is None and len(titles) != 1:
            raise Refused("sheet", None, f"must name one of the {len(titles)} sheets of {path}: {titles}")
        page = workbook[one_of("sheet", titles[0] if sheet is None else sheet, titles)]
        _check_unmerged(page, path)
        page.reset_dimensions()  # programs may write wrong ones
        header: list[Any] = []
        for number, cells in enumerate(_readable(page.iter_rows(), path), start=1):
            if any(cell.data_type == "f" for cell in cells):
                raise ValueError(
                    f"{path}: row {number} has a formula, whose value may depend on other rows: replace "
                    "formulas by their values (in Excel: copy, then paste values)"
                )
            record = [None if cell.data_type == "e" else cell.value for cell in cells]
            while record and record[-1] is None:
                record.pop()
            if len(record) > len(header) > 0:
                raise ValueError(f"{path}: row {number} has more cells than the first row has names")
            if record and header:
                yield record + [None] * (len(header) - len(record))
            elif record:
                header = ["" if name is None else str(name) for name in record]
                yield header


def _check_unmerged(page: Any, path: PathLike) -> None:
    """Raise ValueError if a sheet has merged cells, of which all but one would be missing."""
    tail = b""
    with page._get_source() as content:
        while chunk := content.read(_CHUNK):
            if _MERGED.search(tail + chunk):
                raise ValueError(f"{path}: the sheet has merged cells: unmerge them, and fill each one")
            tail = chunk[-32:]


def _open(path: PathLike) -> Any:
    openpyxl = openpyxl_or_error()
    try:
        return openpyxl.load_workbook(path, read_only=True)
    except FileNotFoundError:
        raise
    except Exception as error:  # of zip files, XML and others
        raise ValueError(
            f"{path} cannot be read as .xlsx (damaged, encrypted, or none): save the table as CSV"
        ) from error


def _readable(rows: Iterator[Any], path: PathLike) -> Iterator[Any]:
    """Rows, with errors that quote no cell."""
    for number in range(1, MOST_ROWS + 3):
        try:
            row = next(rows, None)
        except Exception:
            raise ValueError(f"{path}: row {number} cannot be read as a row of an Excel file") from None
        if row is None:
            return
        yield row


def check_excel_rows(num_rows: int) -> None:
    """Raise ValueError if a sheet cannot hold so many rows."""
    if num_rows > MOST_ROWS:
        rule = f"must be at most {MOST_ROWS:,} in an Excel file"
        raise Refused("rows", num_rows, rule, "write CSV or Parquet")


def write_excel(table: pd.DataFrame, path: Path) -> None:
    """Write rows to the only sheet of an Excel file. Texts stay texts, also those that begin with =."""
    check_excel_rows(len(table))
    if table.shape[1] > MOST_COLUMNS:
        raise ValueError(f"{table.shape[1]} columns are more than an Excel file has: write CSV or Parquet")
    columns = [_values([str(name), *table.iloc[:, i]], str(name)) for i, name in enumerate(table)]
    workbook, content = openpyxl_or_error().Workbook(write_only=True), BytesIO()
    page = workbook.create_sheet("Sheet1")
    for record in zip(*columns, strict=True):
        page.append([_cell(page, value) for value in record])
    workbook.save(content)
    with ZipFile(content) as dated, ZipFile(path, "w") as archive:
        for name in dated.namelist():  # without the time of writing
            part = dated.read(name)
            part = _WRITTEN.sub(b"1980-01-01T00:00:00Z", part) if name.startswith("docProps/") else part
            archive.writestr(ZipInfo(name), part, ZIP_DEFLATED)


def _values(column: Sequence[Any], name: str) -> list[Any]:
    """Cells as Excel stores them: missing ones are empty, and dates that it lacks are texts."""
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    cells = [
        None if missing else cell for cell, missing in zip(column, pd.isna(pd.Series(column)), strict=True)
    ]
    moments = [pd.Timestamp(cell) for cell in cells if isinstance(cell, dt.date)]
    if all(moment.tzinfo is None and moment == moment.normalize() for moment in moments):
        cells = [cell.date() if isinstance(cell, dt.datetime) else cell for cell in cells]
    if any(moment.tzinfo is not None or moment < _FIRST_DAY for moment in moments):
        cells = [str(cell) if isinstance(cell, dt.date) else cell for cell in cells]
    texts = {cell for cell in cells if isinstance(cell, str)}
    if any(len(text) > LONGEST_CELL or ILLEGAL_CHARACTERS_RE.search(text) for text in texts):
        raise ValueError(
            f"column {name!r} has texts that an Excel file cannot hold (control characters, or more than "
            f"{LONGEST_CELL:,} characters): write CSV or Parquet"
        )
    return cells


def _cell(page: Any, value: Any) -> Any:
    """A cell for the sheet; a text is never a formula."""
    from openpyxl.cell import WriteOnlyCell

    if not isinstance(value, str):
        return value
    cell = WriteOnlyCell(page, value)
    cell.data_type, cell.quotePrefix = "s", value[:1] in ("=", "+", "-", "@")
    return cell

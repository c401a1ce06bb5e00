"""CSV files, parsed cell by cell as declared. Reading is part of the release.

Properties that a program infers from a whole file (types, separators, missing-value texts) can depend on a
single row, and then change all other rows. Nothing is inferred here: docs/explanation/proofs/reading.md.
"""

from __future__ import annotations

import codecs
import csv
import itertools
import math
import os
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.privacy.parameter_checks import Refused, shown
from sdv_plausible.table.cells.dates import FORMATS
from sdv_plausible.table.columns.cell_reader import (
    CODE_KIND,
    FALSE_VALUES,
    PHONE_KIND,
    PLAIN_SPELLING,
    TRUE_VALUES,
    CellReader,
    ColumnType,
    Spelling,
    cell_kind,
)
from sdv_plausible.table.files.text_files import CSV_OPTIONS, DAMAGE_ERRORS, Files, csv_reader, open_text

SEPARATORS = (",", ";", "\t", "|")  # detectable in a header line
_NUMBERS = (Spelling(thousands=","), Spelling(decimal=",", thousands="."))  # in all spellings
PathLike = str | os.PathLike[str]


def detect_separator(path: PathLike, lines: Iterator[str], quote: str) -> tuple[list[str], str]:
    """Lines up to the header line, and its most frequent separator.

    Separators inside quotation marks are ignored. Raises ValueError if two are equally frequent, or if a
    quoted name does not end in the line, so that only the rows could decide.
    """
    lines_read: list[str] = []
    while not (lines_read and lines_read[-1].strip("\r\n")) and (line := next(lines, None)) is not None:
        lines_read.append(line)
    candidates, quote_ = [mark for mark in SEPARATORS if mark != quote], re.escape(quote)
    name = re.compile(f"(^|[{''.join(candidates)}]){quote_}(?:[^{quote_}]|{quote_}{quote_})*({quote_}|\\Z)")
    header = "".join(lines_read[-1:]).removeprefix("\ufeff")
    is_whole = all(ends for _, ends in name.findall(header))
    counts = dict(zip(candidates, map(name.sub(r"\1", header).count, candidates), strict=True))
    best = [mark for mark, count in counts.items() if count == max(counts.values())]
    if is_whole and (len(best) == 1 or not counts[best[0]]):
        return lines_read, best[0]
    why = f"{' and '.join(map(repr, best))} occur equally often" if is_whole else f"{quote} is left open"
    raise ValueError(
        f"{path}: the separator cannot be found in the header line, because {why}: give it (separator)"
    )


def check_names(
    path: PathLike, header: list[str] | None, declared: Collection[str], known: Collection[str] = ()
) -> list[str]:
    """Names in a header line, which must include the declared ones; ``known`` names are accepted, too."""
    if header is None:
        raise ValueError(f"{path} has no header line: it must begin with the names of the columns")
    header[0] = header[0].removeprefix("\ufeff")
    place = {name: i for i, name in reversed(list(enumerate(header, start=1)))}
    for i, name in enumerate(header, start=1):
        if not name.strip():
            raise ValueError(
                f"{path}: column {i} of the header line has no name: name it, or remove the column"
            )
        if place[name] != i:
            raise ValueError(
                f"{path}: columns {place[name]} and {i} of the header line have the same name: rename one"
            )
    if len(header) == 1 and header[0] not in {*declared, *known}:
        _check_single(path, header[0])
    if absent := [name for name in declared if name not in header]:  # the others may be a record's cells
        raise ValueError(f"{path}: the header line lacks the declared columns {absent}")
    return header


def _check_single(path: PathLike, name: str) -> None:
    """Raise ValueError for a single undeclared column: the file is probably not CSV."""
    if name.lstrip().startswith(("{", "[", "<", "%PDF")):
        raise ValueError(f"{path} is not a table of lines and cells: save it as CSV or Parquet")
    if held := [mark for mark in SEPARATORS if mark in name]:
        raise ValueError(
            f"{path}: the header line names one column, with {held[0]!r} in its name. If that character "
            "separates cells, give it (separator), and remove quotation marks around whole lines. If it "
            "belongs to the name, declare the column (domain)"
        )


def check_no_record(path: PathLike, header: Sequence[str]) -> None:
    """Raise ValueError for a number or a date in a header line, split by any separator."""
    for i, name in enumerate(header, start=1):
        if any(_is_value(part) for part in (name, *re.split("[;\t|]", name))):
            raise ValueError(
                f"{path}: column {i} of the header line is a number or a date. The first line must name the "
                "columns: add such a line. If columns really have these names, declare one of them (domain)"
            )


def _is_value(text: str) -> bool:
    is_number = any(not math.isnan(spelling.number(text)) for spelling in _NUMBERS)
    return is_number or cell_kind(text, Spelling()) in FORMATS


BLOCK = 2_000  # records held as text at a time
_NO_TEXT = ["\0"]


def read_csv(
    path: PathLike,
    domain: Any = None,
    metadata: Any = None,
    *,
    encoding: str = "utf-8",
    separator: str | None = None,
    quote: str = '"',
    decimal: str = ".",
    thousands: str | None = None,
    na_values: Sequence[str] = ("",),
    true_values: Sequence[str] = TRUE_VALUES,
    false_values: Sequence[str] = FALSE_VALUES,
) -> pd.DataFrame:
    """Read a CSV file cell by cell, as declared: no row affects how another row is read.

    Parameters
    ----------
    path : str or Path
        A CSV file with a header line; ``.gz``, ``.bz2`` and ``.xz`` are decompressed.
    domain : Domain, mapping, path, "written" or None
        Declarations, as for the synthesizer. ``{"sdtype": "id"}`` is enough to declare a column's type.
    metadata : sdv.metadata.Metadata, mapping, path or None
        Metadata of one table, or its columns. Every column needs an sdtype in ``domain`` or ``metadata``.
        Columns in neither are left out.
    encoding : str
        Character encoding; UTF-8 with or without a byte-order mark.
    separator : str or None
        Separator of cells, one character. None: the most frequent of comma, semicolon, tab and bar in the
        header line, outside quotation marks. The rows are not used. If two are equally frequent, give it.
    quote : str
        Quotation mark around cells that contain a separator or a line break, one character.
    decimal, thousands, na_values, true_values, false_values
        How cells are written, see :class:`~sdv_plausible.table.columns.cell_reader.Spelling`.

    Returns
    -------
    DataFrame
        The declared columns in the file's order, shape (records, declared columns). Numbers are doubles, all
        else objects. Unreadable cells are missing. An undeclared category stays text; the synthesizer treats
        it as its domain says.

    Raises
    ------
    ValueError
        If a declaration or option is invalid, the file is empty, or the header line lacks a declared column
        or repeats a name; or if a record has more or fewer cells than the header line. The message gives the
        line, never a value.

    Notes
    -----
    Empty lines are skipped. :func:`count_unreadable` counts the unreadable cells, for the data owner.
    """
    types, spelling = declared_cells(
        domain, metadata, decimal=decimal, thousands=thousands, na_values=na_values,
        true_values=true_values, false_values=false_values,
    )  # fmt: skip
    readers, blocks = _open_columns(path, types, spelling, encoding, separator, quote)
    columns: dict[str, list[np.ndarray]] = {name: [reader.read([])] for name, reader in readers.items()}
    for block in blocks:
        for (name, reader), texts in zip(readers.items(), block, strict=True):
            columns[name].append(reader.read(texts))
    values = {name: np.concatenate(parts) for name, parts in columns.items()}
    return pd.DataFrame({name: pd.Series(v, dtype=v.dtype) for name, v in values.items()})


def declared_cells(domain: Any, metadata: Any, **cells: Any) -> tuple[dict[str, ColumnType], Spelling]:
    """Types of the declared columns and how cells are written, from the options of a public reader."""
    from sdv_plausible.table.declared.column_types import column_types  # loaded only for declarations

    spelling = Spelling(**cells)
    types = column_types(domain, metadata)
    check_declared(types)
    return types, spelling


def csv_texts(
    path: PathLike,
    types: Mapping[str, ColumnType],
    rows: int,
    encoding: str = "utf-8",
    separator: str | None = None,
    quote: str = '"',
) -> Iterator[dict[str, list[Sequence[str]]]]:
    """Texts of the declared columns of a CSV file, in batches of about ``rows`` records."""
    readers, blocks = _open_columns(path, types, PLAIN_SPELLING, encoding, separator, quote)
    while batch := list(itertools.islice(blocks, max(rows // BLOCK, 1))):
        yield dict(zip(readers, map(list, zip(*batch, strict=True)), strict=True))


def parse_texts(
    texts: Mapping[str, Sequence[Sequence[str]]], types: Mapping[str, ColumnType], spelling: Spelling
) -> pd.DataFrame:
    """Parse columns of texts, in blocks, like :func:`read_csv`."""
    columns = {}
    for name, blocks in texts.items():
        reader = CellReader(types[name], spelling)
        values = np.concatenate([reader.read([]), *(reader.read(block) for block in blocks)])
        columns[name] = pd.Series(values, dtype=values.dtype)
    return pd.DataFrame(columns)


def check_csv(
    path: PathLike, encoding: str = "utf-8", separator: str | None = None, quote: str = '"'
) -> None:
    """Raise ValueError if :func:`csv_texts` cannot read a file; the cells' contents do not matter."""
    for _ in _checked_records(path, encoding, separator, quote):
        pass


def csv_separator(path: PathLike, encoding: str = "utf-8", quote: str = '"') -> str:
    """Return the separator in the header line of a CSV file."""
    with open_text(path, _encoding(encoding)) as file:
        return detect_separator(path, file, quote)[1]


def count_unreadable(
    path: PathLike, domain: Any = None, metadata: Any = None, **options: Any
) -> dict[str, int]:
    """Count the cells of a CSV file that do not match their column's declaration.

    For the data owner only. The counts depend on the rows, and no domain file records this access:
    declarations that you change afterwards may reveal single people's values. ``sdv-plausible check`` counts
    the same cells and records the access.

    Parameters
    ----------
    path, domain, metadata, **options
        As for :func:`read_csv`.

    Returns
    -------
    dict
        Column name -> number of present cells that :func:`read_csv` reads as missing, for columns that have
        any.

    Raises
    ------
    ValueError
        As for :func:`read_csv`.
    """
    counts = Counter[str]()
    for reader, texts in _reader_blocks(path, domain, metadata, options):
        before = reader.unread
        reader.read(texts)
        counts[reader.column.name] += reader.unread - before
    return dict(+counts)


def count_codes(path: PathLike, types: Any, **options: Any) -> dict[str, int]:
    """Count the cells of numeric columns that are written as codes, such as 007: for the data owner only."""
    counts = Counter[str]()
    for reader, texts in _reader_blocks(path, types, None, options):
        if reader.column.sdtype == "numerical" and reader.column.number_format is None:
            cells, codes = Counter(texts), (CODE_KIND, PHONE_KIND)
            counts[reader.column.name] += sum(
                cells[text] for text in cells if cell_kind(text, reader.spelling) in codes
            )
    return dict(+counts)


def _reader_blocks(
    path: PathLike, domain: Any, metadata: Any, options: dict[str, Any]
) -> Iterator[tuple[CellReader, Sequence[str]]]:
    """Pairs of a declared column's reader and a block of its texts."""
    from sdv_plausible.table.declared.column_types import column_types  # loaded only for declarations

    marks = {key: options.pop(key, getattr(Files, key)) for key in CSV_OPTIONS}
    readers, blocks = _open_columns(path, column_types(domain, metadata), Spelling(**options), **marks)
    for block in blocks:
        yield from zip(readers.values(), block, strict=True)


def csv_columns(
    path: PathLike,
    *,
    encoding: str = "utf-8",
    separator: str | None = None,
    quote: str = '"',
    declared: Collection[str] = (),
    known: Collection[str] = (),
) -> list[str]:
    """Column names in the header line of a CSV file, which must include those declared.

    Options and errors as for :func:`read_csv`. Unless a ``known`` or declared name occurs, a number or a date
    in the line is an error: it may be a record. So is a single name that contains a separator.
    """
    lines = _checked_records(path, encoding, separator, quote)
    header = check_names(path, next(lines, None), declared, known)
    lines.close()
    if not {*known, *declared}.intersection(header):
        check_no_record(path, header)
    return header


def _open_columns(
    path: PathLike,
    types: Mapping[str, ColumnType],
    spelling: Spelling,
    encoding: str,
    separator: str | None,
    quote: str,
) -> tuple[dict[str, CellReader], Iterator[list[Sequence[str]]]]:
    """Readers of the declared columns in file order, and blocks of texts with one sequence per reader."""
    check_declared(types)
    lines = _checked_records(path, encoding, separator, quote)
    header = check_names(path, next(lines, None), types)
    readers = {name: CellReader(types[name], spelling) for name in header if name in types}
    return readers, _blocks(lines, [header.index(name) for name in readers])


def check_declared(types: Collection[str]) -> None:
    """Raise ValueError if no column is declared."""
    if not types:
        raise Refused.saying(
            "domain",
            "domain and metadata declare no column: declare each column, as in {'age': {'sdtype': "
            "'numerical'}}",
        )


def _blocks(lines: Iterator[list[str]], indices: Sequence[int]) -> Iterator[list[Sequence[str]]]:
    while block := list(itertools.islice(lines, BLOCK)):
        columns = list(zip(*block, strict=True))
        yield [columns[j] for j in indices]


def _checked_records(path: PathLike, encoding: str, separator: str | None, quote: str) -> Any:
    """Records of a CSV file, the header line first; all have the same number of cells."""
    for name, mark in (("quote", quote), *([] if separator is None else [("separator", separator)])):
        if not isinstance(mark, str) or len(mark) != 1 or mark in "\r\n" or separator == quote:
            raise ValueError(
                f"{name} ({shown(mark)}) must be one character, different for separator and quote; try ',' "
                "and '\"'"
            )
    return _records(path, _encoding(encoding), separator, quote)


def _records(path: PathLike, encoding: str, separator: str | None, quote: str) -> Iterator[list[str]]:
    with open_text(path, encoding) as file:
        lines = file if sys.version_info >= (3, 11) else (line.replace("\0", "\ufffd") for line in file)
        reader: Any = None
        width = None
        while True:
            try:
                if reader is None:
                    first, separator = (
                        ([], separator) if separator is not None else detect_separator(path, lines, quote)
                    )
                    reader = csv_reader(itertools.chain(first, lines), separator, quote)
                record = next(reader, None)
            except csv.Error as error:
                raise ValueError(f"{path}: line {reader.line_num} is not CSV: {error}") from error
            except DAMAGE_ERRORS as error:
                raise ValueError(
                    f"{path}: after line {_line(reader)} it cannot be read ({type(error).__name__}): check "
                    "that the file is complete and has the right ending"
                ) from None
            except UnicodeError:  # it quotes bytes of the file: raise another error outside
                record = _NO_TEXT
            if record is _NO_TEXT:
                encoding_name = encoding.removesuffix("-sig")  # "-sig" was added here
                raise ValueError(
                    f"{path}: line {_line(reader) + 1}, or a later one, is not text in the encoding "
                    f"{encoding_name!r}; give the encoding of the file, such as 'cp1252'"
                )
            if record is None:
                return
            if not record:
                continue
            width = width or len(record)
            if len(record) != width:
                raise ValueError(
                    f"{path}: line {reader.line_num} has {len(record)} cells, but the header line has "
                    f"{width}. Correct the line, or give another separator. Cells that contain "
                    f"{separator!r} need {quote} around them"
                )
            yield record


def _line(reader: Any) -> int:
    """Number of lines read; 0 before the separator is known."""
    return 0 if reader is None else int(reader.line_num)


def _encoding(encoding: Any) -> str:
    try:
        codec = codecs.lookup(encoding)
        "".encode(codec.name)  # some codecs are not for text
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(
            f"encoding ({shown(encoding)}) is not one of Python's text encodings; try 'utf-8' or 'cp1252'"
        ) from error
    return "utf-8-sig" if codec.name == "utf-8" else codec.name

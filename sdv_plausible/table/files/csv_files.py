"""Reading files: every cell by itself, by what was declared of its column. Reading is part of the release.

What a program reads off a whole file (types, separators, which texts are missing) can hang on a single row,
and then moves every other row. So nothing is read off: docs/explanation/proofs/reading.md.
"""

from __future__ import annotations

import codecs
import csv
import itertools
import os
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.privacy.parameter_checks import Refused, shown
from sdv_plausible.table.columns.cell_reader import (
    CODE,
    FALSE_VALUES,
    PHONE,
    PLAIN,
    TRUE_VALUES,
    CellReader,
    ColumnType,
    Spelling,
    kind_of,
)
from sdv_plausible.table.files.csv_header import begin, check_names, check_no_record
from sdv_plausible.table.files.text_files import DAMAGED, MARKS, Files, csv_reader, open_text

BLOCK = 2_000  # records that are held as text at a time
_NO_TEXT = ["\0"]
PathLike = str | os.PathLike[str]


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
    """Read a CSV file cell by cell, as declared: no row has a say in how another one is read.

    Parameters
    ----------
    path : str or Path
        A CSV file with a header line; ``.gz``, ``.bz2`` and ``.xz`` are unpacked.
    domain : Domain, mapping, path, "written" or None
        Declarations, as for the synthesizer; ``{"sdtype": "id"}`` alone says what a column is.
    metadata : sdv.metadata.Metadata, mapping, path or None
        Metadata of one table, or its columns. A column needs an sdtype in one of the two; those that neither
        names are left out.
    encoding : str
        Character encoding; UTF-8 with or without a byte-order mark.
    separator : str or None
        What stands between cells, one character. None: the one of comma, semicolon, tab and bar that is most
        often in the header line, outside quotation marks; the rows have no say. If two are, give it.
    quote : str
        What stands around cells that hold a separator or a line break, one character.
    decimal, thousands, na_values, true_values, false_values
        How cells are written, see :class:`~sdv_plausible.table.columns.cell_reader.Spelling`.

    Returns
    -------
    DataFrame
        The declared columns in the file's order. Numbers are doubles, all else objects. What cannot be read
        is missing; a category that was not declared stays text, and the synthesizer treats it as its domain
        says.

    Raises
    ------
    ValueError
        If a declaration or option cannot be, or the file has no line, lacks a declared column in the first
        one, names two the same, or has a record with more or fewer cells than that: its line is named, no
        value is quoted.

    Notes
    -----
    Empty lines are skipped. :func:`count_unreadable` tells the data holder how many cells could not be read.
    """
    from sdv_plausible.table.declared.column_types import column_types  # not where cells alone are read

    spelling = Spelling(
        decimal=decimal,
        thousands=thousands,
        na_values=na_values,
        true_values=true_values,
        false_values=false_values,
    )
    readers, blocks = _read(path, column_types(domain, metadata), spelling, encoding, separator, quote)
    columns: dict[str, list[np.ndarray]] = {name: [reader.read([])] for name, reader in readers.items()}
    for block in blocks:
        for (name, reader), texts in zip(readers.items(), block, strict=True):
            columns[name].append(reader.read(texts))
    values = {name: np.concatenate(parts) for name, parts in columns.items()}
    return pd.DataFrame({name: pd.Series(v, dtype=v.dtype) for name, v in values.items()})


def csv_texts(
    path: PathLike,
    types: Mapping[str, ColumnType],
    rows: int,
    encoding: str = "utf-8",
    separator: str | None = None,
    quote: str = '"',
) -> Iterator[dict[str, list[Sequence[str]]]]:
    """Records of a CSV file about so many at a time: texts of the declared columns, in blocks."""
    readers, blocks = _read(path, types, PLAIN, encoding, separator, quote)
    while some := list(itertools.islice(blocks, max(rows // BLOCK, 1))):
        yield dict(zip(readers, map(list, zip(*some, strict=True)), strict=True))


def frame_of_texts(
    texts: Mapping[str, Sequence[Sequence[str]]], types: Mapping[str, ColumnType], spelling: Spelling
) -> pd.DataFrame:
    """Read texts of columns, in blocks, as :func:`read_csv` reads a file's."""
    columns = {}
    for name, blocks in texts.items():
        reader = CellReader(types[name], spelling)
        values = np.concatenate([reader.read([]), *(reader.read(block) for block in blocks)])
        columns[name] = pd.Series(values, dtype=values.dtype)
    return pd.DataFrame(columns)


def check_csv(
    path: PathLike, encoding: str = "utf-8", separator: str | None = None, quote: str = '"'
) -> None:
    """Raise ValueError if a file is not as :func:`csv_texts` needs it; what its cells hold has no say."""
    for _ in _lines(path, encoding, separator, quote):
        pass


def csv_separator(path: PathLike, encoding: str = "utf-8", quote: str = '"') -> str:
    """Return what stands between the names in the header line of a CSV file."""
    with open_text(path, _encoding(encoding)) as file:
        return begin(path, file, quote)[1]


def count_unreadable(
    path: PathLike, domain: Any = None, metadata: Any = None, **options: Any
) -> dict[str, int]:
    """Count the cells of a CSV file that are not what their column is declared to be.

    For the data holder only. It is a look, and no domain file keeps a record of it: what you change in the
    declarations afterwards may repeat single people's values. ``sdv-plausible check`` counts the same cells
    and writes the look down.

    Parameters
    ----------
    path, domain, metadata, **options
        As for :func:`read_csv`.

    Returns
    -------
    dict
        Number of present cells that :func:`read_csv` reads as missing, by column, of the columns that have
        any.
    """
    found = Counter[str]()
    for reader, texts in _cells(path, domain, metadata, options):
        before = reader.unread
        reader.read(texts)
        found[reader.column.name] += reader.unread - before
    return dict(+found)


def count_codes(path: PathLike, types: Any, **options: Any) -> dict[str, int]:
    """Count the cells of columns of numbers that are written as codes, such as 007: for the holder only."""
    found = Counter[str]()
    for reader, texts in _cells(path, types, None, options):
        if reader.column.sdtype == "numerical" and reader.column.number_format is None:
            cells, codes = Counter(texts), (CODE, PHONE)
            found[reader.column.name] += sum(
                cells[text] for text in cells if kind_of(text, reader.spelling) in codes
            )
    return dict(+found)


def _cells(
    path: PathLike, domain: Any, metadata: Any, options: dict[str, Any]
) -> Iterator[tuple[CellReader, Sequence[str]]]:
    """Readers of the declared columns, each with a block of its cells."""
    from sdv_plausible.table.declared.column_types import column_types  # not where cells alone are read

    marks = {key: options.pop(key, getattr(Files, key)) for key in MARKS}
    readers, blocks = _read(path, column_types(domain, metadata), Spelling(**options), **marks)
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
    """Column names in the header line of a CSV file, with those declared; else as for :func:`read_csv`.

    Unless one of them is ``known``, a number or a date in the line is refused: it may be a record. So is a
    lone name that holds a separator.
    """
    lines = _lines(path, encoding, separator, quote)
    header = check_names(path, next(lines, None), declared, known)
    lines.close()
    if not {*known, *declared}.intersection(header):
        check_no_record(path, header)
    return header


def _read(
    path: PathLike,
    types: Mapping[str, ColumnType],
    spelling: Spelling,
    encoding: str,
    separator: str | None,
    quote: str,
) -> tuple[dict[str, CellReader], Iterator[list[Sequence[str]]]]:
    """Readers of the declared columns in the file's order, and blocks of texts, one sequence per reader."""
    if not types:
        raise Refused.saying(
            "domain",
            "domain and metadata declare no column: say what each is, such as {'age': {'sdtype': "
            "'numerical'}}",
        )
    lines = _lines(path, encoding, separator, quote)
    header = check_names(path, next(lines, None), types)
    readers = {name: CellReader(types[name], spelling) for name in header if name in types}
    return readers, _blocks(lines, [header.index(name) for name in readers])


def _blocks(lines: Iterator[list[str]], wanted: Sequence[int]) -> Iterator[list[Sequence[str]]]:
    while block := list(itertools.islice(lines, BLOCK)):
        columns = list(zip(*block, strict=True))
        yield [columns[j] for j in wanted]


def _lines(path: PathLike, encoding: str, separator: str | None, quote: str) -> Any:
    """Records of a CSV file, the header line first; all have as many cells as it has."""
    for name, mark in (("quote", quote), *([] if separator is None else [("separator", separator)])):
        if not isinstance(mark, str) or len(mark) != 1 or mark in "\r\n" or separator == quote:
            raise ValueError(
                f"{name} ({shown(mark)}) must be one character, another one for separator and quote; "
                "try ',' and '\"'"
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
                    first, separator = ([], separator) if separator is not None else begin(path, lines, quote)
                    reader = csv_reader(itertools.chain(first, lines), separator, quote)
                record = next(reader, None)
            except csv.Error as error:
                raise ValueError(f"{path}: line {reader.line_num} is not CSV: {error}") from error
            except DAMAGED as error:
                raise ValueError(
                    f"{path}: after line {_at(reader)} it cannot be read ({type(error).__name__}): is it "
                    "whole, and of the kind that its ending says?"
                ) from None
            except UnicodeError:  # which holds the bytes: told of outside
                record = _NO_TEXT
            if record is _NO_TEXT:
                told = encoding.removesuffix("-sig")  # the mark is ours
                raise ValueError(
                    f"{path}: line {_at(reader) + 1}, or one after it, holds no text in the encoding "
                    f"{told!r}; name the file's own, such as 'cp1252'"
                )
            if record is None:
                return
            if not record:
                continue
            width = width or len(record)
            if len(record) != width:
                raise ValueError(
                    f"{path}: line {reader.line_num} has {len(record)} cells, the header line {width}: mend "
                    f"the line, or give another separator; cells that hold a {separator!r} need {quote} "
                    "around them"
                )
            yield record


def _at(reader: Any) -> int:
    """Lines that were read; none before the separator is known."""
    return 0 if reader is None else int(reader.line_num)


def _encoding(encoding: Any) -> str:
    try:
        known = codecs.lookup(encoding)
        "".encode(known.name)  # some codecs are not for text
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(
            f"encoding ({shown(encoding)}) is not one of Python's text encodings; try 'utf-8' or 'cp1252'"
        ) from error
    return "utf-8-sig" if known.name == "utf-8" else known.name

"""Header line of a CSV file, which is public: column names and separator.

Nothing is inferred from the rows. An ambiguous header line is an error.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Iterator, Sequence

from sdv_plausible.table.cells.date_texts import FORMATS
from sdv_plausible.table.columns.cell_reader import Spelling, cell_kind

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
    why = (
        f"{' and '.join(map(repr, best))} stand in it equally often" if is_whole else f"{quote} is left open"
    )
    raise ValueError(f"{path}: the header line does not tell the separator, as {why}: give it (separator)")


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
                f"{path}: column {i} of the header line has no name: give it one, or leave the column out"
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
        raise ValueError(f"{path} is no table of lines and cells: save the table as CSV or Parquet")
    if held := [mark for mark in SEPARATORS if mark in name]:
        raise ValueError(
            f"{path}: the header line names one column, with {held[0]!r} in its name: if that stands between "
            "cells, give it (separator), and have no quotation marks around whole lines; if the column is "
            "called so, declare it (domain)"
        )


def check_no_record(path: PathLike, header: Sequence[str]) -> None:
    """Raise ValueError for a number or a date in a header line, split by any separator."""
    for i, name in enumerate(header, start=1):
        if any(_is_value(part) for part in (name, *re.split("[;\t|]", name))):
            raise ValueError(
                f"{path}: column {i} of the header line is a number or a date, as in a record: the first "
                "line must name the columns: put such a line first; or, if columns are called so, declare "
                "one that the line names (domain)"
            )


def _is_value(text: str) -> bool:
    is_number = any(not math.isnan(spelling.number(text)) for spelling in _NUMBERS)
    return is_number or cell_kind(text, Spelling()) in FORMATS

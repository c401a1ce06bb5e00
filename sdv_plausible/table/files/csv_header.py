"""The header line of a CSV file, which is public: the names of the columns, and what stands between them.

Nothing is read off the rows: what the header line does not surely tell is refused.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Iterator, Sequence

from sdv_plausible.table.cells.date_texts import FORMATS
from sdv_plausible.table.columns.cell_reader import Spelling, kind_of

SEPARATORS = (",", ";", "\t", "|")  # that a header line can tell
_NUMBERS = (Spelling(thousands=","), Spelling(decimal=",", thousands="."))  # however a file writes them
PathLike = str | os.PathLike[str]


def begin(path: PathLike, lines: Iterator[str], quote: str) -> tuple[list[str], str]:
    """What a file has before its rows, and the separator that most often stands in its first line.

    Between quotation marks it is of a name. Where two stand as often, or a name does not end in the line, so
    that it could be told from the rows alone, ValueError is raised.
    """
    first: list[str] = []
    while not (first and first[-1].strip("\r\n")) and (line := next(lines, None)) is not None:
        first.append(line)
    known, mark = [one for one in SEPARATORS if one != quote], re.escape(quote)
    name = re.compile(f"(^|[{''.join(known)}]){mark}(?:[^{mark}]|{mark}{mark})*({mark}|\\Z)")
    header = "".join(first[-1:]).removeprefix("\ufeff")
    is_whole = all(ends for _, ends in name.findall(header))
    counts = dict(zip(known, map(name.sub(r"\1", header).count, known), strict=True))
    found = [one for one, count in counts.items() if count == max(counts.values())]
    if is_whole and (len(found) == 1 or not counts[found[0]]):
        return first, found[0]
    why = (
        f"{' and '.join(map(repr, found))} stand in it equally often" if is_whole else f"{quote} is left open"
    )
    raise ValueError(f"{path}: the header line does not tell the separator, as {why}: give it (separator)")


def check_names(
    path: PathLike, header: list[str] | None, declared: Collection[str], known: Collection[str] = ()
) -> list[str]:
    """Names in a header line, which has those that are declared; others may be ``known``, too."""
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
    if absent := [name for name in declared if name not in header]:  # those there are may be a record's cells
        raise ValueError(f"{path}: the header line lacks the declared columns {absent}")
    return header


def _check_single(path: PathLike, name: str) -> None:
    """Refuse what has one column, of a name that nobody declared, because it is something else."""
    if name.lstrip().startswith(("{", "[", "<", "%PDF")):
        raise ValueError(f"{path} is no table of lines and cells: save the table as CSV or Parquet")
    if held := [mark for mark in SEPARATORS if mark in name]:
        raise ValueError(
            f"{path}: the header line names one column, with {held[0]!r} in its name: if that stands between "
            "cells, give it (separator), and have no quotation marks around whole lines; if the column is "
            "called so, declare it (domain)"
        )


def check_no_record(path: PathLike, header: Sequence[str]) -> None:
    """Raise ValueError for a number or a date in a header line, by whatever separator."""
    for i, name in enumerate(header, start=1):
        if any(_is_value(part) for part in (name, *re.split("[;\t|]", name))):
            raise ValueError(
                f"{path}: column {i} of the header line is a number or a date, as in a record: the first "
                "line must name the columns: put such a line first; or, if columns are called so, declare "
                "one that the line names (domain)"
            )


def _is_value(text: str) -> bool:
    is_number = any(not math.isnan(way.number(text)) for way in _NUMBERS)
    return is_number or kind_of(text, Spelling()) in FORMATS

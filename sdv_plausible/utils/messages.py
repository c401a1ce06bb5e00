"""Messages on columns, and their hints in the words of the command line, the app's pages, or a ledger."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from textwrap import wrap
from typing import Literal

from sdv_plausible.utils.text_output import escape_controls

Reader = Literal["command", "page", "ledger"]
_PAGE = " on the page Columns"
# Messages are written for Python. For each hint: its pattern, and its form for a command, a page and a
# ledger; None if it stays.
_HINTS: tuple[tuple[str, str | None, str | None, str | None], ...] = (
    (r" \(domain=\.\.\.\)(: \{.*?\}(?=\. Or ))?", r" (--domain FILE)\1", _PAGE, ""),
    (r" \(domain=(\{[^()]*\}); ([^()]*)\)", r" (--domain FILE with \1; \2)", rf"{_PAGE} (\2)", ""),
    (r" \(domain=(\{[^()]*\})\)", r" (--domain FILE with \1)", _PAGE, ""),
    (r"domain=\.\.\.", "--domain FILE", None, None),
    (r"domain=(?=\{)", "--domain FILE with ", None, None),
    (r"\b(types|undeclared)=[\"'](\w+)[\"']", r"--\1 \2", None, None),
    (r"anyway=True", "--anyway", "choose so on the page Budget", None),
    (r"synth.check.table. shows why", "sdv-plausible check shows why", f"Compare{_PAGE}", None),
    (r" \(na_values\)", " (--na-values)", " as texts for missing on the page Table", ""),
    (
        r"in RandomizedTest\(row_cap=1_000\)\. RandomizedTest\.within\(rows=1_000, least_rows=20_000\) keeps",
        "in --row-cap 1000. --total 1 --row-cap 1000 --least-rows 20000 keeps",
        None,
        None,
    ),
    (r"; RandomizedTest\.within finds a cheaper test", "", None, None),
    (r"RandomizedTest\.within", "--total", None, None),
    (r"print\(plan\(\)\)", "sdv-plausible plan", None, None),
    (r", or use test='release'", ", or use --test release", ", or choose another privacy test", None),
    (r"test='release'", "--test release", None, None),
)
_PLACES: Mapping[Reader, int] = {"command": 1, "page": 2, "ledger": 3}


def translate(text: str, reader: Reader) -> str:
    """Replace the hints for Python in a message by those for another reader."""
    for hint in _HINTS:
        if (words := hint[_PLACES[reader]]) is not None:
            text = re.sub(str(hint[0]), words, text)
    return text


class ColumnNote(str):
    """A message on columns: ``a (12%), b (3%): these shares <problem>. <way out>``.

    ``columns`` are names, or names with figures; after a figure the problem continues it.
    """

    columns: Mapping[str, str]
    problem: str
    way_out: str

    def __new__(cls, columns: Mapping[str, str] | Sequence[str], problem: str, way_out: str) -> ColumnNote:
        """Compose the sentence."""
        figures = dict(columns) if isinstance(columns, Mapping) else dict.fromkeys(columns, "")
        names = ", ".join(f"{name} ({figure})" if figure else name for name, figure in figures.items())
        shares = "these shares " if any(figures.values()) else ""
        note = super().__new__(cls, escape_controls(f"{names}: {shares}{problem}. {way_out}", keep=""))
        note.columns, note.problem, note.way_out = figures, problem, way_out
        return note

    def __getnewargs__(self) -> tuple[Mapping[str, str], str, str]:  # type: ignore[override]
        return self.columns, self.problem, self.way_out

    def of_table(self, table: str) -> ColumnNote:
        """The note with the table's name before each column's."""
        named = {f"{table}: {name}": figure for name, figure in self.columns.items()}
        return ColumnNote(named, self.problem, self.way_out)


_WIDTHS = (24, 44, 40)  # columns of the table, in characters


def attention_table(notes: Sequence[ColumnNote], reader: Reader | None = None) -> str:
    """An aligned table of columns, what happened, and what to do.

    Of several notes with the same way out a column has the first.
    """
    rows: dict[str, dict[str, str]] = {}  # column -> what to do -> what happened
    for note in notes:
        way_out = note.way_out if reader is None else translate(note.way_out, reader)
        example = f'{{"{next(iter(note.columns), "")}":'
        for name, figure in note.columns.items():
            own = way_out.replace(example, f'{{"{name}":')
            rows.setdefault(name, {}).setdefault(own, f"{figure} {note.problem}".lstrip())
    lines: list[tuple[str, ...]] = [("column", "what happened", "what to do")]
    for name, problems in rows.items():
        for i, (way_out, problem) in enumerate(problems.items()):
            texts = ("" if i else name, problem[:1].upper() + problem[1:], way_out)
            wrapped = [wrap(escape_controls(t, keep=""), w) for t, w in zip(texts, _WIDTHS, strict=True)]
            lines += list(zip_longest(*wrapped, fillvalue=""))
    widths = [max(len(line[i]) for line in lines) for i in range(3)]
    return "\n".join(
        "  " + "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )

"""Templates to HTML, all words escaped; and what a notebook shows of an object: its text form as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def environment(*rooms: str, **options: Any) -> Environment:
    """Templates of some rooms, the first one's before those of the others: every value in them is escaped."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=ChoiceLoader([PackageLoader(room) for room in rooms]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        **options,
    )
    del made.filters["safe"]  # no filter marks text as safe
    return made


def fragment(
    title: str = "",
    *,
    head: Sequence[str] = (),
    rows: Sequence[Sequence[str]] = (),
    notes: Sequence[str] = (),
) -> str:
    """Return a title, a table and notes as HTML without script, style sheet or request."""
    template = environment("sdv_plausible").get_template("fragment.html")
    return template.render(title=title, head=head, rows=rows, notes=notes)


def text(title: str, rows: Sequence[Sequence[str]] = (), notes: Sequence[str] = ()) -> str:
    """Return the same as plain text: the words of a row side by side, notes indented."""
    lines = ["  ".join(row).rstrip() for row in _aligned(rows)]
    return "\n".join([title, *(f"  {line}" for line in [*lines, *notes])])


def _aligned(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]

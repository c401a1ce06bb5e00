"""What a notebook shows of an object: the words of its text form as a piece of HTML, all of them escaped."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any


@cache
def _template() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("sdv_plausible")
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return made.get_template("fragment.html")


def fragment(
    title: str = "",
    *,
    head: Sequence[str] = (),
    rows: Sequence[Sequence[str]] = (),
    notes: Sequence[str] = (),
) -> str:
    """Return a title, a table and notes as HTML without script, style sheet or request."""
    return str(_template().render(title=title, head=head, rows=rows, notes=notes))


def text(title: str, rows: Sequence[Sequence[str]] = (), notes: Sequence[str] = ()) -> str:
    """Return the same as plain text: the words of a row side by side, notes indented."""
    lines = ["  ".join(row).rstrip() for row in _aligned(rows)]
    return "\n".join([title, *(f"  {line}" for line in [*lines, *notes])])


def _aligned(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]

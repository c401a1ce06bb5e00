"""Templates to HTML, all words escaped; and what a notebook shows of an object: its text form as HTML.

Every value is escaped, whatever it is, except the pictures of the report. No filter marks text as safe, and a
test forbids the tag that switches escaping off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from sdv_plausible.utils.printable import visible

if TYPE_CHECKING:
    from jinja2 import Environment


def percent(share: float) -> str:
    """Return 0.25 as "25.0%", NaN as "n/a"."""
    return "n/a" if math.isnan(share) else f"{100 * share:.1f}%"


def count(number: int) -> str:
    """Return 1500 as "1,500"."""
    return f"{number:,d}"


def decimals(value: float) -> str:
    """Return 0.25 as "0.250", NaN as "n/a"."""
    return "n/a" if math.isnan(value) else f"{value:.3f}"


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
        **{"finalize": _finalized, **options},
    )
    del made.filters["safe"]  # no filter marks text as safe
    made.filters.update({filter_.__name__: filter_ for filter_ in (percent, count, decimals)})
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
    return "\n".join(visible(line, keep="") for line in [title, *(f"  {line}" for line in [*lines, *notes])])


def _finalized(value: Any) -> Any:
    """A value of a template, its control characters written out; jinja then escapes it."""
    return visible(value, keep="\n\r\t") if type(value) is str else value


def _aligned(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]

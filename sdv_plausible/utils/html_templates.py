"""HTML templates with all text escaped, and text and HTML representations of objects.

Every value is escaped except the report's charts. No filter marks text as safe, and a test forbids the tag
that disables escaping.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from sdv_plausible.utils.text_output import escape_controls

if TYPE_CHECKING:
    from jinja2 import Environment
from dataclasses import dataclass
from typing import ClassVar, Literal


def percent(share: float) -> str:
    """Format 0.25 as "25.0%", NaN as "n/a"."""
    return "n/a" if math.isnan(share) else f"{100 * share:.1f}%"


def count(number: int) -> str:
    """Format 1500 as "1,500"."""
    return f"{number:,d}"


def decimals(value: float) -> str:
    """Format 0.25 as "0.250", NaN as "n/a"."""
    return "n/a" if math.isnan(value) else f"{value:.3f}"


@cache
def environment(*packages: str, **options: Any) -> Environment:
    """Return templates of packages, in order of precedence, with every value escaped."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        **{"finalize": _finalized, **options},
    )
    del templates.filters["safe"]  # no filter marks text as safe
    templates.filters.update({filter_.__name__: filter_ for filter_ in (percent, count, decimals)})
    return templates


def fragment(
    title: str = "",
    *,
    head: Sequence[str] = (),
    rows: Sequence[Sequence[str]] = (),
    notes: Sequence[str] = (),
) -> str:
    """Return a title, a table and notes as HTML without scripts, style sheets or requests."""
    template = environment("sdv_plausible").get_template("fragment.html")
    return template.render(title=title, head=head, rows=rows, notes=notes)


def text(title: str, rows: Sequence[Sequence[str]] = (), notes: Sequence[str] = ()) -> str:
    """Return the same as plain text: cells of a row side by side, notes indented."""
    lines = ["  ".join(row).rstrip() for row in _aligned(rows)]
    return "\n".join(
        escape_controls(line, keep="") for line in [title, *(f"  {line}" for line in [*lines, *notes])]
    )


def _finalized(value: Any) -> Any:
    """Escape a value's control characters; Jinja then escapes it for HTML."""
    return escape_controls(value, keep="\n\r\t") if type(value) is str else value


def _aligned(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Pad the cells of each column to the same width."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]


class PageSection:
    """Contents of a section; its template defines the layout."""

    template: ClassVar[str]

    def __init_subclass__(cls, template: str) -> None:
        super().__init_subclass__()
        cls.template = template


@dataclass(frozen=True, kw_only=True)
class HtmlPage:
    """Contents of a page; ``title`` is the window title."""

    template_packages: tuple[str, ...]  # packages with the sections' templates
    title: str
    heading: str
    date: str
    kind: Literal["public", "private"]  # colour of the banner
    banner: str  # notice on how the page may be used
    sections: tuple[PageSection, ...]

    def html(self) -> str:
        """Render the page, which forbids all network requests."""
        packages = (*self.template_packages, "sdv_plausible")
        templates = environment(*packages, keep_trailing_newline=True)
        return templates.get_template("page.html").render(vars(self))

"""Templates to HTML. Every value is escaped, whatever it is, except the pictures of :mod:`.drawing`.

A template has no filter that marks text as safe, and a test forbids the tag that switches escaping off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Literal

from jinja2 import Environment
from markupsafe import Markup

from sdv_plausible.utils import fragments


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
def environment() -> Environment:
    """Return the templates of the page, and that of the privacy ledger, which lives beside it."""
    rooms = ("sdv_plausible.evaluation.page", "sdv_plausible.privacy")
    made = fragments.environment(*rooms, keep_trailing_newline=True)
    made.filters.update({filter_.__name__: filter_ for filter_ in (percent, count, decimals)})
    return made


class Section:
    """What one section of the page shows; its template says how."""

    template: ClassVar[str]

    def __init_subclass__(cls, template: str) -> None:
        super().__init_subclass__()
        cls.template = template


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A picture, what it is of, and the same in a table for whoever does not see it."""

    caption: str
    picture: Markup
    head: tuple[str, ...] = ()  # names of the table's columns; no table if there are none
    # what the bars or dots are, and their shares in [0, 1]
    rows: tuple[tuple[str, tuple[float, ...]], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Page:
    """What the whole page shows; ``title`` is that of the window."""

    title: str
    heading: str
    date: str
    kind: Literal["public", "private"]  # colour of the banner
    banner: str  # what may be done with the page
    sections: tuple[Section, ...]

    def html(self) -> str:
        """Return the page; it forbids every request."""
        return environment().get_template("page.html").render(vars(self))

"""A page of sections in one file, each by its template; whoever makes one says where its templates are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from sdv_plausible.utils import html_templates


class PageSection:
    """What one section of the page shows; its template says how."""

    template: ClassVar[str]

    def __init_subclass__(cls, template: str) -> None:
        super().__init_subclass__()
        cls.template = template


@dataclass(frozen=True, kw_only=True)
class HtmlPage:
    """What the whole page shows; ``title`` is that of the window."""

    rooms: tuple[str, ...]  # packages that have the templates of its sections
    title: str
    heading: str
    date: str
    kind: Literal["public", "private"]  # colour of the banner
    banner: str  # what may be done with the page
    sections: tuple[PageSection, ...]

    def html(self) -> str:
        """Return the page; it forbids every request."""
        templates = html_templates.environment(*self.rooms, "sdv_plausible", keep_trailing_newline=True)
        return templates.get_template("page.html").render(vars(self))

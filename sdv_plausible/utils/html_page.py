"""An HTML page of sections; each section has a template."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from sdv_plausible.utils import html_templates


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
        templates = html_templates.environment(*packages, keep_trailing_newline=True)
        return templates.get_template("page.html").render(vars(self))

"""Steps of the app, and the templates of its pages."""

from __future__ import annotations

from dataclasses import dataclass

from jinja2 import Environment

from sdv_plausible.extensions.app.pages.fit_messages import in_app
from sdv_plausible.utils.html_templates import environment

TITLES = {
    "": "Table", "columns": "Columns", "rules": "Rules and people", "budget": "Budget", "fit": "Fit",
    "result": "Result",
}  # fmt: skip


@dataclass(frozen=True)
class AppStep:
    """One step: path, title, whether it is shown now, and whether it can be opened."""

    place: str
    title: str
    is_here: bool
    is_open: bool


def steps(
    here: str, *, has_table: bool = False, has_fit: bool = False, has_result: bool = False
) -> list[AppStep]:
    """Return all steps, as shown on the page ``here``."""
    is_open = {"": True, "fit": has_fit, "result": has_result}
    return [AppStep(at, title, at == here, is_open.get(at, has_table)) for at, title in TITLES.items()]


TEMPLATE_PACKAGES = ("sdv_plausible.extensions.app.pages", "sdv_plausible.extensions.app.review")


def templates() -> Environment:
    """Return the templates of the app, including those shared with the review page."""
    loader = environment(*TEMPLATE_PACKAGES, finalize=None)  # typed text is shown unchanged
    loader.filters["in_app"] = in_app
    return loader

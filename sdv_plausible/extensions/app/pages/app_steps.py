"""The way through the app, step after step, and the templates of its pages."""

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
    """One step: its path, what it is called, whether it is shown, and whether one can go there."""

    place: str
    title: str
    is_here: bool
    is_open: bool


def steps(
    here: str, *, has_table: bool = False, has_fit: bool = False, has_result: bool = False
) -> list[AppStep]:
    """All steps, as they are seen from one of them."""
    is_open = {"": True, "fit": has_fit, "result": has_result}
    return [AppStep(at, title, at == here, is_open.get(at, has_table)) for at, title in TITLES.items()]


ROOMS = ("sdv_plausible.extensions.app.pages", "sdv_plausible.extensions.app.review")


def templates() -> Environment:
    """Return the templates of the app, and those that it shares with the review page."""
    made = environment(*ROOMS, finalize=None)  # what is typed comes back as it was
    made.filters["in_app"] = in_app
    return made

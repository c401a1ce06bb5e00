"""Steps of the app, and the templates of its pages."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from jinja2 import Environment

from sdv_plausible.utils.html_templates import environment
from sdv_plausible.utils.messages import translate

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


TEMPLATE_PACKAGES = (
    "sdv_plausible.extensions.app.pages", "sdv_plausible.extensions.app.review",
    "sdv_plausible.evaluation.page",
)  # fmt: skip


def templates() -> Environment:
    """Return the templates of the app, including those shared with the review page."""
    loader = environment(*TEMPLATE_PACKAGES, finalize=None)  # typed text is shown unchanged
    loader.filters["in_app"] = in_app
    return loader


def in_app(text: str) -> str:
    """Replace mentions of Python by those of the pages."""
    return translate(text, "page")


@dataclass(frozen=True)
class FitMessages:
    """Messages of a fit, by column and general."""

    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    others: Sequence[str] = ()


def by_column(texts: Sequence[str], names: Collection[str]) -> FitMessages:
    """Group messages that begin with columns (``a (12%), b: ...``) by column; others are unchanged."""
    columns: dict[str, list[str]] = {}
    others = []
    for text in map(in_app, texts):
        head, _, rest = text.partition(": ")
        matches = [_column(part, names) for part in re.split(r", (?![^(]*\))", head)]
        if not rest or not all(matches):
            others.append(text)
            continue
        for name, figure in filter(None, matches):
            columns.setdefault(name, []).append(f"{figure}: {rest}" if figure else rest[0].upper() + rest[1:])
    order = {name: i for i, name in enumerate(names)}
    return FitMessages(
        {name: columns[name] for name in sorted(columns, key=lambda name: order[name])}, others
    )


def _column(part: str, names: Collection[str]) -> tuple[str, str] | None:
    """Column and figure at the start of a message part; None if it is no column."""
    if part in names:
        return part, ""
    for pattern in (r"(.+) \(([^()]*)\)", r"(.+) (\d+%)"):
        if (match := re.fullmatch(pattern, part)) and match[1] in names:
            return match[1], match[2]
    return None

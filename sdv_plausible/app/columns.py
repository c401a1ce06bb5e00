"""The way through the app, step after step, and the review page of declarations as one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment
from starlette.responses import RedirectResponse, Response

from sdv_plausible.app.running import Fit
from sdv_plausible.declaring.review import Review
from sdv_plausible.declaring.web.pages import Answer, Filled, Pages, Texts
from sdv_plausible.table.declared.domain_file import DomainFile
from sdv_plausible.utils.fragments import environment
from sdv_plausible.utils.web.guard import Keys

TITLES = {
    "": "Table", "columns": "Columns", "rules": "Rules and people", "budget": "Budget", "fit": "Fit",
    "result": "Result",
}  # fmt: skip


@dataclass(frozen=True)
class Step:
    """One step: its path, what it is called, whether it is shown, and whether one can go there."""

    place: str
    title: str
    is_here: bool
    is_open: bool


def steps(
    here: str, *, has_table: bool = False, has_fit: bool = False, has_result: bool = False
) -> list[Step]:
    """All steps, as they are seen from one of them."""
    is_open = {"": True, "fit": has_fit, "result": has_result}
    return [Step(at, title, at == here, is_open.get(at, has_table)) for at, title in TITLES.items()]


ROOMS = ("sdv_plausible.app", "sdv_plausible.declaring.web")


def templates() -> Environment:
    """Return the templates of the app, and those that it shares with the review page."""
    return environment(*ROOMS)


class ColumnsPage(Pages):
    """Types and values of the columns of one session's table."""

    template, rooms = "columns.html", ROOMS

    def __init__(
        self,
        review: Review,
        home: str,
        keys: Keys,
        fit: Callable[[], Fit | None],
        messages: tuple[str, ...] = (),
    ) -> None:
        super().__init__(review, keys, lambda: None)
        self._home, self._fit, self._messages = home, fit, messages

    @property
    def place(self) -> str:
        """Where the page is."""
        return f"{self._home}/columns"

    @property
    def saved(self) -> str:
        """What is said once the file is saved."""
        return "Kept for this session: take the domain file with you on the last page"

    def next(self, file: DomainFile, filled: Filled, typed: Texts) -> Response:
        """Keep the words, and go on, unless one is refused."""
        if refused := self.save_words(file, filled, typed):
            return self._page(file, filled, Answer(refused=refused), 422)
        return RedirectResponse(f"{self._home}/rules", 303)

    def more(self) -> Mapping[str, Any]:
        """What else the template is told."""
        fit = self._fit()
        way = steps(
            "columns", has_table=True, has_fit=fit is not None, has_result=fit is not None and fit.is_released
        )
        return {"home": self._home, "steps": way, "messages": self._messages}

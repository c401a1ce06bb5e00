"""The review page of declarations, as a step of the app."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starlette.responses import RedirectResponse, Response

from sdv_plausible.extensions.app.forms import Texts
from sdv_plausible.extensions.app.pages.app_steps import TEMPLATE_PACKAGES, steps
from sdv_plausible.extensions.app.pages.background_fit import RunningFit
from sdv_plausible.extensions.app.review.review import Review
from sdv_plausible.extensions.app.review.review_pages import Columns, PageState, ReviewPages
from sdv_plausible.extensions.app.serving.access_guard import AccessKeys
from sdv_plausible.table.declared.domain_file import DomainFile


class ColumnsPage(ReviewPages):
    """Types and values of the columns of one session's table."""

    template, template_packages = "columns.html", TEMPLATE_PACKAGES

    def __init__(
        self,
        review: Review,
        home: str,
        keys: AccessKeys,
        fit: Callable[[], RunningFit | None],
        messages: tuple[str, ...] = (),
    ) -> None:
        super().__init__(review, keys, lambda: None)
        self._home, self._fit, self._messages = home, fit, messages

    @property
    def place(self) -> str:
        """Path of the page."""
        return f"{self._home}/columns"

    @property
    def saved(self) -> str:
        """Message shown after saving."""
        return "Kept for this session: take the domain file with you on the last page"

    def next(self, file: DomainFile, filled: Columns, typed: Texts) -> Response:
        """Save and continue, unless a field is invalid."""
        if refused := self.save_words(file, filled, typed):
            return self._page(file, filled, PageState(refused=refused), 422)
        return RedirectResponse(f"{self._home}/rules", 303)

    def more(self) -> Mapping[str, Any]:
        """Further variables of the template."""
        fit = self._fit()
        way = steps(
            "columns", has_table=True, has_fit=fit is not None, has_result=fit is not None and fit.is_released
        )
        return {"home": self._home, "steps": way, "messages": self._messages}

"""The review page of declarations, as a step of the app."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from starlette.responses import RedirectResponse, Response

from sdv_plausible.extensions.app.forms import Texts
from sdv_plausible.extensions.app.pages.app_steps import TEMPLATE_PACKAGES, steps
from sdv_plausible.extensions.app.pages.background_fit import RunningFit
from sdv_plausible.extensions.app.pages.uploads import Upload, uploaded_codebook
from sdv_plausible.extensions.app.review.review import Review, version
from sdv_plausible.extensions.app.review.review_pages import Columns, PageState, ReviewPages
from sdv_plausible.extensions.app.serving.access_guard import AccessKeys
from sdv_plausible.table.declared.domain_file import DomainFile, blanks, is_blank
from sdv_plausible.utils.text_output import one_line


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
        return "Saved until you close the app. The last page has the domain file, to keep"

    @property
    def handlers(self) -> dict[str, Callable[..., Response]]:
        """Handlers of the form's buttons; the plan has its own page."""
        buttons = {**super().handlers, "next": self.next}
        del buttons["plan"]
        return buttons

    def codebook(self, upload: Upload, work: Path) -> Response:
        """Fill in columns without a type from an uploaded code book, stored in ``work``, and save."""
        file, typed = self.review.file, {**upload.texts, "codebook": ""}
        filled = self._column_forms(file, typed)
        try:
            codebook = uploaded_codebook(work, upload, self.review.table.names)
        except Exception as error:  # of a file that may be anything
            message = f"The code book was not read: {one_line(error, True)}".replace(f"{work}/", "")
            return self.refuse(file, filled, typed, message)
        if codebook is None:
            return self.refuse(file, filled, typed, "The code book was not read: choose a file.")
        if refused := self.save_words(file, filled, typed):
            return self.refuse(file, filled, typed, refused)
        file = self.review.file
        found = {name: codebook.columns[name] for name in blanks(file) if name in codebook.columns}
        found = {name: words for name, words in found.items() if not is_blank(words)}
        said = f"The code book filled in {len(found)} of {len(blanks(file))} columns without a type."
        self.review.save({**file.columns, **found}, version(file))
        file = self.review.file
        page = PageState(said=said, notes=tuple(codebook.lines))
        return self._page(file, self._column_forms(file, {}), page)

    def next(self, file: DomainFile, filled: Columns, typed: Texts) -> Response:
        """Save and continue, unless a field is invalid."""
        if refused := self.save_words(file, filled, typed):
            return self.refuse(file, filled, typed, refused)
        return RedirectResponse(f"{self._home}/rules", 303)

    def more(self) -> Mapping[str, Any]:
        """Further variables of the template."""
        fit = self._fit()
        way = steps(
            "columns", has_table=True, has_fit=fit is not None, has_result=fit is not None and fit.is_released
        )
        return {"home": self._home, "steps": way, "messages": self._messages}

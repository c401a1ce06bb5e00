"""The review page as an application: forms in, HTML out. Every value is escaped, whatever it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from sdv_plausible.extensions.app import forms
from sdv_plausible.extensions.app.forms import Texts
from sdv_plausible.extensions.app.review.review import Review, RowComparison, version
from sdv_plausible.extensions.app.serving.access_guard import AccessKeys, form_fields
from sdv_plausible.fitting.options import typed_default
from sdv_plausible.table.declared.domain_file import DomainFile, is_blank
from sdv_plausible.utils.html_templates import environment
from sdv_plausible.utils.text_output import one_line

TEMPLATES = Path(__file__).parent / "templates"
Columns = Mapping[str, forms.ColumnForm]
USUAL = {**{name: typed_default(name) for name in ("epsilon", "delta")}, "rows": ""}  # of a plan


@dataclass(frozen=True)
class ColumnView:
    """One column on the page."""

    number: int  # its place, which names its fields
    name: str
    texts: Mapping[str, str] | None  # word -> text in the form; None if it was learned and has no form
    refusals: Mapping[str, str]  # word -> why it is refused
    sdtypes: tuple[str, ...]
    meaning: str  # what the words come to
    marks: tuple[str, ...]  # what is to be known of its history
    rest: str  # words without a field, which stay
    is_open: bool  # blank, refused or found not to fit: such come first, the others are folded


@dataclass(frozen=True)
class PageState:
    """What one page says besides the columns."""

    said: str = ""
    refused: str = ""
    look: RowComparison | None = None  # a comparison with the rows
    plan: object | None = None  # what a budget can carry
    numbers: Mapping[str, str] = field(default_factory=lambda: USUAL)  # fields of the plan
    refusals: Mapping[str, str] = field(default_factory=dict)  # why they are refused


class ReviewPages:
    """The page of one review; ``close`` ends the server."""

    template = "review.html"
    rooms: tuple[str, ...] = ("sdv_plausible.extensions.app.review",)  # where templates are

    def __init__(self, review: Review, keys: AccessKeys, close: Callable[[], object]) -> None:
        self.review, self.keys, self._close = review, keys, close

    @property
    def place(self) -> str:
        """Where the page is."""
        return f"/{self.keys.place}"

    @property
    def form_token(self) -> str:
        """What its forms hold."""
        return self.keys.form

    def application(self) -> Starlette:
        """Return the application; :class:`~.guard.Guard` belongs before it."""
        home = self.place
        return Starlette(
            routes=[
                Route(f"{home}/", self.home),
                Route(f"{home}/style.css", lambda _: FileResponse(TEMPLATES / "style.css")),
                Route(f"{home}/review.js", lambda _: FileResponse(TEMPLATES / "review.js")),
                *(
                    Route(f"{home}/{name}", self.posted(act), methods=["POST"])
                    for name, act in (("save", self.save), ("compare", self.compare), ("plan", self.plan))
                ),
                Route(f"{home}/close", self.close, methods=["POST"]),
            ]
        )

    def home(self, request: Request) -> Response:
        """Show the file as it is."""
        file = self.review.file
        said = f"{self.saved}." if "saved" in request.query_params else ""
        return self._page(file, self._filled(file, {}), PageState(said=said))

    def close(self, _: Request) -> Response:
        """End the server: what was not saved is gone."""
        self._close()
        return PlainTextResponse("Closed. Nothing is kept but what was saved; this window can be closed.")

    def save(self, file: DomainFile, filled: Columns, typed: Texts) -> Response:
        """Write the file, unless a word is refused."""
        if refused := self.save_words(file, filled, typed):
            return self._page(file, filled, PageState(refused=refused), 422)
        return RedirectResponse(f"{self.place}/?saved", 303)

    def compare(self, file: DomainFile, filled: Columns, typed: Texts) -> Response:
        """Write the file, then the look, then show what does not fit."""
        if refused := self.save_words(file, filled, typed):
            return self._page(file, filled, PageState(refused=refused), 422)
        try:
            look = self.review.compare()
        except Exception as error:  # whatever pandas raises: its text may quote cells
            said = f"Nothing was compared: {one_line(error, True)}"
            file = self.review.file
            return self._page(file, self._filled(file, {}), PageState(refused=said), 422)
        file = self.review.file
        return self._page(file, self._filled(file, {}), PageState(look=look))

    def plan(self, file: DomainFile, filled: Columns, typed: Texts) -> Response:
        """Say what a budget can carry, of the words as they are in the form; nothing is written."""
        texts = {name: typed.get(name, "").strip() for name in USUAL}
        numbers, refusals = forms.read_numbers(texts, USUAL)
        columns = _words(file, filled)
        if columns is None or refusals:
            refused = "Nothing was planned: see the fields that are marked."
            return self._page(file, filled, PageState(refused=refused, numbers=texts, refusals=refusals), 422)
        try:
            found = self.review.plan(columns, **numbers)
        except Exception as error:  # also SDV's, on metadata; no row was read
            said = f"Nothing was planned: {one_line(error, False)}"
            place = forms.place_of(error, USUAL)
            refusals = {place: str(error)} if place else {}
            return self._page(file, filled, PageState(refused=said, numbers=texts, refusals=refusals), 422)
        return self._page(file, filled, PageState(plan=found, numbers=texts))

    def posted(self, act: Callable[..., Response]) -> Callable[[Request], Any]:
        """Return an endpoint that reads the form, and acts outside the event loop."""

        async def endpoint(request: Request) -> Response:
            typed = form_fields(await request.body())

            def answer() -> Response:
                file = self.review.file
                return act(file, self._filled(file, typed), typed)

            return await run_in_threadpool(answer)

        return endpoint

    def _filled(self, file: DomainFile, typed: Texts) -> dict[str, forms.ColumnForm]:
        """The columns that have a form: as it came back, or as the file is."""
        found = {}
        for number, name in enumerate(self.review.names):
            words = file.columns.get(name, {"sdtype": None})
            if has_form(words):
                found[name] = _one(name, number, words, typed, is_in=name in file.columns)
        return found

    def save_words(self, file: DomainFile, filled: Columns, typed: Texts) -> str:
        """Save; what is said if that was refused."""
        columns = _words(file, filled)
        if columns is None:
            return "Nothing was saved: see the fields that are marked."
        try:
            self.review.save(columns, typed.get("version", ""))
        except (OSError, ValueError) as error:
            return f"Nothing was saved: {one_line(error, False)}"
        return ""

    def _page(self, file: DomainFile, filled: Columns, answer: PageState, status: int = 200) -> Response:
        seen = () if answer.look is None else answer.look.columns
        names = enumerate(self.review.names)
        shown = [self._shown(number, name, file, filled, is_seen=name in seen) for number, name in names]
        shown.sort(key=lambda one: not one.is_open)
        text = environment(*self.rooms, finalize=None).get_template(self.template).render(
            columns=shown, answer=answer, review=self.review, fields=forms.FIELDS, left_out=forms.LEFT_OUT,
            place=self.place, token=self.form_token, version=version(file), edited=file.edited,
            **self.more(),
        )  # fmt: skip
        return HTMLResponse(text, status)

    @property
    def saved(self) -> str:
        """What is said once the file is saved."""
        return f"Saved in {self.review.output}"

    def more(self) -> Mapping[str, Any]:
        """What else the template is told."""
        return {}

    def _shown(
        self, number: int, name: str, file: DomainFile, filled: Columns, *, is_seen: bool
    ) -> ColumnView:
        one = filled.get(name)
        words = file.columns.get(name, {"sdtype": None}) if one is None else one.words
        refusals = {} if one is None else one.refusals
        if words is None:
            meaning = "not in the file: left out, or learned if it is in the table's metadata"
        else:
            meaning = "refused, see below" if refusals else forms.meaning(name, words)
        rest = {} if words is None or one is None else forms.without_field(words)
        return ColumnView(
            number, name, None if one is None else one.texts, refusals,
            forms.sdtypes_to_choose(file.columns.get(name, {})), meaning, self._marks(name, file),
            ", ".join(f"{word}: {value}" for word, value in rest.items()),
            is_seen or bool(refusals) or (words is not None and is_blank(words)),
        )  # fmt: skip

    def _marks(self, name: str, file: DomainFile) -> tuple[str, ...]:
        marks = []
        if name not in self.review.table.names:
            marks.append("not in the table")
        if name in file.edited:
            marks.append("edited after a look, no source: no claim")
        elif name in file.looked:
            marks.append("looked at: an edit without a source ends the claim")
        if file.detected:
            marks.append("read off the rows: no claim")
        return tuple(marks)


def has_form(words: Any) -> bool:
    """Whether words can be edited: what was learned cannot."""
    return isinstance(words, Mapping) and "kind" not in words


def _one(name: str, number: int, words: Mapping[str, Any], typed: Texts, *, is_in: bool) -> forms.ColumnForm:
    prefix = f"c{number}-"
    if typed:
        own = {key[len(prefix) :]: text for key, text in typed.items() if key.startswith(prefix)}
        return forms.filled_in(name, words, own)
    texts = forms.field_texts(words)
    if not is_in:
        return forms.ColumnForm(None, {**texts, "sdtype": forms.LEFT_OUT})
    return forms.ColumnForm(words, texts, forms.refusals(name, words))


def _words(file: DomainFile, filled: Columns) -> dict[str, Any] | None:
    """Words of all columns as they are to be saved, in their order; None if any is refused."""
    if any(one.refusals for one in filled.values()):
        return None
    found: dict[str, Any] = {}
    for name in dict.fromkeys([*file.columns, *filled]):
        words = filled[name].words if name in filled else file.columns[name]
        if words is not None:
            found[name] = words
    return found

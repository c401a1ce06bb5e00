"""The review page as a web application. It parses forms and renders HTML, with every value escaped."""

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
from sdv_plausible.extensions.app.review.pasting import read_paste
from sdv_plausible.extensions.app.review.review import Review, RowComparison, version
from sdv_plausible.extensions.app.serving.access_guard import AccessKeys, parse_form
from sdv_plausible.fitting.options import typed_default
from sdv_plausible.table.declared.domain_file import DomainFile, is_blank
from sdv_plausible.utils.html_templates import environment
from sdv_plausible.utils.text_output import one_line

TEMPLATES = Path(__file__).parent / "templates"
Columns = Mapping[str, forms.ColumnForm]
HINTS = {"datetime_format": "Such as %Y-%m-%d for 2024-12-31, or %d.%m.%Y %H:%M for 31.12.2024 23:59."}
_UNUSED = {
    "paste": "press “Apply to the columns” below the pasted text, or clear it",
    "codebook": "press “Read the code book” beside the file, or remove it",
}
"""What to do with a field that its own button uses."""
USUAL = {
    **{name: typed_default(name) for name in ("epsilon", "delta")},
    "rows": "",
}  # defaults of a plan's fields


@dataclass(frozen=True)
class ColumnView:
    """One column on the page."""

    number: int  # its position, the prefix of its fields
    name: str
    texts: Mapping[str, str] | None  # text by key; None for a learned column, which has no form
    refusals: Mapping[str, str]  # error message by key
    sdtypes: tuple[str, ...]
    meaning: str  # summary of the declaration
    marks: tuple[str, ...]  # notes on its history
    rest: str  # keys without a form field, and their values
    is_blank: bool  # has no type yet
    num_more: int  # words that are declared in the folded part
    is_open: bool  # a folded field is invalid


@dataclass(frozen=True)
class PageState:
    """State of one page besides the columns."""

    said: str = ""
    notes: tuple[str, ...] = ()  # details of ``said``
    is_unsaved: bool = False  # the page shows edits that are not saved
    paste: str = ""  # pasted text that was not applied
    refused: str = ""
    look: RowComparison | None = None  # a comparison with the rows
    plan: object | None = None  # plan of a release
    numbers: Mapping[str, str] = field(default_factory=lambda: USUAL)  # texts of the plan's fields
    refusals: Mapping[str, str] = field(default_factory=dict)  # error messages by field of the plan


class ReviewPages:
    """The page of one review; ``close`` stops the server."""

    template = "review.html"
    template_packages: tuple[str, ...] = ("sdv_plausible.extensions.app.review",)  # packages with templates

    def __init__(self, review: Review, keys: AccessKeys, close: Callable[[], object]) -> None:
        self.review, self.keys, self._close = review, keys, close

    @property
    def place(self) -> str:
        """Path of the page."""
        return f"/{self.keys.place}"

    @property
    def form_token(self) -> str:
        """Token against cross-site requests, in the page's forms."""
        return self.keys.form

    @property
    def handlers(self) -> dict[str, Callable[..., Response]]:
        """Handlers of the form's buttons, by the last part of their path."""
        edits = {"save": self.save, "paste": self.paste, "same": self.same}
        return {**edits, "compare": self.compare, "plan": self.plan}

    def application(self) -> Starlette:
        """Return the application, to be wrapped in an :class:`AccessGuard`."""
        home = self.place
        return Starlette(
            routes=[
                Route(f"{home}/", self.home),
                Route(f"{home}/style.css", lambda _: FileResponse(TEMPLATES / "style.css")),
                Route(f"{home}/review.js", lambda _: FileResponse(TEMPLATES / "review.js")),
                *(
                    Route(f"{home}/{name}", self.posted(handler), methods=["POST"])
                    for name, handler in self.handlers.items()
                ),
                Route(f"{home}/close", self.close, methods=["POST"]),
            ]
        )

    def home(self, request: Request) -> Response:
        """Show the current file."""
        file = self.review.file
        said = f"{self.saved}." if "saved" in request.query_params else ""
        return self._page(file, self._column_forms(file, {}), PageState(said=said))

    def close(self, _: Request) -> Response:
        """Stop the server; unsaved edits are lost."""
        self._close()
        return PlainTextResponse("Closed. Only what you saved is kept. You can close this window.")

    def save(self, file: DomainFile, filled: Columns, typed: Texts) -> Response:
        """Write the file, unless a field is invalid."""
        if refused := self.save_words(file, filled, typed):
            return self.refuse(file, filled, typed, refused)
        return RedirectResponse(f"{self.place}/?saved", 303)

    def refuse(self, file: DomainFile, filled: Columns, typed: Texts, refused: str) -> Response:
        """Show the form again, with an error message."""
        return self._page(file, filled, PageState(refused=refused, paste=typed.get("paste", "").strip()), 422)

    def paste(self, file: DomainFile, filled: Columns, typed: Texts) -> Response:
        """Fill in the form from pasted cells; nothing is saved."""
        types = {name: form.texts["sdtype"] for name, form in filled.items()}
        pasted = read_paste(typed.get("paste", ""), types)
        count = f"{len(pasted.texts)} column{'' if len(pasted.texts) == 1 else 's'}"
        said = f"Pasted into {count}, not saved yet." if pasted.texts else "Nothing was pasted."
        return self._edited(file, typed, pasted.texts, said, pasted.problems)

    def same(self, file: DomainFile, filled: Columns, typed: Texts) -> Response:
        """Copy the fields of the column above to each ticked column; nothing is saved."""
        above, copied, notes = "", dict[str, Mapping[str, str]](), list[str]()
        for number, name in enumerate(self.review.names):
            if name not in filled:
                continue
            if f"c{number}-same" not in typed:
                above = name
            elif not above:
                notes.append(f"{name}: there is no column above it")
            else:
                copied[name] = filled[above].texts
                rest = forms.words_without_field(filled[above].words or {})
                notes += [f"{name}: this page cannot copy {', '.join(rest)} of {above}"] if rest else []
        said = f"Copied to {', '.join(copied)}, not saved yet."
        said = said if copied else "Nothing was copied: tick columns first."
        return self._edited(file, typed, copied, said, tuple(notes))

    def _edited(
        self, file: DomainFile, typed: Texts, edits: Mapping[str, Texts], said: str, notes: tuple[str, ...]
    ) -> Response:
        """Show the form with edits that are not saved."""
        numbers = {name: number for number, name in enumerate(self.review.names)}
        changed = {
            f"c{numbers[name]}-{word}": text for name, texts in edits.items() for word, text in texts.items()
        }
        filled = self._column_forms(file, {**typed, **changed})
        return self._page(file, filled, PageState(said=said, notes=notes, is_unsaved=True))

    def compare(self, file: DomainFile, filled: Columns, typed: Texts) -> Response:
        """Save the file, record the comparison, then show the mismatches."""
        if refused := self.save_words(file, filled, typed):
            return self.refuse(file, filled, typed, refused)
        try:
            look = self.review.compare()
        except Exception as error:  # of pandas, whose messages may quote cells
            message = f"Nothing was compared: {one_line(error, True)}"
            file = self.review.file
            return self._page(file, self._column_forms(file, {}), PageState(refused=message), 422)
        file = self.review.file
        return self._page(file, self._column_forms(file, {}), PageState(look=look))

    def plan(self, file: DomainFile, filled: Columns, typed: Texts) -> Response:
        """Plan a release with the declarations in the form; nothing is written."""
        texts = {name: typed.get(name, "").strip() for name in USUAL}
        numbers, refusals = forms.read_numbers(texts, USUAL)
        columns = _declarations(file, filled)
        if columns is None or refusals:
            refused = "There is no plan: correct the marked fields first."
            return self._page(file, filled, PageState(refused=refused, numbers=texts, refusals=refusals), 422)
        try:
            plan = self.review.plan(columns, **numbers)
        except Exception as error:  # also SDV's, on metadata; no row was read
            message = f"There is no plan: {one_line(error, False)}"
            field_name = forms.field_of_error(error, USUAL)
            refusals = {field_name: str(error)} if field_name else {}
            return self._page(file, filled, PageState(refused=message, numbers=texts, refusals=refusals), 422)
        return self._page(file, filled, PageState(plan=plan, numbers=texts))

    def posted(self, handler: Callable[..., Response]) -> Callable[[Request], Any]:
        """Return an endpoint that parses the form and handles it outside the event loop."""

        async def endpoint(request: Request) -> Response:
            typed = parse_form(await request.body())

            def answer() -> Response:
                file = self.review.file
                return handler(file, self._column_forms(file, typed), typed)

            return await run_in_threadpool(answer)

        return endpoint

    def _column_forms(self, file: DomainFile, typed: Texts) -> dict[str, forms.ColumnForm]:
        """Forms of the columns that have one: as submitted, or from the file."""
        filled = {}
        for number, name in enumerate(self.review.names):
            declaration = file.columns.get(name, {"sdtype": None})
            if has_form(declaration):
                filled[name] = _column_form(name, number, declaration, typed, is_in=name in file.columns)
        return filled

    def save_words(self, file: DomainFile, filled: Columns, typed: Texts) -> str:
        """Save the file; return an error message, empty on success."""
        columns = _declarations(file, filled)
        if columns is None:
            return "Nothing was saved: correct the marked fields first."
        if unused := [words for name, words in _UNUSED.items() if typed.get(name, "").strip()]:
            return f"Nothing was saved: {unused[0]}."
        try:
            self.review.save(columns, typed.get("version", ""))
        except (OSError, ValueError) as error:
            return f"Nothing was saved: {one_line(error, False)}"
        return ""

    def _page(self, file: DomainFile, filled: Columns, answer: PageState, status: int = 200) -> Response:
        names = enumerate(self.review.names)
        shown = [self._column_view(number, name, file, filled) for number, name in names]
        text = environment(*self.template_packages, finalize=None).get_template(self.template).render(
            columns=shown, answer=answer, review=self.review, left_out=forms.LEFT_OUT, listed=forms.LISTED,
            grid=forms.GRID, more_fields=forms.MORE_FIELDS, hints=HINTS,
            place=self.place, token=self.form_token, version=version(file), edited=file.edited,
            **self.more(),
        )  # fmt: skip
        return HTMLResponse(text, status)

    @property
    def saved(self) -> str:
        """Message shown after saving."""
        return f"Saved in {self.review.output}"

    def more(self) -> Mapping[str, Any]:
        """Further variables of the template."""
        return {}

    def _column_view(self, number: int, name: str, file: DomainFile, filled: Columns) -> ColumnView:
        column_form = filled.get(name)
        declaration = file.columns.get(name, {"sdtype": None}) if column_form is None else column_form.words
        refusals = {} if column_form is None else column_form.refusals
        if declaration is None:
            meaning = "left out"
        else:
            meaning = "needs a correction" if refusals else forms.meaning(name, declaration)
        texts = {} if column_form is None else column_form.texts
        hidden_words = (
            {} if declaration is None or column_form is None else forms.words_without_field(declaration)
        )
        return ColumnView(
            number, name, None if column_form is None else column_form.texts, refusals,
            forms.selectable_sdtypes(file.columns.get(name, {})), meaning, self._marks(name, file),
            ", ".join(f"{word}: {value}" for word, value in hidden_words.items()),
            declaration is not None and is_blank(declaration),
            len(hidden_words) + sum(bool(texts[field.word]) for field in forms.MORE_FIELDS if texts),
            any(f.word in refusals for f in forms.MORE_FIELDS),
        )  # fmt: skip

    def _marks(self, name: str, file: DomainFile) -> tuple[str, ...]:
        marks = []
        if name not in self.review.table.names:
            marks.append("not in the table")
        if name in file.edited:
            marks.append("edited after a comparison: no claim")
        elif name in file.looked:
            marks.append("compared")
        if file.detected:
            marks.append("from the rows: no guarantee")
        return tuple(marks)


def has_form(words: Any) -> bool:
    """Whether a column can be edited; learned columns cannot."""
    return isinstance(words, Mapping) and "kind" not in words


def _column_form(
    name: str, number: int, words: Mapping[str, Any], typed: Texts, *, is_in: bool
) -> forms.ColumnForm:
    prefix = f"c{number}-"
    if typed:
        own = {key[len(prefix) :]: text for key, text in typed.items() if key.startswith(prefix)}
        return forms.read_column_form(name, words, own)
    texts = forms.field_texts(words)
    if not is_in:
        return forms.ColumnForm(None, {**texts, "sdtype": forms.LEFT_OUT})
    return forms.ColumnForm(words, texts, forms.refusals(name, words))


def _declarations(file: DomainFile, filled: Columns) -> dict[str, Any] | None:
    """Declarations of all columns to save, in their order; None if any is invalid."""
    if any(form.refusals for form in filled.values()):
        return None
    declarations: dict[str, Any] = {}
    for name in dict.fromkeys([*file.columns, *filled]):
        declaration = filled[name].words if name in filled else file.columns[name]
        if declaration is not None:
            declarations[name] = declaration
    return declarations

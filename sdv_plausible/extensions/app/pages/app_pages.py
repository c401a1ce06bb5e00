"""Pages of the app: read forms, render HTML, each for one browser's session."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Route

from sdv_plausible.extensions.app.forms import field_of_error
from sdv_plausible.extensions.app.pages import release_request
from sdv_plausible.extensions.app.pages.app_steps import by_column, steps, templates
from sdv_plausible.extensions.app.pages.background_fit import FILES, STAGES, RunningFit, card_of, named_files
from sdv_plausible.extensions.app.pages.browser_access import (
    CODEBOOK,
    SENT,
    SESSION,
    UPLOAD,
    posted,
    shown,
    static,
)
from sdv_plausible.extensions.app.pages.columns_page import ColumnsPage
from sdv_plausible.extensions.app.pages.sessions import Session, Sessions
from sdv_plausible.extensions.app.pages.uploads import DOMAIN, Upload, review_upload
from sdv_plausible.extensions.app.review import review_pages
from sdv_plausible.extensions.app.review.review import version
from sdv_plausible.fitting.plan import Plan
from sdv_plausible.release.card.privacy_card import KNOWN
from sdv_plausible.release.file.release import Release
from sdv_plausible.table.declared.domain_file import blanks
from sdv_plausible.table.files.text_files import csv_reader, is_large
from sdv_plausible.utils.atomic_files import write_atomically
from sdv_plausible.utils.text_output import one_line

MAX_FIELD_LENGTH = 500  # characters of a field, so that the card fits on one page


@dataclass(frozen=True)
class CardField:
    """A field of the card: name, title, hint and current text."""

    name: str
    title: str
    hint: str
    text: str


def fields(session: Session) -> list[CardField]:
    """Fields of the card with their current texts."""
    defaults = {} if session.fit is None else {"name": session.fit.request.table_name}
    return [
        CardField(
            name,
            name.replace("_", " ").capitalize(),
            hint,
            session.texts.get(f"card-{name}", "") or defaults.get(name, ""),
        )
        for name, hint in KNOWN.items()
    ]


def write_card(session: Session, typed: Mapping[str, str]) -> None:
    """Write the card with the typed details; the rest of it is unchanged, and no row is read."""
    fit = session.fit
    if fit is None or "card" not in fit.files:
        return
    typed_texts = {name: " ".join(typed.get(f"card-{name}", "").split())[:MAX_FIELD_LENGTH] for name in KNOWN}
    session.texts |= {f"card-{name}": text for name, text in typed_texts.items()}
    release = Release.load(fit.folder / FILES["release"].name)
    details = {name: text for name, text in typed_texts.items() if text}
    card = card_of(release, fit.request, **details)  # with the declarations of the fit
    write_atomically(fit.folder / FILES["card"].name, card.to_html())


def costs(plan: Plan | None, session: Session) -> dict[str, str]:
    """What each part of a plan costs in epsilon."""
    k = session.texts.get("k", "").strip()
    titles = {
        "seeds": f"at least {k} records behind every row", "rows": f"at least {k} records behind every row",
        "model": "the model", "domain": "values of columns", "types": "types of columns",
        "count": "a first count of the rows", "learning": "values of columns, and the model",
    }  # fmt: skip
    entries = [] if plan is None else plan.ledger.to_dict()["entries"]
    return {titles.get(e["name"], e["name"]): e["cost"] for e in entries if e["epsilon"] is not None}


TEMPLATES = Path(__file__).parent / "templates"
SHOWN_ROWS = 10
OF_RULES = ("person", "rows_per_person", "rules")
FIT_FOLDER = "made"
INSIDE = {  # headers of a generated page shown in the browser: it may run and load nothing
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
}
OWN_FILES = {"domain": DOMAIN, "rules": "rules.json"}


class AppPages:
    """All pages; ``place`` is the first part of every path, and ``close`` stops the server."""

    fitting = RunningFit  # what starts one

    def __init__(self, place: str, sessions: Sessions, close: Callable[[], object]) -> None:
        self.home, self.sessions, self._close = f"/{place}", sessions, close

    def application(self) -> Starlette:
        """Return the application, to be wrapped in a :class:`BrowserAccess`."""
        pages = {
            "": self.start, "rules": self.rules, "budget": self.budget, "fit": self.fit,
            "result": self.result, "progress": self.progress,
        }  # fmt: skip
        forms = {
            "rules": self.save_rules, "plan": self.plan, "planned": self.planned, "begin": self.begin,
            "cancel": self.cancel, "forget": self.forget, "close": self.close, "card": self.card,
        }  # fmt: skip
        files = {
            "style.css": review_pages.TEMPLATES, "review.js": review_pages.TEMPLATES, "app.css": TEMPLATES,
            "app.js": TEMPLATES,
        }  # fmt: skip
        return Starlette(
            routes=[
                *(Route(f"{self.home}/{name}", shown(handler)) for name, handler in pages.items()),
                *(
                    Route(f"{self.home}/{name}", posted(handler), methods=["POST"])
                    for name, handler in forms.items()
                ),
                *(Route(f"{self.home}/{name}", static(folder / name)) for name, folder in files.items()),
                Route(f"{self.home}/{UPLOAD}", self.open, methods=["POST"]),
                Route(f"{self.home}/files/{{key}}", self.file),
                Route(f"{self.home}/columns/", self.columns),
                Route(f"{self.home}/{CODEBOOK}", self.codebook, methods=["POST"]),
                Route(f"{self.home}/columns/{{what}}", self.columns_posted, methods=["POST"]),
            ]
        )

    # --- the table --------------------------------------------------------------------------------

    def start(self, session: Session, _: Mapping[str, str]) -> Response:
        """Show the form for a table."""
        return self._page("start", session, "", texts={})

    async def open(self, request: Request) -> Response:
        """Open a table from its path or an upload, with its declarations from other files."""
        session: Session = request.scope[SESSION]
        upload: Upload | None = request.scope.get(SENT)
        if upload is None:
            return PlainTextResponse("Send the form with its files.", 415)
        try:
            return await run_in_threadpool(self._open, session, upload)
        finally:
            await upload.form.close()

    def _open(self, session: Session, upload: Upload) -> Response:
        with session.lock:
            work = Path(tempfile.mkdtemp(dir=session.folder))
            try:
                review, messages = review_upload(work, upload, session.looks)
            except Exception as error:  # of files that may be anything
                shutil.rmtree(work)
                message = f"Nothing was opened: {one_line(error, True)}".replace(f"{work}/", "")
                return self._page("start", session, "", 422, texts=upload.texts, refused=message)
            columns = ColumnsPage(review, self.home, session.keys, lambda: session.fit, messages)
            session.take(work, review, columns)
            if is_large(review.table.path):
                session.texts["reading"] = "parts"
            return RedirectResponse(f"{self.home}/columns/", 303)

    def forget(self, session: Session, _: Mapping[str, str]) -> Response:
        """Delete the session's data, and start again."""
        session.forget()
        return RedirectResponse(f"{self.home}/", 303)

    def close(self, session: Session, _: Mapping[str, str]) -> Response:
        """End this session; the last one stops the server."""
        self.sessions.end(session)
        if not len(self.sessions):
            self._close()
        return HTMLResponse(templates().get_template("closed.html").render(home=self.home))

    # --- its columns ------------------------------------------------------------------------------

    def columns(self, request: Request) -> Response:
        """Show the declarations."""
        session: Session = request.scope[SESSION]
        return self._to_start() if session.columns is None else session.columns.home(request)

    async def columns_posted(self, request: Request) -> Response:
        """Save the declarations, or compare them with the rows."""
        session: Session = request.scope[SESSION]
        if session.columns is None:
            return self._to_start()
        page = session.columns
        handler = page.handlers.get(request.path_params["what"])
        if handler is None:
            return PlainTextResponse("Not found.", 404)
        response: Response = await page.posted(handler)(request)
        return response

    async def codebook(self, request: Request) -> Response:
        """Fill in columns from an uploaded code book."""
        session: Session = request.scope[SESSION]
        upload: Upload | None = request.scope.get(SENT)
        if upload is None:
            return PlainTextResponse("Send the form with its file.", 415)
        try:
            return await run_in_threadpool(self._codebook, session, upload)
        finally:
            await upload.form.close()

    def _codebook(self, session: Session, upload: Upload) -> Response:
        with session.lock:
            if session.columns is None or session.work is None:
                return self._to_start()
            work = Path(tempfile.mkdtemp(dir=session.work))
            try:
                return session.columns.codebook(upload, work)
            finally:
                shutil.rmtree(work)

    def rules(self, session: Session, _: Mapping[str, str]) -> Response:
        """Show the form for rules and the privacy unit."""
        return self._rules(session, {}) if session.review else self._to_start()

    def save_rules(self, session: Session, typed: Mapping[str, str]) -> Response:
        """Save the rules and continue, or add a rule."""
        if session.review is None:
            return self._to_start()
        session.texts |= {name: typed[name] for name in OF_RULES if name in typed}
        if "add" in typed:
            try:
                session.texts["rules"] = release_request.with_inequality(session.texts["rules"], typed)
            except ValueError as error:
                return self._rules(session, {"add": str(error)}, 422)
            return self._rules(session, {}, said="Added to the rules below.")
        _, refused = release_request.read_request(session.review.table, session.review.file, session.texts)
        refused = {name: refused[name] for name in OF_RULES if name in refused}
        if refused:
            return self._rules(session, refused, 422)
        return RedirectResponse(f"{self.home}/budget", 303)

    def _rules(
        self, session: Session, refusals: Mapping[str, str], status: int = 200, said: str = ""
    ) -> Response:
        context: dict[str, Any] = {
            "texts": {**release_request.USUAL, **session.texts},
            "refusals": refusals,
            "said": said,
        }
        context["examples"] = release_request.rules_to_json(
            [rule.to_dict() for rule in release_request.EXAMPLES]
        )
        return self._page("rules", session, "rules", status, **context)

    # --- the budget -------------------------------------------------------------------------------

    def budget(self, session: Session, _: Mapping[str, str]) -> Response:
        """Show the form for the budget."""
        return self._budget(session) if session.review else self._to_start()

    def plan(self, session: Session, typed: Mapping[str, str]) -> Response:
        """Show what the budget allows; no row is read."""
        if session.review is None:
            return self._to_start()
        plan, refusals = self._planned(session, typed)
        return self._budget(session, refusals, 422 if refusals else 200, plan=plan)

    def planned(self, session: Session, typed: Mapping[str, str]) -> Response:
        """Return the same as an HTML fragment for the page's script."""
        if session.review is None:
            return self._to_start()
        plan, refusals = self._planned(session, typed)
        context = {"plan": plan, "refusals": refusals, "texts": session.texts, "costs": costs(plan, session)}
        text = templates().get_template("planned.html").render(context)
        return HTMLResponse(text)

    def _planned(self, session: Session, typed: Mapping[str, str]) -> tuple[Plan | None, Mapping[str, str]]:
        request, refusals = self._read_request(session, typed)
        if request is None:
            return None, refusals
        try:
            return request.plan(), {}
        except Exception as error:  # also SDV's, on metadata; no row was read
            return None, {field_of_error(error, release_request.USUAL): one_line(error, False)}

    def _read_request(
        self, session: Session, typed: Mapping[str, str]
    ) -> tuple[release_request.ReleaseRequest | None, Mapping[str, str]]:
        """Read the release request from the fields typed now and before."""
        assert session.review is not None
        session.texts |= {name: typed[name] for name in release_request.USUAL if name in typed}
        return release_request.read_request(session.review.table, session.review.file, session.texts)

    def _budget(
        self,
        session: Session,
        refusals: Mapping[str, str] | None = None,
        status: int = 200,
        plan: Plan | None = None,
    ) -> Response:
        assert session.review is not None
        texts = {**release_request.USUAL, **session.texts}
        return self._page(
            "budget", session, "budget", status, texts=texts, refusals=refusals or {}, plan=plan,
            blanks=blanks(session.review.file), few=release_request.SMALL_COUNT_CHOICES,
            models=release_request.MODELS, tests=release_request.PRIVACY_TESTS,
            open=release_request.BLANK_CHOICES, reading=release_request.READING_CHOICES,
            spent=session.spent(), costs=costs(plan, session),
        )  # fmt: skip

    # --- the fit ----------------------------------------------------------------------------------

    def begin(self, session: Session, typed: Mapping[str, str]) -> Response:
        """Start the fit, unless its plan is invalid."""
        if session.review is None:
            return self._to_start()
        if session.fit is not None and session.fit.state == "running":
            return RedirectResponse(f"{self.home}/fit", 303)
        plan, refusals = self._planned(session, typed)
        request, _ = self._read_request(session, typed)
        if plan is None or request is None or session.work is None:
            return self._budget(session, refusals, 422)
        if not session.review.is_saved:  # the columns page was skipped
            session.review.save(session.review.file.columns, version(session.review.file))
        shutil.rmtree(session.work / FIT_FOLDER, ignore_errors=True)
        (session.work / FIT_FOLDER).mkdir(mode=0o700)
        (session.work / OWN_FILES["rules"]).write_text(session.texts.get("rules", "").strip() or "[]")
        session.start(self.fitting(request, session.work / FIT_FOLDER))
        return RedirectResponse(f"{self.home}/fit", 303)

    def fit(self, session: Session, _: Mapping[str, str]) -> Response:
        """Show the progress of the fit."""
        if session.fit is None:
            return RedirectResponse(f"{self.home}/budget", 303)
        return self._page("fit", session, "fit", fit=session.fit, stages=STAGES)

    def progress(self, session: Session, _: Mapping[str, str]) -> Response:
        """Return the same as JSON for the page's script."""
        fit = session.fit
        if fit is None:
            return JSONResponse({"state": "none"})
        status = {
            "state": fit.state,
            "stage": fit.stage,
            "step": fit.step,
            "at": fit.at,
            "charged": fit.charged,
            "elapsed": fit.elapsed,
            "times": fit.times,
        }
        return JSONResponse({**status, "entries": fit.entries, "released": fit.is_released})

    def cancel(self, session: Session, _: Mapping[str, str]) -> Response:
        """Cancel the fit; the page then shows what was charged."""
        if session.fit is not None:
            session.fit.cancel()
        return RedirectResponse(f"{self.home}/fit", 303)

    # --- the result -------------------------------------------------------------------------------

    def result(self, session: Session, _: Mapping[str, str]) -> Response:
        """Show the release, starting with the total."""
        fit = session.fit
        if fit is None or not fit.is_released:
            return RedirectResponse(f"{self.home}/{'budget' if fit is None else 'fit'}", 303)
        pending = fit.step if fit.state == "running" else ""  # before the files: one may come now
        files = named_files(fit.request)
        written = {key: files[key] for key in fit.files}
        lines: list[list[str]] = [[]]
        if "rows" in written:
            with (fit.folder / FILES["rows"].name).open(encoding="utf-8", newline="") as file:
                lines = [line for line, _ in zip(csv_reader(file), range(SHOWN_ROWS + 1), strict=False)]
        session.note_look(fit.looked)
        return self._page(
            "result", session, "result", fit=fit, made=written, still=pending, head=lines[0], rows=lines[1:],
            spent=session.spent(but=fit), card=fields(session),
            notes=by_column(fit.notes, list(fit.request.types)),
        )  # fmt: skip

    def card(self, session: Session, typed: Mapping[str, str]) -> Response:
        """Fill in the card."""
        write_card(session, typed)
        return RedirectResponse(f"{self.home}/result#card", 303)

    def file(self, request: Request) -> Response:
        """Send one of the session's own files; ``?show`` shows a page in the browser."""
        session: Session = request.scope[SESSION]
        key, fit = request.path_params["key"], session.fit
        if key in OWN_FILES and session.work is not None:
            path, name = session.work / OWN_FILES[key], OWN_FILES[key]
        elif fit is not None and key in fit.files:
            path, name = fit.folder / FILES[key].name, named_files(fit.request)[key].name
            if not FILES[key].is_public:
                session.note_look()
        else:
            return PlainTextResponse("There is no such file.", 404)
        if not path.is_file():
            return PlainTextResponse("There is no such file.", 404)
        if "show" in request.query_params and path.suffix == ".html":
            return FileResponse(path, media_type="text/html", headers=INSIDE)
        return FileResponse(path, filename=name)

    # --- shared -----------------------------------------------------------------------------------

    def _to_start(self) -> Response:
        return RedirectResponse(f"{self.home}/", 303)

    def _page(self, name: str, session: Session, here: str, status: int = 200, **context: Any) -> Response:
        fit = session.fit
        all_steps = steps(
            here,
            has_table=session.review is not None,
            has_fit=fit is not None,
            has_result=fit is not None and fit.is_released,
        )
        table = None if session.review is None else session.review.table
        defaults: dict[str, Any] = {
            "refused": "", "refusals": {}, "said": "", "home": self.home, "steps": all_steps, "table": table,
        }  # fmt: skip
        text = (
            templates()
            .get_template(f"{name}.html")
            .render(token=session.keys.form, **{**defaults, **context})
        )
        return HTMLResponse(text, status)

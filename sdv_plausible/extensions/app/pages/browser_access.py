"""Who is answered by the app: as on every page, and each browser as itself.

Endpoints do the work outside the event loop, for the session that asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.types import ASGIApp

from sdv_plausible.extensions.app.pages.sessions import Session, Sessions
from sdv_plausible.extensions.app.pages.uploads import read_upload
from sdv_plausible.extensions.app.serving.access_guard import (
    COOKIE,
    HEADERS,
    AccessGuard,
    AccessKeys,
    form_fields,
    is_same,
    refusal,
)

UPLOAD, SESSION, SENT = "open", "app.session", "app.upload"
OUR_HEADERS = {
    **HEADERS,  # and the pages' own script may ask for progress and plans
    "Content-Security-Policy": f"{HEADERS['Content-Security-Policy']}; connect-src 'self'",
}


class BrowserAccess(AccessGuard):
    """Lets in who has the token, each browser into a session of its own."""

    headers = OUR_HEADERS

    def __init__(
        self,
        app: ASGIApp,
        keys: AccessKeys,
        host: str,
        on_error: Callable[[Exception], object],
        *,
        sessions: Sessions,
        most_bytes: int,
    ) -> None:
        super().__init__(app, keys, host, on_error)
        self.sessions, self.most_bytes = sessions, most_bytes

    def _enter(self, request: Request) -> str | Response:
        session = self.sessions.find(request.cookies.get(COOKIE, "")) or self.sessions.begin()
        if session is None:
            return PlainTextResponse("Too many browsers are working here: close one of them.", 503)
        return session.keys.cookie

    def _form_secret(self, request: Request) -> str | None:
        session = self.sessions.find(request.cookies.get(COOKIE, ""))
        request.scope[SESSION] = session
        return None if session is None else session.keys.form

    async def _read(self, request: Request) -> bytes | Response:
        kind = request.headers.get("content-type", "").split(";")[0].strip()
        if kind != "multipart/form-data" or request.url.path != f"/{self.keys.place}/{UPLOAD}":
            return await super()._read(request)
        sent = await read_upload(request, self.most_bytes)
        if isinstance(sent, Response):
            return sent
        session: Session = request.scope[SESSION]
        if not is_same(sent.texts.get("token", ""), session.keys.form):
            await sent.form.close()
            return refusal("This form is of another page.", 403)
        request.scope[SENT] = sent
        return b""


Act = Callable[[Session, Mapping[str, str]], Response]


def shown(act: Act) -> Callable[[Request], Any]:
    """Return an endpoint that shows a page."""

    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(act, request.scope[SESSION], request.query_params)

    return endpoint


def posted(act: Act) -> Callable[[Request], Any]:
    """Return an endpoint that reads a form, and acts: one thing after the other for each session."""

    async def endpoint(request: Request) -> Response:
        typed, session = form_fields(await request.body()), request.scope[SESSION]

        def answer() -> Response:
            with session.lock:
                return act(session, typed)

        return await run_in_threadpool(answer)

    return endpoint


def static(path: Path) -> Callable[[Request], Response]:
    """Return an endpoint that hands out a file of the package."""
    return lambda _: FileResponse(path)

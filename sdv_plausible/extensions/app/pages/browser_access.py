"""Access control of the app: as on every page, with one session per browser.

Handlers run outside the event loop, for the session of the request.
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
from sdv_plausible.extensions.app.pages.uploads import MEGABYTE, read_upload
from sdv_plausible.extensions.app.serving.access_guard import (
    COOKIE,
    HEADERS,
    MAX_FIELDS,
    AccessGuard,
    AccessKeys,
    is_same,
    parse_form,
    refusal,
)

UPLOAD, CODEBOOK, SESSION, SENT = "open", "columns/codebook", "app.session", "app.upload"
MAX_CODEBOOK_BYTES = 20 * MEGABYTE  # with the fields of the columns
OUR_HEADERS = {
    **HEADERS,  # the pages' script may also request progress and plans
    "Content-Security-Policy": f"{HEADERS['Content-Security-Policy']}; connect-src 'self'",
}


class BrowserAccess(AccessGuard):
    """Admits requests with the token, each browser to its own session."""

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
        content_type = request.headers.get("content-type", "").split(";")[0].strip()
        limits = {UPLOAD: (self.most_bytes,), CODEBOOK: (MAX_CODEBOOK_BYTES, MAX_FIELDS)}
        limit = limits.get(request.url.path.removeprefix(f"/{self.keys.place}/"))
        if content_type != "multipart/form-data" or limit is None:
            return await super()._read(request)
        upload = await read_upload(request, *limit)
        if isinstance(upload, Response):
            return upload
        session: Session = request.scope[SESSION]
        if not is_same(upload.texts.get("token", ""), session.keys.form):
            await upload.form.close()
            return refusal("This form is of another page.", 403)
        request.scope[SENT] = upload
        return b""


Handler = Callable[[Session, Mapping[str, str]], Response]


def shown(handler: Handler) -> Callable[[Request], Any]:
    """Return an endpoint that shows a page."""

    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(handler, request.scope[SESSION], request.query_params)

    return endpoint


def posted(handler: Handler) -> Callable[[Request], Any]:
    """Return an endpoint that handles a form; a session's forms are handled one at a time."""

    async def endpoint(request: Request) -> Response:
        typed, session = parse_form(await request.body()), request.scope[SESSION]

        def handle() -> Response:
            with session.lock:
                return handler(session, typed)

        return await run_in_threadpool(handle)

    return endpoint


def static(path: Path) -> Callable[[Request], Response]:
    """Return an endpoint that sends a file of the package."""
    return lambda _: FileResponse(path)

"""Endpoints of pages: the work is done outside the event loop, for the session that asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from sdv_plausible.app.entrance import SESSION
from sdv_plausible.app.sessions import Session
from sdv_plausible.declaring.web.guard import form_fields

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

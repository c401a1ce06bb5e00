"""Who is answered: whoever was given the address, from this machine, in small messages.

The page is on 127.0.0.1, where any program and, through its user's browser, any web page may knock. So:

- the address has a random token; the first visit trades it for a cookie that scripts cannot read and that
  other sites do not send. Its path is random too, since cookies are shared by all ports of a machine;
- the Host header must be ours, so that a name that an attacker points at 127.0.0.1 gets nothing;
- what changes something comes as a form of our own page: right Origin, and a second token from the page;
- what comes in is small, and was read before anything is done; what goes out is kept in no cache, and may
  load nothing from elsewhere.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 2_000_000  # of a form
MOST_FIELDS = 20_000  # of a form
COOKIE = "sdv-plausible"
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(frozen=True)
class AccessKeys:
    """The secrets of one run, made of one random token, which the address says."""

    token: str

    def _made(self, what: str) -> str:
        return hmac.new(self.token.encode(), what.encode(), hashlib.sha256).hexdigest()

    @property
    def place(self) -> str:
        """First part of every path, which the cookie is for."""
        return self._made("place")[:16]

    @property
    def cookie(self) -> str:
        """What the browser is given."""
        return self._made("cookie")

    @property
    def form(self) -> str:
        """What a form of the page holds."""
        return self._made("form")


class AccessGuard:
    """Lets in who has the token, and nobody else; the application sees paths below :attr:`AccessKeys.place`."""

    # ``on_error`` gets what it raises: texts of errors may quote cells, so they go into no answer and no log.
    headers: Mapping[str, str] = HEADERS

    def __init__(
        self, app: ASGIApp, keys: AccessKeys, host: str, on_error: Callable[[Exception], object]
    ) -> None:
        self.app, self.keys, self.host, self.on_error = app, keys, host, on_error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        refused = self._refusal(request)
        body = b""
        if refused is None and request.method == "POST":
            read = await self._read(request)
            refused, body = (read, b"") if isinstance(read, Response) else (None, read)
        guarded = _Headers(send, self.headers)
        if refused is not None:
            await refused(scope, receive, guarded)
            return
        try:
            await self.app(scope, _again(body, receive), guarded)
        except Exception as error:
            self.on_error(error)
            if not guarded.started:
                text = f"{type(error).__name__}: nothing was saved by this request."
                await PlainTextResponse(text, 500)(scope, receive, guarded)

    def _refusal(self, request: Request) -> Response | None:
        """Why a request is not let in, before its body is read; or the way in, on the first visit."""
        if request.headers.getlist("host") != [self.host]:
            return refusal("Unknown host.", 421)
        if request.method not in ("GET", "POST"):
            return PlainTextResponse("Not allowed.", 405)
        home = f"/{self.keys.place}/"
        given = request.query_params.get("token")
        if request.method == "GET" and given is not None and request.url.path == home:
            if not is_same(given, self.keys.token):
                return refusal("Open the address that the program printed.", 403)
            entry = RedirectResponse(home, 303)
            cookie = self._enter(request)
            if isinstance(cookie, Response):
                return cookie
            entry.set_cookie(COOKIE, cookie, path=home, httponly=True, samesite="strict")
            return entry
        if self._form_secret(request) is None:
            return refusal("Open the address that the program printed.", 403)
        if request.method == "POST" and request.headers.get("origin") != f"http://{self.host}":
            return refusal("This form is of another page.", 403)
        return None

    def _enter(self, _: Request) -> str | Response:
        """The cookie of a browser that was given the address, or why it gets none."""
        return self.keys.cookie

    def _form_secret(self, request: Request) -> str | None:
        """What forms of the asking browser must hold; None if it was not let in."""
        return self.keys.form if is_same(request.cookies.get(COOKIE, ""), self.keys.cookie) else None

    async def _read(self, request: Request) -> bytes | Response:
        """The form, read before anything is done with it, or why it is not taken."""
        body = await _body(request)
        if isinstance(body, Response):
            return body
        return self._form_refusal(body, self._form_secret(request)) or body

    def _form_refusal(self, body: bytes, secret: str | None) -> Response | None:
        try:
            fields = form_fields(body)
        except ValueError:
            return PlainTextResponse("This is no form, or has too many fields.", 400)
        if secret is None or not is_same(fields.get("token", ""), secret):
            return refusal("This form is of another page.", 403)
        return None


def refusal(text: str, code: int) -> Response:
    """An answer to who is not let in: the connection ends, so that many of them keep nobody out."""
    return PlainTextResponse(text, code, headers={"Connection": "close"})


def is_same(given: str, secret: str) -> bool:
    """Whether a secret was given; the time that it takes does not tell how much of it is right."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), secret.encode())


def form_fields(body: bytes) -> dict[str, str]:
    """The fields of a form; a ValueError if it is not UTF-8, has too many fields, or one twice."""
    text = body.decode("ascii")
    pairs = parse_qsl(
        text, keep_blank_values=True, strict_parsing=True, errors="strict", max_num_fields=MOST_FIELDS
    )
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field is there twice")
    return fields


async def _body(request: Request) -> bytes | Response:
    """The whole body, or why it is not taken."""
    if request.headers.get("content-type", "").split(";")[0].strip() != "application/x-www-form-urlencoded":
        return PlainTextResponse("Only forms are taken.", 415)
    too_large = PlainTextResponse(f"A form of more than {MOST_BYTES:,} bytes is not taken.", 413)
    length = request.headers.get("content-length", "0")
    if not length.isdigit() or int(length) > MOST_BYTES:
        return too_large
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BYTES:
            return too_large
        parts.append(part)
    return b"".join(parts)


def _again(body: bytes, receive: Receive) -> Receive:
    """The body for the application, which was read once; then what comes next, such as the end."""
    parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return parts.pop() if parts else await receive()

    return again


class _Headers:
    """Sends, with our headers on every answer that has none of its own by their names."""

    def __init__(self, send: Send, ours: Mapping[str, str]) -> None:
        self._send, self._ours, self.started = send, ours, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            theirs = MutableHeaders(scope=message)
            for name, value in self._ours.items():
                theirs.setdefault(name, value)
        await self._send(message)

"""Access control: only browsers that got the address, from this machine, with small requests.

The server listens on 127.0.0.1. Any local program can connect to it, and so can any web page through its
user's browser. Therefore:

- The address has a random token. The first visit exchanges it for a cookie that scripts cannot read and that
  browsers do not send from other sites. The path is random too, since all ports of a machine share cookies.
- The Host header must match, so that a host name that an attacker points at 127.0.0.1 is rejected.
- Requests that change state must be forms of our own page: with the right Origin and a second token.
- Requests are small and read completely before they are handled. Responses are not cached, and may not load
  anything from elsewhere.
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
MAX_FIELDS = 20_000  # of a form
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
    """Secrets of one run, derived from the random token in the address."""

    token: str

    def _derive(self, what: str) -> str:
        return hmac.new(self.token.encode(), what.encode(), hashlib.sha256).hexdigest()

    @property
    def place(self) -> str:
        """First part of every path; the cookie is limited to it."""
        return self._derive("place")[:16]

    @property
    def cookie(self) -> str:
        """Value of the cookie."""
        return self._derive("cookie")

    @property
    def form(self) -> str:
        """Token in the page's forms."""
        return self._derive("form")


class AccessGuard:
    """Admits requests with the token only; wraps an application with paths below :attr:`AccessKeys.place`."""

    # ``on_error`` receives exceptions: their messages may quote cells, so responses and logs omit them.
    headers: Mapping[str, str] = HEADERS

    def __init__(
        self, app: ASGIApp, keys: AccessKeys, host: str, on_error: Callable[[Exception], object]
    ) -> None:
        self.app, self.keys, self.host, self.on_error = app, keys, host, on_error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle or reject a request."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        refused = self._refusal(request)
        body = b""
        if refused is None and request.method == "POST":
            read = await self._read(request)
            refused, body = (read, b"") if isinstance(read, Response) else (None, read)
        guarded_send = _Headers(send, self.headers)
        if refused is not None:
            await refused(scope, receive, guarded_send)
            return
        try:
            await self.app(scope, _replayed(body, receive), guarded_send)
        except Exception as error:
            self.on_error(error)
            if not guarded_send.started:
                text = f"{type(error).__name__}: nothing was saved by this request."
                await PlainTextResponse(text, 500)(scope, receive, guarded_send)

    def _refusal(self, request: Request) -> Response | None:
        """Reject a request before its body is read (a response) or admit it (None); exchanges the token."""
        if request.headers.getlist("host") != [self.host]:
            return refusal("Unknown host.", 421)
        if request.method not in ("GET", "POST"):
            return PlainTextResponse("Not allowed.", 405)
        home = f"/{self.keys.place}/"
        token = request.query_params.get("token")
        if request.method == "GET" and token is not None and request.url.path == home:
            if not is_same(token, self.keys.token):
                return refusal("Open the address that the program printed.", 403)
            redirect = RedirectResponse(home, 303)
            cookie = self._enter(request)
            if isinstance(cookie, Response):
                return cookie
            redirect.set_cookie(COOKIE, cookie, path=home, httponly=True, samesite="strict")
            return redirect
        if self._form_secret(request) is None:
            return refusal("Open the address that the program printed.", 403)
        if request.method == "POST" and request.headers.get("origin") != f"http://{self.host}":
            return refusal("This form is of another page.", 403)
        return None

    def _enter(self, _: Request) -> str | Response:
        """Cookie for a browser with the token, or an error response."""
        return self.keys.cookie

    def _form_secret(self, request: Request) -> str | None:
        """Token required in the forms of this browser; None if it is not admitted."""
        return self.keys.form if is_same(request.cookies.get(COOKIE, ""), self.keys.cookie) else None

    async def _read(self, request: Request) -> bytes | Response:
        """Read the complete form, or return an error response."""
        body = await _body(request)
        if isinstance(body, Response):
            return body
        return self._form_refusal(body, self._form_secret(request)) or body

    def _form_refusal(self, body: bytes, secret: str | None) -> Response | None:
        try:
            fields = parse_form(body)
        except ValueError:
            return PlainTextResponse("This is no form, or has too many fields.", 400)
        if secret is None or not is_same(fields.get("token", ""), secret):
            return refusal("This form is of another page.", 403)
        return None


def refusal(text: str, code: int) -> Response:
    """Error response for a rejected client. It closes the connection, so that clients cannot occupy all."""
    return PlainTextResponse(text, code, headers={"Connection": "close"})


def is_same(given: str, secret: str) -> bool:
    """Compare with a secret in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), secret.encode())


def parse_form(body: bytes) -> dict[str, str]:
    """Parse a form; raises ValueError if it is not UTF-8, has too many fields, or a field twice."""
    text = body.decode("ascii")
    pairs = parse_qsl(
        text, keep_blank_values=True, strict_parsing=True, errors="strict", max_num_fields=MAX_FIELDS
    )
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field is there twice")
    return fields


async def _body(request: Request) -> bytes | Response:
    """Read the complete body, or return an error response."""
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


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Replay a body that was read, followed by later messages."""
    parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return parts.pop() if parts else await receive()

    return replay


class _Headers:
    """Sends messages, with default headers added to each response."""

    def __init__(self, send: Send, ours: Mapping[str, str]) -> None:
        self._send, self._defaults, self.started = send, ours, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            theirs = MutableHeaders(scope=message)
            for name, value in self._defaults.items():
                theirs.setdefault(name, value)
        await self._send(message)

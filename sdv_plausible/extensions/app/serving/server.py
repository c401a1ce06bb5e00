"""Local web server of the app's pages, on a free port."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from sdv_plausible.extensions.app.serving.access_guard import AccessGuard, AccessKeys

LOOPBACK = "127.0.0.1"
MOST_WAITING, MAX_CONNECTIONS = 50, 200
HEADER_SECONDS = 10.0  # time limit for a request's header
BODY_SECONDS, MIN_BYTES = 30.0, 65_536  # a body must bring this many bytes in this time
MakeApplication = Callable[[AccessKeys, str, Callable[[], object]], AccessGuard]
"""Access keys, host, and a function that stops the server -> guarded application."""


def serve(make: MakeApplication, report: Callable[[str], object], token: str) -> None:
    """Serve pages until the user closes them or interrupts the program."""
    # ``report`` receives the address once the server listens. The address contains the secret token, so it is
    # printed to a terminal and not stored. No browser is started with it: all users of a machine can see the
    # arguments of programs.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.bind((LOOPBACK, 0))
        listening.listen()
        host = f"{LOOPBACK}:{listening.getsockname()[1]}"
        keys = AccessKeys(token)
        server = uvicorn.Server(settings(make(keys, host, lambda: setattr(server, "should_exit", True))))
        report(f"http://{host}/{keys.place}/?token={keys.token}")
        server.run(sockets=[listening])


class LimitedProtocol(H11Protocol):
    """HTTP/1.1 that drops slow connections, and closes the oldest waiting one if there are too many."""

    # Any user of this machine can open idle or slow connections. They must not lock the owner out.
    waiting: list[LimitedProtocol] = []  # noqa: RUF012  of all connections of this process, oldest first
    header_seconds, body_seconds = HEADER_SECONDS, BODY_SECONDS
    _awaited: object = None  # "header", or the request whose body is incomplete
    _deadline: asyncio.TimerHandle | None = None
    _received = 0  # bytes received since the deadline was set

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Close the oldest waiting connection if there are too many, then add this one."""
        super().connection_made(transport)
        self.waiting[:] = [one for one in self.waiting if not one.cycle]
        if len(self.waiting) >= MOST_WAITING:
            self.waiting.pop(0).transport.close()
        self.waiting.append(self)
        self._set_deadline("header")

    def data_received(self, data: bytes) -> None:
        """Handle data, and update the deadline."""
        super().data_received(data)
        self._received += len(data)
        self._update_deadline()

    def on_response_complete(self) -> None:
        """Update the deadline for the next request."""
        super().on_response_complete()
        self._update_deadline()

    def connection_lost(self, exc: Any) -> None:
        """Cancel the deadline."""
        super().connection_lost(exc)
        self._set_deadline(None)
        if self in self.waiting:
            self.waiting.remove(self)

    def _update_deadline(self) -> None:
        """Set a deadline for an incomplete request; between requests uvicorn's own timeout applies."""
        cycle = self.cycle
        if cycle and cycle.more_body:
            awaited: object = cycle
        elif cycle and not (cycle.response_complete and self.conn.trailing_data[0]):
            awaited = None
        else:
            awaited = "header"
        if awaited is not self._awaited:  # further bytes of the same request do not extend the deadline
            self._set_deadline(awaited)

    def _set_deadline(self, awaited: object) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        seconds = self.header_seconds if awaited == "header" else self.body_seconds
        self._awaited, self._received = awaited, 0
        self._deadline = self.loop.call_later(seconds, self._drop_if_slow) if awaited else None

    def _drop_if_slow(self) -> None:
        """Drop the connection, unless its body progresses or the application does not read."""
        is_body = self._awaited is self.cycle and not self.cycle.response_complete
        if is_body and (self._received >= MIN_BYTES or self.flow.read_paused):
            self._set_deadline(self._awaited)
        else:
            self.transport.abort()


def settings(app: AccessGuard) -> uvicorn.Config:
    """Return the server's configuration: no logs, no proxies, few connections."""
    return uvicorn.Config(
        app,
        log_config=None,
        log_level="critical",
        access_log=False,
        lifespan="off",
        ws="none",
        http=LimitedProtocol,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=5,
    )

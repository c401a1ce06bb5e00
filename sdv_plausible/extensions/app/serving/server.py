"""The server of the pages: on this machine alone, on a free port, until it is closed."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from sdv_plausible.extensions.app.serving.access_guard import AccessGuard, AccessKeys

LOOPBACK = "127.0.0.1"
MOST_WAITING, MOST_CONNECTIONS = 50, 200
HEADER_SECONDS = 10.0  # a request's header is whole by then
BODY_SECONDS, LEAST_BYTES = 30.0, 65_536  # a body brings so many bytes in so long, or its end
Make = Callable[[AccessKeys, str, Callable[[], object]], AccessGuard]
"""Secrets, host and what ends the server -> the application behind its guard."""


def serve(make: Make, tell: Callable[[str], object], token: str) -> None:
    """Serve pages until they are closed there, or interrupted."""
    # ``token`` is secret. ``tell`` gets the address, once somebody listens there, and it holds the token: it
    # goes to a terminal and into no file; no browser is started with it, since every user of a machine sees
    # arguments of programs.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.bind((LOOPBACK, 0))
        listening.listen()
        host = f"{LOOPBACK}:{listening.getsockname()[1]}"
        keys = AccessKeys(token)
        server = uvicorn.Server(settings(make(keys, host, lambda: setattr(server, "should_exit", True))))
        tell(f"http://{host}/{keys.place}/?token={keys.token}")
        server.run(sockets=[listening])


class OldestGoes(H11Protocol):
    """Of connections without a whole request the oldest makes room for a new one; slow ones are dropped."""

    # Any user of this machine can open connections and be silent, or send a byte now and then: the owner is
    # not kept out by them.
    waiting: list[OldestGoes] = []  # noqa: RUF012  of all connections of this process, oldest first
    header_seconds, body_seconds = HEADER_SECONDS, BODY_SECONDS
    _awaited: object = None  # "header", or the request whose body is not whole
    _deadline: asyncio.TimerHandle | None = None
    _came = 0  # bytes, since the deadline was set

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Let the oldest silent connection go, if there are many, before this one is counted."""
        super().connection_made(transport)
        self.waiting[:] = [one for one in self.waiting if not one.cycle]
        if len(self.waiting) >= MOST_WAITING:
            self.waiting.pop(0).transport.close()
        self.waiting.append(self)
        self._await("header")

    def data_received(self, data: bytes) -> None:
        """Take what came, and say what must come next."""
        super().data_received(data)
        self._came += len(data)
        self._look()

    def on_response_complete(self) -> None:
        """Look at what came of the next request meanwhile."""
        super().on_response_complete()
        self._look()

    def connection_lost(self, exc: Any) -> None:
        """Wait no longer."""
        super().connection_lost(exc)
        self._await(None)
        if self in self.waiting:
            self.waiting.remove(self)

    def _look(self) -> None:
        """Await what is not whole; between two requests nothing is, and uvicorn's own time for that runs."""
        cycle = self.cycle
        if cycle and cycle.more_body:
            awaited: object = cycle
        elif cycle and not (cycle.response_complete and self.conn.trailing_data[0]):
            awaited = None
        else:
            awaited = "header"
        if awaited is not self._awaited:  # a byte more of the same gives no more time
            self._await(awaited)

    def _await(self, awaited: object) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        seconds = self.header_seconds if awaited == "header" else self.body_seconds
        self._awaited, self._came = awaited, 0
        self._deadline = self.loop.call_later(seconds, self._end_slow) if awaited else None

    def _end_slow(self) -> None:
        """Drop the connection, unless its body came on, or it is the application that does not read."""
        is_body = self._awaited is self.cycle and not self.cycle.response_complete
        if is_body and (self._came >= LEAST_BYTES or self.flow.read_paused):
            self._await(self._awaited)
        else:
            self.transport.abort()


def settings(app: AccessGuard) -> uvicorn.Config:
    """Return how it is served: no log of any kind, no proxies, few connections."""
    return uvicorn.Config(
        app,
        log_config=None,
        log_level="critical",
        access_log=False,
        lifespan="off",
        ws="none",
        http=OldestGoes,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=5,
    )

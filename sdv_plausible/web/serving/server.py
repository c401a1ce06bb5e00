"""The server of the pages: on this machine alone, on a free port, until it is closed."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from sdv_plausible.web.serving.guard import Guard, Keys

LOOPBACK = "127.0.0.1"
MOST_WAITING, MOST_CONNECTIONS = 50, 200
Make = Callable[[Keys, str, Callable[[], object]], Guard]
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
        keys = Keys(token)
        server = uvicorn.Server(settings(make(keys, host, lambda: setattr(server, "should_exit", True))))
        tell(f"http://{host}/{keys.place}/?token={keys.token}")
        server.run(sockets=[listening])


class OldestGoes(H11Protocol):
    """Of connections that have sent no whole request yet, the oldest makes room for a new one."""

    # Any user of this machine can open connections and be silent: the owner is not kept out by them.
    waiting: list[OldestGoes] = []  # noqa: RUF012  of all connections of this process, oldest first

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Let the oldest silent connection go, if there are many, before this one is counted."""
        super().connection_made(transport)
        self.waiting[:] = [one for one in self.waiting if not one.cycle]
        if len(self.waiting) >= MOST_WAITING:
            self.waiting.pop(0).transport.close()
        self.waiting.append(self)

    def connection_lost(self, exc: Any) -> None:
        """Wait no longer."""
        super().connection_lost(exc)
        if self in self.waiting:
            self.waiting.remove(self)


def settings(app: Guard) -> uvicorn.Config:
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

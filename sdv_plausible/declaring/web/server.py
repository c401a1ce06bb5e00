"""The server of the pages: on this machine alone, on a free port, until it is closed."""

from __future__ import annotations

import base64
import socket
from collections.abc import Callable

import uvicorn

from sdv_plausible.declaring.web.guard import Guard, Keys
from sdv_plausible.privacy.noise.coins import Coins

LOOPBACK = "127.0.0.1"
Make = Callable[[Keys, str, Callable[[], object]], Guard]
"""Secrets, host and what ends the server -> the application behind its guard."""


def serve(make: Make, tell: Callable[[str], object]) -> None:
    """Serve pages until they are closed there, or interrupted.

    Parameters
    ----------
    make : callable
        Makes what is served.
    tell : callable
        Gets the address, once somebody listens there. It holds the token, so it goes to a terminal and into
        no file; no browser is started with it, since every user of a machine sees arguments of programs.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.bind((LOOPBACK, 0))
        listening.listen()
        host = f"{LOOPBACK}:{listening.getsockname()[1]}"
        keys = Keys(new_token())
        server = uvicorn.Server(settings(make(keys, host, lambda: setattr(server, "should_exit", True))))
        tell(f"http://{host}/{keys.place}/?token={keys.token}")
        server.run(sockets=[listening])


def settings(app: Guard) -> uvicorn.Config:
    """Return how it is served: no log of any kind, no proxies, few connections."""
    return uvicorn.Config(
        app,
        log_config=None,
        log_level="critical",
        access_log=False,
        lifespan="off",
        ws="none",
        http="h11",
        proxy_headers=False,
        server_header=False,
        limit_concurrency=50,
        timeout_graceful_shutdown=5,
    )


def new_token() -> str:
    """Return 256 random bits as text for an address."""
    drawn = Coins.from_os_entropy().spawn("pages").bytes(32)
    return base64.urlsafe_b64encode(drawn).decode().rstrip("=")

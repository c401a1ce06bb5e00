"""The server of the review page: on this machine alone, on a free port, until it is closed."""

from __future__ import annotations

import base64
import socket
from collections.abc import Callable

import uvicorn

from sdv_plausible.declaring.review import Review
from sdv_plausible.declaring.web.guard import Guard, Keys
from sdv_plausible.declaring.web.pages import Pages
from sdv_plausible.privacy.noise.coins import Coins

LOOPBACK = "127.0.0.1"


def serve(review: Review, tell: Callable[[str], object], on_error: Callable[[Exception], object]) -> None:
    """Serve the page until it is closed there, or interrupted.

    Parameters
    ----------
    review : Review
        What the page works on.
    tell : callable
        Gets the address, once somebody listens there. It holds the token, so it goes to a terminal and into
        no file; no browser is started with it, since every user of a machine sees arguments of programs.
    on_error : callable
        Gets errors of the application, which may quote cells.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.bind((LOOPBACK, 0))
        listening.listen()
        host = f"{LOOPBACK}:{listening.getsockname()[1]}"
        keys = Keys(new_token())
        pages = Pages(review, keys, lambda: setattr(server, "should_exit", True))
        server = uvicorn.Server(settings(Guard(pages.application(), keys, host, on_error)))
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
    drawn = Coins.from_os_entropy().spawn("review page").bytes(32)
    return base64.urlsafe_b64encode(drawn).decode().rstrip("=")

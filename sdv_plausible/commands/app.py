"""The command ``sdv-plausible app``: from a table to a release in a browser on this machine."""

from __future__ import annotations

import argparse
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING

from sdv_plausible.commands.on_disk import UsageError
from sdv_plausible.commands.speaking import say, show

if TYPE_CHECKING:
    from sdv_plausible.web.serving.guard import Guard, Keys
NEEDED = ("starlette", "uvicorn", "python_multipart")


def add_options(command: argparse.ArgumentParser) -> None:
    """What ``app`` is told."""
    words = "of an upload (default: 500; a table that is named by its path has no limit)"
    command.add_argument("--largest", type=int, default=500, metavar="MB", help=words)


def run(options: argparse.Namespace) -> None:
    """Serve the app until it is closed, and remove what it held."""
    if any(find_spec(name) is None for name in NEEDED):
        raise UsageError(f"the app needs {', '.join(NEEDED)}: pip install 'sdv-plausible[app]'")
    if options.largest < 1:
        raise UsageError(f"--largest ({options.largest}) must be at least 1, in megabytes; try 500")
    from sdv_plausible.commands.declare import serving
    from sdv_plausible.privacy.noise.coins import new_token
    from sdv_plausible.web.app.entrance import Entrance
    from sdv_plausible.web.app.opening import MEGABYTE
    from sdv_plausible.web.app.pages import App
    from sdv_plausible.web.app.sessions import private_sessions
    from sdv_plausible.web.serving.server import serve

    def on_error(error: Exception) -> None:
        if options.debug:
            traceback.print_exception(error)

    threading.Thread(target=_load_early, daemon=True).start()
    with suppress(KeyboardInterrupt), private_sessions(new_token) as sessions:

        def make(keys: Keys, host: str, close: Callable[[], object]) -> Guard:
            app = App(keys.place, sessions, close).application()
            return Entrance(
                app, keys, host, on_error, sessions=sessions, most_bytes=options.largest * MEGABYTE
            )

        serve(make, lambda address: say(options, serving(address), {"address": address}), new_token())
    if not options.json:
        show("Closed. Nothing is kept but what you saved.")


def _load_early() -> None:
    """Load what the first plan needs, while somebody chooses a table: SDV takes seconds."""
    import sdv_plausible.sdv.synthesizer  # noqa: F401

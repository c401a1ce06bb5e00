"""The command ``sdv-plausible app``: from a table to a release, in a browser on this machine."""

from __future__ import annotations

import argparse
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING

from sdv_plausible.cli.files import UsageError
from sdv_plausible.cli.output import print_line, print_result

if TYPE_CHECKING:
    from sdv_plausible.extensions.app.serving.access_guard import AccessGuard, AccessKeys

PURPOSE = "make a release in a browser, on this machine, without code"
EXAMPLE = ""
NEEDED = ("starlette", "uvicorn", "python_multipart")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of ``app``."""
    words = "of an upload (default: 500; a table that is named by its path has no limit)"
    command.add_argument("--largest", type=int, default=500, metavar="MB", help=words)


def run(options: argparse.Namespace) -> None:
    """Serve the app until it is closed, then remove its files."""
    if any(find_spec(name) is None for name in NEEDED):
        raise UsageError(f"the app needs {', '.join(NEEDED)}: pip install 'sdv-plausible[app]'")
    if options.largest < 1:
        raise UsageError(f"--largest ({options.largest}) must be at least 1, in megabytes; try 500")
    from sdv_plausible.extensions.app.pages.app_pages import AppPages
    from sdv_plausible.extensions.app.pages.browser_access import BrowserAccess
    from sdv_plausible.extensions.app.pages.sessions import private_sessions
    from sdv_plausible.extensions.app.pages.uploads import MEGABYTE
    from sdv_plausible.extensions.app.review.review_command import serving
    from sdv_plausible.extensions.app.serving.server import serve
    from sdv_plausible.privacy.noise.keyed_rng import new_token

    def on_error(error: Exception) -> None:
        if options.debug:
            traceback.print_exception(error)

    threading.Thread(target=_load_early, daemon=True).start()
    with suppress(KeyboardInterrupt), private_sessions(new_token) as sessions:

        def make(keys: AccessKeys, host: str, close: Callable[[], object]) -> AccessGuard:
            app = AppPages(keys.place, sessions, close).application()
            return BrowserAccess(
                app, keys, host, on_error, sessions=sessions, most_bytes=options.largest * MEGABYTE
            )

        serve(
            make, lambda address: print_result(options, serving(address), {"address": address}), new_token()
        )
    if not options.json:
        print_line("Closed. Nothing is kept but what you saved.")


def _load_early() -> None:
    """Import SDV in the background, which takes seconds, while the user chooses a table."""
    import sdv_plausible.sdv.synthesizer  # noqa: F401

"""Programs that are ended by a signal once they are where a test wants them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGKILL") if hasattr(signal, name)]
READY = "print('ready', flush=True); signal.pause()"


@contextmanager
def waiting(
    script: str, *arguments: str | Path, **environment: str
) -> Iterator[subprocess.Popen[str]]:
    """A program that has said that it is ready, and waits for a signal (``READY``); ended in any case.

    Standard error is shown with a failure, and goes to the test's own otherwise.
    """
    place = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    running = subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": place, **environment},
    )  # fmt: skip
    assert running.stdout is not None
    try:
        assert running.stdout.readline() == "ready\n"
        yield running
    finally:
        running.kill()
        running.wait()
        running.stdout.close()


def ended(running: subprocess.Popen[str], number: int) -> int:
    """Send a signal, and return with what the program ended."""
    running.send_signal(number)
    return running.wait(60)

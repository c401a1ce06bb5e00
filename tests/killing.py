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
AS_USUAL = "import signal\n" + "".join(  # though the tests run under nohup
    f"signal.signal({int(number)}, signal.SIG_DFL)\n" for number in SIGNALS if number.name != "SIGKILL"
)
READY = "print('ready', flush=True); signal.pause()"


@contextmanager
def waiting(script: str, *arguments: str | Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A program that has said that it is ready, and waits for a signal (``READY``); ended in any case."""
    place = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    running = subprocess.Popen(
        [sys.executable, "-c", AS_USUAL + script, *map(str, arguments)],
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

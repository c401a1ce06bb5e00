"""Progress of a fit: for the data owner, and no part of a release."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

INTERVAL = 0.3  # seconds
ReportProgress = Callable[[str], object]


class Progress:
    """Reports the stage of a fit. For a table in parts, also the pass, the rows read, and the peak memory."""

    def __init__(self, tell: ReportProgress | None = None) -> None:
        # ``tell``: receives each line; none by default.
        self._tell, self._stage, self._next = tell, "", 0.0
        self._passes, self._rows, self._total = 0, 0, 0

    def stage(self, words: str) -> None:
        """Start a stage of the fit."""
        self._stage = words
        self._show()

    def begin(self) -> None:
        """Start a pass."""
        self._passes, self._rows, self._total = self._passes + 1, 0, self._rows

    def read(self, rows: int) -> None:
        """Add rows of this pass."""
        self._rows += rows
        if self._tell is None or (now := time.monotonic()) < self._next:
            return
        self._next = now + INTERVAL
        known = f" of {self._total:,}" if self._total else ""  # every pass reads all rows
        self._show(f"pass {self._passes}, {self._rows:,}{known} rows{_memory()}")

    def _show(self, words: str = "") -> None:
        if self._tell is not None:
            self._tell(", ".join(filter(None, (self._stage, words))))


NO_PROGRESS = Progress()


@contextmanager
def on_terminal() -> Iterator[ReportProgress]:
    """Function that shows a line on standard error and overwrites the previous one."""
    from tqdm.auto import tqdm

    with tqdm(bar_format="{desc} [{elapsed}]", leave=False) as line:
        yield line.set_description_str


def _memory() -> str:
    try:
        import resource
    except ImportError:  # Windows
        return ""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return f", {peak / 1e9:.1f} GB of memory in this process"

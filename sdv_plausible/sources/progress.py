"""Progress of a fit that reads a table in parts: for the data owner, and no part of a release."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

INTERVAL = 0.3  # seconds
ReportProgress = Callable[[str], object]


class Progress:
    """Reports the pass, the number of rows read, and the peak memory of this process."""

    def __init__(self, tell: ReportProgress | None = None) -> None:
        # ``tell``: receives each line; none by default.
        self._tell, self._passes, self._rows, self._next = tell, 0, 0, 0.0

    def begin(self) -> None:
        """Start a pass."""
        self._passes, self._rows = self._passes + 1, 0

    def read(self, rows: int) -> None:
        """Add rows of this pass."""
        self._rows += rows
        if self._tell is None or (now := time.monotonic()) < self._next:
            return
        self._next = now + INTERVAL
        self._tell(f"pass {self._passes}, {self._rows:,} rows{_memory()}")


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

"""How far a fit is that reads a table in parts: for whoever holds the rows, and no part of a release."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

EVERY = 0.3  # seconds
Tell = Callable[[str], object]


class Progress:
    """Tells which pass it is, how many rows it has read, and the most memory that this process has held.

    Parameters
    ----------
    tell : callable, optional
        What hears the line; none by default.
    """

    def __init__(self, tell: Tell | None = None) -> None:
        self._tell, self._passes, self._rows, self._next = tell, 0, 0, 0.0

    def begin(self) -> None:
        """Begin a pass."""
        self._passes, self._rows = self._passes + 1, 0

    def read(self, rows: int) -> None:
        """Count rows of this pass."""
        self._rows += rows
        if self._tell is None or (now := time.monotonic()) < self._next:
            return
        self._next = now + EVERY
        self._tell(f"pass {self._passes}, {self._rows:,} rows{_memory()}")


SILENT = Progress()


@contextmanager
def on_terminal() -> Iterator[Tell]:
    """Who writes the line over itself on standard error."""
    from tqdm.auto import tqdm

    with tqdm(bar_format="{desc} [{elapsed}]", leave=False) as line:
        yield line.set_description_str


def _memory() -> str:
    try:
        import resource
    except ImportError:  # Windows
        return ""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return f", {most / 1e9:.1f} GB of memory in this process"

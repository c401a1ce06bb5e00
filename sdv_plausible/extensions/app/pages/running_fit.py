"""A fit as whoever started it sees it: how far it is, what it charged, what it left; and its end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Literal

from sdv_plausible.extensions.app.pages.background_fit import FILES, STAGES, LookedAt, run_alone
from sdv_plausible.extensions.app.pages.release_request import ReleaseRequest

State = Literal["running", "done", "failed", "cancelled"]
NOTHING = "nothing: no row has been asked"
PATIENCE = 5.0  # seconds that a process has to end


Start = Callable[[ReleaseRequest, Path], tuple[BaseProcess, Connection]]


def start_process(order: ReleaseRequest, folder: Path) -> tuple[BaseProcess, Connection]:
    """Start a fresh process, which shares nothing with the server, and return what it tells."""
    context = get_context("spawn")
    heard, told = context.Pipe(duplex=False)
    process = context.Process(target=run_alone, args=(order, folder, told), daemon=True)
    process.start()
    told.close()
    return process, heard


class RunningFit:
    """A fit that runs, or has ended; its files go to a private folder."""

    def __init__(self, order: ReleaseRequest, folder: Path, start: Start = start_process) -> None:
        self.order, self.folder, self.state = order, folder, "running"
        self.stage, self.charged, self.entries = 0, NOTHING, list[str]()
        self.at = ""  # how far it is through a table that is read in parts
        self.error, self.without = "", dict[str, str]()
        self.warnings, self.notes = list[str](), list[str]()  # looks at the rows, and what answers tell
        self.types = dict[str, str]()  # of columns that nobody declared: what a vote found
        self.looked: LookedAt = ((), None)  # what the warnings are of
        self.sentence = self.total = self.ledger = ""
        self.is_released = self.claims_privacy = False
        self._files: list[str] = []
        self._lock = threading.RLock()
        self._process, self._heard = start(order, folder)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def files(self) -> list[str]:
        """Keys of the files that are there, in the order of ``FILES``."""
        return [key for key in FILES if key in self._files]

    @property
    def step(self) -> str:
        """What is being done."""
        return STAGES[self.stage]

    def cancel(self) -> None:
        """End it: what was charged stays charged, and what was released stays."""
        with self._lock:
            if self.state != "running":
                return
            self.state = "cancelled"
        self._process.terminate()
        self._process.join(PATIENCE)
        if self._process.is_alive():
            self._process.kill()
            self._process.join(PATIENCE)
        self._listener.join(PATIENCE)  # the last charges are heard

    def wait(self, seconds: float) -> None:
        """Wait until it has ended."""
        self._listener.join(seconds)

    def _listen(self) -> None:
        try:
            while True:
                self._hear(*self._heard.recv())
        except (EOFError, OSError, UnpicklingError):
            pass
        with self._lock:
            if self.state == "running":
                self.state, self.error = "failed", "the process ended before it was done"
        self._process.join(PATIENCE)

    def _hear(self, what: str, *said: Any) -> None:
        with self._lock:
            match what:
                case "stage":
                    self.stage, self.at = said[0], ""
                    if self.stage == len(STAGES) - 1 and self.state == "running":
                        self.state = "done"
                case "pass":
                    self.at = said[0]
                case "charged":
                    self.charged, self.entries = said
                case "warnings":
                    self.warnings, self.notes, self.looked = said
                case "types":
                    (self.types,) = said
                case "file":
                    self._files.append(said[0])
                case "without":
                    self.without[said[0]] = said[1]
                case "released":
                    self.sentence, self.total, self.ledger, self.claims_privacy = said
                    self.is_released = True
                case _:
                    self.state, self.error = "failed", said[0]

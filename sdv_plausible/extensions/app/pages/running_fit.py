"""The server's view of a fit: progress, charges, output files and end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Literal

from sdv_plausible.extensions.app.pages.background_fit import FILES, STAGES, ComparedColumns, process_main
from sdv_plausible.extensions.app.pages.release_request import ReleaseRequest

State = Literal["running", "done", "failed", "cancelled"]
NOTHING = "nothing: no row has been asked"
GRACE_SECONDS = 5.0  # seconds that a process may take to end


Start = Callable[[ReleaseRequest, Path], tuple[BaseProcess, Connection]]


def start_process(request: ReleaseRequest, folder: Path) -> tuple[BaseProcess, Connection]:
    """Start a new process, which shares nothing with the server, and return its pipe."""
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=process_main, args=(request, folder, sender), daemon=True)
    process.start()
    sender.close()
    return process, receiver


class RunningFit:
    """A running or finished fit; its files are in a private folder."""

    def __init__(self, request: ReleaseRequest, folder: Path, start: Start = start_process) -> None:
        self.request, self.folder, self.state = request, folder, "running"
        self.stage, self.charged, self.entries = 0, NOTHING, list[str]()
        self.at = ""  # progress in a table that is read in parts
        self.error, self.without = "", dict[str, str]()
        self.warnings, self.notes = (
            list[str](),
            list[str](),
        )  # comparisons with the rows, and results of private queries
        self.types = dict[str, str]()  # inferred types of undeclared columns
        self.looked: ComparedColumns = ((), None)  # columns that the warnings are about
        self.sentence = self.total = self.ledger = ""
        self.is_released = self.claims_privacy = False
        self._files: list[str] = []
        self._lock = threading.RLock()
        self._process, self._receiver = start(request, folder)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def files(self) -> list[str]:
        """Keys of the files written so far, in the order of ``FILES``."""
        return [key for key in FILES if key in self._files]

    @property
    def step(self) -> str:
        """Description of the current stage."""
        return STAGES[self.stage]

    def cancel(self) -> None:
        """Stop the fit; charges and released files remain."""
        with self._lock:
            if self.state != "running":
                return
            self.state = "cancelled"
        self._process.terminate()
        self._process.join(GRACE_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join(GRACE_SECONDS)
        self._listener.join(GRACE_SECONDS)  # receives the last charges

    def wait(self, seconds: float) -> None:
        """Wait until the fit has ended."""
        self._listener.join(seconds)

    def _listen(self) -> None:
        try:
            while True:
                self._handle_message(*self._receiver.recv())
        except (EOFError, OSError, UnpicklingError):
            pass
        with self._lock:
            if self.state == "running":
                self.state, self.error = "failed", "the process ended before it was done"
        self._process.join(GRACE_SECONDS)

    def _handle_message(self, kind: str, *values: Any) -> None:
        with self._lock:
            match kind:
                case "stage":
                    self.stage, self.at = values[0], ""
                    if self.stage == len(STAGES) - 1 and self.state == "running":
                        self.state = "done"
                case "pass":
                    self.at = values[0]
                case "charged":
                    self.charged, self.entries = values
                case "warnings":
                    self.warnings, self.notes, self.looked = values
                case "types":
                    (self.types,) = values
                case "file":
                    self._files.append(values[0])
                case "without":
                    self.without[values[0]] = values[1]
                case "released":
                    self.sentence, self.total, self.ledger, self.claims_privacy = values
                    self.is_released = True
                case _:
                    self.state, self.error = "failed", values[0]

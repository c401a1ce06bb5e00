"""Sessions: each browser has its own state and private folder, invisible to the others.

The folder is removed when the browser ends the session or the program ends. If the program is killed, its
next start removes the folder. Charges of fits and records of comparisons with the rows outlive a session:
totals add up, and later declarations may repeat what was seen in any session.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sdv_plausible.extensions.app.pages.background_fit import ComparedColumns, RunningFit
from sdv_plausible.extensions.app.pages.columns_page import ColumnsPage
from sdv_plausible.extensions.app.review.review import Review
from sdv_plausible.extensions.app.serving.access_guard import AccessKeys, is_same
from sdv_plausible.rules.rules_and_declarations import rule_digests
from sdv_plausible.table.declared.domain_file import DomainFile
from sdv_plausible.utils.atomic_files import part_folder

MAX_SESSIONS = 8  # concurrent sessions: each may hold a table on disk


@dataclass(frozen=True)
class PastFit:
    """A fit of this run of the program, with the name of its table's file; holds no row."""

    title: str
    fit: RunningFit
    keys: AccessKeys


@dataclass
class Session:
    """The state of one browser's work."""

    keys: AccessKeys  # secrets of its cookie and its forms
    folder: Path  # private; holds all files of the session
    work: Path | None = None  # folder of the current table
    review: Review | None = None
    columns: ColumnsPage | None = None  # the page of its declarations
    texts: dict[str, str] = field(default_factory=dict)  # typed fields of rules and budget
    fit: RunningFit | None = None  # the latest fit
    # all fits since the program started, also those of other sessions
    past: list[PastFit] = field(default_factory=list)
    # records of comparisons since then, by the names of a table's columns
    looks: dict[frozenset[str], DomainFile] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def forget(self) -> None:
        """Cancel the running fit and remove all files."""
        with self.lock:
            if self.fit is not None:
                self.fit.cancel()
            if self.work is not None:
                shutil.rmtree(self.work, ignore_errors=True)
            self.work = self.review = self.columns = self.fit = None
            self.texts.clear()

    def take(self, work: Path, review: Review, columns: ColumnsPage) -> None:
        """Switch to another table; the previous one is removed."""
        with self.lock:
            self.forget()
            self.work, self.review, self.columns = work, review, columns

    def start(self, fit: RunningFit) -> None:
        """Register a fit; its charges are remembered after the session ends."""
        with self.lock:
            table_name = None if self.review is None else self.review.table.path.name
            self.past.append(PastFit(table_name or "a table", fit, self.keys))
            self.fit = fit

    def note_look(self, look: ComparedColumns | None = None) -> None:
        """Record that real rows are about to be shown: later declarations may repeat them."""
        # ``look`` are the columns that a fit warned about; by default all fitted columns.
        with self.lock:
            if self.review is not None and self.fit is not None:
                request = self.fit.request
                self.review.note_look(*(look or (request.file.columns, rule_digests(request.rules))))

    def spent(self, *, but: RunningFit | None = None) -> list[str]:
        """Describe the charges of other fits; tables of other sessions are not named."""
        charged = [one for one in self.past if one.fit is not but and one.fit.entries]
        return [
            f"fit to {one.title if one.keys == self.keys else 'a table in another browser'} has charged "
            f"{one.fit.charged}"
            for one in charged
        ]


class Sessions:
    """All sessions, under a private folder; ``token`` generates a new secret."""

    def __init__(self, root: Path, token: Callable[[], str]) -> None:
        self.root, self._token = root, token
        self._all: list[Session] = []
        self._past: list[PastFit] = []
        self._looks: dict[frozenset[str], DomainFile] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._all)

    def find(self, cookie: str) -> Session | None:
        """Return the session of a cookie."""
        match = None
        for session in self._all:  # no early exit, so that timing reveals nothing
            if is_same(cookie, session.keys.cookie):
                match = session
        return match

    def begin(self) -> Session | None:
        """Start a session; None if there are too many."""
        with self._lock:
            if len(self._all) >= MAX_SESSIONS:
                return None
            folder = Path(tempfile.mkdtemp(dir=self.root))
            session = Session(AccessKeys(self._token()), folder, past=self._past, looks=self._looks)
            self._all.append(session)
            return session

    def end(self, session: Session) -> None:
        """Remove a session and all its files."""
        session.forget()
        with self._lock:
            self._all = [one for one in self._all if one is not session]
        shutil.rmtree(session.folder, ignore_errors=True)

    def end_all(self) -> None:
        """Remove all sessions."""
        for session in list(self._all):
            self.end(session)


@contextmanager
def private_sessions(token: Callable[[], str]) -> Iterator[Sessions]:
    """Sessions in a private temporary folder, which is removed at the end."""
    with part_folder(Path(tempfile.gettempdir())) as folder:
        sessions = Sessions(folder, token)
        try:
            yield sessions
        finally:
            sessions.end_all()

"""Who is working: each browser has a state and a private folder of its own, and sees no other.

The folder is gone when the browser says so, or when the program ends; if it is killed, when the next one
begins. What fits have charged and what was looked at are remembered until then: totals add up, and words
may repeat what was seen, whoever opens the rows again.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sdv_plausible.extensions.app.pages.background_fit import LookedAt
from sdv_plausible.extensions.app.pages.columns_page import ColumnsPage
from sdv_plausible.extensions.app.pages.running_fit import RunningFit
from sdv_plausible.extensions.app.review.review import Review
from sdv_plausible.extensions.app.serving.access_guard import AccessKeys, is_same
from sdv_plausible.rules.rules_and_declarations import rule_digests
from sdv_plausible.table.declared.domain_file import DomainFile
from sdv_plausible.utils.atomic_files import part_folder

MOST = 8  # browsers at once: each may hold a table on disk


@dataclass(frozen=True)
class StartedFit:
    """A fit that was started, by the name of its table's file: what it has charged, and no row."""

    title: str
    fit: RunningFit
    keys: AccessKeys


@dataclass
class Session:
    """One browser's work."""

    keys: AccessKeys  # its own secrets: its cookie, and what its forms hold
    folder: Path  # private; nothing else of the session is on disk
    work: Path | None = None  # its folder of the present table
    review: Review | None = None
    columns: ColumnsPage | None = None  # the page of its declarations
    texts: dict[str, str] = field(default_factory=dict)  # what was typed of rules and budget
    fit: RunningFit | None = None  # the last one
    # all fits since the program was started, those of other browsers too
    past: list[StartedFit] = field(default_factory=list)
    # looks at all tables since then, by the names of their columns: digests of words, as in a domain file
    looks: dict[frozenset[str], DomainFile] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def forget(self) -> None:
        """Stop what runs, and remove every file."""
        with self.lock:
            if self.fit is not None:
                self.fit.cancel()
            if self.work is not None:
                shutil.rmtree(self.work, ignore_errors=True)
            self.work = self.review = self.columns = self.fit = None
            self.texts.clear()

    def take(self, work: Path, review: Review, columns: ColumnsPage) -> None:
        """Work on another table from now on; the one before is forgotten."""
        with self.lock:
            self.forget()
            self.work, self.review, self.columns = work, review, columns

    def start(self, fit: RunningFit) -> None:
        """Watch a fit; what it charges is remembered, though all else is forgotten."""
        with self.lock:
            table = None if self.review is None else self.review.table.path.name
            self.past.append(StartedFit(table or "a table", fit, self.keys))
            self.fit = fit

    def note_look(self, look: LookedAt | None = None) -> None:
        """Write down that real rows are about to be shown: what is changed afterwards may repeat them."""
        # ``look`` is what a fit warned of; by default all that was fitted, whatever is declared by now.
        with self.lock:
            if self.review is not None and self.fit is not None:
                order = self.fit.order
                self.review.note_look(*(look or (order.file.columns, rule_digests(order.rules))))

    def spent(self, *, but: RunningFit | None = None) -> list[str]:
        """What fits have charged, but for one: another browser's table is not named."""
        told = [one for one in self.past if one.fit is not but and one.fit.entries]
        return [
            f"fit to {one.title if one.keys == self.keys else 'a table in another browser'} has charged "
            f"{one.fit.charged}"
            for one in told
        ]


class Sessions:
    """All browsers that were let in, under a private folder; ``token`` draws a fresh secret."""

    def __init__(self, root: Path, token: Callable[[], str]) -> None:
        self.root, self._token = root, token
        self._all: list[Session] = []
        self._past: list[StartedFit] = []
        self._looks: dict[frozenset[str], DomainFile] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._all)

    def find(self, cookie: str) -> Session | None:
        """The session that a cookie is of."""
        found = None
        for session in self._all:  # all of them, so that the time tells nothing
            if is_same(cookie, session.keys.cookie):
                found = session
        return found

    def begin(self) -> Session | None:
        """A new session; None if there are too many."""
        with self._lock:
            if len(self._all) >= MOST:
                return None
            folder = Path(tempfile.mkdtemp(dir=self.root))
            session = Session(AccessKeys(self._token()), folder, past=self._past, looks=self._looks)
            self._all.append(session)
            return session

    def end(self, session: Session) -> None:
        """Forget a session and all its files."""
        session.forget()
        with self._lock:
            self._all = [one for one in self._all if one is not session]
        shutil.rmtree(session.folder, ignore_errors=True)

    def end_all(self) -> None:
        """Forget every session."""
        for session in list(self._all):
            self.end(session)


@contextmanager
def private_sessions(token: Callable[[], str]) -> Iterator[Sessions]:
    """Sessions in a temporary folder that nobody else may read, removed with all that is in it."""
    with part_folder(Path(tempfile.gettempdir())) as folder:
        sessions = Sessions(folder, token)
        try:
            yield sessions
        finally:
            sessions.end_all()

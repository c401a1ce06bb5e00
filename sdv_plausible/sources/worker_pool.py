"""Who counts the parts of a table on this machine: one core, or several side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from queue import SimpleQueue
from typing import Any, Protocol

import pandas as pd

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.utils.parallel import map_in_order

AHEAD = 2  # shares that wait for a process: what is held of the rows is bounded
ALONE_IN_PATH = {"PYTHONSAFEPATH": "1"}  # processes import nothing from the current folder (Python 3.11)
IDLE = 60  # seconds after which a process ends that nobody asks, such as after the fit


class Piece(Protocol):
    """Parts of a table that follow one another: where they are, or what they are, before a cell is read.

    It can be pickled, so that another process can read it.
    """

    @property
    def number(self) -> int:
        """Number of its first part."""

    def parts(self) -> Iterator[pd.DataFrame]:
        """Read them."""


class WorkerPool:
    """Who reads and counts pieces of a table: threads, or where Python reads every cell, processes.

    Counts are added in the order of the pieces, and work is a function of a part and its number alone: the
    sums are the same for any number of workers (docs/explanation/proofs/parts.md, Lemmas 1 and 4).

    Parameters
    ----------
    workers : int
        How many; with one, whoever asks counts.
    """

    def __init__(self, workers: int = 1) -> None:
        self.workers = workers
        self._has_started = False

    @classmethod
    def of(cls, workers: int | None) -> WorkerPool:
        """So many; by default as many as there are cores for this process.

        Raises
        ------
        ValueError
            If it is no whole number above 0.
        """
        if workers is None:
            from joblib import cpu_count

            return cls(int(cpu_count()))
        check.whole("workers", workers, 1, "leave it out for all cores")
        return cls(int(workers))

    def counted(
        self, work: Any, shares: Iterator[Sequence[Piece]], *, processes_after: int | None = None
    ) -> Iterator[tuple[Any, int]]:
        """Counts of every share of the pieces, in order, and its rows.

        Parameters
        ----------
        work, shares
            What is counted, and where.
        processes_after : int, optional
            Shares that are counted before a process has started, and more for none; threads by default. With
            0 it costs nothing to make a share, and this process counts, too, as one of the workers.

        Raises
        ------
        RuntimeError
            If a process was killed, as by a machine whose memory is full.
        """
        from multiprocessing import current_process

        in_processes = processes_after is not None and not current_process().daemon  # which may start none
        here = None if self.workers == 1 else 0 if self._has_started or not in_processes else processes_after
        yield from (_counted(work, share) for share in islice(shares, here))
        if (share := next(shares, None)) is None:
            return
        self._has_started = True
        ahead, rest, count = self.workers + AHEAD, chain([share], shares), partial(_counted, work)
        if not in_processes:
            with ThreadPoolExecutor(self.workers) as threads:
                yield from map_in_order(threads, count, rest, ahead)
        elif processes_after:
            with self._processes(self.workers) as processes:
                yield from map_in_order(processes, count, rest, ahead)
        else:
            with self._processes(self.workers - 1) as processes, ThreadPoolExecutor(self.workers) as threads:
                yield from map_in_order(
                    threads, partial(_by_the_next, self._free(processes), count), rest, ahead
                )

    def _free(self, processes: Executor) -> SimpleQueue[Executor | None]:
        """Who may count: every process, which takes a moment to start, and this one."""
        free = SimpleQueue[Executor | None]()
        for who in [processes] * (self.workers - 1) + [None]:
            free.put(who)
        return free

    @contextmanager
    def _processes(self, number: int) -> Iterator[Executor]:
        from joblib.externals import loky  # which needs no "if __name__ == '__main__'" of its user

        try:
            yield loky.get_reusable_executor(number, timeout=IDLE, env=ALONE_IN_PATH)
        except loky.process_executor.TerminatedWorkerError:
            raise RuntimeError(
                f"workers ({self.workers}): the machine ended one of these processes, as it does when its "
                "memory is full: try fewer, or workers=1"
            ) from None


ALONE = WorkerPool()


def _by_the_next(free: SimpleQueue[Executor | None], count: Any, share: Sequence[Piece]) -> Any:
    """Have a share counted by whoever is free."""
    who = free.get()
    try:
        return count(share) if who is None else who.submit(count, share).result()
    finally:
        free.put(who)


def _counted(work: Any, share: Sequence[Piece]) -> tuple[Any, int]:
    """Sum over the parts of some pieces, and their rows."""
    found, rows = None, 0
    for piece in share:
        for number, part in enumerate(piece.parts(), piece.number):
            here = work.count(part, number)
            found, rows = here if found is None else work.merge(found, here), rows + len(part)
    return packed(work, found), rows


def packed(work: Any, counts: Any) -> Any:
    """Counts as they travel, which work may make smaller: merged from then on with others that are."""
    return work.packed(counts) if hasattr(work, "packed") and counts is not None else counts

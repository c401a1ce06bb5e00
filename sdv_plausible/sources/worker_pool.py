"""Workers that count the parts of a table on this machine."""

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

MAX_PENDING = 2  # shares waiting for a worker, to bound memory
SAFE_PATH = {"PYTHONSAFEPATH": "1"}  # processes do not import from the current folder (Python 3.11)
IDLE = 60  # seconds after which idle processes end, such as after the fit

RUNNING: dict[int, Executor] = {}
"""Our processes, by their number. joblib.Parallel fails on a reusable executor that it did not start."""


class Piece(Protocol):
    """Consecutive parts of a table, or their location, before cells are parsed.

    It can be pickled, so that another process can read it.
    """

    @property
    def number(self) -> int:
        """Number of its first part."""

    def parts(self) -> Iterator[pd.DataFrame]:
        """Read the parts."""


class WorkerPool:
    """Reads and counts pieces of a table in threads or, where Python code parses every cell, in processes.

    Counts are merged in the order of the pieces, and a count is a function of a part and its number alone. So
    the sums are the same for any number of workers (docs/explanation/proofs/parts.md, Lemmas 1 and 4).

    Parameters
    ----------
    workers : int
        Number of workers; with one, the calling thread counts.
    """

    def __init__(self, workers: int = 1) -> None:
        self.workers = workers
        self._has_started = False

    @classmethod
    def of(cls, workers: int | None) -> WorkerPool:
        """Return a pool of this size; by default one worker per available core.

        Raises
        ------
        ValueError
            If ``workers`` is no integer above 0.
        """
        if workers is None:
            from joblib import cpu_count

            return cls(int(cpu_count()))
        check.whole("workers", workers, 1, "leave it out for all cores")
        return cls(int(workers))

    def count_shares(
        self, task: Any, shares: Iterator[Sequence[Piece]], *, processes_after: int | None = None
    ) -> Iterator[tuple[Any, int]]:
        """Yield the counts and the number of rows of every share of the pieces, in order.

        Parameters
        ----------
        task, shares
            The task, and lists of pieces.
        processes_after : int, optional
            Number of shares that are counted before processes start; threads by default. With 0, shares must
            be cheap to make, and this process counts as one of the workers.

        Raises
        ------
        RuntimeError
            If a process was killed, for example because memory was full.
        """
        from multiprocessing import current_process

        # daemons cannot start processes
        in_processes = processes_after is not None and not current_process().daemon
        first_shares = (
            None if self.workers == 1 else 0 if self._has_started or not in_processes else processes_after
        )
        yield from (_count_share(task, share) for share in islice(shares, first_shares))
        if (share := next(shares, None)) is None:
            return
        self._has_started = True
        max_pending, rest = self.workers + MAX_PENDING, chain([share], shares)
        count = partial(_count_share, task)
        if not in_processes:
            with ThreadPoolExecutor(self.workers) as threads:
                yield from map_in_order(threads, count, rest, max_pending)
        elif processes_after:
            with self._processes(self.workers) as processes:
                yield from map_in_order(processes, count, rest, max_pending)
        else:
            with self._processes(self.workers - 1) as processes, ThreadPoolExecutor(self.workers) as threads:
                yield from map_in_order(
                    threads, partial(_count_with_next_free, self._free(processes), count), rest, max_pending
                )

    def _free(self, processes: Executor) -> SimpleQueue[Executor | None]:
        """Queue of free workers: the processes, and this one (None)."""
        free = SimpleQueue[Executor | None]()
        for worker in [processes] * (self.workers - 1) + [None]:
            free.put(worker)
        return free

    @contextmanager
    def _processes(self, number: int) -> Iterator[Executor]:
        from joblib.externals import loky  # needs no "if __name__ == '__main__'" in the user's script

        executor = RUNNING.get(number)
        if executor is None:
            RUNNING.clear()  # the processes of another number end with their work
            executor = loky.ProcessPoolExecutor(number, timeout=IDLE, env=SAFE_PATH)
            RUNNING[number] = executor
        try:
            yield executor
        except BaseException as error:
            RUNNING.clear()
            if not isinstance(error, loky.process_executor.TerminatedWorkerError):
                raise
            raise RuntimeError(
                f"workers ({self.workers}): the system ended one of these processes, probably because "
                "memory was full: use fewer, or workers=1"
            ) from None


SINGLE_WORKER = WorkerPool()


def _count_with_next_free(free: SimpleQueue[Executor | None], count: Any, share: Sequence[Piece]) -> Any:
    """Count a share with the next free worker."""
    worker = free.get()
    try:
        return count(share) if worker is None else worker.submit(count, share).result()
    finally:
        free.put(worker)


def _count_share(task: Any, share: Sequence[Piece]) -> tuple[Any, int]:
    """Merged counts of the parts of some pieces, and the number of rows."""
    total, rows = None, 0
    for piece in share:
        for number, part in enumerate(piece.parts(), piece.number):
            counts = task.count(part, number)
            total, rows = counts if total is None else task.merge(total, counts), rows + len(part)
    return compact(task, total), rows


def compact(task: Any, counts: Any) -> Any:
    """Make counts smaller before they are sent, if the task can; merge them only with compact counts."""
    return task.compact(counts) if hasattr(task, "compact") and counts is not None else counts

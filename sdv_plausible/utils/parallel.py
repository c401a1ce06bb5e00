"""Parallel tasks with results in order and a bounded number of tasks in flight."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, wait
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


def map_in_order(
    executor: Executor, make: Callable[[Task], Result], tasks: Iterable[Task], ahead: int
) -> Iterator[Result]:
    """Yield results in the order of the tasks, with at most ``ahead`` tasks in flight.

    Tasks are generated on demand. An exception of the task iterator or of ``make`` stops the iteration.
    Pending tasks are cancelled; running ones are waited for, since they may write to a folder that is to be
    removed.
    """
    in_flight: deque[Future[Result]] = deque()
    try:
        for task in tasks:
            in_flight.append(executor.submit(make, task))
            if len(in_flight) == ahead:
                yield in_flight.popleft().result()
        while in_flight:
            yield in_flight.popleft().result()
    finally:
        wait([future for future in in_flight if not future.cancel()])

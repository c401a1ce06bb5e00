"""Tasks done side by side, whose results are wanted in order, and few of which wait at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, wait
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


def in_turn(
    executor: Executor, make: Callable[[Task], Result], tasks: Iterable[Task], ahead: int
) -> Iterator[Result]:
    """Results in the order of the tasks, of which at most ``ahead`` are under way at a time.

    Tasks are made by whoever asks for results: what they raise ends the whole, as what ``make`` raises does,
    and tasks that have not begun are left. Those that have are waited for: they may write into a folder that
    is to be removed.
    """
    under_way: deque[Future[Result]] = deque()
    try:
        for task in tasks:
            under_way.append(executor.submit(make, task))
            if len(under_way) == ahead:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()
    finally:
        wait([future for future in under_way if not future.cancel()])

"""Results in order, few tasks ahead of them; an error leaves what has not begun."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event, Timer
from time import sleep

import pytest

from sdv_plausible.utils.parallel import map_in_order


def test_results_come_in_order_and_few_tasks_wait():
    made = []

    def tasks():
        for i in range(20):
            made.append(i)
            yield i

    with ThreadPoolExecutor(3) as executor:
        for i, found in enumerate(map_in_order(executor, lambda task: task * task, tasks(), 5)):
            assert found == i * i
            assert len(made) <= i + 5
    assert len(made) == 20


@pytest.mark.parametrize("ended", ["error", "left"])
def test_no_task_goes_on_once_results_have_ended(ended):
    """So that a folder that tasks write into can be removed: with an executor that outlives them, too."""
    written = []

    def make(task):
        if task == 0 and ended == "error":
            raise KeyError("broken")
        if task:
            sleep(0.3)
            written.append(task)
        return task

    with ThreadPoolExecutor(3) as executor:
        results = map_in_order(executor, make, range(9), 3)
        if ended == "error":
            with pytest.raises(KeyError, match="broken"):
                next(results)
        else:
            next(results)
            results.close()
        now = len(written)
        sleep(0.5)
        assert len(written) == now


def test_an_error_leaves_what_has_not_begun():
    begun, goes_on = [], Event()

    def make(task):
        begun.append(task)
        if task == 1:
            goes_on.wait(10)
            raise KeyError("broken")
        return task

    with ThreadPoolExecutor(1) as executor:
        results = map_in_order(executor, make, range(50), 9)
        assert next(results) == 0
        goes_on.set()
        with pytest.raises(KeyError, match="broken"):
            list(results)
    assert len(begun) < 12


def test_an_error_is_told_when_nothing_runs_any_more():
    """Executors outlive a pass, and its folder of rows would be removed under the hands of a task."""
    has_begun, goes_on, ended = Event(), Event(), []

    def tasks():
        yield 0
        has_begun.wait(10)
        Timer(0.3, goes_on.set).start()
        raise KeyError("broken")

    def make(task):
        has_begun.set()
        goes_on.wait(10)
        ended.append(task)

    with ThreadPoolExecutor(1) as executor:
        with pytest.raises(KeyError, match="broken"):
            list(map_in_order(executor, make, tasks(), 9))
        assert ended == [0]

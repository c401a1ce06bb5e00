"""Which cases the fast suite runs, where all of them together take too long."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest


def each_once(*registries: Collection[Any]) -> list[tuple[Any, ...]]:
    """Every entry of every registry at least once, in place of all combinations."""
    lists = [list(registry) for registry in registries]
    return [tuple(each[i % len(each)] for each in lists) for i in range(max(map(len, lists)))]


def fast_and_nightly(fast: Iterable[Any], nightly: Iterable[Any]) -> list[Any]:
    """One case of every kind always, and at night the others."""
    return [*fast, *(pytest.param(*_tuple(case), marks=pytest.mark.nightly) for case in nightly)]


def fast_and_slow(cases: Iterable[Any], is_fast: Callable[..., bool]) -> list[Any]:
    """All cases; those that are not fast are slow."""
    marked = ((_tuple(case), [] if is_fast(*_tuple(case)) else [pytest.mark.slow]) for case in cases)
    return [pytest.param(*case, marks=marks) for case, marks in marked]


def _tuple(case: Any) -> tuple[Any, ...]:
    return case if isinstance(case, tuple) else (case,)

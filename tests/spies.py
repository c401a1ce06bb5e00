"""A spy at the door: everything that is asked of rows, with what it costs, and what it would have been of other rows."""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
import pytest

from sdv_plausible.privacy.noise.mechanisms import NoiseCall, record_calls
from sdv_plausible.questions.counts import CountTable, NumberOfRows
from sdv_plausible.questions.queryable import Queryable

Cells = Mapping[Any, float]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One thing that was asked.

    Attributes
    ----------
    kind : str
        Class of the question, or the way of asking.
    parameters : tuple
        Everything that the asker chose, written out.
    rows : object
        The engine that was asked.
    exact : callable
        Exact answer of an engine, cell by cell.
    paid : float
        Square of the Gaussian mu, or the epsilon, that was paid for it.
    calls : tuple of NoiseCall
        Noise that was drawn for it.
    answer : object
        What was answered.
    """

    kind: str
    parameters: Any
    rows: Any
    exact: Callable[[Any], Cells]
    paid: float
    calls: tuple[NoiseCall, ...]
    answer: Any

    def move(self, other: Any) -> float:
        """Distance of the exact answers of the rows and of other rows, in the norm of the noise."""
        a, b = self.exact(self.rows), self.exact(other)
        steps = [a.get(cell, 0) - b.get(cell, 0) for cell in {*a, *b}]
        gaussian = any(call.name == "discrete_gaussian" for call in self.calls)
        return math.hypot(*steps) if gaussian else math.fsum(map(abs, steps))


def plain(thing: Any) -> Any:
    """Everything that a question is made of, as plain nested values."""
    if isinstance(thing, np.ndarray):
        return thing.shape, thing.tolist()
    if isinstance(thing, (list, tuple)):
        return tuple(plain(x) for x in thing)
    if is_dataclass(thing) and not isinstance(thing, type):
        return type(thing).__name__, tuple((f.name, plain(getattr(thing, f.name))) for f in fields(thing))
    return thing


def by_cell(exact: np.ndarray) -> Cells:
    """An array as its cells."""
    return dict(enumerate(np.ravel(exact).tolist()))


@contextmanager
def watched(answers: list[Any] | None = None) -> Iterator[list[Asked]]:
    """Collect what is asked of any door while the block runs; give ``answers`` instead of those that are drawn, if there are any.

    Yields
    ------
    list of Asked
        In order. Each answer is given as drawn, or the one at the same place among ``answers``.
    """
    seen: list[Asked] = []
    names = ("ask", "ask_tables", "ask_frequent", "count_rows", "release_groups")
    honest = {name: getattr(Queryable, name) for name in names}

    def replayed(drawn: Any) -> Any:
        return drawn if answers is None else copy.deepcopy(answers[len(seen)])

    def note(
        self: Queryable, kind: str, parameters: Any, exact: Any, paid: float, calls: Any, answer: Any
    ) -> Any:
        answer = replayed(answer)
        seen.append(
            Asked(kind=kind, parameters=plain(parameters), rows=self._rows, exact=exact, paid=paid, calls=tuple(calls), answer=copy.deepcopy(answer))
        )  # fmt: skip
        return answer

    def ask(self: Queryable, question: Any, share: float, failure: float = 0.0) -> Any:
        with record_calls() as calls:
            drawn = honest["ask"](self, question, share, failure)
        cost = self.allowance.mu**2 * share
        exact = lambda rows: by_cell(question.exact(rows))  # noqa: E731
        return note(self, type(question).__name__, (question, share, failure), exact, cost, calls, drawn)

    def ask_tables(self: Queryable, sets: Any, shares: Any) -> Any:
        with record_calls() as calls:
            drawn = honest["ask_tables"](self, sets, shares)
        given = []
        for i, (axes, share) in enumerate(zip(sets, shares, strict=True)):
            cost = self.allowance.mu**2 * share
            exact = lambda rows, axes=axes: by_cell(CountTable(axes).exact(rows))  # noqa: E731
            given.append(note(self, "CountTable", (axes, share), exact, cost, calls[i : i + 1], drawn[i]))
        return given

    def ask_frequent(self: Queryable, question: Any, share: float, failure: float) -> Any:
        with record_calls() as calls:
            drawn = honest["ask_frequent"](self, question, share, failure)

        def exact(rows: Any) -> Cells:
            values, counts, public = question.occurring(rows)
            return Counter(dict(zip(values, counts.tolist(), strict=True))) + Counter({("public", i): n for i, n in enumerate(public.tolist())})  # fmt: skip

        cost = self.allowance.mu**2 * share
        return note(self, type(question).__name__, (question, share, failure), exact, cost, calls, drawn)

    def count_rows(self: Queryable, epsilon: float, failure: float) -> Any:
        with record_calls() as calls:
            drawn = honest["count_rows"](self, epsilon, failure)
        exact = lambda rows: by_cell(NumberOfRows().exact(rows))  # noqa: E731
        return note(self, "count_rows", (epsilon, failure), exact, epsilon, calls, drawn)

    def release_groups(self: Queryable, sets: Any, test: Any) -> Any:
        """All groups count, also those too small to be looked at: which of them are is decided by their sizes."""
        looked: list[tuple[int, Any]] = []

        class Engine:
            """Passes every look on, and remembers which part was asked for which columns."""

            def __init__(self, rows: Any, ends: tuple[float, float] | None = None) -> None:
                self.rows, self.ends = rows, ends

            def part(self, low: float, high: float, coins: Any) -> Any:
                self.coins = coins
                part = Engine(self.rows.part(low, high, coins), (low, high))
                part.coins = coins
                return part

            def groups(self, columns: Any, least: int) -> Any:
                looked.append((len(looked), (self.ends, getattr(self, "coins", None), tuple(columns))))
                return self.rows.groups(columns, least)

        rows = self._rows
        self._rows = Engine(rows)
        try:
            with record_calls() as calls:
                drawn = honest["release_groups"](self, sets, test)
        finally:
            self._rows = rows

        def exact(rows: Any) -> Cells:
            found: dict[Any, float] = {}
            for i, (ends, coins, columns) in looked:
                part = rows if ends is None else rows.part(*ends, coins)
                groups, sizes = part.groups(columns, 1)
                found |= {(i, *group): n for group, n in zip(groups.tolist(), sizes.tolist(), strict=True)}
            return found

        return note(self, "release_groups", (sets, test), exact, test.epsilon0, calls, drawn)

    with pytest.MonkeyPatch.context() as patch:
        for function in (ask, ask_tables, ask_frequent, count_rows, release_groups):
            patch.setattr(Queryable, function.__name__, function)
        yield seen

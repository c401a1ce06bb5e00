"""A spy at the door: everything that is asked of rows, with what it costs, and what it would have been of other rows."""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from inspect import isfunction
from typing import Any

import numpy as np
import pytest

from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.noise.mechanisms import NoiseCall, record_calls
from sdv_plausible.queries.count_queries import CountTable, NumberOfRows, num_charges
from sdv_plausible.queries.queryable import Queryable

Cells = Mapping[Any, float]
WATCHED = (
    "ask", "ask_tables", "ask_frequent", "ask_laplace", "ask_sampled", "choose", "count_rows", "release_groups",
)  # fmt: skip
NO_QUESTIONS = {
    "part": "other rows of the same door",
    "report": "words for the data owner's terminal",
    "sigma": "noise to expect, from the budget alone",
    "seed_records": "records for the row-by-row tests: what is saved with them is outside every claim",
    "raw_rows": "records, and the claim ends",
}


def unwatched(door: type = Queryable) -> list[str]:
    """Public methods of a door that may ask, and that no spy watches."""
    known = {name: found for kind in reversed(door.__mro__[:-1]) for name, found in vars(kind).items()}
    methods = {name for name, found in known.items() if isfunction(found) and not name.startswith("_")}
    return sorted(methods ^ {*WATCHED, *NO_QUESTIONS})


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One thing that was asked."""

    kind: str  # class of the question, or the way of asking
    parameters: Any  # everything that the asker chose, written out
    rows: Any  # the engine that was asked
    exact: Callable[[Any], Cells]  # exact answer of an engine, cell by cell
    paid: float  # square of the Gaussian mu, or the epsilon, that was paid for it
    calls: tuple[NoiseCall, ...]  # noise that was drawn for it
    answer: Any
    apart: int = 1  # numbers of it that were charged one by one

    def move(self, other: Any) -> float:
        """Distance of the exact answers of the rows and of other rows, in the norm of the noise."""
        return self.moves(other)[0]

    def moves(self, other: Any) -> tuple[float, float]:
        """That distance, and the largest of a single number."""
        a, b = self._own, self.exact(other)
        steps = [abs(a.get(cell, 0) - b.get(cell, 0)) for cell in {*a, *b}]
        names = {call.name for call in self.calls}
        norm: Any = max if "exponential_choice" in names else None
        norm = math.hypot if "discrete_gaussian" in names else norm
        return float(norm(*steps, 0) if norm else math.fsum(steps)), max(steps, default=0.0)

    @cached_property
    def _own(self) -> Cells:
        return self.exact(self.rows)

    @property
    def in_order(self) -> bool:
        """Whether rows have secret numbers by their places, so that the last ones alone can go and the others keep theirs."""
        return self.kind in ("release_groups", "GradientSum")


def check_form(given: Any, drawn: Any) -> None:
    """Raise AssertionError where an answer that was written down cannot be one to what is asked now."""
    forms = [(type(x), getattr(getattr(x, "values", None), "shape", None)) for x in (given, drawn)]
    if forms[0] != forms[1]:
        raise AssertionError(f"something else is asked of other rows: {forms[1]} after {forms[0]}")


def plain(thing: Any) -> Any:
    """Everything that a question is made of, as plain nested values."""
    if isinstance(thing, np.ndarray):
        return thing.shape, thing.tolist()
    if isinstance(thing, KeyedRNG):
        return "Coins", thing._key
    if isinstance(thing, (list, tuple)):
        return tuple(plain(x) for x in thing)
    if isinstance(thing, Mapping):
        return tuple((name, plain(value)) for name, value in thing.items())
    if is_dataclass(thing) and not isinstance(thing, type):
        return type(thing).__name__, tuple((f.name, plain(getattr(thing, f.name))) for f in fields(thing))
    return thing


def by_cell(exact: np.ndarray) -> Cells:
    """An array as its cells."""
    return dict(enumerate(np.ravel(exact).tolist()))


@contextmanager
def watched(answers: list[Any] | None = None) -> Iterator[list[Asked]]:
    """Collect what is asked of any door while the block runs; each answer is as drawn, or that of ``answers``."""
    seen: list[Asked] = []
    honest = {name: getattr(Queryable, name) for name in WATCHED}

    def replayed(drawn: Any) -> Any:
        if answers is None:
            return drawn
        if len(seen) == len(answers):
            raise AssertionError("something else is asked of other rows: more than there are answers")
        check_form(answers[len(seen)], drawn)
        return copy.deepcopy(answers[len(seen)])

    def note(
        self: Queryable, kind: str, parameters: Any, exact: Any, paid: float, calls: Any, answer: Any, apart: int = 1
    ) -> Any:  # fmt: skip
        answer = replayed(answer)
        own = {
            "kind": kind, "parameters": plain(parameters), "rows": self._rows, "exact": exact, "paid": paid,
        }  # fmt: skip
        seen.append(Asked(**own, calls=tuple(calls), answer=copy.deepcopy(answer), apart=apart))
        return answer

    def ask_tables(self: Queryable, sets: Any, shares: Any) -> Any:
        with record_calls() as calls:
            drawn = honest["ask_tables"](self, sets, shares)
        given, places = [], range(len(shares))
        together = sorted(places, key=lambda i: [*shares].index(shares[i]))  # equal shares are drawn together
        for i, (axes, share) in enumerate(zip(sets, shares, strict=True)):
            cost, own = self.allowance.mu**2 * share, together.index(i)
            exact = lambda rows, axes=axes: by_cell(CountTable(axes).exact(rows))  # noqa: E731
            given.append(note(self, "CountTable", (axes, share), exact, cost, calls[own : own + 1], drawn[i]))
        return given

    def ask_frequent(self: Queryable, question: Any, share: float, failure: float) -> Any:
        with record_calls() as calls:
            drawn = honest["ask_frequent"](self, question, share, failure)

        def exact(rows: Any) -> Cells:
            values, counts, public = question.occurring(rows)
            told = Counter({("public", i): n for i, n in enumerate(public.tolist())})
            return Counter(dict(zip(values, counts.tolist(), strict=True))) + told

        cost = self.allowance.mu**2 * share
        return note(self, type(question).__name__, (question, share, failure), exact, cost, calls, drawn)

    def asked_of(name: str, paid: Callable[[Queryable, tuple[Any, ...]], float]) -> Callable[..., Any]:
        """Watch a way of asking whose first argument is the question."""

        def asking(self: Queryable, question: Any, *how: Any) -> Any:
            with record_calls() as calls:
                drawn = honest[name](self, question, *how)
            exact, kind = lambda rows: by_cell(question.exact(rows)), type(question).__name__
            cost, apart = paid(self, how), num_charges(question)
            return note(self, kind, (question, *how), exact, cost, calls, drawn, apart)

        asking.__name__ = name
        return asking

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

            def part(self, low: float, high: float, rng: Any) -> Any:
                self.rng = rng
                part = Engine(self.rows.part(low, high, rng), (low, high))
                part.rng = rng
                return part

            def groups(self, columns: Any, least: int) -> Any:
                looked.append((len(looked), (self.ends, getattr(self, "rng", None), tuple(columns))))
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
            for i, (ends, rng, columns) in looked:
                part = rows if ends is None else rows.part(*ends, rng)
                groups, sizes = part.groups(columns, 1)
                found |= {(i, *group): n for group, n in zip(groups.tolist(), sizes.tolist(), strict=True)}
            return found

        return note(self, "release_groups", (sets, test), exact, test.epsilon0, calls, drawn)

    with pytest.MonkeyPatch.context() as patch:
        for function in (
            asked_of("ask", lambda door, how: door.allowance.mu**2 * how[0]),
            asked_of("ask_laplace", lambda door, how: how[0]),
            asked_of("ask_sampled", lambda door, how: door.allowance.sampled.sensitivity_over_sigma**2),
            asked_of("choose", lambda door, how: door.allowance.choice),
            ask_tables, ask_frequent, count_rows, release_groups,
        ):  # fmt: skip
            patch.setattr(Queryable, function.__name__, function)
        yield seen

"""A queryable that records a learner's queries, the noisy answers, and the noise that was actually drawn."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from sdv_plausible.privacy.noise.mechanisms import NoiseCall, record_calls
from sdv_plausible.queries.count_queries import Axes, CountTable, NumberOfRows, Query
from sdv_plausible.queries.queryable import NoisyValues, Queryable, noise_groups
from sdv_plausible.queries.transcript import Noise

NO_ANSWER = frozenset({"part", "report", "sigma"})  # methods that read no row

Kind = TypeVar("Kind", bound=Queryable)


@dataclass(frozen=True)
class RecordedQuery:
    """A query with its noisy values, the declared scale of the noise, and the drawn noise."""

    question: Any
    values: np.ndarray
    law: Noise
    scale: float  # 0 without noise
    drawn: NoiseCall | None


def rejects_unrecorded_queries(kind: type[Kind]) -> type[Kind]:
    """Class decorator: reject all query methods that the class does not record, including new ones."""

    def rejecting(name: str) -> Callable[..., Any]:
        def reject(*_: Any, **__: Any) -> Any:
            raise NotImplementedError(
                "audits of learners hear ask, ask_tables, ask_laplace, count_rows and raw_rows alone, "
                f"not {name}: attack the rows that leave (audit.canary_game), or audit a privacy test by "
                "its matrix (audit.release_test_matrix, audit.mechanism_matrix)"
            )

        return reject

    for name, method in inspect.getmembers(Queryable, inspect.isfunction):
        if not name.startswith("_") and name not in NO_ANSWER and getattr(kind, name) is method:
            setattr(kind, name, rejecting(name))
    return kind


@rejects_unrecorded_queries
class RecordingQueryable(Queryable):
    """A queryable that records every query with its answer and noise, and rejects all others."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.recorded: list[RecordedQuery] = []
        self.raw: list[str] = []  # reasons for which raw rows were returned

    def ask(self, question: Query[Any], share: float, failure: float = 0.0) -> NoisyValues:
        """Answer and record a query."""
        with record_calls() as calls:
            answer = super().ask(question, share, failure)
        self.record([question], [answer], "discrete gaussian", calls)
        return answer

    def ask_tables(self, sets: Sequence[Axes], shares: Sequence[float]) -> list[NoisyValues]:
        """Answer and record several tables; tables with equal shares may share one noise call."""
        with record_calls() as calls:
            answers = super().ask_tables(sets, shares)
        call_of: dict[int, NoiseCall] = {}
        for group, call in zip(noise_groups(shares) if calls else (), calls, strict=True):
            call_of |= dict.fromkeys(group, call)
        drawn = [call_of[i] for i in range(len(sets))] if calls else []
        self.record([CountTable(axes) for axes in sets], answers, "discrete gaussian", drawn)
        return answers

    def ask_laplace(self, question: Any, epsilon: float, failure: float = 0.0) -> NoisyValues:
        """Answer and record a query with Laplace noise."""
        with record_calls() as calls:
            answer = super().ask_laplace(question, epsilon, failure)
        self.record([question], [answer], "discrete laplace", calls)
        return answer

    def count_rows(self, epsilon: float, failure: float) -> int:
        """Count rows, and record the count."""
        with record_calls() as calls:
            count = super().count_rows(epsilon, failure)
        scale = self.neighbours.rows / epsilon if self.allowance.is_private else 0.0
        answer = NoisyValues(values=np.array([count]), sigma=scale)
        self.record([NumberOfRows()], [answer], "discrete laplace", calls)
        return count

    def raw_rows(self, why: str) -> np.ndarray:
        """Return the raw rows, and record the reason."""
        self.raw.append(why)
        return super().raw_rows(why)

    def record(
        self, questions: Sequence[Any], answers: Sequence[NoisyValues], law: Noise, calls: Sequence[NoiseCall]
    ) -> None:
        """Record queries and answers; ``calls`` are the noise calls of each query, or empty."""
        drawn: Sequence[NoiseCall | None] = calls or [None] * len(questions)
        records = zip(questions, answers, drawn, strict=True)
        self.recorded += [
            RecordedQuery(q, answer.values, law, answer.sigma, call) for q, answer, call in records
        ]


def check_recorded(learner: Any, *, recorded: bool) -> None:
    """Raise ValueError if a learner made no query: silence proves no claim."""
    if not recorded:
        raise ValueError(
            f"learner ({type(learner).__name__}): nothing was heard of it, so that there is no answer to "
            "hold against its claim; audit one that asks the door that it is given"
        )

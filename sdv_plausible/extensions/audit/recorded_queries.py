"""A door to the rows that hears what a learner asks, and the noise that was really drawn for the answer."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from sdv_plausible.privacy.noise.mechanisms import NoiseCall, record_calls
from sdv_plausible.queries.count_queries import Axes, CountTable, NumberOfRows, Query
from sdv_plausible.queries.query_session import noise_groups
from sdv_plausible.queries.queryable import NoisyValues, Queryable
from sdv_plausible.queries.transcript import Noise

NO_ANSWER = frozenset({"part", "sigma"})  # methods of a door that look at no row

Kind = TypeVar("Kind", bound=Queryable)


@dataclass(frozen=True)
class RecordedQuery:
    """A question with its noisy answer, the scale of its noise as it is told, and the noise drawn."""

    question: Any
    values: np.ndarray
    law: Noise
    scale: float  # 0 where there is none
    drawn: NoiseCall | None


def hears_or_refuses(kind: type[Kind]) -> type[Kind]:
    """Have a listening door refuse every way to ask that it does not hear, also one that is new."""

    def refusing(name: str) -> Callable[..., Any]:
        def refuse(*_: Any, **__: Any) -> Any:
            raise NotImplementedError(
                "audits of learners hear ask, ask_tables, ask_laplace, count_rows and raw_rows alone, "
                f"not {name}: attack the rows that leave (audit.canary_game), or audit a privacy test by "
                "its matrix (audit.release_test_matrix, audit.mechanism_matrix)"
            )

        return refuse

    for name, asking in inspect.getmembers(Queryable, inspect.isfunction):
        if not name.startswith("_") and name not in NO_ANSWER and getattr(kind, name) is asking:
            setattr(kind, name, refusing(name))
    return kind


@hears_or_refuses
class RecordingQueryable(Queryable):
    """The door to the rows, which hears every question with its answer and its noise, or refuses it."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.heard: list[RecordedQuery] = []
        self.raw: list[str] = []  # why rows were handed out

    def ask(self, question: Query[Any], share: float, failure: float = 0.0) -> NoisyValues:
        """Ask, and hear."""
        with record_calls() as calls:
            answer = super().ask(question, share, failure)
        self.hear([question], [answer], "discrete gaussian", calls)
        return answer

    def ask_tables(self, sets: Sequence[Axes], shares: Sequence[float]) -> list[NoisyValues]:
        """Ask for several tables, and hear: those of one share may have one call of the noise."""
        with record_calls() as calls:
            answers = super().ask_tables(sets, shares)
        of_each: dict[int, NoiseCall] = {}
        for same, call in zip(noise_groups(shares) if calls else (), calls, strict=True):
            of_each |= dict.fromkeys(same, call)
        drawn = [of_each[i] for i in range(len(sets))] if calls else []
        self.hear([CountTable(axes) for axes in sets], answers, "discrete gaussian", drawn)
        return answers

    def ask_laplace(self, question: Any, epsilon: float, failure: float = 0.0) -> NoisyValues:
        """Ask for an epsilon, and hear."""
        with record_calls() as calls:
            answer = super().ask_laplace(question, epsilon, failure)
        self.hear([question], [answer], "discrete laplace", calls)
        return answer

    def count_rows(self, epsilon: float, failure: float) -> int:
        """Count rows, and hear."""
        with record_calls() as calls:
            count = super().count_rows(epsilon, failure)
        scale = self.neighbours.rows / epsilon if self.allowance.is_private else 0.0
        answer = NoisyValues(values=np.array([count]), sigma=scale)
        self.hear([NumberOfRows()], [answer], "discrete laplace", calls)
        return count

    def raw_rows(self, why: str) -> np.ndarray:
        """Hand out the rows, and write that down."""
        self.raw.append(why)
        return super().raw_rows(why)

    def hear(
        self, questions: Sequence[Any], answers: Sequence[NoisyValues], law: Noise, calls: Sequence[NoiseCall]
    ) -> None:
        """Write down what was asked and answered; ``calls`` are of each question's noise, or none."""
        drawn: Sequence[NoiseCall | None] = calls or [None] * len(questions)
        told = zip(questions, answers, drawn, strict=True)
        self.heard += [RecordedQuery(q, answer.values, law, answer.sigma, call) for q, answer, call in told]


def check_heard(learner: Any, *, heard: bool) -> None:
    """Refuse to judge a learner of which nothing was heard: no claim holds by silence."""
    if not heard:
        raise ValueError(
            f"learner ({type(learner).__name__}): nothing was heard of it, so that there is no answer to "
            "hold against its claim; audit one that asks the door that it is given"
        )

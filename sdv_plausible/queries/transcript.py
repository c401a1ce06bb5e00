"""What the door was asked and what it answered.

Kept, because it is noisy, and whoever reads the release may want to know.

An answer is written down as it leaves. So the transcript holds what the asker holds: public questions,
questions made of earlier answers, and noisy values. Exact answers, which are given where there is no claim,
are not written down.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sdv_plausible.queries.count_queries import QueryRecord

Noise = Literal["discrete gaussian", "discrete laplace", "rounded"]
"""Law of the error. No fit of ours rounds: published counts are "rounded"."""
DEVIATION: dict[Noise, float] = {
    "discrete gaussian": 1.0, "discrete laplace": math.sqrt(2), "rounded": 3**-0.5,
}  # fmt: skip
"""Standard deviation of each law whose parameter is 1, at most."""
SCALES, SOURCE = "scales", "source"
"""Details of answers that others made: the parameter of every value, where they differ; who made them."""
ALL_ROWS = "all"


def describe(question: Any) -> QueryRecord:
    """Return what a question says of itself by its method ``asked()``."""
    # One without it is known by its class alone.
    told = getattr(question, "asked", None)
    return told() if callable(told) else QueryRecord(kind=type(question).__name__)


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyAnswer:
    """One answer and what it was an answer to."""

    asked: QueryRecord
    # The noisy answer, of the question's shape: whole numbers, or multiples of the granularity
    values: np.ndarray
    noise: Noise  # law of the independent noise on every value
    # Its parameter, > 0: sigma of the discrete Gaussian, b of the discrete Laplace (sensitivity / epsilon),
    # the largest error of rounded counts. Where values differ in theirs, ``scales`` has them, and this is
    # their root mean square
    scale: float
    paid_by: tuple[str, ...]  # names of the ledger entries that paid for it
    # Which rows were asked: "all", or under ``split`` the secret part ("structure", "parameters", "learning",
    # "seeds")
    rows: str = ALL_ROWS
    granularity: float = 1.0  # spacing of the values of Gaussian noise: 1, or a power of two below

    @property
    def scales(self) -> np.ndarray | float:
        """The parameter on every value, of the answer's shape; a number where it is the same on all."""
        told = self.asked.details.get(SCALES)
        return self.scale if told is None else np.asarray(told, dtype=float).reshape(self.values.shape)

    @property
    def is_stated(self) -> bool:
        """Whether others made it, and state its noise."""
        return SOURCE in self.asked.details


class Transcript:
    """Answers in the order they were given."""

    def __init__(self) -> None:
        self._answers: list[NoisyAnswer] = []

    @property
    def answers(self) -> tuple[NoisyAnswer, ...]:
        """All answers so far."""
        return tuple(self._answers)

    def note(
        self,
        asked: QueryRecord,
        values: np.ndarray,
        scale: float,
        *,
        paid_by: tuple[str, ...],
        rows: str,
        noise: Noise,
        granularity: float = 1.0,
    ) -> None:
        """Write an answer down; one without noise (``scale`` 0) is not for keeping."""
        if scale > 0:
            found = np.asarray(values)
            self._answers.append(
                NoisyAnswer(
                    asked=asked, values=found.astype(np.int64 if granularity == 1 else np.float64),
                    noise=noise, scale=float(scale), paid_by=paid_by, rows=rows, granularity=granularity,
                )
            )  # fmt: skip

"""Transcript of a query session: queries and their noisy answers.

Every noisy answer is recorded when it is returned. So the transcript holds only what the caller already
has: public queries, queries derived from earlier answers, and noisy values. Exact answers, which exist only
without a privacy guarantee, are not recorded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sdv_plausible.queries.count_queries import QueryRecord

Noise = Literal["discrete gaussian", "discrete laplace", "rounded"]
"""Law of an answer's error. Only published counts are "rounded"; fits of this package never are."""
DEVIATION: dict[Noise, float] = {
    "discrete gaussian": 1.0, "discrete laplace": math.sqrt(2), "rounded": 3**-0.5,
}  # fmt: skip
"""Upper bound on each law's standard deviation at parameter 1."""
SCALES, SOURCE = "scales", "source"
"""Details of published answers: the noise parameter of every value, where they differ; the publisher."""
ALL_ROWS = "all"


def query_record(question: Any) -> QueryRecord:
    """Return a query's own record (its method ``asked()``), or its class name without one."""
    own_record = getattr(question, "asked", None)
    return own_record() if callable(own_record) else QueryRecord(kind=type(question).__name__)


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyAnswer:
    """A query and its noisy answer."""

    asked: QueryRecord
    # The noisy answer, in the query's shape: integers, or multiples of the granularity
    values: np.ndarray
    noise: Noise  # law of the independent noise on every value
    # Noise parameter, > 0: sigma of the discrete Gaussian, b of the discrete Laplace (sensitivity / epsilon),
    # the largest error of rounded counts. If it differs between values, ``scales`` has each one and this is
    # the root mean square
    scale: float
    paid_by: tuple[str, ...]  # names of the ledger entries that paid for the answer
    # Queried rows: "all", or with ``split`` the secret part ("structure", "parameters", "learning", "seeds")
    rows: str = ALL_ROWS
    granularity: float = 1.0  # spacing of the values of Gaussian noise: 1, or a power of two below

    @property
    def scales(self) -> np.ndarray | float:
        """Noise parameter of every value, in the answer's shape; a number where it is the same for all."""
        scales = self.asked.details.get(SCALES)
        return self.scale if scales is None else np.asarray(scales, dtype=float).reshape(self.values.shape)

    @property
    def is_published(self) -> bool:
        """Whether the answer was published by others, with a noise that they state."""
        return SOURCE in self.asked.details


class Transcript:
    """Noisy answers in the order in which they were given."""

    def __init__(self, report: Callable[[str], object] | None = None) -> None:
        self._answers: list[NoisyAnswer] = []
        self.report = report or (lambda _: None)

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
        """Record an answer; exact answers (``scale`` 0) are skipped."""
        if scale > 0:
            array = np.asarray(values)
            self._answers.append(
                NoisyAnswer(
                    asked=asked, values=array.astype(np.int64 if granularity == 1 else np.float64),
                    noise=noise, scale=float(scale), paid_by=paid_by, rows=rows, granularity=granularity,
                )
            )  # fmt: skip

"""Scores beside those that other real rows reach: no synthetic rows can be expected to do better."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from sdv_plausible.evaluation.page.rendering import Section
from sdv_plausible.evaluation.page.summary import ComparisonSummary


@dataclass(frozen=True, kw_only=True)
class RelativeScore:
    """Score of a property, and what real rows reach against other real rows: in [0, 1], NaN where unknown."""

    name: str
    score: float
    ceiling: float

    @property
    def relative(self) -> float:
        """Return the share of the ceiling that is reached, at most 1."""
        if self.ceiling == 0:
            return 1.0
        return math.nan if math.isnan(self.score + self.ceiling) else min(1.0, self.score / self.ceiling)


def relative_scores(
    details: Mapping[str, pd.DataFrame], compared: ComparisonSummary
) -> tuple[RelativeScore, ...]:
    """Return the scores of one table's properties.

    Distances are those of equal numbers of rows, since chance alone makes them larger for fewer. Of the game
    the ceiling is guessing.
    """
    found = []
    for name, table in details.items():
        score = float(table["Score"].mean())
        ceiling = float(table["Ceiling"].mean()) if "Ceiling" in table else math.nan
        if name == "Distinguishing Game":
            ceiling = 1.0
        elif name == "Column Distances" and compared.reference_columns.size:
            score, ceiling = _closeness(compared.synthetic_columns), _closeness(compared.reference_columns)
        elif name == "Pair Distances" and compared.reference_pairs.size:
            score, ceiling = _closeness(compared.synthetic_pairs), _closeness(compared.reference_pairs)
        found.append(RelativeScore(name=name, score=score, ceiling=ceiling))
    return tuple(found)


def _closeness(distances: Sequence[float] | np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    return 1.0 - float(np.mean(distances))


def overall(scores: Sequence[RelativeScore]) -> float:
    """Return the mean share of the ceilings that is reached, over what could be computed."""
    known = [one.relative for one in scores if not math.isnan(one.relative)]
    return float(np.mean(known)) if known else math.nan


@dataclass(frozen=True, kw_only=True)
class Scores(Section):
    """Overall score, and for each property its share of the ceiling, its score and the ceiling."""

    template: ClassVar[str] = "scores.html"
    overall: float
    scores: tuple[tuple[str, float, float, float], ...]

    @classmethod
    def of(cls, scores: Sequence[RelativeScore]) -> Scores:
        """Put the mean of what could be computed first."""
        rows = tuple((one.name, one.relative, one.score, one.ceiling) for one in scores)
        return cls(overall=overall(scores), scores=rows)

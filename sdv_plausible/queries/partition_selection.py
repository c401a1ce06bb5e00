"""Values that occur: which ones there are is itself private, so that only what many rows hold is ever named.

Proofs: ``docs/explanation/proofs/private_domain.md``, Lemmas 2 and 3; ``persons.md``, Theorem 3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.stats import norm

from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

LEAST_HOLDERS = 5  # a value held by fewer units (rows, or people) is never released


class OccurringValues(Protocol):
    """A question for values not known beforehand; a row holds one of them or one public cell."""

    def occurring(self, rows: Any) -> tuple[Sequence[Any], np.ndarray, np.ndarray]:
        """Return values that occur, in an order of their own, their counts and the public cells'."""


@dataclass(frozen=True, kw_only=True)
class FrequentValueCounts:
    """The values that passed."""

    values: list[Any]  # in the question's order
    counts: np.ndarray  # their noisy counts
    public: np.ndarray  # noisy counts of the public cells, such as missing
    sigma: float  # standard deviation of the noise
    granularity: float  # spacing of the noise's values


class GroupRelease(Protocol):
    """A mechanism that releases noisy sizes of large groups, such as the release-level privacy test."""

    @property
    def neighbours(self) -> Neighbours:
        """Whom its noise protects."""

    @property
    def least_seeds(self) -> int:
        """Rows that a group must have to be looked at."""

    @property
    def epsilon0(self) -> float:
        """Loss of the noisy sizes."""

    @property
    def delta(self) -> float:
        """Failure probability."""

    def release(self, group_sizes: np.ndarray, coins: KeyedRNG) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the released groups, and their noisy sizes."""


def threshold(sigma: float, failure: float, neighbours: Neighbours) -> int:
    """Least noisy count of a value that is released."""
    # ``Pr[most + Z >= threshold] <= failure`` (private_domain.md, Lemma 3). ``most`` is the number of rows
    # that a value can have on one of two neighbours if it is not counted on the other one: just too few, and
    # all rows of one unit. A unit brings at most one such value with each of its rows, and takes away as many
    # where it is replaced: each of them gets its share of ``failure``.
    most = neighbours.rows_of(LEAST_HOLDERS) - 1 + neighbours.rows
    return most + math.ceil(sigma * float(norm.isf(failure / neighbours.histogram_l1))) + 1

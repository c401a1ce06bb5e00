"""Partition selection: only values that many units hold are released, because their existence is private.

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
    """Query for values that are not known beforehand; each row holds one of them or one public cell."""

    def occurring(self, rows: Any) -> tuple[Sequence[Any], np.ndarray, np.ndarray]:
        """Return the values in an order of their own, their counts, and the counts of the public cells."""


@dataclass(frozen=True, kw_only=True)
class FrequentValueCounts:
    """Values that passed the threshold, with noisy counts."""

    values: list[Any]  # selected values, in the query's order
    counts: np.ndarray  # noisy counts of the values
    public: np.ndarray  # noisy counts of the public cells, such as missing
    sigma: float  # standard deviation of the noise
    granularity: float  # spacing of the noise's values


class GroupRelease(Protocol):
    """A mechanism that releases noisy sizes of large groups, such as the release-level privacy test."""

    @property
    def neighbours(self) -> Neighbours:
        """Neighbour relation of its noise."""

    @property
    def least_seeds(self) -> int:
        """Smallest number of rows of a group that may be released."""

    @property
    def epsilon0(self) -> float:
        """Privacy loss of the noisy sizes."""

    @property
    def delta(self) -> float:
        """Failure probability."""

    def release(self, group_sizes: np.ndarray, rng: KeyedRNG) -> tuple[np.ndarray, np.ndarray]:
        """Return positions of the released groups, and their noisy sizes."""


def threshold(sigma: float, failure: float, neighbours: Neighbours) -> int:
    """Return the smallest noisy count at which a value is released."""
    # ``Pr[most + Z >= threshold] <= failure`` (private_domain.md, Lemma 3). ``most`` is the largest number of
    # rows of a value in one of two neighbours that is not counted in the other: one row too few, plus all
    # rows of one unit. A unit adds at most one such value with each of its rows, and removes as many where it
    # is replaced; each value gets an equal share of ``failure``.
    most = neighbours.rows_of(LEAST_HOLDERS) - 1 + neighbours.rows
    return most + math.ceil(sigma * float(norm.isf(failure / neighbours.histogram_l1))) + 1

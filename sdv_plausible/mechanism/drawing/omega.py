"""The number of resampled attributes: the paper's omega."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.parameter_checks import Refused


@dataclass(frozen=True)
class Omega:
    """Number of resampled attributes: one number, an inclusive range per candidate, or all (None)."""

    low: int | None
    high: int | None

    @classmethod
    def parse(cls, value: Any) -> Omega | None:
        """Read a user's omega: an int, a pair (low, high), "all", an Omega, or None for the test's choice."""
        if value is None or isinstance(value, cls):
            return value
        if isinstance(value, str) and value == "all":
            return cls(None, None)
        ends: tuple[Any, ...] = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
        whole = len(ends) == 2 and all(
            isinstance(e, (int, np.integer)) and not isinstance(e, bool) for e in ends
        )
        if not whole or not 0 <= ends[0] <= ends[1] < 2**63:
            raise _refused(value, "the number of attributes")
        return cls(int(ends[0]), int(ends[1]))

    @property
    def is_all(self) -> bool:
        """Whether all attributes are resampled, so that no seed is used."""
        return self.high is None

    def among(self, num_attributes: int) -> range:
        """Possible values for m attributes; ValueError if they exceed m."""
        if self.low is None or self.high is None:
            return range(num_attributes, num_attributes + 1)
        if self.high > num_attributes:
            raise _refused(self.to_user(), str(num_attributes))
        return range(self.low, self.high + 1)

    def draw(self, num_attributes: int, size: int, rng: KeyedRNG) -> np.ndarray:
        """Omega of each candidate, fixed or uniform over the range: int64, shape (size,)."""
        numbers = self.among(num_attributes)
        if len(numbers) == 1:
            return np.full(size, numbers[0], dtype=np.int64)
        return np.asarray(numbers[0] + rng.integers(len(numbers), size))

    def to_user(self) -> int | tuple[int, int] | str:
        """The value as a user writes it."""
        if self.low is None or self.high is None:
            return "all"
        return self.low if self.low == self.high else (self.low, self.high)

    def __str__(self) -> str:
        return repr(self.to_user())


def _refused(value: Any, top: str) -> Refused:
    rule = f"must be a whole number of resampled attributes between 0 and {top}, "
    return Refused("omega", value, f'{rule}a pair (low, high) of such numbers, or "all"')

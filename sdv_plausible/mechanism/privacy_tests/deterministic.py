"""Privacy Test 1 of the paper: a sharp threshold on plausible seeds, without an epsilon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.mechanism.drawing.sampler import Sampler
from sdv_plausible.mechanism.privacy_tests.row_tests import RowByRowTest
from sdv_plausible.models.base import SeedModel
from sdv_plausible.privacy.accounting.losses import InfiniteLoss
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.queryable import Queryable


@dataclass(frozen=True, kw_only=True)
class DeterministicTest(RowByRowTest):
    """Privacy Test 1 (section 2): a candidate passes if it has at least k plausible seeds.

    The threshold is sharp: the test gives plausible deniability, but not differential privacy.

    Parameters
    ----------
    k : int
        Plausible seeds needed, each of another privacy unit, >= 1; the seed itself counts. If people have
        several rows, ``least_seeds`` records ensure k people.
    omega : int, (int, int), "all" or None
        As in :class:`~sdv_plausible.ReleaseTest`. None keeps a few attributes with few values.
    gamma, row_cap, max_plausible, max_check_plausible, hidden_omega
        As in :class:`RowByRowTest`.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """

    name: ClassVar[str] = "deterministic"
    has_delta: ClassVar[bool] = False

    @property
    def seed_deniability(self) -> str:
        """Sentence on the (k, gamma)-plausible deniability of each row."""
        least = f"at least {self.least_seeds} records"
        if self.hidden_omega:
            how = (
                f"({self.k}, {self.gamma:g})-plausible deniability holds for every released row, also where "
                f"omega stays hidden: {least} were its seed with probabilities within the factor "
            )
            return how + f"{self.gamma:g}"
        return (
            f"({self.k}, {self.gamma:g})-plausible deniability holds for every released row, omega being "
            f"known: {least} could have been its seed about equally likely; where a range of omega stays "
            "hidden, the factor is not sure"
        )

    @property
    def point_deniability(self) -> str:
        """Sentence on the (k, gamma)-plausible deniability of each pair of latent point and row."""
        return (
            f"({self.k}, {self.gamma:g})-plausible deniability holds for every released row with its latent "
            f"point, and not for the row alone: at least {self.least_seeds} records could have given "
            "that point about equally likely"
        )

    @property
    def covers(self) -> str | None:
        """None: there is no total."""
        return None

    def charge(self, gamma: float, far: float | None = None) -> tuple[LedgerEntry, ...]:  # noqa: ARG002
        """One entry without a finite epsilon."""
        return (
            LedgerEntry(
                name="rows",
                mechanism=(
                    f"Privacy Test 1, k = {self.k}, gamma = {self.gamma:g}{self._limits}: each row has "
                    f"{self._deniability} (plausible deniability)"
                ),
                losses=(InfiniteLoss(),),
                scope="each released row",
                note=(
                    "Privacy Test 1 has a sharp threshold, which gives plausible deniability but no "
                    "epsilon; use test='release'"
                ),
                parts=("seeds",),
            ),
        )

    @property
    def _deniability(self) -> str:
        of_people = f", which are records of at least {self.k} people" if self.neighbours.of_people else ""
        return f"at least {self.least_seeds} plausible seeds{of_people}"

    def passes(self, plausible_seeds: np.ndarray, coins: KeyedRNG) -> np.ndarray:  # noqa: ARG002
        """Boolean array: which candidates pass."""
        passed: np.ndarray = plausible_seeds >= self.least_seeds
        return passed

    def start(self, model: SeedModel, seeds: Queryable, omega: Omega, sampling: KeyedRNG) -> Sampler:
        """Mechanism 1, which gives up if too few candidates pass: there is no guarantee to break."""
        return self._mechanism(model, seeds, omega, sampling, gives_up=True)

    def complaints(self, num_rows: int) -> list[str]:
        """The error for a table with fewer rows than needed seeds."""
        if self.least_seeds > num_rows:
            above = f"{self._above} the number of rows ({num_rows})"
            return [f"{above}: no row could have k plausible seeds; lower k"]
        return []

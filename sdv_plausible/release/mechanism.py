"""Mechanism 1 of the paper.

A row leaves only if the privacy test lets it: proposals that fail are drawn again inside, and nothing about
them -- not their number, not their rate -- is kept or shown (a visible rejection is an output that Theorem 1
does not cover).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sdv_plausible.models.base import SeedModel
from sdv_plausible.models.omega import Omega
from sdv_plausible.privacy.noise.coins import Coins

BATCH = 1 << 17  # proposals made at once, at most
SPARE = 64  # proposals made beyond those that the pass rate so far asks for
LEAST_RATE = 1e-3  # pass rate below which batches grow no further


class TooFewReleasedError(RuntimeError):
    """The privacy test let too few candidates through within the attempt budget; no row was released."""


class RowTest(Protocol):
    """A privacy test that decides candidate by candidate."""

    @property
    def k(self) -> int:
        """Plausible seeds needed, each of another unit."""
        ...

    @property
    def least_seeds(self) -> int:
        """Plausible seeds that are surely those of k units."""
        ...

    @property
    def gamma(self) -> float:
        """Partition width."""
        ...

    def passes(self, plausible_seeds: np.ndarray, coins: Coins) -> np.ndarray:
        """Boolean array: which candidates pass."""
        ...


@dataclass(frozen=True, kw_only=True)
class PlausibleDeniabilityMechanism:
    """Mechanism 1 (section 2): seed, candidate, privacy test; repeated until enough rows are released.

    Parameters
    ----------
    model : SeedModel
        Fitted, with its seeds attached.
    num_seeds : int
        Number of seed records.
    test : DeterministicTest or RandomizedTest
        Decides which candidates leave.
    omega : Omega
        Number of attributes resampled; a range is drawn from anew at every attempt.
    seed_free_share : float
        Probability that a proposal resamples everything. All seeds are then plausible, so the pass rate
        cannot fall below this share by construction, no attempt budget is needed and no failure can be seen
        (docs/explanation/proofs/pass_rate.md, Theorem 3).
    """

    model: SeedModel
    num_seeds: int
    test: RowTest
    omega: Omega
    seed_free_share: float = 0.0

    def release(self, num_rows: int, coins: Coins, max_attempts: int | None = None) -> np.ndarray:
        """Released rows as codes (num_rows, m), in the order of acceptance.

        Raises
        ------
        TooFewReleasedError
            If ``max_attempts`` candidates do not give ``num_rows`` released ones. A visible failure depends
            on the rows: only a release without a differential-privacy claim may set a maximum.
        """
        released = [np.empty((0, self.model.num_attributes), dtype=np.int32)]
        missing, attempts, rate = num_rows, 0, 1.0
        while missing > 0:
            size = min(BATCH, int(missing / rate) + SPARE)
            if max_attempts is not None and attempts >= max_attempts:
                raise TooFewReleasedError(self._too_few())
            # (1) a uniformly random seed record for each candidate; (2) a candidate from it
            seeds = coins.integers(self.num_seeds, size)
            proposals = self.model.propose(seeds, self._draw_omega(size, coins), coins)
            # (3) the privacy test on its number of plausible seeds; (4) released, or nothing
            plausible = self.model.count_plausible(proposals, self.test.gamma)
            passed = np.flatnonzero(self.test.passes(plausible, coins))[:missing]
            released.append(proposals.candidates[passed])
            missing -= len(passed)
            attempts += size
            rate = max(len(passed) / size, LEAST_RATE)
        return np.concatenate(released)

    def _draw_omega(self, size: int, coins: Coins) -> np.ndarray:
        m = self.model.num_attributes
        omega = self.omega.draw(m, size, coins)
        if self.seed_free_share > 0:
            omega = np.where(coins.uniform(size) < self.seed_free_share, m, omega)
        return omega

    def _too_few(self) -> str:
        return (
            f"the privacy test let too few candidates through: k ({self.test.k}) is too high for omega "
            f"({self.omega}) "
            "on this table. Nothing was released. Resample more attributes (raise omega), lower k, or use "
            "privacy_test='release'; synth.diagnose() shows the holder of the data how large the groups of "
            "plausible "
            "seeds are (not private)"
        )

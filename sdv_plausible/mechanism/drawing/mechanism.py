"""Mechanism 1 of the paper.

A row leaves only if the privacy test lets it: proposals that fail are drawn again inside, and nothing about
them -- not their number, not their rate -- is kept or shown (a visible rejection is an output that Theorem 1
does not cover).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.models.base import Proposals, SeedModel
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.noise.noise_samplers import count_among_drawn

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

    @property
    def least_seeds(self) -> int:
        """Plausible seeds that are surely those of k units."""

    @property
    def gamma(self) -> float:
        """Partition width."""

    @property
    def hidden_omega(self) -> bool:
        """Whether likelihoods are those of the mixture over omega."""

    @property
    def stop(self) -> int | None:
        """Plausible seeds at which counting stops."""

    @property
    def max_check_plausible(self) -> int | None:
        """Seeds looked at for a candidate, in a fresh random order."""

    def passes(self, plausible_seeds: np.ndarray, coins: KeyedRNG) -> np.ndarray:
        """Boolean array: which candidates pass."""


@dataclass(frozen=True, kw_only=True)
class PlausibleDeniabilityMechanism:
    """Mechanism 1 (section 2): seed, candidate, privacy test; repeated until enough rows are released."""

    model: SeedModel  # fitted, with its seeds attached
    num_seeds: int
    test: RowTest
    omega: Omega  # number of attributes resampled; a range is drawn from anew at every attempt
    # Probability that a proposal resamples everything. All seeds are then plausible, so the pass rate cannot
    # fall below this share by construction, no attempt budget is needed and no failure can be seen
    # (docs/explanation/proofs/pass_rate.md, Theorem 3)
    seed_free_share: float = 0.0

    def release(self, num_rows: int, coins: KeyedRNG, max_attempts: int | None = None) -> np.ndarray:
        """Released rows as codes (num_rows, m), in the order of acceptance."""
        return self.release_with_points(num_rows, coins, max_attempts)[0]

    def release_with_points(
        self, num_rows: int, coins: KeyedRNG, max_attempts: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Released rows, and the latent point (num_rows, l) that each was decoded from."""
        # Points are NaN for rows without a seed, and there are none where the test looks at no latent point.
        # Where ``max_attempts`` do not suffice that shows, and depends on the rows: only a release without a
        # differential-privacy claim may set a maximum.
        released, points = [np.empty((0, self.model.num_attributes), dtype=np.int32)], [np.empty((0, 0))]
        missing, attempts, rate = num_rows, 0, 1.0
        while missing > 0:
            size = min(BATCH, int(missing / rate) + SPARE)
            if max_attempts is not None and attempts >= max_attempts:
                raise TooFewReleasedError(self._too_few())
            # (1) a uniformly random seed record for each candidate; (2) a candidate from it
            seeds = coins.integers(self.num_seeds, size)
            omega, seed_free = self._draw_omega(size, coins)
            proposals = self.model.propose(seeds, omega, coins)
            # (3) the privacy test on its number of plausible seeds; (4) released, or nothing
            plausible = self.count_plausible(proposals, seed_free, coins)
            passed = np.flatnonzero(self.test.passes(plausible, coins))[:missing]
            released.append(proposals.candidates[passed])
            if proposals.latents is not None:
                points.append(proposals.latents[passed])
            missing -= len(passed)
            attempts += size
            rate = max(len(passed) / size, LEAST_RATE)
        return np.concatenate(released), np.concatenate(points[1:] or points)

    def count_plausible(self, proposals: Proposals, seed_free: np.ndarray, coins: KeyedRNG) -> np.ndarray:
        """Plausible seeds of every proposal, as the test counts them."""
        # See docs/explanation/proofs/checked_seeds.md.
        test = self.test
        if test.hidden_omega and isinstance(self.model, BayesianNetwork):
            # A seed-free candidate is tested as one: that keeps the floor of the pass rate.
            counts = np.full(len(seed_free), self.num_seeds, dtype=np.int64)
            rest = np.flatnonzero(~seed_free)
            if len(rest):
                omegas = self.omega.among(self.model.num_attributes)
                counts[rest] = self.model.count_plausible_mixture(proposals.take(rest), omegas, test.gamma)
        else:
            counts = self.model.count_plausible(proposals, test.gamma)
        if test.max_check_plausible is not None and test.max_check_plausible < self.num_seeds:
            stop = test.stop or self.num_seeds
            return count_among_drawn(counts, self.num_seeds, test.max_check_plausible, stop, coins)
        return counts if test.stop is None else np.minimum(counts, test.stop)

    def _draw_omega(self, size: int, coins: KeyedRNG) -> tuple[np.ndarray, np.ndarray]:
        """Resampled attributes of each proposal, and which resample everything by the seed-free share."""
        m = self.model.num_attributes
        omega = self.omega.draw(m, size, coins)
        if self.seed_free_share == 0:
            return omega, np.zeros(size, dtype=bool)
        seed_free = coins.uniform(size) < self.seed_free_share
        return np.where(seed_free, m, omega), seed_free

    def _too_few(self) -> str:
        where, way_out = f"omega ({self.omega})", "Resample more attributes (raise omega)"
        if self.model.in_latent_space:
            where, way_out = (
                "its latent points",
                "Encode records more widely (model=Latent(...): raise floor)",
            )
        return (
            f"the privacy test let too few candidates through: k ({self.test.k}) is too high for {where} on "
            f"this table. Nothing was released. {way_out}, lower k, or use test='release'; synth.diagnose() "
            "shows the holder of the data how large the groups of plausible seeds are (not private)"
        )


MOST_PROCESSES = 61  # as many as every system lets one wait for
PART_ROWS = 25_000  # rows that one stream of coins makes
PartOfRows = tuple[int, KeyedRNG, int | None]
Rows = tuple[np.ndarray, np.ndarray]  # as codes, and the latent points that they were decoded from
RunParts = Callable[[list[PartOfRows]], list[Rows]]

_held: list[PlausibleDeniabilityMechanism] = []  # of a worker: the mechanism is sent to it once


def parts_of(num_rows: int, coins: KeyedRNG, attempts: Callable[[int], int | None]) -> list[PartOfRows]:
    """Rows, coins and attempts of every part; the first has the coins of the call."""
    sizes = [min(PART_ROWS, num_rows - start) for start in range(0, num_rows, PART_ROWS)] or [0]
    return [(size, coins.spawn("part", i) if i else coins, attempts(size)) for i, size in enumerate(sizes)]


@contextmanager
def workers(mechanism: PlausibleDeniabilityMechanism, processes: int) -> Iterator[RunParts]:
    """What makes parts, in this process or in several. A worker holds the seed records as this one does."""
    check.whole("processes", processes, 1, "1 for this process alone")
    if processes == 1:
        yield lambda parts: [mechanism.release_with_points(*part) for part in parts]
        return
    processes = min(processes, MOST_PROCESSES)
    with ProcessPoolExecutor(processes, initializer=_held.append, initargs=(mechanism,)) as pool:
        yield lambda parts: list(pool.map(_made, parts))


def _made(part: PartOfRows) -> Rows:
    return _held[-1].release_with_points(*part)

"""Mechanism 1 of the paper.

A row is released only if it passes the privacy test. Rejected candidates are replaced inside, and neither
their number nor their rate is stored or shown: Theorem 1 does not cover visible rejections.
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
from sdv_plausible.privacy.noise.noise_samplers import hypergeometric_counts

BATCH = 1 << 17  # largest number of proposals in a batch
SPARE = 64  # proposals beyond those that the last pass rate requires
LEAST_RATE = 1e-3  # batches grow no further below this pass rate


class TooFewReleasedError(RuntimeError):
    """Too few candidates passed the privacy test within the attempt budget; no row was released."""


class RowTest(Protocol):
    """A privacy test of single candidates."""

    @property
    def k(self) -> int:
        """Plausible seeds needed, each of another privacy unit."""

    @property
    def least_seeds(self) -> int:
        """Plausible seeds that always belong to at least k privacy units."""

    @property
    def gamma(self) -> float:
        """Width of the likelihood partition."""

    @property
    def hidden_omega(self) -> bool:
        """Whether likelihoods are those of the mixture over omega."""

    @property
    def stop(self) -> int | None:
        """Plausible seeds at which counting stops."""

    @property
    def max_check_plausible(self) -> int | None:
        """Seeds checked per candidate, in a fresh random order."""

    def passes(self, plausible_seeds: np.ndarray, rng: KeyedRNG) -> np.ndarray:
        """Boolean array: which candidates pass."""


@dataclass(frozen=True, kw_only=True)
class PlausibleDeniabilityMechanism:
    """Mechanism 1 (section 2): seed, candidate, privacy test; repeated until enough rows are released."""

    model: SeedModel  # fitted, with its seeds attached
    num_seeds: int
    test: RowTest
    omega: Omega  # number of resampled attributes; each attempt draws from a range
    # Probability that a proposal resamples everything. All seeds are then plausible: the pass rate is at
    # least this share, and no attempt budget is needed (docs/explanation/proofs/pass_rate.md, Theorem 3).
    seed_free_share: float = 0.0

    def release(self, num_rows: int, rng: KeyedRNG, max_attempts: int | None = None) -> np.ndarray:
        """Released rows as codes, shape (num_rows, m), in the order of acceptance."""
        return self.release_with_points(num_rows, rng, max_attempts)[0]

    def release_with_points(
        self, num_rows: int, rng: KeyedRNG, max_attempts: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Released rows, and the latent point (num_rows, l) of each; NaN for rows without a seed."""
        # An error after ``max_attempts`` depends on the rows: only a release without a differential privacy
        # guarantee may set it.
        released, points = [np.empty((0, self.model.num_attributes), dtype=np.int32)], [np.empty((0, 0))]
        missing, attempts, rate = num_rows, 0, 1.0
        while missing > 0:
            size = min(BATCH, int(missing / rate) + SPARE)
            if max_attempts is not None and attempts >= max_attempts:
                raise TooFewReleasedError(self._too_few())
            # (1) a uniformly random seed record for each candidate; (2) a candidate from it
            seeds = rng.integers(self.num_seeds, size)
            omega, seed_free = self._draw_omega(size, rng)
            proposals = self.model.propose(seeds, omega, rng)
            # (3) the privacy test on its number of plausible seeds; (4) released, or nothing
            plausible = self.count_plausible(proposals, seed_free, rng)
            passed = np.flatnonzero(self.test.passes(plausible, rng))[:missing]
            released.append(proposals.candidates[passed])
            if proposals.latents is not None:
                points.append(proposals.latents[passed])
            missing -= len(passed)
            attempts += size
            rate = max(len(passed) / size, LEAST_RATE)
        return np.concatenate(released), np.concatenate(points[1:] or points)

    def count_plausible(self, proposals: Proposals, seed_free: np.ndarray, rng: KeyedRNG) -> np.ndarray:
        """Number of plausible seeds of each proposal (docs/explanation/proofs/checked_seeds.md)."""
        test = self.test
        if test.hidden_omega and isinstance(self.model, BayesianNetwork):
            # All seeds are plausible for a seed-free candidate, which keeps the floor of the pass rate.
            counts = np.full(len(seed_free), self.num_seeds, dtype=np.int64)
            seeded = np.flatnonzero(~seed_free)
            if len(seeded):
                omegas = self.omega.among(self.model.num_attributes)
                counts[seeded] = self.model.count_plausible_mixture(
                    proposals.take(seeded), omegas, test.gamma
                )
        else:
            counts = self.model.count_plausible(proposals, test.gamma)
        if test.max_check_plausible is not None and test.max_check_plausible < self.num_seeds:
            stop = test.stop or self.num_seeds
            return hypergeometric_counts(counts, self.num_seeds, test.max_check_plausible, stop, rng)
        return counts if test.stop is None else np.minimum(counts, test.stop)

    def _draw_omega(self, size: int, rng: KeyedRNG) -> tuple[np.ndarray, np.ndarray]:
        """Omega of each proposal, and which proposals are seed-free and resample everything."""
        m = self.model.num_attributes
        omega = self.omega.draw(m, size, rng)
        if self.seed_free_share == 0:
            return omega, np.zeros(size, dtype=bool)
        seed_free = rng.uniform(size) < self.seed_free_share
        return np.where(seed_free, m, omega), seed_free

    def _too_few(self) -> str:
        where, way_out = f"omega ({self.omega})", "Resample more attributes (raise omega)"
        if self.model.in_latent_space:
            where, way_out = (
                "its latent points",
                "Encode records more widely (model=Latent(...): raise floor)",
            )
        return (
            f"the privacy test rejected too many candidates: k ({self.test.k}) is too high for {where} on "
            f"this table. Nothing was released. {way_out}, lower k, or use test='release'. synth.diagnose() "
            "shows the data owner the sizes of the groups of plausible seeds (not private)"
        )


MOST_PROCESSES = 61  # limit of ProcessPoolExecutor on Windows
PART_ROWS = 25_000  # rows per random stream
PartOfRows = tuple[int, KeyedRNG, int | None]
Rows = tuple[np.ndarray, np.ndarray]  # codes, and latent points
RunParts = Callable[[list[PartOfRows]], list[Rows]]

_of_worker: list[PlausibleDeniabilityMechanism] = []  # in a worker process: its mechanism


def parts_of(num_rows: int, rng: KeyedRNG, attempts: Callable[[int], int | None]) -> list[PartOfRows]:
    """Number of rows, random stream and attempts of each part; the first has the stream of the call."""
    sizes = [min(PART_ROWS, num_rows - start) for start in range(0, num_rows, PART_ROWS)] or [0]
    return [(size, rng.spawn("part", i) if i else rng, attempts(size)) for i, size in enumerate(sizes)]


@contextmanager
def workers(mechanism: PlausibleDeniabilityMechanism, processes: int) -> Iterator[RunParts]:
    """A function that samples parts, in this process or in workers, which hold the seed records, too."""
    check.whole("processes", processes, 1, "1 for this process alone")
    if processes == 1:
        yield lambda parts: [mechanism.release_with_points(*part) for part in parts]
        return
    processes = min(processes, MOST_PROCESSES)
    with ProcessPoolExecutor(processes, initializer=_of_worker.append, initargs=(mechanism,)) as pool:
        yield lambda parts: list(pool.map(_sample_part, parts))


def _sample_part(part: PartOfRows) -> Rows:
    return _of_worker[-1].release_with_points(*part)

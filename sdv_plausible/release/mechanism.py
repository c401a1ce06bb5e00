"""Mechanism 1 of the paper, and its release-level form.

A row leaves only if the privacy test lets it: proposals that fail are drawn again inside, and nothing about them --
not their number, not their rate -- is kept or shown (a visible rejection is an output that Theorem 1 does not cover).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sdv_plausible.models.base import Omega, SeedModel, draw_omega
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.privacy.privacy_tests import DeterministicTest, RandomizedTest, ReleaseTest

SYSTEMATIC_ROWS = 200_000
BATCH = 1 << 17  # proposals made at once, at most


class TooFewReleasedError(RuntimeError):
    """The privacy test let too few candidates through within the attempt budget; no row was released."""


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
    omega : int, (int, int) or "all"
        Number of attributes resampled; a range is drawn from anew at every attempt.
    num_attributes : int
        The number m of attributes.
    seed_free_share : float
        Probability that a proposal resamples everything. All seeds are then plausible, so the pass rate cannot fall
        below this share by construction, no attempt budget is needed and no failure can be seen
        (docs/explanation/proofs/pass_rate.md, Theorem 2).
    """

    model: SeedModel
    num_seeds: int
    test: DeterministicTest | RandomizedTest
    omega: Omega
    num_attributes: int
    seed_free_share: float = 0.0

    def release(self, num_rows: int, coins: Coins, max_attempts: int | None = None) -> np.ndarray:
        """Released rows as codes (num_rows, m), in the order of acceptance.

        Raises
        ------
        TooFewReleasedError
            If ``max_attempts`` candidates do not give ``num_rows`` released ones. A visible failure depends on the
            rows: only a release without a differential-privacy claim may set a maximum.
        """
        released = [np.empty((0, self.num_attributes), dtype=np.int32)]
        missing, attempts, rate = num_rows, 0, 1.0
        while missing > 0:
            size = min(BATCH, int(missing / rate) + 64)
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
            rate = max(len(passed) / size, 1e-3)
        return np.concatenate(released)

    def _draw_omega(self, size: int, coins: Coins) -> np.ndarray:
        omega = draw_omega(self.omega, self.num_attributes, size, coins)
        if self.seed_free_share > 0:
            omega = np.where(coins.uniform(size) < self.seed_free_share, self.num_attributes, omega)
        return omega

    def _too_few(self) -> str:
        return (
            f"the privacy test let too few candidates through: k ({self.test.k}) is too high for omega ({self.omega}) "
            "on this table. Nothing was released. Resample more attributes (raise omega), lower k, or use "
            "privacy_test='release'; synth.diagnose() shows the holder of the data how large the groups of plausible "
            "seeds are (not private)"
        )


@dataclass(frozen=True, kw_only=True)
class ReleasedPrefixes:
    """What :class:`ReleaseTest` released: prefixes with noisy sizes. It holds no record.

    Parameters
    ----------
    kept : int
        Number of attributes that a prefix fixes, m - omega; 0 means the model alone.
    prefixes : ndarray of int, shape (g, kept)
        Released prefixes in the resampling order, sorted.
    sizes : ndarray of int64, shape (g,)
        Their noisy sizes.
    """

    kept: int
    prefixes: np.ndarray
    sizes: np.ndarray

    @classmethod
    def draw(cls, network: BayesianNetwork, seeds: np.ndarray, kept: int, test: ReleaseTest, coins: Coins) -> ReleasedPrefixes:
        """Apply the test once to the prefix groups of the seeds (n_s, m)."""
        if kept == 0:
            return cls(kept=0, prefixes=np.empty((1, 0), dtype=np.int32), sizes=np.ones(1, dtype=np.int64))
        prefixes, sizes = network.group(seeds).groups(kept)
        released, noisy = test.release(sizes, coins)
        order = np.lexsort(prefixes[released].T[::-1])
        return cls(kept=kept, prefixes=prefixes[released][order], sizes=noisy[order])

    def start(self, num_rows: int, network: BayesianNetwork, coins: Coins) -> np.ndarray:
        """Codes (num_rows, m) with prefixes drawn by their noisy sizes and zeros elsewhere."""
        codes = np.zeros((num_rows, network.num_attributes), dtype=np.int32, order="F")
        if self.kept == 0:
            return codes
        cumulative = np.cumsum(self.sizes) / self.sizes.sum()
        chosen = np.minimum(np.searchsorted(cumulative, coins.uniform(num_rows), side="right"), len(self.sizes) - 1)
        for position in range(self.kept):
            codes[:, network.order[position]] = self.prefixes[chosen, position]
        return codes

    def draw_given(
        self, num_rows: int, known: Mapping[int, int], network: BayesianNetwork, coins: Coins
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows with the known codes put in, and the natural log of the weight each must get (likelihood weighting).

        Returns
        -------
        codes : ndarray of int, shape (num_rows, m)
        log_weight : ndarray, shape (num_rows,)
            -inf where a known code contradicts the released prefix.
        """
        codes = self.start(num_rows, network, coins)
        log_weight = np.zeros(num_rows)
        for position, table in enumerate(network.tables):
            if table.child in known:
                if position < self.kept:
                    log_weight[codes[:, table.child] != known[table.child]] = -np.inf
                else:
                    codes[:, table.child] = known[table.child]
                    log_weight += table.log_probability(codes)
            elif position >= self.kept:
                codes[:, table.child] = table.draw(codes, coins)
        return codes, log_weight


@dataclass(frozen=True, kw_only=True)
class ReleasedSeeds:
    """What leaves of the seeds under the release test: one :class:`ReleasedPrefixes` per omega. It holds no record.

    With several omegas every seed belongs to one of them, by a secret draw that does not look at its values: one row
    then changes one part only, and the parts together cost what one costs (docs/explanation/proofs/release_test.md).

    Parameters
    ----------
    parts : tuple of ReleasedPrefixes
        Rows are drawn from each with equal probability.
    """

    parts: tuple[ReleasedPrefixes, ...]

    @classmethod
    def draw(cls, network: BayesianNetwork, seeds: np.ndarray, omega: Omega, test: ReleaseTest, coins: Coins) -> ReleasedSeeds:
        """Apply the test once to seeds (n_s, m), for every omega of a range to a random part of them."""
        m = network.num_attributes
        low, high = (m, m) if isinstance(omega, str) else omega if isinstance(omega, (tuple, list)) else (omega, omega)
        part = coins.integers(high - low + 1, len(seeds))
        drawn = [
            ReleasedPrefixes.draw(network, seeds[part == i], m - (low + i), test, coins.spawn("part", i))
            for i in range(high - low + 1)
        ]
        return cls(parts=tuple(drawn))

    def usable(self) -> tuple[ReleasedPrefixes, ...]:
        """The parts of which something was released.

        Raises
        ------
        TooFewReleasedError
            If there is none.
        """
        found = tuple(part for part in self.parts if len(part.sizes))
        if not found:
            raise TooFewReleasedError(
                f"no group of seeds that share {self.parts[0].kept} attributes was large enough to be released: lower k, "
                'raise omega (resample more attributes; "all" always works), or raise epsilon0'
            )
        return found

    def sample(self, num_rows: int, network: BayesianNetwork, coins: Coins) -> np.ndarray:
        """Rows as codes (num_rows, m): post-processing of what was released.

        Up to ``SYSTEMATIC_ROWS`` rows are drawn evenly spread over the model's tables; beyond, chance hardly matters.
        """
        parts = self.usable()
        chosen = coins.integers(len(parts), num_rows)
        codes = np.zeros((num_rows, network.num_attributes), dtype=np.int32, order="F")
        kept = np.zeros(num_rows, dtype=np.int64)
        for i, part in enumerate(parts):
            rows = np.flatnonzero(chosen == i)
            kept[rows] = part.kept
            codes[rows] = part.start(len(rows), network, coins)
        return network.complete(codes, kept, coins, systematic=num_rows <= SYSTEMATIC_ROWS)

    def sample_given(self, num_rows: int, known: Mapping[int, int], network: BayesianNetwork, coins: Coins) -> np.ndarray:
        """Rows that have the known codes: likelihood weighting, then resampling. Also post-processing.

        Parameters
        ----------
        num_rows : int
            Rows wanted.
        known : mapping of int to int
            Code of each known column.

        Returns
        -------
        ndarray of int, shape (num_rows, m) or (0, m)
            No row if the known codes have probability 0.
        """
        parts = self.usable()
        size = -(-max(20_000, 10 * num_rows) // len(parts))
        drawn = [part.draw_given(size, known, network, coins) for part in parts]
        codes = np.concatenate([c for c, _ in drawn])
        log_weight = np.concatenate([w for _, w in drawn])
        if not np.isfinite(log_weight).any():
            return codes[:0]
        weight = np.exp(log_weight - log_weight.max())
        cumulative = np.cumsum(weight)
        # Divided by its own last entry it ends at 1 exactly: no u < 1 falls behind it onto a row of weight 0.
        return codes[np.searchsorted(cumulative / cumulative[-1], coins.uniform(num_rows), side="right")]

"""What the release-level test lets out of the seeds, and rows drawn from it: all post-processing.

It holds no record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sdv_plausible.mechanism.drawing.mechanism import TooFewReleasedError
from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.models.base import PrefixModel
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.partition_selection import GroupRelease
from sdv_plausible.queries.queryable import Queryable

SYSTEMATIC_ROWS = 200_000
LEAST_WEIGHTED, WEIGHTED_PER_ROW = 20_000, 10  # rows drawn for likelihood weighting
MOST_TRIES = 4096  # of a row whose own known codes are put in, until one is accepted
AT_ONCE = 2**18  # tries at once, all rows together


@dataclass(frozen=True, kw_only=True)
class ReleasedPrefixes:
    """Prefixes of one length with noisy sizes."""

    kept: int  # number of attributes that a prefix fixes, m - omega; 0 means the model alone
    prefixes: np.ndarray  # shape (g, kept): released prefixes in the resampling order, sorted
    sizes: np.ndarray

    @classmethod
    def sort(cls, prefixes: np.ndarray, sizes: np.ndarray) -> ReleasedPrefixes:
        """Released prefixes (g, kept) and noisy sizes (g,) in an order that says nothing."""
        kept = prefixes.shape[1]
        order = np.lexsort(prefixes.T[::-1]) if kept else np.arange(len(prefixes))
        return cls(kept=kept, prefixes=prefixes[order], sizes=sizes[order])

    def start(self, num_rows: int, model: PrefixModel, coins: KeyedRNG) -> np.ndarray:
        """Codes (num_rows, m) with prefixes drawn by their noisy sizes and zeros elsewhere."""
        codes = np.zeros((num_rows, model.num_attributes), dtype=np.int32, order="F")
        if self.kept == 0:
            return codes
        cumulative = np.cumsum(self.sizes) / self.sizes.sum()
        chosen = np.minimum(
            np.searchsorted(cumulative, coins.uniform(num_rows), side="right"), len(self.sizes) - 1
        )
        for position in range(self.kept):
            codes[:, model.order[position]] = self.prefixes[chosen, position]
        return codes


@dataclass(frozen=True, kw_only=True)
class ReleasedSeeds:
    """What leaves of the seeds under the release test: one :class:`ReleasedPrefixes` per omega.

    With several omegas every seed belongs to one of them, by a secret draw that does not look at its values:
    one row then changes one part only, and the parts together cost what one costs
    (docs/explanation/proofs/release_test.md). Rows are drawn from each part with equal probability.
    """

    parts: tuple[ReleasedPrefixes, ...]

    @classmethod
    def draw(cls, model: PrefixModel, seeds: Queryable, omega: Omega, test: GroupRelease) -> ReleasedSeeds:
        """Apply the test once to the seeds, for every omega of a range to a random part of them."""
        m = model.num_attributes
        prefixes = [model.order[: m - number] for number in omega.among(m)]
        if not any(prefixes):  # every attribute is resampled: no seed is looked at
            return cls.none()
        return cls(
            parts=tuple(ReleasedPrefixes.sort(*released) for released in seeds.release_groups(prefixes, test))
        )

    @classmethod
    def none(cls) -> ReleasedSeeds:
        """Nothing of any seed: rows come from the model alone."""
        alone = ReleasedPrefixes.sort(np.empty((1, 0), dtype=np.int32), np.ones(1, dtype=np.int64))
        return cls(parts=(alone,))

    def usable(self) -> tuple[ReleasedPrefixes, ...]:
        """The parts of which something was released."""
        found = tuple(part for part in self.parts if len(part.sizes))
        if not found:
            raise TooFewReleasedError(
                f"no group of seeds that share {self.parts[0].kept} attributes was large enough to be "
                "released: lower k, "
                'raise omega (resample more attributes; "all" always works), or raise epsilon0'
            )
        return found

    def sample(self, num_rows: int, model: PrefixModel, coins: KeyedRNG) -> np.ndarray:
        """Rows as codes (num_rows, m): post-processing of what was released."""
        # Up to ``SYSTEMATIC_ROWS`` rows are drawn evenly spread over the model's tables; beyond, chance
        # hardly matters.
        parts, is_few = self.usable(), num_rows <= SYSTEMATIC_ROWS
        if len(parts) == 1 and not is_few:
            return model.complete(parts[0].start(num_rows, model, coins), parts[0].kept, coins)
        chosen = coins.integers(len(parts), num_rows)
        codes = np.zeros((num_rows, model.num_attributes), dtype=np.int32, order="F")
        kept = np.zeros(num_rows, dtype=np.int64)
        for i, part in enumerate(parts):
            rows = np.flatnonzero(chosen == i)
            kept[rows] = part.kept
            codes[rows] = part.start(len(rows), model, coins)
        return model.complete(codes, kept, coins, systematic=is_few)

    def sample_each(
        self, known: Mapping[int, np.ndarray], model: PrefixModel, coins: KeyedRNG
    ) -> tuple[np.ndarray, np.ndarray]:
        """A row for each combination of known codes (N,), and whether it was found: rejection sampling.

        A try is accepted with the probability of its weight, as a share of the largest that it may have: what
        is accepted has exactly the law of rows with these codes. Also post-processing.
        """
        parts, num_rows = self.usable(), len(next(iter(known.values())))
        most = np.max([model.most_given(known, part.kept) for part in parts], axis=0)
        codes = np.zeros((num_rows, model.num_attributes), dtype=np.int32, order="F")
        found = np.zeros(num_rows, dtype=bool)
        tries, made = 1, 0
        while made < MOST_TRIES and len(left := np.flatnonzero(~found & (most > -np.inf))):
            for start in range(0, len(left), max(1, AT_ONCE // tries)):
                rows = np.repeat(left[start : start + max(1, AT_ONCE // tries)], tries)
                own = {column: code[rows] for column, code in known.items()}
                drawn, weight = self._tried(own, model, coins)
                with np.errstate(divide="ignore"):
                    good = np.flatnonzero(np.log(coins.uniform(len(rows))) < weight - most[rows])
                taken, first = np.unique(rows[good], return_index=True)  # the first that is accepted
                codes[taken] = drawn[good[first]]
                found[taken] = True
            made, tries = made + tries, 2 * tries
        return codes, found

    def _tried(
        self, known: Mapping[int, np.ndarray], model: PrefixModel, coins: KeyedRNG
    ) -> tuple[np.ndarray, np.ndarray]:
        """A row of each combination of known codes from a part drawn with equal probability; log weights."""
        parts, num_rows = self.usable(), len(next(iter(known.values())))
        if len(parts) == 1:
            start = parts[0].start(num_rows, model, coins)
            return model.complete_given(start, parts[0].kept, known, coins)
        chosen = coins.integers(len(parts), num_rows)
        codes = np.zeros((num_rows, model.num_attributes), dtype=np.int32, order="F")
        weight = np.zeros(num_rows)
        for i, part in enumerate(parts):
            rows = np.flatnonzero(chosen == i)
            own = {column: code[rows] for column, code in known.items()}
            start = part.start(len(rows), model, coins)
            codes[rows], weight[rows] = model.complete_given(start, part.kept, own, coins)
        return codes, weight

    def sample_given(
        self, num_rows: int, known: Mapping[int, int], model: PrefixModel, coins: KeyedRNG
    ) -> np.ndarray:
        """Rows that have the known codes: likelihood weighting, then resampling. Also post-processing."""
        # Shape (num_rows, m), or (0, m) if the known codes have probability 0.
        parts = self.usable()
        size = -(-max(LEAST_WEIGHTED, WEIGHTED_PER_ROW * num_rows) // len(parts))
        drawn = [
            model.complete_given(part.start(size, model, coins), part.kept, known, coins) for part in parts
        ]
        codes = np.concatenate([c for c, _ in drawn])
        log_weight = np.concatenate([w for _, w in drawn])
        if not np.isfinite(log_weight).any():
            return codes[:0]
        weight = np.exp(log_weight - log_weight.max())
        cumulative = np.cumsum(weight)
        # Divided by its own last entry it ends at 1 exactly: no u < 1 falls behind it onto a row of weight 0.
        return codes[np.searchsorted(cumulative / cumulative[-1], coins.uniform(num_rows), side="right")]

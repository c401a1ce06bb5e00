"""Seed prefixes released by the release-level test, and rows sampled from them by post-processing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.models.base import PrefixModel
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.partition_selection import GroupRelease
from sdv_plausible.queries.queryable import Queryable

SYSTEMATIC_ROWS = 200_000
LEAST_WEIGHTED, WEIGHTED_PER_ROW = 20_000, 10  # rows sampled for likelihood weighting
MOST_TRIES = 4096  # rejection sampling: proposals per row
AT_ONCE = 2**18  # rejection sampling: proposals in memory


@dataclass(frozen=True, kw_only=True)
class ReleasedPrefixes:
    """Prefixes of one length with noisy sizes."""

    kept: int  # length of the prefixes, m - omega; 0 for the model alone
    prefixes: np.ndarray  # codes in resampling order, shape (g, kept), sorted
    sizes: np.ndarray  # noisy sizes, shape (g,)

    @classmethod
    def sort(cls, prefixes: np.ndarray, sizes: np.ndarray) -> ReleasedPrefixes:
        """Sort prefixes (g, kept) with their noisy sizes (g,), so that the order reveals nothing."""
        kept = prefixes.shape[1]
        order = np.lexsort(prefixes.T[::-1]) if kept else np.arange(len(prefixes))
        return cls(kept=kept, prefixes=prefixes[order], sizes=sizes[order])

    def start(self, num_rows: int, model: PrefixModel, rng: KeyedRNG) -> np.ndarray:
        """Codes (num_rows, m) with prefixes sampled by noisy size, and zeros elsewhere."""
        codes = np.zeros((num_rows, model.num_attributes), dtype=np.int32, order="F")
        if self.kept == 0:
            return codes
        cumulative = np.cumsum(self.sizes) / self.sizes.sum()
        chosen = np.minimum(
            np.searchsorted(cumulative, rng.uniform(num_rows), side="right"), len(self.sizes) - 1
        )
        for position in range(self.kept):
            codes[:, model.order[position]] = self.prefixes[chosen, position]
        return codes


@dataclass(frozen=True, kw_only=True)
class ReleasedSeeds:
    """The released prefixes of the release test: one :class:`ReleasedPrefixes` per omega.

    By default every attribute is resampled. The only prefix is then the empty one, and no seed is used.
    With several omegas each seed belongs to one of them, by a secret draw that does not depend on its values.
    One row then changes one part only, and all parts together cost what one costs
    (docs/explanation/proofs/release_test.md). Rows are sampled from each part with equal probability.
    """

    parts: tuple[ReleasedPrefixes, ...]

    @classmethod
    def draw(cls, model: PrefixModel, seeds: Queryable, omega: Omega, test: GroupRelease) -> ReleasedSeeds:
        """Apply the test once to the seeds; each omega of a range gets a random part of them.

        Nothing is drawn if all attributes are resampled.
        """
        m = model.num_attributes
        prefixes = [model.order[: m - number] for number in omega.among(m)]
        if not any(prefixes):  # every attribute is resampled: no seed is used
            return cls.none()
        return cls(
            parts=tuple(ReleasedPrefixes.sort(*released) for released in seeds.release_groups(prefixes, test))
        )

    @classmethod
    def none(cls) -> ReleasedSeeds:
        """No prefix: rows come from the model alone."""
        empty = ReleasedPrefixes.sort(np.empty((1, 0), dtype=np.int32), np.ones(1, dtype=np.int64))
        return cls(parts=(empty,))

    def usable(self) -> tuple[ReleasedPrefixes, ...]:
        """The parts with a released prefix."""
        parts = tuple(part for part in self.parts if len(part.sizes))
        if not parts:
            from sdv_plausible.mechanism.drawing.mechanism import TooFewReleasedError

            raise TooFewReleasedError(
                f"no group of seeds that share {self.parts[0].kept} attributes was large enough to be "
                "released: lower k, "
                'raise omega (resample more attributes; "all" always works), or raise epsilon0'
            )
        return parts

    def sample(self, num_rows: int, model: PrefixModel, rng: KeyedRNG) -> np.ndarray:
        """Rows as codes (num_rows, m), by post-processing."""
        # Systematic sampling up to ``SYSTEMATIC_ROWS`` rows; beyond, its variance reduction hardly matters.
        parts, is_few = self.usable(), num_rows <= SYSTEMATIC_ROWS
        if len(parts) == 1 and not is_few:
            return model.complete(parts[0].start(num_rows, model, rng), parts[0].kept, rng)
        chosen = rng.integers(len(parts), num_rows)
        codes = np.zeros((num_rows, model.num_attributes), dtype=np.int32, order="F")
        kept = np.zeros(num_rows, dtype=np.int64)
        for i, part in enumerate(parts):
            rows = np.flatnonzero(chosen == i)
            kept[rows] = part.kept
            codes[rows] = part.start(len(rows), model, rng)
        return model.complete(codes, kept, rng, systematic=is_few)

    def sample_each(
        self, known: Mapping[int, np.ndarray], model: PrefixModel, rng: KeyedRNG
    ) -> tuple[np.ndarray, np.ndarray]:
        """A row for each combination of known codes (N,), and which rows were accepted: rejection sampling.

        A proposal is accepted with probability weight / largest possible weight, so that accepted rows have
        exactly the conditional distribution given the known codes. This is post-processing.
        """
        parts, num_rows = self.usable(), len(next(iter(known.values())))
        most = np.max([model.max_log_weight(known, part.kept) for part in parts], axis=0)
        codes = np.zeros((num_rows, model.num_attributes), dtype=np.int32, order="F")
        accepted = np.zeros(num_rows, dtype=bool)
        tries, total_tries = 1, 0
        while total_tries < MOST_TRIES and len(left := np.flatnonzero(~accepted & (most > -np.inf))):
            for start in range(0, len(left), max(1, AT_ONCE // tries)):
                rows = np.repeat(left[start : start + max(1, AT_ONCE // tries)], tries)
                own = {column: code[rows] for column, code in known.items()}
                proposals, weight = self._propose(own, model, rng)
                with np.errstate(divide="ignore"):
                    passed = np.flatnonzero(np.log(rng.uniform(len(rows))) < weight - most[rows])
                done, first = np.unique(rows[passed], return_index=True)  # the first accepted proposal
                codes[done] = proposals[passed[first]]
                accepted[done] = True
            total_tries, tries = total_tries + tries, 2 * tries
        return codes, accepted

    def _propose(
        self, known: Mapping[int, np.ndarray], model: PrefixModel, rng: KeyedRNG
    ) -> tuple[np.ndarray, np.ndarray]:
        """A proposal with log weight for each combination of known codes, from a uniformly random part."""
        parts, num_rows = self.usable(), len(next(iter(known.values())))
        if len(parts) == 1:
            start = parts[0].start(num_rows, model, rng)
            return model.complete_given(start, parts[0].kept, known, rng)
        chosen = rng.integers(len(parts), num_rows)
        codes = np.zeros((num_rows, model.num_attributes), dtype=np.int32, order="F")
        weight = np.zeros(num_rows)
        for i, part in enumerate(parts):
            rows = np.flatnonzero(chosen == i)
            own = {column: code[rows] for column, code in known.items()}
            start = part.start(len(rows), model, rng)
            codes[rows], weight[rows] = model.complete_given(start, part.kept, own, rng)
        return codes, weight

    def sample_given(
        self, num_rows: int, known: Mapping[int, int], model: PrefixModel, rng: KeyedRNG
    ) -> np.ndarray:
        """Rows (num_rows, m) with the known codes, by likelihood weighting; none if these are impossible."""
        parts = self.usable()
        size = -(-max(LEAST_WEIGHTED, WEIGHTED_PER_ROW * num_rows) // len(parts))
        weighted = [
            model.complete_given(part.start(size, model, rng), part.kept, known, rng) for part in parts
        ]
        codes = np.concatenate([c for c, _ in weighted])
        log_weight = np.concatenate([w for _, w in weighted])
        if not np.isfinite(log_weight).any():
            return codes[:0]
        weight = np.exp(log_weight - log_weight.max())
        cumulative = np.cumsum(weight)
        # Divided by its last entry, the sum ends at exactly 1: no u < 1 selects a row of weight 0 at the end.
        return codes[np.searchsorted(cumulative / cumulative[-1], rng.uniform(num_rows), side="right")]

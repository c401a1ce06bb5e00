"""Prior margins and prior dependence from a public table of the same columns.

The public table has no protected rows. The noisy answers alone decide its weight, which is post-processing
(docs/explanation/proofs/adaptive_network.md, "A published table").
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sdv_plausible.models.adaptive.denoising import rake, shrink_singular_values
from sdv_plausible.models.buckets import make_buckets
from sdv_plausible.utils.counting import joint_counts

Pair = tuple[int, int]
FEWEST_LEVELS, ROWS_PER_LEVEL = 4, 50  # levels of an ordered column in public pair tables
ROUGH, LIGHT = 4.0, 0.1  # misfit and weight of the noisy counts from which the prior is not used
FITS = 10.0  # misfit up to which a public margin fits the rows
FAR = 4.0  # largest plausible noise, in standard deviations
MISFITS = np.geomspace(1, 1e4, 60)  # candidate variances, in units of the public table's sampling variance


@dataclass(frozen=True, kw_only=True)
class PublicCodes:
    """Codes of a public table."""

    codes: np.ndarray  # shape (N, m), one column per attribute of the domain; -1 for unknown cells

    def margins(
        self, counts: Sequence[np.ndarray], sigmas: Sequence[float], total: float
    ) -> tuple[list[np.ndarray], list[float], list[bool]]:
        """Shrink noisy one-way counts towards public ones; return counts, sigmas and whether they fit."""
        results = [self._margin(j, c, s, total) for j, (c, s) in enumerate(zip(counts, sigmas, strict=True))]
        return [c for c, *_ in results], [s for _, s, _ in results], [fits for *_, fits in results]

    def _margin(
        self, j: int, noisy: np.ndarray, sigma: float, total: float
    ) -> tuple[np.ndarray, float, bool]:
        codes = self.codes[:, j]
        public_counts = np.bincount(codes[codes >= 0], minlength=len(noisy))
        if not public_counts.any() or sigma == 0 or len(noisy) < 2:  # a constant column is known
            return noisy, sigma, False
        prior, spread = _prior_counts(public_counts, total)
        return shrink_to_prior(noisy, sigma, prior, spread)

    def pairs(
        self, buckets: Sequence[np.ndarray], coarse: Sequence[np.ndarray], ordered: Sequence[bool]
    ) -> dict[Pair, np.ndarray]:
        """Return joint distributions of pairs that depend in the public table, raked to ``coarse``."""
        # Sampling noise is removed: in standardised cells independence is white noise, and dependence has
        # nearly low rank.
        joints = {}
        most = max(FEWEST_LEVELS, len(self.codes) // ROWS_PER_LEVEL)
        levels = [
            np.unique(make_buckets(p, o, most, 0.0), return_inverse=True)[1] if o else np.arange(len(p))
            for p, o in zip(coarse, ordered, strict=True)
        ]
        for e in itertools.combinations(range(len(buckets)), 2):
            i, j = e
            sizes = [int(levels[k].max()) + 1 for k in e]
            rows = self.codes[(self.codes[:, i] >= 0) & (self.codes[:, j] >= 0)]
            if min(sizes) < 2 or len(rows) < 2:
                continue
            table = joint_counts([levels[k][buckets[k][rows[:, k]]] for k in e], sizes) / len(rows)
            independent = np.outer(table.sum(1), table.sum(0))
            scale = np.sqrt(np.maximum(independent, 1 / len(rows)))
            shift = shrink_singular_values((table - independent) / scale, 1 / np.sqrt(len(rows))) * scale
            if np.abs(shift).sum() > 0:
                ratio = (np.maximum(independent + shift, 0) + 1e-9) / (independent + 1e-9)
                fine = ratio[np.ix_(levels[i], levels[j])]
                joints[e] = rake(fine * np.outer(coarse[i], coarse[j]), coarse[i], coarse[j])
        return joints


def _prior_counts(public_counts: np.ndarray, total: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the expected counts given public ones, and the variance due to their sampling."""
    rows, size = public_counts.sum(), len(public_counts)
    mean = (public_counts + 1 / size) / (rows + 1)
    smoothed = (public_counts + 0.5) / (
        rows + 0.5 * size
    )  # a value missing from a small sample may still occur
    return total * mean, total**2 * smoothed * (1 - smoothed) / (rows + 1)


def shrink_to_prior(
    noisy: np.ndarray, sigma: float, prior: np.ndarray, spread: np.ndarray
) -> tuple[np.ndarray, float, bool]:
    """Return posterior means of counts, their approximate standard deviation, and whether the prior fits."""
    # The true counts differ from ``prior`` with variance ``misfit * spread``; the misfit maximises the
    # likelihood of the noisy counts (empirical Bayes). The noisy counts stay unchanged if the misfit is
    # large, or if the posterior mean is implausibly far from them.
    residual = (noisy - prior) ** 2
    variance = sigma**2 + MISFITS[:, None] * spread
    misfit = MISFITS[int(np.argmin((np.log(variance) + residual / variance).sum(1)))]
    weight = misfit * spread / (sigma**2 + misfit * spread)
    if misfit > ROUGH and weight.mean() > LIGHT:
        return noisy, sigma, False  # cleaning without a prior is more accurate
    posterior = prior + weight * (noisy - prior)
    squared_z, num_codes = ((noisy - posterior) / sigma) ** 2, len(noisy)
    if squared_z.max() > FAR**2 or squared_z.sum() > num_codes + FAR * np.sqrt(2 * num_codes):
        return noisy, sigma, False  # outliers that no common misfit explains
    return posterior, sigma * float(np.sqrt(weight.mean())), bool(misfit < FITS)


@dataclass(frozen=True, kw_only=True)
class PriorWeight:
    """Weight of the public dependence, in [0, 1]: for each measured pair, and for all other pairs."""

    others: float
    measured: Mapping[Pair, float]  # in measured pairs

    @classmethod
    def of(cls, shares: Mapping[Pair, tuple[float, float]]) -> PriorWeight:
        """Estimate the weights from each measured pair's share of the public dependence and its deviation."""
        if not shares:
            return cls(others=0.0, measured={})
        values, variance = (np.array(a) for a in zip(*((s, d**2) for s, d in shares.values()), strict=True))
        between, mean, error = _random_effects(values, np.maximum(variance, 1e-12))
        weight = between / (between + np.maximum(variance, 1e-12))
        weights = mean + weight * (values - mean)
        others = mean * max(0.0, 1 - error / max(mean**2, 1e-12))
        return cls(
            others=float(np.clip(others, 0, 1)),
            measured=dict(zip(shares, np.clip(weights, 0, 1.2).tolist(), strict=True)),
        )


def _random_effects(share: np.ndarray, variance: np.ndarray) -> tuple[float, float, float]:
    """Return the variance between pairs, the mean share and its variance (DerSimonian and Laird 1986)."""
    w = 1 / variance
    mean = (w * share).sum() / w.sum()
    excess = (w * (share - mean) ** 2).sum() - (len(w) - 1)
    spare = w.sum() - (w**2).sum() / w.sum()
    between = max(0.0, float(excess / spare)) if spare > 0 else 0.0
    w = 1 / (variance + between)
    return between, float((w * share).sum() / w.sum()), float(1 / w.sum())


def dependence_share(
    table: np.ndarray, independent: np.ndarray, public: np.ndarray, sigma: float
) -> tuple[float, float]:
    """Return the share of the public dependence in a noisy table, and its deviation: a matched filter."""
    shift = public - independent
    norm_squared = max(float((shift**2).sum()), 1e-12)
    return float(((table - independent) * shift).sum()) / norm_squared, sigma / np.sqrt(norm_squared)

"""What a published table of the same columns brings: prior margins and prior dependence.

No protected row is in it. How far it is believed is decided by the noisy answers alone: post-processing
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
FEWEST_LEVELS, ROWS_PER_LEVEL = 4, 50  # levels of an ordered column in published pair tables
ROUGH, LIGHT = 4.0, 0.1  # misfit and weight of the noisy counts from which on cleaning them alone is better
FITS = 10.0  # misfit up to which a published margin counts as like the rows'
FAR = 4.0  # deviations of the noise
MISFITS = np.geomspace(1, 1e4, 60)  # variances of the difference, in those of the published table's sampling


@dataclass(frozen=True, kw_only=True)
class PublicCodes:
    """A published table as codes."""

    codes: np.ndarray  # shape (N, m): one column per attribute of the domain; -1 where nothing is known

    def margins(
        self, counts: Sequence[np.ndarray], sigmas: Sequence[float], total: float
    ) -> tuple[list[np.ndarray], list[float], list[bool]]:
        """Noisy one-way counts drawn towards the published ones, the noise left, and whether both fit."""
        both = [self._margin(j, c, s, total) for j, (c, s) in enumerate(zip(counts, sigmas, strict=True))]
        return [c for c, *_ in both], [s for _, s, _ in both], [fits for *_, fits in both]

    def _margin(
        self, j: int, noisy: np.ndarray, sigma: float, total: float
    ) -> tuple[np.ndarray, float, bool]:
        codes = self.codes[:, j]
        known = np.bincount(codes[codes >= 0], minlength=len(noisy))
        if not known.any() or sigma == 0 or len(noisy) < 2:  # of one value nothing is open
            return noisy, sigma, False
        prior, spread = _expected(known, total)
        return shrunk(noisy, sigma, prior, spread)

    def pairs(
        self, buckets: Sequence[np.ndarray], coarse: Sequence[np.ndarray], ordered: Sequence[bool]
    ) -> dict[Pair, np.ndarray]:
        """Joint distributions of the pairs that depend in the published table, with the margins given."""
        # What so many rows show of dependence by chance is taken out: in units of its deviation a table of
        # independent columns is white noise, and dependence is nearly of low rank.
        found = {}
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
            apart = np.outer(table.sum(1), table.sum(0))
            scale = np.sqrt(np.maximum(apart, 1 / len(rows)))
            shift = shrink_singular_values((table - apart) / scale, 1 / np.sqrt(len(rows))) * scale
            if np.abs(shift).sum() > 0:
                ratio = (np.maximum(apart + shift, 0) + 1e-9) / (apart + 1e-9)
                fine = ratio[np.ix_(levels[i], levels[j])]
                found[e] = rake(fine * np.outer(coarse[i], coarse[j]), coarse[i], coarse[j])
        return found


def _expected(known: np.ndarray, total: float) -> tuple[np.ndarray, np.ndarray]:
    """Counts to expect after published ones, and the variance that their sampling leaves."""
    rows, size = known.sum(), len(known)
    middle = (known + 1 / size) / (rows + 1)
    careful = (known + 0.5) / (rows + 0.5 * size)  # a value that so few rows lack may well occur
    return total * middle, total**2 * careful * (1 - careful) / (rows + 1)


def shrunk(
    noisy: np.ndarray, sigma: float, prior: np.ndarray, spread: np.ndarray
) -> tuple[np.ndarray, float, bool]:
    """Posterior means of counts, about the deviation left, and whether the prior fits."""
    # The truth differs from ``prior`` with variance ``misfit * spread``; the misfit that makes the noisy
    # counts likeliest is taken (empirical Bayes). At a large misfit, or where what is found is further from
    # the noisy counts than noise goes, nothing is changed.
    residual = (noisy - prior) ** 2
    variance = sigma**2 + MISFITS[:, None] * spread
    misfit = MISFITS[int(np.argmin((np.log(variance) + residual / variance).sum(1)))]
    weight = misfit * spread / (sigma**2 + misfit * spread)
    if misfit > ROUGH and weight.mean() > LIGHT:
        return noisy, sigma, False  # cleaning alone does better than another table's shape
    found = prior + weight * (noisy - prior)
    off, size = ((noisy - found) / sigma) ** 2, len(noisy)
    if off.max() > FAR**2 or off.sum() > size + FAR * np.sqrt(2 * size):
        return noisy, sigma, False  # a few values apart that no one misfit explains
    return found, sigma * float(np.sqrt(weight.mean())), bool(misfit < FITS)


@dataclass(frozen=True, kw_only=True)
class PriorWeight:
    """How much of the published dependence is used.

    Both in [0, 1]: in the ``measured`` pairs, and in all others.
    """

    others: float
    measured: Mapping[Pair, float]  # in measured pairs

    @classmethod
    def of(cls, found: Mapping[Pair, tuple[float, float]]) -> PriorWeight:
        """Estimate from each measured pair's noisy share of the published dependence, and its deviation."""
        if not found:
            return cls(others=0.0, measured={})
        share, variance = (np.array(a) for a in zip(*((s, d**2) for s, d in found.values()), strict=True))
        between, mean, error = _random_effects(share, np.maximum(variance, 1e-12))
        weight = between / (between + np.maximum(variance, 1e-12))
        each = mean + weight * (share - mean)
        others = mean * max(0.0, 1 - error / max(mean**2, 1e-12))
        return cls(
            others=float(np.clip(others, 0, 1)),
            measured=dict(zip(found, np.clip(each, 0, 1.2).tolist(), strict=True)),
        )


def _random_effects(share: np.ndarray, variance: np.ndarray) -> tuple[float, float, float]:
    """Variance between pairs, the mean share and its variance (DerSimonian and Laird 1986)."""
    w = 1 / variance
    mean = (w * share).sum() / w.sum()
    excess = (w * (share - mean) ** 2).sum() - (len(w) - 1)
    spare = w.sum() - (w**2).sum() / w.sum()
    between = max(0.0, float(excess / spare)) if spare > 0 else 0.0
    w = 1 / (variance + between)
    return between, float((w * share).sum() / w.sum()), float(1 / w.sum())


def share_of(
    table: np.ndarray, apart: np.ndarray, published: np.ndarray, sigma: float
) -> tuple[float, float]:
    """Share of the published dependence that a noisy table shows, and its deviation: a matched filter."""
    shift = published - apart
    length = max(float((shift**2).sum()), 1e-12)
    return float(((table - apart) * shift).sum()) / length, sigma / np.sqrt(length)

"""Integer noise from a keyed stream: for reproducible runs, and for noise that a named stream must repeat."""

from __future__ import annotations

import functools
import math
from decimal import Context, Decimal

import numpy as np
import numpy.typing as npt

from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.parameter_checks import whole


def discrete_laplace_noise(rng: KeyedRNG, scale: float, n: int) -> npt.NDArray[np.int64]:
    """Return `n` discrete Laplace draws, Pr[z] proportional to exp(-abs(z) / scale)."""
    # Each is the difference of two geometric draws, within 2**-120 of exact in total variation. There is no
    # rejection, so the amount of randomness used reveals nothing.
    return _geometric(rng, scale, n) - _geometric(rng, scale, n)


def floored_laplace_noise(rng: KeyedRNG, scale: float, n: int) -> npt.NDArray[np.int64]:
    """Return `n` draws of floor(L), L Laplace with this scale; for integers m, L >= m iff floor(L) >= m."""
    # The integer part of |L| is geometric, and the sign is a fair coin.
    size = _geometric(rng, scale, n)
    below = rng.integers(2, n).astype(bool)
    return np.where(below, -1 - size, size)


def discrete_gaussian_noise(rng: KeyedRNG, sigma: float, n: int) -> npt.NDArray[np.int64]:
    """Return `n` discrete Gaussian draws, Pr[z] ~ exp(-z**2 / (2 sigma**2)), to double precision."""
    # By rejection from discrete Laplace (Canonne, Kamath, Steinke 2020, Algorithm 3). Only for reproducible
    # streams.
    t = math.floor(sigma) + 1.0
    drawn = np.empty(n, dtype=np.int64)
    pending = np.arange(n)
    while pending.size:
        proposed = discrete_laplace_noise(rng, t, pending.size)
        accepted = rng.uniform(pending.size) < np.exp(-(((np.abs(proposed) - sigma**2 / t) / sigma) ** 2) / 2)
        drawn[pending[accepted]] = proposed[accepted]
        pending = pending[~accepted]
    return drawn


def saturating_add(values: npt.NDArray[np.int64], noise: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return values + noise, each clipped to magnitude 2**62 - 1 so that the sum cannot wrap around."""
    most = 2**62 - 1
    return np.clip(values, -most, most) + np.clip(noise, -most, most)


def _geometric(rng: KeyedRNG, scale: float, n: int) -> npt.NDArray[np.int64]:
    """Return `n` draws with Pr[g] proportional to exp(-g / scale), g = 0, 1, ..., bit by bit."""
    # exp(-g / scale) is the product of exp(-b_i 2**i / scale) over the bits b_i of g. So the bits are
    # independent, and bit i is one with probability 1 / (1 + exp(2**i / scale)).
    if not 2.0**-10 <= scale <= 2.0**50:
        raise ValueError(
            f"sensitivity / budget ({scale}) must lie in 2**-10, ..., 2**50 for noise drawn from a stream"
        )
    total = np.zeros(n, dtype=np.int64)
    for digit, (high, low) in enumerate(_digit_thresholds(scale)):
        words = rng.words(n)
        is_one = words < high
        tie = np.flatnonzero(words == high)
        if tie.size:
            is_one[tie] = rng.words(tie.size) < low
        total += is_one.astype(np.int64) << digit
    return total


@functools.lru_cache(maxsize=256)
def _digit_thresholds(scale: float) -> tuple[tuple[np.uint64, np.uint64], ...]:
    """Return each bit's probability of a one, cut to 128 bits, as two words; up to the last above zero."""
    exact = Context(prec=60)
    thresholds: list[tuple[np.uint64, np.uint64]] = []
    while True:
        odds = exact.exp(exact.divide(Decimal(2 ** len(thresholds)), Decimal(scale)))
        threshold = int(exact.divide(Decimal(2**128), exact.add(Decimal(1), odds)))
        if not threshold:
            return tuple(thresholds)
        thresholds.append((np.uint64(threshold >> 64), np.uint64(threshold & (2**64 - 1))))


Counts = npt.NDArray[np.int64]


def hypergeometric_counts(
    counts: npt.ArrayLike, population: int, drawn: int, stop: int, rng: KeyedRNG
) -> Counts:
    """Draw how many of each number of records are in a sample drawn without replacement."""
    # A fresh sample per entry, counted up to ``stop``: ``min(stop, hypergeometric)``. Every draw is one
    # unbiased integer, so the law is exact. ``counts`` has shape (N,), with entries 0..population.
    whole("population", population, 1)
    whole("stop", stop, 1)
    counted = np.asarray(counts, dtype=np.int64)
    # Counted and drawn records are interchangeable: loop over the smaller number.
    fewer, more = np.minimum(counted, drawn), np.maximum(counted, drawn)
    hits = np.zeros(len(counted), dtype=np.int64)
    active, step = np.flatnonzero(fewer > 0), 0
    while len(active):
        hit = rng.integers(population - step, len(active)) < more[active] - hits[active]
        hits[active] += hit
        step += 1
        active = active[(hits[active] < stop) & (step < fewer[active])]
    return hits

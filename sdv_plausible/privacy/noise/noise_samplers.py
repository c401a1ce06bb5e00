"""Integer noise from a keyed stream, for reproducible runs and for noise that a named stream must repeat."""

from __future__ import annotations

import functools
import math
from decimal import Context, Decimal

import numpy as np
import numpy.typing as npt

from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.parameter_checks import whole


def discrete_laplace_noise(coins: KeyedRNG, scale: float, n: int) -> npt.NDArray[np.int64]:
    """Return `n` discrete Laplace draws, Pr[z] proportional to exp(-abs(z) / scale)."""
    # Each is the difference of two geometric draws, within 2**-120 of exact in total variation. There is no
    # rejection: how many coins are used tells nothing.
    if not 2.0**-10 <= scale <= 2.0**50:
        raise ValueError(
            f"sensitivity / budget ({scale}) must lie in 2**-10, ..., 2**50 for noise drawn from a stream"
        )
    return _geometric(coins, scale, n) - _geometric(coins, scale, n)


def floored_laplace_noise(coins: KeyedRNG, scale: float, n: int) -> npt.NDArray[np.int64]:
    """Return `n` draws of floor(L), L Laplace of this scale: for whole m, L >= m just if floor(L) >= m."""
    # The whole part of |L| is geometric, and the sign a fair coin.
    if not 2.0**-10 <= scale <= 2.0**50:
        raise ValueError(
            f"sensitivity / budget ({scale}) must lie in 2**-10, ..., 2**50 for noise drawn from a stream"
        )
    size = _geometric(coins, scale, n)
    below = coins.integers(2, n).astype(bool)
    return np.where(below, -1 - size, size)


def discrete_gaussian_noise(coins: KeyedRNG, sigma: float, n: int) -> npt.NDArray[np.int64]:
    """Return `n` discrete Gaussian draws, Pr[z] ~ exp(-z**2 / (2 sigma**2)), to double precision."""
    # By rejection from discrete Laplace (Canonne, Kamath, Steinke 2020, Algorithm 3). For reproducible coins
    # only.
    t = math.floor(sigma) + 1.0
    drawn = np.empty(n, dtype=np.int64)
    missing = np.arange(n)
    while missing.size:
        proposed = discrete_laplace_noise(coins, t, missing.size)
        accepted = coins.uniform(missing.size) < np.exp(
            -(((np.abs(proposed) - sigma**2 / t) / sigma) ** 2) / 2
        )
        drawn[missing[accepted]] = proposed[accepted]
        missing = missing[~accepted]
    return drawn


def saturating_add(values: npt.NDArray[np.int64], noise: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return values + noise with magnitudes limited to 2**62 - 1 each, so that the sum cannot wrap around."""
    most = 2**62 - 1
    return np.clip(values, -most, most) + np.clip(noise, -most, most)


def _geometric(coins: KeyedRNG, scale: float, n: int) -> npt.NDArray[np.int64]:
    """Return `n` draws with Pr[g] proportional to exp(-g / scale), g = 0, 1, ..., digit by digit."""
    # exp(-g / scale) is the product over the binary digits b_i of g of exp(-b_i 2**i / scale): the digits are
    # independent, and digit i is a one with probability 1 / (1 + exp(2**i / scale)).
    total = np.zeros(n, dtype=np.int64)
    for digit, (high, low) in enumerate(_digit_thresholds(scale)):
        words = coins.words(n)
        one = words < high
        tie = np.flatnonzero(words == high)
        if tie.size:
            one[tie] = coins.words(tie.size) < low
        total += one.astype(np.int64) << digit
    return total


@functools.lru_cache(maxsize=256)
def _digit_thresholds(scale: float) -> tuple[tuple[np.uint64, np.uint64], ...]:
    """Return each digit's probability of a one, cut to 128 bits, as two words; up to the last above zero."""
    exact = Context(prec=60)
    thresholds: list[tuple[np.uint64, np.uint64]] = []
    while True:
        odds = exact.exp(exact.divide(Decimal(2 ** len(thresholds)), Decimal(scale)))
        threshold = int(exact.divide(Decimal(2**128), exact.add(Decimal(1), odds)))
        if not threshold:
            return tuple(thresholds)
        thresholds.append((np.uint64(threshold >> 64), np.uint64(threshold & (2**64 - 1))))


Counts = npt.NDArray[np.int64]


def count_among_drawn(
    counts: npt.ArrayLike, population: int, drawn: int, stop: int, coins: KeyedRNG
) -> Counts:
    """Of each number of records that count, how many are among those drawn without replacement."""
    # Drawing is fresh for every entry and stops at ``stop`` of them: ``min(stop, hypergeometric)``. Every
    # draw is one unbiased whole number, so the law is exact. ``counts`` has shape (N,), entries
    # 0..population.
    whole("population", population, 1)
    whole("stop", stop, 1)
    counted = np.asarray(counts, dtype=np.int64)
    # Who counts and who is drawn may change places: the smaller number is gone through one by one.
    gone_through, others = np.minimum(counted, drawn), np.maximum(counted, drawn)
    found = np.zeros(len(counted), dtype=np.int64)
    active, step = np.flatnonzero(gone_through > 0), 0
    while len(active):
        hit = coins.integers(population - step, len(active)) < others[active] - found[active]
        found[active] += hit
        step += 1
        active = active[(found[active] < stop) & (step < gone_through[active])]
    return found

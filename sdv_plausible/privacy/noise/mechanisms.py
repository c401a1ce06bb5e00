"""Calibrated noise: the only way in which a value computed from private data leaves the privacy core.

With a secret stream, each function is one OpenDP measurement with entropy from the operating system. It
depends on no stream or seed and is fresh in every thread and process. With a reproducible stream
(`KeyedRNG.from_seed`) it draws from the same distribution and gives no privacy guarantee. Neighbours,
sensitivities and composition are the caller's task: see `accounting`. Noise is added to integers only: real
values are counted or rounded first. A finer grid counts in steps of a half, a quarter and so on.

All other randomness of the package (splits, seeds, proposals) is from `KeyedRNG`.
"""

from __future__ import annotations

import functools
import math
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.parameter_checks import integer_array, positive, whole

Kind = Literal["discrete_laplace", "discrete_gaussian", "noisy_max"]

_LAST_BIT = 2.0**-52  # relative spacing of doubles
_LARGEST_SCALE = 2.0**500  # the smallest scale is its inverse; both are well within double precision
_PIECE = 1 << 14  # values per OpenDP call where a long vector is split between threads
_building = threading.Lock()
_SCALES: dict[Kind, Callable[[float, float], float]] = {
    "discrete_laplace": lambda sensitivity, epsilon: sensitivity / epsilon,
    "discrete_gaussian": lambda sensitivity, rho: sensitivity / math.sqrt(2 * rho),
    "noisy_max": lambda sensitivity, rho: sensitivity / math.sqrt(2 * rho),
}


@functools.lru_cache(maxsize=256)
def measurement(kind: Kind, sensitivity: float, budget: float) -> tuple[Any, float]:
    """Return the OpenDP measurement for `sensitivity` and `budget`, and its noise scale."""
    # The scale is the formula's, raised by the last bits that OpenDP's upward-rounded privacy map may need.
    # The sensitivity is in the L1 (Laplace), L2 (Gaussian) or L-infinity (noisy max) distance, and an integer
    # except for Gaussian noise. The budget is epsilon for "discrete_laplace", rho for the others.
    scale = _SCALES[kind](sensitivity, budget)
    step = _LAST_BIT
    while 1 / _LARGEST_SCALE < scale < _LARGEST_SCALE:
        built = _build(kind, scale)
        if built.map(sensitivity) <= budget:
            return built, scale
        scale, step = scale * (1 + step), 2 * step
    raise ValueError(
        f"sensitivity ({sensitivity}) and budget ({budget}) give a noise scale beyond double precision"
    )


def add_noise(built: Any, array: npt.NDArray[Any]) -> Any:
    """Run an additive-noise measurement on `array`; the result has its shape and type."""
    # The noise is independent per entry, so running pieces in threads is the same mechanism; OpenDP releases
    # the interpreter lock.
    flat = np.ascontiguousarray(array).ravel()
    if flat.size <= _PIECE:
        parts = [built(flat)] if flat.size else []
    else:
        with ThreadPoolExecutor(_cpus()) as pool:
            parts = list(pool.map(built, np.array_split(flat, -(-flat.size // _PIECE))))
    return np.concatenate([flat[:0], *(np.asarray(part, dtype=flat.dtype) for part in parts)]).reshape(
        array.shape
    )


@functools.cache
def check_opendp() -> None:
    """Draw noise once for a constant: a missing or broken library then fails before budget is spent."""
    add_noise(_build("discrete_laplace", 1.0), np.zeros(1, dtype=np.int64))


def _build(kind: Kind, scale: float) -> Any:
    # Imported lazily: OpenDP loads a large native library.
    from opendp import domains, measurements, measures, metrics, mod

    with _building:
        was_enabled = "contrib" in mod.GLOBAL_FEATURES
        mod.enable_features("contrib")  # needed for these measurements; the user's setting is restored
        try:
            integers = domains.vector_domain(domains.atom_domain(T="i64"))
            if kind == "discrete_laplace":
                return measurements.make_laplace(integers, metrics.l1_distance(T="i64"), scale=scale)
            if kind == "noisy_max":
                largest, law = metrics.linf_distance(T="i64"), measures.zero_concentrated_divergence()
                return measurements.make_noisy_max(integers, largest, law, scale)
            return measurements.make_gaussian(integers, metrics.l2_distance(T="f64"), scale=scale)
        finally:
            if not was_enabled:
                mod.disable_features("contrib")


def _cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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


Source = Literal["opendp", "keyed stream", "seeded stream"]
_FINEST = 2.0**-20  # smallest granularity
_NO_NOISE = "where no noise is wanted, do not call a noise function"


@dataclass(frozen=True, kw_only=True)
class NoiseCall:
    """One call of a noise function, without any data value."""

    name: str
    sensitivity: float  # as given
    budget: float  # as given: rho for `discrete_gaussian`, epsilon otherwise
    # Noise scale: the formula's, or a few last bits above it where OpenDP's accounting rounds up
    scale: float
    shape: tuple[int, ...]
    source: Source  # source of the randomness; "seeded stream" gives no privacy guarantee
    granularity: float = 1.0  # spacing of the noise values, in the unit of sensitivity and scale


_recorders: list[list[NoiseCall]] = []


@contextmanager
def record_calls() -> Iterator[list[NoiseCall]]:
    """Collect every noise call of this process in a list, in order; for tests and audits."""
    calls: list[NoiseCall] = []
    _recorders.append(calls)
    try:
        yield calls
    finally:
        _recorders[:] = [other for other in _recorders if other is not calls]


def discrete_laplace(
    values: npt.ArrayLike, *, sensitivity: int, epsilon: float, coins: KeyedRNG, repeatable: bool = False
) -> npt.NDArray[np.int64]:
    """Add discrete Laplace noise of scale sensitivity / epsilon."""
    # Pr[z] = (1 - a) / (1 + a) a**abs(z) with a = exp(-1 / scale), for integers z. Epsilon-DP if the L1
    # distance of `values` between neighbours is at most `sensitivity` (Ghosh, Roughgarden, Sundararajan
    # 2012). Comparing the noisy counts with a threshold is post-processing. Sums beyond 64 bits saturate. A
    # secret stream means OpenDP's measurement with the operating system's entropy; a reproducible one gives
    # the same distribution from the stream, without a privacy guarantee. With ``repeatable``, a secret stream
    # supplies the noise itself, so that a stream of the same name repeats it. This is about fifty times
    # faster than OpenDP and within 2**-120 of exact per value. The guarantee then also rests on AES-256 and
    # on one input per stream: two inputs under the same noise reveal their difference.
    counts = integer_array("values", values)
    sensitivity, epsilon = whole("sensitivity", sensitivity, 1), positive("epsilon", epsilon, _NO_NOISE)
    source = _source(coins, repeatable=repeatable)
    if source == "opendp":
        built, scale = measurement("discrete_laplace", sensitivity, epsilon)
        noisy: npt.NDArray[np.int64] = add_noise(built, counts)
    else:
        scale = math.nextafter(sensitivity / epsilon, math.inf)  # the quotient may have been rounded down
        noisy = saturating_add(
            counts, discrete_laplace_noise(coins, scale, counts.size).reshape(counts.shape)
        )
    _record("discrete_laplace", sensitivity, epsilon, scale=scale, shape=counts.shape, source=source)
    return noisy


def floored_laplace(
    values: npt.ArrayLike, *, sensitivity: int, epsilon: float, coins: KeyedRNG, repeatable: bool = True
) -> npt.NDArray[np.int64]:
    """Add Laplace noise of scale sensitivity / epsilon, rounded down, for comparison with an integer."""
    # For real Laplace noise L, ``count + L >= k`` iff ``count + floor(L) >= k``, so no real number is drawn.
    # The noise is from the stream, as for `discrete_laplace` with ``repeatable``.
    counts = integer_array("values", values)
    sensitivity, epsilon = whole("sensitivity", sensitivity, 1), positive("epsilon", epsilon, _NO_NOISE)
    if not repeatable:
        raise ValueError("repeatable (False) must be True: OpenDP has no such measurement")
    scale = math.nextafter(sensitivity / epsilon, math.inf)
    noise = floored_laplace_noise(coins, scale, counts.size).reshape(counts.shape)
    source = _source(coins, repeatable=True)
    _record("floored_laplace", sensitivity, epsilon, scale=scale, shape=counts.shape, source=source)
    return saturating_add(counts, noise)


def discrete_gaussian(
    values: npt.ArrayLike, *, sensitivity: float, rho: float, coins: KeyedRNG, granularity: float = 1.0
) -> npt.NDArray[Any]:
    """Add discrete Gaussian noise, Pr[z] ~ exp(-z**2 / (2 sigma**2)) with sigma = sensitivity / sqrt(2 rho).

    Rho-zCDP if the L2 distance of `values` between neighbours is at most `sensitivity` (Canonne, Kamath,
    Steinke 2020). Sums beyond 64 bits saturate. Streams as for `discrete_laplace`.

    The noise z takes multiples of `granularity`: 1 (the result is int64), or a power of two below 1 (it is
    float64). Below 1, integer noise is added to the number of steps in each value.
    """
    steps = _steps(granularity)
    most = np.iinfo(np.int64).max // steps
    # Clipping does not raise the sensitivity.
    counts = np.clip(integer_array("values", values), -most, most) * steps
    sensitivity, rho = positive("sensitivity", sensitivity), positive("rho", rho, _NO_NOISE)
    source = _source(coins)
    if source == "opendp":
        built, scale = measurement("discrete_gaussian", sensitivity * steps, rho)
        noisy: npt.NDArray[np.int64] = add_noise(built, counts)
    else:
        scale = sensitivity * steps / math.sqrt(2 * rho)
        noisy = saturating_add(
            counts, discrete_gaussian_noise(coins, scale, counts.size).reshape(counts.shape)
        )
    _record(
        "discrete_gaussian", sensitivity, rho, scale=scale / steps, shape=counts.shape, source=source,
        granularity=granularity,
    )  # fmt: skip
    return noisy if steps == 1 else noisy * granularity


def exponential_choice(scores: npt.ArrayLike, *, sensitivity: int, epsilon: float, coins: KeyedRNG) -> int:
    """Choose a position with probability proportional to exp(epsilon score / (2 sensitivity))."""
    # The exponential mechanism, as the argmax of scores with Gumbel noise. It has epsilon-bounded range, so
    # it is epsilon-DP and epsilon**2/8-zCDP, if every score moves by at most `sensitivity` between
    # neighbours. Needs at least one score. Streams as for `discrete_laplace`.
    values = integer_array("scores", scores).ravel()
    sensitivity, epsilon = whole("sensitivity", sensitivity, 1), positive("epsilon", epsilon, _NO_NOISE)
    if not values.size:
        raise ValueError("scores (none) must be at least one: there is nothing to choose from")
    source = _source(coins)
    if source == "opendp":
        built, scale = measurement("noisy_max", sensitivity, epsilon**2 / 8)
        chosen = int(built(values))
    else:
        scale = 2 * sensitivity / epsilon
        gumbel = -np.log(-np.log(coins.uniform(values.size) + 2.0**-54))
        chosen = int(np.argmax(values / scale + gumbel))
    _record("exponential_choice", sensitivity, epsilon, scale=scale, shape=values.shape, source=source)
    return chosen


def _steps(granularity: float) -> int:
    """Number of grid steps in 1."""
    mantissa, _ = math.frexp(positive("granularity", granularity))
    if granularity > 1 or mantissa != 0.5 or granularity < _FINEST:
        raise ValueError(
            f"granularity ({granularity!r}) must be 1 or a power of two below, at least {_FINEST}: try 0.25"
        )
    return int(1 / granularity)


def _source(coins: KeyedRNG, *, repeatable: bool = False) -> Source:
    if not coins.is_secret:
        return "seeded stream"
    return "keyed stream" if repeatable else "opendp"


def _record(
    name: str, sensitivity: float, budget: float, *, scale: float, shape: tuple[int, ...], source: Source,
    granularity: float = 1.0,
) -> None:  # fmt: skip
    call = NoiseCall(
        name=name,
        sensitivity=float(sensitivity),
        budget=budget,
        scale=float(scale),
        shape=shape,
        source=source,
        granularity=granularity,
    )
    for calls in _recorders:
        calls.append(call)

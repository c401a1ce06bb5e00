"""Calibrated noise: the only way in which a value computed from private data leaves the privacy core.

Each function is one whole OpenDP measurement fed by the operating system's entropy: it depends on no stream,
is fresh in every thread and process, and ignores every seed. With reproducible coins (`KeyedRNG.from_seed`) it
draws the same distribution from the stream instead and makes no privacy claim. Neighbours, sensitivities and
composition are the caller's: see `accounting`. Noise is added to integers only: what is real is counted or
rounded first. A finer lattice counts in steps of a half, a quarter and so on.

The other randomness of the package (splits, seeds, proposals) comes from `KeyedRNG`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.noise.noise_samplers import (
    discrete_gaussian_noise,
    discrete_laplace_noise,
    floored_laplace_noise,
    saturating_add,
)
from sdv_plausible.privacy.noise.opendp import add_noise, measurement
from sdv_plausible.privacy.parameter_checks import integer_array, positive, whole

Source = Literal["opendp", "keyed stream", "seeded stream"]
_FINEST = 2.0**-20  # granularity
_NO_NOISE = "where no noise is wanted, do not call a noise function"


@dataclass(frozen=True, kw_only=True)
class NoiseCall:
    """One call of a noise function, without any value."""

    name: str
    # As given; the budget is rho for `discrete_gaussian`, epsilon otherwise
    sensitivity: float
    budget: float
    # Scale of the noise drawn: the formula's, or a few last bits above where OpenDP's own accounting rounds
    # up
    scale: float
    shape: tuple[int, ...]
    source: Source  # where the randomness came from; "seeded stream" makes no privacy claim
    granularity: float = 1.0  # spacing of the noise's values, in the units of sensitivity and scale


_recorders: list[list[NoiseCall]] = []


@contextmanager
def record_calls() -> Iterator[list[NoiseCall]]:
    """Collect every noise call of this process while the block runs, in order; for tests and audits."""
    # The list grows with each call; it holds neither values nor noise.
    calls: list[NoiseCall] = []
    _recorders.append(calls)
    try:
        yield calls
    finally:
        _recorders[:] = [others for others in _recorders if others is not calls]


def discrete_laplace(
    values: npt.ArrayLike, *, sensitivity: int, epsilon: float, coins: KeyedRNG, repeatable: bool = False
) -> npt.NDArray[np.int64]:
    """Add discrete Laplace noise of scale sensitivity / epsilon."""
    # Pr[z] = (1 - a) / (1 + a) a**abs(z) with a = exp(-1 / scale), for integers z. Epsilon-DP if the L1
    # distance of `values` between neighbours is at most `sensitivity` (Ghosh, Roughgarden, Sundararajan
    # 2012). Comparing the noisy counts with a threshold is post-processing. What exceeds 64 bits saturates.
    # Secret coins: OpenDP's measurement, with the operating system's entropy; reproducible ones: the same
    # distribution from the stream, without a privacy claim. ``repeatable`` draws the noise of secret coins
    # from their stream too, so that a stream of the same name repeats it; some fifty times faster than
    # OpenDP, within 2**-120 of exact per value. The guarantee then also rests on AES-256 and on one input per
    # stream: two inputs under the same noise show their difference.
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
    """Add Laplace noise of scale sensitivity / epsilon, rounded down, to compare with a whole number."""
    # ``count + L >= k`` for real Laplace noise L just if ``count + floor(L) >= k``, so that no real number is
    # drawn. Drawn from the stream, as `discrete_laplace` with ``repeatable``.
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
    Steinke 2020). What exceeds 64 bits saturates. Coins as in `discrete_laplace`.

    The noise z takes the multiples of `granularity`: 1 (the result is int64), or a power of two below (it is
    float64). Below 1, whole-number noise is added to the number of steps in each value.
    """
    steps = _steps(granularity)
    most = np.iinfo(np.int64).max // steps
    counts = np.clip(integer_array("values", values), -most, most) * steps  # moves no further for the bound
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
    # The exponential mechanism, as the largest of scores with Gumbel noise: of epsilon-bounded range, and so
    # epsilon-DP and epsilon**2/8-zCDP, if every score moves by at most `sensitivity` between neighbours.
    # Position among at least one score. Coins as in `discrete_laplace`.
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
    """Number of steps of a lattice in 1."""
    found = math.frexp(positive("granularity", granularity))
    if granularity > 1 or found[0] != 0.5 or granularity < _FINEST:
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

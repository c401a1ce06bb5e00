"""Calibrated noise. Under a guarantee, every number that is learned from the rows gets its noise here.

If ``rng`` is secret, the usual case, it supplies no randomness: each call is one OpenDP measurement with
entropy from the operating system, fresh in every thread and process. The exceptions are calls with
``repeatable=True``, whose noise is from the secret stream. If ``rng`` is reproducible
(`KeyedRNG.from_seed`), it supplies noise of the same distribution, without a privacy guarantee. Neighbours,
sensitivities and composition are the caller's task: see `accounting`. Noise is added to integers only: real
values are counted or rounded first. A finer grid counts in steps of a half, a quarter and so on.

All other randomness of the package (splits, seeds, proposals) is from `KeyedRNG`.
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
from sdv_plausible.privacy.noise.opendp import add_noise, measurement
from sdv_plausible.privacy.parameter_checks import integer_array, positive, whole

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
    values: npt.ArrayLike, *, sensitivity: int, epsilon: float, rng: KeyedRNG, repeatable: bool = False
) -> npt.NDArray[np.int64]:
    """Add discrete Laplace noise of scale sensitivity / epsilon."""
    from sdv_plausible.privacy.noise.noise_samplers import discrete_laplace_noise, saturating_add

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
    source = _source(rng, repeatable=repeatable)
    if source == "opendp":
        built, scale = measurement("discrete_laplace", sensitivity, epsilon)
        noisy: npt.NDArray[np.int64] = add_noise(built, counts)
    else:
        scale = math.nextafter(sensitivity / epsilon, math.inf)  # the quotient may have been rounded down
        noisy = saturating_add(counts, discrete_laplace_noise(rng, scale, counts.size).reshape(counts.shape))
    _record("discrete_laplace", sensitivity, epsilon, scale=scale, shape=counts.shape, source=source)
    return noisy


def floored_laplace(
    values: npt.ArrayLike, *, sensitivity: int, epsilon: float, rng: KeyedRNG, repeatable: bool = True
) -> npt.NDArray[np.int64]:
    """Add Laplace noise of scale sensitivity / epsilon, rounded down, for comparison with an integer."""
    from sdv_plausible.privacy.noise.noise_samplers import floored_laplace_noise, saturating_add

    # For real Laplace noise L, ``count + L >= k`` iff ``count + floor(L) >= k``, so no real number is drawn.
    # The noise is from the stream, as for `discrete_laplace` with ``repeatable``.
    counts = integer_array("values", values)
    sensitivity, epsilon = whole("sensitivity", sensitivity, 1), positive("epsilon", epsilon, _NO_NOISE)
    if not repeatable:
        raise ValueError("repeatable (False) must be True: OpenDP has no such measurement")
    scale = math.nextafter(sensitivity / epsilon, math.inf)
    noise = floored_laplace_noise(rng, scale, counts.size).reshape(counts.shape)
    source = _source(rng, repeatable=True)
    _record("floored_laplace", sensitivity, epsilon, scale=scale, shape=counts.shape, source=source)
    return saturating_add(counts, noise)


def discrete_gaussian(
    values: npt.ArrayLike, *, sensitivity: float, rho: float, rng: KeyedRNG, granularity: float = 1.0
) -> npt.NDArray[Any]:
    """Add discrete Gaussian noise, Pr[z] ~ exp(-z**2 / (2 sigma**2)) with sigma = sensitivity / sqrt(2 rho).

    Rho-zCDP if the L2 distance of `values` between neighbours is at most `sensitivity` (Canonne, Kamath,
    Steinke 2020). Sums beyond 64 bits saturate. Streams as for `discrete_laplace`.

    The noise z takes multiples of `granularity`: 1 (the result is int64), or a power of two below 1 (it is
    float64). Below 1, integer noise is added to the number of steps in each value.
    """
    from sdv_plausible.privacy.noise.noise_samplers import discrete_gaussian_noise, saturating_add

    steps = _steps(granularity)
    most = np.iinfo(np.int64).max // steps
    # Clipping does not raise the sensitivity.
    counts = np.clip(integer_array("values", values), -most, most) * steps
    sensitivity, rho = positive("sensitivity", sensitivity), positive("rho", rho, _NO_NOISE)
    source = _source(rng)
    if source == "opendp":
        built, scale = measurement("discrete_gaussian", sensitivity * steps, rho)
        noisy: npt.NDArray[np.int64] = add_noise(built, counts)
    else:
        scale = sensitivity * steps / math.sqrt(2 * rho)
        noisy = saturating_add(counts, discrete_gaussian_noise(rng, scale, counts.size).reshape(counts.shape))
    _record(
        "discrete_gaussian", sensitivity, rho, scale=scale / steps, shape=counts.shape, source=source,
        granularity=granularity,
    )  # fmt: skip
    return noisy if steps == 1 else noisy * granularity


def exponential_choice(scores: npt.ArrayLike, *, sensitivity: int, epsilon: float, rng: KeyedRNG) -> int:
    """Choose a position with probability proportional to exp(epsilon score / (2 sensitivity))."""
    # The exponential mechanism, as the argmax of scores with Gumbel noise. It has epsilon-bounded range, so
    # it is epsilon-DP and epsilon**2/8-zCDP, if every score moves by at most `sensitivity` between
    # neighbours. Needs at least one score. Streams as for `discrete_laplace`.
    values = integer_array("scores", scores).ravel()
    sensitivity, epsilon = whole("sensitivity", sensitivity, 1), positive("epsilon", epsilon, _NO_NOISE)
    if not values.size:
        raise ValueError("scores (none) must have at least one entry")
    source = _source(rng)
    if source == "opendp":
        built, scale = measurement("noisy_max", sensitivity, epsilon**2 / 8)
        chosen = int(built(values))
    else:
        scale = 2 * sensitivity / epsilon
        gumbel = -np.log(-np.log(rng.uniform(values.size) + 2.0**-54))
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


def _source(rng: KeyedRNG, *, repeatable: bool = False) -> Source:
    if not rng.is_secret:
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

"""Calibrated noise and secret coins: the only place of the package where randomness is made.

Two sources. *Noise* that hides a data value (`discrete_laplace`, `discrete_gaussian`, `laplace`, `exponential_mechanism`) is one
whole OpenDP measurement fed by the operating system's entropy: it does not depend on any stream and is fresh in every process.
*Coins* (`Coins`: splits, seeds, proposals) are AES-256 in counter mode under a secret 32-byte key, so that a stream can be
repeated by the holder of the key and looks random to everybody else. Coins from `random_state` are for tests and utility
studies: with them the noise functions draw from the stream too, and nothing here claims privacy.

Workers and forks. `spawn(*context)` is a pure function of key and context, so the pieces of one job are given their own streams
by name and repeat anywhere: in a thread, a forked child, or a process that got the object by pickle. Copying a stream (copy,
pickle) copies its position: the copy repeats the original. A secret stream refuses to *draw* in a process where it could
share its position by accident: after a fork always, and, for a root made by `from_os_entropy`, in any process but its own.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import math
import numbers
import operator
import os
import secrets
import struct
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from scipy.special import gammaincinv, ndtri

__all__ = [
    "Coins",
    "NoiseCall",
    "discrete_gaussian",
    "discrete_laplace",
    "exponential_mechanism",
    "laplace",
    "record_calls",
]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
WordArray = npt.NDArray[np.uint64]
Size = int | tuple[int, ...] | None

_BLOCK = 16  # bytes of one AES block
_PARALLEL = 1 << 14  # values per OpenDP call when a long vector is spread over threads
_BIG = 2**62 - 1  # magnitudes are clipped here before an addition, so that int64 saturates as OpenDP's does


def _encode(item: object) -> bytes:
    """Encode a context item unambiguously: one tag byte, eight bytes of length, then the value."""
    if item is None:
        tag, body = b"n", b""
    elif isinstance(item, bool):
        tag, body = b"t", bytes([item])
    elif isinstance(item, int | np.integer):
        number = int(item)
        tag, body = b"i", number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)
    elif isinstance(item, float):
        number_f = math.nan if math.isnan(item) else item + 0.0  # one nan, one zero
        tag, body = b"f", struct.pack(">d", number_f)
    elif isinstance(item, str):
        tag, body = b"s", item.encode("utf-8", "surrogatepass")
    elif isinstance(item, bytes):
        tag, body = b"b", item
    elif isinstance(item, tuple):
        tag, body = b"(", b"".join(map(_encode, item))
    else:
        raise TypeError(
            f"context item {item!r} ({type(item).__name__}) must be a str, int, float, bytes, bool, None or a tuple of these: "
            "convert it, so that equal contexts give equal streams"
        )
    return tag + len(body).to_bytes(8, "big") + body


def _derive(key: bytes, purpose: bytes, message: bytes = b"") -> bytes:
    """Return a 32-byte key that is independent of `key` and of every other purpose and message (HMAC-SHA256)."""
    return hmac.digest(key, purpose + b"\0" + message, "sha256")


class _Process:
    """The identity of the running process: random, because process numbers repeat in containers and over time."""

    pid, identity = -1, b""

    @classmethod
    def current(cls) -> bytes:
        if cls.pid != os.getpid():
            cls.pid, cls.identity = os.getpid(), secrets.token_bytes(16)
        return cls.identity


class Coins:
    """A keyed cryptographic stream of random numbers (AES-256 in counter mode).

    Make one with `from_os_entropy` (secret) or `from_seed` (reproducible, no privacy claim) and name the streams of the parts
    of a job with `spawn`. Every number drawn advances the stream; threads may share one.

    Attributes
    ----------
    is_secret : bool
        Whether the key came from the operating system's entropy; False for `from_seed` and all its children.
    """

    __slots__ = ("_home", "_is_root", "_is_secret", "_key", "_lock", "_position")

    def __init__(self, key: bytes, *, is_secret: bool, is_root: bool) -> None:
        self.__setstate__((key, 0, is_secret, is_root, _Process.current()))

    @classmethod
    def from_os_entropy(cls) -> Coins:
        """Return a new secret stream keyed by 32 bytes of the operating system's entropy."""
        return cls(secrets.token_bytes(32), is_secret=True, is_root=True)

    @classmethod
    def from_seed(cls, random_state: int) -> Coins:
        """Return the reproducible stream of `random_state`, any integer; it makes no privacy claim.

        Raises
        ------
        TypeError
            If `random_state` is not an integer.
        """
        if isinstance(random_state, bool) or not isinstance(random_state, numbers.Integral):
            raise TypeError(f"random_state ({random_state!r}) must be an integer; for secret coins use Coins.from_os_entropy()")
        return cls(hashlib.sha256(b"sdv_plausible seed" + _encode(int(random_state))).digest(), is_secret=False, is_root=True)

    @property
    def is_secret(self) -> bool:
        """Whether the key came from the operating system's entropy."""
        return self._is_secret

    def spawn(self, *context: object) -> Coins:
        """Return the child stream named by `context`; the same context gives the same stream, and the parent does not move.

        Parameters
        ----------
        *context : str, int, float, bytes, bool, None or tuple of these
            The name; type and grouping count, so ("a", "b"), ("ab",) and (("a", "b"),), or 1, 1.0 and True, all differ.

        Raises
        ------
        TypeError
            If an item is of another type.
        """
        return Coins(_derive(self._key, b"spawn", _encode(context)), is_secret=self._is_secret, is_root=False)

    def bytes(self, n: int) -> bytes:
        """Return `n` random bytes."""
        return self._draw(_count("n", n))[:n].tobytes()

    def uniform(self, size: Size = None) -> Any:
        """Return uniform multiples of 2**-53 in [0, 1): a float, or a float64 array of shape `size`."""
        bits = self._words(_length(size))
        bits >>= np.uint64(11)
        values = bits.view(np.float64)
        values[:] = bits.view(np.int64)  # in place: 53 bits fit both types, element by element
        values *= 2.0**-53
        return _shaped(values, size)

    def integers(self, high: int | npt.ArrayLike, size: Size = None) -> Any:
        """Return unbiased integers in 0, ..., high - 1: an int, or an int64 array.

        Parameters
        ----------
        high : int or array of int
            Exclusive upper bound, 1 to 2**63 - 1; an array is broadcast against `size`.
        size : int or tuple of int, optional
            Shape of the result; by default that of `high`.

        Raises
        ------
        ValueError
            If a bound is below 1.
        TypeError
            If `high` is not of an integer type.
        """
        bound = _integer_array("high", high)
        if bound.size and bound.min() < 1:
            raise ValueError(f"high ({bound.min()}) must be at least 1: the integers are drawn from 0..high-1")
        shape = bound.shape if size is None else size
        bounds = np.broadcast_to(bound.astype(np.uint64), shape).ravel()
        top = np.uint64(2**64 - 1)
        # Words above the last multiple of the bound would favour small remainders: they are drawn again.
        limit = top - (top % bounds + np.uint64(1)) % bounds
        words = self._words(bounds.size)
        while (again := np.flatnonzero(words > limit)).size:
            words[again] = self._words(again.size)
        words %= bounds
        return _shaped(words.view(np.int64), shape if shape != () else None)

    def permutation(self, n: int) -> IntArray:
        """Return a uniformly random order of 0, ..., n - 1 as an int64 array."""
        while True:
            words = self._words(_count("n", n))
            order = np.argsort(words)
            words = words[order]
            if not (words[1:] == words[:-1]).any():  # given that no two keys tie, all orders are equally likely
                return order.astype(np.int64, copy=False)

    def exponential(self, size: Size = None) -> Any:
        """Return draws of the standard exponential distribution."""
        return -np.log(self._open_uniform(size))

    def normal(self, size: Size = None) -> Any:
        """Return draws of the standard normal distribution."""
        return ndtri(self._open_uniform(size))

    def standard_gamma(self, shape: npt.ArrayLike) -> FloatArray:
        """Return one draw of Gamma(shape, 1) per entry, by inversion; normalised rows are Dirichlet draws.

        Shapes are at least 0 (0 gives 0); below 0.01 a draw can underflow to 0.
        """
        shapes = _finite_array("shape", shape)
        if shapes.size and shapes.min() < 0:
            raise ValueError(f"shape ({shapes.min()}) must be at least 0")
        draws = gammaincinv(np.where(shapes > 0, shapes, 1.0), self._open_uniform(shapes.shape))
        return np.where(shapes > 0, draws, 0.0)

    def _open_uniform(self, size: Size) -> Any:
        """Return uniforms in the open interval (0, 1)."""
        return np.minimum(self.uniform(size) + 2.0**-54, 1 - 2.0**-53)

    def _words(self, n: int) -> WordArray:
        return self._draw(8 * n)[: 8 * n].view("<u8").astype(np.uint64, copy=False)

    def _draw(self, n_bytes: int) -> npt.NDArray[np.uint8]:
        """Advance by enough whole blocks for `n_bytes` and return them."""
        if self._is_secret and self._home != _Process.current():
            raise RuntimeError(
                "these secret coins belong to another process, where the same numbers may be drawn: give each process "
                "its own stream with coins.spawn(name, number)"
            )
        blocks = -(-n_bytes // _BLOCK)
        with self._lock:
            start, self._position = self._position, self._position + blocks
        stream = Cipher(algorithms.AES(_derive(self._key, b"stream")), modes.CTR(start.to_bytes(_BLOCK, "big"))).encryptor()
        out = np.zeros(blocks * _BLOCK + _BLOCK, dtype=np.uint8)  # update_into wants one block of room
        stream.update_into(bytes(blocks * _BLOCK), out.data)
        return out[: blocks * _BLOCK]

    def __repr__(self) -> str:
        return f"<Coins: {'secret' if self._is_secret else 'reproducible, no privacy claim'}>"

    def __getstate__(self) -> tuple[bytes, int, bool, bool, bytes]:
        return self._key, self._position, self._is_secret, self._is_root, self._home

    def __setstate__(self, state: tuple[bytes, int, bool, bool, bytes]) -> None:
        self._key, self._position, self._is_secret, self._is_root, home = state
        # A named stream is made to be repeated, so it settles where it is unpickled; a root keeps its home.
        self._home = home if self._is_root else _Process.current()
        self._lock = threading.Lock()

    def __copy__(self) -> Coins:
        twin = Coins.__new__(Coins)
        twin.__setstate__(self.__getstate__())
        twin._home = self._home  # within one process a copy is not sent anywhere: it stays where the original is at home
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Coins:
        return self.__copy__()


@dataclass(frozen=True, kw_only=True)
class NoiseCall:
    """One call of a noise function, without any value.

    Attributes
    ----------
    name : str
        The function.
    sensitivity, budget, scale : float
        Its sensitivity; the budget spent (rho for `discrete_gaussian`, else epsilon); the scale of the noise that was drawn.
    shape : tuple of int
        Shape of the values (length of the scores for `exponential_mechanism`).
    source : {"opendp", "keyed stream", "seeded stream"}
        Where the randomness came from; "seeded stream" carries no privacy claim.
    """

    name: str
    sensitivity: float
    budget: float
    scale: float
    shape: tuple[int, ...]
    source: Source


Source = Literal["opendp", "keyed stream", "seeded stream"]
_recorders: list[list[NoiseCall]] = []


@contextmanager
def record_calls() -> Iterator[list[NoiseCall]]:
    """Collect every noise call of this process, in order, while the block runs; for tests and audits.

    Yields
    ------
    list of NoiseCall
        Filled as calls are made; holds no value and no noise.
    """
    calls: list[NoiseCall] = []
    _recorders.append(calls)
    try:
        yield calls
    finally:
        _recorders[:] = [kept for kept in _recorders if kept is not calls]


def _record(call: NoiseCall) -> None:
    for calls in _recorders:
        calls.append(call)


def discrete_laplace(
    values: npt.ArrayLike, *, sensitivity: int, epsilon: float, coins: Coins, repeatable: bool = False
) -> IntArray:
    """Add discrete Laplace noise of scale sensitivity / epsilon: Pr[Z = z] = (1 - a) / (1 + a) a**abs(z), a = exp(-1 / scale).

    Epsilon-DP for `values` whose L1 distance between neighbours is at most `sensitivity` (Ghosh, Roughgarden, Sundararajan 2012).
    Comparing the result with a threshold is post-processing, so thresholded counts need no mechanism of their own.

    Parameters
    ----------
    values : array of int
        The true values; any shape.
    sensitivity : int
        L1 sensitivity, at least 1.
    epsilon : float
        Budget, finite and above 0.
    coins : Coins
        Secret coins mean OpenDP's measurement on the operating system's entropy; reproducible coins the same distribution from the
        stream, without a privacy claim.
    repeatable : bool, default False
        With secret coins, draw the noise from the secret stream instead, so that the same named stream repeats it, faster than
        OpenDP. The distribution is exact to 2**-120 in total variation per value; the guarantee then rests on AES-256 as
        well, and on using one stream for one call with one input: other values under the same noise would reveal their difference.

    Returns
    -------
    array of int64
        Noisy values; sums beyond 64 bits saturate.

    Raises
    ------
    TypeError, ValueError
        If a parameter is outside its type or range.
    """
    array = _integer_array("values", values)
    if isinstance(sensitivity, bool) or not isinstance(sensitivity, numbers.Integral):
        raise TypeError(f"sensitivity ({sensitivity!r}) must be an integer: integer values change by whole numbers")
    _positive("sensitivity", sensitivity)
    _positive("epsilon", epsilon)
    if coins.is_secret and not repeatable:
        measurement, scale = _measurement("discrete_laplace", int(sensitivity), float(epsilon))
        noisy = _invoke(measurement, array)
    else:
        scale = sensitivity / epsilon
        noisy = _saturating_add(array, _stream_discrete_laplace(coins, scale, array.size).reshape(array.shape))
    _note("discrete_laplace", sensitivity, epsilon, scale, array.shape, coins, keyed=repeatable)
    return noisy


def discrete_gaussian(values: npt.ArrayLike, *, sensitivity: float, rho: float, coins: Coins) -> IntArray:
    """Add discrete Gaussian noise, Pr[Z = z] proportional to exp(-z**2 / (2 sigma**2)), sigma = sensitivity / sqrt(2 rho).

    Rho-zCDP for `values` whose L2 distance between neighbours is at most `sensitivity` (Canonne, Kamath, Steinke 2020, Theorem 4).

    Parameters
    ----------
    values : array of int
        The true values; any shape.
    sensitivity : float
        L2 sensitivity, finite and above 0.
    rho : float
        Budget in zero-concentrated differential privacy, finite and above 0.
    coins : Coins
        As in `discrete_laplace`.

    Returns
    -------
    array of int64
        Noisy values; sums beyond 64 bits saturate.

    Raises
    ------
    TypeError, ValueError
        If a parameter is outside its type or range.
    """
    array = _integer_array("values", values)
    _positive("sensitivity", sensitivity)
    _positive("rho", rho)
    if coins.is_secret:
        measurement, scale = _measurement("discrete_gaussian", float(sensitivity), float(rho))
        noisy = _invoke(measurement, array)
    else:
        scale = sensitivity / math.sqrt(2 * rho)
        noisy = _saturating_add(array, _stream_discrete_gaussian(coins, scale, array.size).reshape(array.shape))
    _note("discrete_gaussian", sensitivity, rho, scale, array.shape, coins)
    return noisy


def laplace(values: npt.ArrayLike, *, sensitivity: float, epsilon: float, coins: Coins) -> FloatArray:
    """Add Laplace noise of scale sensitivity / epsilon to real values; epsilon-DP for L1 sensitivity `sensitivity`.

    OpenDP adds the noise in exact arithmetic to the exact value of each double and rounds the sum once, so the low bits of the
    result tell nothing (Mironov 2012 shows what they tell when noise drawn for zero is added in floating point).

    Parameters
    ----------
    values : array of float
        The true values, finite; any shape.
    sensitivity : float
        L1 sensitivity, finite and above 0, rounding of the values included.
    epsilon : float
        Budget, finite and above 0.
    coins : Coins
        As in `discrete_laplace`; with reproducible coins the sum is an ordinary floating-point one.

    Returns
    -------
    array of float64
        Noisy values.

    Raises
    ------
    TypeError, ValueError
        If a parameter is outside its type or range.
    """
    array = _finite_array("values", values)
    _positive("sensitivity", sensitivity)
    _positive("epsilon", epsilon)
    if coins.is_secret:
        measurement, scale = _measurement("laplace", float(sensitivity), float(epsilon))
        noisy = _invoke(measurement, array)
    else:
        scale = sensitivity / epsilon
        noisy = array + scale * (coins.exponential(array.shape) - coins.exponential(array.shape))
    _note("laplace", sensitivity, epsilon, scale, array.shape, coins)
    return noisy


def exponential_mechanism(
    scores: npt.ArrayLike, *, sensitivity: float, epsilon: float, coins: Coins, monotone: bool = False
) -> int:
    """Choose an index with probability proportional to exp(score / scale), scale = 2 sensitivity / epsilon.

    This is the exponential mechanism, equivalently report-noisy-max with Gumbel noise: epsilon-DP *and* epsilon-bounded-range,
    hence epsilon**2 / 8 -zCDP (Dong, Durfee, Rogers 2020; Cesar, Rogers 2021). It is OpenDP's `make_noisy_max` for the
    zero-concentrated measure; the one for max-divergence is permute-and-flip, which is epsilon-DP but not bounded-range.

    Parameters
    ----------
    scores : array of float
        One finite score per candidate, at least one; larger is better.
    sensitivity : float
        The most that one score changes between neighbours, finite and above 0.
    epsilon : float
        Budget, finite and above 0.
    coins : Coins
        As in `discrete_laplace`.
    monotone : bool, default False
        Whether between any two neighbours all scores change in the same direction; then scale = sensitivity / epsilon is enough.

    Returns
    -------
    int
        Index of the chosen candidate.

    Raises
    ------
    TypeError, ValueError
        If a parameter is outside its type or range.
    """
    array = _finite_array("scores", scores)
    if array.ndim != 1 or not array.size:
        raise ValueError(f"scores (shape {array.shape}) must be one-dimensional with at least one candidate")
    _positive("sensitivity", sensitivity)
    _positive("epsilon", epsilon)
    if coins.is_secret:
        kind: Kind = "monotone_maximum" if monotone else "maximum"
        measurement, scale = _measurement(kind, float(sensitivity), float(epsilon))
        chosen = int(measurement(array))
    else:
        scale = sensitivity / epsilon * (1 if monotone else 2)
        chosen = int(np.argmax(array / scale - np.log(coins.exponential(array.size))))
    _note("exponential_mechanism", sensitivity, epsilon, scale, array.shape, coins)
    return chosen


Kind = Literal["discrete_laplace", "discrete_gaussian", "laplace", "maximum", "monotone_maximum"]
_building = threading.Lock()


@functools.lru_cache(maxsize=256)
def _measurement(kind: Kind, sensitivity: float, budget: float) -> tuple[Any, float]:
    """Build the OpenDP measurement whose own privacy map stays within `budget`, and return it with its scale.

    The scale is the formula's, raised by the few last bits that OpenDP's upward-rounded map may ask for.
    """
    # Imported here: OpenDP loads a large native library, which `import sdv_plausible` should not wait for.
    from opendp import mod  # noqa: F401

    scale, step = sensitivity / budget, 2.0**-52
    target = budget
    if kind == "discrete_gaussian":
        scale = sensitivity / math.sqrt(2 * budget)
    elif kind == "maximum":
        scale, target = 2 * scale, budget**2 / 8
    elif kind == "monotone_maximum":
        target = budget**2 / 8
    while True:
        if not math.isfinite(scale):
            raise ValueError(f"sensitivity ({sensitivity}) over budget ({budget}) gives a scale beyond double precision")
        measurement = _build(kind, scale)
        if measurement.map(sensitivity) <= target:
            return measurement, scale
        scale, step = scale * (1 + step), 2 * step


def _build(kind: Kind, scale: float) -> Any:
    from opendp import domains, measurements, measures, metrics, mod

    with _building:
        was_enabled = "contrib" in mod.GLOBAL_FEATURES
        mod.enable_features("contrib")  # where OpenDP keeps these measurements; put back as the user had it
        try:
            if kind == "discrete_laplace":
                space = domains.vector_domain(domains.atom_domain(T="i64")), metrics.l1_distance(T="i64")
                return measurements.make_laplace(*space, scale=scale)
            if kind == "discrete_gaussian":
                space = domains.vector_domain(domains.atom_domain(T="i64")), metrics.l2_distance(T="f64")
                return measurements.make_gaussian(*space, scale=scale)
            reals = domains.vector_domain(domains.atom_domain(T="f64", nan=False))
            if kind == "laplace":
                return measurements.make_laplace(reals, metrics.l1_distance(T="f64"), scale=scale)
            metric = metrics.linf_distance(T="f64", monotonic=kind == "monotone_maximum")
            return measurements.make_noisy_max(reals, metric, measures.zero_concentrated_divergence(), scale=scale)
        finally:
            if not was_enabled:
                mod.disable_features("contrib")


def _invoke(measurement: Any, array: npt.NDArray[Any]) -> Any:
    """Return the release of an additive-noise measurement, in the array's shape and type.

    Noise is independent per entry, so pieces in threads (OpenDP runs outside the interpreter lock) are the same mechanism.
    """
    flat = np.ascontiguousarray(array).ravel()
    if flat.size <= _PARALLEL:
        parts = [measurement(flat)] if flat.size else []
    else:
        with ThreadPoolExecutor(_cpus()) as pool:
            parts = list(pool.map(measurement, np.array_split(flat, -(-flat.size // _PARALLEL))))
    released = [np.asarray(part, dtype=array.dtype) for part in parts]
    return np.concatenate([flat[:0], *released]).reshape(array.shape)


def _cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.lru_cache(maxsize=256)
def _digit_thresholds(scale: float) -> tuple[tuple[np.uint64, np.uint64], ...]:
    """Return, for each binary digit of a geometric variable, the probability of a one in 128 bits, as two words.

    For Pr[G = g] proportional to a**g the binary digits of G are independent, because a**g is the product over its digits b_i of
    a**(b_i 2**i): digit i is one with probability 1 / (1 + exp(2**i / scale)).
    """
    exact = Context(prec=60)
    thresholds = []
    while True:
        growth = exact.exp(exact.divide(Decimal(2 ** len(thresholds)), Decimal(scale)))
        threshold = int(exact.divide(Decimal(2**128), exact.add(1, growth)))
        if not threshold:
            return tuple(thresholds)
        thresholds.append((np.uint64(threshold >> 64), np.uint64(threshold & (2**64 - 1))))


def _geometric(coins: Coins, scale: float, n: int) -> IntArray:
    total = np.zeros(n, dtype=np.int64)
    for digit, (high, low) in enumerate(_digit_thresholds(scale)):
        words = coins._words(n)
        one = words < high
        if (tie := np.flatnonzero(words == high)).size:
            one[tie] = coins._words(tie.size) < low
        total += one.astype(np.int64) << digit
    return total


def _stream_discrete_laplace(coins: Coins, scale: float, n: int) -> IntArray:
    """Draw from the stream: the difference of two geometric variables is discrete Laplace."""
    if not 2.0**-10 <= scale <= 2.0**50:
        raise ValueError(f"sensitivity over budget ({scale}) must lie in 2**-10..2**50 for noise drawn from a stream")
    return _geometric(coins, scale, n) - _geometric(coins, scale, n)


def _stream_discrete_gaussian(coins: Coins, sigma: float, n: int) -> IntArray:
    """Draw from the stream by rejection from discrete Laplace (Canonne, Kamath, Steinke 2020, Algorithm 3)."""
    t = math.floor(sigma) + 1.0
    drawn = np.empty(n, dtype=np.int64)
    missing = np.arange(n)
    while missing.size:
        proposal = _stream_discrete_laplace(coins, t, missing.size)
        accepted = coins.uniform(missing.size) < np.exp(-((np.abs(proposal) - sigma**2 / t) ** 2) / (2 * sigma**2))
        drawn[missing[accepted]] = proposal[accepted]
        missing = missing[~accepted]
    return drawn


def _saturating_add(values: IntArray, noise: IntArray) -> IntArray:
    return np.clip(values, -_BIG, _BIG) + np.clip(noise, -_BIG, _BIG)


def _note(
    name: str, sensitivity: float, budget: float, scale: float, shape: tuple[int, ...], coins: Coins, *, keyed: bool = False
) -> None:
    source: Source = "seeded stream" if not coins.is_secret else "keyed stream" if keyed else "opendp"
    _record(
        NoiseCall(
            name=name, sensitivity=float(sensitivity), budget=float(budget), scale=float(scale), shape=shape, source=source
        )
    )


def _positive(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} ({value!r}) must be a number")
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} ({value}) must be finite and above 0: where no noise is wanted, do not call a noise function")


def _integer_array(name: str, values: npt.ArrayLike) -> IntArray:
    array = np.asarray(values)
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(f"{name} (dtype {array.dtype}) must be integers: round them and convert with .astype('int64') first")
    if array.dtype == np.uint64 and array.size and array.max() > np.uint64(2**63 - 1):
        raise ValueError(f"{name} ({array.max()}) must fit into int64")
    return array.astype(np.int64)


def _finite_array(name: str, values: npt.ArrayLike) -> FloatArray:
    array = np.asarray(values)
    if array.dtype.kind not in "iuf" and array.size:
        raise TypeError(f"{name} (dtype {array.dtype}) must be numbers")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite: {np.count_nonzero(~np.isfinite(array))} are NaN or infinite")
    return array


def _count(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 0:
        raise ValueError(f"{name} ({value!r}) must be an integer of at least 0")
    return operator.index(value)


def _length(size: Size) -> int:
    if size is None:
        return 1
    return math.prod(_count("size", side) for side in (size if isinstance(size, tuple) else (size,)))


def _shaped(values: npt.NDArray[Any], size: Size) -> Any:
    return values[0].item() if size is None else values.reshape(size)

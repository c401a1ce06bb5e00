"""OpenDP measurements whose own privacy map stays within the budget."""

from __future__ import annotations

import functools
import math
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

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

"""OpenDP measurements, built so that their own privacy map stays within the budget."""

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

_LAST_BIT = 2.0**-52  # of a double, relative
_LARGEST_SCALE = 2.0**500  # its inverse is the smallest: both well within double precision
_PIECE = 1 << 14  # values per OpenDP call when a long vector is spread over threads
_building = threading.Lock()
_SCALES: dict[Kind, Callable[[float, float], float]] = {
    "discrete_laplace": lambda sensitivity, epsilon: sensitivity / epsilon,
    "discrete_gaussian": lambda sensitivity, rho: sensitivity / math.sqrt(2 * rho),
    "noisy_max": lambda sensitivity, rho: sensitivity / math.sqrt(2 * rho),
}


@functools.lru_cache(maxsize=256)
def measurement(kind: Kind, sensitivity: float, budget: float) -> tuple[Any, float]:
    """Return the OpenDP measurement for `sensitivity` and `budget`, and its scale."""
    # The scale is the formula's, raised by the last bits that OpenDP's upward-rounded privacy map may ask
    # for. The sensitivity is in the L1 (Laplace), L2 (Gaussian) or largest (noisy max) distance, whole but
    # for Gaussian; the budget is epsilon for "discrete_laplace", rho for the others.
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
    """Return the release of an additive-noise measurement, in the shape and type of `array`."""
    # The noise is independent per entry, so pieces in threads (OpenDP runs outside the interpreter's lock)
    # are the same mechanism.
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
def check_there() -> None:
    """Draw noise once, on nobody's number: a library that is missing or broken fails unpaid."""
    add_noise(_build("discrete_laplace", 1.0), np.zeros(1, dtype=np.int64))


def _build(kind: Kind, scale: float) -> Any:
    # Imported here: OpenDP loads a large native library that `import sdv_plausible` should not wait for.
    from opendp import domains, measurements, measures, metrics, mod

    with _building:
        was_enabled = "contrib" in mod.GLOBAL_FEATURES
        mod.enable_features(
            "contrib"
        )  # OpenDP keeps these measurements there; left afterwards as the user had it
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

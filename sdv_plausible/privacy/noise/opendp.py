"""OpenDP measurements, built so that their own privacy map stays within the budget."""

from __future__ import annotations

import functools
import math
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Kind = Literal["discrete_laplace", "discrete_gaussian", "laplace", "maximum", "monotone_maximum"]

_PIECE = 1 << 14  # values per OpenDP call when a long vector is spread over threads
_building = threading.Lock()


@functools.lru_cache(maxsize=256)
def measurement(kind: Kind, sensitivity: float, budget: float) -> tuple[Any, float]:
    """Return the OpenDP measurement for `sensitivity` and `budget`, and its scale.

    The scale is the formula's, raised by the last bits that OpenDP's upward-rounded privacy map may ask for.

    Parameters
    ----------
    kind : Kind
        Distribution; the two maxima are report-noisy-max with Gumbel noise.
    sensitivity : float
        In the L1 (Laplace), L2 (Gaussian) or L-infinity (maxima) distance; an int for "discrete_laplace".
    budget : float
        rho for "discrete_gaussian", epsilon otherwise.
    """
    target = budget
    if kind == "discrete_gaussian":
        scale = sensitivity / math.sqrt(2 * budget)
    elif kind == "maximum":
        scale, target = 2 * (sensitivity / budget), budget**2 / 8
    elif kind == "monotone_maximum":
        scale, target = sensitivity / budget, budget**2 / 8
    else:
        scale = sensitivity / budget
    step = 2.0**-52
    while 2.0**-500 < scale < 2.0**500:
        built = _build(kind, scale)
        if built.map(sensitivity) <= target:
            return built, scale
        scale, step = scale * (1 + step), 2 * step
    raise ValueError(f"sensitivity ({sensitivity}) and budget ({budget}) give a noise scale beyond double precision")


def add_noise(built: Any, array: npt.NDArray[Any]) -> Any:
    """Return the release of an additive-noise measurement, in the shape and type of `array`.

    The noise is independent per entry, so pieces in threads (OpenDP runs outside the interpreter's lock) are the same
    mechanism.
    """
    flat = np.ascontiguousarray(array).ravel()
    if flat.size <= _PIECE:
        parts = [built(flat)] if flat.size else []
    else:
        with ThreadPoolExecutor(_cpus()) as pool:
            parts = list(pool.map(built, np.array_split(flat, -(-flat.size // _PIECE))))
    return np.concatenate([flat[:0], *(np.asarray(part, dtype=flat.dtype) for part in parts)]).reshape(array.shape)


def _build(kind: Kind, scale: float) -> Any:
    # Imported here: OpenDP loads a large native library that `import sdv_plausible` should not wait for.
    from opendp import domains, measurements, measures, metrics, mod

    with _building:
        was_enabled = "contrib" in mod.GLOBAL_FEATURES
        mod.enable_features("contrib")  # OpenDP keeps these measurements there; left afterwards as the user had it
        try:
            if kind in ("discrete_laplace", "discrete_gaussian"):
                integers = domains.vector_domain(domains.atom_domain(T="i64"))
                if kind == "discrete_laplace":
                    return measurements.make_laplace(integers, metrics.l1_distance(T="i64"), scale=scale)
                return measurements.make_gaussian(integers, metrics.l2_distance(T="f64"), scale=scale)
            reals = domains.vector_domain(domains.atom_domain(T="f64", nan=False))
            if kind == "laplace":
                return measurements.make_laplace(reals, metrics.l1_distance(T="f64"), scale=scale)
            metric = metrics.linf_distance(T="f64", monotonic=kind == "monotone_maximum")
            # Gumbel noise goes with this measure; with max_divergence() OpenDP draws exponential noise instead.
            return measurements.make_noisy_max(reals, metric, measures.zero_concentrated_divergence(), scale=scale)
        finally:
            if not was_enabled:
                mod.disable_features("contrib")


def _cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

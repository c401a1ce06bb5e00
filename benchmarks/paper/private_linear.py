"""Private linear classifiers of Chaudhuri, Monteleoni and Sarwate (JMLR 12, 2011): the rivals of table 4.

Both minimise ``J(f) = mean loss(y_i f.x_i) + lambda |f|**2 / 2`` and add one random vector, to the minimiser (output
perturbation, Algorithm 1) or to the objective (objective perturbation, Algorithm 2). Both are epsilon-differentially
private for **replacing** one row, with the number n of rows public, if every row has norm at most 1, labels are -1 and 1,
and the loss is convex with a slope in [-1, 1]. As in the paper, the guarantee is that of the exact minimiser; a solver
comes close to it only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

HUBER_WIDTH = 0.5  # h of the Huber loss
Margins = np.ndarray


@dataclass(frozen=True, kw_only=True)
class Loss:
    """A convex loss of the margin ``z = y f.x``.

    Parameters
    ----------
    value, slope : callable
        The loss and its derivative, elementwise; the slope lies in [-1, 0].
    curvature : float
        Upper bound c on the second derivative.
    """

    value: Callable[[Margins], np.ndarray]
    slope: Callable[[Margins], np.ndarray]
    curvature: float


def _logistic_slope(z: Margins) -> np.ndarray:
    slope: np.ndarray = -np.exp(-np.logaddexp(0.0, z))
    return slope


def _huber(z: Margins) -> np.ndarray:
    h = HUBER_WIDTH
    return np.where(z > 1 + h, 0.0, np.where(z < 1 - h, 1 - z, (1 + h - z) ** 2 / (4 * h)))


def _huber_slope(z: Margins) -> np.ndarray:
    return -np.clip((1 + HUBER_WIDTH - z) / (2 * HUBER_WIDTH), 0.0, 1.0)


LOGISTIC = Loss(value=lambda z: np.logaddexp(0.0, -z), slope=_logistic_slope, curvature=0.25)
HUBER = Loss(value=_huber, slope=_huber_slope, curvature=1 / (2 * HUBER_WIDTH))


def minimise(
    rows: Any,
    labels: np.ndarray,
    regulariser: float,
    loss: Loss,
    *,
    tilt: np.ndarray | None = None,
    extra: float = 0.0,
    start: np.ndarray | None = None,
) -> np.ndarray:
    """The f, shape (d,), that minimises ``J(f) + tilt.f / n + extra |f|**2 / 2``.

    Parameters
    ----------
    rows : ndarray or sparse matrix, shape (n, d)
        Features; norms are not checked here.
    labels : ndarray, shape (n,)
        -1 or 1.
    regulariser : float
        lambda > 0.
    loss : Loss
        Of the margin.
    tilt : ndarray, shape (d,), optional
        Objective perturbation's random vector.
    extra : float
        Objective perturbation's added regulariser.
    start : ndarray, shape (d,), optional
        Where the solver starts.
    """
    n, d = rows.shape
    linear = np.zeros(d) if tilt is None else tilt / n
    strength = regulariser + extra

    def objective(f: np.ndarray) -> tuple[float, np.ndarray]:
        z = labels * (rows @ f)
        gradient = rows.T @ (labels * loss.slope(z)) / n + linear + strength * f
        return float(loss.value(z).mean() + linear @ f + strength / 2 * (f @ f)), gradient

    options = {"maxiter": 2000, "gtol": 1e-7, "ftol": 1e-13, "maxcor": 20}
    found: np.ndarray = minimize(
        objective, np.zeros(d) if start is None else start, jac=True, method="L-BFGS-B", options=options
    ).x
    return found


def random_vector(dimension: int, rate: float, rng: KeyedRNG) -> np.ndarray:
    """A vector with density proportional to ``exp(-rate |b|)``: its norm is Gamma(dimension, 1/rate), its direction uniform."""
    direction = rng.normal(dimension)
    norm = rng.standard_gamma(np.array([float(dimension)]))[0] / rate
    vector: np.ndarray = direction * (norm / np.linalg.norm(direction))
    return vector


def output_rate(n: int, regulariser: float, epsilon: float) -> float:
    """Rate of output perturbation's noise, ``n lambda epsilon / 2``: the minimiser moves by at most 2 / (n lambda)."""
    return n * regulariser * epsilon / 2


def output_perturbation(
    rows: Any,
    labels: np.ndarray,
    regulariser: float,
    epsilon: float,
    loss: Loss,
    rng: KeyedRNG,
    fitted: np.ndarray | None = None,
) -> np.ndarray:
    """Algorithm 1: the minimiser plus noise, shape (d,).

    ``fitted`` takes a minimiser that was found before with the same arguments; each call is a release of its own.

    Raises
    ------
    ValueError
        If a row's norm exceeds 1, a label is not -1 or 1, or epsilon or lambda is not positive.
    """
    check_conditions(rows, labels, regulariser, epsilon)
    found = minimise(rows, labels, regulariser, loss) if fitted is None else fitted
    released: np.ndarray = found + random_vector(
        rows.shape[1], output_rate(rows.shape[0], regulariser, epsilon), rng
    )
    return released


def objective_noise(n: int, regulariser: float, epsilon: float, curvature: float) -> tuple[float, float]:
    """Rate of objective perturbation's noise, epsilon' / 2, and its added regulariser Delta (Algorithm 2)."""
    ratio = curvature / (n * regulariser)
    left = epsilon - math.log1p(2 * ratio + ratio * ratio)
    if left > 0:
        return left / 2, 0.0
    return epsilon / 4, curvature / (n * math.expm1(epsilon / 4)) - regulariser


def objective_perturbation(
    rows: Any,
    labels: np.ndarray,
    regulariser: float,
    epsilon: float,
    loss: Loss,
    rng: KeyedRNG,
    start: np.ndarray | None = None,
) -> np.ndarray:
    """Algorithm 2: the minimiser of the tilted objective, shape (d,). Raises as :func:`output_perturbation`."""
    check_conditions(rows, labels, regulariser, epsilon)
    rate, extra = objective_noise(rows.shape[0], regulariser, epsilon, loss.curvature)
    tilt = random_vector(rows.shape[1], rate, rng)
    return minimise(rows, labels, regulariser, loss, tilt=tilt, extra=extra, start=start)


def check_conditions(rows: Any, labels: np.ndarray, regulariser: float, epsilon: float) -> None:
    """Raise unless the conditions of both theorems hold."""
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise ValueError(
            f"epsilon ({epsilon!r}) must be a finite number > 0; minimise() is the classifier without privacy"
        )
    if not (math.isfinite(regulariser) and regulariser > 0):
        raise ValueError(
            f"regulariser ({regulariser!r}) must be a finite number > 0: the sensitivity is 2 / (n lambda)"
        )
    if not np.isin(labels, (-1, 1)).all():
        raise ValueError("labels must be -1 or 1: a larger label raises the sensitivity")
    square = rows.multiply(rows).sum(axis=1) if hasattr(rows, "multiply") else (rows * rows).sum(axis=1)
    longest = math.sqrt(float(np.asarray(square).max(initial=0.0)))
    if longest > 1 + 1e-9:
        raise ValueError(
            f"rows have norm up to {longest:.4g}, above 1: divide all rows by a public bound on the norm"
        )

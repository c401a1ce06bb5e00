"""Transition matrices of count synthesizers by formula: the two of [AV], and this package's noise.

The tables have n rows, which is public, so the last count follows from the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, xlogy

from sdv_plausible.extensions.audit.disclosure.transition_matrix import (
    Counts,
    FloatArray,
    TransitionMatrix,
    check_cells,
    tables_of_counts,
)
from sdv_plausible.privacy import parameter_checks as check

IntArray = npt.NDArray[np.int64]


def multinomial_dirichlet(
    n: int,
    alpha: Sequence[float],
    predictive: Literal["plug_in", "posterior"] = "posterior",
    m: int | None = None,
) -> TransitionMatrix:
    """Return the exact matrix of the multinomial-Dirichlet synthesizer ([AV], Eq. 1).

    Parameters
    ----------
    n : int
        Rows of the confidential table.
    alpha : sequence of float
        Prior sample size of every category, >= 0. A zero makes outputs impossible, so that epsilon is
        infinite.
    predictive : {"posterior", "plug_in"}
        "posterior": probabilities are drawn from their posterior first, as in Eq. 1 (beta-binomial for two
        categories). "plug_in": they are the posterior mean, as in figures 1 and 2 of [AV].
    m : int, optional
        Rows of the synthetic table; by default n.

    Returns
    -------
    TransitionMatrix
        The exact matrix.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    weights = np.asarray(alpha, dtype=np.float64)
    if weights.ndim != 1 or len(weights) < 2 or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(f"alpha ({alpha!r}) must be two or more finite numbers >= 0; try (0.5, 0.5)")
    check.one_of("predictive", predictive, ("plug_in", "posterior"))
    _check_size(check.whole("n", n, 1), len(weights), _rows(m, n))
    tables = list(tables_of_counts(n, len(weights)))
    posterior_sizes = np.array(tables) + weights
    if predictive == "plug_in":
        return independent_rows(tables, posterior_sizes / posterior_sizes.sum(axis=1, keepdims=True), m)
    outcomes = list(tables_of_counts(_rows(m, n), len(weights)))
    counts = np.array(outcomes)
    total = posterior_sizes.sum(axis=1)
    logs = _log_orders(counts) + (gammaln(total) - gammaln(total + counts[0].sum()))[:, None]
    for j in range(len(weights)):
        logs = logs + _log_rising(posterior_sizes[:, j, None], counts[None, :, j])
    return TransitionMatrix(tables=tuple(tables), outcomes=tuple(outcomes), log_probabilities=logs)


def independent_rows(
    tables: Sequence[Counts], probabilities: npt.ArrayLike, m: int | None = None
) -> TransitionMatrix:
    """Return the matrix of a synthesizer that draws rows independently, such as Mechanism 1.

    Parameters
    ----------
    tables : sequence of tuple of int
        Confidential tables, all with the same number of rows.
    probabilities : array of float, shape (tables, categories)
        Category probabilities of a synthetic row, for every table.
    m : int, optional
        Rows of the synthetic table; by default as many as the confidential one.

    Returns
    -------
    TransitionMatrix
        The exact matrix.

    Raises
    ------
    ValueError
        If `probabilities` has the wrong shape or negative values.
    """
    p = np.asarray(probabilities, dtype=np.float64)
    if p.ndim != 2 or len(p) != len(tables) or (p < 0).any():
        raise ValueError(
            f"probabilities (shape {p.shape}) must be non-negative, with one row for each of the "
            f"{len(tables)} tables"
        )
    _check_size(sum(tables[0]), p.shape[1], _rows(m, sum(tables[0])))
    outcomes = list(tables_of_counts(_rows(m, sum(tables[0])), p.shape[1]))
    counts = np.array(outcomes)
    logs = _log_orders(counts)[None, :].repeat(len(tables), axis=0)
    for j in range(p.shape[1]):
        logs = logs + xlogy(counts[None, :, j], p[:, j, None])
    return TransitionMatrix(tables=tuple(tables), outcomes=tuple(outcomes), log_probabilities=logs)


def laplace(n: int, epsilon: float, categories: int = 2) -> TransitionMatrix:
    """Return the matrix of the Laplace synthesizer ([AV], Eq. 2, figure 3).

    Noise is added to all counts but the last, rounded, and clipped to 0..n.

    Parameters
    ----------
    n : int
        Rows of the table, public.
    epsilon : float
        Privacy loss that the noise is calibrated for, > 0. The scale is 1 / epsilon for two categories, where
        there is a single count to protect, and 2 / epsilon for more, where a changed row changes two counts.
    categories : int
        Number of categories, >= 2. With three or more the last count, n less the others, may be negative.

    Returns
    -------
    TransitionMatrix
        The exact matrix.
    """
    check.positive("epsilon", epsilon, "try 2.0")
    _check_categories(categories)
    rate = epsilon / (1 if categories == 2 else 2)
    half = rate / 2
    log_sinh = half + math.log(-math.expm1(-2 * half)) - math.log(2)

    def mass(z: IntArray) -> FloatArray:  # log probability that the noise rounds to z
        return np.where(z == 0, math.log(-math.expm1(-half)), -rate * np.abs(z) + log_sinh)

    def tail(z: IntArray) -> FloatArray:  # log probability that it rounds to z or more
        far = math.log(0.5) - rate * np.maximum(z, 1) + half
        return np.where(z >= 1, far, np.log1p(-0.5 * np.exp(rate * np.minimum(z, 0) - half)))

    return _noisy_counts(check.whole("n", n, 1), categories, mass, tail)


def discrete_gaussian(n: int, sigma: float, categories: int = 2) -> TransitionMatrix:
    """Return the matrix of counts with discrete Gaussian noise, as in this package.

    Noise is added to all counts but the last, and clipped to 0..n.

    Parameters
    ----------
    n : int
        Rows of the table, public.
    sigma : float
        Parameter of the noise, > 0: ``Pr[z] ~ exp(-z^2 / (2 sigma^2))``. A changed row changes one count by 1
        (two categories) or two counts, which costs ``GaussianLoss`` with 1 / sigma or sqrt(2) / sigma.
    categories : int
        Number of categories, >= 2. With three or more the last count, n less the others, may be negative.

    Returns
    -------
    TransitionMatrix
        The exact matrix.
    """
    check.positive("sigma", sigma, "try 1.0")
    check.whole("n", n, 1)
    _check_categories(categories)
    reach = n + math.ceil(40 * sigma) + 1
    z = np.arange(-reach, reach + 1)
    logs = -((z / sigma) ** 2) / 2
    logs -= np.logaddexp.reduce(logs)
    tails = np.logaddexp.accumulate(logs[::-1])[::-1]
    return _noisy_counts(n, categories, lambda x: logs[x + reach], lambda x: tails[x + reach])


def _noisy_counts(
    n: int, categories: int, mass: Callable[[IntArray], FloatArray], tail: Callable[[IntArray], FloatArray]
) -> TransitionMatrix:
    """Add independent symmetric integer noise to every count but the last, clipped to 0..n."""
    check_cells(math.comb(n + categories - 1, categories - 1), (n + 1) ** (categories - 1))
    tables = list(tables_of_counts(n, categories))
    z = np.arange(n + 1)[None, :] - np.arange(n + 1)[:, None]
    kernel = mass(z)
    kernel[:, n] = tail(z[:, n])
    kernel[:, 0] = tail(-z[:, 0])
    first = np.array(list(product(range(n + 1), repeat=categories - 1)))
    counts = np.array(tables)
    logs = np.zeros((len(tables), len(first)))
    for j in range(categories - 1):
        logs += kernel[counts[:, j, None], first[None, :, j]]
    outcomes = tuple((*map(int, y), n - int(y.sum())) for y in first)
    return TransitionMatrix(tables=tuple(tables), outcomes=outcomes, log_probabilities=logs)


def _log_orders(counts: IntArray) -> FloatArray:
    """Return the log number of orderings of rows with these counts."""
    orders: FloatArray = gammaln(counts.sum(axis=1) + 1) - gammaln(counts + 1).sum(axis=1)
    return orders


def _log_rising(a: FloatArray, m: IntArray) -> FloatArray:
    """Return ``ln(a (a + 1) ... (a + m - 1))``, with a >= 0."""
    safe = np.where(a > 0, a, 1.0)
    log_product: FloatArray = np.where(
        a > 0, gammaln(safe + m) - gammaln(safe), np.where(m == 0, 0.0, -np.inf)
    )
    return log_product


def _rows(m: int | None, n: int) -> int:
    return n if m is None else check.whole("m", m, 1, "it is a number of synthetic rows")


def _check_size(n: int, categories: int, m: int) -> None:
    tables, outcomes = (math.comb(rows + categories - 1, categories - 1) for rows in (n, m))
    check_cells(tables, outcomes)


def _check_categories(categories: int) -> None:
    check.whole("categories", categories, 2, "with one there is nothing to protect")

"""Gaussian noise and zero-concentrated DP in closed form, and the discrete against the continuous Gaussian.

Proofs: ``docs/explanation/proofs/composition.md``.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtri_exp

from sdv_plausible.privacy import parameter_checks as check

FloatArray = npt.NDArray[np.float64]
DISCRETE_EXCESS = 1 / 15  # discrete_gaussian_mu(sigma) <= (1 + DISCRETE_EXCESS/sigma^2)/sigma
_FINE_SIGMA = 100.0  # above it the least sigma is bounded in closed form, 7e-6 too large
_LARGE_SIGMA = 20_000.0  # above it the discrete Gaussian's excess is bounded in closed form
_LARGE_SIGMA_EXCESS = 8.0  # there: mu <= (1 + 8/sigma^2)/sigma
_REACH = 12.0  # standard deviations that are compared; the tails beyond have mass below 4e-33
_ROUNDING = 1e-9  # relative
_ALPHA_FACTORS = np.geomspace(0.05, 3.0, 600)  # grid, relative to the approximately best alpha - 1


def gaussian_log_delta(mu: float, epsilon: npt.ArrayLike) -> FloatArray:
    """Log of the Gaussian mechanism's delta ``Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)``.

    Balle and Wang, *Improving the Gaussian Mechanism*, ICML 2018, Theorem 5. `mu` is sensitivity over
    standard deviation.
    """
    eps = np.asarray(epsilon, dtype=np.float64)
    keep, lose = log_ndtr(mu / 2 - eps / mu), eps + log_ndtr(-mu / 2 - eps / mu)
    with np.errstate(divide="ignore"):
        result: FloatArray = keep + np.log(-np.expm1(np.minimum(lose - keep, 0.0)))
    return result


def discrete_gaussian_mu(sigma: float) -> float:
    """Parameter mu of the Gaussian mechanism that dominates the discrete one with unit sensitivity."""
    # The largest increment of ``Phi^-1(Pr[X < m])`` between consecutive integers m, computed for this sigma:
    # about ``(1 + 1/(24 sigma^2))/sigma``. For sensitivity s, or an integer vector of L2 norm s, it is s
    # times as large (``docs/explanation/proofs/composition.md``, Theorem 2).
    return _discrete_gaussian_mu(check.positive("sigma", sigma))


def sigma_within(mu: float) -> float:
    """Least sigma of a discrete Gaussian with unit sensitivity that costs at most mu; never below it."""
    least = 1 / check.positive("mu", mu)
    if least > _FINE_SIGMA:
        excess = DISCRETE_EXCESS if least < _LARGE_SIGMA / 2 else _LARGE_SIGMA_EXCESS
        return least * (1 + excess / least**2)
    # The cost falls with sigma, and is below mu at sigma = 2/mu + 1.
    sigma = brentq(lambda s: discrete_gaussian_mu(s) - mu, least, 2 * least + 1, xtol=1e-14, rtol=1e-13)
    return float(sigma) * (1 + _ROUNDING)


def zcdp_delta(rho: float, epsilon: npt.ArrayLike) -> FloatArray:
    """Delta of a rho-zCDP mechanism at every epsilon >= 0, by the tight conversion through Renyi divergences.

    Smallest over alpha > 1 of ``e^((alpha-1)(alpha rho - epsilon)) (1 - 1/alpha)^alpha / (alpha - 1)``
    (Canonne, Kamath, Steinke, *The Discrete Gaussian for Differential Privacy*, 2020, Proposition 12), and
    ``sqrt(rho/2)``, Pinsker's bound for epsilon = 0. Every alpha gives a valid bound; a grid around the best
    one is searched.
    """
    eps = np.asarray(epsilon, dtype=np.float64)
    if rho == 0:
        return np.zeros_like(eps)
    # The best alpha lies a little below (epsilon + rho)/(2 rho) once epsilon exceeds rho.
    centre = np.maximum((eps + rho) / (2 * rho) - 1, 0.1 / math.sqrt(rho))
    less_one = centre[..., None] * _ALPHA_FACTORS
    alpha = 1 + less_one
    log_delta = less_one * (alpha * rho - eps[..., None]) - np.log(less_one) + alpha * np.log1p(-1 / alpha)
    smallest: FloatArray = np.minimum(
        np.exp(np.minimum(log_delta.min(axis=-1), 0.0)), min(1.0, math.sqrt(rho / 2))
    )
    return smallest


@lru_cache(maxsize=4096)
def _discrete_gaussian_mu(sigma: float) -> float:
    if sigma > _LARGE_SIGMA:
        return (1 + _LARGE_SIGMA_EXCESS / sigma**2) / sigma
    reach = math.ceil(_REACH * sigma) + 2
    # The omitted tail is below rounding, even relative to the smallest sum used.
    below = np.arange(-reach - math.ceil(_REACH * sigma) - 12, 0, dtype=np.float64)
    log_weight = -(below**2) / (2 * sigma**2)
    log_sum = np.logaddexp.accumulate(log_weight)
    log_total = np.logaddexp(math.log(2) + log_sum[-1], 0.0)  # both sides and the weight 1 at zero
    probit = ndtri_exp(log_sum[-reach:] - log_total)  # of Pr[X <= m], m = -reach .. -1
    # Symmetry: the probit of Pr[X <= 0] is minus that of Pr[X <= -1], and the increments repeat.
    increments = np.append(np.diff(probit), -2 * probit[-1])
    return float(increments.max()) * (1 + _ROUNDING)

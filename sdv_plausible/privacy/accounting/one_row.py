"""Privacy loss of one row released under the randomised test, Privacy Test 2, for composing row by row.

:mod:`sdv_plausible.privacy.accounting.released_rows` bounds all rows by tosses of one coin. Here the full
profile of a single row is bounded, group size by group size, and N rows are N uses of it: rows are
independent given the model (``docs/explanation/proofs/seed_test.md``, Theorem 3). Neither bound is always
smaller.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.accounting.composition import compose
from sdv_plausible.privacy.accounting.gaussian import FloatArray
from sdv_plausible.privacy.accounting.losses import ApproxDP, InfiniteLoss, Loss
from sdv_plausible.privacy.accounting.released_rows import (
    COMPOSED_UP_TO,
    ReleasedRows,
    RowByRow,
    group_sizes,
    released_rows_loss,
)
from sdv_plausible.privacy.accounting.theorem1 import Noise, log_pass_probability
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours

_ROUNDING = 1e-15  # relative error of a line close to its zero
_LARGEST_RATIO = 700.0  # largest log likelihood ratio
_BELOW_ZERO = 40.0  # epsilon at which the line of all seeds is far below zero
_TRIED_UP_TO = 4 * COMPOSED_UP_TO  # in practice Theorem 3 gives at least a quarter of Theorem 2's epsilon


@dataclass(frozen=True, kw_only=True)
class IndependentRows(RowByRow):
    """N rows of any seed-based model under Privacy Test 2, as N uses of a single row."""

    gamma: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check.at_least("gamma", self.gamma, 1.0, "it is a factor; 1 for known omega")

    @property
    def count(self) -> int:
        """One use per row."""
        return self.num_rows

    def profile(self, epsilon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Delta of one row at every epsilon >= 0, for removing and for adding."""
        eps = np.minimum(np.asarray(epsilon, dtype=np.float64), _LARGEST_RATIO)
        lines, v = _lines(self.k, self.epsilon0, self.gamma, self.noise), self.without_seed
        weight = (1 - v) * lines.highest(np.exp(eps))
        if v:
            log_p = float(log_pass_probability(self.n_lower, self.k, self.epsilon0, self.noise))
            all_seeds = min(self.n_lower * math.exp(log_p), self.passing_seeds / self.seed_free_share)
            line = self.without_seed_increase - np.expm1(np.minimum(eps, _BELOW_ZERO)) * all_seeds
            weight += v * np.maximum(line, 0.0)
        remove = np.minimum(1.0, weight / self.passing_seeds)
        mass = self.mass_increase(self.gamma)
        add = np.maximum(0.0, -np.expm1(eps - math.log1p(mass / self.passing_seeds)))
        return remove, add


class _UpperEnvelope(NamedTuple):
    """Upper envelope of lines ``intercept - slope x``, x >= 1.

    Holds only the lines that are highest somewhere, by increasing slope.
    """

    intercepts: FloatArray
    slopes: FloatArray
    crossings: FloatArray  # decreasing: right of the i-th, line i is above line i + 1
    beyond: tuple[float, float]  # upper bound of all further lines, and the x above which they are negative

    def highest(self, x: FloatArray) -> FloatArray:
        index = len(self.crossings) - np.searchsorted(self.crossings[::-1], x, side="right")
        rise, fall = self.intercepts[index], self.slopes[index] * x
        value = np.maximum(0.0, rise - fall) + _ROUNDING * rise
        result: FloatArray = np.maximum(value, np.where(x < self.beyond[1], self.beyond[0], 0.0))
        return result


@lru_cache(maxsize=8)
def _lines(k: int, epsilon0: float, gamma: float, noise: Noise) -> _UpperEnvelope:
    """One line for every group size c and each end of its likelihood, c/gamma and c gamma."""
    c = group_sizes(k, epsilon0)
    p = np.exp(log_pass_probability(np.append(c, c[-1] + 1), k, epsilon0, noise))
    others = np.concatenate([c / gamma, c * gamma])
    intercepts, slopes = np.tile(p[1:], 2) * (others + 1), np.tile(p[:-1], 2) * others
    order = np.lexsort((-intercepts, slopes))  # the highest of equally steep lines first
    intercepts, slopes = intercepts[order], slopes[order]
    keep = np.append(True, np.diff(slopes) > 0)
    intercepts, slopes = intercepts[keep], slopes[keep]
    rise = np.diff(intercepts) / np.diff(slopes)
    corners = isotonic_regression(rise, weights=np.diff(slopes), increasing=False).blocks
    intercepts, slopes = intercepts[corners], slopes[corners]
    last = c[-1] / gamma
    beyond = (1.0 + gamma * c[-1] * (p[-1] - p[-2]), p[-1] / p[-2] * (1 + 1 / last))
    return _UpperEnvelope(intercepts, slopes, np.diff(intercepts) / np.diff(slopes), beyond)


def rows_loss(
    *,
    num_rows: int,
    k: int,
    gamma: float,
    epsilon0: float,
    delta: float,
    pass_rate_floor: float,
    n_lower: int,
    noise: Noise = "discrete_laplace",
    neighbours: Neighbours = ONE_ROW,
    seed_free_share: float = 0.0,
) -> tuple[Loss, float]:
    """Loss to charge for N rows of any seed-based model under Privacy Test 2, and its epsilon.

    The smaller of Theorem 2 at its best t and, for single rows added or removed, Theorem 3, each by its full
    profile. An (epsilon, delta) pair where that is beyond any protection, and for replacement. The choice
    depends on public parameters only. Infinite where delta is out of reach. Parameters as in
    :func:`~sdv_plausible.privacy.accounting.released_rows.released_rows_loss`.
    """
    theorem2 = released_rows_loss(
        num_rows=num_rows, k=k, gamma=gamma, epsilon0=epsilon0, delta=delta,
        pass_rate_floor=pass_rate_floor, n_lower=n_lower, noise=noise, neighbours=neighbours,
        seed_free_share=seed_free_share,
    )  # fmt: skip
    if math.isinf(theorem2.epsilon):
        return InfiniteLoss(), math.inf
    pair = ApproxDP(epsilon=theorem2.epsilon, delta=delta)
    theorem3, rows = math.inf, None
    if neighbours.rows == 1 and not neighbours.replace and theorem2.epsilon <= _TRIED_UP_TO:
        rows = IndependentRows(
            num_rows=num_rows, k=k, gamma=gamma, epsilon0=epsilon0,
            pass_rate_floor=pass_rate_floor, n_lower=n_lower, noise=noise, seed_free_share=seed_free_share,
        )  # fmt: skip
        theorem3 = compose([rows], delta)
    epsilon = min(theorem3, theorem2.epsilon)
    if epsilon > COMPOSED_UP_TO or neighbours.replace:
        return pair, theorem2.epsilon
    if rows is not None and theorem3 <= theorem2.epsilon:
        return rows, theorem3
    return ReleasedRows(
        num_rows=num_rows, k=k, gamma=gamma, epsilon0=epsilon0, t=theorem2.t, unit=neighbours.rows,
        pass_rate_floor=pass_rate_floor, n_lower=n_lower, noise=noise, seed_free_share=seed_free_share,
    ), theorem2.epsilon  # fmt: skip

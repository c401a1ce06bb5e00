"""Privacy loss of N rows released one by one, with plausible seeds counted among some of the seeds.

With ``max_check_plausible``, the test checks s seeds in a fresh random order. One record more or less then
also changes the counts of partitions that it is not in. The bound for full counts does not hold then;
``docs/explanation/proofs/checked_seeds.md`` proves the one used here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.accounting.bernoulli_pairs import BernoulliPairs, cover
from sdv_plausible.privacy.accounting.losses import ApproxDP, InfiniteLoss, Loss
from sdv_plausible.privacy.accounting.released_rows import COMPOSED_UP_TO, ReleasedRows, largest_feasible_t
from sdv_plausible.privacy.accounting.theorem1 import Noise, log_pass_probability

_T_TRIED = 40  # number of values of t tried


@dataclass(frozen=True, kw_only=True)
class CheckedRows(ReleasedRows):
    """N released rows under Privacy Test 2 where s freshly drawn seeds are checked per candidate.

    ``max_checked`` is s >= 1; counting stops at ``max_plausible`` >= 1 plausible seeds. Other parameters as
    for :class:`~sdv_plausible.privacy.accounting.released_rows.ReleasedRows`, for single rows.
    """

    max_checked: int  # seeds checked per candidate, s >= 1
    max_plausible: int  # plausible seeds at which counting stops, >= 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check.whole("max_checked", self.max_checked, 1)
        check.whole("max_plausible", self.max_plausible, 1)
        if self.unit != 1:
            raise ValueError(f"unit ({self.unit}) must be 1: checked seeds are accounted for single rows")

    @property
    def log_chance(self) -> float:
        """ln(1 + sigma (e^epsilon0 - 1)), sigma a bound on a new record's probability to be checked."""
        sigma = self.max_checked / (self.n_lower + 1) if self.max_checked <= self.n_lower else 1.0
        return math.log1p(sigma * math.expm1(self.epsilon0))

    @property
    def log_passes(self) -> np.ndarray:
        """Ln f(x) for x = 0..M: the probability to pass with x plausible seeds among the checked ones."""
        return log_pass_probability(np.arange(self.max_plausible + 1.0), self.k, self.epsilon0, self.noise)

    @property
    def displaced(self) -> float:
        """kappa, the largest x (1 - f(x-1)/f(x)): the loss when a new record displaces a plausible one."""
        falls = -np.expm1(-np.diff(self.log_passes))
        return float((np.arange(1, self.max_plausible + 1) * falls).max())

    @property
    def log_others(self) -> float:
        """-ln(1 - kappa/(n+1)): the largest fall of any other partition's log probability."""
        share = self.displaced / (self.n_lower + 1)
        return math.inf if share >= 1 else -math.log1p(-share)

    def _small_partition_probability(self) -> float:
        log_p = float(log_pass_probability(self.t, self.k, self.epsilon0, self.noise))
        if self.max_checked <= self.n_lower:  # not all are checked: a moment bound on the plausible ones
            at_zero = float(log_pass_probability(0, self.k, self.epsilon0, self.noise))
            sigma = self.max_checked / self.n_lower
            log_p = min(log_p, at_zero + self.t * math.log1p(sigma * math.expm1(self.epsilon0)))
        return min(1.0, (1 + self.gamma * (self.t - 1)) * math.exp(log_p) / self.passing_seeds)

    def _pairs(self, resolution: float) -> BernoulliPairs:
        log_r = self.log_chance + math.log1p(self.gamma / self.t) + self.log_others
        increase = 1 + self.gamma * self.displaced
        odds = increase / (self.passing_seeds * (1 - self._small_partition_probability()))
        return cover(np.array([log_r]), np.array([math.log1p(odds) + self.log_others]), resolution)


def checked_rows_loss(
    *,
    num_rows: int,
    k: int,
    gamma: float,
    epsilon0: float,
    delta: float,
    pass_rate_floor: float,
    n_lower: int,
    max_checked: int,
    max_plausible: int,
    noise: Noise = "discrete_laplace",
) -> tuple[Loss, float]:
    """Loss to charge for N rows where s seeds are checked, at the best t tried, and its epsilon.

    Infinite where delta is out of reach.
    """
    rows = CheckedRows(
        num_rows=num_rows, k=k, gamma=gamma, epsilon0=epsilon0, t=1, pass_rate_floor=pass_rate_floor,
        n_lower=n_lower, max_checked=max_checked, max_plausible=max_plausible, noise=noise,
    )  # fmt: skip
    if math.isinf(rows.log_others):
        return InfiniteLoss(), math.inf
    largest = largest_feasible_t(rows, delta, max_t=k * max(1, -(-n_lower // max_checked)))
    if largest == 0:
        return InfiniteLoss(), math.inf
    candidates = {max(1, round(largest * (1 - i / _T_TRIED) ** 2)) for i in range(_T_TRIED)}
    epsilon, best = min((replace(rows, t=t).epsilon(delta), t) for t in candidates)
    if epsilon > COMPOSED_UP_TO:
        return ApproxDP(epsilon=epsilon, delta=delta), epsilon
    return replace(rows, t=best), epsilon

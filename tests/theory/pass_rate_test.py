"""The charged test of the pass rate: what the bit "N acceptances within T attempts" costs.

The floor q, the number of rows N and a budget of T attempts are public; if N acceptances are not reached
within T attempts, an error is raised and nothing is released. Releases have a floor by construction instead
(:mod:`sdv_plausible.privacy.accounting.paper_theorems`). Proofs: ``docs/explanation/proofs/pass_rate.md``.
"""

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import betainc, betaincc, betainccinv, betaincinv

from sdv_plausible.privacy.accounting.crossing import smallest_within
from sdv_plausible.privacy.accounting.losses import Loss, both_directions
from sdv_plausible.privacy.accounting.released_rows import largest_mass_increase
from theory.fixed_omega import fixed_omega_loss

_CELLS = 4000  # of the grid of pass rates
_IMPOSSIBLE = 1e-18  # chance of failing beyond which higher pass rates need no look
_LIKELY = (0.7, 0.85, 0.95, 0.99)  # chances of success at which slabs end
_FAILURE_SHARES = (1e-3, 0.1, 0.5)  # shares of delta kept for failing being likelier


@dataclass(frozen=True, kw_only=True)
class PassRateTest(Loss):
    """The bit of one call as a loss (Theorem 1); ``step``: most that the pass rate differs between neighbours."""

    num_rows: int
    attempts: int
    pass_rate_floor: float
    step: float

    @property
    def beta(self):
        """Largest probability of releasing anything when one neighbour's pass rate is below the floor."""
        return float(self._success(self.pass_rate_floor + self.step))

    def failure_delta(self, epsilon):
        """Largest ``Pr[fail] - e^epsilon Pr'[fail]`` over pass rates of at least q, at every epsilon >= 0."""
        _, fail, _, fail_next = self._grid
        with np.errstate(divide="ignore", invalid="ignore"):
            log_ratio = np.where(fail_next > 0, np.log(fail) - np.log(fail_next), np.inf)
        log_ratio = np.where(fail > 0, log_ratio, 0.0)
        # 1 - g is log-concave: the ratio rises with the rate, so each cell is bounded by its ends.
        return _cell_maximum(fail[:-1], log_ratio[1:], float(fail[-1]), epsilon)

    def success_delta(self, epsilon):
        """Largest ``Pr[success] - e^epsilon Pr'[success]`` over pass rates >= q, at every epsilon >= 0."""
        success, fail, up, _ = self._grid
        with np.errstate(divide="ignore", invalid="ignore"):
            log_ratio = np.where(success > 0, np.log(up) - np.log(success), np.inf)
        # g is log-concave: the ratio falls with the rate.
        return _cell_maximum(up[1:], log_ratio[:-1], float(fail[-1]), epsilon)

    def profile(self, epsilon):
        """Delta at every epsilon >= 0; the same for both directions: the pass rate may move either way."""
        bit = np.maximum(self.success_delta(epsilon), self.failure_delta(epsilon))
        return both_directions(np.maximum(self.beta, bit))

    def slabs(self, allowed):
        """Pass rates in slabs where success is likelier than `allowed`: lower end, its chance and log ratio at most."""
        targets = np.concatenate([np.geomspace(min(allowed, 0.4), 0.5, 16), _LIKELY])
        cuts = betaincinv(self.num_rows, self.attempts - self.num_rows + 1, targets) - self.step
        low = np.concatenate([[self.pass_rate_floor], cuts[cuts > self.pass_rate_floor]])
        top = self._success(np.append(low[1:], 1.0) + self.step)
        with np.errstate(divide="ignore"):
            log_ratio = np.log(self._success(low + self.step)) - np.log(self._success(low))
        slabs = zip(low.tolist(), top.tolist(), log_ratio.tolist(), strict=True)
        return [slab for slab in slabs if slab[1] > allowed]

    def _success(self, rate):
        """Pr[Bin(T, rate) >= N]."""
        return betainc(self.num_rows, self.attempts - self.num_rows + 1, np.minimum(rate, 1.0))

    def _failure(self, rate):
        """Pr[Bin(T, rate) < N]."""
        return betaincc(self.num_rows, self.attempts - self.num_rows + 1, np.minimum(rate, 1.0))

    @cached_property
    def _grid(self):
        """Chances of success and failure from the floor to where failure is impossible; the neighbours'."""
        never = float(betainccinv(self.num_rows, self.attempts - self.num_rows + 1, _IMPOSSIBLE))
        rates = np.linspace(self.pass_rate_floor, min(1.0, max(self.pass_rate_floor, never)), _CELLS)
        up = rates + self.step
        return self._success(rates), self._failure(rates), self._success(up), self._failure(up)


def _cell_maximum(likelier, log_ratio, beyond, epsilon):
    """Largest ``likelier (1 - e^(epsilon - log_ratio))`` over cells, or `beyond`, for all past the last."""
    eps = np.atleast_1d(np.asarray(epsilon, dtype=np.float64))
    result = np.array([float(np.max(-likelier * np.expm1(np.minimum(e - log_ratio, 0.0)))) for e in eps])
    return np.maximum(result, beyond).reshape(np.shape(epsilon))


def pass_rate_step(k, epsilon0, n_lower, *, noise="discrete_laplace"):
    """``max_c [pt(c+1) + c (pt(c+1) - pt(c))] / (n_lower + 1)`` between neighbours (Lemma 1)."""
    return largest_mass_increase(k, epsilon0, 1.0, noise) / (n_lower + 1)


def plan_attempts(num_rows, pass_rate_floor, step, beta):
    """Largest budget T with ``Pr[Bin(T, q + step) >= N] <= beta``; q + step < 1, and its N-th power at most beta."""
    n, rate = num_rows, pass_rate_floor + step
    high = 2 * n
    while betainc(n, high - n + 1, rate) <= beta:
        high *= 2
    return n - 1 + bisect_right(range(n, high), beta, key=lambda attempts: betainc(n, attempts - n + 1, rate))


def row_by_row_loss(*, num_rows, k, epsilon0, delta, pass_rate_floor, n_lower, noise="discrete_laplace"):
    """Total epsilon of one call, one fixed omega, the floor's cost included (Theorem 2), and its attempts."""

    def rows(floor, allowed):
        return fixed_omega_loss(
            num_rows=num_rows, k=k, epsilon0=epsilon0, delta=allowed, pass_rate_floor=floor, n_lower=n_lower,
            noise=noise,
        )  # fmt: skip

    step = pass_rate_step(k, epsilon0, n_lower, noise=noise)
    attempts = plan_attempts(num_rows, pass_rate_floor, step, delta)
    test = PassRateTest(num_rows=num_rows, attempts=attempts, pass_rate_floor=pass_rate_floor, step=step)
    # The smallest share that does not decide the total; with very few rows failing decides it.
    alone = rows(pass_rate_floor, delta)
    _, share = min((max(alone, _floor_for_failure(test, delta * s)), s) for s in _FAILURE_SHARES)
    total, allowed = _floor_for_failure(test, delta * share), delta * (1 - share)
    for floor, likeliest, log_ratio in test.slabs(allowed):
        total = max(total, rows(floor, allowed / likeliest) + log_ratio)
    return total, attempts


def _floor_for_failure(test, allowed):
    """Smallest epsilon, within 1e-4, at which failing gives away at most `allowed`."""
    upper = 1.0
    while float(test.failure_delta(upper)) > allowed:
        upper *= 2
    return smallest_within(lambda epsilon: float(test.failure_delta(epsilon)), allowed, 0.0, upper, rtol=1e-5)

"""The charged test of the pass rate: what the bit "N acceptances within T attempts" costs.

The floor q, the number of rows N and a budget of T attempts are public; if N acceptances are not reached
within T attempts, an error is raised and nothing is released. Releases have a floor by construction instead
(:mod:`sdv_plausible.privacy.accounting.theorem1`). Proofs: ``docs/explanation/proofs/pass_rate.md``.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, betaincc, betainccinv, betaincinv

from sdv_plausible.privacy import checks as check
from sdv_plausible.privacy.accounting.losses import Loss, both_directions
from sdv_plausible.privacy.accounting.released_rows import largest_mass_increase

__all__ = ["PassRateTest", "pass_rate_step", "plan_attempts"]

FloatArray = npt.NDArray[np.float64]
_CELLS = 4000  # of the grid of pass rates
_IMPOSSIBLE = 1e-18  # chance of failing beyond which higher pass rates need no look
_LIKELY = (0.7, 0.85, 0.95, 0.99)  # chances of success at which slabs end


@dataclass(frozen=True, kw_only=True)
class PassRateTest(Loss):
    """The one bit "N acceptances within T attempts" as a loss, to be composed with the rows at floor q.

    ``docs/explanation/proofs/pass_rate.md``, Theorem 1. It is the cost of one call to ``sample``, whether it
    succeeded or raised.

    Parameters
    ----------
    num_rows : int
        Acceptances N wanted, >= 1.
    attempts : int
        Budget T, >= N; from :func:`plan_attempts`.
    pass_rate_floor : float
        The floor q, in (0, 1).
    step : float
        Most that the pass rate differs between neighbours, in (0, 1); from :func:`pass_rate_step`.
    """

    num_rows: int
    attempts: int
    pass_rate_floor: float
    step: float

    def __post_init__(self):
        check.whole("num_rows", self.num_rows, 1)
        check.whole("attempts", self.attempts, self.num_rows, "each released row needs an attempt of its own")
        check.open_probability(
            "pass_rate_floor", self.pass_rate_floor, "a charged test cannot prove a floor of 1"
        )
        check.open_probability("step", self.step)

    @property
    def beta(self):
        """Largest probability of releasing anything when one neighbour's pass rate is below the floor."""
        return float(self._success(self.pass_rate_floor + self.step))

    @property
    def success_epsilon(self):
        """Most that success becomes likelier, as a log ratio; it is largest at the floor."""
        with np.errstate(divide="ignore"):
            ratio = np.log(self._success(self.pass_rate_floor + self.step)) - np.log(
                self._success(self.pass_rate_floor)
            )
        return float(ratio)

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
        """Pass rates from the floor to 1 in slabs: lower end, chance of success and its log ratio at most.

        Only slabs in which success is likelier than `allowed` are listed: the others stay within it whatever
        the rows lose.
        """
        targets = np.concatenate([np.geomspace(min(allowed, 0.4), 0.5, 16), _LIKELY])
        cuts = betaincinv(self.num_rows, self.attempts - self.num_rows + 1, targets) - self.step
        low = np.concatenate([[self.pass_rate_floor], cuts[cuts > self.pass_rate_floor]])
        top = self._success(np.append(low[1:], 1.0) + self.step)
        with np.errstate(divide="ignore"):
            log_ratio = np.log(self._success(low + self.step)) - np.log(self._success(low))
        return [
            (float(q), float(g), float(r)) for q, g, r in zip(low, top, log_ratio, strict=True) if g > allowed
        ]

    def _success(self, rate):
        """Pr[Bin(T, rate) >= N]."""
        capped = np.minimum(rate, 1.0)
        result = np.asarray(betainc(self.num_rows, self.attempts - self.num_rows + 1, capped))
        return result

    def _failure(self, rate):
        """Pr[Bin(T, rate) < N]."""
        capped = np.minimum(rate, 1.0)
        result = np.asarray(betaincc(self.num_rows, self.attempts - self.num_rows + 1, capped))
        return result

    @cached_property
    def _grid(self):
        """Chances of success and failure from the floor to where failure is impossible; the neighbours'."""
        never = float(betainccinv(self.num_rows, self.attempts - self.num_rows + 1, _IMPOSSIBLE))
        high = min(1.0, max(self.pass_rate_floor, never))
        rates = np.linspace(self.pass_rate_floor, high, _CELLS)
        up = rates + self.step
        return self._success(rates), self._failure(rates), self._success(up), self._failure(up)


def _cell_maximum(likelier, log_ratio, beyond, epsilon):
    """Largest ``likelier (1 - e^(epsilon - log_ratio))`` over cells, or `beyond`, for all past the last."""
    eps = np.atleast_1d(np.asarray(epsilon, dtype=np.float64))
    result = np.array([float(np.max(-likelier * np.expm1(np.minimum(e - log_ratio, 0.0)))) for e in eps])
    shaped = np.maximum(result, beyond).reshape(np.shape(epsilon))
    return shaped


def pass_rate_step(k, epsilon0, n_lower, *, gamma=1.0, noise="discrete_laplace"):
    """Most that the pass rate of one attempt differs between neighbours.

    ``max_c [pt(c+1) + gamma c (pt(c+1) - pt(c))] / (n_lower + 1)`` (``docs/explanation/proofs/pass_rate.md``,
    Lemma 1).

    Parameters
    ----------
    k, epsilon0, noise
        Privacy Test 2.
    n_lower : int
        Lower bound on the number of seeds of the smaller neighbour, >= 1.
    gamma : float
        Partition width; 1 for known omega.
    """
    n = check.whole("n_lower", n_lower, 1)
    gamma = check.at_least("gamma", gamma, 1.0)
    return largest_mass_increase(
        check.whole("k", k, 1), check.positive("epsilon0", epsilon0), gamma, noise
    ) / (n + 1)


def plan_attempts(num_rows, pass_rate_floor, step, beta):
    """Largest budget T with ``Pr[Bin(T, q + step) >= N] <= beta``.

    Parameters
    ----------
    num_rows : int
        Acceptances N wanted, >= 1.
    pass_rate_floor, step : float
        The floor q and the most that the pass rate differs between neighbours; q + step < 1.
    beta : float
        In (0, 1); the delta of the total will do.

    Raises
    ------
    ValueError
        If a parameter is out of range, q + step reaches 1, or ``(q + step)^N > beta``: too few rows to tell Q
        from q.
    """
    n = check.whole("num_rows", num_rows, 1)
    rate = check.rate("pass_rate_floor", pass_rate_floor) + check.open_probability("step", step)
    beta = check.open_probability("beta", beta)
    if rate >= 1:
        raise ValueError(
            f"pass_rate_floor ({pass_rate_floor!r}) plus its step between neighbours ({step:.3g}) must stay "
            "below 1: "
            f"declare a lower floor"
        )
    if n * math.log(rate) > math.log(beta):
        raise ValueError(
            f"num_rows ({n}) are too few to prove a pass rate of {pass_rate_floor!r} at beta {beta:.3g}: "
            "declare a lower "
            f"floor, or more rows, or give the floor by construction"
        )
    high = 2 * n
    while betainc(n, high - n + 1, rate) <= beta:
        high *= 2
    return n - 1 + bisect_right(range(n, high), beta, key=lambda attempts: betainc(n, attempts - n + 1, rate))

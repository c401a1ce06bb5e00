"""Making the pass-rate floor of the row-by-row tests true: a charged test, or a floor by construction.

The pass rate Q of one attempt is private, and every bound on released rows divides by a floor q on it. *Charged
test*: q, the number of rows N and a budget of T attempts are public; if N acceptances are not reached within T
attempts, an error is raised and nothing is released. What this one bit costs is charged. *By construction*: seed-free
candidates (omega = m) get weight q. Proofs: ``docs/explanation/proofs/pass_rate.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, betaincc, betaincinv

from sdv_plausible.privacy import checks as check
from sdv_plausible.privacy.accounting.released_rows import fixed_omega_loss, largest_mass_increase, seed_test_loss
from sdv_plausible.privacy.accounting.theorem1 import Noise, log_pass_probability

__all__ = [
    "PassRateTest",
    "RowByRowLoss",
    "floor_by_construction",
    "pass_rate_step",
    "plan_attempts",
    "row_by_row_loss",
]

FloatArray = npt.NDArray[np.float64]
_CELLS = 4000
_FAILURE_SHARES = (1e-3, 0.1, 0.5)  # shares of delta kept for failing being likelier


@dataclass(frozen=True, kw_only=True)
class RowByRowLoss:
    """Total loss of N rows released under the randomised test, the floor's own cost included.

    Parameters
    ----------
    epsilon, delta : float
        The guarantee.
    rows_epsilon : float
        Loss of the rows alone, were the pass rate known to be at or above the floor.
    attempts : int or None
        Budget T of attempts for the charged test; None for a floor by construction.
    t : int or None
        Where small partitions are cut off, for the any-model theorem; None for the exact loss of a fixed omega.
    """

    epsilon: float
    delta: float
    rows_epsilon: float
    attempts: int | None
    t: int | None


@dataclass(frozen=True, kw_only=True)
class PassRateTest:
    """The one bit "N acceptances within T attempts" as a loss of its own, to be composed with the rows at floor q.

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

    def __post_init__(self) -> None:
        check.whole("num_rows", self.num_rows, 1)
        check.whole("attempts", self.attempts, self.num_rows, "each released row needs an attempt of its own")
        check.open_probability("pass_rate_floor", self.pass_rate_floor, "a charged test cannot prove a floor of 1")
        check.open_probability("step", self.step)

    @property
    def count(self) -> int:
        """Uses: one call."""
        return 1

    @property
    def beta(self) -> float:
        """Largest probability of releasing anything at all when one neighbour's pass rate is below the floor."""
        return float(self._success(self.pass_rate_floor + self.step))

    @property
    def success_epsilon(self) -> float:
        """Most that success becomes likelier, as a log ratio; it is largest at the floor."""
        with np.errstate(divide="ignore"):
            ratio = np.log(self._success(self.pass_rate_floor + self.step)) - np.log(self._success(self.pass_rate_floor))
        return float(ratio)

    def failure_delta(self, epsilon: npt.ArrayLike) -> FloatArray:
        """Largest ``Pr[fail] - e^epsilon Pr'[fail]`` over pass rates of at least q, at every epsilon >= 0."""
        rates, _, fail = self._grid
        fail_next = self._failure(rates + self.step)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_ratio = np.where(fail_next > 0, np.log(fail) - np.log(fail_next), np.inf)
        log_ratio = np.where(fail > 0, log_ratio, 0.0)
        # 1 - g is log-concave: the ratio rises with the rate, so each cell is bounded by its ends.
        return _cell_maximum(fail[:-1], log_ratio[1:], float(fail[-1]), epsilon)

    def success_delta(self, epsilon: npt.ArrayLike) -> FloatArray:
        """Largest ``Pr[success] - e^epsilon Pr'[success]`` over pass rates of at least q, at every epsilon >= 0."""
        rates, success, fail = self._grid
        up = self._success(rates + self.step)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_ratio = np.where(success > 0, np.log(up) - np.log(success), np.inf)
        # g is log-concave: the ratio falls with the rate.
        return _cell_maximum(up[1:], log_ratio[:-1], float(fail[-1]), epsilon)

    def profile(self, epsilon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Delta at every epsilon >= 0; the same for removing and adding, as the pass rate may move either way."""
        worst = np.maximum(self.beta, np.maximum(self.success_delta(epsilon), self.failure_delta(epsilon)))
        return worst, worst

    def slabs(self, allowed: float) -> list[tuple[float, float, float]]:
        """Pass rates from the floor to 1 in slabs: lower end, largest chance of success, largest log ratio of it.

        Only slabs in which success is likelier than `allowed` are listed: the others stay within it whatever the rows
        lose.
        """
        targets = np.concatenate([np.geomspace(min(allowed, 0.4), 0.5, 16), [0.7, 0.85, 0.95, 0.99]])
        cuts = betaincinv(self.num_rows, self.attempts - self.num_rows + 1, targets) - self.step
        low = np.concatenate([[self.pass_rate_floor], cuts[cuts > self.pass_rate_floor]])
        top = self._success(np.append(low[1:], 1.0) + self.step)
        with np.errstate(divide="ignore"):
            log_ratio = np.log(self._success(low + self.step)) - np.log(self._success(low))
        return [(float(q), float(g), float(r)) for q, g, r in zip(low, top, log_ratio, strict=True) if g > allowed]

    def _success(self, rate: npt.ArrayLike) -> FloatArray:
        """Pr[Bin(T, rate) >= N]."""
        capped = np.minimum(rate, 1.0)
        result: FloatArray = np.asarray(betainc(self.num_rows, self.attempts - self.num_rows + 1, capped))
        return result

    def _failure(self, rate: npt.ArrayLike) -> FloatArray:
        """Pr[Bin(T, rate) < N]."""
        capped = np.minimum(rate, 1.0)
        result: FloatArray = np.asarray(betaincc(self.num_rows, self.attempts - self.num_rows + 1, capped))
        return result

    @cached_property
    def _grid(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Pass rates from the floor to where failure is next to impossible, with success and failure there."""
        low, high = self.pass_rate_floor, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if self._failure(middle) < 1e-18 else (middle, high)
        rates = np.linspace(self.pass_rate_floor, high, _CELLS)
        return rates, self._success(rates), self._failure(rates)


def _cell_maximum(likelier: FloatArray, log_ratio: FloatArray, beyond: float, epsilon: npt.ArrayLike) -> FloatArray:
    """Largest ``likelier (1 - e^(epsilon - log_ratio))`` over cells, or `beyond` for everything past the last one."""
    eps = np.atleast_1d(np.asarray(epsilon, dtype=np.float64))
    result = np.array([float(np.max(-likelier * np.expm1(np.minimum(e - log_ratio, 0.0)))) for e in eps])
    shaped: FloatArray = np.maximum(result, beyond).reshape(np.shape(epsilon))
    return shaped


def pass_rate_step(k: int, epsilon0: float, n_lower: int, *, gamma: float = 1.0, noise: Noise = "discrete_laplace") -> float:
    """Most that the pass rate of one attempt differs between neighbours.

    ``max_c [pt(c+1) + gamma c (pt(c+1) - pt(c))] / (n_lower + 1)`` (``docs/explanation/proofs/pass_rate.md``, Lemma 1).

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
    return largest_mass_increase(check.whole("k", k, 1), check.positive("epsilon0", epsilon0), gamma, noise) / (n + 1)


def plan_attempts(num_rows: int, pass_rate_floor: float, step: float, beta: float) -> int:
    """Largest budget T with ``Pr[Bin(T, q + step) >= N] <= beta``; raises where not even N attempts stay below beta.

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
        If a parameter is out of range, q + step reaches 1, or ``(q + step)^N > beta``: too few rows to tell Q from q.
    """
    n = check.whole("num_rows", num_rows, 1)
    rate = check.rate("pass_rate_floor", pass_rate_floor) + check.open_probability("step", step)
    beta = check.open_probability("beta", beta)
    if rate >= 1:
        raise ValueError(
            f"pass_rate_floor ({pass_rate_floor!r}) plus its step between neighbours ({step:.3g}) must stay below 1: "
            f"declare a lower floor"
        )
    if n * math.log(rate) > math.log(beta):
        raise ValueError(
            f"num_rows ({n}) are too few to prove a pass rate of {pass_rate_floor!r} at beta {beta:.3g}: declare a lower "
            f"floor, or more rows, or give the floor by construction"
        )
    low, high = n, 2 * n
    while betainc(n, high - n + 1, rate) <= beta:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if betainc(n, middle - n + 1, rate) <= beta else (low, middle)
    return low


def floor_by_construction(weight: float, k: int, epsilon0: float, n_lower: int, *, noise: Noise = "discrete_laplace") -> float:
    """Pass-rate floor when candidates are seed-free (omega = m) with this probability: ``weight pt(n_lower)``.

    A seed-free candidate has all seeds as plausible seeds. No test, no error, no attempt budget; account the rows with
    :func:`sdv_plausible.privacy.accounting.released_rows.seed_test_loss` at gamma = 1, because omega varies
    (``docs/explanation/proofs/pass_rate.md``, Theorem 3).

    Parameters
    ----------
    weight : float
        Probability of omega = m for each candidate, in (0, 1].
    k, epsilon0, noise
        Privacy Test 2.
    n_lower : int
        Lower bound on the number of seeds of the smaller neighbour, >= 1.
    """
    weight = check.rate("weight", weight, "it is the share of seed-free candidates")
    n = check.whole("n_lower", n_lower, 1)
    return weight * math.exp(
        float(log_pass_probability(n, check.whole("k", k, 1), check.positive("epsilon0", epsilon0), noise))
    )


def row_by_row_loss(
    *,
    num_rows: int,
    k: int,
    epsilon0: float,
    delta: float,
    pass_rate_floor: float,
    n_lower: int,
    gamma: float | None = None,
    by_construction: bool = False,
    noise: Noise = "discrete_laplace",
) -> RowByRowLoss:
    """Total loss of one call that releases N rows under Privacy Test 2, the pass-rate floor's own cost included.

    The pass rate is cut into slabs: where the rows would be worst, near the floor, they are hardly ever released
    (``docs/explanation/proofs/pass_rate.md``, Theorem 2, at beta = delta).

    Parameters
    ----------
    num_rows, k, epsilon0, pass_rate_floor, n_lower, noise
        As in :class:`sdv_plausible.privacy.accounting.released_rows.FixedOmegaRows`.
    delta : float
        Delta of the total, in (0, 1).
    gamma : float, optional
        None: one fixed omega, exact. 1: a range of omega drawn afresh for every candidate. Above 1: any model.
    by_construction : bool
        Whether the floor is by construction (:func:`floor_by_construction`); needs ``gamma >= 1``, because omega
        varies.

    Returns
    -------
    RowByRowLoss
        With the budget of attempts that goes with it; epsilon is infinite where delta is out of reach.

    Raises
    ------
    ValueError
        If a parameter is out of range, or the floor cannot be proved with so few rows (:func:`plan_attempts`).
    """
    delta = check.open_probability("delta", delta)
    if by_construction and gamma is None:
        raise ValueError("gamma (None) must be at least 1 when by_construction is set: omega varies between candidates")

    def rows(floor: float, allowed: float) -> tuple[float, int | None]:
        common: dict[str, Any] = {
            "num_rows": num_rows, "k": k, "epsilon0": epsilon0, "delta": allowed,
            "pass_rate_floor": floor, "n_lower": n_lower, "noise": noise,
        }  # fmt: skip
        if gamma is None:
            return fixed_omega_loss(**common), None
        best = seed_test_loss(gamma=gamma, **common)
        return best.epsilon, best.t

    alone, t = rows(pass_rate_floor, delta)
    if by_construction:
        return RowByRowLoss(epsilon=alone, delta=delta, rows_epsilon=alone, attempts=None, t=t)
    step = pass_rate_step(k, epsilon0, n_lower, gamma=gamma or 1.0, noise=noise)
    attempts = plan_attempts(num_rows, pass_rate_floor, step, delta)
    test = PassRateTest(num_rows=num_rows, attempts=attempts, pass_rate_floor=pass_rate_floor, step=step)
    # The smallest share that does not decide the total; with very few rows failing decides it.
    total, share = min((max(alone, _floor_for_failure(test, delta * s)), s) for s in _FAILURE_SHARES)
    total = _floor_for_failure(test, delta * share)
    allowed = delta * (1 - share)
    for floor, likeliest, log_ratio in test.slabs(allowed):
        total = max(total, rows(floor, allowed / likeliest)[0] + log_ratio)
    return RowByRowLoss(epsilon=total, delta=delta, rows_epsilon=alone, attempts=attempts, t=t)


def _floor_for_failure(test: PassRateTest, allowed: float) -> float:
    """Smallest epsilon, within 1e-4, at which failing gives away at most `allowed`."""
    low, high = 0.0, 1e-4
    while float(test.failure_delta(high)) > allowed:
        low, high = high, 2 * high
        if high > 1e4:
            return math.inf
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if float(test.failure_delta(middle)) <= allowed else (middle, high)
    return high

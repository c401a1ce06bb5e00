"""What an attack proves: lower bounds on epsilon and on mu from its scores, and what it could have proved.

The event "score at least a threshold" is chosen on some runs and counted on others. Clopper-Pearson bounds
on its two probabilities, each with half of the false alarm, make the bounds hold
(docs/explanation/proofs/attacks.md, Theorems 1 and 2).

Or one fit and many canaries, each in the table or not by a fair coin of its own: a bound from guesses, some
withheld (Steinke, Nasr, Jagielski 2023). Right guesses beyond what a claim allows contradict it (Theorem 4).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import expit, ndtr, ndtri
from scipy.stats import binom

from sdv_plausible.extensions.audit.membership import (
    CHOOSING,
    LEAST_RUNS,
    FloatArray,
    choosing_and_counting,
    clopper_pearson,
    epsilon_lower_bound,
    log_ratio,
)

CAUTION = 1e-6  # a threshold must look good by bounds so much surer: rare events look best by chance


@dataclass(frozen=True, kw_only=True)
class AttackBounds:
    """What runs with and without a target prove.

    Attributes
    ----------
    epsilon : float
        Lower bound on epsilon at `delta`.
    delta : float
        Delta of the claim.
    mu : float
        Lower bound on mu of Gaussian differential privacy: mu_emp.
    false_alarm : float
        Probability that a bound lies above the truth, for each of the two.
    runs : int
        Runs on each side.
    most_epsilon, most_mu : float
        What the same runs would prove of a mechanism that always tells, without any noise: no run of this
        size proves more.
    """

    epsilon: float
    delta: float
    mu: float
    false_alarm: float
    runs: int
    most_epsilon: float
    most_mu: float

    def __str__(self) -> str:
        return (
            f"epsilon at least {self.epsilon:.3g} at delta {self.delta:g}, mu at least {self.mu:.3g} (each "
            f"false with probability at most {self.false_alarm:g}); {self.runs} runs on each side prove at "
            f"most epsilon {self.most_epsilon:.3g} and mu {self.most_mu:.3g}, even where there is no noise"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes."""
        return asdict(self)


def attack_bounds(
    present: npt.ArrayLike, absent: npt.ArrayLike, delta: float, *, false_alarm: float = 0.05
) -> AttackBounds:
    """Lower bounds on epsilon and mu, from scores of independent runs with and without a target.

    Parameters
    ----------
    present, absent : array of float
        Scores of runs on the table with the target and without it, at least 20 each; high scores should mean
        that it was there.
    delta : float
        Delta of the claim, in [0, 1).
    false_alarm : float
        In (0, 1).
    """
    runs = min(np.size(present), np.size(absent))
    counted = runs - runs // CHOOSING
    return AttackBounds(
        epsilon=epsilon_lower_bound(present, absent, delta, false_alarm=false_alarm),
        delta=delta,
        mu=mu_lower_bound(present, absent, false_alarm=false_alarm),
        false_alarm=false_alarm,
        runs=runs,
        most_epsilon=max(0.0, float(log_ratio(counted, counted, 0, counted, delta, false_alarm))),
        most_mu=float(_mu(counted, 0, counted, counted, false_alarm)[0]),
    )


def mu_lower_bound(present: npt.ArrayLike, absent: npt.ArrayLike, *, false_alarm: float = 0.05) -> float:
    """Lower bound on mu of Gaussian differential privacy: mu_emp of an attack.

    A mechanism is mu-GDP if no test has false positive rate a and false negative rate b with
    ``Phi^-1(1 - a) - Phi^-1(b) > mu``. Rates of one event are bounded from above.

    Parameters
    ----------
    present, absent : array of float
        Scores, at least 20 each; high scores should mean that the target was there.
    false_alarm : float
        Probability that the bound lies above the true mu, in (0, 1).
    """
    choosing, counting, thresholds = choosing_and_counting(present, absent, false_alarm)
    best = thresholds[[int(np.argmax(_mu_at(choosing, thresholds, false_alarm * CAUTION)))]]
    return max(0.0, float(_mu_at(counting, best, false_alarm)[0]))


def provable(
    mu: float, runs: int, delta: float, *, false_alarm: float = 0.05, probability: float = 0.9
) -> tuple[float, float]:
    """Epsilon and mu that the best attack on a mu-GDP mechanism proves with a stated probability.

    Parameters
    ----------
    mu : float
        Of the mechanism, > 0.
    runs : int
        On each side, at least 20.
    delta : float
        Of the claim.
    false_alarm : float
        Of the bounds.
    probability : float
        That the bounds come out at least so large, if the threshold is the best one.
    """
    if runs < LEAST_RUNS or not mu > 0 or not 0 < probability < 1:
        raise ValueError(
            f"runs ({runs}) must be at least {LEAST_RUNS}, mu ({mu}) positive and probability "
            f"({probability}) in (0, 1)"
        )
    counted, unlucky = runs - runs // CHOOSING, (1 - probability) / 2
    at = np.linspace(-4 - mu, 4 + mu, 400)
    hits = binom.ppf(unlucky, counted, ndtr(mu - at))
    alarms = binom.isf(unlucky, counted, ndtr(-at))
    epsilon = log_ratio(hits, counted, alarms, counted, delta, false_alarm).max()
    return max(0.0, float(epsilon)), max(0.0, float(_mu(hits, alarms, counted, counted, false_alarm).max()))


def _mu_at(scores: list[FloatArray], thresholds: FloatArray, false_alarm: float) -> FloatArray:
    """Bound on mu of the event "at least", for every threshold."""
    hits, alarms = ((len(s) - np.searchsorted(np.sort(s), thresholds)).astype(np.float64) for s in scores)
    return _mu(hits, alarms, len(scores[0]), len(scores[1]), false_alarm)


def _mu(
    hits: npt.ArrayLike, alarms: npt.ArrayLike, trials: int, other_trials: int, false_alarm: float
) -> FloatArray:
    power, _ = clopper_pearson(np.atleast_1d(hits), trials, false_alarm / 2)
    _, size = clopper_pearson(np.atleast_1d(alarms), other_trials, false_alarm / 2)
    found: FloatArray = np.full(len(power), -math.inf)
    useful = (power > 0) & (size < 1)
    found[useful] = ndtri(1 - size[useful]) + ndtri(power[useful])
    return found


GUESSED = (0.05, 0.2, 0.5, 1.0)  # shares of the canaries that are guessed
LARGEST = 50.0  # epsilon beyond which nothing is searched


@dataclass(frozen=True, kw_only=True)
class OneRunBound:
    """What guesses about canaries prove.

    Attributes
    ----------
    epsilon : float
        Lower bound at `delta`.
    delta : float
        Of the claim.
    false_alarm : float
        Probability that it lies above the truth.
    canaries, guesses, right : int
        How many there were, were guessed, and were guessed right.
    most_epsilon : float
        What the same canaries would prove if all guesses were right.
    auc : float
        Probability that a canary that was in has a higher score than one that was not.
    """

    epsilon: float
    delta: float
    false_alarm: float
    canaries: int
    guesses: int
    right: int
    most_epsilon: float
    auc: float

    def __str__(self) -> str:
        return (
            f"epsilon at least {self.epsilon:.3g} at delta {self.delta:g} (false with probability at most "
            f"{self.false_alarm:g}): {self.right} of {self.guesses} guesses about {self.canaries} canaries "
            f"right, AUC {self.auc:.3f}; no more than {self.most_epsilon:.3g} could have been proved"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes."""
        return asdict(self)


def guess_probability(right: int, guesses: int, canaries: int, epsilon: float, delta: float) -> float:
    """Bound on the probability of so many right guesses, if the mechanism is (epsilon, delta)-DP."""
    if not 0 <= right <= guesses <= canaries:
        raise ValueError(
            f"right ({right}), guesses ({guesses}) and canaries ({canaries}) must rise: "
            "0 <= right <= guesses <= canaries"
        )
    chance = float(expit(epsilon))
    tail = float(binom.sf(right - 1, guesses, chance))
    if delta > 0 and right:
        near = np.cumsum(binom.pmf(right - np.arange(1, right + 1), guesses, chance))
        tail += 2 * canaries * delta * float((near / np.arange(1, right + 1)).max())
    return min(tail, 1.0)


def guesses_bound(right: int, guesses: int, canaries: int, delta: float, false_alarm: float) -> float:
    """Largest epsilon that so many right guesses contradict, at this false alarm; 0 if none."""

    def above(epsilon: float) -> float:
        return guess_probability(right, guesses, canaries, epsilon, delta) - false_alarm

    if not guesses or above(0.0) >= 0:
        return 0.0
    return LARGEST if above(LARGEST) < 0 else float(brentq(above, 0.0, LARGEST))


def one_run_bound(
    scores: npt.ArrayLike, was_in: npt.ArrayLike, delta: float, *, false_alarm: float = 0.05
) -> OneRunBound:
    """Lower bound on epsilon from scores of canaries in one run.

    The highest scores are guessed in, and as many of the lowest out, or none: for several shares of
    abstention, each with its part of the false alarm. The best counts.

    Parameters
    ----------
    scores : array of float, shape (m,)
        High where the attacker thinks that the canary was in; made without looking at `was_in`.
    was_in : array of bool, shape (m,)
        The coins, independent and fair.
    delta : float
        Of the claim, in [0, 1).
    false_alarm : float
        In (0, 1).
    """
    values, coins = np.asarray(scores, dtype=np.float64), np.asarray(was_in, dtype=bool)
    if values.shape != coins.shape or values.ndim != 1 or len(values) < 2:
        raise ValueError(f"scores {values.shape} and was_in {coins.shape} must be equally long, at least 2")
    if not 0 <= delta < 1 or not 0 < false_alarm < 1:
        raise ValueError(f"delta ({delta!r}) must lie in [0, 1) and false_alarm ({false_alarm!r}) in (0, 1)")
    m, order = len(values), np.argsort(values, kind="stable")
    alarm = false_alarm / (2 * len(GUESSED))
    best = (-1.0, 0, 0)
    for each in (max(1, int(m * share / 2)) for share in GUESSED):
        top, bottom = int(coins[order[m - each :]].sum()), int((~coins[order[:each]]).sum())
        for right, guesses in ((top, each), (top + bottom, 2 * each)):
            best = max(best, (guesses_bound(right, guesses, m, delta, alarm), guesses, right))
    whole = 2 * (m // 2)
    return OneRunBound(
        epsilon=best[0], delta=delta, false_alarm=false_alarm,
        canaries=m, guesses=best[1], right=best[2],
        most_epsilon=guesses_bound(whole, whole, m, delta, alarm),
        auc=auc(values, coins),
    )  # fmt: skip


def auc(scores: FloatArray, was_in: npt.NDArray[np.bool_]) -> float:
    """Probability that a canary that was in scores higher than one that was not; equal ones count half."""
    inside, outside = scores[was_in], np.sort(scores[~was_in])
    if not len(inside) or not len(outside):
        return math.nan
    low, high = (np.searchsorted(outside, inside, side=side) for side in ("left", "right"))
    return float((low + high).mean() / (2 * len(outside)))

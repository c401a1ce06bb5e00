"""Lower bounds on epsilon and mu from attack scores, and the largest bounds that could be proved.

The event "score at least a threshold" is chosen on some runs and counted on others. Clopper-Pearson bounds
on its two probabilities, each with half of the false alarm, make the bounds hold
(docs/explanation/proofs/attacks.md, Theorems 1 and 2).

The one-run bound uses one fit and many canaries, each included by an independent fair coin. The attacker
guesses some of them and abstains on others (Steinke, Nasr, Jagielski 2023). More right guesses than a claim
allows contradict it (Theorem 4).
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

CAUTION = 1e-6  # choose thresholds with much stricter bounds: rare events look best by chance


@dataclass(frozen=True, kw_only=True)
class AttackBounds:
    """Bounds from runs with and without a target.

    Attributes
    ----------
    epsilon : float
        Lower bound on epsilon at `delta`.
    delta : float
        Delta of the claim.
    mu : float
        Lower bound on mu of Gaussian differential privacy: mu_emp.
    false_alarm : float
        Probability that a bound exceeds the true value, for each of the two.
    runs : int
        Runs on each side.
    most_epsilon, most_mu : float
        Bounds that the same number of runs proves for a mechanism without noise: the largest possible.
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
    """Return lower bounds on epsilon and mu, from independent runs with and without a target.

    Parameters
    ----------
    present, absent : array of float
        Scores of runs on the table with and without the target, at least 20 each. High scores should indicate
        presence.
    delta : float
        Delta of the claim, in [0, 1).
    false_alarm : float
        Error probability of each bound, in (0, 1).

    Returns
    -------
    AttackBounds
        The bounds.

    Raises
    ------
    ValueError
        If there are too few runs, or `delta` or `false_alarm` is out of range.
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
    """Return a lower bound on mu of Gaussian differential privacy: mu_emp of an attack.

    A mechanism is mu-GDP if no test has false positive rate a and false negative rate b with
    ``Phi^-1(1 - a) - Phi^-1(b) > mu``. Both rates of one event are bounded from above.

    Parameters
    ----------
    present, absent : array of float
        Scores, at least 20 each. High scores should indicate presence.
    false_alarm : float
        Probability that the bound exceeds the true mu, in (0, 1).

    Returns
    -------
    float
        The bound, >= 0.

    Raises
    ------
    ValueError
        If there are too few runs, or `false_alarm` is out of range.
    """
    choosing, counting, thresholds = choosing_and_counting(present, absent, false_alarm)
    best = thresholds[[int(np.argmax(_mu_at(choosing, thresholds, false_alarm * CAUTION)))]]
    return max(0.0, float(_mu_at(counting, best, false_alarm)[0]))


def provable(
    mu: float, runs: int, delta: float, *, false_alarm: float = 0.05, probability: float = 0.9
) -> tuple[float, float]:
    """Return the epsilon and mu that the best attack on a mu-GDP mechanism proves.

    Parameters
    ----------
    mu : float
        Parameter of the mechanism, > 0.
    runs : int
        Runs on each side, at least 20.
    delta : float
        Delta of the claim.
    false_alarm : float
        Error probability of the bounds.
    probability : float
        Probability, in (0, 1), that the bounds are at least this large if the threshold is the best one.

    Returns
    -------
    epsilon, mu : float
        The provable bounds, >= 0.

    Raises
    ------
    ValueError
        If `runs`, `mu` or `probability` is out of range.
    """
    if runs < LEAST_RUNS or not mu > 0 or not 0 < probability < 1:
        raise ValueError(
            f"runs ({runs}) must be at least {LEAST_RUNS}, mu ({mu}) positive and probability "
            f"({probability}) in (0, 1)"
        )
    counted, tail = runs - runs // CHOOSING, (1 - probability) / 2
    thresholds = np.linspace(-4 - mu, 4 + mu, 400)
    hits = binom.ppf(tail, counted, ndtr(mu - thresholds))
    alarms = binom.isf(tail, counted, ndtr(-thresholds))
    epsilon = log_ratio(hits, counted, alarms, counted, delta, false_alarm).max()
    return max(0.0, float(epsilon)), max(0.0, float(_mu(hits, alarms, counted, counted, false_alarm).max()))


def _mu_at(scores: list[FloatArray], thresholds: FloatArray, false_alarm: float) -> FloatArray:
    """Return the bound on mu of the event "at least", for every threshold."""
    hits, alarms = ((len(s) - np.searchsorted(np.sort(s), thresholds)).astype(np.float64) for s in scores)
    return _mu(hits, alarms, len(scores[0]), len(scores[1]), false_alarm)


def _mu(
    hits: npt.ArrayLike, alarms: npt.ArrayLike, trials: int, other_trials: int, false_alarm: float
) -> FloatArray:
    power, _ = clopper_pearson(np.atleast_1d(hits), trials, false_alarm / 2)
    _, size = clopper_pearson(np.atleast_1d(alarms), other_trials, false_alarm / 2)
    bounds: FloatArray = np.full(len(power), -math.inf)
    useful = (power > 0) & (size < 1)
    bounds[useful] = ndtri(1 - size[useful]) + ndtri(power[useful])
    return bounds


GUESSED = (0.05, 0.2, 0.5, 1.0)  # shares of the canaries that are guessed
LARGEST = 50.0  # largest epsilon of the search


@dataclass(frozen=True, kw_only=True)
class OneRunBound:
    """Bound from guesses about canaries.

    Attributes
    ----------
    epsilon : float
        Lower bound at `delta`.
    delta : float
        Delta of the claim.
    false_alarm : float
        Probability that the bound exceeds the true value.
    canaries, guesses, right : int
        Numbers of canaries, of guesses and of right guesses.
    most_epsilon : float
        Bound that the same number of canaries proves if all guesses are right.
    auc : float
        Probability that an included canary has a higher score than an excluded one.
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
    """Bound the probability of at least ``right`` right guesses under (epsilon, delta)-DP."""
    if not 0 <= right <= guesses <= canaries:
        raise ValueError(
            f"right ({right}), guesses ({guesses}) and canaries ({canaries}) must rise: "
            "0 <= right <= guesses <= canaries"
        )
    chance = float(expit(epsilon))
    tail = float(binom.sf(right - 1, guesses, chance))
    if delta > 0 and right:
        cumulative = np.cumsum(binom.pmf(right - np.arange(1, right + 1), guesses, chance))
        tail += 2 * canaries * delta * float((cumulative / np.arange(1, right + 1)).max())
    return min(tail, 1.0)


def guesses_bound(right: int, guesses: int, canaries: int, delta: float, false_alarm: float) -> float:
    """Return the largest epsilon that these guesses contradict at the false alarm; 0 if none."""

    def excess_probability(epsilon: float) -> float:
        return guess_probability(right, guesses, canaries, epsilon, delta) - false_alarm

    if not guesses or excess_probability(0.0) >= 0:
        return 0.0
    return LARGEST if excess_probability(LARGEST) < 0 else float(brentq(excess_probability, 0.0, LARGEST))


def one_run_bound(
    scores: npt.ArrayLike, was_in: npt.ArrayLike, delta: float, *, false_alarm: float = 0.05
) -> OneRunBound:
    """Return a lower bound on epsilon from scores of canaries in one run.

    The attacker guesses "in" for the highest scores and "out" for equally many of the lowest, or for none.
    Several shares of abstention are tried, each with its part of the false alarm; the best bound counts.

    Parameters
    ----------
    scores : array of float, shape (m,)
        High if the attacker believes that the canary is included; must not depend on `was_in`.
    was_in : array of bool, shape (m,)
        Inclusion of the canaries, by independent fair coins.
    delta : float
        Delta of the claim, in [0, 1).
    false_alarm : float
        Error probability of the bound, in (0, 1).

    Returns
    -------
    OneRunBound
        The bound.

    Raises
    ------
    ValueError
        If the shapes differ, or `delta` or `false_alarm` is out of range.
    """
    values, included = np.asarray(scores, dtype=np.float64), np.asarray(was_in, dtype=bool)
    if values.shape != included.shape or values.ndim != 1 or len(values) < 2:
        raise ValueError(
            f"scores {values.shape} and was_in {included.shape} must be equally long, at least 2"
        )
    if not 0 <= delta < 1 or not 0 < false_alarm < 1:
        raise ValueError(f"delta ({delta!r}) must lie in [0, 1) and false_alarm ({false_alarm!r}) in (0, 1)")
    m, order = len(values), np.argsort(values, kind="stable")
    alarm = false_alarm / (2 * len(GUESSED))
    best = (-1.0, 0, 0)
    for num_guessed in (max(1, int(m * share / 2)) for share in GUESSED):
        top, bottom = (
            int(included[order[m - num_guessed :]].sum()),
            int((~included[order[:num_guessed]]).sum()),
        )
        for right, guesses in ((top, num_guessed), (top + bottom, 2 * num_guessed)):
            best = max(best, (guesses_bound(right, guesses, m, delta, alarm), guesses, right))
    most_guesses = 2 * (m // 2)
    return OneRunBound(
        epsilon=best[0], delta=delta, false_alarm=false_alarm,
        canaries=m, guesses=best[1], right=best[2],
        most_epsilon=guesses_bound(most_guesses, most_guesses, m, delta, alarm),
        auc=auc(values, included),
    )  # fmt: skip


def auc(scores: FloatArray, was_in: npt.NDArray[np.bool_]) -> float:
    """Return the probability that an included canary scores higher than an excluded one; ties count half."""
    inside, outside = scores[was_in], np.sort(scores[~was_in])
    if not len(inside) or not len(outside):
        return math.nan
    low, high = (np.searchsorted(outside, inside, side=side) for side in ("left", "right"))
    return float((low + high).mean() / (2 * len(outside)))

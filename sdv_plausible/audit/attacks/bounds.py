"""What an attack proves: lower bounds on epsilon and on mu from its scores, and what it could have proved.

The event "score at least a threshold" is chosen on some runs and counted on others. Clopper-Pearson bounds
on its two probabilities, each with half of the false alarm, make the bounds hold
(docs/explanation/proofs/attacks.md, Theorems 1 and 2).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from sdv_plausible.audit.membership import FloatArray, clopper_pearson, epsilon_lower_bound, log_ratio

CHOOSING = 4  # one of so many runs chooses the threshold
LEAST_RUNS = 20  # on each side
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
    epsilon = epsilon_lower_bound(present, absent, delta, false_alarm=false_alarm).epsilon
    runs = min(np.size(present), np.size(absent))
    counted = runs - runs // CHOOSING
    return AttackBounds(
        epsilon=epsilon, delta=delta, mu=mu_lower_bound(present, absent, false_alarm=false_alarm),
        false_alarm=false_alarm, runs=runs,
        most_epsilon=max(0.0, float(log_ratio(counted, counted, 0, counted, delta, false_alarm))),
        most_mu=float(_mu(counted, 0, counted, counted, false_alarm)[0]),
    )  # fmt: skip


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
    scores = [np.asarray(s, dtype=np.float64) for s in (present, absent)]
    if min(map(len, scores)) < LEAST_RUNS:
        raise ValueError(
            f"present and absent ({len(scores[0])} and {len(scores[1])} runs) must have at least "
            f"{LEAST_RUNS} runs each"
        )
    if not 0 < false_alarm < 1:
        raise ValueError(f"false_alarm ({false_alarm!r}) must lie in (0, 1), such as 0.05")
    choosing = [s[: len(s) // CHOOSING] for s in scores]
    counting = [s[len(s) // CHOOSING :] for s in scores]
    thresholds = np.unique(np.concatenate(choosing))
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

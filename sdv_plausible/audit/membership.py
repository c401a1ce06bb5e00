"""Membership attack with white-box access: a lower bound on epsilon from runs on two neighbouring tables.

The attacker knows everything but which of the two tables was used, and sees the whole output. A *score* is
the attacker's best guess from one output; the event "score at least a threshold" (or at most) is chosen on a
quarter of the runs and counted on the others, where Clopper-Pearson bounds turn the counts into a bound on
epsilon that holds with a stated probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import beta

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class AttackResult:
    """What an attack proved: a lower bound on epsilon, too large with probability at most ``false_alarm``."""

    # ``likelier`` and ``rarer`` are the shares of counted runs with the event "score >= threshold" (or "<=",
    # if ``below``), under the table that makes it likelier, which has the target if ``present_likelier``, and
    # the other.
    epsilon: float
    false_alarm: float
    likelier: float
    rarer: float
    threshold: float
    below: bool
    present_likelier: bool


def clopper_pearson(successes: npt.ArrayLike, trials: int, alarm: float) -> tuple[FloatArray, FloatArray]:
    """Lower and upper confidence bound on a probability; each fails with probability at most ``alarm``."""
    x = np.asarray(successes, dtype=np.float64)
    low = np.where(x > 0, beta.ppf(alarm, np.maximum(x, 1), trials - x + 1), 0.0)
    high = np.where(x < trials, beta.isf(alarm, x + 1, np.maximum(trials - x, 1)), 1.0)
    return low, high


def epsilon_lower_bound(
    present: npt.ArrayLike, absent: npt.ArrayLike, delta: float, *, false_alarm: float = 1e-6
) -> AttackResult:
    """Lower bound on epsilon at ``delta``, from scores of independent runs with and without the target."""
    # The first quarter of the runs, of at least 20 on each side, chooses the event, the others are counted. A
    # true claim is contradicted with probability at most ``false_alarm``.
    scores = [np.asarray(s, dtype=np.float64) for s in (present, absent)]
    if min(map(len, scores)) < 20:
        raise ValueError(
            f"present and absent ({len(scores[0])} and {len(scores[1])} runs) must have at least 20 runs each"
        )
    if not 0 <= delta < 1 or not 0 < false_alarm < 1:
        raise ValueError(f"delta ({delta!r}) must lie in [0, 1) and false_alarm ({false_alarm!r}) in (0, 1)")
    training = [s[: len(s) // 4] for s in scores]
    judged = [s[len(s) // 4 :] for s in scores]
    thresholds = np.unique(np.concatenate(training))
    best: tuple[float, float, bool, bool] = (-math.inf, float(thresholds[0]), False, True)
    for below in (False, True):
        counts = [_events(s, thresholds, below) for s in training]
        for present_likelier in (True, False):
            one, other = (0, 1) if present_likelier else (1, 0)
            values = log_ratio(
                counts[one], len(training[one]), counts[other], len(training[other]), delta, false_alarm
            )
            i = int(np.argmax(values))
            best = max(best, (float(values[i]), float(thresholds[i]), below, present_likelier))
    _, threshold, below, present_likelier = best
    counts = [_events(s, np.array([threshold]), below) for s in judged]
    one, other = (0, 1) if present_likelier else (1, 0)
    bound = log_ratio(counts[one], len(judged[one]), counts[other], len(judged[other]), delta, false_alarm)
    return AttackResult(
        epsilon=max(0.0, float(bound[0])),
        false_alarm=false_alarm,
        threshold=threshold,
        below=below,
        likelier=float(counts[one][0]) / len(judged[one]),
        rarer=float(counts[other][0]) / len(judged[other]),
        present_likelier=present_likelier,
    )


def _events(scores: FloatArray, thresholds: FloatArray, below: bool) -> FloatArray:
    """Number of scores at most (or at least) each threshold."""
    ordered = np.sort(scores)
    if below:
        return np.searchsorted(ordered, thresholds, side="right").astype(np.float64)
    return (len(ordered) - np.searchsorted(ordered, thresholds, side="left")).astype(np.float64)


def log_ratio(
    likelier: npt.ArrayLike,
    trials: int,
    rarer: npt.ArrayLike,
    other_trials: int,
    delta: float,
    false_alarm: float,
) -> FloatArray:
    """``ln((p - delta)/q)`` with p from below and q from above, half of the false alarm each."""
    p, _ = clopper_pearson(likelier, trials, false_alarm / 2)
    _, q = clopper_pearson(rarer, other_trials, false_alarm / 2)
    with np.errstate(divide="ignore"):
        return np.where(p > delta, np.log(np.maximum(p - delta, 1e-300) / q), -math.inf)

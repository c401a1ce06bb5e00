"""Membership attack with white-box access: a lower bound on epsilon from runs on two neighbouring tables.

The attacker knows both tables and sees the whole output, but not which table was used. A *score* is the
attacker's best guess from one output. The event "score at least a threshold" (or at most) is chosen on a
quarter of the runs and counted on the others. Clopper-Pearson bounds turn the counts into a bound on epsilon
that holds with a stated probability.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.stats import beta

FloatArray = npt.NDArray[np.float64]
CHOOSING = 4  # one run in four chooses the event; the others are counted
LEAST_RUNS = 20  # minimum number of runs on each table


def clopper_pearson(successes: npt.ArrayLike, trials: int, alarm: float) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper confidence bounds on a probability, each with error at most ``alarm``."""
    x = np.asarray(successes, dtype=np.float64)
    low = np.where(x > 0, beta.ppf(alarm, np.maximum(x, 1), trials - x + 1), 0.0)
    high = np.where(x < trials, beta.isf(alarm, x + 1, np.maximum(trials - x, 1)), 1.0)
    return low, high


def choosing_and_counting(
    present: npt.ArrayLike, absent: npt.ArrayLike, false_alarm: float
) -> tuple[list[FloatArray], list[FloatArray], FloatArray]:
    """Split the scores into those that choose an event and those that count it; return thresholds too."""
    scores = [np.asarray(s, dtype=np.float64) for s in (present, absent)]
    if min(map(len, scores)) < LEAST_RUNS:
        raise ValueError(
            f"present and absent ({len(scores[0])} and {len(scores[1])} runs) must have at least "
            f"{LEAST_RUNS} runs each"
        )
    if not 0 < false_alarm < 1:
        raise ValueError(f"false_alarm ({false_alarm!r}) must lie in (0, 1), such as 0.05")
    choosing = [s[: len(s) // CHOOSING] for s in scores]
    return choosing, [s[len(s) // CHOOSING :] for s in scores], np.unique(np.concatenate(choosing))


def epsilon_lower_bound(
    present: npt.ArrayLike, absent: npt.ArrayLike, delta: float, *, false_alarm: float = 1e-6
) -> float:
    """Return a lower bound on epsilon at ``delta`` from scores with and without the target."""
    # The bound contradicts a true claim with probability at most ``false_alarm``.
    if not 0 <= delta < 1:
        raise ValueError(f"delta ({delta!r}) must lie in [0, 1)")
    choosing, counting, thresholds = choosing_and_counting(present, absent, false_alarm)

    def bounds(runs: list[FloatArray], thresholds: FloatArray, below: bool, likelier: int) -> FloatArray:
        """Bound for the event "at least" (or "at most", if ``below``) each threshold."""
        counts, trials = [_events(s, thresholds, below) for s in runs], [len(s) for s in runs]
        first, other = likelier, 1 - likelier
        return log_ratio(counts[first], trials[first], counts[other], trials[other], delta, false_alarm)

    best = (-math.inf, float(thresholds[0]), False, 0)
    for below in (False, True):
        for likelier in (0, 1):
            values = bounds(choosing, thresholds, below, likelier)
            i = int(np.argmax(values))
            best = max(best, (float(values[i]), float(thresholds[i]), below, -likelier))
    _, threshold, below, side = best
    return max(0.0, float(bounds(counting, np.array([threshold]), below, -side)[0]))


def _events(scores: FloatArray, thresholds: FloatArray, below: bool) -> FloatArray:
    """Count the scores at most (or at least) each threshold."""
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
    """Return ``ln((p - delta)/q)`` with a lower bound for p and an upper for q, half the error each."""
    p, _ = clopper_pearson(likelier, trials, false_alarm / 2)
    _, q = clopper_pearson(rarer, other_trials, false_alarm / 2)
    with np.errstate(divide="ignore"):
        return np.where(p > delta, np.log(np.maximum(p - delta, 1e-300) / q), -math.inf)

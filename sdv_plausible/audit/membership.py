"""Membership attack with white-box access: a lower bound on epsilon from runs on two neighbouring tables.

The attacker knows everything but which of the two tables was used, and sees the whole output. A *score* is
the attacker's best guess from one output; the event "score at least a threshold" (or at most) is chosen on a
quarter of the runs and counted on the others, where Clopper-Pearson bounds turn the counts into a bound on
epsilon that holds with a stated probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import beta

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class AttackResult:
    """What an attack proved.

    Attributes
    ----------
    epsilon : float
        Lower bound on epsilon at the given delta, >= 0; above the true epsilon with probability at most
        `false_alarm`.
    false_alarm : float
        That probability.
    likelier, rarer : float
        Share of the counted runs in which the event occurred, under the table that makes it likelier and the
        other.
    threshold : float
        The event is "score >= threshold", or "score <= threshold" if `below`.
    below : bool
        See `threshold`.
    present_likelier : bool
        Whether it is the table with the target that makes the event likelier.
    """

    epsilon: float
    false_alarm: float
    likelier: float
    rarer: float
    threshold: float
    below: bool
    present_likelier: bool


def clopper_pearson(successes: npt.ArrayLike, trials: int, alarm: float) -> tuple[FloatArray, FloatArray]:
    """Lower and upper confidence bound on a probability; each fails with probability at most `alarm`.

    Parameters
    ----------
    successes : array of int
        Counts, 0..trials.
    trials : int
        Number of independent trials, >= 1.
    alarm : float
        In (0, 1).
    """
    x = np.asarray(successes, dtype=np.float64)
    low = np.where(x > 0, beta.ppf(alarm, np.maximum(x, 1), trials - x + 1), 0.0)
    high = np.where(x < trials, beta.isf(alarm, x + 1, np.maximum(trials - x, 1)), 1.0)
    return low, high


def epsilon_lower_bound(
    present: npt.ArrayLike, absent: npt.ArrayLike, delta: float, *, false_alarm: float = 1e-6
) -> AttackResult:
    """Lower bound on epsilon at `delta`, from scores of independent runs with and without the target.

    The first quarter of the runs chooses the event, the others are counted.

    Parameters
    ----------
    present, absent : array of float, shapes (a,) and (b,)
        Scores of runs on the table with the target and without it; at least 20 each.
    delta : float
        Delta of the claim, in [0, 1).
    false_alarm : float
        Probability that a true claim is contradicted, in (0, 1).

    Raises
    ------
    ValueError
        If there are too few runs, or a parameter is out of range.
    """
    scores = [np.asarray(s, dtype=np.float64) for s in (present, absent)]
    if min(map(len, scores)) < 20:
        raise ValueError(
            f"present and absent ({len(scores[0])} and {len(scores[1])} runs) must have at least 20 runs each"
        )
    if not 0 <= delta < 1 or not 0 < false_alarm < 1:
        raise ValueError(f"delta ({delta!r}) must lie in [0, 1) and false_alarm ({false_alarm!r}) in (0, 1)")
    training = [s[: len(s) // 4] for s in scores]
    counting = [s[len(s) // 4 :] for s in scores]
    thresholds = np.unique(np.concatenate(training))
    best: tuple[float, float, bool, bool] = (-math.inf, float(thresholds[0]), False, True)
    for below in (False, True):
        counts = [_events(s, thresholds, below) for s in training]
        for present_likelier in (True, False):
            one, other = (0, 1) if present_likelier else (1, 0)
            values = _log_ratio(
                counts[one], len(training[one]), counts[other], len(training[other]), delta, false_alarm
            )
            i = int(np.argmax(values))
            best = max(best, (float(values[i]), float(thresholds[i]), below, present_likelier))
    _, threshold, below, present_likelier = best
    counts = [_events(s, np.array([threshold]), below) for s in counting]
    one, other = (0, 1) if present_likelier else (1, 0)
    bound = _log_ratio(
        counts[one], len(counting[one]), counts[other], len(counting[other]), delta, false_alarm
    )
    return AttackResult(
        epsilon=max(0.0, float(bound[0])), false_alarm=false_alarm, threshold=threshold, below=below,
        likelier=float(counts[one][0]) / len(counting[one]),
        rarer=float(counts[other][0]) / len(counting[other]),
        present_likelier=present_likelier,
    )  # fmt: skip


def collect_scores(
    release: Callable[[np.ndarray], float], present: np.ndarray, absent: np.ndarray, runs: int
) -> tuple[FloatArray, FloatArray]:
    """Run a mechanism with fresh coins on two neighbouring tables and score every output.

    Parameters
    ----------
    release : callable
        Runs the mechanism on codes (n, m) and returns the attacker's score of the output.
    present, absent : ndarray of int
        The two tables: with and without the target.
    runs : int
        Runs on each table.

    Returns
    -------
    present, absent : array of float, shape (runs,)
        For :func:`epsilon_lower_bound`.
    """
    with_target = np.array([release(present) for _ in range(runs)])
    return with_target, np.array([release(absent) for _ in range(runs)])


def _events(scores: FloatArray, thresholds: FloatArray, below: bool) -> FloatArray:
    """Number of scores at most (or at least) each threshold."""
    ordered = np.sort(scores)
    if below:
        return np.searchsorted(ordered, thresholds, side="right").astype(np.float64)
    return (len(ordered) - np.searchsorted(ordered, thresholds, side="left")).astype(np.float64)


def _log_ratio(
    likelier: FloatArray, trials: int, rarer: FloatArray, other_trials: int, delta: float, false_alarm: float
) -> FloatArray:
    """``ln((p - delta)/q)`` with p from below and q from above, half of the false alarm each."""
    p, _ = clopper_pearson(likelier, trials, false_alarm / 2)
    _, q = clopper_pearson(rarer, other_trials, false_alarm / 2)
    with np.errstate(divide="ignore"):
        return np.where(p > delta, np.log(np.maximum(p - delta, 1e-300) / q), -math.inf)

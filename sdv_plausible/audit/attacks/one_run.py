"""One fit, many canaries: an epsilon bound from guesses, some withheld (Steinke, Nasr, Jagielski 2023).

Every canary is in the table or not by a fair coin of its own. Right guesses beyond what a claim allows
contradict it (docs/explanation/proofs/attacks.md, Theorem 4).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import binom

from sdv_plausible.audit.membership import FloatArray

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

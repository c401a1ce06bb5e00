"""The composition theorem for (epsilon, delta)-DP mechanisms of which nothing more is known."""

import math

import numpy as np

from sdv_plausible.privacy import checks as check
from sdv_plausible.privacy.accounting.bernoulli_pairs import BernoulliPairs

__all__ = ["optimal_composition"]


def optimal_composition(epsilon, delta, count, total_delta):
    """Smallest total epsilon of `count` mechanisms that are each (epsilon, delta)-DP and nothing more.

    Kairouz, Oh and Viswanath, *The Composition Theorem for Differential Privacy*, ICML 2015: the worst case
    is `count` draws of randomised response, and with probability ``1 - (1 - delta)^count`` everything is
    given away. Exact, no discretisation.

    Parameters
    ----------
    epsilon, delta : float
        Loss of each; epsilon >= 0, delta in [0, 1).
    count : int
        How many, >= 1.
    total_delta : float
        Delta of the total, in (0, 1).

    Returns
    -------
    float
        Total epsilon; infinity where `total_delta` is below ``1 - (1 - delta)^count``.
    """
    epsilon = check.non_negative("epsilon", epsilon)
    delta = check.probability("delta", delta)
    count = check.whole("count", count, 1)
    total_delta = check.open_probability("total_delta", total_delta)
    given_away = 1.0 if delta == 1 else -math.expm1(count * math.log1p(-delta))
    if given_away > total_delta:
        return math.inf
    left = (total_delta - given_away) / (1 - given_away)
    if epsilon == 0:
        return 0.0
    if left == 0:
        return count * epsilon
    pair = BernoulliPairs(log_high=np.array([epsilon]), log_low=np.array([-epsilon]))
    return float(pair.epsilon(count, left)[0])

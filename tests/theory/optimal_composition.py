"""The composition theorem for (epsilon, delta)-DP mechanisms of which nothing more is known."""

import math

import numpy as np

from sdv_plausible.privacy.accounting.bernoulli_pairs import BernoulliPairs


def optimal_composition(epsilon, delta, count, total_delta):
    """Smallest total epsilon of `count` mechanisms that are each (epsilon, delta)-DP and nothing more.

    Kairouz, Oh and Viswanath, *The Composition Theorem for Differential Privacy*, ICML 2015: the worst case
    is `count` draws of randomised response, and with probability ``1 - (1 - delta)^count`` everything is
    given away. Exact, no discretisation.
    """
    given_away = -math.expm1(count * math.log1p(-delta))
    if given_away > total_delta:
        return math.inf
    left = (total_delta - given_away) / (1 - given_away)
    if epsilon == 0 or left == 0:
        return count * epsilon
    pair = BernoulliPairs(log_high=np.array([epsilon]), log_low=np.array([-epsilon]))
    return float(pair.epsilon(count, left)[0])

"""Search for parameters of the randomised test within a total, from public numbers alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from sdv_plausible.mechanism.privacy_tests.privacy_test import SEED_DELTA_SHARE
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.accounting.composition import compose
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.privacy.neighbours import ONE_ROW

Test = Any  # a RandomizedTest, whose module imports this one
MOST_K = 10**6
WIDTHS = (0.6, 4.0)  # range of k * epsilon0, in units of ln(rows / (delta * least_rows * share))
BEYOND = (1.0, 1.04, 1.12)  # candidates for the cheapest epsilon0, as multiples of the smallest feasible
FINE = 1.03  # relative precision of epsilon0 and k
SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)  # seed-free shares to try for a given k


def within(epsilon: float, made: Test, k: int | None, seed_free_share: float | None, delta: float) -> Test:
    """See :meth:`~sdv_plausible.RandomizedTest.within`; ``made`` is the test at any k."""
    check.positive("epsilon", epsilon, "try 0.5")
    seeds_delta = SEED_DELTA_SHARE * check.delta("delta", delta, "try 1e-9")

    def priced(k: int, share: float) -> tuple[Test, float]:
        return cheapest(replace(made, k=k, seed_free_share=share), seeds_delta)

    share = 0.5 if seed_free_share is None else seed_free_share
    rows = f"{made.row_cap:,} rows of a table of at least {made.least_rows:,}"
    if k is None:
        k = _smallest(lambda k: priced(k, share)[1] <= epsilon, 1, min(MOST_K, made.least_rows))
        if k is None:
            raise ValueError(
                f"epsilon ({epsilon:g}) is out of reach for {rows}, whatever k is: raise epsilon or "
                f"seed_free_share ({share:g}), take fewer rows, or raise least_rows if the public number is "
                "larger"
            )
        return priced(k, share)[0]
    check.whole("k", k, 1)
    cost = math.inf
    for share in SHARES if seed_free_share is None else (seed_free_share,):
        test, cost = priced(k, share)
        if cost <= epsilon:
            return test
    raise ValueError(
        f"k ({k}) is out of reach: {rows} cost {rounded_up(cost)}, above epsilon ({epsilon:g}): raise k or "
        "epsilon, or take fewer rows"
    )


def cheapest(test: Test, delta: float) -> tuple[Test, float]:
    """The test with the epsilon0 that makes its rows cheapest, and their cost; infinite if infeasible."""

    @cache
    def cost(epsilon0: float) -> float:
        try:
            entries = replace(test, epsilon0=epsilon0).bound(delta, ONE_ROW).charge(1.0)
        except ValueError:
            return math.inf
        return compose([loss for entry in entries for loss in entry.losses], delta)

    width = max(math.log(test.row_cap / (delta * test.least_rows * test.seed_free_share)), 5.0)
    low, high = (times * width / test.k for times in WIDTHS)
    if math.isinf(cost(high)):
        return test, math.inf
    while high / low > FINE:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if math.isinf(cost(middle)) else (low, middle)
    best = min((high * times for times in BEYOND), key=cost)
    return replace(test, epsilon0=best), cost(best)


def _smallest(holds: Callable[[int], bool], low: int, high: int) -> int | None:
    """About the smallest integer from which a monotone condition holds; None if it fails at ``high``."""
    if not holds(high):
        return None
    while high - low > max(1, (FINE - 1) * low):
        middle = math.isqrt(low * high) if low > 1 else (low + high) // 2
        middle = min(max(middle, low + 1), high - 1)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high

"""Search for parameters of the randomised test within a total, from public numbers alone.

Estimated costs, on a coarse grid, decide nearly everything. The charge itself decides where an estimate is
close to the limit, and it is always computed for the result.
"""

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
BEYOND = (1.04, 1.0, 1.12)  # candidates for the cheapest epsilon0, as multiples of the smallest feasible
FINE = 1.03  # relative precision of epsilon0 and k
CLOSE = 1.05  # an estimate above the limit by up to this factor is replaced by the charge
FAR = 1.5  # an estimate above the limit by this factor rules out the other candidates for epsilon0
SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)  # seed-free shares to try for a given k


def within(epsilon: float, made: Test, k: int | None, seed_free_share: float | None, delta: float) -> Test:
    """See :meth:`~sdv_plausible.RandomizedTest.within`; ``made`` is the test at any k."""
    check.positive("epsilon", epsilon, "try 0.5")
    seeds_delta = SEED_DELTA_SHARE * check.delta("delta", delta, "try 1e-9")
    charged = cache(lambda test: charged_cost(test, seeds_delta))

    @cache
    def cheapest_test(k: int, share: float) -> Test:
        return cheapest(replace(made, k=k, seed_free_share=share), seeds_delta)[0]

    def fits(k: int, share: float) -> bool:
        test, estimate = cheapest(replace(made, k=k, seed_free_share=share), seeds_delta, epsilon)
        return estimate <= epsilon or (estimate <= CLOSE * epsilon and charged(test) <= epsilon)

    share = 0.5 if seed_free_share is None else seed_free_share
    rows = f"{made.row_cap:,} rows of a table of at least {made.least_rows:,}"
    if k is None:
        largest = min(MOST_K, made.least_rows)
        k = _smallest(lambda k: fits(k, share), 1, largest)
        while k is not None and charged(cheapest_test(k, share)) > epsilon:
            k = math.ceil(k * FINE) if k < largest / FINE else None
        if k is None:
            raise ValueError(
                f"epsilon ({epsilon:g}) is out of reach for {rows}, whatever k is: raise epsilon or "
                f"seed_free_share ({share:g}), take fewer rows, or raise least_rows if the public number is "
                "larger"
            )
        return cheapest_test(k, share)
    check.whole("k", k, 1)
    shares = SHARES if seed_free_share is None else (seed_free_share,)
    for share in shares:
        if fits(k, share) and charged(test := cheapest_test(k, share)) <= epsilon:
            return test
    test, estimate = cheapest(replace(made, k=k, seed_free_share=shares[-1]), seeds_delta)
    cost = charged(test) if math.isfinite(estimate) else math.inf
    raise ValueError(
        f"k ({k}) is out of reach: {rows} cost {rounded_up(cost)}, above epsilon ({epsilon:g}): raise k or "
        "epsilon, or take fewer rows"
    )


def charged_cost(test: Test, delta: float) -> float:
    """What a ledger charges for the rows and the check of ``least_rows``; infinite if infeasible."""
    try:
        entries = test.bound(delta, ONE_ROW).charge(1.0)
    except ValueError:
        return math.inf
    return compose([loss for entry in entries for loss in entry.losses], delta)


def cheapest(test: Test, delta: float, limit: float | None = None) -> tuple[Test, float]:
    """The test with the cheapest epsilon0, and the estimated cost of its rows; infinite if infeasible.

    With a limit, the first epsilon0 that decides whether the cost can be below it.
    """

    def at(epsilon0: float) -> Test:
        return replace(test, epsilon0=epsilon0).bound(delta, ONE_ROW)

    width = max(math.log(test.row_cap / (delta * test.least_rows * test.seed_free_share)), 5.0)
    low, high = (times * width / test.k for times in WIDTHS)
    if not at(high).is_feasible:
        return test, math.inf
    while high / low > FINE:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if at(middle).is_feasible else (middle, high)
    estimates: dict[float, float] = {}
    for epsilon0 in (high * times for times in BEYOND):
        estimates[epsilon0] = at(epsilon0).estimated_cost()
        if limit is not None and not limit < estimates[epsilon0] <= FAR * limit:
            break
    best = min(estimates, key=lambda epsilon0: estimates[epsilon0])
    return replace(test, epsilon0=best), estimates[best]


def _smallest(holds: Callable[[int], bool], low: int, high: int) -> int | None:
    """About the smallest integer from which a monotone condition holds; None if it fails at ``high``."""
    largest = high
    while high - low > max(1, (FINE - 1) * low):
        middle = math.isqrt(low * high) if low > 1 else (low + high) // 2
        middle = min(max(middle, low + 1), high - 1)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high if high < largest or holds(high) else None  # slow for a large k

"""The pass-rate floor by construction, against enumerated tables."""

from __future__ import annotations

import math
from fractions import Fraction

from sdv_plausible.extensions.audit.disclosure import exact
from sdv_plausible.privacy.accounting.paper_theorems import floor_by_construction

A = Fraction(1, 3)  # exp(-epsilon0), rational
K, SEEDS = 5, 102
# Prefix groups of 102 seeds: many small ones, few large ones, and all in between.
TABLES = [
    [*([1] * ones), *([2] * twos), *([3] * threes), SEEDS - ones - 2 * twos - 3 * threes]
    for ones in (0, 20, 80, 100)
    for twos in (0, 8)
    for threes in (0, 1)
    if ones + 2 * twos + 3 * threes < SEEDS
]


def test_floor_by_construction_is_a_floor() -> None:
    floor = floor_by_construction(0.2, K, math.log(3), SEEDS)
    test = exact.randomized_pass(K, A)
    seed_free = float(test(SEEDS))
    prefixes = [sum(c / SEEDS * float(test(c)) for c in sizes) for sizes in TABLES]
    assert all(0.2 * seed_free + 0.8 * prefix >= floor for prefix in prefixes)
    assert min(prefixes) < floor  # planted: without seed-free candidates it is none
    assert floor_by_construction(0.2, K, math.log(3), 3) < 0.1  # few seeds do not even pass all together

"""The release-level test and its margin: exact enumeration and exact decisions, and planted errors that are caught."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import partial

import mpmath
import numpy as np
import pytest
from oracles_accounting import hockey_stick
from theory.release_test_loss import release_test_loss

from sdv_plausible.extensions.audit.disclosure import exact
from sdv_plausible.privacy.accounting.losses import ReleaseLoss
from sdv_plausible.privacy.accounting.release_loss import release_margin, size_lower_bound_margin
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours

A = Fraction(1, 3)
EPSILON0 = math.log(3)
K = 3


def released_size(size: int, threshold: int, pre_threshold: bool) -> dict:
    """Outcomes of one group: its noisy size if released, else None; values from 12 up merged (their ratio is constant)."""
    if size == 0 or (pre_threshold and size < K):
        return {None: Fraction(1)}
    top = 12
    out = {value: exact.discrete_laplace_mass(value - size, A) for value in range(threshold, top)}
    hidden = 1 - exact.discrete_laplace_tail(threshold - size, A)
    return {None: hidden, **out, top: exact.discrete_laplace_tail(top - size, A)}


@pytest.mark.parametrize("pre_threshold", [True, False])
@pytest.mark.parametrize("s", [0, 1, 3])
def test_release_test_delta_is_exact(pre_threshold: bool, s: int) -> None:
    loss = release_test_loss(k=K, epsilon0=EPSILON0, pre_threshold=pre_threshold, s=s)
    worst = Fraction(0)
    for size in range(8):
        less, more = (released_size(x, K + s, pre_threshold) for x in (size, size + 1))
        for pair in ((more, less), (less, more)):
            worst = max(worst, hockey_stick(*pair, 1 / A))
            for factor in (Fraction(1), Fraction(3, 2), Fraction(5, 2), Fraction(7)):
                found = float(hockey_stick(*pair, factor))
                remove, add = ReleaseLoss(epsilon0=EPSILON0, delta=loss.delta).profile(math.log(factor))
                assert found <= float(remove if pair[0] is more else add) + 1e-12
    assert loss.epsilon == EPSILON0
    assert float(worst) == pytest.approx(loss.delta, rel=1e-12)  # exact: any smaller claim is false
    # Planted: off by one in the tail.
    wrong = float(A) * loss.delta
    assert float(worst) > wrong * 2


def tail_exceeds(s: int, epsilon0: float, delta: float) -> bool:
    """Whether ``Pr[Z >= s] > delta``, in 400 bits: the definition, for the exact values of the two doubles."""
    with mpmath.workprec(400):
        a = mpmath.exp(-mpmath.mpf(epsilon0))
        return bool(a**s / (1 + a) > mpmath.mpf(delta))


def is_smallest_margin(s: int, epsilon0: float, delta: float) -> bool:
    is_least = s == 1 or tail_exceeds(s - 1, epsilon0, delta)
    return s >= 1 and not tail_exceeds(s, epsilon0, delta) and is_least


def boundaries(rng: np.random.Generator, number: int):
    """Pairs (epsilon0, delta) with delta next to a tail: its nearest double, and those beside."""
    for _ in range(number):
        epsilon0 = float(np.exp(rng.uniform(-7, 3)))
        s = int(rng.integers(1, int(60 / epsilon0) + 2))
        with mpmath.workprec(400):
            a = mpmath.exp(-mpmath.mpf(epsilon0))
            nearest = float(a**s / (1 + a))
        deltas = nearest, math.nextafter(nearest, 0), math.nextafter(nearest, 1)
        yield from ((epsilon0, delta) for delta in deltas if nearest and 0 < delta < 1)


def in_doubles(epsilon0: float, delta: float) -> int:
    """Planted: the formula in double precision."""
    return max(1, math.ceil((-math.log1p(math.exp(-epsilon0)) - math.log(delta)) / epsilon0))


def test_the_margin_is_the_smallest_that_keeps_delta() -> None:
    rng = np.random.default_rng(3)
    draw = lambda low, high: float(np.exp(rng.uniform(low, high)))  # noqa: E731
    anywhere = [(draw(-7, 3), draw(-600, -0.01)) for _ in range(300)]
    extreme = [(1e300, 1e-300), (40.0, 1e-9), (1.0, 1 - 2.0**-53), (1e-6, 1e-307)]
    at_boundaries = list(boundaries(rng, 500))
    for epsilon0, delta in [*anywhere, *extreme, *at_boundaries]:
        assert is_smallest_margin(release_margin(epsilon0, delta), epsilon0, delta), (epsilon0, delta)
    wrong = sum(not is_smallest_margin(in_doubles(*pair), *pair) for pair in at_boundaries)
    assert wrong > 0.1 * len(at_boundaries)


def test_margins_beyond_double_precision() -> None:
    for epsilon0, delta in [(1e-300, 0.3), (1e-300, 1e-307), (5e-324, 1e-9)]:
        s = release_margin(epsilon0, delta)
        with mpmath.workprec(4000):
            at, log_delta = mpmath.mpf(epsilon0), mpmath.log(mpmath.mpf(delta))
            needed = (-mpmath.log1p(mpmath.exp(-at)) - log_delta) / at
            assert s == max(1, int(mpmath.ceil(needed)))


def test_release_loss_at_the_margin_meets_delta() -> None:
    for pre_threshold, epsilon0, delta in itertools.product(
        (True, False), (0.1, 0.5, 1.0), (1e-3, 1e-9, 2.0**-30)
    ):
        loss = partial(release_test_loss, k=20, epsilon0=epsilon0, pre_threshold=pre_threshold)
        found = loss(delta=delta)
        assert found.delta <= delta
        assert not found.s or loss(s=found.s - 1).delta > delta
    for epsilon0, s in itertools.product((1e-3, 0.37, 2.0), (0, 1, 7, 300)):  # the delta spent is rounded up
        spent = release_test_loss(k=1, epsilon0=epsilon0, s=s).delta
        assert not tail_exceeds(s, epsilon0, spent)
        assert tail_exceeds(s, epsilon0, math.nextafter(spent, 0.0))


def test_size_margin_covers_both_neighbours() -> None:
    for epsilon, beta in [(0.1, 1e-6), (1.0, 1e-3)]:
        # The bound exceeds the smaller size n if Z >= s + 1 at size n, and if Z >= s at size n + 1.
        assert is_smallest_margin(size_lower_bound_margin(epsilon, beta), epsilon, beta)


def unit_shows(s: int, epsilon0: float, neighbours: Neighbours) -> mpmath.mpf:
    """persons.md, Theorem 4: c groups of one row each, or one of c rows; twice that where a unit is replaced."""
    c, sides = neighbours.rows, 1 + neighbours.replace
    with mpmath.workprec(400):
        a = mpmath.exp(-mpmath.mpf(epsilon0) / (c * sides))
        return sides * max(c * a**s, a ** (s + 1 - c)) / (1 + a)


def test_the_margin_of_a_unit_is_the_smallest_that_keeps_delta() -> None:
    """Where steps are small the c groups decide, where they are large the one group: both are met."""
    for rows, replace, epsilon0, delta in itertools.product(
        (1, 2, 3, 20), (False, True), (0.05, 1.0, 8.0, 60.0), (1e-3, 1e-9)
    ):
        unit = Neighbours(rows=rows, replace=replace)
        s = release_margin(epsilon0, delta, unit)
        assert unit_shows(s, epsilon0, unit) <= delta < unit_shows(s - 1, epsilon0, unit)
        if unit != ONE_ROW and epsilon0 <= 1:  # planted: for one row
            assert unit_shows(release_margin(epsilon0, delta), epsilon0, unit) > delta


def test_the_size_margin_of_a_unit_is_the_smallest() -> None:
    for rows, (epsilon, beta) in itertools.product((2, 7), [(0.1, 1e-6), (1.0, 1e-3)]):
        s = size_lower_bound_margin(epsilon, beta, Neighbours(rows=rows))
        assert not tail_exceeds(s + 1 - rows, epsilon / rows, beta)
        assert tail_exceeds(s - rows, epsilon / rows, beta)
        planted = size_lower_bound_margin(epsilon, beta)  # that of one row
        assert tail_exceeds(planted + 1 - rows, epsilon / rows, beta)


def test_what_makes_no_sense_is_refused() -> None:
    common = {"k": 9, "epsilon0": 1.0, "s": 3}
    assert release_test_loss(**common) == release_test_loss(**common, pre_threshold=True)
    for refused, match in (
        (lambda: release_test_loss(k=0, epsilon0=1.0, s=1), r"^k \(0\)"),
        (lambda: release_test_loss(k=1, epsilon0=1.0, s=-1), r"^s \(-1\)"),
        (lambda: release_test_loss(k=3, epsilon0=1.0), "exactly one"),
        (lambda: release_margin(0, 1e-9), r"epsilon0 \(0\) must"),
        (lambda: release_margin(1.0, 1.0), r"delta \(1.0\) must"),
    ):
        with pytest.raises(ValueError, match=match):
            refused()

"""Crossings of monotone figures: the answer is on the safe side, and near the crossing."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from sdv_plausible.privacy.accounting import crossing
from sdv_plausible.privacy.accounting.crossing import largest_within, smallest_within

RTOL = 1e-9
FALLING: list[Callable[[float, float], float]] = [
    lambda x, at: math.exp(-(x**2) / at**2),
    lambda x, at: 1 / (1 + (x / at) ** 5),
    lambda x, at: 1.0 if x < at else 1e-6,  # a jump
    lambda x, at: max(0.0, 1 - x / at),  # to zero
    lambda x, at: 2.0 ** -math.floor(8 * x / at),  # stairs
]


@given(st.sampled_from(FALLING), st.floats(1e-6, 300.0), st.floats(1e-12, 0.9))
def test_an_answer_is_never_beyond_the_crossing_and_near_it(curve, at: float, limit: float) -> None:
    falling, rising = (lambda x: curve(x, at)), (lambda x: curve(1 / x, at))
    found = smallest_within(falling, limit, 0.0, 1e4, rtol=RTOL)
    if math.isfinite(found):
        assert falling(found) <= limit <= falling(found * (1 - 4 * RTOL))
    else:
        assert falling(1e4) > limit
    found = largest_within(rising, limit, 1e-6, 1e4, rtol=RTOL)
    if found == 1e4:
        assert rising(1e4) <= limit
    elif found:
        assert rising(found) <= limit <= rising(found * (1 + 4 * RTOL))
    else:
        assert rising(1e-6) > limit


def test_a_root_alone_would_be_on_the_wrong_side_half_of_the_time() -> None:
    """Control: what the rounding is for."""
    wrong = 0
    for limit in np.geomspace(1e-9, 0.5, 40):
        root = brentq(lambda x, c=limit: math.log(1 / (1 + x**5)) - math.log(c), 0.0, 1e4, rtol=RTOL)
        wrong += 1 / (1 + root**5) > limit
    assert wrong > 5


@pytest.mark.parametrize("shift", [-1e-6, 1e-6])
def test_a_root_that_is_off_is_mended(monkeypatch: pytest.MonkeyPatch, shift: float) -> None:
    """The check after the root does not trust it."""
    exact = brentq
    monkeypatch.setattr(crossing, "brentq", lambda *a, **k: exact(*a, **k) * (1 + shift))
    assert math.exp(-smallest_within(lambda x: math.exp(-x), 1e-3, 0.0, 50.0)) <= 1e-3
    assert math.exp(-1 / largest_within(lambda x: math.exp(-1 / x), 1e-3, 1e-3, 50.0)) <= 1e-3


def test_ends() -> None:
    assert smallest_within(lambda x: 0.5, 0.5, 0.0, 9.0) == 0.0
    assert smallest_within(lambda x: 0.5, 0.4, 0.0, 9.0) == math.inf
    assert largest_within(lambda x: 0.5, 0.5, 1.0, 9.0) == 9.0
    assert largest_within(lambda x: 0.5, 0.4, 1.0, 9.0) == 0.0

"""Rounded values: which step a point belongs to, what noisy counts say of the shares, and draws that follow them."""

from __future__ import annotations

import numpy as np
import pytest

from sdv_plausible.table.rounding import NUMBER_STEPS, Rounding, classes, estimate, sizes

STEPS = (1, 5, 10, 50)


def slow_class(point: int) -> int:
    return max(i for i, step in enumerate(STEPS) if point % step == 0)


def test_sizes_are_digits_and_classes_the_largest_step():
    points = np.arange(-120, 121)
    assert sizes(points).tolist() == [len(str(abs(point))) - 1 for point in points]
    assert sizes(np.array([10**12])).tolist() == [7]
    assert classes(points, STEPS).tolist() == [slow_class(point) for point in points.tolist()]


@pytest.mark.parametrize(
    ("steps", "weights"),
    [
        ((2, 4), ((1.0, 1.0),)),
        ((1, 5, 5), ((1.0, 1.0, 1.0),)),
        ((1, 5), ((1.0,),)),
        ((1, 5), ((0.0, 0.0),)),
        ((1, 5), ((-1.0, 2.0),)),
    ],
)
def test_shares_that_are_none_are_refused(steps, weights):
    with pytest.raises(ValueError, match="steps must increase from 1"):
        Rounding(steps, weights)


def test_noisy_counts_become_shares_where_they_stand_out():
    """Plain whole numbers have 0.8, 0.1, 0.08, 0.02 of these steps; so do sizes that drown in the noise."""
    counts = np.array([[1.0, 0.0, 2.0, 0.0], [0.0, 500.0, 1500.0, 3.0]])
    found = np.array(estimate(counts, 2.0, STEPS).weights)
    np.testing.assert_allclose(found, [[0.8, 0.1, 0.08, 0.02], [0.0, 0.25, 0.75, 0.0]], atol=1e-12)
    exact = np.array(estimate(counts, 0.0, STEPS).weights)
    np.testing.assert_allclose(exact[1], counts[1] / counts[1].sum())


def test_draws_stay_in_their_runs_and_follow_the_shares():
    """False alarm: 5e-7 per share (5 standard deviations of 40,000 draws). Control: uniform draws give 0.8 of step 1."""
    rng = np.random.default_rng(0)
    shares = np.array([0.1, 0.2, 0.3, 0.4])
    rounding = Rounding(STEPS, (tuple(shares.tolist()),))
    low, high = np.full(40_000, 101), np.full(40_000, 400)
    drawn = rounding.draw(low, high, *rng.random((2, 40_000)))
    assert ((drawn >= low) & (drawn <= high)).all()
    # A draw of step s takes any multiple of s, of which some are multiples of larger steps.
    expected = np.zeros(4)
    for share, step in zip(shares, STEPS, strict=True):
        multiples = [point for point in range(101, 401) if point % step == 0]
        for point in multiples:
            expected[slow_class(point)] += share / len(multiples)
    seen = np.bincount(classes(drawn, STEPS), minlength=4) / 40_000
    assert (np.abs(seen - expected) < 5 * np.sqrt(0.25 / 40_000)).all()
    plain = np.bincount(classes(rng.integers(101, 401, 40_000), STEPS), minlength=4) / 40_000
    assert not (np.abs(plain - expected) < 5 * np.sqrt(0.25 / 40_000)).all()


def test_a_run_without_a_multiple_is_drawn_evenly():
    rounding = Rounding(STEPS, ((0.0, 0.0, 0.0, 1.0),))
    low, high = np.full(3000, 51), np.full(3000, 53)
    drawn = rounding.draw(low, high, *np.random.default_rng(1).random((2, 3000)))
    assert set(drawn.tolist()) == {51, 52, 53}


def test_usual_steps_divide_one_another_enough():
    assert NUMBER_STEPS[0] == 1
    assert all(b % a == 0 for a, b in zip(NUMBER_STEPS, NUMBER_STEPS[1:], strict=False))

"""Rounded values: which step a point belongs to, what noisy counts say of the shares, and draws that follow them."""

import numpy as np
import pytest

from sdv_plausible.table.cells.rounding import (
    NUMBER_STEPS,
    Rounding,
    estimate_rounding,
    size_classes,
    step_classes,
)
from sdv_plausible.table.columns.domain import read_attribute

STEPS = (1, 5, 10, 50)


def slow_class(point):
    return max(i for i, step in enumerate(STEPS) if point % step == 0)


def test_sizes_are_digits_and_classes_the_largest_step():
    points = np.arange(-120, 121)
    assert size_classes(points).tolist() == [len(str(abs(point))) - 1 for point in points]
    assert size_classes(np.array([10**12])).tolist() == [7]
    assert step_classes(points, STEPS).tolist() == [slow_class(point) for point in points.tolist()]
    assert NUMBER_STEPS[0] == 1
    assert all(b % a == 0 for a, b in zip(NUMBER_STEPS, NUMBER_STEPS[1:], strict=False))


def test_shares_that_are_none_are_refused():
    for steps, weights in (
        ((2, 4), ((1.0, 1.0),)), ((1, 5, 5), ((1.0, 1.0, 1.0),)), ((1, 5), ((1.0,),)), ((1, 5), ((0.0, 0.0),)),
        ((1, 5), ((-1.0, 2.0),)), ((1, 5), ((np.nan, 2.0),)), ((1, 5), ((np.inf, 2.0),)), ((1, 5), ()),
        ((), ()), ((1, 2**63), ((1.0, 2.0),)), ((1, 5.5), ((1.0, 2.0),)),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="steps must increase from 1"):
            Rounding(steps, weights)


def test_documents_that_are_none_are_refused():
    for document in (
        {}, [], "x", 5, {"steps": [1, 5]}, {"steps": 1, "weights": [[1.0]]}, {"steps": [1], "weights": [1.0]},
        {"steps": [1], "weights": [[10**400]]}, {"steps": [1], "weights": [["x"]]}, {"steps": ["1"], "weights": [[1.0]]},
        {"steps": [1], "weights": [[None]]}, {"steps": [[1]], "weights": [[1.0]]},
    ):  # fmt: skip
        with pytest.raises(ValueError, match="column 'x': rounding"):
            read_attribute({"name": "x", "kind": "integer", "lower": [0], "upper": [9], "rounding": document})
    assert Rounding.from_dict({"steps": [1, 5], "weights": [[1, 2.5]]}) == Rounding((1, 5), ((1.0, 2.5),))


def test_noisy_counts_become_shares_where_they_stand_out():
    """Values rounded to 5 are multiples of 10 half the time, and of 50 every tenth time."""
    counts = np.array([[1.0, 0.0, 2.0, 0.0], [0.0, 500.0, 500.0, 3.0], [1600.0, 200.0, 4160.0, 1040.0]])
    found = np.array(estimate_rounding(counts, 2.0, STEPS).weights)
    np.testing.assert_allclose(found[1], [0, 1000 / 1125, 125 / 1125, 0])
    np.testing.assert_allclose(found[2], [2000 / 7000, 0.0, 5000 / 7000, 0.0])
    np.testing.assert_allclose(found[0].sum(), 1)  # too few to tell: as all numbers are
    assert found[0, 1] > 0.1
    assert estimate_rounding(counts[:1], 2.0, STEPS).weights == ((1.0, 0.0, 0.0, 0.0),)


def test_what_nobody_rounds_is_drawn_evenly():
    """The shares of plain whole numbers, with noise of 20: step 1 alone.

    False alarm: 6e-3 per larger step whose count is as expected, so that the seed is fixed.
    """
    plain = 10_000 * np.array([[0.8, 0.1, 0.08, 0.02]])
    noise = np.random.default_rng(3).normal(0, 20, plain.shape)
    assert estimate_rounding(plain + noise, 20.0, STEPS).weights == ((1.0, 0.0, 0.0, 0.0),)


def test_drawn_points_have_the_classes_that_were_counted():
    """Round trip: points rounded in three ways are counted, estimated and drawn; classes differ by 5 deviations at most.

    False alarm: 5e-7 per class (two samples of 40,000). Control: taking the classes' shares for those of steps, as
    if a multiple of 5 were never one of 10, is caught.
    """
    rng = np.random.default_rng(4)
    points = rng.integers(100, 1000, 40_000)
    points -= points % rng.choice([1, 10, 50], 40_000, p=[0.5, 0.3, 0.2])
    counts = np.bincount(step_classes(points, STEPS), minlength=4)
    low, high = np.full(40_000, 100), np.full(40_000, 999)

    def gap(rounding):
        drawn = rounding.draw(low, high, *rng.random((2, 40_000)))
        return float(np.abs(np.bincount(step_classes(drawn, STEPS), minlength=4) - counts).max())

    most = 5 * np.sqrt(2 * 0.25 * 40_000)
    assert gap(estimate_rounding(counts[None], 0.0, STEPS)) < most
    assert gap(Rounding(STEPS, (tuple(counts / counts.sum()),))) > most


def test_zero_is_no_multiple_to_round_to():
    """A run about zero without another multiple of a step is not drawn into zero."""
    rounding = Rounding(STEPS, ((0.0, 0.0, 0.0, 1.0),))
    drawn = rounding.draw(np.full(3000, -4), np.full(3000, 45), *np.random.default_rng(1).random((2, 3000)))
    assert (drawn == 0).mean() < 0.05  # 1 of 50 points
    fives = Rounding(STEPS, ((0.0, 1.0, 0.0, 0.0),))
    assert set(fives.draw(np.array([-2]), np.array([5]), np.zeros(1), np.ones(1) / 2)) <= {0, 5}
    drawn = rounding.draw(np.full(3000, 51), np.full(3000, 53), *np.random.default_rng(1).random((2, 3000)))
    assert set(drawn.tolist()) == {51, 52, 53}  # evenly, where there is none


def test_draws_of_any_shares_stay_in_their_runs():
    rounding = Rounding((1, 3, 2**62), ((5e-324, 0.0, 1e308), (1.0, 1.0, 0.0)))
    u = np.append(np.random.default_rng(1).random(199), np.nextafter(1.0, 0))
    for low, high in ((-(2**62) + 1, 2**62 - 1), (2**62 - 5, 2**62 - 1), (-7, -7)):
        drawn = rounding.draw(np.full(200, low), np.full(200, high), u, u[::-1])
        assert ((drawn >= low) & (drawn <= high)).all()


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
    seen = np.bincount(step_classes(drawn, STEPS), minlength=4) / 40_000
    assert (np.abs(seen - expected) < 5 * np.sqrt(0.25 / 40_000)).all()
    plain = np.bincount(step_classes(rng.integers(101, 401, 40_000), STEPS), minlength=4) / 40_000
    assert not (np.abs(plain - expected) < 5 * np.sqrt(0.25 / 40_000)).all()

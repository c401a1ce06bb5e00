"""The fixed-point network: a record's figures do not depend on the records beside it, to the last bit."""

from dataclasses import replace

import numpy as np
import pytest

from sdv_plausible.extensions.models.latent.autoencoder import (
    LARGEST_WEIGHT,
    LEVELS,
    VALUE_STEP,
    WEIGHT_STEP,
    check_floor,
    levels,
    precisions,
)
from sdv_plausible.extensions.models.latent.training import untrained
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

MASSES = [np.array([0.2, 0.3, 0.5]), np.array([0.6, 0.4]), np.full(40, 0.025)]


def network(seed=0, hidden=33, latent=3):
    return untrained(MASSES, hidden, latent, 0.2, KeyedRNG.from_seed(seed))


def records(n):
    rng = KeyedRNG.from_seed(1)
    return np.stack([rng.integers(len(mass), n) for mass in MASSES], axis=1)


def apart(made):
    """In how many ways of taking rows together the figures of 200 records differ from those of one by one."""
    rows = records(200)
    points = np.random.default_rng(0).normal(size=(200, 3)).round(2)
    points = np.rint(points / VALUE_STEP) * VALUE_STEP
    raw = made.embed(rows)
    found = 0
    for size in (1, 2, 3, 7, 64):
        blocks = [slice(i, i + size) for i in range(0, 200, size)]
        found += not np.array_equal(np.concatenate([made.embed(rows[b]) for b in blocks]), raw)
        for figures, of in ((made.decode, points), (lambda some: made.encode(some)[0], rows)):
            found += not np.array_equal(np.concatenate([figures(of[b]) for b in blocks]), figures(of))
    return found


def test_blocks_make_no_difference_to_any_bit():
    assert apart(network()) == 0


def test_sums_of_grid_numbers_are_exact():
    """The largest weights and values: any order of summation gives the same."""
    made = network()
    rng = np.random.default_rng(2)
    values = rng.integers(0, 2**12, (50, 33)) * VALUE_STEP
    weights = rng.integers(-(2**13), 2**13, (33, 45)) * WEIGHT_STEP
    forward = values @ weights
    order = rng.permutation(33)
    assert np.array_equal(forward, values[:, order] @ weights[order])
    off = weights + rng.normal(size=weights.shape) * 1e-9  # control: off the grid the order shows
    assert not np.array_equal(values @ off, values[:, order] @ off[order])
    assert np.abs(weights).max() <= LARGEST_WEIGHT
    assert made.num_latent == 3


def test_encoded_means_lie_on_the_grid_of_points():
    """Else the likelihood of a point would be of other means than its Gaussian has."""
    made = network()
    means, _ = replace(made, means=np.full_like(made.means, 5 * WEIGHT_STEP)).encode(records(50))
    assert np.array_equal(means, np.rint(means / VALUE_STEP) * VALUE_STEP)
    assert np.abs(made.encode(records(50))[0]).max() <= 8


def test_softmax_is_a_softmax_in_any_order_of_summation():
    """Masses lie on a grid: buckets in another order have the same probabilities to the last bit."""
    logits = np.array([[0.0, 1.0, -2.0, 0.5, 0.25, *np.zeros(40)]])
    found = network().softmax(logits)[0, :3]
    np.testing.assert_allclose(found, np.exp(logits[0, :3]) / np.exp(logits[0, :3]).sum(), rtol=1e-2)
    found = network().decode(np.array([[16.0, -16.0, 16.0], [0.0, 0.0, 0.0]]))
    assert (found > 0).all()
    for start, size in zip(network().offsets, network().sizes, strict=True):
        np.testing.assert_allclose(found[:, start : start + size].sum(axis=1), 1, atol=1e-12)
    made, rng = network(), np.random.default_rng(3)
    logits = np.rint(rng.normal(size=(50, 45)) * 2**10) / 2**10
    order = np.concatenate([[2, 0, 1], [4, 3], 5 + rng.permutation(40)])
    assert np.array_equal(made.softmax(logits[:, order]), made.softmax(logits)[:, order])


def test_no_spread_is_below_the_floor():
    for floor in (1 / 32, 0.2, 1.0):
        found = 1 / np.sqrt(precisions(floor))
        assert (found >= floor).all()
        assert found[-1] == 1
        assert len(found) == LEVELS + 1
        assert (np.diff(found) >= 0).all()
    assert levels(np.array([-1e9, 0.0, 1e9])).tolist() == [0, LEVELS // 2, LEVELS]
    for floor in (0.0, 0.01, 1.5, "x"):
        with pytest.raises(ValueError, match="floor"):
            check_floor(floor)


def test_weights_off_the_grid_or_of_another_shape_are_refused():
    made = network()
    for change, said in (
        ({"means": made.means + 1e-5}, "multiples"),
        ({"means": made.means[:-1]}, "shapes"),
        ({"sizes": ()}, "sizes"),
        ({"sizes": (4097,)}, "4096"),
    ):
        with pytest.raises(ValueError, match=said):
            replace(made, **change)

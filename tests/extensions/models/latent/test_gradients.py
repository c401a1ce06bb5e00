"""What training asks: the gradient is one, no row adds more than it may, and rows do not change each other."""

import itertools

import numpy as np
import pytest

from sdv_plausible.extensions.models.latent import training
from sdv_plausible.extensions.models.latent.autoencoder import VALUE_STEP, WEIGHTS
from sdv_plausible.extensions.models.latent.training import (
    DELTA_STEP,
    LARGEST_NORM,
    GradientSum,
    backward,
    clipped,
    untrained,
    with_weights,
)
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import CodeArray

MASSES = [np.array([0.2, 0.3, 0.5]), np.array([0.6, 0.4])]
CARDS = (3, 2)
BUCKETS = [np.arange(3), np.arange(2)]
NET = untrained(MASSES, 5, 2, 0.3, KeyedRNG.from_seed(0))
EVERY = np.array(list(itertools.product(range(3), range(2))))
NOISE = np.asarray(KeyedRNG.from_seed(1).normal((6, 2)))
WEIGHT = 0.7


def bound(weights, row, noise):
    """Negative evidence bound of one record, in plain floating point."""
    active = np.clip(weights["embedding"][row + NET.offsets].sum(axis=0), 0, 16)
    mean, raw = (np.append(active, 1) @ weights[name] for name in ("means", "spreads"))
    spread = NET.floor ** (1 - (1 + raw / (1 + np.abs(raw))) / 2)
    shown = np.clip(np.append(mean + spread * noise, 1) @ weights["hidden"], 0, 16)
    logits = np.append(shown, 1) @ weights["output"] + NET.base
    found = WEIGHT * 0.5 * (mean**2 + spread**2 - 1 - 2 * np.log(spread)).sum()
    for start, size, code in zip(NET.offsets, NET.sizes, row, strict=True):
        found += np.log(np.exp(logits[start : start + size]).sum()) - logits[start + code]
    return float(found)


def outer(layers, i, name):
    """Gradient of row i in one layer."""
    inputs, deltas = layers[name]
    if inputs is None:
        inputs = np.zeros((len(EVERY), sum(NET.sizes)))
        np.put_along_axis(inputs, EVERY + NET.offsets, 1.0, 1)
    return np.outer(inputs[i], deltas[i])


SIZE = sum(getattr(NET, name).size for name in WEIGHTS)
LIVELY = with_weights(NET, np.asarray(KeyedRNG.from_seed(7).normal(SIZE)) * 0.6)  # every weight matters


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("network", [NET, LIVELY], ids=["untrained", "lively"])
def test_it_is_the_gradient(network, name):
    layers = backward(network, EVERY, NOISE, WEIGHT)
    weights = {each: getattr(network, each) for each in WEIGHTS}
    for i in range(3):
        wanted = np.zeros_like(weights[name])
        for at in np.ndindex(*wanted.shape):
            up, down = ({**weights, name: weights[name].copy()} for _ in range(2))
            up[name][at] += 1e-5
            down[name][at] -= 1e-5
            wanted[at] = (bound(up, EVERY[i], NOISE[i]) - bound(down, EVERY[i], NOISE[i])) / 2e-5
        np.testing.assert_allclose(outer(layers, i, name), wanted, atol=0.02, rtol=0.01)


def test_small_gradients_are_left_as_they_are():
    layers = backward(NET, EVERY, NOISE, WEIGHT)
    small = {name: (x, np.rint(d * 2.0**-8 / DELTA_STEP) * DELTA_STEP) for name, (x, d) in layers.items()}
    for name, (_, deltas) in clipped(small, len(CARDS)).items():
        apart = deltas * training._CLIPPED_STEP - small[name][1]
        assert np.abs(apart).max() <= training._CLIPPED_STEP + 1e-6 * np.abs(small[name][1]).max()


@pytest.mark.parametrize("network", [NET, LIVELY], ids=["untrained", "lively"])
def test_the_sum_is_of_the_clipped_gradients(network):
    """Weight by weight, of rows that are asked one by one and together."""
    question = GradientSum(network, BUCKETS, WEIGHT, KeyedRNG.from_seed(3))
    noise = np.asarray(question.rng.spawn(0).normal((len(EVERY), 2)))
    layers = clipped(backward(network, EVERY, noise, WEIGHT), len(CARDS))
    wanted = [sum(outer(layers, i, name) for i in range(len(EVERY))) / VALUE_STEP for name in WEIGHTS]
    found = question.exact(CodeArray(EVERY.astype(np.int32), CARDS))
    assert np.array_equal(found, np.concatenate([part.reshape(-1) for part in wanted]))


def contribution(codes, network=NET, seed=0):
    question = GradientSum(network, BUCKETS, WEIGHT, KeyedRNG.from_seed(seed))
    return question.exact(CodeArray(codes.astype(np.int32), CARDS))


TAME_AND_WILD = [  # gradients of the last ones are far above the norm
    NET,
    *(with_weights(NET, np.asarray(KeyedRNG.from_seed(seed).normal(SIZE)) * 10.0**seed) for seed in range(5)),
]


def largest():
    """Largest norm of one row's contribution, over its share, exactly."""
    cases = itertools.product(EVERY, TAME_AND_WILD, range(3))
    squares = [sum(int(x) ** 2 for x in contribution(row[None], *how)) for row, *how in cases]
    return max(squares) / LARGEST_NORM**2


def test_no_row_adds_more_than_the_norm(monkeypatch):
    """Planted bug: the first layer is clipped by the others' norm, and the last guard is off."""
    assert 0.99 < largest() <= 1  # clipping is close to it
    question = GradientSum(NET, BUCKETS, WEIGHT, KeyedRNG.from_seed(0))
    assert question.sensitivity(ONE_ROW) == LARGEST_NORM
    for several in (Neighbours(replace=True), Neighbours(rows=2, person="home")):
        assert question.sensitivity(several) == 2 * LARGEST_NORM

    def forgetful(layers, columns):
        first = layers["embedding"]
        rest = clipped({name: layer for name, layer in layers.items() if name != "embedding"}, columns)
        return {"embedding": (first[0], np.trunc(first[1] / training._CLIPPED_STEP)), **rest}

    monkeypatch.setattr(training, "clipped", forgetful)
    assert largest() > 1.01


def test_rows_above_the_norm_add_nothing_even_if_scaling_fails(monkeypatch):
    """The guard stands by itself: squares too large for 64 bits do not wrap around to small ones."""
    for times in (3.0, *(2.0**power for power in range(4, 44, 4))):
        monkeypatch.setattr(training, "_SAFE", times)
        for network in TAME_AND_WILD:
            layers = clipped(backward(network, EVERY, NOISE, WEIGHT), len(CARDS))
            for i in range(len(EVERY)):
                parts = (np.rint(outer(layers, i, name) / VALUE_STEP) for name in WEIGHTS)
                square = sum(int(value) ** 2 for part in parts for value in part.reshape(-1).tolist())
                assert square <= LARGEST_NORM**2


@pytest.mark.parametrize("name", WEIGHTS)
def test_the_norm_and_its_guard_see_every_layer(name):
    """Rows whose gradient is in one layer alone: scaled to the norm; and nothing at all where scaling fails."""
    layers = backward(NET, EVERY, NOISE, WEIGHT)
    large = {each: (x, deltas * (1e5 if each == name else 0.0)) for each, (x, deltas) in layers.items()}
    inputs, deltas = training.clipped(large, len(CARDS))[name]
    squares = (np.full(len(EVERY), len(CARDS)) if inputs is None else (inputs**2).sum(axis=1)) / VALUE_STEP**2
    norms = np.sqrt(squares * (deltas**2).sum(axis=1)) / LARGEST_NORM
    assert ((norms > 0.99) & (norms <= 1)).all()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "_SAFE", 1.5)
        assert not training.clipped(large, len(CARDS))[name][1].any()


def test_the_numbers_are_those_of_the_proof():
    """sampled_sum.md, Theorem 2, names each: whole steps are exact. A figure that was cut off has no derivative."""
    assert (LARGEST_NORM, training.CLIP, training.UNIT) == (2**24, 1.0, 2.0**-24)
    assert (DELTA_STEP, training._CLIPPED_STEP) == (2.0**-12, 2.0**-16)
    assert (training._SAFE, training._BLOCK) == (1 - 2.0**-20, 2048)
    assert training._inside(np.array([0.0, 2.0**-8, 15.5, 16.0])).tolist() == [False, True, True, False]
    assert training._rounded(np.array([-1e9, -63.5, 1e9])).tolist() == [-64.0, -63.5, 64.0]


def test_every_figure_lies_on_its_grid():
    """Whatever the weights: on grids sums are exact, so no row changes another one's contribution."""
    for network in TAME_AND_WILD:
        for inputs, deltas in backward(network, EVERY, NOISE, WEIGHT).values():
            for values, step, most in ((inputs, VALUE_STEP, 16), (deltas, DELTA_STEP, 64)):
                if values is not None:
                    assert np.array_equal(values, np.rint(values / step) * step)
                    assert np.abs(values).max() <= most
        for _, deltas in clipped(backward(network, EVERY, NOISE, WEIGHT), len(CARDS)).values():
            assert np.array_equal(deltas, np.rint(deltas))


def test_rows_of_different_blocks_have_points_of_their_own(monkeypatch):
    """One norm is for all rows, and their randomness is independent: no block may repeat another's."""
    two = np.repeat(EVERY[:1], 2, axis=0)
    monkeypatch.setattr(training, "_BLOCK", 1)
    assert (contribution(two) != 2 * contribution(two[:1])).any()


class Still(KeyedRNG):
    """Coins whose normals are all the same, so that rows can be told apart from their places."""

    def __init__(self):
        pass

    def spawn(self, *context):
        return self

    def normal(self, size=None):
        return np.full(size, 0.5)


def test_the_sum_is_the_sum_of_the_rows_to_the_last_bit():
    """With one noise for all rows, as it is drawn by place."""
    constant = GradientSum(NET, BUCKETS, WEIGHT, Still())
    single = {tuple(row): constant.exact(CodeArray(row[None].astype(np.int32), CARDS)) for row in EVERY}
    for n in (2, 3, 50, 2500):
        codes = EVERY[np.asarray(KeyedRNG.from_seed(5).integers(6, n))]
        whole = constant.exact(CodeArray(codes.astype(np.int32), CARDS))
        assert (whole == sum(single[tuple(row)] for row in codes)).all()
    assert not contribution(np.empty((0, 2))).any()

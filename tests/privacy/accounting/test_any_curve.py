"""Upper bounds that are no profile of a pair: what is composed of them stays above every pair below them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import oracles_accounting as oracle
import pytest
from cases import fast_and_nightly

from sdv_plausible.privacy.accounting.bernoulli_pairs import BernoulliPairs
from sdv_plausible.privacy.accounting.composition import compose
from sdv_plausible.privacy.accounting.loss_distribution import Composer, SortedLosses, convex_hull
from sdv_plausible.privacy.accounting.losses import Loss, PureDP

EPSILONS = np.array([0.0, 0.02, 0.1, 0.3, 0.7, 1.2, 2.0])


class LargestOf(Loss):
    """The larger profile, by direction or of both, of several pairs of distributions."""

    def __init__(self, pairs: list[oracle.Atoms], symmetrised: bool = False) -> None:
        self.pairs, self.symmetrised = pairs, symmetrised

    def profile(self, epsilon):
        factors = np.exp(np.asarray(epsilon, dtype=float))
        remove, add = (np.max([sticks(p, way, factors) for p in self.pairs], axis=0) for way in (0, 1))
        return (np.maximum(remove, add),) * 2 if self.symmetrised else (remove, add)


def sticks(pair: oracle.Atoms, way: int, factors: np.ndarray) -> np.ndarray:
    p, q = np.array(pair).T[[way, 1 - way]]
    return np.maximum(0.0, p[:, None] - factors.ravel() * q[:, None]).sum(axis=0).reshape(factors.shape)


def claimed_deltas(used: list[Loss]) -> np.ndarray:
    total = Composer(SortedLosses.of(used)).distribution(0.0)
    return np.array([total.delta(e) for e in EPSILONS])


def random_pair(rng: np.random.Generator, size: int) -> oracle.Atoms:
    """Two distributions on few outcomes, some of which only one of them has."""
    p, q = rng.random((2, size)) + 0.2
    p[1] *= rng.random() < 0.7
    q[2] *= rng.random() < 0.7
    return list(zip((p / p.sum()).tolist(), (q / q.sum()).tolist(), strict=True))


def test_families_of_pairs_compose_below_the_claim() -> None:
    """One pair of the family is at work, the same one every time or another one each time, in either direction."""
    rng = np.random.default_rng(7)
    for symmetrised, _ in itertools.product((False, True), range(12)):
        family = [random_pair(rng, int(rng.integers(3, 6))) for _ in range(3)]
        claimed = claimed_deltas([LargestOf(family, symmetrised)] * 3)
        for chosen in rng.integers(0, 3, (4, 3)):
            exact = oracle.profile(oracle.compose_atoms([family[i] for i in chosen]), EPSILONS)
            assert np.all(exact <= claimed + 1e-12)


def test_one_direction_does_not_stand_for_both() -> None:
    """Planted: the profile of adding taken for removing too. The other way round it costs more, and is no pair's."""
    pairs = [[(0.0, 0.02), (1.0, 0.98)]] * 12  # a new row makes an outcome impossible: directions differ most
    exact = oracle.profile(oracle.compose_atoms([*pairs, oracle.randomised_response(0.05)]), EPSILONS)
    noise = PureDP(epsilon=0.05)
    for symmetrised in (False, True):
        assert np.all(exact <= claimed_deltas([*[LargestOf([p], symmetrised) for p in pairs], noise]) + 1e-12)

    class OneWay(LargestOf):
        def profile(self, epsilon):
            return (super().profile(epsilon)[0],) * 2

    assert np.any(exact > claimed_deltas([*[OneWay([p]) for p in pairs], noise]) + 1e-3)


def test_the_hull_is_the_largest_convex_curve_below() -> None:
    """Against the maximum of all chords from below, point by point."""
    rng = np.random.default_rng(3)
    losses = np.linspace(-2.0, 2.0, 41)
    for _ in range(20):
        bounds = np.clip(np.maximum(-np.expm1(losses), 0) + 0.3 * rng.random(41) * np.exp(-losses), 0, 1)
        hull = convex_hull(losses, bounds)
        x = np.append(0.0, np.exp(losses))
        y = np.append(1.0, np.minimum.accumulate(bounds))
        assert np.all(hull <= y[1:] + 1e-12)
        for i in range(1, 42):  # the lowest chord over a point is the hull there
            left, right = np.meshgrid(np.arange(i), np.arange(i + 1, 42))
            chords = y[left] + (y[right] - y[left]) * (x[i] - x[left]) / (x[right] - x[left])
            lowest = min(y[i], chords.min()) if i < 41 else y[i]
            assert hull[i - 1] == pytest.approx(lowest, abs=1e-12)


FEW = [(10_000, 1.0, -1e-4), (100_000, 0.003, -0.003)]


@pytest.mark.parametrize(
    ("count", "high", "low"), fast_and_nightly(FEW, [(100_000, 1.0, -1e-5), (1_000_000, 1.0, -1e-6)])
)
def test_many_uses_are_not_below_the_exact_binomial(count: int, high: float, low: float) -> None:
    """Rounding of the convolutions grows with the number of uses: so does what is charged for it."""
    pair = BernoulliPairs(log_high=np.array([high]), log_low=np.array([low]))
    for delta in (1e-6, 1e-11):
        exact = float(pair.epsilon(count, delta)[0])
        assert compose([Coins(high, low, count)], delta) >= exact * (1 - 1e-6)


class Coins(Loss):
    """Tosses of a coin with two likelihood ratios."""

    count = 0

    def __init__(self, high: float, low: float, count: int) -> None:
        self.high, self.low, self.count = high, low, count

    def profile(self, epsilon):
        a0 = -math.expm1(self.low) / (math.exp(self.high) - math.exp(self.low))
        a1, factor = a0 * math.exp(self.high), np.exp(np.minimum(epsilon, 700.0))
        return np.maximum(0.0, a1 - factor * a0), np.maximum(0.0, (1 - a0) - factor * (1 - a1))

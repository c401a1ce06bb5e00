"""The noise: right distribution and scale, whole OpenDP measurements, no public seed, no low-bit leak.

Each statistical check rejects at p < ALARM, its false-alarm probability, and is shown to reject planted faults: it misses
each with a probability that is computed beside it (:mod:`miss_rates`) and below MISSED. Controls without one are certain.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from functools import partial

import miss_rates
import numpy as np
import pytest
from scipy import special, stats

from sdv_plausible.privacy.noise import mechanisms as noise
from sdv_plausible.privacy.noise import opendp as _opendp
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.noise.mechanisms import (
    NoiseCall,
    discrete_gaussian,
    discrete_laplace,
    exponential_choice,
    floored_laplace,
    record_calls,
)

ALARM, MISSED = 1e-7, 1e-6
Weight = Callable[[np.ndarray], np.ndarray]
SECRET, SEEDED = KeyedRNG.from_os_entropy(), KeyedRNG.from_seed(11)
keyed_laplace = partial(discrete_laplace, repeatable=True)
by_rng = pytest.mark.parametrize("rng", [SECRET, SEEDED], ids=["opendp", "seeded"])


class Fit:
    """Chi-square test of integers against Pr[z] proportional to weight(z) on -reach..reach, in cells of at least 1 %."""

    def __init__(self, weight: Weight, reach: int) -> None:
        self.reach, self.cell, mass = reach, np.zeros(2 * reach + 1, dtype=int), 0.0
        chance = self._chances(weight)
        for i, p in enumerate(chance[:-1]):
            mass += p
            closed = mass >= 0.01 and chance[i + 1 :].sum() >= 0.01
            self.cell[i + 1] = self.cell[i] + closed
            mass *= not closed
        self.chance = np.bincount(self.cell, weights=chance)

    def _chances(self, weight: Weight) -> np.ndarray:
        weights = weight(np.arange(-self.reach, self.reach + 1))
        return weights / weights.sum()

    def accepts(self, drawn: np.ndarray) -> bool:
        cells = self.cell[np.clip(drawn, -self.reach, self.reach) + self.reach]
        observed = np.bincount(cells, minlength=self.chance.size)
        return bool(stats.chisquare(observed, self.chance * drawn.size).pvalue > ALARM)

    def rejects(self, drawn: np.ndarray, weight: Weight) -> bool:
        """Whether it rejects draws of another distribution, and hardly ever would not."""
        return not self.accepts(drawn) and self.misses(drawn.size, weight) < MISSED

    def misses(self, draws: int, weight: Weight) -> float:
        """Bound on the chance that it accepts draws of another distribution."""
        planted = np.bincount(self.cell, weights=self._chances(weight))
        return miss_rates.chi_square(draws, self.chance, planted, ALARM)


def laplace_weight(scale: float) -> Weight:
    return lambda z: np.exp(-np.abs(z) / scale)


def gaussian_weight(sigma: float) -> Weight:
    return lambda z: np.exp(-(z**2) / (2 * sigma**2))


def floored_laplace_weight(scale: float) -> Weight:
    """Of floor(L), L Laplace: what is in [z, z + 1)."""
    return lambda z: np.exp(-np.where(z >= 0, z, -z - 1) / scale)


def rounded_normal_weight(sigma: float) -> Weight:
    return lambda z: stats.norm.cdf((z + 0.5) / sigma) - stats.norm.cdf((z - 0.5) / sigma)


@pytest.mark.parametrize(
    ("mechanism", "rng"),
    [(discrete_laplace, SECRET), (discrete_laplace, SEEDED), (keyed_laplace, SECRET)],
    ids=["opendp", "seeded", "keyed"],
)
@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, 1.0), (1, 4.0), (3, 0.3), (2, 0.01)])
def test_discrete_laplace_has_scale_sensitivity_over_epsilon(mechanism, rng, sensitivity, epsilon) -> None:
    draw = partial(mechanism, np.full(8_000, 10**6), sensitivity=sensitivity, rng=rng)
    scale = sensitivity / epsilon
    fit = Fit(laplace_weight(scale), math.ceil(40 * scale))
    assert fit.accepts(draw(epsilon=epsilon) - 10**6)
    for factor in (1.3, 0.75):  # controls: too little noise, too much
        assert fit.rejects(draw(epsilon=factor * epsilon) - 10**6, laplace_weight(scale / factor))
    sigma = scale * math.sqrt(2)  # control: another distribution of that width
    rounded = np.rint(sigma * SEEDED.spawn("rounded").normal(8_000)).astype(int)
    assert fit.rejects(rounded, rounded_normal_weight(sigma))


@by_rng
@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, 0.7), (3, 0.3)])
def test_floored_laplace_is_laplace_noise_rounded_down(rng, sensitivity, epsilon) -> None:
    scale = sensitivity / epsilon
    draw = partial(floored_laplace, np.full(8_000, 50), sensitivity=sensitivity, rng=rng)
    fit = Fit(floored_laplace_weight(scale), math.ceil(40 * scale))
    assert fit.accepts(draw(epsilon=epsilon) - 50)
    for factor in (1.3, 0.75):  # controls: too little noise, too much
        assert fit.rejects(draw(epsilon=factor * epsilon) - 50, floored_laplace_weight(scale / factor))
    if scale < 2:  # control: without a half of the zeros, discrete Laplace is another law
        plain = partial(discrete_laplace, sensitivity=sensitivity, epsilon=epsilon, rng=SEEDED)
        assert fit.rejects(plain(np.zeros(8_000, int)), laplace_weight(scale))


@by_rng
@pytest.mark.parametrize(("sensitivity", "rho"), [(1.0, 0.5), (math.sqrt(2), 0.02), (0.3, 0.05), (1.0, 1e-5)])
def test_discrete_gaussian_has_sigma_sensitivity_over_root_two_rho(rng, sensitivity, rho) -> None:
    draw = partial(discrete_gaussian, np.full(8_000, -50), sensitivity=sensitivity, rng=rng)
    sigma = sensitivity / math.sqrt(2 * rho)
    fit = Fit(gaussian_weight(sigma), math.ceil(12 * sigma))
    assert fit.accepts(draw(rho=rho) + 50)
    for factor in (1.5, 0.66):  # controls: 18 % too little noise, 23 % too much
        assert fit.rejects(draw(rho=factor * rho) + 50, gaussian_weight(sigma / math.sqrt(factor)))


@by_rng
def test_a_finer_lattice_has_the_same_noise_on_multiples_of_the_granularity(rng) -> None:
    """In steps it is noise on whole numbers, of as many times the sigma."""
    with record_calls() as calls:
        noisy = discrete_gaussian(np.full(8_000, -50), sensitivity=1.5, rho=0.5, rng=rng, granularity=1 / 4)
    steps = 4 * (noisy + 50)
    assert noisy.dtype == np.float64
    assert np.array_equal(steps, np.rint(steps))
    fit = Fit(gaussian_weight(6.0), 72)
    assert fit.accepts(steps.astype(int))
    assert not fit.accepts(2 * steps.astype(int))  # control: whole numbers of half the steps
    assert (calls[0].sensitivity, calls[0].granularity) == (1.5, 0.25)
    assert calls[0].scale == pytest.approx(1.5)
    most = np.iinfo(np.int64).max
    ends = discrete_gaussian([most, -most], sensitivity=1, rho=0.5, rng=rng, granularity=1 / 4)
    assert ends[0] >= 2**59 >= -(2**59) >= ends[1]  # nothing wraps around
    for wrong in (2.0, 0.3, 0.0, -0.5, 2.0**-21, math.nan):
        with pytest.raises(ValueError, match=r"^granularity \("):
            discrete_gaussian([1], sensitivity=1, rho=0.5, rng=rng, granularity=wrong)


@by_rng
def test_a_choice_has_the_probabilities_of_the_exponential_mechanism(rng) -> None:
    """Chi-square, 3 degrees of freedom, 3,000 draws: a false alarm in 1e-9 of the runs."""
    scores = np.array([0, 6, 9, 10])
    draws = [
        exponential_choice(scores, sensitivity=2, epsilon=0.9, rng=rng.spawn("choice", i))
        for i in range(3_000)
    ]
    found = np.bincount(draws, minlength=4)

    def accepts(scale: float) -> bool:
        expected = special.softmax(scores / scale) * len(draws)
        return bool(stats.chi2.sf(((found - expected) ** 2 / expected).sum(), 3) > 1e-9)

    assert accepts(2 * 2 / 0.9)
    assert not accepts(2 / 0.9)  # planted: the scale of a monotone score


def test_a_choice_by_the_smallest_coin_has_a_finite_score(monkeypatch: pytest.MonkeyPatch) -> None:
    """A uniform number may be 0, whose logarithm is none; a candidate with it is the least likely one."""
    monkeypatch.setattr(KeyedRNG, "uniform", lambda self, size: np.array([0.0, 0.5, 0.0]))
    choose = partial(exponential_choice, sensitivity=1, epsilon=1.0, rng=SEEDED)
    assert [choose([7, 7, 7]), choose([7, 7, 90])] == [1, 2]
    with pytest.raises(ValueError, match="at least one"):
        choose([])


def scale_is(call: NoiseCall, formula: float) -> bool:
    """Whether a call's scale is its formula's: never less than it beyond its own rounding, never 1e-14 more."""
    return -1e-15 < call.scale / formula - 1 < 1e-14


@by_rng
def test_the_spy_sees_scale_sensitivity_and_budget(rng) -> None:
    how = {"sensitivity": 3, "epsilon": 0.7, "rng": rng}
    gaussian = {"sensitivity": 3, "rho": 0.7, "rng": rng}
    for name, run, formula in (
        ("discrete_laplace", lambda: discrete_laplace([1, 2], **how), 3 / 0.7),
        ("discrete_laplace", lambda: keyed_laplace([1, 2], **how), 3 / 0.7),
        ("floored_laplace", lambda: floored_laplace([1, 2], **how), 3 / 0.7),
        ("discrete_gaussian", lambda: discrete_gaussian([1], **gaussian), 3 / math.sqrt(1.4)),
        ("exponential_choice", lambda: exponential_choice([1, 2], **how), 6 / 0.7),
    ):
        with record_calls() as calls:
            run()
        (call,) = calls
        assert (call.name, call.sensitivity, call.budget) == (name, 3, 0.7)
        assert scale_is(call, formula)
        assert (call.source == "seeded stream") == (not rng.is_secret)
        if name == "floored_laplace":  # which OpenDP does not have
            assert call.source in ("seeded stream", "keyed stream")


def test_the_spy_catches_noise_that_is_n_times_too_small() -> None:
    with record_calls() as calls:  # control: the sensitivity of a mean for a table of counts
        discrete_gaussian(np.zeros(100, dtype=int), sensitivity=1 / 100, rho=0.5, rng=SEEDED)
    assert not scale_is(calls[0], 1 / math.sqrt(2 * 0.5))


def test_the_spy_records_everything_inside_its_block_only() -> None:
    def shapes(calls: list[NoiseCall]) -> list[tuple[int, ...]]:
        return [call.shape for call in calls]

    draw = partial(keyed_laplace, sensitivity=1, epsilon=1, rng=SECRET)
    with record_calls() as outer:
        draw(np.zeros((2, 3), dtype=int))
        with record_calls() as inner:
            draw(5)
        with record_calls() as empty, pytest.raises(ValueError, match="epsilon"):
            discrete_laplace([1], sensitivity=1, epsilon=0, rng=SECRET)
        draw([])
    draw([1])
    assert (shapes(outer), shapes(inner), empty) == ([(2, 3), (), (0,)], [()], [])
    assert {call.source for call in outer} == {"keyed stream"}
    assert noise._recorders == []


MECHANISMS = {
    "discrete_laplace": lambda c: discrete_laplace(np.zeros(60, int), sensitivity=1, epsilon=0.01, rng=c),
    "discrete_gaussian": lambda c: discrete_gaussian(np.zeros(60, int), sensitivity=1, rho=1e-5, rng=c),
}
CHOICES = {
    "exponential_choice": lambda c: [
        exponential_choice(np.zeros(1000, int), sensitivity=1, epsilon=1.0, rng=c) for _ in range(20)
    ]
}


@pytest.mark.parametrize("name", [*MECHANISMS, *CHOICES])
def test_no_seed_reaches_secret_noise(name: str) -> None:
    """False alarm: all 60 draws, or 20 choices of 1,000, would have to coincide, below 1e-59."""

    def repeats(make: Callable[[], KeyedRNG]) -> bool:
        seen = []
        for _ in range(2):
            np.random.seed(73251)  # noqa: NPY002 (what SDV does)
            random.seed(73251)
            seen.append((MECHANISMS | CHOICES)[name](make()))
        return bool(np.array_equal(*seen))

    stream = KeyedRNG.from_os_entropy().spawn("same name")
    assert not repeats(lambda: stream.spawn(1))
    assert repeats(lambda: KeyedRNG.from_seed(5).spawn(1))  # control, and the promise of random_state


def test_repeatable_noise_repeats_by_name_only() -> None:
    parent = KeyedRNG.from_os_entropy()
    call = partial(discrete_laplace, np.zeros(60, int), sensitivity=1, epsilon=0.01)
    once = call(rng=parent.spawn("reset", 1), repeatable=True)
    assert (once == call(rng=parent.spawn("reset", 1), repeatable=True)).all()
    assert (once != call(rng=parent.spawn("reset", 1))).any()
    for other in (parent.spawn("reset", 2), KeyedRNG.from_os_entropy().spawn("reset", 1)):
        assert (once != call(rng=other, repeatable=True)).any()


def test_long_vectors_keep_their_order_and_have_fresh_noise_everywhere() -> None:
    values = np.arange(3 * _opendp._PIECE + 5).reshape(-1, 1) * 1000
    drawn = discrete_laplace(values, sensitivity=1, epsilon=1, rng=SECRET) - values
    assert drawn.shape == values.shape
    assert np.abs(drawn).max() < 60  # false alarm below 1e-20
    assert Fit(laplace_weight(1.0), 40).accepts(drawn.ravel())

    def repeats(noise: np.ndarray) -> bool:
        """Whether two of four pieces begin alike; false alarm below 1e-400."""
        pieces = [piece[:1000] for piece in np.array_split(noise.ravel(), 4)]
        return any(np.array_equal(a, b) for i, a in enumerate(pieces) for b in pieces[:i])

    assert not repeats(drawn)
    assert repeats(np.tile(drawn.ravel()[: _opendp._PIECE], 4))  # control: one piece's noise for all


@by_rng
def test_shapes_types_and_inputs_are_kept(rng: KeyedRNG) -> None:
    calls = (
        partial(discrete_laplace, sensitivity=1, epsilon=1),
        partial(keyed_laplace, sensitivity=1, epsilon=1),
        partial(discrete_gaussian, sensitivity=1, rho=1),
    )
    for values in (7, [], [[1, 2], [3, 4]], np.zeros((2, 0), np.uint8), np.arange(6).reshape(2, 3).T):
        before = np.array(values)
        for call in calls:
            noisy = call(values, rng=rng)
            assert (noisy.shape, noisy.dtype) == (before.shape, np.int64)
            assert np.array_equal(before, values)


@by_rng
def test_sums_beyond_64_bits_do_not_wrap_around(rng: KeyedRNG) -> None:
    most = np.iinfo(np.int64).max
    for mechanism in (discrete_laplace, keyed_laplace):
        noisy = mechanism([most] * 50 + [-most] * 50, sensitivity=1, epsilon=2.0**-49, rng=rng)
        assert (noisy[:50] > 2**61).all()
        assert (noisy[50:] < -(2**61)).all()


def error_of(name: str, **change: object) -> pytest.ExceptionInfo[Exception]:
    budget = "rho" if name == "discrete_gaussian" else "epsilon"
    arguments = {"values": [1, 2], "sensitivity": 1, budget: 1.0, "rng": SECRET}
    arguments |= {budget if key == "budget" else key: value for key, value in change.items()}
    with pytest.raises((ValueError, TypeError)) as error:
        getattr(noise, name)(arguments.pop("values"), **arguments)
    return error


def test_bad_budgets_and_sensitivities_are_named() -> None:
    for name, budget in (("discrete_laplace", "epsilon"), ("discrete_gaussian", "rho")):
        for value in (0, -1.0, math.nan, math.inf, "1", None, True):
            assert error_of(name, budget=value).match(rf"^{budget} \(.*must be")
            assert error_of(name, sensitivity=value).match(r"^sensitivity \(.*must be")
        assert error_of(name, budget=1e-310).match("scale beyond double precision")
    for function in (floored_laplace, exponential_choice):  # whole sensitivities, from one on
        for value in (0, 0.5, -1, True):
            with pytest.raises((ValueError, TypeError), match=r"^sensitivity \(.*must be"):
                function([3, 4], sensitivity=value, epsilon=1.0, rng=SECRET)
        function([3, 4], sensitivity=1, epsilon=1.0, rng=SECRET)


def test_floored_noise_is_the_streams() -> None:
    with pytest.raises(ValueError, match=r"repeatable \(False\) must be True"):
        floored_laplace([1], sensitivity=1, epsilon=1.0, rng=SECRET, repeatable=False)
    draw = partial(floored_laplace, np.zeros(60, int), sensitivity=1, epsilon=0.01)
    assert np.array_equal(draw(rng=KeyedRNG.from_seed(1)), draw(rng=KeyedRNG.from_seed(1)))


def test_bad_values_are_named() -> None:
    """Among them every real number: noise in floating point would leave traces in the lowest bits."""
    for name in MECHANISMS:
        for value in (["a"], [None], [1 + 2j], [True], [1.0], [math.nan], 0.5, np.float32(2)):
            assert error_of(name, values=value).match(r"^values \(dtype .*must be")
    assert error_of("discrete_laplace", sensitivity=1.5).match("sensitivity")
    assert error_of("discrete_laplace", values=np.array([2**63], np.uint64)).match("values")
    assert error_of("discrete_laplace", budget=1e-20, rng=SEEDED).match("sensitivity / budget")

"""The noise: right distribution and scale, whole OpenDP measurements, no public seed, no low-bit leak.

Each statistical check rejects at p < 1e-7, its false-alarm probability, and is shown to reject planted faults.
"""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal, localcontext
from functools import partial

import numpy as np
import pytest
from opendp import mod
from scipy import stats

from sdv_plausible.privacy.noise import mechanisms as noise
from sdv_plausible.privacy.noise import opendp as _opendp
from sdv_plausible.privacy.noise import samplers as _samplers
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.privacy.noise.mechanisms import (
    NoiseCall,
    discrete_gaussian,
    discrete_laplace,
    exponential_mechanism,
    laplace,
    record_calls,
)

ALARM = 1e-7
SECRET, SEEDED = Coins.from_os_entropy(), Coins.from_seed(11)
keyed_laplace = partial(discrete_laplace, repeatable=True)

# ---- distribution and scale -----------------------------------------------------------------------------------------


def fits(drawn: np.ndarray, weight: Callable[[np.ndarray], np.ndarray], reach: int) -> bool:
    """Chi-square of integers against Pr[z] proportional to weight(z) on -reach..reach, in cells of at least 1 %."""
    support = np.arange(-reach, reach + 1)
    chance = weight(support) / weight(support).sum()
    cell, mass = np.zeros(support.size, dtype=int), 0.0
    for i, p in enumerate(chance[:-1]):
        mass += p
        closed = mass >= 0.01 and chance[i + 1 :].sum() >= 0.01
        cell[i + 1] = cell[i] + closed
        mass *= not closed
    observed = np.bincount(cell[np.clip(drawn, -reach, reach) + reach], minlength=cell[-1] + 1)
    return bool(stats.chisquare(observed, np.bincount(cell, weights=chance) * drawn.size).pvalue > ALARM)


def fits_discrete_laplace(drawn: np.ndarray, scale: float) -> bool:
    return fits(drawn, lambda z: np.exp(-np.abs(z) / scale), math.ceil(40 * scale))


def fits_discrete_gaussian(drawn: np.ndarray, sigma: float) -> bool:
    return fits(drawn, lambda z: np.exp(-(z**2) / (2 * sigma**2)), math.ceil(12 * sigma))


SOURCES = pytest.mark.parametrize(
    ("mechanism", "coins"),
    [(discrete_laplace, SECRET), (discrete_laplace, SEEDED), (keyed_laplace, SECRET)],
    ids=["opendp", "seeded", "keyed"],
)


@SOURCES
@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, 1.0), (1, 4.0), (3, 0.3), (2, 0.01)])
def test_discrete_laplace_has_scale_sensitivity_over_epsilon(mechanism, coins, sensitivity, epsilon) -> None:
    draw = partial(mechanism, np.full(10_000, 10**6), sensitivity=sensitivity, coins=coins)
    scale = sensitivity / epsilon
    assert fits_discrete_laplace(draw(epsilon=epsilon) - 10**6, scale)
    assert not fits_discrete_laplace(draw(epsilon=1.3 * epsilon) - 10**6, scale)  # control: too little noise
    assert not fits_discrete_laplace(draw(epsilon=0.75 * epsilon) - 10**6, scale)  # control: too much
    rounded = np.rint(scale * SEEDED.spawn("rounded").normal(10_000) * math.sqrt(2)).astype(int)
    assert not fits_discrete_laplace(rounded, scale)  # control: another distribution of that width


@pytest.mark.parametrize("coins", [SECRET, SEEDED], ids=["opendp", "seeded"])
@pytest.mark.parametrize(("sensitivity", "rho"), [(1.0, 0.5), (math.sqrt(2), 0.02), (0.3, 0.05), (1.0, 1e-5)])
def test_discrete_gaussian_has_sigma_sensitivity_over_root_two_rho(coins, sensitivity, rho) -> None:
    draw = partial(discrete_gaussian, np.full(8_000, -50), sensitivity=sensitivity, coins=coins)
    sigma = sensitivity / math.sqrt(2 * rho)
    assert fits_discrete_gaussian(draw(rho=rho) + 50, sigma)
    assert not fits_discrete_gaussian(draw(rho=1.5 * rho) + 50, sigma)  # control: 18 % too little noise
    assert not fits_discrete_gaussian(draw(rho=0.66 * rho) + 50, sigma)  # control: 23 % too much


@pytest.mark.parametrize("coins", [SECRET, SEEDED], ids=["opendp", "seeded"])
@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1.0, 1.0), (0.02, 5.0), (7.0, 0.1)])
def test_laplace_has_scale_sensitivity_over_epsilon(coins, sensitivity, epsilon) -> None:
    draw = partial(laplace, np.full(10_000, 3.25), sensitivity=sensitivity, coins=coins)
    exact = stats.laplace(3.25, sensitivity / epsilon).cdf
    assert stats.kstest(draw(epsilon=epsilon), exact).pvalue > ALARM
    assert stats.kstest(draw(epsilon=1.4 * epsilon), exact).pvalue < ALARM  # control: too little noise


@pytest.mark.parametrize("scale", [0.1, 0.5, 1.0, 3.7, 1e3, 2.0**50])
def test_geometric_digits_multiply_to_the_exact_distribution(scale: float) -> None:
    def largest_error(thresholds: tuple[tuple[np.uint64, np.uint64], ...]) -> Decimal:
        a = (-1 / Decimal(scale)).exp()
        ones = [(int(high) * 2**64 + int(low)) / Decimal(2**128) for high, low in thresholds]
        digits = max(len(ones), 12)
        ones += [Decimal(0)] * (digits - len(ones))
        errors = []
        for g in [*range(40), int(scale), int(7 * scale)]:
            chances = [p if g >> i & 1 else 1 - p for i, p in enumerate(ones)]
            errors.append(abs(math.prod(chances, start=Decimal(1)) - (1 - a) * a**g))
        return max(errors)

    with localcontext() as context:
        context.prec = 80
        assert largest_error(_samplers._digit_thresholds(scale)) < Decimal(2) ** -122
        assert largest_error(_samplers._digit_thresholds(scale * (1 + 1e-15))) > Decimal(2) ** -122  # control


def test_a_tie_in_the_first_64_bits_is_decided_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    first_digit = _samplers._digit_thresholds(1.0)[:1]
    monkeypatch.setattr(_samplers, "_digit_thresholds", lambda scale: first_digit)
    high, low = first_digit[0]
    one = np.uint64(1)

    def digits(second_words: list[np.uint64]) -> list[int]:
        planted = iter([[high - one, high, high + one, high], second_words])
        monkeypatch.setattr(Coins, "words", lambda self, n: np.array(next(planted)))
        return _samplers._geometric(SEEDED, 1.0, 4).tolist()

    assert digits([low - one, low]) == [1, 1, 0, 0]
    assert digits([low, low - one]) == [1, 0, 0, 1]


# ---- the exponential mechanism --------------------------------------------------------------------------------------

SCORES = np.array([0.0, 1.0, 2.5, -4.0, 2.5])


def follows_softmax(choices: list[int], scale: float) -> bool:
    weights = np.exp(SCORES / scale)
    return bool(stats.chisquare(np.bincount(choices, minlength=5), weights / weights.sum() * len(choices)).pvalue > ALARM)


def permute_and_flip(scale: float, coins: Coins) -> int:
    """Return the choice of the mechanism that is epsilon-DP for the same scale but not epsilon-bounded-range."""
    for i in coins.permutation(len(SCORES)):
        if coins.uniform() < math.exp((SCORES[i] - SCORES.max()) / scale):
            return int(i)
    raise AssertionError


@pytest.mark.parametrize("coins", [SECRET, SEEDED], ids=["opendp", "seeded"])
@pytest.mark.parametrize("monotone", [False, True])
def test_exponential_mechanism_is_softmax_of_scores_over_scale(coins: Coins, monotone: bool) -> None:
    def choices(monotone: bool = monotone, sensitivity: float = 1.5) -> list[int]:
        call = partial(exponential_mechanism, SCORES, sensitivity=sensitivity, epsilon=1.2, coins=coins, monotone=monotone)
        return [call() for _ in range(2000)]

    scale = 1.5 / 1.2 * (1 if monotone else 2)
    assert follows_softmax(choices(), scale)
    assert not follows_softmax(choices(not monotone), scale)  # control: the factor two
    assert not follows_softmax(choices(sensitivity=0.5), scale)  # control: a third of the noise
    stream = SEEDED.spawn("permute and flip", monotone)
    assert not follows_softmax([permute_and_flip(scale, stream) for _ in range(6000)], scale)  # control


def test_permute_and_flip_would_exceed_the_bounded_range() -> None:
    """Two candidates, score gap 0 against 2 sensitivities: why its choices must not be composed as bounded-range."""
    epsilon, tied, apart = 1.0, np.array([0.5, 0.5]), np.array([1 - math.exp(-1.0) / 2, math.exp(-1.0) / 2])
    assert np.ptp(np.log(apart / tied)) > 1.4 * epsilon
    softmax = np.exp([0.0, -epsilon]) / (1 + math.exp(-epsilon))
    assert np.ptp(np.log(softmax / tied)) == pytest.approx(epsilon)


def test_exponential_mechanism_of_one_candidate_and_of_a_clear_winner() -> None:
    assert exponential_mechanism([3.0], sensitivity=1, epsilon=1, coins=SECRET) == 0
    scores = np.zeros(1000)
    scores[17] = 500
    assert exponential_mechanism(scores, sensitivity=1, epsilon=1, coins=SECRET) == 17  # fails once in e**243


# ---- the budget is what OpenDP itself accounts for ------------------------------------------------------------------

CALLS: list[tuple[str, Callable[[Coins], object], float, float, float]] = [
    ("discrete_laplace", lambda c: discrete_laplace([1, 2], sensitivity=3, epsilon=0.7, coins=c), 3, 0.7, 3 / 0.7),
    ("discrete_laplace", lambda c: keyed_laplace([1, 2], sensitivity=3, epsilon=0.7, coins=c), 3, 0.7, 3 / 0.7),
    (
        "discrete_gaussian",
        lambda c: discrete_gaussian([1], sensitivity=3, rho=0.7, coins=c),
        3,
        0.7,
        3 / math.sqrt(1.4),
    ),
    ("laplace", lambda c: laplace([[0.5]], sensitivity=0.3, epsilon=0.7, coins=c), 0.3, 0.7, 0.3 / 0.7),
    (
        "exponential_mechanism",
        lambda c: exponential_mechanism([1, 2], sensitivity=0.3, epsilon=0.7, coins=c),
        0.3,
        0.7,
        0.6 / 0.7,
    ),
]


def scale_is(call: NoiseCall, formula: float) -> bool:
    """Whether a call's scale is its formula's: never less than it beyond its own rounding, never 1e-14 more."""
    return -1e-15 < call.scale / formula - 1 < 1e-14


@pytest.mark.parametrize(("name", "run", "sensitivity", "budget", "formula"), CALLS)
@pytest.mark.parametrize("coins", [SECRET, SEEDED], ids=["secret", "seeded"])
def test_the_spy_sees_scale_sensitivity_and_budget(coins, name, run, sensitivity, budget, formula) -> None:
    with record_calls() as calls:
        run(coins)
    (call,) = calls
    assert (call.name, call.sensitivity, call.budget) == (name, sensitivity, budget)
    assert scale_is(call, formula)
    assert (call.source == "seeded stream") == (not coins.is_secret)


def test_the_spy_catches_noise_that_is_n_times_too_small() -> None:
    def planted(table: np.ndarray) -> np.ndarray:  # control: the sensitivity of a mean for a table of counts
        return discrete_gaussian(table, sensitivity=1 / len(table), rho=0.5, coins=SEEDED)

    with record_calls() as calls:
        planted(np.zeros(100, dtype=int))
    assert not scale_is(calls[0], 1 / math.sqrt(2 * 0.5))


def test_the_spy_records_everything_inside_its_block_only() -> None:
    def shapes(calls: list[NoiseCall]) -> list[tuple[int, ...]]:
        return [call.shape for call in calls]

    draw = partial(keyed_laplace, sensitivity=1, epsilon=1, coins=SECRET)
    with record_calls() as outer:
        draw(np.zeros((2, 3), dtype=int))
        with record_calls() as inner:
            draw(5)
        with record_calls() as empty, pytest.raises(ValueError, match="epsilon"):
            discrete_laplace([1], sensitivity=1, epsilon=0, coins=SECRET)
        draw([])
    draw([1])
    assert (shapes(outer), shapes(inner), empty) == ([(2, 3), (), (0,)], [()], [])
    assert {call.source for call in outer} == {"keyed stream"}
    assert noise._recorders == []


@pytest.mark.parametrize("kind", ["discrete_laplace", "discrete_gaussian", "laplace", "maximum", "monotone_maximum"])
def test_opendps_own_privacy_map_stays_within_the_budget(kind: _opendp.Kind) -> None:
    exceeded = 0
    for sensitivity, budget in [(1, 0.1), (1, 1 / 3), (3, 0.7), (1, 1e-6), (100, 0.05), (7, 1e3)]:
        built, scale = _opendp.measurement(kind, sensitivity, budget)
        limit = budget**2 / 8 if "maximum" in kind else budget
        assert built.map(sensitivity) <= limit
        assert built.map(sensitivity) > limit * (1 - 1e-13)  # and nothing is wasted
        exceeded += _opendp._build(kind, scale * 0.999).map(sensitivity) > limit
    assert exceeded == 6  # control: a smaller scale would not do


# ---- nothing of the value in the lowest bits ------------------------------------------------------------------------


def low_bits_are_free(noisy: np.ndarray) -> bool:
    """Check noisy copies of 1.0 for the bits that a floating-point sum 1.0 + z cannot have.

    A sum of doubles that lands in [1/16, 1/8) is a multiple of 2**-53, since z lies near -1; doubles there have 3 bits
    more, all zero for an eighth of the exact releases and for every such sum. With 100 landings, the probability of
    an exact release failing is Pr[Bin(100, 1/8) > 50] < 1e-18.
    """
    landed = noisy[(noisy >= 1 / 16) & (noisy < 1 / 8)]
    assert len(landed) >= 100  # expected 236 of 20,000: fails with probability below 1e-19
    return bool(np.mean(landed * 2.0**53 % 1 == 0) <= 0.5)


def test_laplace_leaves_no_trace_in_the_low_bits() -> None:
    ones = np.ones(20_000)
    call = partial(laplace, sensitivity=1, epsilon=1, coins=SECRET)
    assert low_bits_are_free(call(ones))
    assert not low_bits_are_free(ones + call(0 * ones))  # control: OpenDP's noise for zero, added afterwards
    assert not low_bits_are_free(ones + SEEDED.exponential(20_000) - SEEDED.exponential(20_000))  # control: textbook
    assert not low_bits_are_free(laplace(ones, sensitivity=1, epsilon=1, coins=SEEDED))  # as documented


# ---- sources of randomness ------------------------------------------------------------------------------------------

MECHANISMS = {
    "discrete_laplace": lambda c: discrete_laplace(np.zeros(60, int), sensitivity=1, epsilon=0.01, coins=c),
    "discrete_gaussian": lambda c: discrete_gaussian(np.zeros(60, int), sensitivity=1, rho=1e-5, coins=c),
    "laplace": lambda c: laplace(np.zeros(60), sensitivity=1, epsilon=1, coins=c),
    "exponential_mechanism": lambda c: [
        exponential_mechanism(np.zeros(50), sensitivity=1, epsilon=1, coins=c) for _ in range(40)
    ],
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_no_seed_reaches_secret_noise(name: str) -> None:
    """False alarm: all 60 (or 40) draws would have to coincide, below 1e-60."""

    def repeats(make: Callable[[], Coins]) -> bool:
        seen = []
        for _ in range(2):
            np.random.seed(73251)  # noqa: NPY002 (what SDV does)
            random.seed(73251)
            seen.append(MECHANISMS[name](make()))
        return bool(np.array_equal(*seen))

    stream = Coins.from_os_entropy().spawn("same name")
    assert not repeats(lambda: stream.spawn(1))
    assert repeats(lambda: Coins.from_seed(5).spawn(1))  # control, and the promise of random_state


def test_repeatable_noise_repeats_by_name_only() -> None:
    parent = Coins.from_os_entropy()
    call = partial(discrete_laplace, np.zeros(60, int), sensitivity=1, epsilon=0.01)
    once = call(coins=parent.spawn("reset", 1), repeatable=True)
    assert (once == call(coins=parent.spawn("reset", 1), repeatable=True)).all()
    assert (once != call(coins=parent.spawn("reset", 2), repeatable=True)).any()
    assert (once != call(coins=parent.spawn("reset", 1))).any()
    other = Coins.from_os_entropy().spawn("reset", 1)
    assert (once != call(coins=other, repeatable=True)).any()


def test_long_vectors_keep_their_order_and_have_fresh_noise_everywhere() -> None:
    values = np.arange(3 * _opendp._PIECE + 5).reshape(-1, 1) * 1000
    drawn = discrete_laplace(values, sensitivity=1, epsilon=1, coins=SECRET) - values
    assert drawn.shape == values.shape
    assert np.abs(drawn).max() < 60  # false alarm below 1e-20
    pieces = np.array_split(drawn.ravel(), 4)
    assert not any((a[:1000] == b[:1000]).all() for i, a in enumerate(pieces) for b in pieces[:i])
    assert fits_discrete_laplace(drawn.ravel(), 1.0)
    assert not fits_discrete_laplace(np.tile(drawn.ravel()[:2000], 20), 1.0)  # control: one piece's noise for all


def test_opendp_is_loaded_late_and_its_features_are_left_alone() -> None:
    script = """
import sys
from sdv_plausible.privacy.noise.mechanisms import discrete_laplace
from sdv_plausible.privacy.noise.coins import Coins
assert "opendp" not in sys.modules
discrete_laplace([1], sensitivity=1, epsilon=1, coins=Coins.from_seed(1))
assert "opendp" not in sys.modules
discrete_laplace([1], sensitivity=1, epsilon=1, coins=Coins.from_os_entropy())
from opendp import mod
assert not mod.GLOBAL_FEATURES
"""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr


def test_features_that_the_user_enabled_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mod, "GLOBAL_FEATURES", {"contrib", "other"})
    _opendp._build("laplace", 1.0)
    assert {"contrib", "other"} == mod.GLOBAL_FEATURES


# ---- shapes, ends of the range, errors ------------------------------------------------------------------------------


@pytest.mark.parametrize("coins", [SECRET, SEEDED], ids=["secret", "seeded"])
def test_shapes_types_and_inputs_are_kept(coins: Coins) -> None:
    for values in (7, [], [[1, 2], [3, 4]], np.zeros((2, 0), np.uint8), np.arange(6).reshape(2, 3).T):
        before = np.array(values)
        for call in (
            partial(discrete_laplace, sensitivity=1, epsilon=1),
            partial(keyed_laplace, sensitivity=1, epsilon=1),
            partial(discrete_gaussian, sensitivity=1, rho=1),
            partial(laplace, sensitivity=1, epsilon=1),
        ):
            noisy = call(values, coins=coins)
            assert noisy.shape == before.shape
            assert noisy.dtype == (np.float64 if call.func is laplace else np.int64)
            assert np.array_equal(before, values)


@pytest.mark.parametrize("coins", [SECRET, SEEDED], ids=["secret", "seeded"])
@pytest.mark.parametrize("mechanism", [discrete_laplace, keyed_laplace])
def test_sums_beyond_64_bits_do_not_wrap_around(mechanism, coins: Coins) -> None:
    most = np.iinfo(np.int64).max
    noisy = mechanism([most] * 50 + [-most] * 50, sensitivity=1, epsilon=2.0**-49, coins=coins)
    assert (noisy[:50] > 2**61).all()
    assert (noisy[50:] < -(2**61)).all()


def error_of(name: str, **change: object) -> pytest.ExceptionInfo[Exception]:
    function = getattr(noise, name)
    budget = "rho" if name == "discrete_gaussian" else "epsilon"
    data = "scores" if name == "exponential_mechanism" else "values"
    arguments = {data: [1, 2], "sensitivity": 1, budget: 1.0, "coins": SECRET}
    arguments |= {{"data": data, "budget": budget}.get(key, key): value for key, value in change.items()}
    with pytest.raises((ValueError, TypeError)) as error:
        function(arguments.pop(data), **arguments)
    return error


@pytest.mark.parametrize("name", MECHANISMS)
def test_bad_budgets_and_sensitivities_are_named(name: str) -> None:
    budget = "rho" if name == "discrete_gaussian" else "epsilon"
    for value in (0, -1.0, math.nan, math.inf, "1", None, True):
        assert error_of(name, budget=value).match(rf"^{budget} \(.*must be")
        assert error_of(name, sensitivity=value).match(r"^sensitivity \(.*must be")
    assert error_of(name, budget=1e-310).match("scale beyond double precision")


@pytest.mark.parametrize("name", MECHANISMS)
def test_bad_values_are_named(name: str) -> None:
    data = "scores" if name == "exponential_mechanism" else "values"
    discrete = name.startswith("discrete")
    for value in [["a"], [None], [1 + 2j], [True]] + [[1.0], [math.nan]] * discrete:
        assert error_of(name, data=value).match(rf"^{data} \(dtype .*must be")
    if not discrete:
        assert error_of(name, data=[1.0, math.nan, math.inf]).match(f"^{data} must be finite: 2 values")


def test_other_errors() -> None:
    assert error_of("discrete_laplace", sensitivity=1.5).match("sensitivity")
    assert error_of("discrete_laplace", data=np.array([2**63], np.uint64)).match("values")
    assert error_of("discrete_laplace", budget=1e-20, coins=SEEDED).match("sensitivity / budget")
    for scores in ([], [[1.0]], 1.0):
        assert error_of("exponential_mechanism", data=scores).match("scores .*one-dimensional")

"""The release-level test: what is released has k seeds surely, and nothing else of the seeds is kept."""

import copy
import math
import pickle
from dataclasses import fields, is_dataclass
from types import SimpleNamespace

import numpy as np
import oracles
import pytest
from doors import release_seeds
from release_cases import SEEDS, network, state

from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.mechanism.privacy_tests.release_level import ReleaseTest
from sdv_plausible.models.base import PrefixModel, SeedModel
from sdv_plausible.privacy.accounting.losses import ReleaseLoss
from sdv_plausible.privacy.ledger import BudgetExceededError, PrivacyLedger
from sdv_plausible.privacy.noise import mechanisms as noise
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.noise.mechanisms import record_calls
from sdv_plausible.queries.count_queries import CodeArray
from sdv_plausible.queries.queryable import Queryable
from tests.flat import bound

TEST = bound(ReleaseTest, k=8, epsilon0=1.0, delta=0.01)


def arrays(value):
    if isinstance(value, np.ndarray):
        return [value]
    if is_dataclass(value):
        return [a for f in fields(value) for a in arrays(getattr(value, f.name))]
    return [a for v in value for a in arrays(v)] if isinstance(value, (list, tuple)) else []


def true_size(part, prefix):
    return oracles.prefix_size(SEEDS[:, network().order], prefix, part.kept)


@pytest.mark.parametrize("omega", [0, 1, 2, 3, (1, 3), (0, 4), "all"])
def test_every_released_prefix_has_k_true_seeds(omega):
    for seed in range(3):
        released = release_seeds(network(), SEEDS, omega, TEST, KeyedRNG.from_seed(seed))
        for part in released.parts:
            assert all(true_size(part, p) >= TEST.k for p in part.prefixes if part.kept)
            assert (part.sizes >= TEST.k + TEST.margin).all() or part.kept == 0
            assert part.prefixes.tolist() == sorted(part.prefixes.tolist())  # the seeds' order does not show


def without_pre_threshold(sizes, rng):
    """Planted bug: small groups are given noise as well."""
    noisy = noise.discrete_laplace(sizes, sensitivity=1, epsilon=TEST.epsilon0, rng=rng)
    kept = np.flatnonzero(noisy >= TEST.k + TEST.margin)
    return kept, noisy[kept]


def test_without_the_pre_threshold_smaller_groups_leave():
    """Control. A group of 7 needs noise of 6, 1 in 550: of 2,000 none leaves with a chance of e^-3.6; fixed coins."""
    sizes = np.full(2000, TEST.k - 1)
    for seed in range(5):
        assert not len(TEST.release(sizes, KeyedRNG.from_seed(seed))[0])
    assert any(len(without_pre_threshold(sizes, KeyedRNG.from_seed(seed))[0]) for seed in range(5))


def test_a_record_in_a_small_group_leaves_no_trace_at_all():
    """With it or without, what is kept is the same to the last byte. Control: without pre-threshold it is not."""
    canary = np.array([[1, 2, 3, 2]], dtype=SEEDS.dtype)
    first = list(network().order[:3])
    rest = SEEDS[~(SEEDS[:, first] == canary[0, first]).all(axis=1)]
    canaries = np.concatenate([rest, *[canary] * (TEST.k - 1)])
    leaky = SimpleNamespace(
        release=without_pre_threshold, charge=TEST.charge, least_seeds=1, epsilon0=TEST.epsilon0, delta=TEST.delta,
        neighbours=TEST.neighbours,
    )  # fmt: skip

    def kept(seeds, test):
        return pickle.dumps(release_seeds(network(), seeds, 1, test, KeyedRNG.from_seed(3)))

    assert kept(canaries, TEST) == kept(rest, TEST)
    assert kept(canaries, leaky) != kept(rest, leaky)


def test_what_is_kept_are_prefixes_and_noisy_sizes_only():
    for omega in (1, 2, (1, 3)):
        released = release_seeds(network(), SEEDS, omega, TEST, KeyedRNG.from_seed(0))
        assert any(len(part.sizes) for part in released.parts)
        for part in released.parts:
            assert part.kept < 4
            assert {a.shape for a in arrays(part)} == {part.prefixes.shape, part.sizes.shape}
            assert part.prefixes.shape == (len(part.sizes), part.kept)
            assert len({tuple(p) for p in part.prefixes.tolist()}) == len(part.prefixes)
            assert part.prefixes.base is None or not np.shares_memory(part.prefixes, SEEDS)
            sizes = [true_size(part, p) for p in part.prefixes]
            assert part.sizes.tolist() != sizes or not sizes


def test_the_seeds_order_does_not_show_and_every_seed_serves_one_part_of_a_range():
    """Parts are disjoint: with tiny noise the released sizes of all parts add up to the seeds at most."""
    shuffled = SEEDS[np.random.default_rng(0).permutation(len(SEEDS))]
    draws = [release_seeds(network(), s, 1, TEST, KeyedRNG.from_seed(1)) for s in (SEEDS, shuffled)]
    assert pickle.dumps(draws[0]) == pickle.dumps(draws[1])
    exact = bound(ReleaseTest, k=1, epsilon0=50.0, delta=0.5)
    released = release_seeds(network(), SEEDS, (1, 4), exact, KeyedRNG.from_seed(0))
    totals = [int(part.sizes.sum()) for part in released.parts if part.kept]
    assert sum(totals) < len(SEEDS)
    assert min(totals) > 20  # about a quarter of 300, less the groups of one
    whole = release_seeds(network(), SEEDS, 1, exact, KeyedRNG.from_seed(0))
    assert whole.parts[0].sizes.sum() > 250


def test_rows_and_conditional_rows_start_with_released_prefixes():
    net = network()
    released = release_seeds(net, SEEDS, 2, TEST, KeyedRNG.from_seed(0))
    prefixes = {tuple(p) for p in released.parts[0].prefixes.tolist()}
    order = list(net.order[:2])
    before = copy.deepcopy(state(released))
    given = released.sample_given(300, {2: 3}, net, KeyedRNG.from_seed(1))
    for rows in (given, released.sample(300, net, KeyedRNG.from_seed(1))):
        assert len(rows) == 300
        assert {tuple(r) for r in rows[:, order].tolist()} <= prefixes
    assert (given[:, 2] == 3).all()
    assert state(released) == before


def chance_of_release(test, size, monkeypatch):
    """Probability that a group of so many seeds is released: all noise is tried, its law is a^|z| (1 - a) / (1 + a)."""
    a, reach, total = math.exp(-test.epsilon0), 400, 0.0
    for z in range(-reach, reach + 1):
        with monkeypatch.context() as patch:
            patch.setattr(noise, "discrete_laplace", lambda values, **_: values + z)  # noqa: B023
            released, sizes = test.release(np.array([size]), KeyedRNG.from_seed(0))
        assert sizes.tolist() == [size + z] * len(released)
        total += len(released) * a ** abs(z) * (1 - a) / (1 + a)
    return total


@pytest.mark.parametrize("epsilon0", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("delta", [0.2, 1e-3, 1e-6])
def test_a_group_that_first_reaches_k_is_released_as_seldom_as_charged(epsilon0, delta, monkeypatch):
    """Theorem 2 of docs/explanation/proofs/release_test.md. Control: a margin one smaller releases it more often."""
    test = bound(ReleaseTest, k=8, epsilon0=epsilon0, delta=delta)
    assert chance_of_release(test, 7, monkeypatch) == 0
    entered = chance_of_release(test, 8, monkeypatch)
    assert entered <= delta * (1 + 1e-9)
    assert chance_of_release(test, 8 + 2 * test.margin, monkeypatch) > 1 - delta * (1 + 1e-9)
    if test.margin > 1:
        margin = test.margin - 1
        monkeypatch.setattr(ReleaseTest, "margin", property(lambda self: margin))
        assert chance_of_release(test, 8, monkeypatch) > delta


def test_the_noise_is_what_is_charged():
    """One call for all groups that are large enough, none for others; one entry pays for any number of rows."""
    with record_calls() as calls:
        TEST.release(np.array([3, 8, 700, 7, 9]), KeyedRNG.from_os_entropy())
        released, sizes = TEST.release(np.array([1, 7]), KeyedRNG.from_os_entropy())
    (call,) = calls
    assert len(released) == len(sizes) == 0
    assert (call.name, call.source, call.shape) == ("discrete_laplace", "opendp", (3,))
    assert (call.sensitivity, call.budget) == (1.0, TEST.epsilon0)
    (entry,) = TEST.charge(4.0)
    assert entry.losses == (ReleaseLoss(epsilon0=TEST.epsilon0, delta=TEST.delta),)
    assert entry.parts == ("seeds",)
    assert TEST.charge(1.0) == TEST.charge(4.0)  # gamma plays no part
    (free,) = bound(ReleaseTest, k=8, epsilon0=1.0, delta=0.01, uses_seeds=False).charge(4.0)
    assert (free.losses, free.status) == ((), "declared")


def test_a_door_pays_for_one_release_of_groups():
    codes, ledger = CodeArray(SEEDS, (2, 3, 4, 3)), PrivacyLedger(delta=1e-6)
    rows = Queryable(codes, ledger, TEST.charge(1.0), KeyedRNG.from_seed(0))
    TEST.start(network(), rows, Omega.parse(1), KeyedRNG.from_seed(1))
    with pytest.raises(BudgetExceededError):
        TEST.start(network(), rows, Omega.parse(1), KeyedRNG.from_seed(1))


def test_what_the_test_is_usually_and_what_it_needs():
    test = ReleaseTest()
    assert (test.k, test.epsilon0, test.omega) == (50, 1.0, None)
    assert test.has_delta  # else no share of delta would be set aside for it
    assert [ReleaseTest(omega=omega).uses_seeds for omega in (None, "all", 1)] == [False, False, True]
    TEST.check_model(PrefixModel)
    with pytest.raises(ValueError, match=r"^test \('release'\) needs a model with prefix groups"):
        TEST.check_model(SeedModel)

"""Mechanism 1 and its release-level form: what leaves, in which order, and what is kept."""

from __future__ import annotations

import copy
import pickle
import re
from dataclasses import fields, is_dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import oracles
import pytest
from doors import release_seeds
from scipy.stats import binom

from sdv_plausible.models.base import Proposals
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.models.conditional_table import ConditionalTable
from sdv_plausible.models.omega import Omega
from sdv_plausible.privacy.noise import mechanisms as noise
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.questions.codes import CodeArray
from sdv_plausible.questions.queryable import SeedRecords
from sdv_plausible.release.fitting import split_rows
from sdv_plausible.release.mechanism import PlausibleDeniabilityMechanism, TooFewReleasedError
from sdv_plausible.release.release_level import ReleaseTest
from sdv_plausible.release.released_prefixes import ReleasedPrefixes
from sdv_plausible.release.row_tests import DeterministicTest, RandomizedTest

CARDS = (2, 3, 4, 3)


def network() -> BayesianNetwork:
    rng = np.random.default_rng(1)

    def table(child, parents=()):
        p = rng.dirichlet(np.ones(CARDS[child]), int(np.prod([CARDS[j] for j in parents], dtype=int)))
        buckets = tuple(np.arange(CARDS[j]) for j in parents)
        return ConditionalTable(child=child, parents=parents, buckets=buckets, probabilities=p)

    return BayesianNetwork([table(0), table(3, (0,)), table(1, (3, 0)), table(2, (1,))])


SEEDS = network().sample(300, Coins.from_seed(2))


class Watched:
    """A model that passes everything on and remembers what was proposed."""

    def __init__(self) -> None:
        self.inner = network()
        self.inner.attach_seeds(SeedRecords(SEEDS))
        self.proposals: list[Proposals] = []

    def propose(self, rows, omega, coins):
        self.proposals.append(self.inner.propose(rows, omega, coins))
        return self.proposals[-1]

    def count_plausible(self, proposals, gamma):
        return self.inner.count_plausible(proposals, gamma)

    @property
    def order(self):
        return self.inner.order

    @property
    def num_attributes(self):
        return self.inner.num_attributes


def mechanism(test, omega=1, model=None, **options) -> PlausibleDeniabilityMechanism:
    if model is None:
        model = network()
        model.attach_seeds(SeedRecords(SEEDS))
    return PlausibleDeniabilityMechanism(model=model, num_seeds=len(SEEDS), test=test, omega=Omega.parse(omega), **options)  # fmt: skip


# --- what leaves ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 10, 40])
@pytest.mark.parametrize("omega", [1, 2, (1, 3), (0, 4)])
def test_exactly_the_first_candidates_with_k_plausible_seeds_leave_in_order(k, omega):
    """By definition: k' counted with exact fractions over all seeds, for every candidate that was proposed."""
    model = Watched()
    rows = mechanism(DeterministicTest(k=k, gamma=4.0), omega, model).release(60, Coins.from_seed(4), 10**5)
    wanted = []
    for proposals in model.proposals:
        for y, omega_i in zip(proposals.candidates, proposals.omega, strict=True):
            ordered = [y[j] for j in model.order]
            if oracles.prefix_size(SEEDS[:, model.order], ordered, 4 - int(omega_i)) >= k:
                wanted.append(y.tolist())
        if len(wanted) >= 60:
            break
    assert rows.tolist() == wanted[:60]
    assert rows.shape == (60, 4)


def test_without_the_test_other_rows_would_leave():
    """Control: some candidates have fewer than k plausible seeds, so that the test above can fail."""
    model = Watched()
    mechanism(DeterministicTest(k=1, gamma=4.0), 1, model).release(200, Coins.from_seed(4))
    sizes = model.inner.count_plausible(model.proposals[0], 4.0)
    assert (sizes < 10).any()
    assert (sizes >= 40).any()


def test_the_randomised_test_passes_with_the_probability_of_its_noise():
    """At k' = k the chance is Pr[z >= 0] = 1/(1+a), two below it a^2/(1+a); 20,000 draws, false alarm 1e-6 in all.

    Control: a threshold that is not drawn afresh gives all or nothing.
    """
    test, a = RandomizedTest(k=20, gamma=4.0, epsilon0=0.7), np.exp(-0.7)
    for size, p in ((20, 1 / (1 + a)), (18, a**2 / (1 + a)), (23, 1 - a**4 / (1 + a))):
        passed = int(test.passes(np.full(20_000, size), Coins.from_seed(size)).sum())
        low, high = binom.ppf([2e-7, 1 - 2e-7], 20_000, p)
        assert low <= passed <= high
        one_threshold = 20_000 * int(test.passes(np.array([size]), Coins.from_seed(size))[0])
        assert not low <= one_threshold <= high


def test_no_rows_need_no_proposal():
    model = Watched()
    assert mechanism(DeterministicTest(k=5, gamma=4.0), 1, model).release(0, Coins.from_seed(0)).shape == (0, 4)
    assert not model.proposals


def test_the_seed_free_share_is_the_share_of_proposals_that_resample_all():
    """2,000 draws or more of probability 0.3: false alarm 1e-6. Control: without it no proposal does."""
    for share, inside in ((0.3, True), (0.0, False)):
        model = Watched()
        mechanism(RandomizedTest(k=1, gamma=4.0, epsilon0=1.0), 1, model, seed_free_share=share).release(
            2000, Coins.from_seed(1)
        )
        omega = np.concatenate([p.omega for p in model.proposals])
        low, high = binom.ppf([5e-7, 1 - 5e-7], len(omega), 0.3)
        assert (low <= (omega == 4).sum() <= high) == inside
        assert set(omega.tolist()) <= {1, 4}


# --- what is kept -----------------------------------------------------------------------------------------------------


def state(value: Any, seen: set[int] | None = None) -> Any:
    """Everything an object holds, as plain nested values; derived look-up tables are named by their key only."""
    seen = set() if seen is None else seen
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, (str, bytes, int, float, bool, type(None))):
        return value
    if id(value) in seen:
        return None
    seen.add(id(value))
    if isinstance(value, dict):
        return {str(k): state(v, seen) for k, v in value.items() if k not in ("_log", "_guide", "_levels")}
    if isinstance(value, (list, tuple)):
        return [state(v, seen) for v in value]
    held = {f.name: getattr(value, f.name) for f in fields(value)} if is_dataclass(value) else {}
    return type(value).__name__, state({**held, **getattr(value, "__dict__", {})}, seen)


@pytest.mark.parametrize("test", [DeterministicTest(k=30, gamma=4.0), RandomizedTest(k=30, gamma=4.0, epsilon0=1.0)])
def test_attempts_are_never_stored(test):
    """Only look-up tables that follow from seeds and model (`_log`, `_guide`, `_levels`) may appear."""
    made = mechanism(test, (1, 3))
    before = state(made)
    made.release(50, Coins.from_seed(0), 10**6)
    assert state(made) == before


def test_a_mechanism_that_counts_its_attempts_is_seen():
    """Control of the test above."""

    class Counting(Watched):
        attempts = 0

        def propose(self, rows, omega, coins):
            self.attempts += len(rows)
            return self.inner.propose(rows, omega, coins)

    made = mechanism(DeterministicTest(k=30, gamma=4.0), 1, Counting())
    before = state(made)
    made.release(50, Coins.from_seed(0), 10**6)
    assert state(made) != before


def test_earlier_releases_leave_no_trace_in_later_ones():
    fresh, used = (mechanism(DeterministicTest(k=30, gamma=4.0), (1, 3)) for _ in range(2))
    used.release(500, Coins.from_seed(9), 10**6)
    with pytest.raises(TooFewReleasedError):
        mechanism(DeterministicTest(k=301, gamma=4.0), model=used.model).release(5, Coins.from_seed(9), 10)
    assert (fresh.release(100, Coins.from_seed(1)) == used.release(100, Coins.from_seed(1))).all()


def test_too_few_releases_nothing_and_tells_nothing():
    """Rows that passed before the attempts ran out must not leave; the error names parameters, not what happened."""
    texts = set()
    for k, seed in ((290, 1), (290, 2)):
        made = mechanism(DeterministicTest(k=k, gamma=4.0), 3)
        sizes = made.model.count_plausible(made.model.propose(np.arange(300), np.full(300, 3), Coins.from_seed(0)), 4.0)
        assert sizes.max() < k
        with pytest.raises(TooFewReleasedError) as caught:
            made.release(10, Coins.from_seed(seed), 100)
        assert caught.value.__dict__ == {}
        texts.add(str(caught.value))
    assert len(texts) == 1
    assert set(re.findall(r"\d+", texts.pop())) == {"290", "3"}  # k and omega
    some = mechanism(DeterministicTest(k=int(np.sort(sizes)[-3]), gamma=4.0), 3)
    assert len(some.release(10, Coins.from_seed(1))) == 10
    with pytest.raises(TooFewReleasedError):
        some.release(10_000, Coins.from_seed(1), 100)


# --- the release test -------------------------------------------------------------------------------------------------

TEST = ReleaseTest(k=8, epsilon0=1.0, delta=0.01)


def arrays(value: Any) -> list[np.ndarray]:
    if isinstance(value, np.ndarray):
        return [value]
    if is_dataclass(value):
        return [a for f in fields(value) for a in arrays(getattr(value, f.name))]
    return [a for v in value for a in arrays(v)] if isinstance(value, (list, tuple)) else []


def true_size(part: ReleasedPrefixes, prefix: np.ndarray) -> int:
    order = network().order
    return oracles.prefix_size(SEEDS[:, order], prefix, part.kept)


@pytest.mark.parametrize("omega", [0, 1, 2, 3, (1, 3), (0, 4), "all"])
@pytest.mark.parametrize("seed", range(3))
def test_every_released_prefix_has_k_true_seeds(omega, seed):
    released = release_seeds(network(), SEEDS, omega, TEST, Coins.from_seed(seed))
    for part in released.parts:
        assert all(true_size(part, p) >= TEST.k for p in part.prefixes if part.kept)
        assert (part.sizes >= TEST.k + TEST.margin).all() or part.kept == 0
        assert part.prefixes.tolist() == sorted(part.prefixes.tolist())  # the seeds' order does not show


def without_pre_threshold(sizes: np.ndarray, coins: Coins) -> tuple[np.ndarray, np.ndarray]:
    """Planted bug: small groups are given noise as well."""
    noisy = noise.discrete_laplace(sizes, sensitivity=1, epsilon=TEST.epsilon0, coins=coins)
    kept = np.flatnonzero(noisy >= TEST.k + TEST.margin)
    return kept, noisy[kept]


def test_without_the_pre_threshold_smaller_groups_leave():
    """Control. A group of 7 needs noise of 6 or more: about 1 in 550 each, 2,000 groups of 7 are tried.

    None of them gets out with probability below e^-3.6 only, but the coins are fixed and one does.
    """
    sizes = np.full(2000, TEST.k - 1)
    for seed in range(5):
        assert not len(TEST.release(sizes, Coins.from_seed(seed))[0])
    assert any(len(without_pre_threshold(sizes, Coins.from_seed(seed))[0]) for seed in range(5))


def test_a_record_in_a_small_group_leaves_no_trace_at_all():
    """Whether it is there or not, what is kept is the same to the last byte. Control: without pre-threshold it is not."""
    canary = np.array([[1, 2, 3, 2]], dtype=SEEDS.dtype)
    rest = SEEDS[~(SEEDS[:, network().order[:3]] == canary[0, list(network().order[:3])]).all(axis=1)]
    canaries = np.concatenate([rest, *[canary] * (TEST.k - 1)])
    leaky = SimpleNamespace(
        release=without_pre_threshold,
        charge=TEST.charge,
        least_seeds=1,
        epsilon0=TEST.epsilon0,
        delta=TEST.delta,
    )

    def kept(seeds: np.ndarray, test: Any) -> bytes:
        return pickle.dumps(release_seeds(network(), seeds, 1, test, Coins.from_seed(3)))

    assert kept(canaries, TEST) == kept(rest, TEST)
    assert kept(canaries, leaky) != kept(rest, leaky)


@pytest.mark.parametrize("omega", [1, 2, (1, 3)])
def test_what_is_kept_are_prefixes_and_noisy_sizes_only(omega):
    released = release_seeds(network(), SEEDS, omega, TEST, Coins.from_seed(0))
    assert any(len(part.sizes) for part in released.parts)
    for part in released.parts:
        assert part.kept < 4
        assert {a.shape for a in arrays(part)} == {part.prefixes.shape, part.sizes.shape}
        assert part.prefixes.shape == (len(part.sizes), part.kept)
        assert len({tuple(p) for p in part.prefixes.tolist()}) == len(part.prefixes)
        assert part.prefixes.base is None or not np.shares_memory(part.prefixes, SEEDS)
        sizes = [true_size(part, p) for p in part.prefixes]
        assert part.sizes.tolist() != sizes or not sizes


def test_the_seeds_order_and_further_copies_do_not_show():
    shuffled = SEEDS[np.random.default_rng(0).permutation(len(SEEDS))]
    draws = [release_seeds(network(), s, 1, TEST, Coins.from_seed(1)) for s in (SEEDS, shuffled)]
    assert pickle.dumps(draws[0]) == pickle.dumps(draws[1])


def test_every_seed_serves_one_part_of_a_range():
    """Parts are disjoint: with tiny noise the released sizes of all parts add up to the seeds at most."""
    exact = ReleaseTest(k=1, epsilon0=50.0, delta=0.5)
    released = release_seeds(network(), SEEDS, (1, 4), exact, Coins.from_seed(0))
    totals = [int(part.sizes.sum()) for part in released.parts if part.kept]
    assert sum(totals) < len(SEEDS)
    assert min(totals) > 20  # about a quarter of 300, less the groups of one
    whole = release_seeds(network(), SEEDS, 1, exact, Coins.from_seed(0))
    assert whole.parts[0].sizes.sum() > 250


def test_no_released_group_is_one_clear_error():
    released = release_seeds(network(), SEEDS, 1, ReleaseTest(k=301, epsilon0=1.0, delta=0.01), Coins.from_seed(0))
    with pytest.raises(TooFewReleasedError, match=r"share 3 attributes.*lower k"):
        released.sample(5, network(), Coins.from_seed(0))
    with pytest.raises(TooFewReleasedError, match=r"share 3 attributes.*lower k"):
        released.sample_given(5, {0: 1}, network(), Coins.from_seed(0))


def test_rows_and_conditional_rows_start_with_released_prefixes():
    net = network()
    released = release_seeds(net, SEEDS, 2, TEST, Coins.from_seed(0))
    prefixes = {tuple(p) for p in released.parts[0].prefixes.tolist()}
    order = list(net.order[:2])
    before = copy.deepcopy(state(released))
    for rows in (released.sample(300, net, Coins.from_seed(1)), released.sample_given(300, {2: 3}, net, Coins.from_seed(1))):
        assert len(rows) == 300
        assert {tuple(r) for r in rows[:, order].tolist()} <= prefixes
    assert (rows[:, 2] == 3).all()
    assert state(released) == before


# --- the split --------------------------------------------------------------------------------------------------------


def test_a_split_is_disjoint_secret_and_in_proportion():
    """10,000 rows: false alarm 1e-6 for each part. Parts below 1 in all leave rows unused."""
    rows, shares = CodeArray(np.arange(10_000).reshape(-1, 1), [10_000]), (0.2, 0.3, 0.4)

    def parts(seed: int) -> dict[str, list[int]]:
        split = split_rows(rows, shares, Coins.from_seed(seed))
        return {name: part.records()[:, 0].tolist() for name, part in split.items()}

    found = parts(0)
    ids = [*found["structure"], *found["parameters"], *found["seeds"]]
    assert len(set(ids)) == len(ids)
    assert set(found["learning"]) == {*found["structure"], *found["parameters"]}
    for name, share in zip(("structure", "parameters", "seeds"), shares, strict=True):
        low, high = binom.ppf([5e-7, 1 - 5e-7], 10_000, share)
        assert low <= len(found[name]) <= high
    assert parts(0) == found
    assert parts(1)["seeds"] != found["seeds"]
    assert all(part is rows for part in split_rows(rows, None, Coins.from_seed(0)).values())

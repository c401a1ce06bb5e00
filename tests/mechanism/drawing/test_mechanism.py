"""Mechanism 1: what leaves, in which order, and what is kept."""

import re

import numpy as np
import oracles
import pytest
from release_cases import SEEDS, network, state
from scipy.stats import binom

from sdv_plausible.mechanism.drawing import mechanism as mechanism_module
from sdv_plausible.mechanism.drawing.mechanism import PlausibleDeniabilityMechanism, TooFewReleasedError
from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.mechanism.privacy_tests import randomized
from sdv_plausible.mechanism.privacy_tests.deterministic import DeterministicTest
from sdv_plausible.mechanism.privacy_tests.randomized import RandomizedTest
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.questions.queryable import SeedRecords


class Watched:
    """A model that passes everything on and remembers what was proposed."""

    def __init__(self):
        self.inner = network()
        self.inner.attach_seeds(SeedRecords(SEEDS))
        self.proposals = []

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


def mechanism(test, omega=1, model=None, **options):
    if model is None:
        model = network()
        model.attach_seeds(SeedRecords(SEEDS))
    return PlausibleDeniabilityMechanism(model=model, num_seeds=len(SEEDS), test=test, omega=Omega.parse(omega), **options)  # fmt: skip


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


def test_without_seeds_every_record_is_a_plausible_seed():
    """docs/explanation/proofs/release_test.md, Theorem 3. Control: where one column is kept, fewer are."""
    for omega, every in ((4, True), (3, False)):
        model = Watched()
        mechanism(DeterministicTest(k=1, gamma=1.0), omega, model).release(200, Coins.from_seed(4))
        counts = model.inner.count_plausible(model.proposals[0], 1.0)
        assert (counts == len(SEEDS)).all() == every


def test_no_rows_need_no_proposal():
    model = Watched()
    assert mechanism(DeterministicTest(k=5, gamma=4.0), 1, model).release(0, Coins.from_seed(0)).shape == (
        0,
        4,
    )
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


@pytest.mark.parametrize(
    "test", [DeterministicTest(k=30, gamma=4.0), RandomizedTest(k=30, gamma=4.0, epsilon0=1.0)]
)
def test_attempts_are_never_stored(test):
    """Only look-up tables that follow from seeds and model (``DERIVED``) may appear."""
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
        sizes = made.model.count_plausible(
            made.model.propose(np.arange(300), np.full(300, 3), Coins.from_seed(0)), 4.0
        )
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


def test_every_batch_has_thresholds_of_its_own(monkeypatch):
    """64 discrete Laplace numbers of scale 10 repeat with a chance below 1e-80.

    Control: a test that draws from a stream of a fixed name meets the same thresholds in every batch.
    """
    honest, drawn = randomized.noise.discrete_laplace, []

    def watched(values, **given):
        noisy = honest(values, **given)
        drawn.append(tuple((noisy - values).tolist()))
        return noisy

    monkeypatch.setattr(randomized.noise, "discrete_laplace", watched)
    monkeypatch.setattr(mechanism_module, "BATCH", 64)

    class Named(RandomizedTest):
        def passes(self, plausible_seeds, coins):
            return super().passes(plausible_seeds, coins.spawn("threshold"))

    for law, repeats in ((RandomizedTest, False), (Named, True)):
        drawn.clear()
        mechanism(law(k=30, gamma=4.0, epsilon0=0.1), 1).release(300, Coins.from_seed(3))
        assert len(drawn) >= 5
        assert (len(set(drawn)) < len(drawn)) == repeats

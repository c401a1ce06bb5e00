"""Mechanism 1: what leaves, in which order, and what is kept."""

import re

import numpy as np
import oracles
import pytest
from release_cases import SEEDS, network, state
from scipy.stats import binom, chi2_contingency

from sdv_plausible.mechanism.drawing import mechanism as mechanism_module
from sdv_plausible.mechanism.drawing.mechanism import PlausibleDeniabilityMechanism, TooFewReleasedError
from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.mechanism.privacy_tests import row_tests
from sdv_plausible.mechanism.privacy_tests.row_tests import DeterministicTest, RandomizedTest
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.queryable import SeedRecords


def seeded():
    model = network()
    model.attach_seeds(SeedRecords(SEEDS))
    return model


def watched():
    """A model, and the list of all that it proposes."""
    model, proposals = seeded(), []
    honest = model.propose

    def propose(rows, omega, rng):
        proposals.append(honest(rows, omega, rng))
        return proposals[-1]

    model.propose = propose
    return model, proposals


def mechanism(test, omega=1, model=None, **options):
    return PlausibleDeniabilityMechanism(
        model=model or seeded(), num_seeds=len(SEEDS), test=test, omega=Omega.parse(omega), **options
    )


@pytest.mark.parametrize("omega", [1, 2, (1, 3), (0, 4)])
def test_exactly_the_first_candidates_with_k_plausible_seeds_leave_in_order(omega):
    """By definition: k' counted with exact fractions over all seeds, for every candidate that was proposed."""
    for k in (1, 10, 40):
        model, made = watched()
        made_of = mechanism(DeterministicTest(k=k, gamma=4.0), omega, model)
        rows = made_of.release(60, KeyedRNG.from_seed(4), 10**5)
        wanted, others = [], 0
        for proposals in made:
            for y, omega_i in zip(proposals.candidates, proposals.omega, strict=True):
                ordered = [y[j] for j in model.order]
                if oracles.prefix_size(SEEDS[:, model.order], ordered, 4 - int(omega_i)) >= k:
                    wanted.append(y.tolist())
                else:
                    others += 1
            if len(wanted) >= 60:
                break
        assert rows.tolist() == wanted[:60]
        assert rows.shape == (60, 4)
        assert (others > 0) == (k > 1)  # control: without the test other rows would leave
    made.clear()
    none = mechanism(DeterministicTest(k=5, gamma=4.0), 1, model).release(0, KeyedRNG.from_seed(0))
    assert none.shape == (0, 4)
    assert not made  # no rows need no proposal


def test_without_seeds_every_record_is_a_plausible_seed():
    """docs/explanation/proofs/release_test.md, Theorem 3. Control: where one column is kept, fewer are."""
    for omega, every in ((4, True), (3, False)):
        model, made = watched()
        mechanism(DeterministicTest(k=1, gamma=1.0), omega, model).release(200, KeyedRNG.from_seed(4))
        assert (model.count_plausible(made[0], 1.0) == len(SEEDS)).all() == every


def test_without_seeds_what_passes_is_what_was_proposed():
    """release_test.md, corollary: false alarm 1e-6. Control: where one column is kept, large groups pass more often."""
    test = RandomizedTest(k=len(SEEDS), epsilon0=0.01)  # half of the candidates without a seed pass
    for omega, same in ((4, True), (3, False)):
        model, made = watched()
        rows, first = mechanism(test, omega, model).release(1000, KeyedRNG.from_seed(4)), model.order[0]
        proposed = np.bincount(np.concatenate([p.candidates[:, first] for p in made]))
        passed = np.bincount(rows[:, first])
        assert (chi2_contingency([passed, proposed - passed]).pvalue > 1e-6) == same


def test_the_seed_free_share_is_the_share_of_proposals_that_resample_all():
    """2,000 draws or more of probability 0.3: false alarm 1e-6. Control: without it no proposal does."""
    test = RandomizedTest(k=1, gamma=4.0, epsilon0=1.0)
    for share, inside in ((0.3, True), (0.0, False)):
        model, made = watched()
        mechanism(test, 1, model, seed_free_share=share).release(2000, KeyedRNG.from_seed(1))
        omega = np.concatenate([p.omega for p in made])
        low, high = binom.ppf([5e-7, 1 - 5e-7], len(omega), 0.3)
        assert (low <= (omega == 4).sum() <= high) == inside
        assert set(omega.tolist()) <= {1, 4}


def test_attempts_are_never_stored_and_leave_no_trace_in_later_releases():
    """Only look-up tables that follow from seeds and model (``DERIVED``) may appear. Control: a model that counts."""
    test = DeterministicTest(k=30, gamma=4.0)
    for made, changed in (
        (mechanism(test, (1, 3)), False),
        (mechanism(RandomizedTest(k=30, gamma=4.0, epsilon0=1.0), (1, 3)), False),
        (mechanism(test, 1, seeded()), True),
    ):
        if changed:
            honest, made.model.attempts = made.model.count_plausible, 0

            def counting(proposals, gamma, model=made.model, honest=honest):
                model.attempts += 1
                return honest(proposals, gamma)

            made.model.count_plausible = counting
        before = state(made)
        made.release(50, KeyedRNG.from_seed(0), 10**6)
        assert (state(made) != before) == changed
    fresh, used = (mechanism(DeterministicTest(k=30, gamma=4.0), (1, 3)) for _ in range(2))
    used.release(500, KeyedRNG.from_seed(9), 10**6)
    with pytest.raises(TooFewReleasedError):
        mechanism(DeterministicTest(k=301, gamma=4.0), model=used.model).release(5, KeyedRNG.from_seed(9), 10)
    assert (fresh.release(100, KeyedRNG.from_seed(1)) == used.release(100, KeyedRNG.from_seed(1))).all()


def test_too_few_releases_nothing_and_tells_nothing():
    """Rows that passed before the attempts ran out must not leave; the error names parameters, not what happened."""
    texts = set()
    for k, seed in ((290, 1), (290, 2)):
        made = mechanism(DeterministicTest(k=k, gamma=4.0), 3)
        proposed = made.model.propose(np.arange(300), np.full(300, 3), KeyedRNG.from_seed(0))
        sizes = made.model.count_plausible(proposed, 4.0)
        assert sizes.max() < k
        with pytest.raises(TooFewReleasedError) as caught:
            made.release(10, KeyedRNG.from_seed(seed), 100)
        assert caught.value.__dict__ == {}
        texts.add(str(caught.value))
    assert len(texts) == 1
    assert set(re.findall(r"\d+", texts.pop())) == {"290", "3"}  # k and omega
    some = mechanism(DeterministicTest(k=int(np.sort(sizes)[-3]), gamma=4.0), 3)
    assert len(some.release(10, KeyedRNG.from_seed(1))) == 10
    with pytest.raises(TooFewReleasedError):
        some.release(10_000, KeyedRNG.from_seed(1), 100)


def test_every_batch_has_thresholds_of_its_own(monkeypatch):
    """64 numbers of scale 10 repeat with a chance below 1e-80. Control: a stream of a fixed name repeats them."""
    honest, drawn = row_tests.noise.discrete_laplace, []

    def watched(values, **given):
        noisy = honest(values, **given)
        drawn.append(tuple((noisy - values).tolist()))
        return noisy

    monkeypatch.setattr(row_tests.noise, "discrete_laplace", watched)
    monkeypatch.setattr(mechanism_module, "BATCH", 64)

    class Named(RandomizedTest):
        def passes(self, plausible_seeds, rng):
            return super().passes(plausible_seeds, rng.spawn("threshold"))

    for law, repeats in ((RandomizedTest, False), (Named, True)):
        drawn.clear()
        mechanism(law(k=30, gamma=4.0, epsilon0=0.1), 1).release(300, KeyedRNG.from_seed(3))
        assert len(drawn) >= 5
        assert (len(set(drawn)) < len(drawn)) == repeats

"""Who draws the rows: from released prefixes, or by Mechanism 1 with its records; and what the holder may look at."""

from functools import cache

import numpy as np
import oracles
import pytest
from doors import release_seeds
from release_cases import SEEDS, network

from sdv_plausible.mechanism.drawing import sampler as samplers
from sdv_plausible.mechanism.drawing.mechanism import PlausibleDeniabilityMechanism, TooFewReleasedError
from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.mechanism.drawing.sampler import PrefixSampler, RecordSampler, diagnose, seed_diagnostics
from sdv_plausible.mechanism.privacy_tests.release_level import ReleaseTest
from sdv_plausible.mechanism.privacy_tests.row_tests import DeterministicTest, RandomizedTest
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.queryable import SeedRecords
from tests.flat import bound

ORDER = network().order


def records(test=None, omega=1, gives_up=False):
    model = network()
    model.attach_seeds(SeedRecords(SEEDS))
    test, omega = test or DeterministicTest(k=10, gamma=4.0), Omega.parse(omega)
    mechanism = PlausibleDeniabilityMechanism(model=model, num_seeds=len(SEEDS), test=test, omega=omega)
    return RecordSampler(model=model, rng=KeyedRNG.from_seed(1), mechanism=mechanism, gives_up=gives_up)


def prefixes():
    test = bound(ReleaseTest, k=8, epsilon0=1.0, delta=0.01)
    seeds = release_seeds(network(), SEEDS, 2, test, KeyedRNG.from_seed(0))
    return PrefixSampler(model=network(), rng=KeyedRNG.from_seed(1), seeds=seeds)


def test_rows_of_released_prefixes_are_post_processing():
    """What is drawn is what the released seeds draw, with known values and without; no record and no public seed."""
    drawing, model = prefixes(), network()
    wanted = drawing.seeds.sample(50, model, KeyedRNG.from_seed(4))
    assert (drawing.sample(50, {}, KeyedRNG.from_seed(4)) == wanted).all()
    wanted = drawing.seeds.sample_given(50, {2: 3}, model, KeyedRNG.from_seed(4))
    assert (drawing.sample(50, {2: 3}, KeyedRNG.from_seed(4)) == wanted).all()
    assert not drawing.holds_records
    assert drawing.samples_conditions
    with pytest.raises(ValueError, match=r"diagnose\(\) needs the seed records"):
        diagnose(drawing, 10)
    before = drawing.sample(20, {}, drawing.rng.spawn("call"))
    drawing.set_random_state(73251)
    assert (drawing.sample(20, {}, drawing.rng.spawn("call")) == before).all()


def test_only_without_a_claim_may_a_failure_show(monkeypatch):
    """Control: with a maximum of attempts, the same parameters give up."""
    asked = []
    honest = PlausibleDeniabilityMechanism.release_with_points

    def spy(self, num_rows, rng, max_attempts=None):
        asked.append(max_attempts)
        return honest(self, num_rows, rng, 10 if max_attempts else None)

    monkeypatch.setattr(PlausibleDeniabilityMechanism, "release_with_points", spy)
    assert records().sample(5, {}, KeyedRNG.from_seed(0)).shape == (5, 4)
    records(gives_up=True).sample(5, {}, KeyedRNG.from_seed(0))
    assert asked == [None, samplers.ATTEMPTS_PER_ROW * 5 + samplers.ATTEMPTS]
    with pytest.raises(TooFewReleasedError):
        records(DeterministicTest(k=301, gamma=4.0), gives_up=True).sample(5, {}, KeyedRNG.from_seed(0))
    assert records().holds_records
    assert not records().samples_conditions


@cache
def group_sizes(kept):
    """Size of every seed's own prefix group: what a candidate of a random seed has as plausible seeds."""
    ordered = SEEDS[:, ORDER].tolist()
    return np.array([oracles.prefix_size(ordered, seed, kept) for seed in ordered])


def test_diagnostics_are_quartiles_of_group_sizes():
    """20,000 candidates of random seeds, quartiles within order statistics at 6 deviations: false alarm < 1e-7."""
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match=r"^num_candidates \("):
            diagnose(records(), wrong)
    found = diagnose(records(), 20_000)
    assert found["omega"].tolist() == [4, 3, 2, 1, 0]
    assert found["kept"].tolist() == [0, 1, 2, 3, 4]
    for kept, line in zip(found["kept"], found.itertuples(), strict=True):
        sizes = np.sort(group_sizes(kept))
        for quartile, share in ((line.size_25, 0.25), (line.size_50, 0.5), (line.size_75, 0.75)):
            around = 6 * np.sqrt(share * (1 - share) / 20_000)
            ends = [max(share - around, 0), min(share + around, 1)]
            low, high = np.quantile(sizes, ends, method="inverted_cdf")
            assert low <= quartile <= high
        exact = (sizes >= 10).mean()
        assert abs(line.share_at_least_k - exact) <= 6 * np.sqrt(exact * (1 - exact) / 20_000) + 1e-12


def test_seed_diagnostics_agree_with_the_group_sizes():
    """35 shares within 6 deviations: false alarm below 1e-6."""
    found = seed_diagnostics(records(RandomizedTest(k=10, gamma=4.0, epsilon0=1.0), omega=(1, 2)), 5000)
    assert len(found["plausible_seeds"]) == 2 * 5000  # at the two omegas of the mechanism
    assert set(np.unique(found["plausible_seeds"])) <= set(group_sizes(3)) | set(group_sizes(2))
    assert list(found["pass_rates"]) == [1, 2, 5, 10, 20, 50, 100]
    for k, by_omega in found["pass_rates"].items():
        assert set(by_omega) == {0, 1, 2, 3, 4}
        for omega, share in by_omega.items():
            exact = (group_sizes(4 - omega) >= k).mean()
            assert abs(share - exact) <= 6 * np.sqrt(exact * (1 - exact) / 5000) + 1e-12

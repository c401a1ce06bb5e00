"""The autoencoder as a model: public checks, seeds in latent space, arrays that are refused."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chisquare

from sdv_plausible.extensions.models.latent.autoencoder import WEIGHTS
from sdv_plausible.extensions.models.latent.latent_model import LatentModel, LatentSeeds
from sdv_plausible.extensions.models.latent.training import untrained, with_weights
from sdv_plausible.models.model_checks import check_model
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.plausible_seeds import partition_number
from sdv_plausible.queries.queryable import SeedRecords

CARDS = (3, 2, 4)
BUCKETS = [np.arange(3), np.arange(2), np.array([1, 0, 1, 0])]
WITHIN = [np.ones(3), np.ones(2), np.array([0.25, 0.5, 0.75, 0.5])]
UNIVERSE = np.array(list(itertools.product(*map(range, CARDS))), dtype=np.int32)


def model(latent=2, floor=0.3):
    masses = [np.array([0.2, 0.3, 0.5]), np.array([0.6, 0.4]), np.array([0.5, 0.5])]
    start = untrained(masses, 6, latent, floor, KeyedRNG.from_seed(0))
    weights = 0.8 * np.asarray(
        KeyedRNG.from_seed(2).normal(sum(getattr(start, name).size for name in WEIGHTS))
    )
    return LatentModel(with_weights(start, weights), BUCKETS, WITHIN)


def seeds(made, n=200):
    tested = made.for_row_tests()
    assert isinstance(tested, LatentSeeds)
    tested.attach_seeds(SeedRecords(UNIVERSE[np.asarray(KeyedRNG.from_seed(3).integers(24, n))]))
    return tested


class Unfloored(LatentSeeds):
    """Planted bug: points are drawn with less spread than the floor, and counted as if they had it."""

    def points(self, rows, rng):
        found = super().points(rows, rng)
        return self._means[rows] + np.rint((found - self._means[rows]) * 128) / 256


def test_public_checks_of_the_model_and_of_its_seeds():
    """Seeded coins: no false alarm. Planted: points with half the spread."""
    check_model(model(), CARDS)
    with pytest.raises(AssertionError, match="do not occur as often"):
        check_model(Unfloored(model()), CARDS)


def p_value(apart):
    """Chi-square of records drawn from a point against the decoder's probabilities so far from it."""
    tested, point = seeds(model()), np.array([[1.5, -0.75]])
    made = tested.decoded(np.repeat(point + apart, 20_000, axis=0), KeyedRNG.from_seed(4))
    tables, expected = tested.model.network.decode(point)[0], np.ones(24)
    for j, (bucket, share) in enumerate(zip(BUCKETS, WITHIN, strict=True)):
        whole = tables[tested.model.network.offsets[j] + bucket] * share
        expected *= whole[UNIVERSE[:, j]]
    seen = np.bincount(np.ravel_multi_index(tuple(made.T), CARDS), minlength=24)
    return float(chisquare(seen, expected * 20_000).pvalue)


def test_records_are_decoded_from_the_point():
    """Seeded coins: no false alarm. Control: the decoder at another point."""
    assert p_value(0) > 1e-6 > p_value(0.25)


def follows(tested):
    """Deviations of records from the decoder at their points, weighted by how far it is from its mean."""
    n = 20_000
    made = tested.propose(np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64), KeyedRNG.from_seed(9))
    assert made.latents is not None
    decoded = tested.model.network.decode(made.latents)
    gap, variance = 0.0, 0.0
    for j, (bucket, share) in enumerate(zip(BUCKETS, WITHIN, strict=True)):
        p = decoded[:, tested.model.network.offsets[j] + bucket] * share
        weight = p - p.mean(axis=0)
        mean = (p * weight).sum(axis=1)
        gap += (weight[np.arange(n), made.candidates[:, j]] - mean).sum()
        variance += ((p * weight**2).sum(axis=1) - mean**2).sum()
    return float(gap / np.sqrt(variance))


class FromTheMean(LatentSeeds):
    """Planted bug: the test sees a drawn point, and the record is decoded from the seed's mean."""

    def decoded(self, points, rng):
        return super().decoded(np.broadcast_to(self._means[:1], points.shape), rng)


def test_what_is_proposed_was_decoded_from_the_point_that_is_tested():
    """Seeded coins: no false alarm; a fresh draw would raise one in 10**9. Planted: the seed's mean."""
    made = seeds(model(floor=1.0))
    assert abs(follows(made)) < 6
    planted = FromTheMean(made.model)
    planted.attach_seeds(SeedRecords(made.seeds))
    assert follows(planted) < -20


def test_without_a_seed_the_record_is_the_same_whoever_the_seed_is():
    """All seeds count as plausible for it, so it must not depend on one: same coins, same records."""
    tested, omega = seeds(model()), np.array([3, 0] * 100)
    made = [tested.propose(np.full(200, seed), omega, KeyedRNG.from_seed(10)) for seed in (0, 1)]
    first, second = (proposals.candidates for proposals in made)
    assert (tested.seeds[0] != tested.seeds[1]).any()
    assert (first[omega == 3] == second[omega == 3]).all()
    assert (first[omega == 0] != second[omega == 0]).any()
    assert (tested.count_plausible(made[0], 2.0)[omega == 3] == 200).all()


def test_partition_numbers_do_not_depend_on_blocks():
    tested, every = seeds(model(latent=4)), np.arange(200)
    made = tested.propose(every, np.zeros(200, dtype=np.int64), KeyedRNG.from_seed(5))
    whole = partition_number(tested.log_likelihood(made, every), 2.0)
    for size in (1, 7, 64):
        for rows in np.split(every, range(size, 200, size)):
            assert np.array_equal(partition_number(tested.log_likelihood(made, rows), 2.0), whole[:, rows])
            some = tested.log_likelihood(made.take(rows), every)
            assert np.array_equal(partition_number(some, 2.0), whole[rows])


def test_equal_seeds_are_plausible_for_each_other_at_gamma_1_and_more_with_a_larger_floor():
    """Exact numbers: equal records have equal likelihoods, so at gamma 1 their whole group counts."""
    tested = seeds(model())
    made = tested.propose(np.arange(200), np.zeros(200, dtype=np.int64), KeyedRNG.from_seed(6))
    keys = np.ravel_multi_index(tuple(tested.seeds.T), CARDS)
    same = np.bincount(keys)[keys]
    assert (tested.count_plausible(made, 1.0) >= same).all()
    found = []
    for floor in (0.05, 0.3, 1.0):
        tested = seeds(model(floor=floor))
        made = tested.propose(np.arange(200), np.zeros(200, dtype=np.int64), KeyedRNG.from_seed(8))
        found.append(tested.count_plausible(made, 4.0).mean())
    assert found[0] < found[1] < found[2]


def test_arrays_come_back_and_others_that_make_no_model_are_refused():
    made = model()
    again = LatentModel.from_arrays(made.to_arrays())
    assert (again.sample(50, KeyedRNG.from_seed(1)) == made.sample(50, KeyedRNG.from_seed(1))).all()
    assert again.order == (1, 0, 2)
    for name, array in (
        ("floor", np.array([0.0])),
        ("floor", np.array([0.3, 0.3])),
        ("shape", np.array([6, 3])),
        ("shape", np.array([0, 2])),
        ("means", np.full(14, 0.1)),
        ("means", np.zeros(13)),
        ("buckets", np.array([0, 1, 2, 0, 1, 3, 0, 1, 0])),
        ("buckets", np.array([0, 1, 2, 0, 1, -1, 0, 1, 0])),
        ("buckets", np.zeros(9)),
        ("within", np.ones(9)),
        ("within", np.ones(8)),
        ("within", np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.5, 1.0, 0.5])),
        ("cardinalities", np.array([3, 2, 5])),
        ("cardinalities", np.array([], dtype=np.int64)),
        ("base", np.full(7, 99.0)),
        ("more", np.ones(1)),
    ):
        with pytest.raises(ValueError, match=r"\w"):
            LatentModel.from_arrays({**made.to_arrays(), name: array})
    with pytest.raises(ValueError, match="each column"):
        LatentModel(made.network, BUCKETS[:2], WITHIN[:2])
    with pytest.raises(ValueError, match="floor"):
        LatentModel(replace(made.network, floor=2.0), BUCKETS, WITHIN)
    with pytest.raises(RuntimeError, match="attach_seeds"):
        made.for_row_tests().propose(np.zeros(1, dtype=int), np.zeros(1, dtype=int), KeyedRNG.from_seed(0))

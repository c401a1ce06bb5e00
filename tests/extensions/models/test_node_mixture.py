"""Mixtures over public nodes: the nodes, and the one law of drawing and of likelihood."""

import numpy as np
import pytest

from sdv_plausible.extensions.models.node_mixture import NODES, NodeMixture, even_uniform, nodes
from sdv_plausible.mechanism.drawing.released_prefixes import ReleasedSeeds
from sdv_plausible.models.model_checks import check_model
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG


class Halves(NodeMixture):
    """Two columns that follow the sign of a node's only coordinate, nine times in ten."""

    cardinalities = (2, 2)

    def log_probabilities(self, column):
        right = np.where(nodes(1)[:, 0] > 0, 0.9, 0.1)
        return np.log(np.stack([1 - right, right]))

    def codes_of(self, column, chosen, rng, stratum):
        right = np.exp(self.log_probabilities(column)[1, chosen])
        return (even_uniform(len(chosen), rng, stratum, right) < right).astype(np.int32)


class Careless(Halves):
    """Planted bug: draws a column as if there were no node, and tells the right likelihood."""

    def codes_of(self, column, chosen, rng, stratum):
        return (rng.uniform(len(chosen)) < 0.5).astype(np.int32)


def test_drawing_and_likelihood_agree():
    """Seeded coins: no false alarm. Planted: columns drawn without the node."""
    check_model(Halves(), (2, 2))
    with pytest.raises(AssertionError, match="do not occur as often"):
        check_model(Careless(), (2, 2))


def test_nodes_have_mean_0_and_covariance_1_and_even_numbers_are_one_in_each_stratum():
    for dimensions in (1, 2, 9, 16):
        points = nodes(dimensions)
        np.testing.assert_allclose(points.mean(axis=0), 0, atol=1e-9)
        np.testing.assert_allclose(points.T @ points / NODES, np.eye(dimensions), atol=1e-9)
    drawn = np.sort(even_uniform(64, KeyedRNG.from_seed(0), 64))
    assert (np.floor(drawn * 64) == np.arange(64)).all()


def test_no_weight_is_above_its_bound():
    """Where nothing is kept the bound is the weight, so that every try is accepted."""
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.int32)
    known, most = {1: codes[:, 1]}, Halves().max_log_weight
    weights = [
        Halves().complete_given(codes.copy(), kept, known, KeyedRNG.from_seed(0))[1] for kept in (0, 1)
    ]
    np.testing.assert_allclose(weights[0], most(known, 0))
    assert (weights[1] <= most(known, 1) + 1e-12).all()


def test_known_values_of_each_row_give_the_conditional():
    """Of 4,000 rows .82 are alike, within 5 deviations: false alarm 6e-7. Control: columns drawn without the node."""
    known = {1: np.arange(4000) % 2}
    for model, is_right in ((Halves(), True), (Careless(), False)):
        codes, found = ReleasedSeeds.none().sample_each(known, model, KeyedRNG.from_seed(1))
        assert found.all()
        like = (codes[:, 0] == codes[:, 1]).mean()
        assert (abs(like - 0.82) < 5 * np.sqrt(0.82 * 0.18 / 4000)) == is_right

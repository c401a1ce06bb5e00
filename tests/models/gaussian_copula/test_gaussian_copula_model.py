"""The Gaussian copula on codes: exact likelihoods, right margins and correlations, and arrays that are refused."""

import itertools

import numpy as np
import pytest
from scipy.stats import chisquare, multivariate_normal

from sdv_plausible.models.checks import check_model
from sdv_plausible.models.gaussian_copula.model import CopulaModel
from sdv_plausible.models.node_mixture import NODES
from sdv_plausible.privacy.noise.coins import Coins

LOADINGS = np.array([[0.9, 0.1], [0.8, -0.2], [-0.5, 0.6]])
AXES = [np.array([2, 0, 1]), np.arange(2), np.arange(2)]
MARGINS = [np.array([0.2, 0.3, 0.5]), np.array([0.9, 0.1]), np.array([0.5, 0.5])]
CARDS = (3, 2, 2)


def copula():
    return CopulaModel.of_margins(LOADINGS, AXES, MARGINS)


def universe():
    return np.array(list(itertools.product(*map(range, CARDS))), dtype=np.int32)


def test_likelihood_belongs_to_sampling():
    check_model(copula(), CARDS)


class Forgetful(CopulaModel):
    """Planted bug: draws the node as if nothing had been kept, and tells the right likelihood."""

    def _choose(self, codes, columns, uniform):
        chosen, likely = super()._choose(codes, columns, uniform)
        return (chosen if uniform is None else (uniform * NODES).astype(int)), likely


def test_a_node_drawn_without_the_kept_codes_is_noticed():
    """Control of the check above. Seeded coins: no false alarm."""
    with pytest.raises(AssertionError, match="do not occur as often"):
        check_model(Forgetful.of_margins(LOADINGS, AXES, MARGINS), CARDS)


def test_margins_are_those_given():
    every = np.exp(copula().log_completion(universe(), np.zeros(12, dtype=int)))
    for j, margin in enumerate(MARGINS):
        np.testing.assert_allclose(np.bincount(universe()[:, j], every), margin, atol=1e-5)


def test_pairs_are_those_of_a_normal():
    """Two binary columns: the quadrant of a bivariate normal, by SciPy's integral."""
    model = copula()
    every = np.exp(model.log_completion(universe(), np.zeros(12, dtype=int)))
    both = every[(universe()[:, 1] == 0) & (universe()[:, 2] == 0)].sum()
    rho = model.correlation[1, 2]
    ends = [model.thresholds[1][0], model.thresholds[2][0]]
    assert both == pytest.approx(multivariate_normal([0, 0], [[1, rho], [rho, 1]]).cdf(ends), abs=2e-3)


def test_known_codes_weigh_what_they_are_likely():
    """Importance weights of a kept and a known column against the enumeration."""
    model = copula()
    codes = np.zeros((20_000, 3), dtype=np.int32)
    first = model.order[0]
    drawn, weight = model.complete_given(codes, 1, {0: 1}, Coins.from_seed(4))
    every = np.exp(model.log_completion(universe(), np.full(12, 1)))
    own = universe()[:, first] == 0
    fits = own & (universe()[:, 0] == 1)
    np.testing.assert_allclose(np.exp(weight), every[fits].sum(), rtol=1e-9)
    last = model.order[-1] if model.order[-1] != 0 else model.order[1]
    seen = np.bincount(drawn[:, last], minlength=2)
    wanted = np.bincount(universe()[fits][:, last], every[fits], minlength=2)
    assert chisquare(seen, wanted / wanted.sum() * 20_000).pvalue > 1e-9


def test_a_known_code_that_contradicts_a_kept_one_weighs_nothing():
    model = copula()
    first = model.order[0]
    _, weight = model.complete_given(np.zeros((3, 3), dtype=np.int32), 1, {first: 1}, Coins.from_seed(0))
    assert (weight == -np.inf).all()


def test_more_prefixes_than_a_block():
    """Ten columns of four codes: thousands of prefixes, each with its own weights; the law of one is unmoved."""
    model = CopulaModel.of_margins(np.full((10, 1), 0.7), [np.arange(4)] * 10, [np.full(4, 0.25)] * 10)
    start = model.sample(3_000, Coins.from_seed(0))
    ends = model.complete(start.copy(), 9, Coins.from_seed(1))
    assert (ends[:, :9] == start[:, :9]).all()
    assert np.corrcoef(ends[:, :9].mean(axis=1), ends[:, 9])[0, 1] > 0.5  # 0 if weights went to other rows


def test_systematic_draws_have_the_law_and_lie_more_evenly():
    """Together their margins are nearer than independent draws would be; each follows the law (seeded coins)."""
    model, n = copula(), 4_000
    start = np.zeros((n, 3), dtype=np.int32)
    apart = {}
    for systematic in (False, True):
        made = [model.complete(start.copy(), 0, Coins.from_seed(i), systematic=systematic) for i in range(20)]
        apart[systematic] = np.mean([abs((m[:, 2] == 0).mean() - 0.5) for m in made])
    assert apart[True] < apart[False] / 2
    ends = [model.complete(start[:1].copy(), 0, Coins.from_seed(i), systematic=True)[0] for i in range(2_000)]
    assert np.mean([end[0] == 2 for end in ends]) == pytest.approx(0.5, abs=0.07)  # six deviations


DAMAGE = {
    "too much common": {"loadings": np.array([1.0, 0.1, 0.8, -0.2, -0.5, 0.6])},
    "a code twice": {"axes": np.array([2, 2, 1, 0, 1, 0, 1])},
    "descending": {"thresholds": np.array([0.5, 0.1, 0.0, 0.0])},
    "infinite": {"thresholds": np.array([0.5, np.inf, 0.0, 0.0])},
    "short": {"thresholds": np.array([0.5, 0.6, 0.0])},
    "no codes": {"cardinalities": np.array([3, 0, 2])},
    "no whole numbers": {"cardinalities": np.array([3.0, 2.0, 2.0])},
    "another array": {"code": np.array([1])},
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damaged_arrays_are_refused(what):
    arrays = {**copula().to_arrays(), **DAMAGE[what]}
    with pytest.raises(ValueError, match="must|has"):
        CopulaModel.from_arrays(arrays)

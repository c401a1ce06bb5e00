"""The Gaussian copula on codes: exact likelihoods, right margins and correlations, and arrays that are refused."""

import itertools

import numpy as np
import pytest
from scipy.stats import chisquare, multivariate_normal

from sdv_plausible.extensions.models.gaussian_copula.copula_model import CopulaModel
from sdv_plausible.extensions.models.node_mixture import NODES
from sdv_plausible.models.model_checks import check_model
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

LOADINGS = np.array([[0.9, 0.1], [0.8, -0.2], [-0.5, 0.6]])
AXES = [np.array([2, 0, 1]), np.arange(2), np.arange(2)]
MARGINS = [np.array([0.2, 0.3, 0.5]), np.array([0.9, 0.1]), np.array([0.5, 0.5])]
CARDS = (3, 2, 2)


COPULA = CopulaModel.of_margins(LOADINGS, AXES, MARGINS)


UNIVERSE = np.array(list(itertools.product(*map(range, CARDS))), dtype=np.int32)


class Forgetful(CopulaModel):
    """Planted bug: draws the node as if nothing had been kept, and tells the right likelihood."""

    def _choose(self, codes, columns, uniform):
        chosen, likely = super()._choose(codes, columns, uniform)
        return (chosen if uniform is None else (uniform * NODES).astype(int)), likely


def test_likelihood_belongs_to_sampling():
    """Seeded coins: no false alarm. Planted: a node drawn without the kept codes."""
    check_model(COPULA, CARDS)
    with pytest.raises(AssertionError, match="do not occur as often"):
        check_model(Forgetful.of_margins(LOADINGS, AXES, MARGINS), CARDS)


def test_margins_are_those_given_and_pairs_those_of_a_normal():
    """Two binary columns: the quadrant of a bivariate normal, by SciPy's integral."""
    every = np.exp(COPULA.log_completion(UNIVERSE, np.zeros(12, dtype=int)))
    for j, margin in enumerate(MARGINS):
        np.testing.assert_allclose(np.bincount(UNIVERSE[:, j], every), margin, atol=1e-5)
    both = every[(UNIVERSE[:, 1] == 0) & (UNIVERSE[:, 2] == 0)].sum()
    rho, ends = COPULA.correlation[1, 2], [COPULA.thresholds[1][0], COPULA.thresholds[2][0]]
    assert both == pytest.approx(multivariate_normal([0, 0], [[1, rho], [rho, 1]]).cdf(ends), abs=2e-3)


def test_known_codes_weigh_what_they_are_likely():
    """Importance weights of a kept and a known column against the enumeration."""
    first, *_, last = COPULA.order
    start = np.zeros((20_000, 3), dtype=np.int32)
    drawn, weight = COPULA.complete_given(start, 1, {0: 1}, KeyedRNG.from_seed(4))
    every = np.exp(COPULA.log_completion(UNIVERSE, np.full(12, 1)))
    fits = (UNIVERSE[:, first] == 0) & (UNIVERSE[:, 0] == 1)
    np.testing.assert_allclose(np.exp(weight), every[fits].sum(), rtol=1e-9)
    last = last if last != 0 else COPULA.order[1]
    seen = np.bincount(drawn[:, last], minlength=2)
    wanted = np.bincount(UNIVERSE[fits][:, last], every[fits], minlength=2)
    assert chisquare(seen, wanted / wanted.sum() * 20_000).pvalue > 1e-9
    _, weight = COPULA.complete_given(np.zeros((3, 3), dtype=np.int32), 1, {first: 1}, KeyedRNG.from_seed(0))
    assert (weight == -np.inf).all()  # it contradicts the kept code


def test_more_prefixes_than_a_block():
    """Ten columns of four codes: thousands of prefixes, each with its own weights; the law of one is unmoved."""
    model = CopulaModel.of_margins(np.full((10, 1), 0.7), [np.arange(4)] * 10, [np.full(4, 0.25)] * 10)
    start = model.sample(3_000, KeyedRNG.from_seed(0))
    ends = model.complete(start.copy(), 9, KeyedRNG.from_seed(1))
    assert (ends[:, :9] == start[:, :9]).all()
    assert np.corrcoef(ends[:, :9].mean(axis=1), ends[:, 9])[0, 1] > 0.5  # 0 if weights went to other rows


def test_systematic_draws_have_the_law_and_lie_more_evenly():
    """Together their margins are nearer than independent draws would be; each follows the law (seeded coins)."""
    model, start, apart = COPULA, np.zeros((4_000, 3), dtype=np.int32), {}
    for systematic in (False, True):
        made = [
            model.complete(start.copy(), 0, KeyedRNG.from_seed(i), systematic=systematic) for i in range(20)
        ]
        apart[systematic] = np.mean([abs((m[:, 2] == 0).mean() - 0.5) for m in made])
    assert apart[True] < apart[False] / 2
    ends = [
        model.complete(start[:1].copy(), 0, KeyedRNG.from_seed(i), systematic=True)[0] for i in range(2_000)
    ]
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


def test_damaged_arrays_are_refused():
    for damage in DAMAGE.values():
        with pytest.raises(ValueError, match="must|has"):
            CopulaModel.from_arrays({**COPULA.to_arrays(), **damage})

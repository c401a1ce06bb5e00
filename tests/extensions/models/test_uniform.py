"""The uniform model: every row of the domain equally likely, from no answer at all."""

import numpy as np
import oracles
import pytest
from doors import learn
from networks import FALSE_ALARM
from scipy.stats import chisquare

from sdv_plausible.extensions.models.uniform import Uniform
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.models.model_checks import categorical_domain
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

CARDS = (4, 2, 3)


def test_every_row_is_equally_likely_whatever_the_rows():
    """24 cells, 20,000 draws, seeded; the rows that it was given are all alike."""
    ledger = PrivacyLedger(delta=1e-6)
    rows = np.zeros((50, 3), dtype=np.int32)
    budget = ModelBudget(epsilon=1.0, delta=1e-6)
    net = learn(Uniform(), rows, categorical_domain(CARDS), budget, ledger, KeyedRNG.from_seed(0))
    for y in oracles.universe(CARDS):
        assert float(oracles.likelihood(net.tables, y, y, 3)) == pytest.approx(1 / 24)
    drawn = np.ravel_multi_index(tuple(net.sample(20_000, KeyedRNG.from_seed(1)).T), CARDS)
    assert chisquare(np.bincount(drawn, minlength=24)).pvalue > FALSE_ALARM
    assert (ledger.total(), ledger.claims_privacy) == (0.0, True)
    assert net.order == (1, 2, 0)  # small domains first, as everywhere

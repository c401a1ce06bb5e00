"""The private Gaussian copula: public checks, what is charged is what is drawn, and what it finds."""

import math

import numpy as np
import pytest
from doors import learn

from sdv_plausible.extensions.models.gaussian_copula import copula_learner as learning
from sdv_plausible.extensions.models.gaussian_copula.copula_learner import GaussianCopula
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.models.model_checks import check_learner
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.noise.mechanisms import record_calls
from sdv_plausible.table.columns.domain import Attribute, Domain

CARDS = (4, 3, 10)
KINDS = ("ordinal", "categorical", "ordinal")
COLUMNS = zip("abc", KINDS, CARDS, strict=True)
DOMAIN = Domain(tuple(Attribute(name=name, kind=kind, values=tuple(range(c))) for name, kind, c in COLUMNS))
BUDGET = ModelBudget(epsilon=1.0, delta=1e-6)
FREE = ModelBudget(epsilon=math.inf, delta=1e-6)
CORRELATION = np.array([[1, 0.7, 0.5], [0.7, 1, 0.2], [0.5, 0.2, 1]])


def rows(n):
    z = np.random.default_rng(0).multivariate_normal(np.zeros(3), CORRELATION, n)
    ends = [(-1, 0, 1), (-0.5, 0.5), np.linspace(-2, 2, 9)]
    codes = np.stack([np.searchsorted(e, z[:, j]) for j, e in enumerate(ends)], axis=1)
    codes[:, 1] = np.array([1, 2, 0])[codes[:, 1]]  # categories in no order
    return codes.astype(np.int32)


def fit(codes, budget=BUDGET, ledger=None):
    ledger = ledger or PrivacyLedger(delta=1e-6)
    return learn(GaussianCopula(), codes, DOMAIN, budget, ledger, KeyedRNG.from_seed(1))


def test_public_checks():
    check_learner(GaussianCopula())


@pytest.mark.parametrize(("budget", "tolerance"), [(FREE, 0.03), (BUDGET, 0.05)])
def test_correlations_are_found_up_to_the_sign_of_a_category(budget, tolerance):
    """Seeded coins: no false alarm."""
    found = np.abs(fit(rows(30_000), budget).correlation)
    np.testing.assert_allclose(found, CORRELATION, atol=tolerance)


def test_margins_are_found():
    codes = rows(30_000)
    made = fit(codes).sample(30_000, KeyedRNG.from_seed(2))
    for j, c in enumerate(CARDS):
        apart = np.bincount(made[:, j], minlength=c) - np.bincount(codes[:, j], minlength=c)
        assert np.abs(apart).sum() / 60_000 < 0.02


def drawn():
    """Squares of sensitivity over deviation: as drawn and as charged."""
    ledger = PrivacyLedger(delta=1e-6)
    with record_calls() as calls:
        fit(rows(500), BUDGET, ledger)
    squares = sum((c.sensitivity / c.scale) ** 2 for c in calls if c.name == "discrete_gaussian")
    losses = [loss for entry in ledger.entries for loss in entry.losses]
    return squares, sum(loss.count * loss.sensitivity_over_sigma**2 for loss in losses)


def test_what_is_charged_is_what_is_drawn():
    """Nothing more, and nothing is paid for and left."""
    squares, charged = drawn()
    assert 1 - 1e-6 <= squares / charged <= 1 + 1e-9


def test_the_whole_budget_is_for_as_many_tables_as_are_asked():
    for m in (1, 2, 3):
        few, ledger = Domain(DOMAIN.attributes[:m]), PrivacyLedger(delta=1e-6)
        learn(GaussianCopula(), rows(500)[:, :m], few, BUDGET, ledger, KeyedRNG.from_seed(1))
        counts = {entry.name: loss.count for entry in ledger.entries for loss in entry.losses}
        assert counts == ({"margins": m, "pairs": math.comb(m, 2)} if m > 1 else {"margins": 1})
        assert 0.99 <= ledger.total() <= 1


def test_options_are_checked_and_too_few_rows_give_a_valid_model():
    with pytest.raises(ValueError, match="max_buckets"):
        GaussianCopula(max_buckets=1)
    assert GaussianCopula() == GaussianCopula(max_buckets=10)
    assert GaussianCopula(max_buckets=2).max_buckets == 2
    for n in (0, 1, 3):
        assert (
            len(fit(rows(n), ModelBudget(epsilon=0.01, delta=1e-6)).sample(50, KeyedRNG.from_seed(0))) == 50
        )


def test_scores_know_the_noise_of_a_cell_in_shares_of_the_rows(monkeypatch):
    told, honest = [], learning.latent_scores

    def latent_scores(tables, masses, ordered, noise):
        told.append((noise, max(table.sum() for table in tables.values())))
        return honest(tables, masses, ordered, noise)

    monkeypatch.setattr(learning, "latent_scores", latent_scores)
    with record_calls() as calls:
        fit(rows(30_000))
    ((noise, total),) = told
    assert total == pytest.approx(30_000, rel=0.02)
    assert noise == pytest.approx(calls[-1].scale / 30_000, rel=0.02)

"""The learner of the autoencoder: public checks, what is charged, what it finds, and the way to a file."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from doors import learn

from sdv_plausible import DeterministicTest, PlausibleDeniabilitySynthesizer, metadata_of
from sdv_plausible.extensions.models.latent import latent_learner as learning
from sdv_plausible.extensions.models.latent.autoencoder import WEIGHTS
from sdv_plausible.extensions.models.latent.latent_learner import Latent
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.models.learner_checks import plausible_gamma
from sdv_plausible.models.model_checks import categorical_domain, check_learner
from sdv_plausible.privacy.accounting.composition import compose
from sdv_plausible.privacy.accounting.losses import GaussianLoss
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.noise.mechanisms import record_calls
from sdv_plausible.queries.queryable import NoisyValues
from sdv_plausible.sdv.sdv_versions import from_native, to_native
from tests.flat import values

DOMAIN = categorical_domain((3, 3, 3))
BUDGET = ModelBudget(epsilon=1.0, delta=1e-6)
SMALL = {"steps": 6, "hidden": 6, "latent": 2}


def rows(n):
    rng = KeyedRNG.from_seed(0)
    first, other = np.asarray(rng.integers(3, n)), np.asarray(rng.integers(3, n))
    return np.stack([first, first, other], axis=1).astype(np.int32)


def fit(learner, codes, budget=BUDGET, ledger=None):
    ledger = ledger or PrivacyLedger(delta=budget.delta)
    return learn(learner, codes, DOMAIN, budget, ledger, KeyedRNG.from_seed(1))


@pytest.mark.slow
def test_public_checks():
    check_learner(Latent(**SMALL))


def test_it_finds_what_goes_together():
    """Seeded coins: no false alarm. Independent columns would be equal in a third of the rows."""
    made = fit(Latent(latent=2, hidden=12, steps=60), rows(20_000)).sample(5_000, KeyedRNG.from_seed(2))
    assert (made[:, 0] == made[:, 1]).mean() > 0.55
    assert abs((made[:, 0] == made[:, 2]).mean() - 1 / 3) < 0.05


def test_the_total_is_the_budget_and_the_noise_the_one_that_was_planned():
    """Each answer as its entry says: a share of the margins' budget per column, and a step's of the training's."""
    ledger = PrivacyLedger(delta=1e-6)
    with record_calls() as calls:
        fit(Latent(**SMALL), rows(100), ledger=ledger)
    assert [entry.name for entry in ledger.entries] == ["margins", "training"]
    assert 0.99 <= ledger.total() <= 1
    margins, training = (entry.losses[0] for entry in ledger.entries)
    assert len(calls) == len(DOMAIN) + SMALL["steps"]
    for i, call in enumerate(calls):
        planned = margins if i < len(DOMAIN) else training
        assert call.sensitivity / call.scale == pytest.approx(planned.sensitivity_over_sigma)


class Answers:
    """Stands for the door, without rows: the same noisy answers whatever the table was."""

    def ask_tables(self, sets, shares):
        return [NoisyValues(values=np.array([5.0, 3.0, 2.0]), sigma=1.0) for _ in sets]

    def ask_sampled(self, question, rate):
        size = sum(getattr(question.network, name).size for name in WEIGHTS)
        return NoisyValues(values=np.arange(size) * 1e6, sigma=1.0)


def test_the_model_is_a_function_of_noisy_answers():
    """No number of rows, no batch size: the stand-in has none to give."""
    one, two = (
        Latent(**SMALL).fit(Answers(), DOMAIN, BUDGET, KeyedRNG.from_seed(4)).to_arrays() for _ in "ab"
    )
    assert all(np.array_equal(one[name], two[name]) for name in one)


def test_the_plan():
    """A fifth of what a Gaussian budget buys is for the margins; what was spent before, say on a domain, is counted."""
    margins, training = Latent(**SMALL).plan(DOMAIN, BUDGET)
    (loss,), (steps,) = margins.losses, training.losses
    assert loss.count == len(DOMAIN)
    assert loss.count * loss.sensitivity_over_sigma**2 == pytest.approx(0.2 * BUDGET.gaussian() ** 2)
    assert training.mechanism.startswith(f"{steps.count} sums of clipped gradients")
    spent = (GaussianLoss(sensitivity_over_sigma=0.1),)
    entries = Latent(**SMALL).plan(DOMAIN, ModelBudget(epsilon=1.0, delta=1e-6, spent=spent))
    losses = [loss for entry in entries for loss in entry.losses]
    assert 0.99 <= compose([*spent, *losses], 1e-6) <= 1
    for neighbours in (Neighbours(rows=2, person="home"), Neighbours(replace=True)):
        budget = ModelBudget(epsilon=1.0, delta=1e-6, neighbours=neighbours)
        with pytest.raises(ValueError, match="addition or removal of single rows"):
            Latent().plan(DOMAIN, budget)


def test_too_few_rows_give_a_valid_model():
    for n in (0, 1, 3):
        found = fit(Latent(**SMALL), rows(n), ModelBudget(epsilon=0.05, delta=1e-6))
        assert len(found.sample(50, KeyedRNG.from_seed(0))) == 50
    assert 4 < plausible_gamma(Latent(), 4.0) < 4.00001  # the whole partition counts under the row tests


def test_usual_and_outermost_options():
    usual = {"latent": 4, "hidden": 32, "max_buckets": 10, "steps": 128, "sample": 0.125, "weight": 1.0}
    assert Latent() == Latent(floor=0.2, **usual)
    assert Latent().looks_at_records  # what refuses it where a table stays in parts
    Latent(floor=1 / 32, latent=1, hidden=1, max_buckets=2, steps=1, sample=1.0, weight=0.0)
    Latent(floor=1.0, latent=16, hidden=1024, max_buckets=1024)
    for name, wrong in {
        "floor": [0.0], "latent": [0, 17], "hidden": [0, 1025], "max_buckets": [1, 1025], "steps": [0],
        "sample": [1.5], "weight": [-1.0],
    }.items():  # fmt: skip
        for value in wrong:
            with pytest.raises(ValueError, match=name):
                Latent(**{name: value})


def test_training_starts_from_the_margins_and_their_number_of_rows(monkeypatch):
    told, honest = [], learning.TrainingPlan.run

    def run(self, start, rows, buckets, total, rng):
        told.append((start, buckets, total))
        return honest(self, start, rows, buckets, total, rng)

    monkeypatch.setattr(learning.TrainingPlan, "run", run)
    found = Latent(**SMALL).fit(Answers(), DOMAIN, BUDGET, KeyedRNG.from_seed(4))
    ((start, buckets, total),) = told
    assert total == 10.0
    assert [bucket.tolist() for bucket in buckets] == [[0, 1, 2]] * 3
    np.testing.assert_allclose(np.exp(start.base), [0.5, 0.3, 0.2] * 3, rtol=1e-3)
    assert (start.num_latent, start.embedding.shape[1], start.floor) == (2, 6, 0.2)
    assert all((share == 1).all() for share in found.within)


TABLE = pd.DataFrame(rows(3_000), columns=["a", "b", "c"])
THREE = {"sdtype": "categorical", "range_values": [0, 1, 2], "range_is_nullable": False}
DECLARED = dict.fromkeys("abc", THREE)


def synthesizer(columns=DECLARED, **options):
    options = values(model="latent", model_parameters=SMALL, **{"domain": columns, **options})
    made = PlausibleDeniabilitySynthesizer(metadata_of(columns), **options)
    made.fit(to_native("table", TABLE))
    return made


def test_the_row_tests_look_at_the_point_and_say_so():
    """Known values and kept columns work under the release test."""
    assert len(from_native(synthesizer(omega=1, k=5).sample(10))) == 10
    randomized = {"test": "randomized", "least_rows": 2_000, "row_cap": 100, "k": 20}
    for options in ({"test": "deterministic", "k": 5}, randomized):
        synth = synthesizer(**options)
        assert len(from_native(synth.sample(30))) == 30
        assert "latent point" in str(synth.privacy_ledger())
        assert math.isinf(synth.privacy_ledger().total()) == (options is not randomized)


def test_seeds_are_used_whatever_the_columns_are():
    """No column of a seed is kept, so its number of codes must not decide whether there is a seed at all."""
    for codes, columns in itertools.product((3, 9), ("a", "ab")):
        declared = {name: {**THREE, "range_values": list(range(codes))} for name in columns}
        how = {"model": Latent(**SMALL), "epsilon": math.inf, "test": DeterministicTest(k=5)}
        made = PlausibleDeniabilitySynthesizer(metadata_of(declared), domain=declared, **how)
        made.fit(to_native("table", TABLE[list(columns)]))
        mechanism = made._sampler.mechanism
        omega, _ = mechanism._draw_omega(20, KeyedRNG.from_seed(0))
        assert (omega < len(columns)).all()
        with pytest.raises(RuntimeError, match="raise floor"):  # it is not omega that helps
            mechanism.release(1, KeyedRNG.from_seed(0), max_attempts=0)


def test_what_is_refused_has_cost_nothing():
    """A domain that is learned privately comes first in a fit: it must not be paid for in vain."""
    for options, said in (
        ({"neighbours": "replace_one"}, "latent"),
        ({"person": "a", "rows_per_person": 2}, "latent"),
        ({"test": "deterministic", "omega": 1, "k": 5}, r"omega \(1\).*latent"),
        ({"test": "deterministic", "hidden_omega": True, "k": 5}, "Bayesian network"),
    ):
        columns = {name: {"sdtype": "categorical"} for name in "abc"}
        columns |= {options["person"]: {"sdtype": "id"}} if "person" in options else {}
        with record_calls() as calls, pytest.raises(ValueError, match=said):
            synthesizer(columns, domain=None, **options)
        assert not calls

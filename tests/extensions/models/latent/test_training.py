"""Training: what is asked of the rows, and that it learns."""

import math

import numpy as np
import pytest

from sdv_plausible.extensions.models.latent.autoencoder import WEIGHTS
from sdv_plausible.extensions.models.latent.training import (
    LARGEST_NORM,
    TrainingPlan,
    untrained,
    with_weights,
)
from sdv_plausible.models.count_learning import NO_NOISE
from sdv_plausible.privacy.accounting.losses import InfiniteLoss
from sdv_plausible.privacy.accounting.sampled_gaussian import SampledGaussianLoss
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import BudgetExceededError, PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.noise.mechanisms import record_calls
from sdv_plausible.queries.count_queries import CodeArray
from sdv_plausible.queries.queryable import NoisyValues, Queryable

MASSES = [np.array([0.5, 0.5]), np.array([0.5, 0.5])]
BUCKETS = [np.arange(2), np.arange(2)]
LOSS = SampledGaussianLoss(rate=0.25, sensitivity_over_sigma=0.5, count=10)


def door(n, loss):
    first = np.asarray(KeyedRNG.from_seed(0).integers(2, n))
    codes = np.stack([first, first], axis=1).astype(np.int32)
    entry = LedgerEntry(name="training", mechanism="sums", losses=(loss,), scope="the model", note=NO_NOISE)
    return Queryable(CodeArray(codes, (2, 2)), PrivacyLedger(delta=1e-6), [entry], KeyedRNG.from_seed(1))


def train(rows, steps=10, n=1000):
    start = untrained(MASSES, 8, 1, 0.3, KeyedRNG.from_seed(2))
    return TrainingPlan(steps=steps, sample=0.25, weight=0.5).run(
        start, rows, BUCKETS, n, KeyedRNG.from_seed(3)
    )


def test_it_learns_that_two_columns_are_equal():
    found = train(door(1000, InfiniteLoss()), 150)
    means, levels = found.encode(np.array([[0, 0], [1, 1]]))
    assert abs(means[0, 0] - means[1, 0]) > 1
    shown = found.decode(means)
    equal = shown[:, 0] * shown[:, 2] + shown[:, 1] * shown[:, 3]
    assert (equal > 0.8).all()
    assert levels.shape == (2, 1)


def test_every_step_gets_the_noise_that_was_charged():
    with record_calls() as calls:
        train(door(200, LOSS))
    wanted = ("discrete_gaussian", LARGEST_NORM, 2 * LARGEST_NORM)
    assert [(c.name, c.sensitivity, round(c.scale)) for c in calls] == [wanted] * 10


class Asked:
    """Stands for the door: keeps what is asked, and answers with nothing."""

    def __init__(self):
        self.questions = []

    def ask_sampled(self, question, rate):
        self.questions.append((question, rate))
        size = sum(getattr(question.network, name).size for name in WEIGHTS)
        return NoisyValues(values=np.zeros(size), sigma=1.0)


def test_training_sees_answers_alone_and_draws_new_points_at_every_step():
    """The stand-in has no rows: were anything else asked of it, such as their number, it would have none."""
    rows = Asked()
    train(rows)
    assert [rate for _, rate in rows.questions] == [0.25] * 10
    assert len({question.rng.bytes(16) for question, _ in rows.questions}) == 10


def test_a_step_more_than_was_charged_is_refused():
    with pytest.raises(BudgetExceededError, match="all 10"):
        train(door(200, LOSS), 11)


def test_weights_go_in_and_come_out():
    start = untrained(MASSES, 8, 1, 0.3, KeyedRNG.from_seed(2))
    flat = np.concatenate([getattr(start, name).reshape(-1) for name in WEIGHTS])
    again = with_weights(start, flat)
    assert all(np.array_equal(getattr(start, name), getattr(again, name)) for name in WEIGHTS)
    assert math.isclose(start.base[0], math.log(0.5), abs_tol=1e-3)

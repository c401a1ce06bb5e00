"""Sums over samples at the door: who is in the sample, which noise, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from sdv_plausible.privacy.accounting.losses import GaussianLoss, InfiniteLoss
from sdv_plausible.privacy.accounting.sampled_gaussian import SampledGaussianLoss
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import BudgetExceededError, PrivacyLedger
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.noise.mechanisms import record_calls
from sdv_plausible.queries.count_queries import CodeArray, NumberOfRows
from sdv_plausible.queries.queryable import Queryable

RATE, STEPS, ROWS = 0.25, 40, 1000
LOSS = SampledGaussianLoss(rate=RATE, sensitivity_over_sigma=0.5, count=STEPS)


def door(*losses, neighbours=ONE_ROW):
    entry = LedgerEntry(name="training", mechanism="sums", losses=losses, scope="the model", note="none")
    ledger = PrivacyLedger(delta=1e-6, neighbours=neighbours)
    codes = np.arange(ROWS, dtype=np.int32)[:, None]
    return Queryable(CodeArray(codes, (ROWS,)), ledger, [entry], KeyedRNG.from_seed(0))


class Who:
    """One number for each row: whether it is in the sample."""

    proof = "one row is one number"

    def exact(self, rows):
        return np.bincount(rows.records()[:, 0], minlength=ROWS)

    def sensitivity(self, neighbours):
        return 1.0


def seen(rate):
    rows = door(InfiniteLoss())
    return np.stack([rows.ask_sampled(Who(), rate).values for _ in range(STEPS)])


def test_rows_are_in_a_sample_by_themselves_and_anew_every_time():
    """Seeded coins: no false alarm. Each count lies where a binomial does but for a billionth."""
    found = seen(RATE)
    for counts, tries in ((found.sum(axis=1), ROWS), (found.sum(axis=0), STEPS)):
        low, high = binom.ppf([1e-9, 1 - 1e-9], tries, RATE)
        assert low <= counts.min()
        assert counts.max() <= high
    assert len({tuple(row) for row in found}) == STEPS


def test_a_higher_rate_than_told_would_be_noticed():
    assert seen(1.4 * RATE).sum(axis=1).max() > binom.ppf(1 - 1e-9, ROWS, RATE)


def test_the_noise_is_what_was_charged():
    rows = door(LOSS)
    with record_calls() as calls:
        answer = rows.ask_sampled(Who(), RATE)
    assert [(call.sensitivity, call.scale) for call in calls] == [(1.0, 2.0)]
    assert answer.sigma == 2.0
    assert rows._transcript.answers == ()  # no answer about a sample is written down


def test_one_more_sum_or_a_higher_rate_is_refused():
    rows = door(LOSS)
    for rate in (0.26, 0.0, -1.0, float("nan")):
        with pytest.raises(BudgetExceededError, match="rate"):
            rows.ask_sampled(Who(), rate)
    for _ in range(STEPS):
        rows.ask_sampled(NumberOfRows(), RATE)
    with pytest.raises(BudgetExceededError, match="all 40"):
        rows.ask_sampled(NumberOfRows(), RATE)


class Unseen:
    """Rows that must not be looked at."""

    def __getattr__(self, name):
        raise AssertionError(f"looked at: {name}")


def test_what_is_refused_is_not_looked_at():
    """Every way to be refused, with rows that complain about any look."""
    for losses, unit, rate, words in (
        ((), ONE_ROW, RATE, "exceeds"), ((LOSS,), ONE_ROW, 0.3, "rate"),
        ((GaussianLoss(sensitivity_over_sigma=1.0),), ONE_ROW, RATE, "all 0"),
        ((LOSS,), Neighbours(replace=True), RATE, "addition or removal of single rows"),
        ((LOSS,), Neighbours(rows=2, person="ticket"), RATE, "addition or removal of single rows"),
        ((LOSS,), Neighbours(person="ticket"), RATE, "addition or removal of single rows"),
    ):  # fmt: skip
        rows = door(*losses, neighbours=unit)
        rows._rows = Unseen()
        with pytest.raises((BudgetExceededError, ValueError), match=words):
            rows.ask_sampled(Who(), rate)
    rows = door(LOSS)
    for _ in range(STEPS):
        rows.ask_sampled(NumberOfRows(), RATE)
    rows._rows = Unseen()
    with pytest.raises(BudgetExceededError, match="all 40"):
        rows.ask_sampled(Who(), RATE)


def test_one_sum_is_spent_by_a_look_that_fails_and_by_any_view_of_the_rows():
    """Where a question breaks after it has seen its sample, the sample is not free."""

    class Broken(Who):
        def exact(self, rows):
            raise RuntimeError("broken")

    one = SampledGaussianLoss(rate=RATE, sensitivity_over_sigma=0.5, count=1)
    broken, viewed = door(one), door(one)
    with pytest.raises(RuntimeError, match="broken"):
        broken.ask_sampled(Broken(), RATE)
    viewed.part("structure").ask_sampled(NumberOfRows(), RATE)
    for rows in (broken, viewed.part("parameters")):
        with pytest.raises(BudgetExceededError, match="all 1"):
            rows.ask_sampled(Who(), RATE)


def test_sums_pay_for_nothing_else_and_are_charged_at_once():
    with pytest.raises(BudgetExceededError, match="share"):
        door(LOSS).ask(NumberOfRows(), 0.1)
    with pytest.raises(ValueError, match="charge all"):
        door(LOSS, LOSS)

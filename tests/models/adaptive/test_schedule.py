"""How the adaptive learner shares out its budget: from public numbers alone, never more than all of it."""

import inspect
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible.models.adaptive import schedule
from sdv_plausible.models.adaptive.denoising import shrink_singular_values
from sdv_plausible.models.adaptive.schedule import Schedule
from sdv_plausible.queries.budget_tracker import QueryBudget
from sdv_plausible.table.columns.domain import Attribute, Domain


@settings(max_examples=200)
@given(st.floats(-1e6, 1e12), st.one_of(st.floats(1e-6, 1e3), st.just(math.inf)), st.integers(1, 300))
def test_all_shares_together_are_the_whole_whatever_the_number_of_rows(rows, mu, columns):
    """Also for a noisy number below 0: the number of rows may not decide whether there is an error."""
    made = Schedule.make(rows, QueryBudget(mu=mu), columns)
    rounds = sum(r.score_share + r.pair_share for r in made.rounds)
    rounds += made.sets.score_share + made.sets.table_share if made.sets else 0
    assert schedule.SIZE_SHARE + made.margin_share + rounds == pytest.approx(1.0)
    assert min(made.margin_share, made.pair_share, *(r.pair_share for r in made.rounds)) > 0
    assert sum(r.pair_share for r in made.rounds) == pytest.approx(made.pair_share)
    assert made.most_buckets >= 10
    assert (made.pair_sigma > 0) == math.isfinite(mu)


def test_the_more_power_the_less_goes_into_margins_and_the_finer_the_pairs():
    """Power is rows per unit of noise: more rows at less budget give the same shares."""
    powers = (30, 300, schedule.RICH_POWER, 3 * schedule.RICH_POWER, 1e5)
    made = [Schedule.make(power, QueryBudget(mu=1.0), 10) for power in powers]
    margins, buckets = [s.margin_share for s in made], [s.most_buckets for s in made]
    assert margins == sorted(margins, reverse=True)
    assert buckets == sorted(buckets)
    assert buckets[-1] == 50  # a hundred ages in runs of two: noise is below what wider runs would lose
    assert [len(s.rounds) for s in made] == [1, 1, 1, 2, 2]
    assert [s.worth for s in made] == [2.0, 2.0, 2.0, 1.0, 1.0]
    assert [r.forest for r in made[-1].rounds] == [True, False]
    one, other = (Schedule.make(rows, QueryBudget(mu=mu), 7) for rows, mu in ((1000, 0.5), (5000, 0.1)))
    assert one.margin_share == other.margin_share


def test_sets_are_scored_where_that_can_pay():
    """Few columns or much power; else nothing is kept back for them, and pairs get all."""
    for rows, mu, columns, sets in (
        (20_000, 0.18, 6, True), (24_000, 0.18, 14, True), (24_000, 0.02, 14, False), (500, 0.18, 6, False),
    ):  # fmt: skip
        made = Schedule.make(rows, QueryBudget(mu=mu), columns)
        assert (made.sets is not None) == sets
        if made.sets:
            noise = math.sqrt(made.sets.most / made.sets.score_share) / mu
            assert noise <= schedule.MAX_SCORE_NOISE * rows
            assert made.sets.most >= 4 * columns


def test_a_schedule_is_told_nothing_but_public_numbers():
    """A number of rows (from a noisy answer), the allowance and numbers of columns: no rows, no engine, no door."""
    hints = inspect.get_annotations(Schedule.make.__func__)
    hints.pop("return")
    assert hints == {
        "rows": "float", "allowance": "QueryBudget", "num_columns": "int", "num_ordered": "int"
    }  # fmt: skip


@settings(max_examples=100)
@given(st.lists(st.integers(1, 100), min_size=1, max_size=8), st.integers(0, 2**32 - 1))
def test_margin_shares_give_the_least_noise_over_all_tables(cardinalities, seed):
    """L1 noise of a table of c cells at share s is c / sqrt(s): no other way of sharing out gives less."""
    shares = schedule.margin_shares(cardinalities, 0.4)
    assert shares.sum() == pytest.approx(0.4)
    least = sum(c / math.sqrt(s) for c, s in zip(cardinalities, shares, strict=True))
    rng = np.random.default_rng(seed)
    for _ in range(20):
        other = shares * rng.uniform(0.7, 1.4, len(shares))
        other *= 0.4 / other.sum()
        assert sum(c / math.sqrt(s) for c, s in zip(cardinalities, other, strict=True)) >= least * (1 - 1e-12)


def test_pair_noise_is_about_what_rank_one_denoising_leaves():
    """Seeded: the L1 distance of a denoised link in noise from the link itself, 60 draws, within a factor of 1.6."""
    for a, b in ((2, 2), (4, 4), (10, 10), (5, 30), (20, 20)):
        rng = np.random.default_rng(a * 100 + b)
        left, right = rng.normal(size=a), rng.normal(size=b)
        link = np.outer(left - left.mean(), right - right.mean())
        signal, found = 40 * link / np.sqrt(np.mean(link**2)), []
        for _ in range(60):
            noise = rng.normal(size=(a, b))
            noise -= noise.mean(0) + noise.mean(1, keepdims=True) - noise.mean()  # margins are known
            found.append(np.abs(shrink_singular_values(signal + noise, 1.0) - signal).sum())
        stated = float(schedule.pair_noise(np.array(a), np.array(b)))
        assert np.mean(found) / 1.6 < stated < 1.6 * np.mean(found)


def test_a_forecast_needs_noise_and_no_rows():
    domain = Domain(tuple(Attribute(name=f"x{i}", kind="ordinal", values=tuple(range(5))) for i in range(6)))
    assert schedule.forecast(domain, QueryBudget(mu=math.inf), 1000) is None
    few, many = (schedule.forecast(domain, QueryBudget(mu=0.2), n) for n in (500, 50_000))
    assert few.link > many.link
    assert all(few.columns[name] > many.columns[name] for name in domain.names)

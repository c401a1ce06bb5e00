"""How the adaptive learner shares out its budget: from public numbers alone, never more than all of it."""

import inspect
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible.models.adaptive import schedule
from sdv_plausible.models.adaptive.denoising import shrink_singular_values
from sdv_plausible.questions.budget import Allowance
from sdv_plausible.table.columns.domain import Attribute, Domain


@settings(max_examples=200)
@given(st.floats(-1e6, 1e12), st.one_of(st.floats(1e-6, 1e3), st.just(math.inf)), st.integers(1, 300))
def test_all_shares_together_are_the_whole_whatever_the_number_of_rows(rows, mu, columns):
    """Also for a noisy number below 0: under a guarantee the number of rows may not decide whether there is an error."""
    made = schedule.Schedule.make(rows, Allowance(mu=mu), columns)
    rounds = sum(r.score_share + r.pair_share for r in made.rounds)
    rounds += made.sets.score_share + made.sets.table_share if made.sets else 0
    assert schedule.SIZE_SHARE + made.margin_share + rounds == pytest.approx(1.0)
    assert min(made.margin_share, made.pair_share, *(r.pair_share for r in made.rounds)) > 0
    assert sum(r.pair_share for r in made.rounds) == pytest.approx(made.pair_share)
    assert made.most_buckets >= 10
    assert (made.pair_sigma > 0) == math.isfinite(mu)


def test_the_more_power_the_less_goes_into_margins_and_the_finer_the_pairs():
    made = [
        schedule.Schedule.make(power, Allowance(mu=1.0), 10)
        for power in (30, 300, schedule.RICH, 3 * schedule.RICH, 1e5)
    ]
    margins, buckets = [s.margin_share for s in made], [s.most_buckets for s in made]
    assert margins == sorted(margins, reverse=True)
    assert buckets == sorted(buckets)
    assert buckets[-1] == 50  # a hundred ages in runs of two: noise is below what wider runs would lose
    assert [len(s.rounds) for s in made] == [1, 1, 1, 2, 2]
    assert [s.worth for s in made] == [2.0, 2.0, 2.0, 1.0, 1.0]
    assert [r.forest for r in made[-1].rounds] == [True, False]


@pytest.mark.parametrize(
    ("rows", "mu", "columns", "sets"),
    [(20_000, 0.18, 6, True), (24_000, 0.18, 14, True), (24_000, 0.02, 14, False), (500, 0.18, 6, False)],
)
def test_sets_are_scored_where_that_can_pay(rows, mu, columns, sets):
    """Few columns or much power; else nothing is kept back for them, and pairs get all."""
    made = schedule.Schedule.make(rows, Allowance(mu=mu), columns)
    assert (made.sets is not None) == sets
    if made.sets:
        noise = math.sqrt(made.sets.most / made.sets.score_share) / mu
        assert noise <= schedule.DIM * rows
        assert made.sets.most >= 4 * columns


def test_one_number_decides():
    """Rows per unit of noise: more rows at less budget give the same shares."""
    assert (
        schedule.Schedule.make(1000, Allowance(mu=0.5), 7).margin_share
        == schedule.Schedule.make(5000, Allowance(mu=0.1), 7).margin_share
    )


def test_a_schedule_is_told_nothing_but_public_numbers():
    """A number of rows (from a noisy answer), the allowance and the number of columns: no rows, no engine, no door."""
    hints = inspect.get_annotations(schedule.Schedule.make.__func__)
    assert {name: hint for name, hint in hints.items() if name != "return"} == {
        "rows": "float", "allowance": "Allowance", "num_columns": "int",
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


@pytest.mark.parametrize(("a", "b"), [(2, 2), (4, 4), (10, 10), (5, 30), (20, 20)])
def test_pair_noise_is_about_what_rank_one_denoising_leaves(a, b):
    """Seeded: the L1 distance of a denoised link in noise from the link itself, 60 draws, within a factor of 1.6."""
    rng = np.random.default_rng(a * 100 + b)
    left, right = rng.normal(size=a), rng.normal(size=b)
    left, right = left - left.mean(), right - right.mean()
    signal = 40 * np.outer(left, right) / np.sqrt(np.mean(np.outer(left, right) ** 2))
    found = []
    for _ in range(60):
        noise = rng.normal(size=(a, b))
        noise -= (
            noise.mean(0) + noise.mean(1, keepdims=True) - noise.mean()
        )  # the margins are known from elsewhere
        found.append(np.abs(shrink_singular_values(signal + noise, 1.0) - signal).sum())
    stated = float(schedule.pair_noise(np.array(a), np.array(b)))
    assert np.mean(found) / 1.6 < stated < 1.6 * np.mean(found)


def test_a_forecast_needs_noise_and_no_rows():
    domain = Domain(tuple(Attribute(name=f"x{i}", kind="ordinal", values=tuple(range(5))) for i in range(6)))
    assert schedule.forecast(domain, Allowance(mu=math.inf), 1000) is None
    few, many = (schedule.forecast(domain, Allowance(mu=0.2), n) for n in (500, 50_000))
    assert few.link > many.link
    assert all(few.columns[name] > many.columns[name] for name in domain.names)

"""Which tables are measured: all choices of one size tried, against the ranking."""

import itertools
import math

import numpy as np
import pytest

from sdv_plausible.models.adaptive import schedule
from sdv_plausible.models.adaptive.schedule import worth_measuring


def deviation(share):
    return 3 / math.sqrt(share)


def gain(which, score, price, share):
    """Scores less noise, the share divided for least noise."""
    roots = price[which] ** (1 / 3)
    return float(sum(score[i] - deviation(share * r / roots.sum()) * price[i] for i, r in zip(which, roots, strict=True)))  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_with_equal_prices_no_other_choice_brings_more(seed):
    rng = np.random.default_rng(seed)
    score, price = rng.uniform(0, 200, 7), np.full(7, 5.0)
    chosen, shares = worth_measuring(score, price, 0.5, deviation, 7, np.asarray)
    every = [[i for i in range(7) if mask >> i & 1] for mask in range(1, 2**7)]
    assert gain(chosen.tolist(), score, price, 0.5) == pytest.approx(
        max(gain(w, score, price, 0.5) for w in every)
    )
    assert shares.sum() == pytest.approx(0.5)


def test_no_more_than_most_and_none_that_is_not_to_be_measured():
    score, price = np.array([90.0, -np.inf, 100.0, 80.0]), np.ones(4)
    assert worth_measuring(score, price, 0.5, deviation, 2, np.asarray)[0].tolist() == [2, 0]
    assert worth_measuring(score, price, 0.5, lambda share: 0.0, 4, np.asarray)[0].tolist() == [2, 0, 3]
    assert worth_measuring(np.full(4, -np.inf), price, 0.5, deviation, 4, np.asarray)[0].tolist() == []


def test_nothing_is_chosen_that_is_not_worth_its_noise():
    chosen, shares = worth_measuring(np.array([4.0, 3.0]), np.ones(2), 0.5, deviation, 2, np.asarray)
    assert len(chosen) == len(shares) == 0


def test_only_what_may_be_measured_together():
    score, price = np.array([90.0, 95.0, 100.0]), np.ones(3)
    chosen, _ = worth_measuring(score, price, 0.5, deviation, 3, lambda ranked: ranked[ranked != 2])
    assert chosen.tolist() == [1, 0]


@pytest.mark.parametrize("seed", range(8))
def test_ranking_no_more_than_needed_is_ranking_all(seed):
    """Ties and infinities too; what is kept depends on what came before."""
    rng = np.random.default_rng(seed)
    value = rng.integers(0, 12, 300).astype(float)
    value[rng.random(300) < 0.1] = np.inf
    parts = rng.integers(0, 40, 300)

    def one_of_each(ranked):
        return ranked[np.sort(np.unique(parts[ranked], return_index=True)[1])]

    for keep, k in itertools.product((np.asarray, one_of_each), (1, 2, 7, 39, 40, 41, 299, 300)):
        wanted = keep(np.argsort(value, kind="stable"))[:k]
        assert schedule._first_kept(value, k, keep).tolist() == wanted.tolist()

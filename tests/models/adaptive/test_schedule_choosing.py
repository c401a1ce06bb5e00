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
    noise = [deviation(share * r / roots.sum()) for r in roots]
    return float(sum(score[i] - n * price[i] for i, n in zip(which, noise, strict=True)))


def test_with_equal_prices_no_other_choice_brings_more():
    every = [[i for i in range(7) if mask >> i & 1] for mask in range(1, 2**7)]
    for seed in range(5):
        score, price = np.random.default_rng(seed).uniform(0, 200, 7), np.full(7, 5.0)
        chosen, shares = worth_measuring(score, price, 0.5, deviation, 7, np.asarray)
        best = max(gain(which, score, price, 0.5) for which in every)
        assert gain(chosen.tolist(), score, price, 0.5) == pytest.approx(best)
        assert shares.sum() == pytest.approx(0.5)


def test_no_more_than_most_nothing_that_is_not_worth_its_noise_and_only_what_may_be_together():
    def chosen(score, noise=deviation, most=4, keep=np.asarray):
        score = np.array(score)
        return worth_measuring(score, np.ones(len(score)), 0.5, noise, most, keep)[0].tolist()

    score = [90.0, -np.inf, 100.0, 80.0]
    assert chosen(score, most=2) == [2, 0]
    assert chosen(score, noise=lambda share: 0.0) == [2, 0, 3]
    assert chosen([-np.inf] * 4) == chosen([4.0, 3.0]) == []
    assert chosen([90.0, 95.0, 100.0], keep=lambda ranked: ranked[ranked != 2]) == [1, 0]


def test_ranking_no_more_than_needed_is_ranking_all():
    """Ties and infinities too; what is kept depends on what came before."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        value = rng.integers(0, 12, 300).astype(float)
        value[rng.random(300) < 0.1] = np.inf
        parts = rng.integers(0, 40, 300)

        def one_of_each(ranked, parts=parts):
            return ranked[np.sort(np.unique(parts[ranked], return_index=True)[1])]

        for keep, k in itertools.product((np.asarray, one_of_each), (1, 2, 7, 39, 40, 41, 299, 300)):
            wanted = keep(np.argsort(value, kind="stable"))[:k]
            assert schedule._best_accepted(value, k, keep).tolist() == wanted.tolist()

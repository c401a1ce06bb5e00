"""Mutual information of candidates: by definition, and how far one unit moves it, by brute force."""

import math

import neighbouring
import numpy as np
import oracles
import pytest

from sdv_plausible.extensions.models.datasynthesizer.greedy_bayes import (
    GRID,
    MutualInformation,
    rows_times_information,
)
from sdv_plausible.privacy.neighbours import ONE_ROW
from sdv_plausible.queries.count_queries import Axis, CodeArray

CARDS = (3, 3)
X, Y = (Axis.of_codes(j, c) for j, c in enumerate(CARDS))
COARSE = Axis(1, np.array([0, 0, 1]))


def question(most_rows):
    return MutualInformation([(X, (Y,)), (X, (COARSE,)), (COARSE, (X,))], most_rows)


def test_it_is_mutual_information_by_definition():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 200)
    codes = np.stack([a, np.where(rng.random(200) < 0.5, a, rng.integers(0, 3, 200))], axis=1)
    found = question(1).exact(CodeArray(codes, CARDS)) * GRID / 200
    x, y = codes[:, 0].tolist(), codes[:, 1].tolist()
    coarse = COARSE.buckets[codes[:, 1]].tolist()
    for value, other in zip(found, (y, coarse, coarse), strict=True):
        together = oracles.entropy(list(zip(x, other, strict=True)))
        expected = oracles.entropy(x) + oracles.entropy(other) - together
        assert value == pytest.approx(expected, abs=GRID / 200)
    assert found[1] == found[2]
    assert question(1).exact(CodeArray(np.zeros((0, 2), dtype=np.int32), CARDS)).tolist() == [0, 0, 0]
    assert rows_times_information(np.diag([5, 5])) == pytest.approx(10)


def largest_move(asked, common, relation):
    exact = lambda table: asked.exact(CodeArray(neighbouring.as_codes(table, 2), CARDS))  # noqa: E731
    return neighbouring.largest_move(exact, oracles.universe(CARDS), common, relation, norm=math.inf)


@pytest.mark.parametrize("relation", neighbouring.RELATIONS)
def test_scores_move_no_further_than_stated(relation):
    common = 4 if relation == ONE_ROW else 2
    asked = question(common + relation.rows)
    assert largest_move(asked, common, relation) <= asked.sensitivity(relation)


def test_the_bound_is_reached_and_one_of_fewer_rows_is_caught():
    """Planted: a bound on the rows that is too low. Nothing here is random."""
    for n in (2, 3, 5):
        stated, move = question(n).sensitivity(ONE_ROW), largest_move(question(n), n - 1, ONE_ROW)
        assert stated - 2 <= move <= stated
        assert move > question(n - 1).sensitivity(ONE_ROW)

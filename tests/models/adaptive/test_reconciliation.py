"""Answers that others made, as the learner asks: each column and set once, averaged by the noise of each table."""

import math
from dataclasses import replace

import numpy as np
import pytest

from sdv_plausible.models.adaptive.refitting import CountsWithVariance, reconcile
from sdv_plausible.queries.count_queries import Axis, QueryRecord
from sdv_plausible.queries.transcript import SCALES, SOURCE, NoisyAnswer
from sdv_plausible.table.columns.domain import Attribute, Domain

NAMED = {"a": "wxyz", "b": "uv", "c": "rs"}
DOMAIN = Domain(tuple(Attribute(name=n, kind="categorical", values=tuple(v)) for n, v in NAMED.items()))
CELLS = np.arange(16).reshape(4, 2, 2) * 10 + 100
HALVES = np.array([0, 0, 1, 1])


def answer(*columns, scale=1.0, noise="discrete gaussian", off=0.0, buckets=None, stated=True, kind="counts"):
    """Exact counts over some columns, off by as much in every cell, with the noise that is stated."""
    axes, others = [Axis.of_codes(j, DOMAIN.cardinalities[j]) for j in columns], {0, 1, 2} - {*columns}
    values = np.transpose(CELLS.sum(tuple(others)), np.argsort(np.argsort(columns)))
    if buckets is not None:  # of the first column
        axes[0] = Axis(0, buckets)
        values = np.stack([values[buckets == b].sum(0) for b in np.unique(buckets)])
    asked = QueryRecord(kind=kind, tables=(tuple(axes),), details={SOURCE: "X"} if stated else {})
    return NoisyAnswer(asked=asked, values=values + off, noise=noise, scale=scale, paid_by=("answers",))


def tables(*answers):
    found = reconcile(answers, DOMAIN)
    return {tuple(axis.column for axis in a.asked.tables[0]): a for a in found}


def test_answers_of_one_fit_stay_as_they_are_and_those_of_two_are_averaged():
    own = [answer(*columns, stated=False) for columns in ((0,), (1,), (2,), (0, 1), (0, 1, 2))]
    assert reconcile(own, DOMAIN) == own  # the very objects
    own = [answer(*columns, stated=False) for columns in ((0,), (1,), (2,), (0, 1))]
    found = tables(*own, *(replace(one, values=one.values + 2) for one in own))
    assert [*found] == [(0,), (1,), (2,), (0, 1)]
    np.testing.assert_allclose(found[2,].values, CELLS.sum((0, 1)) + 1)


def test_tables_of_the_same_columns_are_averaged_by_inverse_variance():
    """Whatever their order and the law; planted: a mean that ignores the noise is elsewhere."""
    found = tables(
        answer(0, 1, scale=30.0, off=6.0), answer(1, 0, scale=40.0, noise="discrete laplace"), answer(2),
    )[0, 1]  # fmt: skip
    first, second = 1 / 900, 1 / 3200
    np.testing.assert_allclose(found.values, CELLS.sum(2) + 6 * first / (first + second))
    assert not np.allclose(found.values, CELLS.sum(2) + 3)
    assert found.scale == pytest.approx(1 / math.sqrt(first + second))


def test_columns_without_counts_get_those_that_a_table_adds_up_to():
    """Their mean: of a pair with two cells a line, and a set with four."""
    found = tables(answer(0, 1), answer(0, 1, 2, off=1.0))
    np.testing.assert_allclose(found[0,].values, CELLS.sum((1, 2)) + 4 * (1 / 4) / (1 / 2 + 1 / 4))
    assert found[0,].scale == pytest.approx(1 / math.sqrt(1 / 2 + 1 / 4))
    np.testing.assert_allclose(found[2,].values, CELLS.sum((0, 1)) + 8)
    with pytest.raises(ValueError, match="contain no counts of column 'c': add counts over it"):
        reconcile([answer(0, 1)], DOMAIN)


def test_a_set_gives_its_pairs_where_others_made_it():
    found = tables(answer(0, 1, 2), answer(0, 1, scale=1.0, off=3.0))
    assert [*found] == [(0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2), (0, 1)]
    np.testing.assert_allclose(found[0, 2].values, CELLS.sum(1))
    assert found[0, 1].scale == pytest.approx(1 / math.sqrt(1 / 1 + 1 / 2))
    assert (found[0, 1].values > CELLS.sum(2)).all()
    own = [answer(j, stated=False) for j in range(3)]
    assert (0, 1) not in tables(*own, answer(0, 1, 2, stated=False), answer(2))


def test_tables_on_other_groups_meet_on_groups_that_both_know():
    other = np.array([0, 1, 1, 2])
    singles = [answer(j) for j in range(3)]
    found = tables(*singles, answer(0, 1), answer(0, 1, buckets=HALVES))[0, 1]
    np.testing.assert_array_equal(found.asked.tables[0][0].buckets, HALVES)
    np.testing.assert_allclose(found.values, CELLS.sum(2).reshape(2, 2, 2).sum(1))
    assert found.scale**2 == pytest.approx(1 / (1 / 2 + 1))
    met = tables(*singles, answer(0, 1, buckets=other), answer(0, 2, buckets=HALVES))
    assert {met[key].asked.tables[0][0].size for key in ((0, 1), (0, 2))} == {1}
    alone = tables(answer(0, 1, buckets=HALVES), answer(2))[0,]  # codes of a group share what it has
    np.testing.assert_allclose(alone.values, CELLS.sum((1, 2)).reshape(2, 2).mean(1).repeat(2))


def test_a_guess_takes_what_is_lacking_and_spoils_nothing_else():
    """Planted: moved alike, as if every count were as sure, the others are off."""
    known = answer(0, 1)
    values, scales = known.values.astype(float), np.ones((4, 2))
    values[3, 1], scales[3, 1] = values[3, 1] + 500, 2000.0
    details = {SOURCE: "X", SCALES: tuple(scales.ravel())}
    guess = replace(known, values=values, asked=replace(known.asked, details=details))
    found = tables(guess, answer(0, scale=0.1), answer(1, scale=0.1), answer(2))[0, 1]
    np.testing.assert_allclose(found.values, CELLS.sum(2), atol=0.1)
    assert found.scale < 10
    alike = CountsWithVariance.of(replace(guess, asked=known.asked)).adjusted_to(
        [CountsWithVariance.of(answer(j)) for j in (0, 1)]
    )
    assert np.abs(alike.counts - CELLS.sum(2))[:3].max() > 50


def test_totals_that_contradict_are_scaled_to_the_mean():
    half = answer(2, scale=3.0)
    half = replace(half, values=half.values // 2)
    with pytest.warns(UserWarning, match="over c.*: the model scales"):
        found = reconcile([answer(0), answer(1), half], DOMAIN, warn=True)
    assert [a.values.sum() for a in found] == pytest.approx([found[0].values.sum()] * 3, rel=0.15)
    assert found[2].scale == pytest.approx(half.scale * found[2].values.sum() / half.values.sum())
    np.testing.assert_allclose(found[2].values / found[2].values.sum(), CELLS.sum((0, 1)) / CELLS.sum())


def test_scores_stay_between_the_pairs_of_their_rounds():
    own = [answer(j, stated=False) for j in range(3)]
    score = answer(0, 1, stated=False, kind="distances")
    given = [*own, score, answer(0, 1, stated=False), score, answer(0, 2, stated=False), answer(1, 2)]
    kinds = [a.asked.kind for a in reconcile(given, DOMAIN)]
    assert kinds == ["counts"] * 3 + ["distances", "counts", "distances", "counts", "counts"]

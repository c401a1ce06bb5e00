"""Questions on codes: their exact answers by plain loops, and how far one unit moves them by brute force."""

from __future__ import annotations

import itertools
import math

import neighbouring
import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible.privacy.neighbours import ONE_ROW
from sdv_plausible.queries.count_queries import (
    Axis,
    CodeArray,
    CountTable,
    L1Distances,
    NumberOfRows,
    ScoreProducts,
    shape,
)

CARDS = (3, 2, 4)
SMALL = (3, 2)
UNIVERSE = oracles.universe(SMALL)
ROWS = st.lists(st.tuples(*(st.integers(0, c - 1) for c in CARDS)), max_size=30)


@st.composite
def axes(draw):
    """Up to three axes, each a column in any buckets; a column may come twice."""
    chosen = draw(st.lists(st.integers(0, 2), max_size=3))
    made = []
    for column in chosen:
        buckets = draw(st.lists(st.integers(0, 2), min_size=CARDS[column], max_size=CARDS[column]))
        made.append(Axis(column, np.array(buckets)))
    return made


def counted(rows, over):
    """A table of counts, one row after another."""
    table = np.zeros(shape(over), dtype=np.int64)
    for row in rows:
        table[tuple(int(axis.buckets[row[axis.column]]) for axis in over)] += 1
    return table


def engine(rows, cards=CARDS):
    return CodeArray(neighbouring.as_codes(tuple(rows), len(cards)), cards)


# --- exact answers ----------------------------------------------------------------------------------------------------


@settings(max_examples=100)
@given(ROWS, axes())
def test_counts_by_plain_loops(rows, over):
    found = CountTable(over).exact(engine(rows))
    assert found.dtype.kind == "i"
    assert found.tolist() == counted(rows, over).tolist()
    assert NumberOfRows().exact(engine(rows)).tolist() == [len(rows)]


@settings(max_examples=100)
@given(ROWS, st.lists(axes(), min_size=1, max_size=4), st.integers(0, 2**32 - 1))
def test_distances_by_plain_loops(rows, sets, seed):
    rng = np.random.default_rng(seed)
    estimates = [np.rint(rng.normal(2, 3, shape(over))) for over in sets]
    found = L1Distances(sets, estimates).exact(engine(rows))
    wanted = []
    for over, estimate in zip(sets, estimates, strict=True):
        cells = zip(counted(rows, over).ravel().tolist(), estimate.ravel().tolist(), strict=True)
        wanted.append(sum(abs(count - guess) for count, guess in cells))
    assert found.dtype.kind == "i"
    assert found.tolist() == wanted


@settings(max_examples=60)
@given(ROWS, st.integers(0, 2**32 - 1))
def test_products_of_scores_by_plain_loops(rows, seed):
    """Of all pairs of columns; the record of the query makes the same query."""
    rng = np.random.default_rng(seed)
    axes = [Axis(j, np.minimum(np.arange(c), 2)) for j, c in enumerate(CARDS)]
    scores = {axis.column: rng.integers(-32, 33, axis.size) for axis in axes}
    query = ScoreProducts([*itertools.combinations(axes, 2), (axes[2], axes[0])], scores)
    wanted = [
        sum(
            int(scores[a.column][a.buckets[row[a.column]]] * scores[b.column][b.buckets[row[b.column]]])
            for row in rows
        )
        for a, b in query.sets
    ]
    for one in (query, ScoreProducts.of(query.asked())):
        found = one.exact(engine(rows))
        assert found.dtype.kind == "i"
        assert found.tolist() == wanted
        assert one.sensitivity(ONE_ROW) == query.sensitivity(ONE_ROW)


def test_a_table_without_an_estimate_is_refused():
    with pytest.raises(ValueError, match="as many as sets"):
        L1Distances([[Axis.of_codes(0, 3)]] * 2, [np.zeros(3)]).exact(engine([(0, 0, 0)]))


@settings(max_examples=50)
@given(ROWS, axes())
def test_the_shape_of_an_answer_does_not_depend_on_the_rows(rows, over):
    assert {CountTable(over).exact(engine(x)).shape for x in (rows, [])} == {shape(over)}
    estimates = [np.zeros(shape(over))] * 3
    assert L1Distances([over] * 3, estimates).exact(engine(rows)).shape == (3,)


def test_axes():
    whole, merged = Axis.of_codes(1, 4), Axis(2, np.array([1, 0, 1]))
    assert (whole.size, whole.is_identity, merged.size, merged.is_identity) == (4, True, 2, False)
    assert shape([whole, merged]) == (4, 2)
    assert not Axis(0, np.array([1, 0])).is_identity  # the same cells in another order
    assert Axis(0, np.zeros(0, dtype=int)).size == 0


# --- sensitivities ----------------------------------------------------------------------------------------------------

ALL_AXES = [
    [],
    [Axis.of_codes(0, 3)],
    [Axis(0, np.array([0, 1, 0]))],
    [Axis.of_codes(0, 3), Axis.of_codes(1, 2)],
    [Axis(0, np.array([1, 0, 1])), Axis.of_codes(1, 2)],
]


def moved(question, relation):
    exact = lambda table: question.exact(engine(table, SMALL))  # noqa: E731
    return neighbouring.largest_move(exact, UNIVERSE, 2, relation)


@pytest.mark.parametrize("relation", neighbouring.RELATIONS, ids=str)
@pytest.mark.parametrize("over", ALL_AXES, ids=len)
def test_counts_move_as_far_as_stated(over, relation):
    """And so far some of them do move: more noise than that would be wasted."""
    question = CountTable(over)
    found = moved(question, relation)
    assert neighbouring.within(found, question.sensitivity(relation))
    if over and not relation.replace:
        assert found == question.sensitivity(relation)
    if len(over) == 2 and relation.replace:
        assert found == pytest.approx(question.sensitivity(relation))


@pytest.mark.parametrize("relation", neighbouring.RELATIONS, ids=str)
def test_the_number_of_rows_moves_as_far_as_stated(relation):
    stated = 0 if relation.replace else NumberOfRows().sensitivity(relation)
    assert moved(NumberOfRows(), relation) == stated


def distances(number):
    """Scores of so many tables against estimates that are far from them, so that all scores move the same way."""
    sets = [ALL_AXES[3], ALL_AXES[4], ALL_AXES[1], ALL_AXES[2]][:number]
    return L1Distances(sets, [np.full(shape(over), -50.0) for over in sets])


def near_distances(seed):
    """Scores against estimates as near to the counts as a learner's are."""
    rng = np.random.default_rng(seed)
    sets = ALL_AXES[1:]
    return L1Distances(sets, [rng.integers(0, 2, shape(over)).astype(float) for over in sets])


@pytest.mark.parametrize("relation", neighbouring.RELATIONS, ids=str)
def test_scores_move_as_far_as_stated(relation):
    far = [distances(number) for number in (1, 2, 4)]
    for question in (*far, *(near_distances(seed) for seed in range(3))):
        found, stated = moved(question, relation), question.sensitivity(relation)
        assert neighbouring.within(found, stated)
        if question in far and not relation.replace:
            assert found == pytest.approx(stated)


PRODUCTS = ScoreProducts([ALL_AXES[3], ALL_AXES[3][::-1]], {0: np.array([3, 0, -3]), 1: np.array([-2, 2])})


@pytest.mark.parametrize("relation", neighbouring.RELATIONS, ids=str)
def test_products_move_as_far_as_stated(relation):
    """Attained: a row of extreme scores, replaced by one of the opposite sign."""
    assert moved(PRODUCTS, relation) == pytest.approx(PRODUCTS.sensitivity(relation))


class MeanScore(ScoreProducts):
    """Planted fault: noise for rows of typical scores."""

    def sensitivity(self, neighbours):
        typical = [np.abs(scores).mean() for scores in self.scores.values()]
        return float(neighbours.histogram_l1 * math.prod(typical) * math.sqrt(len(self.sets)))


class ForgottenRoot(L1Distances):
    """Planted fault: each score moves by one, and the root of their number is forgotten."""

    def sensitivity(self, neighbours):
        return float(neighbours.histogram_l1)


class ForgottenReplacement(CountTable):
    """Planted fault: a row that is replaced leaves a cell and enters another."""

    def sensitivity(self, neighbours):
        return float(neighbours.rows)


class TrueMargins(L1Distances):
    """Planted fault: scores against the product of the rows' own margins, which move as well."""

    def exact(self, rows):
        scores = []
        for table in rows.tables(self.sets):
            expected = np.outer(table.sum(1), table.sum(0)) / max(table.sum(), 1)
            scores.append(np.abs(table - expected).sum())
        return np.array(scores)


def test_planted_faults_are_caught():
    two = distances(2)
    wrong = ForgottenRoot(two.sets, two.estimates)
    assert not neighbouring.within(moved(wrong, ONE_ROW), wrong.sensitivity(ONE_ROW))
    typical = MeanScore(PRODUCTS.sets, PRODUCTS.scores)
    assert not neighbouring.within(moved(typical, ONE_ROW), typical.sensitivity(ONE_ROW))
    margins = TrueMargins([ALL_AXES[3]], [np.zeros((3, 2))])
    assert not neighbouring.within(moved(margins, ONE_ROW), margins.sensitivity(ONE_ROW))
    replaced = ForgottenReplacement(ALL_AXES[3])
    relation = neighbouring.RELATIONS[2]
    assert not neighbouring.within(moved(replaced, relation), replaced.sensitivity(relation))


def test_the_brute_force_meets_every_pair_of_neighbours():
    """Control of the helper: on three values by hand."""
    rows, several, replaced = neighbouring.RELATIONS[:3]
    found = set(neighbouring.pairs("ab", 1, rows))
    assert found == {(tuple(t), tuple(t[:-1])) for t in ("a", "b", "aa", "ab", "ba", "bb")}
    pairs = list(neighbouring.pairs("ab", 0, replaced))
    assert pairs == [((x,), (y,)) for x, y in itertools.product("ab", repeat=2)]
    assert neighbouring.largest_move(lambda t: [len(t)] * 4, "ab", 1, several) == 2 * math.sqrt(4)

"""The engine for arrays in memory: exact counts against plain loops, groups, parts; rows never leave in a pickle."""

from __future__ import annotations

import itertools
import pickle
from collections import Counter

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import Axis, CodeArray

CARDS = (3, 2, 4, 3)
BUCKETS = [np.array([0, 1, 0]), np.array([0, 1]), np.array([1, 0, 2, 1])]
ROWS = st.lists(st.tuples(*(st.integers(0, c - 1) for c in CARDS)), max_size=60)


def array(rows):
    return np.array(rows, dtype=np.int32).reshape(-1, len(CARDS))


@settings(max_examples=60)
@given(ROWS, st.permutations([0, 1, 2]), st.integers(0, 3))
def test_tables_of_parents_in_buckets_and_a_child(rows, order, number):
    """As the paper's learner counts: parents' buckets, first one most significant, then the child's codes."""
    parents = order[:number]
    axes = [*(Axis(p, BUCKETS[p]) for p in parents), Axis.of_codes(3, 3)]
    found = next(CodeArray(array(rows), CARDS).tables([axes])).reshape(-1, 3)
    buckets = [BUCKETS[p].tolist() for p in parents]
    assert found.tolist() == oracles.conditional_counts(rows, 3, 3, parents, buckets)


def test_an_axis_is_the_same_in_whatever_order_it_is_asked_for():
    """Buckets are kept for as long as the axis is: what is kept is not another axis's."""
    rows = CodeArray(array([(0, 1, 2, 0), (2, 0, 3, 1), (1, 1, 0, 2)]), CARDS)
    first, second = Axis(2, np.array([0, 0, 1, 1])), Axis(2, np.array([1, 0, 1, 0]))
    for axes in ([first], [second], [first, second], [second, first], [first]):
        wanted = Counter(tuple(int(a.buckets[code]) for a in axes) for code in (2, 3, 0))
        table = next(rows.tables([axes]))
        assert {cell: n for cell, n in np.ndenumerate(table) if n} == wanted
    assert list(rows.tables([])) == []
    assert next(rows.tables([[]])).tolist() == 3


@settings(max_examples=60)
@given(ROWS, st.permutations([0, 1, 2, 3]), st.integers(1, 4), st.integers(1, 6))
def test_groups_are_the_combinations_that_enough_rows_have(rows, order, number, least):
    columns = order[:number]
    combinations, sizes = CodeArray(array(rows), CARDS).groups(columns, least)
    found = {tuple(c): n for c, n in zip(combinations.tolist(), sizes.tolist(), strict=True)}
    counted = Counter(tuple(row[j] for j in columns) for row in rows)
    assert len(found) == len(sizes)
    assert found == {combination: n for combination, n in counted.items() if n >= least}


def test_groups_whose_keys_outgrow_64_bits():
    cards = (2**31, 2**31, 2**31)
    codes = np.array([[2**31 - 1, 5, 7]] * 3 + [[2**31 - 1, 5, 8]] * 2, dtype=np.int64)
    combinations, sizes = CodeArray(codes, cards).groups([0, 1, 2], 2)
    found = sorted(zip(combinations.tolist(), sizes.tolist(), strict=True))
    assert found == [([2**31 - 1, 5, 7], 3), ([2**31 - 1, 5, 8], 2)]


# --- parts ------------------------------------------------------------------------------------------------------------


def numbered(n):
    return CodeArray(np.arange(n).reshape(-1, 1), [n])


def test_parts_with_ends_in_common_are_disjoint_and_fill_up_their_union():
    """10,000 rows: false alarm 1e-6 for each part."""
    rows, ends = numbered(10_000), [0, 0.1, 0.35, 0.9, 1]
    of = lambda a, b, seed=1: rows.part(a, b, KeyedRNG.from_seed(seed)).records()[:, 0].tolist()  # noqa: E731
    parts = [of(a, b) for a, b in itertools.pairwise(ends)]
    assert sorted(itertools.chain(*parts)) == list(range(10_000))
    for part, (a, b) in zip(parts, itertools.pairwise(ends), strict=True):
        low, high = binom.ppf([5e-7, 1 - 5e-7], 10_000, b - a)
        assert low <= len(part) <= high
    assert of(0.1, 0.9) == sorted(parts[1] + parts[2])
    assert rows.part(0, 1, KeyedRNG.from_seed(1)) is rows
    assert of(0.1, 0.35, seed=2) != parts[1]
    assert rows.part(0.35, 0.35, KeyedRNG.from_seed(1)).num_rows() == 0


def test_which_part_a_row_is_in_does_not_depend_on_its_values():
    codes = np.random.default_rng(0).integers(0, 3, (500, 2))
    one, other = (
        CodeArray(np.column_stack([c, np.arange(500)]), (9, 9, 500)).part(0.2, 0.7, KeyedRNG.from_seed(3))
        for c in (codes, 8 - codes)
    )
    assert one.records()[:, 2].tolist() == other.records()[:, 2].tolist()


def test_rows_do_not_leave_in_a_pickle():
    rows = numbered(3)
    assert (rows.num_rows(), rows.records()[:, 0].tolist()) == (3, [0, 1, 2])
    with pytest.raises(TypeError, match="rows cannot be pickled"):
        pickle.dumps(rows)


@settings(max_examples=60)
@given(ROWS, st.lists(st.lists(st.integers(0, 4), max_size=3), max_size=12))
def test_tables_counted_together_are_those_counted_one_by_one(rows, sets):
    """Pairs, single columns, threes and nothing at all, in buckets and as codes; every set once."""
    every = [*(Axis(j, b) for j, b in enumerate(BUCKETS)), Axis.of_codes(3, 3), Axis.of_codes(0, 3)]
    asked = [[every[i] for i in positions] for positions in sets]
    engine = CodeArray(array(rows), CARDS)
    found = {}
    for positions, tables in engine.tables_together(asked):
        found |= dict(zip(positions.tolist(), tables, strict=True))
    assert sorted(found) == list(range(len(asked)))
    for i, table in enumerate(engine.tables(asked)):
        np.testing.assert_array_equal(found[i], table)

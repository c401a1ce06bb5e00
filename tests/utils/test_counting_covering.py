"""Small tables out of larger ones: every count is that of counting one by one, whatever is chosen."""

from __future__ import annotations

from itertools import combinations
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sdv_plausible.utils.counting as covering
from sdv_plausible.queries.count_queries import Axis, CodeArray
from sdv_plausible.utils.counting import joint_counts


@st.composite
def asked(draw):
    bases = draw(st.lists(st.integers(1, 7), min_size=1, max_size=6))
    n, rng = draw(st.integers(0, 300)), np.random.default_rng(draw(st.integers(0, 99)))
    digits = [rng.integers(0, b, n).astype(rng.choice([np.uint8, np.int32, np.int64])) for b in bases]
    orders = st.permutations(range(len(bases)))
    chosen = orders.flatmap(lambda o: st.integers(0, len(o)).map(lambda k: tuple(o[:k])))
    sets = draw(st.lists(chosen, max_size=12))
    return digits, bases, sets, draw(st.sampled_from([1, 10, 200, 1 << 16])), draw(st.sampled_from([1, 1 << 24]))  # fmt: skip


@given(asked())
@settings(max_examples=150, deadline=None)
def test_every_table_is_that_of_counting_it_alone(case):
    digits, bases, sets, most, bound = case
    small = {"MAX_BLOCK_CELLS": most, "KEYS_AT_ONCE": 64, "MIN_ROWS_PER_CELL": 1, "MAX_TOTAL_CELLS": bound}
    with mock.patch.multiple(covering, **small):
        made = covering.Covering.of(sets, bases, len(digits[0]))
        found = list(made.tables(made.counts(digits, len(digits[0]))))
    assert sorted(i for i, _ in found) == list(range(len(sets)))
    for i, table in found:
        some = [digits[j] for j in sets[i]]
        expected = joint_counts(some, [bases[j] for j in sets[i]]) if some else np.array(len(digits[0]))
        np.testing.assert_array_equal(table, expected)


def test_all_pairs_and_all_sets_of_four_need_few_tables():
    pairs, fours = list(combinations(range(11), 2)), list(combinations(range(11), 4))
    assert len(covering.cover(pairs, [5] * 11, 5**5)) <= 12
    assert len(covering.cover(fours, [4] * 11, 4**7)) <= 35
    bases = [40, 30, 20, 10, 5, 2]
    for block, positions in covering.cover(list(combinations(range(6), 2)), bases, 1000):
        assert np.prod([bases[j] for j in block]) <= 1000 or len(positions) == 1


@pytest.mark.parametrize("fewest", [10, 10_000])
def test_codes_in_memory_give_the_same_tables_either_way(fewest):
    rng, sizes = np.random.default_rng(1), (5, 9, 3, 2)
    codes = np.asfortranarray(np.stack([rng.integers(0, b, 500) for b in sizes], axis=1).astype(np.int32))
    rows, axes = CodeArray(codes, sizes), [Axis(j, np.arange(b)) for j, b in enumerate(sizes)]
    sets = [(), (axes[0],), *combinations(axes, 2), *combinations(axes, 3), (axes[1], axes[0], axes[1])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(covering, "FEWEST_ROWS", fewest)
        found = {}
        for positions, tables in rows.tables_together(sets):
            found |= dict(zip(positions.tolist(), tables, strict=True))
    assert sorted(found) == list(range(len(sets)))
    for i, table in enumerate(rows.tables(sets)):
        np.testing.assert_array_equal(found[i], table)

"""Counting: keys, contingency tables and entropy, by hand and against slow ways."""

from __future__ import annotations

import math
from collections import Counter
from unittest import mock

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdv_plausible.utils import counting
from sdv_plausible.utils.counting import entropy, joint_counts, mixed_radix, pair_counts

BASES = (3, 2, 4)
records = st.lists(st.tuples(*(st.integers(0, base - 1) for base in BASES)), max_size=40)


def columns(rows):
    return list(np.array(rows, dtype=np.int32).reshape(-1, len(BASES)).T)


@given(records)
def test_keys_number_the_cells_in_order(rows):
    expected = [np.ravel_multi_index(row, BASES) for row in rows]
    assert mixed_radix(columns(rows), BASES).tolist() == expected


def test_keys_of_small_integers_do_not_overflow():
    digits = [np.array([2_000_000_000], dtype=np.int32)] * 2
    assert mixed_radix(digits, (2**31, 2**31)).tolist() == [2_000_000_000 * (2**31 + 1)]
    assert digits[0].tolist() == [2_000_000_000]  # the caller's digits are left alone


@given(records)
def test_counts_are_those_of_a_dictionary(rows):
    counted = joint_counts(columns(rows), BASES)
    assert counted.shape == BASES
    assert {cell: n for cell, n in np.ndenumerate(counted) if n} == Counter(rows)


@given(st.lists(st.integers(0, 50), max_size=20))
def test_entropy_against_its_definition(counts):
    values = [value for value, count in enumerate(counts) for _ in range(count)]
    expected = oracles.entropy(values) if values else 0.0
    assert entropy(np.array(counts, dtype=np.int64)) == pytest.approx(expected, abs=1e-12)


def test_entropy_of_equal_and_of_single_cells_is_exact():
    assert entropy(np.array([1, 1, 1, 1])) == 2.0
    assert entropy(np.array([[5, 0], [0, 0]])) == entropy(np.array([0])) == 0.0
    assert {entropy(np.array([n])) for n in range(1, 1000)} == {0.0}  # a constant column has none
    assert entropy(np.array([3, 1])) == pytest.approx(2 - 0.75 * math.log2(3))


# --- many pairs at once -----------------------------------------------------------------------------------------------


@st.composite
def many_pairs(draw):
    """Digits, their bases and pairs of them in any order, the same one and (j, j) too."""
    bases = draw(st.lists(st.integers(1, 9), min_size=1, max_size=6))
    n, seed = draw(st.integers(0, 40)), draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    digits = [rng.integers(0, base, n).astype(np.int16) for base in bases]
    position = st.integers(0, len(bases) - 1)
    return digits, bases, draw(st.lists(st.tuples(position, position), max_size=30))


def differing(digits, bases, pairs):
    """How many pairs are not counted exactly once, exactly as `joint_counts` does."""
    left = dict(enumerate(pairs))
    wrong = 0
    for positions, tables in pair_counts(digits, bases, pairs):
        assert tables.dtype == np.int64
        for i, table in zip(positions.tolist(), tables, strict=True):
            a, b = left.pop(i)
            wanted = joint_counts([digits[a], digits[b]], (bases[a], bases[b]))
            wrong += table.shape != wanted.shape or bool((table != wanted).any())
    return wrong + len(left)


@given(many_pairs(), st.integers(1, 4), st.integers(1, 9), st.sampled_from([0, 9, 1000]), st.sampled_from([0, 2, 99]))  # fmt: skip
def test_many_pairs_are_counted_as_one_by_one(asked, columns_at_once, records_at_once, most_cells, sparse):
    """However they are cut into blocks, and whichever are products."""
    limits = {"COLUMNS_AT_ONCE": columns_at_once, "RECORDS_AT_ONCE": records_at_once, "SPARSE": sparse}
    with mock.patch.multiple(counting, CELLS_OF_PRODUCTS=most_cells, **limits):
        assert differing(*asked) == 0


def test_tables_are_exact_beyond_what_single_precision_can_add_up():
    """2^24 + 3 equal records: their count is odd, and no float32."""
    n = 2**24 + 3
    digits = [np.zeros(n, dtype=np.int8)] * 2
    [(_, tables)] = pair_counts(digits, (2, 2), [(0, 1)])
    assert tables.tolist() == [[[n, 0], [0, 0]]]
    assert int(np.float32(n)) != n  # control


@pytest.mark.parametrize("name", ["_indicators", "_completed", "_products"])
def test_a_planted_error_is_caught(name, monkeypatch):
    """One record too many in a block, one cell of one table, one block left out."""
    whole = getattr(counting, name)

    def broken(*given):
        found = whole(*given)
        match name:
            case "_indicators":
                found[-1, -1] = 1 - found[-1, -1]
            case "_completed":
                found[-1, -1, -1] += 1
            case "_products":
                return whole([digit[:-1] for digit in given[0]], *given[1:])
        return found

    rng = np.random.default_rng(0)
    digits = [rng.integers(0, 3, 50) for _ in range(4)]
    digits = [np.where(np.arange(50) == 49, 0, digit) for digit in digits]  # the last record is no last value
    pairs = [(0, 1), (0, 2), (1, 3), (2, 3)]
    assert differing(digits, [3] * 4, pairs) == 0
    monkeypatch.setattr(counting, name, broken)
    assert differing(digits, [3] * 4, pairs) > 0

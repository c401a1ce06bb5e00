"""Counting: keys, contingency tables and entropy, by hand and against slow ways."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdv_plausible.counting import entropy, joint_counts, mixed_radix

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
    assert all(
        entropy(np.array([n])) == 0.0 for n in range(1, 1000)
    )  # a constant column has none, to the last bit
    assert entropy(np.array([3, 1])) == pytest.approx(2 - 0.75 * math.log2(3))

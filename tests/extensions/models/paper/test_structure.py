"""Structure learning against plain loops: merit and greedy search; and structures that are given."""

import math

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible.extensions.models.paper.structure import (
    cfs_merit,
    check_structure,
    correlation_feature_selection,
)
from sdv_plausible.table.columns.domain import Attribute, Domain


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_merit_by_definition(m, seed):
    rng = np.random.default_rng(seed)
    correlation = rng.random((m, m))
    child, *others = rng.permutation(m).tolist()
    for number in range(m):
        merit = oracles.cfs_merit(correlation, child, others[:number])
        assert cfs_merit(correlation, child, others[:number]) == pytest.approx(merit)


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 5), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_greedy_search_by_definition(m, max_cost, seed):
    """Random correlations have no ties: the search has one answer. Cost bound, acyclicity and order of gains."""
    rng = np.random.default_rng(seed)
    correlation, sizes = rng.random((m, m)), rng.integers(1, 5, m).tolist()
    found = correlation_feature_selection(correlation, [np.arange(s) for s in sizes], max_cost)
    assert [set(p) for p in found] == oracles.greedy_parents(correlation, sizes, max_cost)
    assert oracles.is_acyclic(found)
    assert all(math.prod(sizes[p] for p in chosen) <= max_cost for chosen in found)


def test_the_search_bounds_the_number_of_parents():
    rng = np.random.default_rng(1)
    correlation, buckets = rng.random((6, 6)), [np.arange(2)] * 6
    free = correlation_feature_selection(correlation, buckets, 10**6)
    assert max(map(len, free)) > 1
    for most in (0, 1, 2):
        bounded = correlation_feature_selection(correlation, buckets, 10**6, most)
        assert max(map(len, bounded)) == most


DOMAIN = Domain(tuple(Attribute(name=n, kind="ordinal", values=(0, 1)) for n in ("a", "b", "c")))


def test_given_structures_are_read_and_bad_ones_named():
    assert check_structure({"c": ["a", "b", "a"], "b": ("a",)}, DOMAIN) == ((), (0,), (0, 1))
    assert check_structure({}, DOMAIN) == ((), (), ())
    for structure, rule in (
        ({"z": ["a"]}, r"structure names \['z'\]"),
        ({"a": ["z"]}, r"structure names \['z'\]"),
        ({"a": ["a"]}, "cycle"),
        ({"a": ["b"], "b": ["c"], "c": ["a"]}, "cycle"),
        ({"c": "ab"}, "parents of 'c'.*must be a list"),
    ):
        with pytest.raises(ValueError, match=rule):
            check_structure(structure, DOMAIN)

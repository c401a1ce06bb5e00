"""Buckets: every code in one, few enough, heavy enough."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible.models.buckets import default_buckets, groups_of_codes, make_buckets, split_buckets
from sdv_plausible.table.columns.domain import Attribute

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 60), st.booleans(), st.booleans(), st.integers(2, 12), SEEDS, st.booleans())
def test_default_buckets(size, ordered, nullable, most, seed, with_margin):
    kind = "ordinal" if ordered else "categorical"
    attribute = Attribute(name="x", kind=kind, values=tuple(range(size)), nullable=nullable)
    rng = np.random.default_rng(seed)
    margin = rng.normal(0.02, 0.05, attribute.cardinality) if with_margin else None  # noisy: cells below zero
    bucket = default_buckets(attribute, margin, most)
    assert len(bucket) == attribute.cardinality
    assert set(bucket) == set(range(bucket.max() + 1))  # dense: no empty configuration
    assert bucket.max() + 1 <= most + nullable
    if size <= most:
        assert bucket.tolist() == list(range(attribute.cardinality))
        return
    if nullable:
        assert (bucket == bucket[-1]).sum() == 1  # missing stands alone
    if ordered:
        assert (np.diff(bucket[:size]) >= 0).all()
    elif with_margin:
        alone = [c for c in range(size) if (bucket == bucket[c]).sum() == 1]
        mass = np.maximum(margin[:size], 0)  # cells below zero are all equally unlikely
        assert set(np.flatnonzero(mass > np.sort(mass)[-most])) <= set(alone)


def test_ordered_buckets_have_about_equal_mass():
    margin = np.concatenate([np.full(50, 0.002), np.full(50, 0.018)])
    attribute = Attribute(name="x", kind="integer", lower=tuple(range(100)), upper=tuple(range(100)))
    mass = np.bincount(default_buckets(attribute, margin, 10), margin)
    assert len(mass) == 10
    assert mass.max() < 0.13
    assert np.bincount(default_buckets(attribute, None, 10)).tolist() == [10] * 10
    declared = Attribute(name="x", kind="categorical", values=("a", "b", "c"), buckets=(7, 2, 7))
    assert default_buckets(declared).tolist() == [1, 0, 1]  # used, and made dense


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 60), st.booleans(), st.integers(2, 20), st.floats(0, 0.3), SEEDS)
def test_buckets_are_dense_heavy_and_few(size, ordered, most, floor, seed):
    """Every bucket holds the least mass, unless there is but one or every code of a pair is its own."""
    p = np.random.default_rng(seed).dirichlet(np.full(size, 0.3))
    bucket = make_buckets(p, ordered, most, floor)
    assert len(bucket) == size
    number = bucket.max() + 1
    assert set(bucket) == set(range(number))
    if size <= 2:
        assert bucket.tolist() == list(range(size))
        return
    mass = np.bincount(bucket, p)
    assert number == 1 or (mass >= floor - 1e-12).all() or not ordered
    if ordered:
        assert (np.diff(bucket) >= 0).all()
        assert number <= 2 * most + 1  # a run may end early before each value that stands alone
    else:
        assert number <= most
        alone = [c for c in range(size) if (bucket == bucket[c]).sum() == 1]
        together = [c for c in range(size) if c not in alone]
        assert max(p[together], default=0) <= min(p[alone], default=1) + 1e-12  # the likeliest stand alone
        assert all(m >= floor for m in mass[:-1])


@settings(max_examples=300, deadline=None)
@given(st.integers(3, 60), st.integers(1, 30), st.integers(2, 20), st.floats(0, 0.3), SEEDS)
def test_codes_share_buckets_with_their_group_alone(size, number, most, floor, seed):
    """Few, dense, heavy; two groups are in one bucket only if one of them is too light, or there are too many."""
    rng = np.random.default_rng(seed)
    p, groups = rng.dirichlet(np.full(size, 0.3)), rng.integers(0, number, size)
    bucket = make_buckets(p, False, most, floor, groups)
    mass = np.bincount(bucket, p)
    assert set(bucket) == set(range(len(mass)))
    assert len(mass) <= most
    mixed = [b for b in range(len(mass)) if len(set(groups[bucket == b])) > 1]
    assert len(mixed) <= 1
    if floor == 0 and len(set(groups)) < most:
        assert not mixed
    assert (mass >= floor - 1e-12).all() or len(mass) <= 2


def test_groups_are_kept_apart_where_single_values_are_too_light():
    """100 values of ten groups, a percent each: with groups ten buckets; without, all that is light is one."""
    p, groups = np.full(100, 0.01), np.arange(100) // 10
    assert make_buckets(p, False, 128, 0.02, groups).tolist() == groups.tolist()
    assert make_buckets(p, False, 128, 0.02).max() == 0  # control
    assert make_buckets(p, False, 128, 0.002, groups).max() == 99
    assert make_buckets(p, False, 128, 0.009, groups).max() == 9  # heavy enough, but its group says more


def test_missing_is_in_no_group_and_texts_beside_numbers_have_buckets_of_their_own():
    given = {"values": tuple(range(4)), "groups": (5, 5, 2, 2)}
    attribute = Attribute(name="x", kind="categorical", nullable=True, **given)
    assert groups_of_codes(attribute).tolist() == [1, 1, 0, 0, 2]
    assert default_buckets(attribute, None, 4).tolist() == [1, 1, 0, 0, 2]
    assert groups_of_codes(Attribute(name="x", kind="categorical", values=(1, 2))) is None
    ends = tuple(range(30))
    mixed = Attribute(name="x", kind="integer", values=("N", "?"), lower=ends, upper=ends, nullable=True)
    found = default_buckets(mixed, max_buckets=5)
    assert found[:30].max() == 4
    assert found[30:].tolist() == [5, 6, 7]


def test_spikes_stand_alone_and_runs_have_equal_mass():
    """A light spike is merged with its lighter neighbour."""
    p = np.full(101, 0.5 / 100)
    p[40] = 0.5
    bucket = make_buckets(p, True, 10, 0.0)
    assert (bucket == bucket[40]).sum() == 1
    assert np.delete(np.bincount(bucket, p), bucket[40]).max() < 2.1 * 0.5 / 9
    assert bucket.max() + 1 in (10, 11)
    assert make_buckets(np.array([0.3, 0.05, 0.25, 0.4]), True, 4, 0.1).tolist() == [0, 1, 1, 2]


def test_split_buckets_hold_structural_zeros_exactly():
    """Every bucket's codes go with the same codes. Control: before the split, a bucket mixes two kinds."""
    rng = np.random.default_rng(5)
    possible = rng.random((4, 30))[rng.integers(0, 4, 50)] < 0.5
    buckets = np.repeat(np.arange(5), 10)
    mixed = [len(np.unique(possible[buckets == b], axis=0)) for b in range(5)]
    assert max(mixed) > 1
    split = split_buckets(buckets, possible)
    for b in range(split.max() + 1):
        assert len(np.unique(possible[split == b], axis=0)) == 1
        assert len(np.unique(buckets[split == b])) == 1, "finer, never coarser"
    every = np.eye(50, dtype=bool)
    assert split_buckets(buckets, every) is buckets, "a table of combinations would split every code"

"""Buckets: every code in one, few enough, heavy enough; and merging parents against plain loops."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible.models.buckets import default_buckets
from sdv_plausible.table.domain import Attribute


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 60), st.booleans(), st.booleans(), st.integers(2, 12), st.integers(0, 2**32 - 1), st.booleans())
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


def test_declared_buckets_are_used_and_made_dense():
    attribute = Attribute(name="x", kind="categorical", values=("a", "b", "c"), buckets=(7, 2, 7))
    assert default_buckets(attribute).tolist() == [1, 0, 1]

"""What is known of columns, pairs and sets, against loops over the cells of one joint distribution."""

import numpy as np
import pytest

from sdv_plausible.models.adaptive.estimates import Estimates

SIZES, LEVELS = (4, 3, 2), ([0, 0, 1, 1], [0, 1, 1], [0, 1])
JOINT = np.random.default_rng(0).dirichlet(np.ones(24)).reshape(SIZES)


def on_levels(table):
    found = np.zeros((2, 2, 2))
    for cell in np.ndindex(*SIZES):
        found[tuple(level[c] for level, c in zip(LEVELS, cell, strict=True))] += table[cell]
    return found


def made():
    single = [JOINT.sum(tuple(k for k in range(3) if k != j)) for j in range(3)]
    pair = JOINT.sum(2)
    return Estimates(
        margins=single,
        coarse=single,
        buckets=[np.arange(k) for k in SIZES],
        pairs={(0, 1): pair, (1, 0): pair.T},
        levels=[np.array(level) for level in LEVELS],
        sets={(0, 1, 2): on_levels(JOINT)},
    )


def test_levels_add_up_buckets():
    np.testing.assert_allclose(made().on_levels((0,)), on_levels(JOINT).sum((1, 2)))
    np.testing.assert_allclose(made().on_levels((0, 1)), on_levels(JOINT).sum(2))


def test_sets_of_a_child_lie_within_the_columns_before_it():
    assert made().sets_of(1, [0, 2]) == [(0, 1, 2)]
    assert made().sets_of(1, [0]) == []


@pytest.mark.parametrize("middle", [0, 1, 2])
def test_conditionals_given_the_middle_column(middle):
    others = tuple(j for j in range(3) if j != middle)
    found = made().given(others, middle)
    assert found.shape == (4, SIZES[middle])
    whole = np.moveaxis(on_levels(JOINT), middle, -1).reshape(4, 2)
    for bucket, level in enumerate(LEVELS[middle]):
        np.testing.assert_allclose(found[:, bucket], whole[:, level] / whole[:, level].sum())


def test_of_a_pair_it_is_on_buckets():
    np.testing.assert_allclose(made().given((0,), 1), JOINT.sum(2) / JOINT.sum((0, 2)))


def test_pairs_that_were_not_measured_are_not_linked():
    assert made().dependence(0, 2) == 0
    apart = np.abs(JOINT.sum(2) - np.outer(JOINT.sum((1, 2)), JOINT.sum((0, 2)))).sum()
    assert made().dependence(1, 0) == pytest.approx(apart)

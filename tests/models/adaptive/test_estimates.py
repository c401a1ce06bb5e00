"""What is known of columns, pairs and sets, against loops over the cells of one joint distribution."""

import numpy as np
import pytest

from sdv_plausible.models.adaptive.maximum_entropy import Estimates

SIZES, LEVELS = (4, 3, 2), ([0, 0, 1, 1], [0, 1, 1], [0, 1])
JOINT = np.random.default_rng(0).dirichlet(np.ones(24)).reshape(SIZES)


def on_levels(table):
    found = np.zeros((2, 2, 2))
    for cell in np.ndindex(*SIZES):
        found[tuple(level[c] for level, c in zip(LEVELS, cell, strict=True))] += table[cell]
    return found


SINGLE, PAIR = [JOINT.sum(tuple(k for k in range(3) if k != j)) for j in range(3)], JOINT.sum(2)
MADE = Estimates(
    margins=SINGLE, coarse=SINGLE, buckets=[np.arange(k) for k in SIZES], pairs={(0, 1): PAIR, (1, 0): PAIR.T},
    levels=[np.array(level) for level in LEVELS], sets={(0, 1, 2): on_levels(JOINT)},
)  # fmt: skip


def test_levels_add_up_buckets_sets_lie_before_their_child_and_pairs_are_linked_if_measured():
    np.testing.assert_allclose(MADE.on_levels((0,)), on_levels(JOINT).sum((1, 2)))
    np.testing.assert_allclose(MADE.on_levels((0, 1)), on_levels(JOINT).sum(2))
    assert MADE.sets_of(1, [0, 2]) == [(0, 1, 2)]
    assert MADE.sets_of(1, [0]) == []
    assert MADE.dependence(0, 2) == 0
    apart = np.abs(PAIR - np.outer(SINGLE[0], SINGLE[1])).sum()
    assert MADE.dependence(1, 0) == pytest.approx(apart)


def test_conditionals_given_the_middle_column():
    for middle in range(3):
        found = MADE.given(tuple(j for j in range(3) if j != middle), middle)
        assert found.shape == (4, SIZES[middle])
        whole = np.moveaxis(on_levels(JOINT), middle, -1).reshape(4, 2)
        for bucket, level in enumerate(LEVELS[middle]):
            np.testing.assert_allclose(found[:, bucket], whole[:, level] / whole[:, level].sum())
    np.testing.assert_allclose(MADE.given((0,), 1), PAIR / SINGLE[1])  # of a pair it is on buckets

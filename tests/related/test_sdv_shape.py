"""Behaviours of SDV's multi-table synthesizers that a synthesizer of their shape has, see docs/reference/multi_table.md."""

from __future__ import annotations

import math

import pytest

from sdv_plausible.datasets import families_like_domain, families_like_metadata
from sdv_plausible.related.synthesizer import PlausibleDeniabilityMultiTableSynthesizer


def synthesizer(**options):
    options = {"domain": families_like_domain(), **options}
    return PlausibleDeniabilityMultiTableSynthesizer(families_like_metadata(), **options)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 10.0])
def test_the_total_of_both_tables_is_epsilon_and_no_more(epsilon):
    """A column whose values are learned, as ``income``'s, is why shares alone would not do: they gave 1.0009."""
    assert 0.995 * epsilon < synthesizer(epsilon=epsilon).plan().total() <= epsilon
    assert math.isinf(synthesizer(epsilon=epsilon, random_state=1).plan().total())

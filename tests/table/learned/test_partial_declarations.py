"""What is declared of a column without a value set holds of the one that is learned."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sdv_plausible.table.columns.domain import Attribute
from sdv_plausible.table.learned.declared_ranges import PartialDeclaration

LEARNED = Attribute(name="x", kind="integer", lower=(-4, 0, 5), upper=(-1, 0, 20), provenance="private")
DAY = 86_400 * 10**9


def test_nothing_stated_changes_nothing():
    assert PartialDeclaration().apply_to(LEARNED) == LEARNED
    category = Attribute(name="x", kind="categorical", values=("a", "b"), provenance="private")
    assert PartialDeclaration().apply_to(category) == category


def test_ends_cut_bins():
    found = PartialDeclaration(low=-2.5, high=9.5).apply_to(LEARNED)
    assert (found.lower, found.upper) == ((-2, 0, 5), (-1, 0, 9))
    assert not found.nullable


def test_codes_stand_alone_inside_the_ends_and_beside_them():
    found = PartialDeclaration(low=0, special=(-9, 7), texts=("N",)).apply_to(LEARNED)
    assert (found.lower, found.upper) == ((-9, 0, 5, 7, 8), (-9, 0, 6, 7, 20))
    assert found.values == ("N",)


def test_missing_is_as_stated_unless_nothing_else_is_there():
    assert PartialDeclaration(nullable=True).apply_to(LEARNED).nullable
    assert not PartialDeclaration(nullable=False).apply_to(Attribute(name="x", kind="integer", lower=(1,), upper=(2,), nullable=True)).nullable  # fmt: skip
    empty = PartialDeclaration(nullable=False, low=100).apply_to(LEARNED)
    assert (empty.lower, empty.nullable) == ((), True)


@pytest.mark.parametrize("decimals", [1, 6, 9, None])
def test_ends_of_numbers_with_digits(decimals):
    attribute = Attribute(
        name="x", kind="float", lower=(0.5, 1.5), upper=(1.0, 2.5), decimals=decimals, provenance="private"
    )
    found = PartialDeclaration(low=0.75, high=2.0).apply_to(attribute)
    assert found.lower[0] == (0.8 if decimals == 1 else 0.75)
    assert (found.upper[0], found.lower[1], found.upper[1]) == (1.0, 1.5, 2.0)


def test_an_end_of_dates():
    first = int(pd.Timestamp("2020-01-01").value)
    attribute = Attribute(
        name="x",
        kind="datetime",
        lower=(first - 9 * DAY, first + DAY),
        upper=(first, first + 9 * DAY),
        unit=DAY,
    )
    found = PartialDeclaration(low=first, special=(first + 3 * DAY,)).apply_to(attribute)
    assert found.lower == (first, first + DAY, first + 3 * DAY, first + 4 * DAY)
    assert np.all(np.array(found.lower) <= np.array(found.upper))


def test_points_of_declared_digits():
    assert PartialDeclaration().grid is None
    assert PartialDeclaration(decimals=0).grid.kind == "integer"
    assert PartialDeclaration(decimals=2).grid.decimals == 2

"""Distinct values: none takes another for its own."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd

from sdv_plausible.table.cells.canonical_forms import canonical, distinct_objects, distinct_values
from sdv_plausible.table.cells.dates import as_nanoseconds

NUL = ["a\x00b", "a\x00c", "a", "a\x00b"]


def test_texts_are_compared_beyond_their_first_nul():
    where, values = distinct_objects(np.array(NUL, dtype=object))
    assert [values[i] for i in where] == NUL
    assert len(pd.factorize(np.array(NUL, dtype=object))[1]) < 3  # the control


def test_missing_has_no_value():
    where, values = distinct_values(pd.Series(["a", None, "b", "a"], dtype=object))
    assert where.tolist() == [0, -1, 1, 0]
    assert list(values)[:2] == ["a", "b"]


def test_categories_are_brought_into_their_one_form():
    """Of one category it is a function of that category alone, and the one that the cell has in any other storage."""
    cells = [
        Decimal("1.0"), np.float64(2.5), np.str_("a"), pd.Timestamp("2020-01-01", tz="Asia/Tokyo"),
        Fraction(7, 2), None,
    ]  # fmt: skip
    where, values = distinct_values(pd.Series(pd.Categorical(cells)))
    forms = [None if i < 0 else values[i] for i in where]
    assert forms == list(map(canonical, cells))
    assert list(map(type, forms)) == [type(canonical(cell)) for cell in cells]
    as_objects, objects = distinct_objects(np.array(cells, dtype=object))
    assert [None if i < 0 else objects[i] for i in as_objects] == forms


def test_dates_are_read_by_themselves_and_words_are_none():
    """Of whole numbers, too: one missing cell makes doubles of them all; of equal numbers either may be the first."""
    day, none = pd.Timestamp("2020-01-01").value, np.iinfo(np.int64).min
    texts = ["2020-01-01", "now", "2020-01-02", None, "today", "2020-01-01", "odd"]
    found = as_nanoseconds(pd.Series(texts, dtype=object), "%Y-%m-%d", row_by_row=True)
    assert found.tolist() == [day, none, day + 86_400 * 10**9, none, none, day, none]
    whole = pd.Series([20200101, 20200101])
    mixed = pd.Series([20200101.0, 20200101], dtype=object)
    for column, other in (
        (whole, day),
        (whole.astype(float), day),
        (mixed, day),
        (pd.Series([20200101, None]), none),
    ):
        assert as_nanoseconds(column, "%Y%m%d", row_by_row=True).tolist() == [day, other]

"""How many rows counts add up to: by inverse variance, by hand; bounds are of the same estimate."""

import dataclasses

import numpy as np
import pytest

from sdv_plausible.queries.count_queries import Axis
from sdv_plausible.release.intervals.margins import row_count_bounds
from sdv_plausible.release.intervals.measured_counts import MeasuredTable, estimate_row_count


def table(column: int, sigma: float, *counts: int) -> MeasuredTable:
    return MeasuredTable(axes=(Axis.of_codes(column, len(counts)),), counts=np.array(counts), sigma=sigma)


def test_tables_of_all_columns_are_weighed_by_their_noise():
    tables = [table(0, 1.0, 50, 52), table(1, 2.0, 10, 20, 30, 30)]
    estimate, deviations = estimate_row_count(tables, 2)
    assert estimate == pytest.approx((102 / 2 + 90 / 16) / (1 / 2 + 1 / 16))
    assert sum(d**2 for d in deviations) == pytest.approx(1 / (1 / 2 + 1 / 16))
    assert estimate_row_count(tables, 3)[0] == 102  # a column is missing: the first stands alone
    assert row_count_bounds(tables, 2, 0.05)[0] == estimate


def test_bounds_are_of_what_was_counted_though_the_estimate_is_a_row_at_least():
    low = [table(0, 1.0, -50, 2)]
    assert row_count_bounds(low, 1, 0.05) == (1.0, 0, 1)


def test_a_table_that_others_made_tells_the_rows_where_it_is_best():
    def stated(sigma, *counts, **more):
        return dataclasses.replace(table(0, sigma, *counts), is_published=True, **more)

    tables = [
        table(0, 1.0, 50, 52),
        stated(9.0, 40, 40),
        stated(2.0, 55, 55),
        stated(8.0, 60, 60, noise="rounded"),
    ]
    assert estimate_row_count(tables, 1)[0] == 110
    assert estimate_row_count([*tables, stated(0.5, 60, 60, noise="rounded")], 1)[0] == 120  # no error at all
    assert row_count_bounds([stated(0.5, 60, 60, noise="rounded")], 1, 0.05) == (120, 119, 121)


def test_columns_are_turned_and_added_up():
    axes = tuple(Axis.of_codes(j, size) for j, size in enumerate((2, 3, 2)))
    counts, sigma = np.arange(12).reshape(2, 3, 2), np.arange(1.0, 13.0).reshape(2, 3, 2)
    whole = MeasuredTable(axes=axes, counts=counts, sigma=sigma)
    turned = whole.moved([2, 0, 1])
    np.testing.assert_array_equal(turned.counts, counts.transpose(2, 0, 1))
    np.testing.assert_array_equal(turned.sigma, sigma.transpose(2, 0, 1))
    added = whole.moved([2, 0])
    np.testing.assert_array_equal(added.counts, counts.sum(1).T)
    np.testing.assert_allclose(added.sigma, np.sqrt((sigma**2).sum(1).T) + 0.5)
    assert added.columns == (2, 0)
    rounded = dataclasses.replace(whole, sigma=2.5, noise="rounded").moved([0])
    np.testing.assert_allclose(rounded.sigma, 2 * 6 + 0.5)

"""How many rows counts add up to: by inverse variance, by hand; bounds are of the same estimate."""

from __future__ import annotations

import numpy as np
import pytest

from sdv_plausible.questions.counts import Axis
from sdv_plausible.release.intervals.counted import Measured, estimated_rows
from sdv_plausible.release.intervals.margins import rows_between


def table(column: int, sigma: float, *counts: int) -> Measured:
    return Measured(axes=(Axis.of_codes(column, len(counts)),), counts=np.array(counts), sigma=sigma)


def test_tables_of_all_columns_are_weighed_by_their_noise():
    tables = [table(0, 1.0, 50, 52), table(1, 2.0, 10, 20, 30, 30)]
    estimate, deviations = estimated_rows(tables, 2)
    assert estimate == pytest.approx((102 / 2 + 90 / 16) / (1 / 2 + 1 / 16))
    assert sum(d**2 for d in deviations) == pytest.approx(1 / (1 / 2 + 1 / 16))
    assert estimated_rows(tables, 3)[0] == 102  # a column is missing: the first stands alone
    assert rows_between(tables, 2, 0.05)[0] == estimate


def test_bounds_are_of_what_was_counted_though_the_estimate_is_a_row_at_least():
    low = [table(0, 1.0, -50, 2)]
    assert rows_between(low, 1, 0.05) == (1.0, 0, 1)

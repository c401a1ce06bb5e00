"""Dates as whole numbers: read row by row, out of reach is missing, and how a column writes them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sdv_plausible.table.dates import as_nanoseconds


def test_dates_out_of_reach_do_not_wrap_round():
    """In seconds the year 3000 is a date; in nanoseconds it would silently become 1830."""
    column = pd.Series(np.array(["3000-01-01", "2020-01-01"], dtype="M8[s]"))
    read = as_nanoseconds(column, row_by_row=True)
    assert read.tolist() == [np.iinfo(np.int64).min, pd.Timestamp("2020-01-01").value]
    wrapped = column.to_numpy().astype("M8[ns]")  # the planted bug
    assert pd.Timestamp(wrapped[0]).year == 1830

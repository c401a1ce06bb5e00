"""Counts with error bars on the pages of the report."""

import numpy as np
import pandas as pd
import pytest

from sdv_plausible.evaluation import PlausibleDeniabilityReport
from sdv_plausible.evaluation.page.sections import MAX_LINES, IntervalSection


def margins(values, names=("ward",)):
    """A table as ``synthesizer.margins`` gives it."""
    count = np.arange(len(values)) * 1000.0
    index = (
        pd.MultiIndex.from_tuples(values, names=names) if len(names) > 1 else pd.Index(values, name=names[0])
    )
    columns = {"estimate": count, "lower": count - 12, "upper": count + 12}
    columns |= {"proportion": count / 1e5, "proportion_lower": count / 2e5, "proportion_upper": count / 5e4}
    return pd.DataFrame({**columns, "basis": "measured"}, index=index)


def test_lines_are_the_largest_counts_with_both_intervals():
    [section] = IntervalSection.of([margins([f"w{i}" for i in range(20)])])
    [table] = section.tables
    assert table.title == "ward"
    assert table.lines[0] == ("w19", "19,000", "18,988 to 19,012", "9.50% to 38.00%")
    assert (len(table.lines), table.left_out) == (MAX_LINES, "and 5 more")
    # Pairs, bounds and what is not identified.
    frame = margins([("a", 1), ("a", 2), ("b", 1)], ("ward", "sex"))
    frame.iloc[1, 0] = np.nan  # bounds have no estimate
    frame.iloc[2, :3] = np.nan  # nothing is known
    [table] = IntervalSection.of([frame])[0].tables
    assert (table.title, table.left_out) == ("ward and sex", "and 1 more")
    assert [line[:2] for line in table.lines] == [("a and 2", ""), ("a and 1", "0")]


def test_what_is_no_table_of_margins_is_refused_before_the_work():
    assert IntervalSection.of([]) == []
    with pytest.raises(ValueError, match=r"margins\[1\] lacks .*'lower'.*give what synthesizer.margins"):
        PlausibleDeniabilityReport(margins=[margins(["a"]), pd.DataFrame({"estimate": [1.0]})])

"""What a report is given: one frame or several, with or without a name."""

import pandas as pd
import pytest

from sdv_plausible.evaluation.tables import by_table, described_tables

FRAME = pd.DataFrame({1: [1, 2]})
COLUMNS = {"columns": {"1": {"sdtype": "numerical"}}}


def test_one_table_takes_the_name_it_is_given():
    assert described_tables(COLUMNS, FRAME, FRAME) == {"tables": {"table": COLUMNS}}
    assert described_tables(COLUMNS, FRAME, {"people": FRAME}) == {"tables": {"people": COLUMNS}}
    several = {"tables": {"a": COLUMNS, "b": COLUMNS}}
    assert described_tables(several, {}, {}) == several
    with pytest.raises(ValueError, match=r"metadata \(None\)"):
        described_tables(None, FRAME, FRAME)


def test_frames_are_found_by_name_and_their_columns_are_text():
    assert list(by_table(FRAME, ["a"], "real_data")["a"].columns) == ["1"]
    assert set(by_table({"a": FRAME, "b": FRAME}, ["a"], "real_data")) == {"a"}
    for wrong, words in ((FRAME, "must be a dict"), ({"a": FRAME}, "must hold"), (7, "must be a DataFrame")):
        with pytest.raises(ValueError, match=words):
            by_table(wrong, ["a", "b"], "real_data")

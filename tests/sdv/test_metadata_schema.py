"""What of a table and its metadata is schema: names, semantic types, formats and keys, and no value of any row."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from sdv_plausible.fitting.object_state import without_details
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.sdv.metadata import detect_metadata
from sdv_plausible.table.columns.column_document import TYPE_WORDS
from sdv_plausible.table.declared.column_types import metadata_columns

TABLE = pd.DataFrame(
    {
        "age": [17, 104, 33] * 20, "city": ["Bern", "Quidquid", "Chur"] * 20, "share": [0.125, 0.5, None] * 20,
        "day": pd.to_datetime(["1999-12-31", "2020-01-01", "2021-02-03"] * 20),
    }
)  # fmt: skip
TOLD = ("104", "Quidquid", "0.125", "1999")  # of single rows


def test_what_was_detected_in_the_rows_is_left_out():
    """Control: SDV's detection writes it, where it does; names, types and keys stay."""
    detected = detect_metadata(TABLE)
    kept = without_details(detected)
    assert type(kept) is type(detected)
    text = json.dumps(kept.to_dict(), default=str)
    assert not any(value in text for value in TOLD)
    before, after = metadata_columns(detected), metadata_columns(kept)
    assert list(after) == list(before) == list(TABLE)
    for name, spec in after.items():
        assert set(spec) <= set(TYPE_WORDS)
        assert spec == {key: value for key, value in before[name].items() if key in TYPE_WORDS}
    assert {"range_min", "range_max"} & set(before["age"]) == set() or "104" in json.dumps(
        before, default=str
    )


def test_what_is_no_metadata_is_left_to_sdv_or_named_with_the_way_out():
    for thing in (None, {"columns": {}}):
        assert without_details(thing) is thing
        assert metadata_columns(thing) == {}
    with pytest.raises(Refused, match=r"metadata \(int\) must be SDV Metadata .* metadata_of\(domain\)"):
        metadata_columns(3)

"""Errors of others may quote cells, once rows were read; ours do not."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from sdv_plausible.table.declared.specifications import check_spec
from sdv_plausible.utils.text_output import one_line, unhashable_types


def caught(act):
    with pytest.raises(Exception) as error:  # noqa: PT011
        act()
    return error.value


def test_ours_are_shown_and_those_of_others_only_before_rows_are_read(tmp_path):
    ours = caught(lambda: check_spec("age", {"bins": -1}))
    others = caught(lambda: json.loads("Basel"))
    assert one_line(ours, True) == one_line(ours, False) == str(ours)
    assert "Expecting value" in one_line(others, False)
    assert one_line(others, True, ", --debug shows it") == (
        "JSONDecodeError while the rows were processed; its text may quote cells, --debug shows it"
    )
    error = caught((tmp_path / "gone").read_text)
    assert "gone" in one_line(error, True)


def test_types_that_cannot_be_values_are_named():
    assert unhashable_types(pd.Series([1, "a", None])) == []
    assert unhashable_types(pd.Series([[1], {"a": 1}, [2], (3,)], dtype=object)) == ["dict", "list"]

"""Cells outside a domain, counted for the data holder: against what the codec makes of each."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from sdv_plausible.table.cells.dates import NANOSECONDS
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.outside import count_outside

DAY = NANOSECONDS["D"]


def test_strangers_are_counted_for_the_holder():
    domain = Domain(
        (
            Attribute(name="n", kind="float", lower=(0.0,), upper=(1.0,), nullable=True),
            Attribute(name="c", kind="categorical", values=("a",), nullable=True),
            Attribute(
                name="d",
                kind="datetime",
                lower=(0,),
                upper=(DAY,),
                unit=DAY,
                datetime_format="%Y-%m-%d",
                nullable=True,
            ),
        )
    )
    table = pd.DataFrame(
        {
            "n": [0.5, 2.0, None, -1.0],
            "c": ["a", "b", None, "a"],
            "d": ["1970-01-02", "1970-01-09", None, "soon"],
        }
    )
    assert count_outside(table, domain) == {"n": 2, "c": 1, "d": 2}
    assert count_outside(table.iloc[:1], domain) == {}


def test_strangers_of_the_mapping_that_the_synthesizer_takes():
    table = pd.DataFrame(
        {"n": [5, 200], "c": ["a", "b"], "d": ["1970-01-02", "x"], "flag": [True, "no"], "free": [1, 2]}
    )
    declarations = {
        "n": {"range_min": 0, "range_max": 9},
        "c": {"range_values": ["a"]},
        "d": {"range_min": "1970-01-01", "range_max": "1970-12-31", "datetime_format": "%Y-%m-%d"},
        "flag": {},
    }
    assert count_outside(table, declarations, {"flag": "boolean"}) == {"n": 1, "c": 1, "d": 1, "flag": 1}
    with pytest.raises(ValueError, match="column 'flag'.*sdtype"):
        count_outside(table, declarations)
    with pytest.raises(ValueError, match=r"\['typo'\], which are not columns of the table"):
        count_outside(table, {"typo": {"range_values": ["a"]}})


@pytest.mark.parametrize(
    ("attribute", "rows"),
    [
        (Attribute(name="x", kind="integer", lower=(0,), upper=(9,)), [5, None]),
        (Attribute(name="x", kind="categorical", values=("a",)), ["a", None]),
        (
            Attribute(name="x", kind="datetime", lower=(0,), upper=(DAY,), datetime_format="%Y-%m-%d"),
            ["1970-01-02", None],
        ),
    ],
)
def test_a_missing_cell_is_a_stranger_where_missing_is_not_in_the_domain(attribute, rows):
    """Such a cell gets a uniformly drawn value: the data holder must hear of it, whatever the kind of column."""
    assert count_outside(pd.DataFrame({"x": rows}), Domain((attribute,))) == {"x": 1}
    assert count_outside(pd.DataFrame({"x": rows}), Domain((replace(attribute, nullable=True),))) == {}

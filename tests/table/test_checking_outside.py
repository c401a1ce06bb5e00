"""Cells outside what was declared: against what the codec makes of each."""

from dataclasses import replace

import pandas as pd
import pytest

from sdv_plausible.table.cells.dates import NANOSECONDS
from sdv_plausible.table.checking import is_outside
from sdv_plausible.table.columns.domain import Attribute, Domain

DAY = NANOSECONDS["D"]


def outside(table, domain):
    counts = {a.name: int(is_outside(table[a.name], a).sum()) for a in domain}
    return {name: count for name, count in counts.items() if count}


def test_cells_outside_are_found():
    domain = Domain(
        (
            Attribute(name="n", kind="float", lower=(0.0,), upper=(1.0,), nullable=True),
            Attribute(name="c", kind="categorical", values=("a",), nullable=True),
            Attribute(
                name="d", kind="datetime", lower=(0,), upper=(DAY,), unit=DAY, datetime_format="%Y-%m-%d",
                nullable=True,
            ),
        )
    )  # fmt: skip
    table = pd.DataFrame(
        {
            "n": [0.5, 2.0, None, -1.0],
            "c": ["a", "b", None, "a"],
            "d": ["1970-01-02", "1970-01-09", None, "soon"],
        }
    )
    assert outside(table, domain) == {"n": 2, "c": 1, "d": 2}
    assert outside(table.iloc[:1], domain) == {}


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
    assert outside(pd.DataFrame({"x": rows}), Domain((attribute,))) == {"x": 1}
    assert outside(pd.DataFrame({"x": rows}), Domain((replace(attribute, nullable=True),))) == {}

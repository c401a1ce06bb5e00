"""Cells outside what was declared: against what the codec makes of each."""

from dataclasses import replace

import pandas as pd

from sdv_plausible.table.cells.dates import NANOSECONDS
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.data_checks import is_outside

DAY = NANOSECONDS["D"]


def outside(table, domain):
    counts = {a.name: int(is_outside(table[a.name], a).sum()) for a in domain}
    return {name: count for name, count in counts.items() if count}


def test_cells_outside_are_found():
    ends = {"lower": (0,), "upper": (DAY,), "unit": DAY, "datetime_format": "%Y-%m-%d"}
    number = Attribute(name="n", kind="float", lower=(0.0,), upper=(1.0,), nullable=True)
    word = Attribute(name="c", kind="categorical", values=("a",), nullable=True)
    domain = Domain((number, word, Attribute(name="d", kind="datetime", nullable=True, **ends)))
    days = ["1970-01-02", "1970-01-09", None, "soon"]
    table = pd.DataFrame({"n": [0.5, 2.0, None, -1.0], "c": ["a", "b", None, "a"], "d": days})
    assert outside(table, domain) == {"n": 2, "c": 1, "d": 2}
    assert outside(table.iloc[:1], domain) == {}


def test_a_missing_cell_is_a_stranger_where_missing_is_not_in_the_domain():
    """Such a cell gets a uniformly drawn value: the data holder must hear of it, whatever the kind of column."""
    day = Attribute(name="x", kind="datetime", lower=(0,), upper=(DAY,), datetime_format="%Y-%m-%d")
    for attribute, rows in (
        (Attribute(name="x", kind="integer", lower=(0,), upper=(9,)), [5, None]),
        (Attribute(name="x", kind="categorical", values=("a",)), ["a", None]),
        (day, ["1970-01-02", None]),
    ):
        assert outside(pd.DataFrame({"x": rows}), Domain((attribute,))) == {"x": 1}
        assert outside(pd.DataFrame({"x": rows}), Domain((replace(attribute, nullable=True),))) == {}

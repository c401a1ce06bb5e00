"""Charts of columns: bars from noisy counts, and the real rows in the owner's page alone."""

import re

import numpy as np
import pandas as pd
import pytest

from sdv_plausible.extensions.app.pages import column_plots
from sdv_plausible.extensions.app.pages.column_plots import columns_page, compared_figures, noisy_figures
from sdv_plausible.table.columns.domain import Attribute, Domain

DAY = 86_400 * 10**9
ATTRIBUTES = {
    "narrow": Attribute(name="narrow", kind="integer", lower=(0, 1, 2), upper=(0, 1, 2), nullable=True),
    "wide": Attribute(
        name="wide", kind="integer", lower=tuple(range(100)), upper=tuple(range(100)), values=("none",)
    ),
    "uneven": Attribute(name="uneven", kind="float", lower=(0.0, 1.0), upper=(1.0, 10.0)),
    "day": Attribute(
        name="day",
        kind="datetime",
        lower=tuple(i * DAY for i in range(30)),
        upper=tuple(i * DAY for i in range(30)),
        unit=DAY,
    ),
    "few": Attribute(name="few", kind="categorical", values=("<b>", "b")),
    "many": Attribute(name="many", kind="categorical", values=tuple(f"v{i}" for i in range(40))),
}


def figure(name, counts):
    (found,) = noisy_figures({name: np.array(counts)}, Domain((ATTRIBUTES[name],)))
    return {label: shares[0] for label, shares in found.rows}


def test_every_code_has_a_bar_if_there_are_few():
    assert figure("narrow", [1, 2, 0, 1]) == {"0": 0.25, "1": 0.5, "2": 0.0, "missing": 0.25}
    assert figure("few", [1, 3]) == {"<b>": 0.25, "b": 0.75}
    assert list(figure("uneven", [1, 1])) == ["0 to 1", "1 to 10"]


def test_many_numbers_share_bars_of_one_width():
    bars = figure("wide", [1] * 100 + [100])
    assert len(bars) == 21
    assert bars["exactly none"] == 0.5
    assert bars["0 to 4"] == bars["95 to 99"] == pytest.approx(0.025)
    assert sum(bars.values()) == pytest.approx(1)
    days = figure("day", range(30))
    assert next(iter(days)) == "1970-01-01 to 1970-01-02"
    assert sum(days.values()) == pytest.approx(1)


def test_the_rarest_of_many_values_share_a_bar():
    bars = figure("many", range(40))
    assert list(bars)[-1] == "29 other values"
    assert "v28" not in bars
    assert bars["v39"] == pytest.approx(39 / 780)


def test_the_real_rows_are_on_the_page_of_the_owner_alone():
    counts, domain = {"few": np.array([1, 3])}, Domain((ATTRIBUTES["few"],))
    rows = pd.DataFrame({"few": ["b"] * 7 + ["<b>"] * 3 + ["outside"] * 5})
    (found,) = compared_figures(counts, domain, rows)
    assert found.rows == (("<b>", (0.3, 0.25)), ("b", (0.7, 0.75)))
    own, public = (
        columns_page((found,), is_private=True),
        columns_page(noisy_figures(counts, domain), is_private=False),
    )
    assert "NOT private" in own
    assert "30.0%" in own
    assert "NOT private" not in public
    assert "30.0%" not in public
    assert not re.search("<b>|outside", own + public)
    assert compared_figures(counts, domain, rows.drop(columns="few")) == ()


def test_charts_need_no_style_that_the_pages_forbid():
    for name, counts in (("narrow", [1] * 4), ("many", [1] * 40), ("day", [1] * 30)):
        (found,) = noisy_figures({name: np.array(counts)}, Domain((ATTRIBUTES[name],)))
        assert not re.search(r"style=|<style|href=|url\(", str(found.picture)), name


def test_only_counts_of_single_codes_are_drawn(monkeypatch):
    """A planted table of groups: their counts say nothing about a single value."""
    domain = Domain((ATTRIBUTES["few"], ATTRIBUTES["narrow"]))

    class Table:
        def __init__(self, buckets, counts):
            self.axes, self.counts = [type("Axis", (), {"buckets": np.array(buckets)})], np.array(counts)

    found = {0: Table([0, 0], [5]), 1: Table([0, 1, 2, 3], [-4, 1, 2, 3])}
    monkeypatch.setattr(column_plots, "measured_tables", lambda answers: answers)
    monkeypatch.setattr(column_plots, "measured_over", lambda _, columns: found[columns[0]])
    counts = column_plots.noisy_counts([], domain)
    assert {name: values.tolist() for name, values in counts.items()} == {"narrow": [0, 1, 2, 3]}

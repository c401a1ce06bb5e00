"""The parts of the HTML page: pictures, network, guarantee, seed statistics, summaries."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from sdv_plausible.evaluation.page import charts
from sdv_plausible.evaluation.page import parts as page
from sdv_plausible.evaluation.page.drawing import WIDTH, number, shorten, ticks
from sdv_plausible.evaluation.page.network import layers, network_graph
from sdv_plausible.evaluation.report.diagnostics import SeedDiagnostics
from sdv_plausible.evaluation.report.guarantee import NO_GUARANTEE, Guarantee
from sdv_plausible.evaluation.report.plots import plot_structure
from sdv_plausible.evaluation.report.summary import histogram, summarise_comparison, summarise_release
from sdv_plausible.evaluation.tables import prepare
from sdv_plausible.privacy.ledger import LedgerEntry, PrivacyLedger

HOSTILE = '<script>alert("1")</script> & co'


class Ledger:
    """What the report needs of a ledger."""

    def __init__(self, *entries):
        self.entries = [{"name": n, "mechanism": "m", "epsilon": e, "provenance": p} for n, e, p in entries]

    def sentence(self):
        return "Total epsilon 1."

    def to_dict(self):
        return {"headline": self.sentence(), "entries": self.entries}


def pictures():
    rng = np.random.default_rng(0)
    item = charts.Interval(name=HOSTILE, value=0.6, low=0.5, high=np.nan, colour="#000000")
    return {
        "vertical": charts.vertical_bars(HOSTILE, [HOSTILE, "missing"], [(0, HOSTILE)], [(HOSTILE, [0.2, 0.8], "#000")]),
        "horizontal": charts.horizontal_bars(HOSTILE, [HOSTILE], [(HOSTILE, [1.0], "#000")]),
        "box": charts.box_plot(HOSTILE, [(HOSTILE, [*rng.random(30), 9.0, np.nan], "#000"), ("none", [], "#000")], HOSTILE),
        "interval": charts.interval_plot(HOSTILE, [(HOSTILE, [item])], HOSTILE, (0.0, 1.0), (0.5, HOSTILE)),
        "heatmap": charts.heatmap(HOSTILE, [HOSTILE, "b"], np.eye(2), HOSTILE),
        "line": charts.line_plot(HOSTILE, ["1", "2"], [(HOSTILE, [0.1, np.nan])], (HOSTILE, HOSTILE)),
        "network": network_graph({HOSTILE: ["b"], "b": ["c"], "d": [HOSTILE, "c"]}),
    }


@pytest.mark.parametrize("name", ["vertical", "horizontal", "box", "interval", "heatmap", "line", "network"])
def test_pictures_are_well_formed_and_escape_what_they_are_given(name):
    picture = pictures()[name]
    assert "<script" not in picture
    assert "nan" not in re.sub(r"<title>.*?</title>", "", picture)
    ElementTree.fromstring(picture)


@pytest.mark.parametrize("name", ["vertical", "horizontal", "box", "interval", "line"])
def test_nothing_is_drawn_outside_a_picture(name):
    root = ElementTree.fromstring(pictures()[name])
    height = float(root.attrib["height"])
    for element in root.iter():
        for key in ("x", "cx", "x1", "x2"):
            assert 0 <= float(element.attrib.get(key, 0)) <= WIDTH
        for key in ("y", "cy", "y1", "y2"):
            assert 0 <= float(element.attrib.get(key, 0)) <= height


def test_tables_and_sections_escape_what_they_are_given():
    text = page.table((HOSTILE,), [(HOSTILE,)]) + page.header(HOSTILE, HOSTILE) + page.banner("public", HOSTILE)
    text += page.key([(HOSTILE, "#000")]) + page.grid([(HOSTILE, "")])
    assert "<script" not in text
    assert "<script" not in page.whole(HOSTILE, [])


def test_axis_numbers_and_labels():
    assert [number(v) for v in (0.25, 0, 1999, 20_000, 3e6, -15_500, 1e12)] == [
        "0.25", "0", "1999", "20k", "3M", "-15.5k", "1.0e+12",
    ]  # fmt: skip
    assert ticks(0, 1) == pytest.approx([0, 0.25, 0.5, 0.75, 1.0])
    assert ticks(0.4, 1.0) == pytest.approx([0.4, 0.6, 0.8, 1.0])
    assert ticks(1, 1) == [1]
    assert shorten("short", 100) == "short"
    assert shorten("a very long name indeed", 60).endswith("\u2026")


def test_layers_lie_below_all_parents():
    structure = {"d": ["a", "c"], "c": ["b"], "b": ["a"], "e": []}
    level = {node: i for i, row in enumerate(layers(structure)) for node in row}
    assert level == {"a": 0, "e": 0, "b": 1, "c": 2, "d": 3}
    assert all(level[child] > level[parent] for child, above in structure.items() for parent in above)
    assert layers({}) == []
    assert network_graph({}).startswith("<svg")


def test_a_cycle_is_an_error():
    with pytest.raises(ValueError, match=r"cycle among \['a', 'b'\]"):
        layers({"a": ["b"], "b": ["a"]})


def test_long_edges_pass_beside_nodes():
    """The edge from a to d passes the layers of b and c on a lane of its own, outside their boxes."""
    root = ElementTree.fromstring(network_graph({"b": ["a"], "c": ["b"], "d": ["c", "a"]}))
    boxes = [(float(r.attrib["x"]), float(r.attrib["y"])) for r in root.iter("rect")]
    long_edge = max((p.attrib["d"] for p in root.iter("path")), key=len)
    straights = re.findall(r"([\d.]+) ([\d.]+) L([\d.]+) ([\d.]+)", long_edge)
    assert len(straights) == 2
    for x, top, _, _ in straights:
        assert all(not (left <= float(x) <= left + 100) for left, y in boxes if y == float(top))


def test_the_networks_plotly_figure_has_an_arrow_for_each_edge():
    figure = plot_structure({"b": ["a"], "c": ["a", "b"]})
    assert len(figure.layout.annotations) == 3
    assert set(figure.data[0].text) == {"a", "b", "c"}


def test_no_ledger_is_no_guarantee():
    guarantee = Guarantee.of(None)
    assert guarantee.sentence == NO_GUARANTEE
    assert not guarantee.documented
    assert not guarantee.claimed
    assert not guarantee.covers_structure


@pytest.mark.parametrize(
    ("entries", "claimed", "covers"),
    [
        ([("structure", 0.5, "charged"), ("tables", 0.5, "charged")], True, True),
        ([("domain", None, "declared"), ("Network structure", None, "declared")], True, True),
        ([("model", 0.5, "charged")], True, True),
        ([("tables", 0.5, "charged")], True, False),
        ([("structure", 0.5, "charged"), ("domain", None, "no claim")], False, False),
        ([("structure", float("inf"), "charged")], False, False),
        ([], False, False),
    ],
)
def test_the_network_is_covered_only_by_a_finite_entry_for_it(entries, claimed, covers):
    guarantee = Guarantee.of(Ledger(*entries))
    assert (guarantee.claimed, guarantee.covers_structure) == (claimed, covers)


def test_the_packages_own_ledger_is_understood():
    ledger = PrivacyLedger(delta=1e-9)
    ledger.charge(LedgerEntry(name="structure", mechanism="given by the user", losses=(), scope="the model"))
    guarantee = Guarantee.of(ledger)
    assert guarantee.sentence == ledger.sentence()
    assert guarantee.covers_structure
    assert guarantee.not_covered


def test_seed_statistics_are_shares_by_powers_of_two():
    found = SeedDiagnostics.of(
        {"plausible_seeds": np.array([1, 1, 2, 3, 4]), "pass_rates": {50: {9: 0.5, "[5-11]": 0.75}, 10: {9: 1.0}}}
    )
    assert found.sizes == (("1", 0.4), ("2 to 3", 0.4), ("4 to 7", 0.2))
    assert found.ks == (10, 50)
    assert found.pass_rates[0] == ("9", (1.0, 0.5))
    assert found.pass_rates[1][0] == "[5-11]"
    assert np.isnan(found.pass_rates[1][1][0])
    assert SeedDiagnostics.of(None) is None
    assert SeedDiagnostics.of({}).sizes == ()


@pytest.mark.parametrize(
    ("diagnostics", "words"),
    [
        ({"sizes": [1]}, r"has the parts \['sizes'\]"),
        ({"plausible_seeds": [0]}, r"\(0\) must be at least 1"),
        ({"pass_rates": {5: {1: 1.5}}}, r"must be shares in \[0, 1\]"),
    ],
)
def test_bad_seed_statistics_get_clear_errors(diagnostics, words):
    with pytest.raises(ValueError, match=words):
        SeedDiagnostics.of(diagnostics)


def test_histograms_by_hand():
    one = histogram("x", "numerical", [pd.Series([1, 1, 2, None]), pd.Series([2, 2, 3, 3])])
    assert one.labels == ("1", "2", "3", "missing")
    assert one.shares == ((0.5, 0.25, 0.0, 0.25), (0.0, 0.5, 0.5, 0.0))
    two = histogram("c", "categorical", [pd.Series(["a", "b", "b", None]), pd.Series(["z"] * 4)])
    assert two.labels == ("b", "a", "z", "missing")
    assert two.shares == ((0.5, 0.25, 0.0, 0.25), (0.0, 0.0, 1.0, 0.0))


@pytest.mark.parametrize(
    ("values", "kind", "ordered"),
    [
        (np.arange(1000), "numerical", True),
        (np.random.default_rng(0).standard_cauchy(1000), "numerical", True),
        ([np.nan] * 5, "numerical", True),
        ([np.inf, -np.inf, 1.0], "numerical", True),
        ([7], "numerical", True),
        (pd.date_range("2020-01-01", periods=100, freq="min"), "datetime", True),
        ([f"v{i}" for i in range(100)], "categorical", False),
        ([None, None], "categorical", False),
    ],
)
def test_shares_of_any_column_sum_to_one(values, kind, ordered):
    one = histogram("x", kind, [pd.Series(values)])
    assert one.ordered == ordered
    assert len(one.labels) == len(one.shares[0]) <= 21
    assert sum(one.shares[0]) == pytest.approx(1.0)
    assert all(0 <= position <= len(one.labels) for position, _ in one.marks)


def test_integer_bins_name_their_values_and_hold_every_row():
    one = histogram("x", "numerical", [pd.Series(range(17, 97))])
    assert one.labels[0] == "17 to 20"
    assert one.shares[0] == pytest.approx([0.05] * 20)


def test_a_release_summary_takes_no_real_row():
    """The signature is the guarantee: one table, and no argument for another."""
    synthetic = pd.DataFrame({"a": ["x", "y", "x", "y"], "b": [1, 2, 1, 2]})
    kinds = {"a": "categorical", "b": "numerical"}
    found = summarise_release(synthetic, kinds, {}, num_bins=20, max_rows=None, random_state=0)
    assert found.num_rows == 4
    assert found.dependence[0, 1] == pytest.approx(1.0)
    assert [len(h.shares) for h in found.histograms] == [1, 1]


def test_the_reference_of_a_comparison_is_halves_or_held_out_rows():
    frame = pd.DataFrame({"a": ["x", "y"] * 50, "b": ["x", "y"] * 50})
    pair = prepare(frame, frame)
    options = {"num_bins": 20, "max_rows": None, "random_state": 0}
    halves = summarise_comparison(pair, None, holdout=None, **options)
    assert halves.reference == "two halves of the real rows"
    # a and b are equal: shuffled, half of the rows fall into cells that were empty
    assert halves.independent_pairs[0] == pytest.approx(0.5, abs=0.25)
    held = summarise_comparison(pair, None, holdout=pd.DataFrame({"a": ["z"], "b": ["z"]}), **options)
    assert held.reference == "real rows against held-out ones"
    assert held.reference_columns.tolist() == [1, 1]
    single = prepare(frame.iloc[:1], frame)
    assert summarise_comparison(single, None, holdout=None, **options).reference_pairs.size == 0

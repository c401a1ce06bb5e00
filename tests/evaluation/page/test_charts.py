"""Pictures of the HTML page: well formed, inside their frames, safe whatever they are given."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from sdv_plausible.evaluation.page import charts
from sdv_plausible.evaluation.page.drawing import CHARACTER, WIDTH, number, shorten, shorten_all, ticks
from sdv_plausible.evaluation.page.network import network_graph

HOSTILE = '<script>alert("1")</script> & co'


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


def test_axis_numbers_and_labels():
    assert [number(v) for v in (0.25, 0, 1999, 20_000, 3e6, -15_500, 1e12)] == [
        "0.25", "0", "1999", "20k", "3M", "-15.5k", "1.0e+12",
    ]  # fmt: skip
    assert ticks(0, 1) == pytest.approx([0, 0.25, 0.5, 0.75, 1.0])
    assert ticks(0.4, 1.0) == pytest.approx([0.4, 0.6, 0.8, 1.0])
    assert ticks(1, 1) == [1]
    assert shorten("short", 100) == "short"
    assert shorten("a very long name indeed", 60).endswith("\u2026")


def test_labels_that_are_cut_stay_different():
    labels = [
        "Self-employed (incorporated)",
        "Self-employed (not incorporated)",
        "Some college, no degree",
        "Some college, 1 year",
    ]
    room = 14 * CHARACTER
    assert len(set(shorten_all(labels, room))) == 4
    assert len({shorten(label, room) for label in labels}) < 4  # control
    assert shorten_all(["short", "short"], room) == ["short", "short"]
    # cut once more where two of three part later, and the whole end where it has room
    alike = [
        "the same beginning, early one, last word x",
        "the same beginning, early one, last word y",
        "the same beginning, z",
    ]
    assert len(set(shorten_all(alike, room))) == 3
    assert shorten_all([f"a_rather_long_column_name_{i:02d}" for i in range(2)], room) == [
        "a_ra\u2026ame_00",
        "a_ra\u2026ame_01",
    ]

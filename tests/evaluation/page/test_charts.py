"""Pictures of the HTML page: well formed, inside their frames, safe whatever they are given."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from sdv_plausible.evaluation.page import charts
from sdv_plausible.evaluation.page.charts import (
    WIDTH,
    ShareScale,
    horizontal_bars,
    network_graph,
    vertical_bars,
)

HOSTILE = '<script>alert("1")</script> & co'


def pictures():
    rng = np.random.default_rng(0)
    item = charts.Interval(name=HOSTILE, value=0.6, low=0.5, high=np.nan, colour="#000000")
    boxes = [(HOSTILE, [*rng.random(30), 9.0, np.nan], "#000"), ("none", [], "#000")]
    return {
        "box": charts.box_plot(HOSTILE, boxes, HOSTILE),
        "interval": charts.interval_plot(HOSTILE, [(HOSTILE, [item])], HOSTILE, (0.0, 1.0), (0.5, HOSTILE)),
        "line": charts.line_plot(HOSTILE, ["1", "2"], [(HOSTILE, [0.1, np.nan])], (HOSTILE, HOSTILE)),
        "network": network_graph({HOSTILE: ["b"], "b": ["c"], "d": [HOSTILE, "c"]}),
    }


def within(root, *ends):
    """Whether all that is drawn lies in its frame: coordinates, and sizes that go on from them."""
    most = {"x": WIDTH, "y": float(root.attrib["height"])}
    found = [
        (most[key.strip("c12")], sum(float(element.attrib.get(part, 0)) for part in (key, *size)))
        for element in root.iter()
        for key, *size in ends
    ]
    return all(0 <= end <= limit + 0.1 for limit, end in found)


def test_pictures_are_well_formed_escape_what_they_are_given_and_stay_in_their_frame():
    for name, picture in pictures().items():
        assert "<script" not in picture
        assert "nan" not in re.sub(r"<title>.*?</title>", "", picture)
        root = ElementTree.fromstring(picture)
        keys = [(key,) for key in ("x", "cx", "x1", "x2", "y", "cy", "y1", "y2")]
        assert name == "network" or within(root, *keys), name


LABELS = [HOSTILE, "b", "c", "missing"]


def bars(shares):
    series = [(HOSTILE, shares, "#000")]
    return {
        "vertical": vertical_bars(HOSTILE, LABELS, [(0, HOSTILE), (3, "end")], series),
        "spikes": vertical_bars(HOSTILE, LABELS, [(0.5, "0"), (3, "end")], series, 1),
        "horizontal": horizontal_bars(HOSTILE, LABELS, series),
    }


@pytest.mark.parametrize("shares", [(0.25, 0.25, 0.25, 0.25), (0.97, 0.02, 0.01, 0.0), (0.0, 0.0, 0.0, 0.0)])
def test_bars_are_escaped_and_inside_their_picture(shares):
    for picture in bars(shares).values():
        assert "<script" not in picture
        assert within(ElementTree.fromstring(picture), ("x", "width"), ("y", "height"))


def test_the_scale_is_logarithmic_where_one_bar_holds_most():
    scale = ShareScale.of([("a", (0.97, 0.02, 0.01, 0.0), "#000"), ("b", (0.9, 0.06, 0.035, 0.005), "#000")])
    assert (scale.logarithmic, scale.low) == (True, 0.001)
    placed = [scale.position(share) for share in (0.0, 0.0001, 0.001, 0.1, 1.0)]
    assert placed == pytest.approx([0, 0, 0, 2 / 3, 1])
    assert scale.ticks() == pytest.approx([0.001, 0.01, 0.1, 1.0])
    for even in ((0.5, 0.3, 0.1, 0.1), (0.98, 0.02)):  # few bars need no logarithm
        scale = ShareScale.of([("a", even, "#000")])
        assert not scale.logarithmic
        assert scale.position(max(even)) == pytest.approx(1 / 1.05)
    for name in ("vertical", "horizontal"):
        assert "log scale" in bars((0.97, 0.02, 0.01, 0.0))[name]
        assert "log scale" not in bars((0.4, 0.2, 0.2, 0.2))[name]


def test_what_stands_apart_has_room_on_both_sides():
    xs = [float(x) for x in re.findall(r'<rect x="([\d.]+)"', bars((0.25,) * 4)["spikes"])]
    after_the_spike, between, before_missing = np.diff(xs)
    assert [after_the_spike, before_missing] == pytest.approx([1.6 * between] * 2, abs=0.2)

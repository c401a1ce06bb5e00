"""Pictures of the HTML page: well formed, inside their frames, safe whatever they are given."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from sdv_plausible.evaluation.page import charts
from sdv_plausible.evaluation.page.drawing import WIDTH
from sdv_plausible.evaluation.page.network import network_graph

HOSTILE = '<script>alert("1")</script> & co'


def pictures():
    rng = np.random.default_rng(0)
    item = charts.Interval(name=HOSTILE, value=0.6, low=0.5, high=np.nan, colour="#000000")
    return {
        "box": charts.box_plot(
            HOSTILE, [(HOSTILE, [*rng.random(30), 9.0, np.nan], "#000"), ("none", [], "#000")], HOSTILE
        ),
        "interval": charts.interval_plot(HOSTILE, [(HOSTILE, [item])], HOSTILE, (0.0, 1.0), (0.5, HOSTILE)),
        "line": charts.line_plot(HOSTILE, ["1", "2"], [(HOSTILE, [0.1, np.nan])], (HOSTILE, HOSTILE)),
        "network": network_graph({HOSTILE: ["b"], "b": ["c"], "d": [HOSTILE, "c"]}),
    }


@pytest.mark.parametrize("name", ["box", "interval", "line", "network"])
def test_pictures_are_well_formed_and_escape_what_they_are_given(name):
    picture = pictures()[name]
    assert "<script" not in picture
    assert "nan" not in re.sub(r"<title>.*?</title>", "", picture)
    ElementTree.fromstring(picture)


@pytest.mark.parametrize("name", ["box", "interval", "line"])
def test_nothing_is_drawn_outside_a_picture(name):
    root = ElementTree.fromstring(pictures()[name])
    height = float(root.attrib["height"])
    for element in root.iter():
        for key in ("x", "cx", "x1", "x2"):
            assert 0 <= float(element.attrib.get(key, 0)) <= WIDTH
        for key in ("y", "cy", "y1", "y2"):
            assert 0 <= float(element.attrib.get(key, 0)) <= height

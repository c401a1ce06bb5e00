"""Bar charts: inside their frames, to scale, and readable where one bar holds most rows."""

import re
from xml.etree import ElementTree

import pytest

from sdv_plausible.evaluation.page.charts import ShareScale, horizontal_bars, vertical_bars
from sdv_plausible.evaluation.page.drawing import WIDTH

HOSTILE = '<script>alert("1")</script> & co'
LABELS = [HOSTILE, "b", "c", "missing"]


def pictures(shares):
    series = [(HOSTILE, shares, "#000")]
    return {
        "vertical": vertical_bars(HOSTILE, LABELS, [(0, HOSTILE), (3, "end")], series),
        "spikes": vertical_bars(HOSTILE, LABELS, [(0.5, "0"), (3, "end")], series, 1),
        "horizontal": horizontal_bars(HOSTILE, LABELS, series),
    }


@pytest.mark.parametrize("shares", [(0.25, 0.25, 0.25, 0.25), (0.97, 0.02, 0.01, 0.0), (0.0, 0.0, 0.0, 0.0)])
@pytest.mark.parametrize("name", ["vertical", "spikes", "horizontal"])
def test_bars_are_escaped_and_inside_their_picture(name, shares):
    picture = pictures(shares)[name]
    assert "<script" not in picture
    root = ElementTree.fromstring(picture)
    height = float(root.attrib["height"])
    for element in root.iter():
        for low, size, most in (("x", "width", WIDTH), ("y", "height", height)):
            end = float(element.attrib.get(low, 0)) + float(element.attrib.get(size, 0))
            assert 0 <= end <= most + 0.1


def test_the_scale_is_logarithmic_where_one_bar_holds_most():
    scale = ShareScale.of([("a", (0.97, 0.02, 0.01, 0.0), "#000"), ("b", (0.9, 0.06, 0.035, 0.005), "#000")])
    assert (scale.logarithmic, scale.low) == (True, 0.001)
    assert [scale.place(share) for share in (0.0, 0.0001, 0.001, 0.1, 1.0)] == pytest.approx(
        [0, 0, 0, 2 / 3, 1]
    )
    assert scale.ticks() == pytest.approx([0.001, 0.01, 0.1, 1.0])
    for even in ((0.5, 0.3, 0.1, 0.1), (0.98, 0.02)):  # few bars need no logarithm
        scale = ShareScale.of([("a", even, "#000")])
        assert not scale.logarithmic
        assert scale.place(max(even)) == pytest.approx(1 / 1.05)


@pytest.mark.parametrize("name", ["vertical", "horizontal"])
def test_a_logarithmic_scale_is_said(name):
    assert "log scale" in pictures((0.97, 0.02, 0.01, 0.0))[name]
    assert "log scale" not in pictures((0.4, 0.2, 0.2, 0.2))[name]


def test_what_stands_apart_has_room_on_both_sides():
    xs = [float(x) for x in re.findall(r'<rect x="([\d.]+)"', pictures((0.25,) * 4)["spikes"])]
    steps = [b - a for a, b in zip(xs[:-1], xs[1:], strict=True)]
    assert steps[0] == pytest.approx(1.6 * steps[1], abs=0.2)  # after the spike
    assert steps[2] == pytest.approx(1.6 * steps[1], abs=0.2)  # before "missing"

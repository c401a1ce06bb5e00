"""Networks in layers: parents above children, edges beside nodes, one layout for every drawing."""

import re
from xml.etree import ElementTree

import pytest

from sdv_plausible.evaluation.network_layout import NetworkLayout, layers
from sdv_plausible.evaluation.page.charts import network_graph
from sdv_plausible.evaluation.report.plots import plot_structure


def test_layers_lie_below_all_parents():
    structure = {"d": ["a", "c"], "c": ["b"], "b": ["a"], "e": []}
    level = {node: i for i, row in enumerate(layers(structure)) for node in row}
    assert level == {"a": 0, "e": 0, "b": 1, "c": 2, "d": 3}
    assert all(level[child] > level[parent] for child, above in structure.items() for parent in above)
    in_order = {"x": ["r", "q"], "w": ["q"], "v": ["w"]}  # of mention, parents first
    assert layers(in_order) == [["r", "q"], ["w", "x"], ["v"]]
    assert layers({}) == []
    assert network_graph({}).startswith("<svg")


def test_long_edges_pass_beside_nodes():
    """The edge from a to d passes the layers of b and c on a lane of its own, outside their boxes."""
    root = ElementTree.fromstring(network_graph({"b": ["a"], "c": ["b"], "d": ["c", "a"]}))
    boxes = [(float(r.attrib["x"]), float(r.attrib["y"])) for r in root.iter("rect")]
    long_edge = max((p.attrib["d"] for p in root.iter("path")), key=len)
    straights = re.findall(r"([\d.]+) ([\d.]+) L([\d.]+) ([\d.]+)", long_edge)
    assert len(straights) == 2
    for x, top, _, _ in straights:
        assert all(not (left <= float(x) <= left + 100) for left, y in boxes if y == float(top))


def test_both_drawings_have_one_layout():
    """Left of, right of, above and below are the same in the picture of the page and in the plotly figure."""
    structure = {"b": ["a"], "c": ["a"], "d": ["c", "a"], "e": ["b", "d"]}
    layout = NetworkLayout(structure)
    (nodes,) = plot_structure(structure).data
    assert len(plot_structure(structure).layout.annotations) == 6  # an arrow for each edge
    plotly = dict(zip(nodes.text, zip(nodes.x, nodes.y, strict=True), strict=True))
    assert plotly == {node: (layout.x[node], -level) for node, level in layout.depth.items()}
    root = ElementTree.fromstring(network_graph(structure))
    words = [(t.text, float(t.attrib["x"]), float(t.attrib["y"])) for t in root.iter("text")]
    assert {name for name, _, _ in words} == set(plotly)
    for axis, way in ((1, 1), (2, -1)):
        by_picture = sorted(words, key=lambda word: word[axis])
        places = [way * plotly[name][axis - 1] for name, _, _ in by_picture]
        assert places == sorted(places)


def test_a_cycle_is_named_without_what_hangs_on_it():
    two, three = {"a": ["b"], "b": ["a"]}, {"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]}
    for structure, words in (
        (two, r"cycle among \['a', 'b'\]"),
        ({"a": ["a"]}, r"\['a'\]"),
        (three, "('[abc]',? ?)+"),
    ):
        with pytest.raises(ValueError, match=rf"structure has a .*{words}\]?: it must be acyclic"):
            NetworkLayout(structure)

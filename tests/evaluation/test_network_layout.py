"""Networks in layers: parents above children, edges beside nodes, one layout for every drawing."""

import re
from xml.etree import ElementTree

import pytest

from sdv_plausible.evaluation.network_layout import NetworkLayout, layers
from sdv_plausible.evaluation.page.network import network_graph
from sdv_plausible.evaluation.report.plots import plot_structure


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


def test_both_drawings_have_one_layout():
    """Left of, right of, above and below are the same in the picture of the page and in the plotly figure."""
    structure = {"b": ["a"], "c": ["a"], "d": ["c", "a"], "e": ["b", "d"]}
    layout = NetworkLayout(structure)
    (nodes,) = plot_structure(structure).data
    plotly = dict(zip(nodes.text, zip(nodes.x, nodes.y, strict=True), strict=True))
    assert plotly == {node: (layout.x[node], -level) for node, level in layout.depth.items()}
    root = ElementTree.fromstring(network_graph(structure))
    words = [(t.text, float(t.attrib["x"]), float(t.attrib["y"])) for t in root.iter("text")]
    assert {name for name, _, _ in words} == set(plotly)
    for axis, way in ((1, 1), (2, -1)):
        by_picture = sorted(words, key=lambda word: word[axis])
        places = [way * plotly[name][axis - 1] for name, _, _ in by_picture]
        assert places == sorted(places)


def test_a_layer_keeps_the_order_of_mention_parents_first():
    assert layers({"x": ["r", "q"], "w": ["q"], "v": ["w"]}) == [["r", "q"], ["w", "x"], ["v"]]


@pytest.mark.parametrize("structure", [{"a": ["a"]}, {"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]}])
def test_a_cycle_is_named_without_what_hangs_on_it(structure):
    with pytest.raises(
        ValueError, match=r"structure has a cycle among \[('[abc]',? ?)+\]: it must be acyclic"
    ):
        NetworkLayout(structure)

"""Dependences and the network: differences, strongest links, and names that stay different."""

import math
from xml.etree import ElementTree

import numpy as np
import pytest

from sdv_plausible.evaluation.page.column_sections import Dependence, Network, strengths_of
from sdv_plausible.evaluation.page.drawing import WIDTH

STRUCTURE = {"a": [], "b": ["a"], "c": ["a", "b"], "d": ["c"]}
MATRIX = np.array([[1, 0.5, 0.1, 0], [0.5, 1, 0.4, 0], [0.1, 0.4, 1, 0.2], [0, 0, 0.2, 1]])
STRENGTHS = strengths_of(list("abcd"), MATRIX)


@pytest.mark.parametrize(("num_columns", "alone"), [(30, False), (31, True)])
def test_many_columns_stand_alone(num_columns, alone):
    names = [f"c{i}" for i in range(num_columns)]
    assert Dependence.of(names, {"Real": np.eye(num_columns)}).alone is alone


def test_two_tables_have_a_difference_and_one_has_none():
    two = Dependence.of(["a", "b"], {"Real": np.eye(2), "Synthetic": np.array([[1, 0.3], [0.3, 1]])})
    assert [figure.caption for figure in two.figures] == ["Real", "Synthetic", "Synthetic less real"]
    assert "a, b: +0.300" in two.figures[2].picture
    one = Dependence.of(["a"], {"Synthetic": np.eye(1)})
    assert (one.compared, len(one.figures)) == (False, 1)


def test_links_are_listed_strongest_first():
    (found,) = Network.of(STRUCTURE, {**STRENGTHS, frozenset("cd"): math.nan})
    assert [link[:2] for link in found.links] == [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")]
    assert found.num_links == 4
    assert Network.of({}) == ()
    (bare,) = Network.of({"b": ["a"]})
    assert math.isnan(bare.links[0][2])


def boxes(picture):
    """Text and left end of each node of a tree, from the top."""
    root = ElementTree.fromstring(picture)
    rects = [e for e in root.iter() if e.tag.endswith("rect")]
    return [(e[0].text.partition(";")[0], float(e.attrib["x"])) for e in rects]


def test_each_column_stands_below_the_one_it_depends_on_most():
    (found,) = Network.of(STRUCTURE, STRENGTHS)
    assert [name for name, _ in boxes(found.strongest.picture)] == ["a", "b", "c", "d"]
    xs = [x for _, x in boxes(found.strongest.picture)]
    assert xs == sorted(set(xs))  # c below b, which is stronger than a
    swapped = {**STRENGTHS, frozenset("ac"): 0.9}
    (other,) = Network.of(STRUCTURE, swapped)
    places = dict(boxes(other.strongest.picture))
    assert places["b"] == places["c"] < places["d"]


@pytest.mark.parametrize("num_columns", [3, 60])
def test_a_tree_is_as_wide_as_a_telephone_and_names_stay_different(num_columns):
    """A chain of columns is one layer each."""
    names = [f"a rather long name of a column that goes on, number {i}" for i in range(num_columns)]
    structure = {child: [parent] for parent, child in zip(names[:-1], names[1:], strict=True)}
    (found,) = Network.of(structure, {frozenset(names[:2]): 0.5})
    for picture in (found.strongest.picture, found.picture):
        root = ElementTree.fromstring(picture)
        texts = [e.text for e in root.iter() if e.tag.endswith("text") and e.text != "0.50"]
        assert len(set(texts)) == len(texts) == num_columns
    root = ElementTree.fromstring(found.strongest.picture)
    for e in root.iter():
        assert float(e.attrib.get("x", 0)) + float(e.attrib.get("width", 0)) <= WIDTH + 0.1

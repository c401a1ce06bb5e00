"""Sections of single columns, by kind and worst first; of dependences and the network, strongest first."""

import dataclasses
import math
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from sdv_plausible.evaluation.page.charts import WIDTH
from sdv_plausible.evaluation.page.sections import (
    ColumnSection,
    DependenceSection,
    NetworkSection,
    pairwise_strengths,
)
from sdv_plausible.evaluation.page.summary import Histogram, summarise_comparison
from sdv_plausible.evaluation.table_pair import prepare_pair

TABLES = [("real", "#000"), ("synthetic", "#111")]


def test_histograms_are_drawn_by_kind():
    common = {"marks": (), "shares": ((0.5, 0.5),)}
    ordered = Histogram(column="n", ordered=True, labels=("1", "2"), **common)
    others = Histogram(column="c", ordered=False, labels=("x", "y"), part="part", **common)
    found = ColumnSection.of([ordered, others], TABLES[:1])
    assert [figure.caption for figure in found.figures] == ["n", "c, part"]
    assert [">x<" in figure.picture for figure in found.figures] == [False, True]
    assert found.figures[0].rows == (("1", (0.5,)), ("2", (0.5,)))  # the table behind the picture
    assert found.lines == ()


def compared():
    real = pd.DataFrame({"same": ["a", "b"] * 50, "n": range(100), "off": ["x"] * 90 + ["y"] * 10})
    synthetic = real.assign(off=["x"] * 40 + ["y"] * 60)
    pair = prepare_pair(real, synthetic)
    return summarise_comparison(pair, None, holdout=real, num_bins=20, max_rows=None, random_state=0)


def test_the_worst_column_comes_first_with_what_differs_most():
    found = ColumnSection.compared(["same", "n", "off"], compared(), TABLES)
    assert found.lines[0].column == found.figures[0].caption == "off"
    first = found.lines[0]
    assert (first.where, first.real, first.synthetic) == ("x", 0.9, 0.4)
    assert first.distance == pytest.approx(0.5)
    assert first.chance == pytest.approx(0.0)
    assert {line.column for line in found.lines} == {"same", "n", "off"}


def test_without_distances_columns_stay_in_order():
    """One real row makes no halves."""
    none = dataclasses.replace(compared(), synthetic_columns=np.empty(0), reference_columns=np.empty(0))
    found = ColumnSection.compared(["same", "n", "off"], none, TABLES)
    assert [line.column for line in found.lines] == ["same", "n", "off"]
    assert all(math.isnan(line.distance) for line in found.lines)


STRUCTURE = {"a": [], "b": ["a"], "c": ["a", "b"], "d": ["c"]}
MATRIX = np.array([[1, 0.5, 0.1, 0], [0.5, 1, 0.4, 0], [0.1, 0.4, 1, 0.2], [0, 0, 0.2, 1]])
STRENGTHS = pairwise_strengths(list("abcd"), MATRIX)


def test_two_tables_have_a_difference_one_has_none_and_many_columns_stand_alone():
    two = DependenceSection.of(["a", "b"], {"Real": np.eye(2), "Synthetic": np.array([[1, 0.3], [0.3, 1]])})
    assert [figure.caption for figure in two.figures] == ["Real", "Synthetic", "Synthetic less real"]
    assert "a, b: +0.300" in two.figures[2].picture
    one = DependenceSection.of(["a"], {"Synthetic": np.eye(1)})
    assert (one.compared, len(one.figures)) == (False, 1)
    alone = [DependenceSection.of([f"c{i}" for i in range(n)], {"Real": np.eye(n)}).alone for n in (30, 31)]
    assert alone == [False, True]


def test_links_are_listed_strongest_first():
    (found,) = NetworkSection.of(STRUCTURE, {**STRENGTHS, frozenset("cd"): math.nan})
    assert [link[:2] for link in found.links] == [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")]
    assert found.num_links == 4
    assert NetworkSection.of({}) == ()
    (bare,) = NetworkSection.of({"b": ["a"]})
    assert math.isnan(bare.links[0][2])


def boxes(picture):
    """Text and left end of each node of a tree, from the top."""
    rects = [e for e in ElementTree.fromstring(picture).iter() if e.tag.endswith("rect")]
    return {e[0].text.partition(";")[0]: float(e.attrib["x"]) for e in rects}


def test_each_column_stands_below_the_one_it_depends_on_most():
    (found,) = NetworkSection.of(STRUCTURE, STRENGTHS)
    places = boxes(found.strongest.picture)
    assert [*places] == ["a", "b", "c", "d"]
    assert [*places.values()] == sorted(set(places.values()))  # c below b, which is stronger than a
    (other,) = NetworkSection.of(STRUCTURE, {**STRENGTHS, frozenset("ac"): 0.9})
    places = boxes(other.strongest.picture)
    assert places["b"] == places["c"] < places["d"]


@pytest.mark.parametrize("num_columns", [3, 60])
def test_a_tree_is_as_wide_as_a_telephone_and_names_stay_different(num_columns):
    """A chain of columns is one layer each."""
    names = [f"a rather long name of a column that goes on, number {i}" for i in range(num_columns)]
    structure = {child: [parent] for parent, child in zip(names[:-1], names[1:], strict=True)}
    (found,) = NetworkSection.of(structure, {frozenset(names[:2]): 0.5})
    for picture in (found.strongest.picture, found.picture):
        root = ElementTree.fromstring(picture)
        texts = [e.text for e in root.iter() if e.tag.endswith("text") and e.text != "0.50"]
        assert len(set(texts)) == len(texts) == num_columns
    for e in ElementTree.fromstring(found.strongest.picture).iter():
        assert float(e.attrib.get("x", 0)) + float(e.attrib.get("width", 0)) <= WIDTH + 0.1

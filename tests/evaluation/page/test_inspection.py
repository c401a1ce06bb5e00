"""The inspection page: its figures by definition, and nothing of a cell unescaped."""

import numpy as np
import pandas as pd
import pytest

from sdv_plausible.evaluation.page.inspection import (
    RowSection,
    correlations,
    divergence,
    inspection_page,
    tree,
)
from sdv_plausible.evaluation.table_pair import prepare_pair

NUMBER = {"sdtype": "numerical"}
WORDS = {"columns": {"x": NUMBER, "y": NUMBER, "c": {"sdtype": "categorical"}}}


def table(n: int = 200, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return pd.DataFrame({"x": x, "y": -2 * x, "c": np.where(x > 0, "<b>high</b>", "low")})


PAIR = prepare_pair(table(), table(seed=1), WORDS)


def test_divergence_by_definition():
    before, after = np.array([0] * 9 + [1]), np.array([0] * 5 + [1] * 5)
    q, p = np.array([9.5, 1.5]) / 11, np.array([5.5, 5.5]) / 11
    assert divergence(before, after, 2) == pytest.approx((p * np.log2(p / q)).sum())
    assert divergence(before, before, 2) == 0


def test_coefficients_suit_the_types():
    found = correlations(PAIR.real, PAIR)
    assert found[0, 1] == pytest.approx(1)
    x, high = PAIR.real["x"], PAIR.real["x"] > 0
    means = high.map({side: x[high == side].mean() for side in (True, False)})
    assert found[0, 2] == pytest.approx(np.sqrt(means.var(ddof=0) / x.var(ddof=0)))
    assert (found == found.T).all()
    twice = pd.DataFrame({"c": PAIR.real["c"], "d": PAIR.real["c"], "e": "one"})
    words = {"columns": {name: {"sdtype": "categorical"} for name in "cde"}}
    strengths = correlations(twice, prepare_pair(twice, twice, words))
    assert strengths[0, 1] == pytest.approx(1)
    assert strengths[0, 2] == 0


def test_the_tree_takes_the_strongest_links():
    strengths = np.array([[1, 0.1, 0.9], [0.1, 1, 0.5], [0.9, 0.5, 1]])
    assert tree("abc", strengths) == {"a": (), "c": ("a",), "b": ("c",)}


def test_five_rows_from_either_end_and_fewer_of_few():
    shown = RowSection.of(PAIR)
    assert [len(rows) for _, rows in shown.tables] == [10, 10]
    few = prepare_pair(table(7), table(3, 1), WORDS)
    assert [len(rows) for _, rows in RowSection.of(few).tables] == [7, 3]


def test_cells_are_escaped_and_whole_numbers_look_alike_however_they_are_stored():
    page = inspection_page(PAIR, "2020-01-01")
    assert "<b>high" not in page
    assert "NOT private" in page
    whole = pd.DataFrame({"x": [1, 2, 3], "y": [0.5, 1.0, 2.0], "c": ["a", "b", None]})
    shown = RowSection.of(prepare_pair(whole.astype({"x": float}), whole, WORDS))
    first, second = (rows for _, rows in shown.tables)
    assert first == second == (("1", "0.5", "a"), ("2", "1", "b"), ("3", "2", ""))

"""Rows brought together: bounds, whose each line is, and the law of the two secret choices.

What is asserted of all draws is checked on every table of a few rows; a law is checked by an exact count of
draws, with a false alarm of probability ``ALARM`` at most, and each planted fault is missed as seldom.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from miss_rates import chi_square
from scipy import stats

from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.related import families
from sdv_plausible.related.families import Families, brought_together, siblings
from sdv_plausible.related.links import Link

ALARM = 1e-6
DRAWS = 4000


def link_of(most: int) -> Link:
    return Link(parent="homes", child="people", primary_key="home", foreign_key="of", most=most)


def tables_of(parents: list[Any], children: list[Any]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both tables by their keys, every row with a name of its own."""
    homes = pd.DataFrame(
        {"home": pd.Series(parents, dtype=object), "size": [f"p{i}" for i in range(len(parents))]}
    )
    people = pd.DataFrame(
        {"of": pd.Series(children, dtype=object), "age": [f"c{i}" for i in range(len(children))]}
    )
    return homes, people


def together(parents: list[Any], children: list[Any], most: int, coins: Coins | None = None) -> Families:
    return brought_together(*tables_of(parents, children), link_of(most), coins or Coins.from_os_entropy())


def small_tables() -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """All keys of up to two parents and four children, some of them missing."""
    keys = ("a", "b", None)
    for p, c in itertools.product(range(3), range(5)):
        yield from itertools.product(
            itertools.combinations_with_replacement(keys, p), itertools.combinations_with_replacement(keys, c)
        )


def complaints(parents: tuple[Any, ...], children: tuple[Any, ...], most: int, found: Families) -> list[str]:
    """What of a table brought together is not as the page says."""
    homes, people = found.parents, found.children
    keys = {key for key in parents if key is not None}
    sizes = {key: min(most, children.count(key)) for key in keys}
    told = []
    if Counter(homes["home"]) != Counter(keys):
        told.append("one row of each parent's key")
    if dict(zip(homes["home"], homes["number of people"], strict=True)) != sizes:
        told.append("as many children as are used")
    if Counter(people["of"]) != Counter({key: n for key, n in sizes.items() if n}):
        told.append("at most so many children of each parent, and none of nobody's")
    if people["age"].duplicated().any() or not (people["of"] == people["homes.home"]).all():
        told.append("each child once, beside its parent")
    beside = dict(zip(homes["home"], homes["size"], strict=True))
    if [beside.get(key) for key in people["of"]] != people["homes.size"].tolist():
        told.append("the row of the parent that is used")
    of, other = people["of"].to_numpy(), found.siblings
    own = np.arange(len(people))
    has = np.array([sizes.get(key, 0) > 1 for key in of], dtype=bool)
    if (has != (other >= 0)).any() or (other[has] == own[has]).any() or (of[other[has]] != of[has]).any():
        told.append("one other child of the same parent")
    return told


@pytest.mark.parametrize("most", [1, 2, 3])
def test_every_line_is_of_one_family_on_all_small_tables(most: int) -> None:
    for parents, children in small_tables():
        found = together(list(parents), list(children), most)
        assert complaints(parents, children, most, found) == [], (parents, children)


def _with(name: str, planted: Callable[..., Any]) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.setattr(families, name, planted)


def _all_rows(whose: np.ndarray, secret: np.ndarray, most: int) -> np.ndarray:
    return np.flatnonzero(whose >= 0)


def _next_row(whose: np.ndarray, coins: Coins) -> np.ndarray:
    return (np.arange(len(whose)) + 1) % max(len(whose), 1)


def _of_orphans(first: Any, second: Any) -> tuple[np.ndarray, np.ndarray]:
    """Keys of children whose parent is not there, as parents'."""
    keys, named = families_same_names(first, second)
    return keys, np.where(named > keys.max(initial=-1), keys.max(initial=-1), named)


def _missing_too(first: Any, second: Any) -> tuple[np.ndarray, np.ndarray]:
    return families_same_names(first.fillna("none"), second.fillna("none"))


families_same_names = families._same_names
PLANTED = {
    "no cap": _with("smallest", _all_rows),
    "siblings of other families": _with("siblings", _next_row),
    "orphans are somebody's": _with("_same_names", _of_orphans),
    "missing keys are one key": _with("_same_names", _missing_too),
}


def test_planted_children_counted_before_the_cap_are_seen() -> None:
    found = together(["a"], ["a"] * 3, 2)
    assert complaints(("a",), ("a",) * 3, 2, found) == []
    before = replace(found, parents=found.parents.assign(**{"number of people": 3}))
    assert complaints(("a",), ("a",) * 3, 2, before) == ["as many children as are used"]


@pytest.mark.parametrize("planted", PLANTED)
def test_planted_faults_are_seen(planted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTED[planted](monkeypatch)
    most = 1 if planted == "no cap" else 2
    assert any(
        complaints(parents, children, most, together(list(parents), list(children), most))
        for parents, children in small_tables()
    )


# --- laws ------------------------------------------------------------------------------------------

FOUR = ("c0", "c1", "c2", "c3")  # children of every family, in the order of the file or in the other


def chosen(most: int, *, backwards: bool = False) -> Counter[Any]:
    """Of many families of four, how often which children were used, with whom beside the first by name."""
    homes = pd.DataFrame({"home": range(DRAWS)})
    people = pd.DataFrame({"of": np.tile(np.arange(DRAWS), 4), "age": np.repeat(FOUR, DRAWS)})
    people = people.iloc[::-1] if backwards else people
    found = brought_together(homes, people, link_of(most), Coins.from_os_entropy())
    lines = found.children.assign(beside=found.children["age"].to_numpy()[found.siblings]).sort_values("age")
    of = lines.groupby("of")
    return Counter(zip(of["age"].agg("".join), of["beside"].first(), strict=True))


def p_value(found: Counter[Any], most: int) -> float:
    every = [("".join(used), other) for used in itertools.combinations(FOUR, most) for other in used[1:]]
    assert {*found} <= {*every}
    return float(stats.chisquare([found[one] for one in every]).pvalue)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("most", [2, 3, 4])
def test_choice_and_sibling_are_each_as_likely_in_any_order(most: int, backwards: bool) -> None:
    assert p_value(chosen(most, backwards=backwards), most) > ALARM


def test_planted_the_sibling_next_in_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Siblings in the order of the file: of four children always the same two are side by side."""

    def in_order(whose: np.ndarray, coins: Coins) -> np.ndarray:
        order = np.argsort(whose, kind="stable")
        found = np.empty(len(whose), dtype=int)
        found[order] = np.roll(order.reshape(-1, 4), -1, axis=1).ravel()
        return found

    monkeypatch.setattr(families, "siblings", in_order)
    assert p_value(chosen(4), 4) < ALARM


def test_planted_the_first_children_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def first(whose: np.ndarray, secret: np.ndarray, most: int) -> np.ndarray:
        return smallest(whose, np.arange(len(whose)), most)

    smallest = families.smallest
    monkeypatch.setattr(families, "smallest", first)
    assert p_value(chosen(3), 3) < ALARM


def test_of_several_parents_of_one_key_each_is_as_likely() -> None:
    homes = pd.DataFrame({"home": np.tile(np.arange(DRAWS), 3), "size": np.repeat(["p", "q", "r"], DRAWS)})
    found = brought_together(homes, pd.DataFrame({"of": [0]}), link_of(2), Coins.from_os_entropy())
    used = found.parents["size"].value_counts()
    assert (used.size, used.sum()) == (3, DRAWS)
    assert stats.chisquare(used).pvalue > ALARM


def test_the_checks_would_see_a_preference() -> None:
    """One outcome twice as likely as the others is missed with a probability below ALARM."""
    for outcomes in (2, 3, 4, 6, 8):
        assert chi_square(DRAWS, [1] * outcomes, [2, *[1] * (outcomes - 1)], ALARM) < ALARM


@pytest.mark.parametrize("sizes", [(2,), (1, 2), (3, 1, 2), (5,)])
def test_every_sibling_is_as_likely(sizes: tuple[int, ...]) -> None:
    whose = np.repeat(np.arange(len(sizes)), sizes)  # of one file; many files stand one after the other
    starts = np.repeat(np.arange(DRAWS), len(whose))
    found = siblings(np.tile(whose, DRAWS) + len(sizes) * starts, Coins.from_os_entropy())
    has, places = found >= 0, np.arange(len(found))
    counted = np.zeros((len(whose), len(whose)), dtype=int)
    np.add.at(counted, (places[has] % len(whose), found[has] % len(whose)), 1)
    for row, of in enumerate(whose):
        there = (whose == of) & (np.arange(len(whose)) != row)
        assert counted[row][~there].sum() == 0
        if there.sum() > 1:
            assert stats.chisquare(counted[row][there]).pvalue > ALARM


# --- keys ------------------------------------------------------------------------------------------

SAME = [
    (1, 1.0), (np.int64(3), 3), ("a", np.str_("a")), (2**60, np.int64(2**60)), (Decimal(1), 1),
    (dt.datetime(2020, 1, 2), pd.Timestamp("2020-01-02")),
]  # fmt: skip
DIFFERENT = [(1, "1"), ("a", "A"), (2**53, 2**53 + 1), (2**60, 2**60 + 1), ("", " "), (0.5, "0.5")]
MISSING = [None, np.nan, pd.NA, pd.NaT, float("nan")]
NO_NAME = [
    float(2**53),
    1j,
    object(),
    [1],
    float("inf"),
]  # doubles in which whole numbers become one, and no names


@pytest.mark.parametrize(("one", "other"), SAME)
def test_one_key_however_it_is_stored(one: Any, other: Any) -> None:
    found = together([one], [other, other], 5)
    assert found.parents["number of people"].tolist() == [2]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_keys_that_differ_are_different_families(one: Any, other: Any) -> None:
    found = together([one, other], [one, one, other], 5)
    assert found.parents["number of people"].tolist() == [2, 1]


@pytest.mark.parametrize("missing", [*MISSING, *NO_NAME], ids=lambda cell: type(cell).__name__)
def test_who_has_no_key_is_nobodys(missing: Any) -> None:
    found = together(["x", missing, missing], ["x", missing, missing], 5)
    assert found.parents["size"].tolist() == ["p0"]
    assert found.children["age"].tolist() == ["c0"]
    assert found.siblings.tolist() == [-1]


NUMBERS = ["int64", "Int64", "float64", "Float64", "object", "category", "int64[pyarrow]", "uint16"]
TEXTS = ["object", "str", "string", "category", "string[pyarrow]"]


@pytest.mark.parametrize(
    ("kind", "of_parents", "of_children"),
    [(int, *both) for both in itertools.product(NUMBERS, NUMBERS)]
    + [(str, *both) for both in itertools.product(TEXTS, TEXTS)],
)
def test_keys_of_every_storage_meet(kind: type, of_parents: str, of_children: str) -> None:
    parents = pd.DataFrame({"home": pd.Series([3, 7, 11]).astype(kind).astype(of_parents)})
    children = pd.DataFrame({"of": pd.Series([7, 7, 3, 5]).astype(kind).astype(of_children)})
    found = brought_together(parents, children, link_of(8), Coins.from_os_entropy())
    assert found.parents["number of people"].tolist() == [1, 2, 0]


def test_labels_of_rows_play_no_part() -> None:
    homes, people = tables_of(["x", "y"], ["x", "x", "y"])
    for index in ([0, 0, 0], [9, 5, 2], pd.MultiIndex.from_tuples([(1, 1)] * 3)):
        found = brought_together(
            homes.set_axis([7, 7]), people.set_axis(index), link_of(2), Coins.from_os_entropy()
        )
        assert found.parents["number of people"].tolist() == [2, 1]
        assert found.children.index.equals(pd.RangeIndex(3))


@pytest.mark.parametrize(("parents", "children"), [([], []), ([], ["x"]), (["x"], []), ([None], [None])])
def test_empty_tables_are_tables(parents: list[Any], children: list[Any]) -> None:
    found = together(parents, children, 3)
    assert len(found.parents) == sum(key is not None for key in parents)
    assert len(found.children) == len(found.siblings) == 0
    assert {"of", "age", "homes.home", "homes.size", "homes.number of people"} == {*found.children.columns}

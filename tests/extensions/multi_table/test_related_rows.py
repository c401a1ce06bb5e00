"""Rows brought together: bounds, whose each line is, and the law of the two secret choices.

What is asserted of all draws is checked on every table of a few rows; a law is checked by an exact count of
draws, with a false alarm of probability ``ALARM`` at most, and each planted fault is missed as seldom.
"""

import datetime as dt
import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from miss_rates import chi_square
from scipy import stats

from sdv_plausible.extensions.multi_table import related_rows
from sdv_plausible.extensions.multi_table.related_rows import JoinedTables, select_children, siblings
from sdv_plausible.extensions.multi_table.related_rows import join_families as of_tables
from sdv_plausible.extensions.multi_table.relationships import Relationship, TableTree
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

ALARM = 1e-6
DRAWS = 4000


PEOPLE = Relationship(parent="homes", child="people", primary_key="home", foreign_key="of", most=2)
TRIPS = Relationship(parent="people", child="trips", primary_key="person", foreign_key="by", most=2)
CHAIN = TableTree(links=(PEOPLE, TRIPS))


def join_families(
    homes: pd.DataFrame, people: pd.DataFrame, most: int, rng: KeyedRNG | None = None
) -> JoinedTables:
    tree = TableTree(links=(replace(PEOPLE, most=most),))
    return of_tables({"homes": homes, "people": people}, tree, rng or KeyedRNG.from_os_entropy())


def tables_of(parents: list[Any], children: list[Any]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both tables by their keys, every row with a name of its own."""

    def made(key: str, cells: list[Any], name: str) -> pd.DataFrame:
        names = [f"{name[0]}{i}" for i in range(len(cells))]
        return pd.DataFrame({key: pd.Series(cells, dtype=object), name[1:]: names})

    return made("home", parents, "psize"), made("of", children, "cage")


def together(parents: list[Any], children: list[Any], most: int, rng: KeyedRNG | None = None) -> JoinedTables:
    return join_families(*tables_of(parents, children), most, rng)


def small_tables() -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """All keys of up to two parents and four children, some of them missing."""
    keys = ("a", "b", None)
    for p, c in itertools.product(range(3), range(5)):
        yield from itertools.product(
            itertools.combinations_with_replacement(keys, p), itertools.combinations_with_replacement(keys, c)
        )


def complaints(
    parents: tuple[Any, ...], children: tuple[Any, ...], most: int, found: JoinedTables
) -> list[str]:
    """What of a table brought together is not as the page says."""
    homes, people = found.tables["homes"], found.tables["people"]
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
    of, other = people["of"].to_numpy(), found.siblings["people"]
    own = np.arange(len(people))
    has = np.array([sizes.get(key, 0) > 1 for key in of], dtype=bool)
    if (has != (other >= 0)).any() or (other[has] == own[has]).any() or (of[other[has]] != of[has]).any():
        told.append("one other child of the same parent")
    return told


@pytest.mark.parametrize("most", [1, 2, 3])
def test_every_line_is_of_one_family_on_all_small_tables(most):
    for parents, children in small_tables():
        found = together(list(parents), list(children), most)
        assert complaints(parents, children, most, found) == [], (parents, children)


def _all_rows(whose: np.ndarray, secret: np.ndarray, most: int) -> np.ndarray:
    return np.flatnonzero(whose >= 0)


def _next_row(whose: np.ndarray, rng: KeyedRNG) -> np.ndarray:
    return (np.arange(len(whose)) + 1) % max(len(whose), 1)


def _of_orphans(names: Any, link: Relationship, used: np.ndarray) -> np.ndarray:
    """Children whose parent is not there hang on the last one."""
    named = names.of_parent[link.child]
    return np.where((found := places(names, link, used)) < 0, np.where(named < 0, -1, len(used) - 1), found)


def _missing_too(column: pd.Series) -> np.ndarray:
    return identities(column.fillna("none"))


identities, places = related_rows.person_keys, related_rows._KeyNumbers.places
PLANTED: dict[str, tuple[Any, ...]] = {
    "no cap": (related_rows, "select_smallest", _all_rows),
    "siblings of other families": (related_rows, "siblings", _next_row),
    "orphans are somebody's": (related_rows._KeyNumbers, "places", _of_orphans),
    "missing keys are one key": (related_rows, "person_keys", _missing_too),
    "families that share a person are two": (related_rows._KeyNumbers, "family", lambda names: names.own[names.tree.root]),
}  # fmt: skip
OF_CHAINS = "families that share a person are two"


def test_planted_children_counted_before_the_cap_are_seen():
    found = together(["a"], ["a"] * 3, 2)
    assert complaints(("a",), ("a",) * 3, 2, found) == []
    homes = found.tables["homes"].assign(**{"number of people": 3})
    before = replace(found, tables={**found.tables, "homes": homes})
    assert complaints(("a",), ("a",) * 3, 2, before) == ["as many children as are used"]


@pytest.mark.parametrize("planted", PLANTED)
def test_planted_faults_are_seen(planted, monkeypatch):
    """Of two tables, and of chains."""
    monkeypatch.setattr(*PLANTED[planted])
    most = 1 if planted == "no cap" else 2
    assert planted == OF_CHAINS or any(
        complaints(parents, children, most, together(list(parents), list(children), most))
        for parents, children in small_tables()
    )
    assert planted.startswith("siblings") or any(chain_complaints(*chain) for chain in small_chains())


def small_chains() -> Iterator[tuple[list[Any], list[tuple[Any, Any]], list[Any]]]:
    """Keys of up to two homes, three people (of whom, and their own) and three trips, some missing or repeated."""
    for homes in (["a"], ["a", "b"], ["a", "a"], ["a", None]):
        for n in range(4):
            for people in itertools.combinations_with_replacement(
                [*itertools.product(("a", "b", None), ("x", "y")), ("a", None)], n
            ):
                yield homes, list(people), ["x", "x", "x", "y", "z", None]


TIED_FROM_AFAR: list[tuple[list[Any], list[tuple[Any, Any]], list[Any]]] = [
    (["a", "b"], [("a", "x"), ("lost", "x"), ("lost", "y"), ("b", "y")], ["x", "y"]),
    (["a", "b"], [("a", "x"), ("lost", "x"), ("lost", "y"), ("gone", "y"), ("gone", "z"), ("b", "z")], ["x"]),
    (["a", "b"], [("lost", "x"), ("a", "x"), ("b", "y"), ("lost", "y")], []),
]
"""Two homes whose only tie are people of homes that are not in the table: one family, one row of the root."""


def component(homes: list[Any], people: list[tuple[Any, Any]]) -> dict[Any, int]:
    """Of every key the number of its family, by joining keys until nothing changes."""
    number = {key: i for i, key in enumerate({*homes, *itertools.chain(*people)} - {None})}
    for _ in number:
        for home, person in people:
            if home is not None and person is not None:
                number[home] = number[person] = min(number[home], number[person])
    return number


def chain_complaints(homes: list[Any], people: list[tuple[Any, Any]], trips: list[Any]) -> list[str]:
    found = of_tables(
        {
            "homes": pd.DataFrame({"home": pd.Series(homes, dtype=object)}),
            "people": pd.DataFrame(people, columns=["of", "person"]).astype(object),
            "trips": pd.DataFrame({"by": pd.Series(trips, dtype=object), "trip": range(len(trips))}),
        },
        CHAIN,
        KeyedRNG.from_os_entropy(),
    ).tables
    number, told = component(homes, people), []
    for name, key, most in (("homes", "home", 1), ("people", "of", 2), ("trips", "by", 4)):
        if max(Counter(number.get(one, one) for one in found[name][key]).values(), default=0) > most:
            told.append(f"{name}: at most {most} of each family")
    if {number[key] for key in homes if key is not None} != {number[key] for key in found["homes"]["home"]}:
        told.append("a row of the root of each family")
    own = found["people"]["person"].dropna()
    if own.duplicated().any() or not {*found["people"]["of"]} <= {*found["homes"]["home"]}:
        told.append("people of one key once, and only whose home is used")
    if {*found["trips"]["by"]} - {*own} or found["trips"]["trip"].duplicated().any():
        told.append("trips of used people, each once")
    sizes = Counter(found["trips"]["by"])
    if [sizes[key] for key in found["people"]["person"]] != found["people"]["number of trips"].tolist():
        told.append("as many trips as are used")
    if max(sizes.values(), default=0) > 2:
        told.append("at most so many trips of each person")
    return told


def test_every_line_of_a_chain_is_of_one_family_on_all_small_tables():
    for chain in small_chains():
        assert chain_complaints(*chain) == [], chain


def test_families_are_tied_through_whoever_is_not_there():
    for chain in TIED_FROM_AFAR:
        assert chain_complaints(*chain) == [], chain


STOPS = Relationship(parent="trips", child="stops", primary_key="trip", foreign_key="on", most=1)


@pytest.mark.parametrize("tied_by", ["people", "trips"])
def test_a_tie_in_any_table_makes_one_family(tied_by):
    """Two homes share a person, or their people share a trip: one row of the root, whoever is not there."""
    people = [("a", "x"), ("b", "x" if tied_by == "people" else "y")]
    trips = [("x", "t"), ("lost", "t"), ("lost", "u"), ("y", "u")] if tied_by == "trips" else [("x", "t")]
    tables = {
        "homes": pd.DataFrame({"home": ["a", "b", "c"]}),
        "people": pd.DataFrame(people, columns=["of", "person"]),
        "trips": pd.DataFrame(trips, columns=["by", "trip"]),
        "stops": pd.DataFrame({"on": ["t"]}),
    }
    found = of_tables(tables, TableTree(links=(PEOPLE, TRIPS, STOPS)), KeyedRNG.from_os_entropy()).tables[
        "homes"
    ]["home"]
    assert len(found) == 2
    assert "c" in {*found}


FOUR = ("c0", "c1", "c2", "c3")  # children of every family, in the order of the file or in the other


def chosen(most: int, *, backwards: bool = False) -> Counter[Any]:
    """Of many families of four, how often which children were used, with whom beside the first by name."""
    homes = pd.DataFrame({"home": range(DRAWS)})
    people = pd.DataFrame({"of": np.tile(np.arange(DRAWS), 4), "age": np.repeat(FOUR, DRAWS)})
    people = people.iloc[::-1] if backwards else people
    found = join_families(homes, people, most)
    lines = (
        found.tables["people"]
        .assign(beside=found.tables["people"]["age"].to_numpy()[found.siblings["people"]])
        .sort_values("age")
    )
    of = lines.groupby("of")
    return Counter(zip(of["age"].agg("".join), of["beside"].first(), strict=True))


def p_value(found: Counter[Any], most: int) -> float:
    every = [("".join(used), other) for used in itertools.combinations(FOUR, most) for other in used[1:]]
    assert {*found} <= {*every}
    return float(stats.chisquare([found[one] for one in every]).pvalue)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("most", [2, 3, 4])
def test_choice_and_sibling_are_each_as_likely_in_any_order(most, backwards):
    assert p_value(chosen(most, backwards=backwards), most) > ALARM


@pytest.mark.parametrize("most", [1, 2, 3])
def test_the_child_in_its_parents_line_is_one_of_those_that_may_be_used(most):
    """Of four children of each of three parents, of whom only the first two parents have one with the role."""
    whose, can = np.repeat(np.arange(3), 4), np.tile([False, True], 6) & (np.arange(12) < 8)
    for seed in range(20):
        used, is_first = related_rows.select_children(whose, can, most, KeyedRNG.from_seed(seed))
        assert np.bincount(whose[used], minlength=3).tolist() == [most, most, most - 1]
        assert np.bincount(whose[used[is_first]], minlength=3).tolist() == [1, 1, 0]
        assert can[used[is_first]].all()


def test_planted_choices_by_the_order_of_the_file(monkeypatch):
    """Siblings: of four children always the same two are side by side. Then the first children alone are used."""

    def in_order(whose, rng):
        order = np.argsort(whose, kind="stable")
        found = np.empty(len(whose), dtype=int)
        found[order] = np.roll(order.reshape(-1, 4), -1, axis=1).ravel()
        return found

    with monkeypatch.context() as patch:
        patch.setattr(related_rows, "siblings", in_order)
        assert p_value(chosen(4), 4) < ALARM
    smallest = related_rows.select_smallest
    monkeypatch.setattr(
        related_rows, "select_smallest", lambda whose, _, most: smallest(whose, np.arange(len(whose)), most)
    )
    assert p_value(chosen(3), 3) < ALARM


def test_of_several_parents_of_one_key_each_is_as_likely():
    homes = pd.DataFrame({"home": np.tile(np.arange(DRAWS), 3), "size": np.repeat(["p", "q", "r"], DRAWS)})
    found = join_families(homes, pd.DataFrame({"of": [0]}), 2)
    used = found.tables["homes"]["size"].value_counts()
    assert (used.size, used.sum()) == (3, DRAWS)
    assert stats.chisquare(used).pvalue > ALARM


def test_of_people_of_one_key_one_whose_home_is_used_is_used_each_as_likely():
    """An orphan takes nobody's place, and who has no key is used beside them."""
    home = np.arange(DRAWS)
    people = pd.DataFrame(
        {
            "of": np.concatenate([home, home, home, home + DRAWS, home]),
            "person": pd.Series([*np.tile(home, 4), *[None] * DRAWS], dtype=object),
            "age": np.repeat(["p", "q", "r", "orphan", "no key"], DRAWS),
        }
    )
    tables = {"homes": pd.DataFrame({"home": home}), "people": people, "trips": pd.DataFrame({"by": [0]})}
    found = of_tables(tables, CHAIN, KeyedRNG.from_os_entropy()).tables["people"]["age"].value_counts()
    assert found.pop("no key") == DRAWS
    assert {*found.index} == {"p", "q", "r"}
    assert found.sum() == DRAWS
    assert stats.chisquare(found).pvalue > ALARM


def test_the_checks_would_see_a_preference():
    """One outcome twice as likely as the others is missed with a probability below ALARM."""
    for outcomes in (2, 3, 4, 6, 8):
        assert chi_square(DRAWS, [1] * outcomes, [2, *[1] * (outcomes - 1)], ALARM) < ALARM


def test_every_sibling_is_as_likely():
    for sizes in ((2,), (1, 2), (3, 1, 2), (5,)):
        whose = np.repeat(np.arange(len(sizes)), sizes)  # of one file; many files stand one after the other
        starts = np.repeat(np.arange(DRAWS), len(whose))
        found = siblings(np.tile(whose, DRAWS) + len(sizes) * starts, KeyedRNG.from_os_entropy())
        has, places = found >= 0, np.arange(len(found))
        counted = np.zeros((len(whose), len(whose)), dtype=int)
        np.add.at(counted, (places[has] % len(whose), found[has] % len(whose)), 1)
        for row, of in enumerate(whose):
            there = (whose == of) & (np.arange(len(whose)) != row)
            assert counted[row][~there].sum() == 0
            assert there.sum() <= 1 or stats.chisquare(counted[row][there]).pvalue > ALARM


SAME = [
    (1, 1.0), (np.int64(3), 3), ("a", np.str_("a")), (2**60, np.int64(2**60)), (Decimal(1), 1),
    (dt.datetime(2020, 1, 2), pd.Timestamp("2020-01-02")),
]  # fmt: skip
DIFFERENT = [(1, "1"), ("a", "A"), (2**53, 2**53 + 1), (2**60, 2**60 + 1), ("", " "), (0.5, "0.5")]
# The last: doubles in which whole numbers become one, and no names.
MISSING = [None, np.nan, pd.NA, pd.NaT, float("nan"), float(2**53), 1j, object(), [1], float("inf")]
NUMBERS = ["int64", "Int64", "float64", "Float64", "object", "category", "int64[pyarrow]", "uint16"]
TEXTS = ["object", "str", "string", "category", "string[pyarrow]"]


def test_keys_are_one_or_differ_by_their_values_alone():
    for one, other in SAME:
        found = together([one], [other, other], 5)
        assert found.tables["homes"]["number of people"].tolist() == [2], (one, other)
    for one, other in DIFFERENT:
        found = together([one, other], [one, one, other], 5)
        assert found.tables["homes"]["number of people"].tolist() == [2, 1], (one, other)


def test_who_has_no_key_is_nobodys():
    for missing in MISSING:
        found = together(["x", missing, missing], ["x", missing, missing], 5)
        assert found.tables["homes"]["size"].tolist() == ["p0"], missing
        assert found.tables["people"]["age"].tolist() == ["c0"], missing
        assert found.siblings["people"].tolist() == [-1], missing


def test_keys_of_every_storage_meet():
    for kind, storages in ((int, NUMBERS), (str, TEXTS)):
        for of_parents, of_children in itertools.product(storages, storages):
            parents = pd.DataFrame({"home": pd.Series([3, 7, 11]).astype(kind).astype(of_parents)})
            children = pd.DataFrame({"of": pd.Series([7, 7, 3, 5]).astype(kind).astype(of_children)})
            found = join_families(parents, children, 8).tables["homes"]["number of people"]
            assert found.tolist() == [1, 2, 0], (of_parents, of_children)


def test_labels_of_rows_play_no_part():
    homes, people = tables_of(["x", "y"], ["x", "x", "y"])
    for index in ([0, 0, 0], [9, 5, 2], pd.MultiIndex.from_tuples([(1, 1)] * 3)):
        found = join_families(homes.set_axis([7, 7]), people.set_axis(index), 2)
        assert found.tables["homes"]["number of people"].tolist() == [2, 1]
        assert found.tables["people"].index.equals(pd.RangeIndex(3))


def test_empty_tables_are_tables():
    for parents, children in (([], []), ([], ["x"]), (["x"], []), ([None], [None])):
        found = together(parents, children, 3)
        assert len(found.tables["homes"]) == sum(key is not None for key in parents)
        assert len(found.tables["people"]) == len(found.siblings["people"]) == 0
        columns = {"of", "age", "homes.home", "homes.size", "homes.number of people"}
        assert {*found.tables["people"]} == columns


def test_whoever_stands_in_the_line_is_one_of_at_most_so_many_and_nobody_is_lost():
    """Of every mask of who could stand there: all children up to the cap, and at most one in the line."""
    for size, most in itertools.product(range(5), range(1, 4)):
        whose = np.zeros(size, dtype=int)
        for mask in itertools.product([False, True], repeat=size):
            can = np.array(mask, dtype=bool)
            used, first = select_children(whose, can, most, KeyedRNG.from_seed(size))
            wanted = min(size, most) if can.any() else min(size, most - 1)
            assert len({*used.tolist()}) == len(used) == wanted, (mask, most)
            assert first.sum() == can.any()
            assert can[used[first]].all()

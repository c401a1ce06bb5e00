"""Measures of benchmarks.related: nothing is far from itself, and every planted fault raises the distance that is its."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from benchmarks import related
from sdv_plausible.datasets import families_like, families_like_domain

LINK, DOMAIN = related.LINK, families_like_domain()


@pytest.fixture(scope="module")
def families():
    return families_like(2_000, 1)


def strangers(tables):
    """People of one relation put into each other's households: sizes and tables stay, families do not."""
    persons, rng = tables["persons"], np.random.default_rng(0)
    homes = persons.groupby("relation")["household_id"].transform(rng.permutation)
    return {**tables, "persons": persons.assign(household_id=homes)}


def moved(tables):
    """Whole families put into each other's households: siblings stay, parents do not."""
    keys = tables["households"]["household_id"].to_numpy()
    to = dict(zip(keys, np.random.default_rng(0).permutation(keys), strict=True))
    persons = tables["persons"]
    return {**tables, "persons": persons.assign(household_id=persons["household_id"].map(to))}


def spoiled(tables, table, column):
    """One column in another order."""
    rng = np.random.default_rng(0)
    return {**tables, table: tables[table].assign(**{column: rng.permutation(tables[table][column])})}


def fewer(tables):
    """Half of the children left out."""
    persons = tables["persons"]
    kept = (persons["relation"] != "child") | (np.random.default_rng(0).random(len(persons)) < 0.5)
    return {**tables, "persons": persons[kept]}


def distances(reference, made):
    """Of tables that are fitted and compared with the reference."""
    return related.distances(dict(related.parts(reference, LINK, DOMAIN)), reference, made, LINK, DOMAIN)


FAULTS = {
    "siblings": (strangers, {"households", "persons", "sizes"}),
    "parent-child": (moved, {"households", "persons", "siblings"}),
    "households": (lambda tables: spoiled(tables, "households", "income"), {"persons", "siblings", "sizes"}),
    "persons": (lambda tables: spoiled(tables, "persons", "age"), {"households", "sizes"}),
    "sizes": (fewer, {"households"}),
}


def test_nothing_is_far_from_itself(families):
    found = distances(families, families)
    assert found == dict.fromkeys(related.DISTANCES, 0.0)


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_raises_its_distance_and_leaves_the_others(families, name):
    """Everything here is drawn with fixed seeds; pairs of siblings are drawn anew within a moved family."""
    fault, untouched = FAULTS[name]
    found = distances(families, fault(families))
    assert found[name] > 0.05
    assert max(found[other] for other in untouched) < 0.03


def test_a_sibling_is_another_of_the_family_and_nobody_is_paired_who_is_alone(families):
    persons = families["persons"]
    first, second = related.siblings(persons, "household_id")
    assert (first["household_id"] == second["household_id"]).all()
    assert (first["person_id"] != second["person_id"]).all()
    size = persons.groupby("household_id")["person_id"].transform("size")
    assert (
        sorted(first["person_id"])
        == sorted(persons.loc[size > 1, "person_id"])
        == sorted(second["person_id"])
    )


def test_sizes_count_households_without_people_and_stop_at_what_is_used():
    homes = pd.DataFrame({"household_id": ["a", "b", "c"]})
    persons = pd.DataFrame({"household_id": ["a"] * 11 + ["b"]})
    sizes = related.sizes_of({"households": homes, "persons": persons}, LINK)
    assert sizes.tolist() == [1, 1, 0, 0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("change", "share"),
    [
        (lambda homes, persons: (homes, persons), 1.0),
        (lambda homes, persons: (pd.concat([homes, homes[:1]]), persons), 0.0),
        (lambda homes, persons: (homes, persons.assign(person_id="P0")), 0.0),
        (lambda homes, persons: (homes.assign(household_id=homes["household_id"].where(homes.index > 0)), persons), 0.0),
        (lambda homes, persons: (homes[homes["household_id"] != persons["household_id"].iloc[0]], persons), None),
    ],
)  # fmt: skip
def test_keys_are_whole_or_the_share_of_children_with_a_parent_is_less(families, change, share):
    homes, persons = change(families["households"], families["persons"])
    found = related.whole_keys({"households": homes, "persons": persons}, LINK, "person_id")
    assert found == share if share is not None else 0.9 < found < 1


def test_two_heads_or_two_spouses_are_counted(families):
    assert related.one_head(families) == 1
    persons = families["persons"]
    for relation in ("head", "spouse"):
        worse = persons.assign(relation=persons["relation"].replace("child", relation))
        assert related.one_head({**families, "persons": worse}) < 0.9


def test_a_run_has_every_measure_and_the_report_shows_how_many_times_it_is(monkeypatch):
    monkeypatch.setattr(
        related, "reference", lambda: dict(related.parts(families_like(500, 2), LINK, DOMAIN))
    )
    lines = [related.measure(method, 3.0, 0, 300, 60.0) for method in ("ours", "single")]
    assert {*related.DISTANCES, *related.SHARES, *related.SECONDS} <= {*lines[0]}
    assert lines[0]["whole keys"] == 1
    assert "households" not in lines[1]
    lines[0]["persons"], lines[1]["persons"], lines[0]["one head"] = 0.3, 0.2, 1.0
    lines.append({"method": "hma", "epsilon": math.inf, "repeat": 0, "size": 300, "failed": "not finished"})
    shown = related.report(lines).splitlines()
    assert shown[2].startswith("| 3 | ours | 1 | ")
    assert " | 1.50 | 1.000 | 1.000 | " in shown[2]
    assert "| none | HMA (SDV; not private; 1,000 households) | 0 | not finished |" in shown[4]

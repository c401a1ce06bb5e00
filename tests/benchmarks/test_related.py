"""Measures of benchmarks.related: nothing is far from itself, and every planted fault raises the distance that is its."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from benchmarks import related, related_data
from benchmarks.related_data import DATASETS
from sdv_plausible.datasets import families_like, families_like_domain

LINK, DOMAIN = DATASETS["families"].link, families_like_domain()


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


def shuffled(tables, table, column):
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
    "siblings": (strangers, {"parents", "children", "sizes"}),
    "parent-child": (moved, {"parents", "children", "siblings"}),
    "parents": (lambda tables: shuffled(tables, "households", "income"), {"children", "siblings", "sizes"}),
    "children": (lambda tables: shuffled(tables, "persons", "age"), {"parents", "sizes"}),
    "sizes": (fewer, {"parents"}),
}


def test_a_planted_fault_raises_its_distance_and_leaves_the_others(families):
    """Everything here is drawn with fixed seeds; pairs of siblings are drawn anew within a moved family."""
    assert distances(families, families) == dict.fromkeys(related.DISTANCES, 0.0)
    for name, (fault, untouched) in FAULTS.items():
        found = distances(families, fault(families))
        assert found[name] > 0.05, name
        assert max(found[other] for other in untouched) < 0.03, name


def test_a_sibling_is_another_of_the_family_and_nobody_is_paired_who_is_alone(families):
    persons = families["persons"]
    first, second = related.siblings(persons, "household_id")
    assert (first["household_id"] == second["household_id"]).all()
    assert (first["person_id"] != second["person_id"]).all()
    size = persons.groupby("household_id")["person_id"].transform("size")
    several = sorted(persons.loc[size > 1, "person_id"])
    assert sorted(first["person_id"]) == several == sorted(second["person_id"])


def test_sizes_count_households_without_people_and_stop_at_what_is_used():
    homes = pd.DataFrame({"household_id": ["a", "b", "c"]})
    persons = pd.DataFrame({"household_id": ["a"] * 11 + ["b"]})
    sizes = related.sizes_of({"households": homes, "persons": persons}, LINK)
    assert sizes.tolist() == [1, 1, 0, 0, 0, 0, 0, 0, 1]


def test_keys_are_whole_or_the_share_of_children_with_a_parent_is_less(families):
    homes, persons = families["households"], families["persons"]
    first = homes["household_id"] == persons["household_id"].iloc[0]
    found = [
        related.whole_keys({"households": parents, "persons": children}, LINK, "person_id")
        for parents, children in (
            (homes, persons),
            (pd.concat([homes, homes[:1]]), persons),
            (homes, persons.assign(person_id="P0")),
            (homes.assign(household_id=homes["household_id"].where(homes.index > 0)), persons),
            (homes[~first], persons),
        )
    ]
    assert found[:4] == [1, 0, 0, 0]
    assert 0.9 < found[4] < 1


def test_two_heads_or_two_spouses_are_counted(families):
    roles = DATASETS["families"].roles
    assert related.roles_kept(families, LINK, roles) == 1
    assert math.isnan(related.roles_kept(families, LINK, {}))
    persons = families["persons"]
    for relation in ("head", "spouse"):
        worse = persons.assign(relation=persons["relation"].replace("child", relation))
        assert related.roles_kept({**families, "persons": worse}, LINK, roles) < 0.9


def test_a_run_has_every_measure_and_the_report_shows_how_many_times_it_is(monkeypatch):
    reference = dict(related.parts(families_like(500, 2), LINK, DOMAIN))
    monkeypatch.setattr(related, "reference", lambda name, repeat: reference)
    lines = [related.measure("families", method, 3.0, 0, 300, 60.0) for method in ("ours", "single")]
    assert {*related.DISTANCES, *related.SHARES, *related.SECONDS} <= {*lines[0]}
    assert lines[0]["whole keys"] == 1
    assert "parents" not in lines[1]
    lines[0]["children"], lines[1]["children"], lines[0]["roles"] = 0.3, 0.2, 1.0
    failed = {"method": "hma", "epsilon": math.inf, "repeat": 0, "size": 300, "failed": "not finished"}
    lines.append({"data": "families", **failed})
    shown = related.report(lines).splitlines()
    assert shown[2].startswith("| families | 3 | ours | 300 | 1 | ")
    assert " | 1.50 | 1.000 | 1.000 | " in shown[2]
    assert "| families | none | HMA (SDV; not private) | 300 | 0 | not finished |" in shown[4]


@pytest.mark.parametrize("name", DATASETS)
def test_every_cell_is_declared_and_others_are_other_families(name):
    data = DATASETS[name]
    if (lacking := data.absent()) is not None:
        pytest.skip(lacking)
    tables, link = data.used(0, 300), data.link
    said = data.metadata["tables"]
    assert {name: sorted(rows) for name, rows in tables.items()} == {
        name: sorted(said[name]["columns"]) for name in said
    }
    for table, columns in data.domain.items():
        for column, spec in columns.items():
            cells = tables[table][column]
            assert spec["range_is_nullable"] or not cells.isna().any(), column
            if "range_values" in spec:
                assert cells.isin(spec["range_values"]).all(), column
            else:
                assert cells.dropna().between(spec["range_min"], spec["range_max"]).all(), column
    assert len(tables[link.parent]) == 300
    assert related.whole_keys(tables, link, data.own_key) == 1
    assert data.roles == {} or related.roles_kept(tables, link, data.roles) == 1
    parents = data.others(0)[link.parent].drop(columns=link.primary_key)
    assert not parents[:300].equals(tables[link.parent].drop(columns=link.primary_key))


@pytest.mark.skipif(bool(DATASETS["hotels"].absent()), reason=str(DATASETS["hotels"].absent()))
def test_guests_hang_on_the_stars_and_on_what_no_column_of_the_hotel_shows():
    """By the documented rule; seeds are fixed."""
    tables = related_data.hotels_like(2_000, 0)
    guests = tables["guests"].join(tables["hotels"].set_index("hotel_id"), on="hotel_id")
    assert guests["room_rate"].corr(guests["stars"]) > 0.4
    guests["beyond"] = guests["room_rate"] - guests.groupby("stars")["room_rate"].transform("mean")
    first, second = related.siblings(guests, "hotel_id")
    assert first["beyond"].corr(second["beyond"]) > 0.1


def test_data_that_is_not_there_is_left_out_with_the_reason(monkeypatch, capsys, tmp_path):
    lacking = replace(DATASETS["households"], files=(related_data.DATA / "nowhere.csv",))
    monkeypatch.setitem(DATASETS, "households", lacking)
    monkeypatch.setattr("sys.argv", ["related", "--data", "households", "--results", str(tmp_path / "none")])
    related.main()
    assert "households left out: nowhere.csv not found" in capsys.readouterr().out

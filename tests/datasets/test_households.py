"""Simulated families: whole keys, the declared domain, and the links that are promised."""

import json

import numpy as np
import pandas as pd
import pytest

from sdv_plausible.datasets import families_like, families_like_domain, families_like_metadata


@pytest.fixture(scope="module")
def families():
    return families_like(5_000, 1)


def faults(tables):
    """What is not as it is promised of every row."""
    households, persons = tables["households"], tables["persons"]
    found = []
    if not (households["household_id"].is_unique and persons["person_id"].is_unique):
        found.append("keys")
    if set(persons["household_id"]) != set(households["household_id"]):
        found.append("links")
    counts = pd.crosstab(persons["household_id"], persons["relation"])
    if not ((counts["head"] == 1).all() and (counts["spouse"] <= 1).all()):
        found.append("relations")
    if persons.groupby("household_id").size().max() > 11:
        found.append("sizes")
    for table, columns in families_like_domain().items():
        for name, spec in columns.items():
            cells = tables[table][name]
            ok = (
                cells.between(spec["range_min"], spec["range_max"]).all()
                if "range_min" in spec
                else set(cells) == set(spec["range_values"])  # each occurs in 5,000 households, too
            )
            found += [] if ok else [name]
    return found


def test_every_row_is_as_promised_and_a_planted_fault_is_seen(families):
    assert faults(families) == []
    p = families["persons"]
    for fault, persons in (
        ("keys", p.assign(person_id=p["person_id"].iloc[0])),
        ("links", p.assign(household_id=p["household_id"].replace("H00000000", "H99999999"))),
        ("relations", p.assign(relation=p["relation"].replace("other", "head"))),
        ("relations", p.assign(relation=p["relation"].replace("other", "spouse"))),
        ("sizes", pd.concat([p, *[p[p["relation"] == "child"]] * 11])),
        ("age", p.assign(age=p["age"] + 50)),
        ("education", p.assign(education=p["education"].replace("degree", "doctor"))),
    ):
        assert fault in faults({**families, "persons": persons})


def links(tables):
    """Correlations within couples, between siblings, and between heads and their households."""
    of = dict(list(tables["persons"].groupby("relation")))
    homes = tables["households"].set_index("household_id")
    couples = of["head"].merge(of["spouse"], on="household_id")
    children = of["child"].drop_duplicates("household_id").merge(of["child"], on="household_id")
    children = children[children["person_id_x"] != children["person_id_y"]]
    heads = of["head"].join(homes, on="household_id")
    degrees = heads["education"].map({"none": 0, "school": 1, "college": 2, "degree": 3})
    return {
        "ages of couples": couples["age_x"].corr(couples["age_y"]),
        "ages of children": children["age_x"].corr(children["age_y"]),
        "two sexes": (couples["sex_x"] != couples["sex_y"]).mean() - 0.5,
        "educations": (couples["education_x"] == couples["education_y"]).mean() - 0.25,
        "income": degrees.corr(np.log(heads["income"])),
    }


def test_promised_links_are_there_and_gone_when_people_are_shuffled(families):
    """Of 2,700 couples, 1,500 pairs of children and 5,000 heads: measured .98, .94, .46, .46, .40.

    Shuffled, a correlation has a standard deviation below .03, so that none exceeds .2 but with a probability
    below 1e-9; of the same education are 28 % of two strangers.
    """
    assert min(links(families).values()) > 0.3
    persons = families["persons"]
    rng = np.random.default_rng(0)
    strangers = persons.groupby("relation")["household_id"].transform(rng.permutation)
    found = links({**families, "persons": persons.assign(household_id=strangers)})
    assert max(abs(value) for value in found.values()) < 0.2


def test_dtypes_do_not_depend_on_the_number_of_households():
    usual = families_like(50)
    for number in (0, 1, 300):
        tables = families_like(number)
        for name, table in tables.items():
            pd.testing.assert_series_equal(table.dtypes, usual[name].dtypes)
        assert len(tables["households"]) == number


def test_random_state_repeats_and_none_does_not():
    """Else 200 equal rows by chance: no row has a tenth of the mass, hence below 1e-200."""
    made = [families_like(200, seed) for seed in (5, 5, 6, None, None)]
    for table in ("households", "persons"):
        first, same, other, one, two = (tables[table] for tables in made)
        pd.testing.assert_frame_equal(first, same)
        assert not first.equals(other)
        assert not one.equals(two)


def test_arguments_are_whole_numbers():
    for arguments, error, words in (
        ((1.5,), TypeError, "num_households"),
        ((True,), TypeError, "num_households"),
        ((-1,), ValueError, "num_households"),
        ((10**7 + 1,), ValueError, "num_households .* at most 10,000,000"),
        ((3, -1), ValueError, "random_state"),
        ((3, "seed"), TypeError, "random_state"),
    ):
        with pytest.raises(error, match=words):
            families_like(*arguments)


def test_metadata_is_a_document_that_sdv_reads(families):
    from sdv.metadata import Metadata

    document = families_like_metadata()
    assert json.loads(json.dumps(document)) == document
    metadata = Metadata.load_from_dict(document)
    metadata.validate()
    metadata.validate_data(families)
    for table, columns in document["tables"].items():
        assert list(columns["columns"]) == list(families[table])
        declared = families_like_domain()[table]
        assert [n for n, s in columns["columns"].items() if s["sdtype"] != "id"] == list(declared)
    families_like_domain()["persons"]["sex"]["range_values"].clear()
    assert families_like_domain()["persons"]["sex"]["range_values"] == ["f", "m"]

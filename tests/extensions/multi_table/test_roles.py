"""One child of a role in its parent's line: how many lines are left, and others who are drawn given it."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from trees import metadata_of

from sdv_plausible.extensions.multi_table import related_rows
from sdv_plausible.extensions.multi_table.multi_table_synthesizer import (
    PlausibleDeniabilityMultiTableSynthesizer,
)
from sdv_plausible.extensions.multi_table.related_fit import fit_tables
from sdv_plausible.extensions.multi_table.related_rows import join_families
from sdv_plausible.extensions.multi_table.relationships import (
    Relationship,
    Role,
    TableTree,
    max_rows_per_family,
)
from sdv_plausible.fitting.diagnostics import HolderDiagnostics
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

PEOPLE = Relationship(parent="homes", child="people", primary_key="home", foreign_key="of", most=3)
TRIPS = Relationship(parent="people", child="trips", primary_key="person", foreign_key="by", most=4)
ONE, SOME = ((Role(column="x", code=0, often=often),) for often in ("exactly one", "at most one"))


@pytest.mark.parametrize(
    ("roles", "most"),
    [
        ({}, (1, 3, 12)), ({"people": SOME}, (1, 3, 12)), ({"people": ONE}, (1, 2, 12)), ({"trips": ONE}, (1, 3, 9)),
        ({"people": ONE, "trips": ONE}, (1, 2, 9)),
    ],
)  # fmt: skip
def test_lines_of_a_family_but_for_those_that_stand_elsewhere(roles, most):
    """There is noise for one line where all stand elsewhere."""
    tree = TableTree(links=(PEOPLE, TRIPS))
    assert tuple(max_rows_per_family(tree, roles, name) for name in ("homes", "people", "trips")) == most
    assert max_rows_per_family(TableTree(links=(replace(PEOPLE, most=1),)), {"people": ONE}, "people") == 1


METADATA = metadata_of(
    {
        "homes": {"home": "id", "tenure": "categorical"},
        "people": {"of": "id", "role": "categorical", "vote": "categorical"},
    },
    ("homes", "home", "people", "of"),
)
DOMAIN = {
    "homes": {"tenure": {"range_values": ["own", "rent"]}},
    "people": {
        "role": {"range_values": ["head", "other"]},
        "vote": {"range_values": ["a", "b", "c"], "range_is_nullable": False},
    },
}
ROLES = {"people": {"role": {"head": "exactly one"}}}
HOMES = 900


def of_one_vote() -> float:
    """Share of others who vote as their head does, without noise, where all of a home vote alike."""
    tell = PlausibleDeniabilityMultiTableSynthesizer(
        METADATA, epsilon=math.inf, max_children=3, domain=DOMAIN, roles=ROLES
    )._specs
    home = np.arange(HOMES)
    of = np.repeat(home, home % 4)
    role = np.where(pd.Series(of).duplicated(), "other", "head")
    people = pd.DataFrame({"of": of, "role": role, "vote": np.array(["a", "b", "c"])[of // 4 % 3]})
    tables = {"homes": pd.DataFrame({"home": home, "tenure": "own"}), "people": people.iloc[::-1]}
    rng = KeyedRNG.from_seed(1)
    found = join_families(tables, tell.tree, rng, tell.first_candidates(tables, rng.spawn("roles")))
    release = fit_tables(tell, found, rng.spawn("fit"), HolderDiagnostics())
    parents = release.tables["homes"].sample_modelled(HOMES, rng.spawn("homes"))
    sizes = parents["number of people"].to_numpy(dtype=int)
    drawn = release._samplers["people"].children(parents, sizes, rng.spawn("people"))
    whose = np.repeat(np.arange(HOMES), sizes)
    heads = drawn["role"] == "head"
    assert np.array_equal(whose[heads], np.flatnonzero(sizes))
    of_head = pd.Series(drawn["vote"][heads].to_numpy(), index=whose[heads]).reindex(whose[~heads])
    return float((of_head.to_numpy() == drawn["vote"][~heads].to_numpy()).mean())


def test_others_are_drawn_given_whoever_stands_in_their_parents_line(monkeypatch):
    """Without noise: only the rows and draws of a fixed seed are left to chance. Planted: other homes' heads."""
    assert of_one_vote() > 0.95
    put = related_rows.attach_first_children
    monkeypatch.setattr(
        related_rows,
        "attach_first_children",
        lambda parents, cells, whose: put(parents, cells, np.roll(whose, 3)),
    )
    assert of_one_vote() < 0.8

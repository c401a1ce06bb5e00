"""What a holder is told of related tables: every rule by which a fit leaves rows out, counted, and no cell kept."""

import json
from decimal import Decimal

import pandas as pd
import pytest
from sentences import notes_of

from sdv_plausible import PlausibleDeniabilityMultiTableSynthesizer
from sdv_plausible.datasets import families_like, families_like_domain, families_like_metadata
from sdv_plausible.extensions.multi_table.related_checks import check_keys
from sdv_plausible.extensions.multi_table.related_rows import join_families
from sdv_plausible.extensions.multi_table.relationships import Relationship, TableTree
from sdv_plausible.fitting.diagnostics import FitWarning
from sdv_plausible.models import forecast
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

PEOPLE = Relationship(parent="homes", child="people", primary_key="home", foreign_key="of", most=2)
HOME = "household_id"
TRIPS = Relationship(parent="people", child="trips", primary_key="key", foreign_key="by", most=2)


def found(tree, **columns):
    """Words -> rows, of the findings about keys."""
    tables = {name: pd.DataFrame(columns[name]) for name in tree.tables}
    told = {one.column: [] for one in check_keys(tables, tree)}
    for one in check_keys(tables, tree):
        told[one.column].append((" ".join(one.problem.split(" ")[:2]), one.cells))
    return told


@pytest.mark.parametrize(
    ("homes", "people", "wanted"),
    [
        ([1, 2, 3], [1, 1, 2], {}),
        ([], [], {}),
        (["a", "b"], ["c", "a", "d"], {"people.of: name no": 2}),
        (["a", "a", "a", "b", "b"], ["a"], {"homes.home: repeat the": 3}),
        (["a", None], ["a", None, float("nan")], {"homes.home: are missing": 1, "people.of: are missing": 2}),
        ([1.0, 2.0**53], [1, 2.0**60], {"homes.home: are missing": 1, "people.of: are missing": 1}),
        (["a", "b"], ["a"] * 5 + ["b"] * 3, {"people.of: are more": 4}),
        (["a", "a"], ["a"] * 3, {"homes.home: repeat the": 1, "people.of: are more": 1}),
        (["7", "H 1", "ÄB"], [7, "h1", "äb", "8"], {"people.of: name no": 4, "people.of: of these": 3}),
        (["007", "-0.0"], ["7", 7.0, Decimal("7.00"), "0"], {"people.of: name no": 4, "people.of: of these": 3}),
        (["1" * 30 + "2"], ["1" * 30 + "3"], {"people.of: name no": 1}),
        (["7.5"], ["7", "75"], {"people.of: name no": 2}),
        (
            pd.Series([10**4300, ("a", 10**4300)], dtype=object),  # of a list pandas makes no column
            pd.Series([10**4300, 10**4301, ("b", -(10**4300))], dtype=object),
            {"people.of: name no": 2},
        ),
    ],
)  # fmt: skip
def test_every_rule_is_counted(homes, people, wanted):
    told = found(TableTree(links=(PEOPLE,)), homes={"home": homes}, people={"of": people})
    assert {f"{c}: {words}": n for c, ones in told.items() for words, n in ones} == wanted


def test_a_chain_is_counted_link_by_link_and_keys_below_tie_families():
    """Persons who are numbered anew in every home are the usual mistake: all homes are then one family."""
    tree = TableTree(links=(PEOPLE, TRIPS))
    people = {"key": [1, 2, 1, 2, 1, None], "of": ["a", "a", "b", "b", "c", "d"]}
    told = found(tree, homes={"home": ["a", "b", "c", "d", "e"]}, people=people, trips={"by": [1, 1, 1, 3]})
    assert told == {
        "homes.home": [("are of", 2)],
        "people.key": [("are missing", 1), ("repeat the", 3)],
        "trips.by": [("name no", 1), ("are more", 1)],
    }


def test_what_is_counted_is_what_a_fit_leaves_out():
    """The oracle is the fit's own choice: rows that it does not use, whatever the coins."""
    made = families_like(300, 2)
    homes = pd.concat([made["households"], made["households"][:9]])
    people = made["persons"].astype({"household_id": object})
    people.loc[people.index % 7 == 0, "household_id"] = None
    people.loc[people.index % 11 == 0, "household_id"] = "nobody's"
    persons = Relationship(parent="households", child="persons", primary_key=HOME, foreign_key=HOME, most=2)
    tables, tree = {"households": homes, "persons": people}, TableTree(links=(persons,))
    told = [one for one in check_keys(tables, tree) if not one.problem.startswith("of these")]
    used = join_families(tables, tree, KeyedRNG.from_os_entropy()).tables
    for name, rows in tables.items():
        counted = sum(one.cells for one in told if one.column.startswith(f"{name}."))
        assert counted == len(rows) - len(used[name]) > 0
    # Rows that keys below tie, too.
    people = pd.DataFrame({"key": [1, 2, 1, 2, 3], "of": ["a", "a", "b", "b", "c"]})
    homes, trips = pd.DataFrame({"home": ["a", "b", "c", "c"]}), pd.DataFrame({"by": [1]})
    tables, tree = {"homes": homes, "people": people, "trips": trips}, TableTree(links=(PEOPLE, TRIPS))
    assert [one.cells for one in check_keys(tables, tree) if one.column == "homes.home"] == [1, 1]
    assert len(join_families(tables, tree, KeyedRNG.from_os_entropy()).tables["homes"]) == 2


@pytest.fixture
def tables():
    return families_like(80, 3)


def synthesizer(**options):
    return PlausibleDeniabilityMultiTableSynthesizer(
        families_like_metadata(), **{"domain": families_like_domain(), **options}
    )


def test_each_table_is_checked_alone_too_and_values_go_to_the_screen_alone(tables):
    tables["persons"].loc[3, "age"] = 777
    lines = []
    check = synthesizer().check(tables, lines.append)
    assert [(one.column, one.cells) for one in check.findings] == [("persons.age", 1)]
    assert not check
    assert "777" not in str(check)
    assert any(line.startswith("persons.age: 777") for line in lines)
    assert any("max_children (persons 8)" in line for line in lines)


def test_what_fits_is_said_to_fit_and_a_table_that_is_not_there_is_refused(tables):
    assert synthesizer(max_children=100).check(tables, lambda _: None)
    with pytest.raises(ValueError, match="persons"):
        synthesizer().check({"households": tables["households"]})


def test_a_look_is_written_down_in_each_domain_file_and_an_edit_ends_the_claim(tables, tmp_path, monkeypatch):
    """What cannot be written down is not shown."""
    paths = {name: tmp_path / f"{name}.json" for name in tables}
    for name, path in paths.items():
        path.write_text(json.dumps(families_like_domain()[name]))
    lines = []

    def refuse(*_, **__):
        raise OSError(30, "Read-only file system")

    with monkeypatch.context() as patch:
        patch.setattr("sdv_plausible.table.declared.domain_file.write_atomically", refuse)
        with pytest.raises(OSError, match="Read-only"):
            synthesizer(domain=paths).check(tables, lines.append)
    assert not lines
    synthesizer(domain=paths).check(tables, lines.append)
    assert sum(line.startswith("Recorded in ") for line in lines) == 2
    assert synthesizer(domain=paths).plan().claims_privacy
    document = json.loads(paths["persons"].read_text())
    document["columns"]["age"]["range_max"] += 1
    paths["persons"].write_text(json.dumps(document))
    assert not synthesizer(domain=paths).plan().claims_privacy


def test_a_fit_names_the_table_in_what_it_tells_and_never_what_stands_beside_or_what_hangs_on_rows(
    tables, monkeypatch
):
    """Every column is told to be close to noise here, and no row fits anything."""
    monkeypatch.setattr(forecast, "NEAR_NOISE", -1.0)
    odd = {
        "households": pd.concat([tables["households"].assign(region="nowhere")] * 2),
        "persons": tables["persons"].assign(age=1_000, household_id="nobody's"),
    }
    domain = {**families_like_domain(), "persons": {}}  # learned: from no row at all
    synth = synthesizer(domain=domain, types="declared")
    with pytest.warns(FitWarning) as told:
        synth.fit(odd)
    words = notes_of(one for one in told if isinstance(one.message, FitWarning))
    assert {word.split(":")[0] for word in words} == {"households", "persons"}
    assert any("values are close to noise" in word for word in words)
    assert not [word for word in words if "sibling." in word or "households." in word]
    assert not [one for one in told if one.message.for_holder]

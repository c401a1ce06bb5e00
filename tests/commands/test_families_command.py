"""The command families: related tables to a release, and tables drawn from it."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from sdv_plausible import FamilyRelease
from sdv_plausible.commands import cli
from sdv_plausible.related.release import FamilyRelease as Released
from tests.families import NAMES, write_families

TOLD = ("families", "households.csv", "persons.csv", "--metadata", "both.json", "--domain", "families.json")


@pytest.fixture
def here(tmp_path, monkeypatch):
    write_families(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_two_tables_are_released_and_drawn(here, capsys):
    (here / "roles.json").write_text(json.dumps({"persons": {"relation": {"head": "exactly one"}}}))
    told = [*TOLD, "-o", "f.release", "--sampled", "new", "--roles", "roles.json", "--max-children", "4"]
    assert cli.main(told) == 0
    said = capsys.readouterr().out
    assert "is in the data, at even odds" in said
    assert "at most 4 are used" in said
    release = FamilyRelease.load(here / "f.release")
    tables = {name: pd.read_csv(here / "new" / f"{name}.csv") for name in NAMES}
    assert set(tables["persons"]["household_id"]) <= set(tables["households"]["household_id"])
    assert release.ledger.total() <= 1.0
    assert cli.main(told) == 2
    assert "f.release exists" in capsys.readouterr().err
    assert cli.main(["sample", "f.release", "-o", "one.csv"]) == 2
    assert "FamilyRelease.load reads it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (["--max-children", "0"], "max_children (0) must be"),
        (["--max-children", "two"], "'two' must be a number"),
        (["--max-children", '{"persons": 3, "persons": 9}'], "must be a number"),
        (["--max-children", '{"pets": 3}'], "one for each of persons"),
        (["--sampled", "."], "must be a new folder"),
        (["--sampled", "absent/new"], "must be a new folder"),
        (["--metadata", "absent.json"], "there is no file absent.json"),
        (["--roles", "both.json"], "roles"),
        (["--domain", "roles.json"], "roles.json"),
    ],
)
def test_mistakes_are_told_before_a_row_is_read(change, words, here, capsys, monkeypatch):
    monkeypatch.setattr("sdv_plausible.commands.families._read", lambda *_: pytest.fail("read"))
    assert cli.main([*TOLD, "-o", "f.release", *change]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert not (here / "f.release").exists()


def test_domains_may_be_files_of_the_same_folder(here, capsys):
    declared = json.loads((here / "families.json").read_text())
    for name in NAMES:
        (here / f"{name}.domain.json").write_text(json.dumps(declared[name]))
    (here / "families.json").write_text(json.dumps({name: f"{name}.domain.json" for name in NAMES}))
    assert cli.main([*TOLD, "-o", "f.release"]) == 0


def test_tables_are_read_as_they_are_said_to_be_written(here, capsys):
    for name in NAMES:
        table = pd.read_csv(here / f"{name}.csv", dtype=str)
        table.to_csv(here / f"{name}.csv", index=False, sep="|", encoding="utf-16", quotechar="'")
    told = ["--separator", "|", "--quote", "'"]
    assert cli.main([*TOLD, "-o", "f.release", *told, "--encoding", "utf-16"]) == 0
    assert cli.main([*TOLD, "-o", "g.release", *told]) == 2
    assert not (here / "g.release").exists()


def test_a_fit_that_cannot_be_written_is_kept(here, capsys, monkeypatch):
    """Its people are charged for it."""

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sdv_plausible.commands.families.write", full)
    assert cli.main([*TOLD, "-o", "f.release"]) == 2
    said = capsys.readouterr().err
    assert "the fit is kept in" in said
    (kept,) = here.glob("sdv-plausible-*/f.release")
    assert isinstance(Released.load(kept), FamilyRelease)


def test_without_a_claim_by_word_alone(here, capsys):
    assert cli.main([*TOLD, "-o", "f.release", "--epsilon", "inf"]) == 2
    assert "Nothing was fitted" in capsys.readouterr().err
    assert cli.main([*TOLD, "-o", "f.release", "--epsilon", "inf", "--allow-no-claim"]) == 0


def test_a_file_named_as_another_table_is_not_taken_for_this_one(here, capsys):
    """Where columns are alike nothing else would tell."""
    (here / "persons.csv").rename(here / "people.csv")
    (here / "households.csv").rename(here / "persons.csv")
    told = ["families", "persons.csv", "people.csv", *TOLD[3:], "-o", "f.release"]
    assert cli.main(told) == 2
    assert "persons.csv is named as another table" in capsys.readouterr().err

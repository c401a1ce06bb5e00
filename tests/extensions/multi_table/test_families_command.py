"""The command families: related tables to a release, and tables drawn from it."""

import json

import pandas as pd
import pytest

from sdv_plausible import FamilyRelease, PlausibleDeniabilityMultiTableSynthesizer
from sdv_plausible.cli import main
from sdv_plausible.datasets import families_like, families_like_domain, families_like_metadata
from sdv_plausible.extensions.multi_table.related_release import FamilyRelease as Released
from tests.families import NAMES, write_families

TOLD = ("families", "households.csv", "persons.csv", "--metadata", "both.json", "--domain", "families.json")


@pytest.fixture
def here(tmp_path, monkeypatch):
    write_families(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(told, capsys):
    """What is said, in one line."""
    assert main.main([*map(str, told)]) == 2, told
    said = capsys.readouterr().err
    assert said.count("\n") == 1, said
    return said


def test_two_tables_are_released_and_drawn(here, capsys):
    (here / "roles.json").write_text(json.dumps({"persons": {"relation": {"head": "exactly one"}}}))
    told = [*TOLD, "-o", "f.release", "--sampled", "new", "--roles", "roles.json", "--max-children", "4"]
    assert main.main(told) == 0
    said = capsys.readouterr().out
    assert "is in the data is right at most" in said
    assert "at most 4 are used" in said
    release = FamilyRelease.load(here / "f.release")
    tables = {name: pd.read_csv(here / "new" / f"{name}.csv") for name in NAMES}
    assert set(tables["persons"]["household_id"]) <= set(tables["households"]["household_id"])
    assert release.ledger.total() <= 1.0
    assert "f.release exists" in refused(told, capsys)
    assert "FamilyRelease.load reads it" in refused(["types", "f.release"], capsys)


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    folder = tmp_path_factory.mktemp("families")
    synth = PlausibleDeniabilityMultiTableSynthesizer(
        families_like_metadata(), domain=families_like_domain(), epsilon=3.0
    )
    synth.fit(families_like(60))
    synth.save(folder / "f.release")
    synth.release().save(folder / "readable.json", readable=True)
    return folder


@pytest.mark.parametrize("name", ["f.release", "readable.json"])
def test_tables_are_drawn_from_the_file_into_a_new_folder(name, released, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    told = ["sample", str(released / name), "-o"]
    assert main.main([*told, "new", "-n", "30", "--random-state", "4", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    expected = FamilyRelease.load(released / name).sample(30, random_state=4)
    for one, table in expected.items():
        drawn = pd.read_csv(tmp_path / "new" / f"{one}.csv", dtype=str)
        pd.testing.assert_frame_equal(drawn, table.astype(str), check_dtype=False)
        assert said["rows"][one] == len(table)
    assert said["sha256"] == FamilyRelease.load(released / name).digest
    assert "must be a new folder" in refused([*told, "new"], capsys)
    assert main.main([*told, "other"]) == 0
    number = FamilyRelease.load(released / name).number_of_families()
    assert len(pd.read_csv(tmp_path / "other/households.csv")) == number


def test_options_of_one_table_are_refused_for_related_ones(released, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.json").write_text("{}")
    for command, more, words in (
        ("sample -o new", "--where age=3", "--where (['age=3']) has no effect for related tables"),
        ("sample -o new", "--uniform age", "has no effect for related tables"),
        ("sample -o new", "--recipient us --secret s", "--recipient (us) has no effect"),
        ("sample -o new", "-n -1", "num_families (-1)"),
        ("sample", "-o absent/new", "--output: absent/new must be a new folder"),
        ("sample -o new", "--expect-sha256 0", "not the expected release"),
        ("card -o c.html", "--expect-sha256 0", "not the expected release"),
        ("card -o c.html", "--domain d.json", "--domain has no effect for related tables"),
        ("card -o c.html", "--audit d.json", "--audit has no effect for related tables"),
        ("card -o c.json", "--standard croissant", "--standard has no effect for related tables"),
    ):
        name, *output = command.split()
        assert words in refused([name, released / "f.release", *output, *more.split()], capsys)
        assert [path.name for path in tmp_path.iterdir()] == ["d.json"]


def test_the_card_of_related_tables_is_of_all_of_them(released, tmp_path, capsys):
    told = ["card", released / "f.release", "-o", tmp_path / "c.json", "--holder", "Office", "--json"]
    assert main.main([*map(str, told)]) == 0
    assert json.loads(capsys.readouterr().out)["claim"] is True
    known = json.loads((tmp_path / "c.json").read_text())["known"]
    assert (known["name"], known["holder"]) == ("households and persons", "Office")


def test_mistakes_are_told_before_a_row_is_read(here, capsys, monkeypatch):
    monkeypatch.setattr(
        "sdv_plausible.extensions.multi_table.families_command.read_tables", lambda *_: pytest.fail("read")
    )
    for option, value, words in (
        ("--max-children", "0", "max_children (0) must be"),
        ("--max-children", "two", "'two' must be a number"),
        ("--max-children", '{"persons": 3, "persons": 9}', "must be a number"),
        ("--max-children", '{"pets": 3}', "one for each of persons"),
        ("--sampled", ".", "must be a new folder"),
        ("--sampled", "absent/new", "must be a new folder"),
        ("--metadata", "absent.json", "there is no file absent.json"),
        ("--roles", "both.json", "roles"),
        ("--domain", "roles.json", "roles.json"),
    ):
        assert words in refused([*TOLD, "-o", "f.release", option, value], capsys)
        assert not (here / "f.release").exists()


def test_domains_may_be_files_of_the_same_folder(here, capsys):
    declared = json.loads((here / "families.json").read_text())
    for name in NAMES:
        (here / f"{name}.domain.json").write_text(json.dumps(declared[name]))
    (here / "families.json").write_text(json.dumps({name: f"{name}.domain.json" for name in NAMES}))
    assert main.main([*TOLD, "-o", "f.release"]) == 0
    capsys.readouterr()
    named = here / f"{NAMES[0]}.domain.json"
    before = named.read_bytes()  # of which --overwrite replaces none (seen red)
    assert "is a file that --domain names" in refused([*TOLD, "-o", named.name, "--overwrite"], capsys)
    assert named.read_bytes() == before


def test_tables_are_read_as_they_are_said_to_be_written(here):
    for name in NAMES:
        table = pd.read_csv(here / f"{name}.csv", dtype=str)
        table.to_csv(here / f"{name}.csv", index=False, sep="|", encoding="utf-16", quotechar="'")
    told = ["--separator", "|", "--quote", "'"]
    assert main.main([*TOLD, "-o", "f.release", *told, "--encoding", "utf-16"]) == 0
    assert main.main([*TOLD, "-o", "g.release", *told]) == 2
    assert not (here / "g.release").exists()


def test_what_was_paid_for_is_kept_or_said_where_the_disk_is_full(here, capsys, monkeypatch):
    """Its people are charged for it. Tables are drawn after the release is on disk: it can be sampled again."""

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("sdv_plausible.extensions.multi_table.families_command.write_output", full)
        assert main.main([*TOLD, "-o", "f.release"]) == 2
    assert "the fit is kept in" in capsys.readouterr().err
    (kept,) = here.glob("sdv-plausible-*/f.release")
    assert isinstance(Released.load(kept), FamilyRelease)
    monkeypatch.setattr("sdv_plausible.extensions.multi_table.families_command.write_tables", full)
    assert main.main([*TOLD, "-o", "f.release", "--sampled", "new"]) == 2
    assert "the release is in f.release: 'sdv-plausible sample f.release" in capsys.readouterr().err
    assert isinstance(Released.load(here / "f.release"), FamilyRelease)


def test_where_files_are_limited_nothing_is_paid(here, capsys, monkeypatch):
    """Under ulimit -f neither the release nor what would be kept of it can be written."""
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (2**20, 2**20))
    assert "ulimit -f" in refused(
        [*TOLD, "-o", "f.release", "--budget", "people.budget", "1", "1e-8"], capsys
    )
    assert not (here / "people.budget").exists()


def test_without_a_claim_by_word_alone(here, capsys):
    told = [*TOLD, "-o", "f.release", "--epsilon", "inf"]
    assert "Nothing was fitted" in refused(told, capsys)
    assert main.main([*told, "--allow-no-claim"]) == 0


CHECKED = ("check", *TOLD[1:])


def test_both_tables_are_checked_for_their_holder(here, capsys):
    persons = pd.read_csv(here / "persons.csv", dtype=str)
    persons.loc[0, "age"] = "old"
    persons.loc[1, "household_id"] = "nobody's"
    persons.assign(note="x").to_csv(here / "persons.csv", index=False)
    declared = json.loads((here / "families.json").read_text())
    (here / "persons.domain.json").write_text(json.dumps(declared["persons"]))
    (here / "families.json").write_text(json.dumps({**declared, "persons": "persons.domain.json"}))
    assert main.main([*CHECKED, "--max-children", "1", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["for_the_holder_alone"] is True
    assert said["unreadable"] == {"persons.age": 1}
    assert said["undeclared"] == ["persons.note"]
    words = "\n".join(said["found"])
    assert "persons.household_id: 1 cells" in words
    assert "are more than max_children (1) of one row of households" in words
    assert "Recorded in persons.domain.json: relation, age" in words
    assert "nobody's" not in words
    assert main.main(list(CHECKED)) == 0
    assert "\nNOT private, for the data owner:" in capsys.readouterr().out


def test_cells_of_columns_that_are_not_compared_are_not_counted(here, capsys):
    """Who counts them may be led by the count when declaring the column."""
    persons = pd.read_csv(here / "persons.csv", dtype=str)
    persons.assign(age="old").to_csv(here / "persons.csv", index=False)
    assert main.main([*CHECKED[:-2], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["unreadable"] == {}


def test_what_cannot_be_checked_is_refused_before_a_row_is_read(here, capsys, monkeypatch):
    monkeypatch.setattr(
        "sdv_plausible.extensions.multi_table.families_command.read_tables", lambda *_: pytest.fail("read")
    )
    for told, words in (
        (["households.csv", "persons.csv"], "several files need --metadata"),
        (["households.csv", "absent.csv", "--metadata", "both.json"], "there is no file absent.csv"),
        (
            ["households.csv"] * 3 + ["--metadata", "both.json"],
            "data (3 files) must be a file for each table",
        ),
        ([*CHECKED[1:], "--rules", "both.json"], "--rules are of one table"),
        ([*CHECKED[1:], "--max-children", "0"], "max_children (0) must be"),
        ([*CHECKED[1:-1], "written"], "there is no file written"),
        (["households.csv", "--max-children", "8"], "needs several tables"),
    ):
        assert words in refused(["check", *told], capsys)


def test_a_file_named_as_another_table_is_not_taken_for_this_one(here, capsys):
    """Where columns are alike nothing else would tell."""
    (here / "persons.csv").rename(here / "people.csv")
    (here / "households.csv").rename(here / "persons.csv")
    told = ["families", "persons.csv", "people.csv", *TOLD[3:], "-o", "f.release"]
    assert "persons.csv is named as another table" in refused(told, capsys)

"""A table's name becomes a file name: names that lead elsewhere are refused before anything is paid or written."""

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from sdv_plausible import FamilyRelease, PlausibleDeniabilityMultiTableSynthesizer
from sdv_plausible.cli import main
from sdv_plausible.cli.files import UsageError
from sdv_plausible.datasets import families_like, families_like_domain, families_like_metadata
from sdv_plausible.extensions.multi_table.families_command import check_new_folder, write_tables
from sdv_plausible.extensions.multi_table.relationships import read_tree
from sdv_plausible.extensions.published_counts.fit_answers import fit_answers
from sdv_plausible.extensions.verify.verification import verify
from sdv_plausible.fitting.fit_source import fit_source
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.sdv.sdv_versions import TAKES_DICT, OutputFile
from sdv_plausible.sdv.synthesizer import PlausibleDeniabilitySynthesizer
from sdv_plausible.table.declared.specifications import check_table_name, check_table_names
from tests.hostile import COLLIDING, ORDINARY_NAMES, TABLE_NAMES

OLD = "people_of_homes"  # which nothing else in a file is called


def metadata(parent: str, child: str) -> dict[str, Any]:
    said = families_like_metadata()
    tables = said["tables"]
    said["tables"] = {parent: tables["households"], child: tables["persons"]}
    said["relationships"][0].update(parent_table_name=parent, child_table_name=child)
    return said


@pytest.fixture(scope="module")
def text() -> str:
    tables, domain = families_like(40), families_like_domain()
    synth = PlausibleDeniabilityMultiTableSynthesizer(
        metadata("households", OLD),
        domain={"households": domain["households"], OLD: domain["persons"]},
        epsilon=3.0,
    )
    synth.fit({"households": tables["households"], OLD: tables["persons"]})
    return synth.release().to_bytes().decode()


def renamed(text: str, new: str, old: str = OLD) -> bytes:
    """The file with another name for a table, everywhere in it."""
    return text.replace(old, json.dumps(new)[1:-1]).encode()


@pytest.mark.parametrize("absolute", [True, False])
def test_a_release_file_cannot_make_sample_write_elsewhere(absolute, text, tmp_path, monkeypatch, capsys):
    victim, here = tmp_path / "victim" / "people.csv", tmp_path / "here"
    victim.parent.mkdir()
    here.mkdir()
    victim.write_text("precious")
    monkeypatch.chdir(here)
    name = str(victim.with_suffix("")) if absolute else "../../../victim/people"
    Path("f.release").write_bytes(renamed(text, name))
    status = main.main(["sample", "f.release", "-o", "out", "-n", "3"])
    assert victim.read_text() == "precious"
    assert status == 2
    assert "becomes a file name" in capsys.readouterr().err
    assert [path.name for path in here.iterdir()] == ["f.release"]


def test_every_bad_name_is_refused_at_load_and_by_verify(text, tmp_path):
    file, failures = tmp_path / "f.release", []
    bad = [(renamed(text, name), repr(name)) for name in TABLE_NAMES if name]
    bad += [
        (renamed(renamed(text, one, "households").decode(), other), repr((one, other)))
        for one, other in COLLIDING
    ]
    bad += [(renamed(text, TABLE_NAMES[2], "households"), "the root")]
    for content, case in bad:
        file.write_bytes(content)
        try:
            FamilyRelease.load(file)
        except ValueError as error:
            if "is damaged" not in str(error) or not str(error).isprintable() or len(str(error)) > 400:
                failures.append(("load", case, str(error)))
        else:
            failures.append(("loaded", case, ""))
        if not any("the table name" in verdict.why for verdict in verify(file).refused):
            failures.append(("verified", case, ""))
    assert not failures
    for name in ORDINARY_NAMES:
        file.write_bytes(renamed(text, name))
        assert FamilyRelease.load(file).tree.tables == ("households", name)


def test_a_renamed_file_is_as_good_as_the_one_that_was_written(text, tmp_path):
    """So that the names alone are what is refused above, by `verify`, too."""
    (tmp_path / "f.release").write_bytes(renamed(text, "people"))
    assert not verify(tmp_path / "f.release").refused
    assert main.main(["sample", str(tmp_path / "f.release"), "-o", str(tmp_path / "new"), "-n", "3"]) == 0
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["households.csv", "people.csv"]


def test_every_bad_name_is_refused_before_a_fit_pays():
    """In metadata, and of one table by itself."""
    failures, columns = [], {"age": {"sdtype": "numerical"}}
    several: tuple[Any, ...] = (lambda m: read_tree(m, 8), PlausibleDeniabilityMultiTableSynthesizer)
    alone: tuple[Any, ...] = (
        lambda name: PlausibleDeniabilitySynthesizer(metadata_from_columns(columns, name)),
        lambda name: fit_source(None, columns, table_name=name),
        lambda name: fit_answers([], columns, table_name=name),
    )
    pairs = [("homes", name) for name in TABLE_NAMES] + [(TABLE_NAMES[2], "people"), *COLLIDING]
    tried = [("metadata", make, pair, metadata(*pair)) for pair in pairs for make in several]
    tried += [("table_name", make, name, name) for name in TABLE_NAMES for make in alone]
    for field, make, case, given in tried:
        try:
            make(given)
        except Refused as error:
            if error.field != field or "\n" in str(error) or len(str(error)) > 400:
                failures.append((case, str(error)))
        else:
            failures += [(case, "taken")] if field == "metadata" else []
    assert not failures
    for name in ORDINARY_NAMES:
        assert read_tree(metadata(name, "homes"), 8)[0].root == name


def test_refusals_name_table_rule_and_way_out():
    with pytest.raises(Refused) as told:
        check_table_name("../people", "metadata")
    assert str(told.value) == (
        "metadata: the table name '../people' becomes a file name, which must not hold any of / \\ : * ? \" "
        "< > | or an invisible character: rename the table"
    )
    with pytest.raises(
        Refused, match="the table names 'people' and 'People' become one file name on some systems"
    ):
        check_table_names(["people", "homes", "People"], "metadata")


def test_tables_are_written_into_one_new_folder(text, tmp_path):
    """Nor does a rename replace an empty one that was made meanwhile. Control: where there is none they are written."""
    table = FamilyRelease.from_bytes(text.encode()).sample(3)[OLD]
    with pytest.raises(ValueError, match="must not hold any of"):
        write_tables({"../victim": table}, tmp_path / "new")
    assert [*tmp_path.iterdir()] == []
    (there := tmp_path / "there").mkdir()
    with pytest.raises(FileExistsError):
        write_tables({"people": table}, there)
    assert [*tmp_path.iterdir()] == [there]
    assert [*there.iterdir()] == []
    write_tables({"people": table}, tmp_path / "new")
    assert [one.name for one in (tmp_path / "new").iterdir()] == ["people.csv"]
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="must be a new folder"):
        check_new_folder(argparse.Namespace(output=tmp_path / "dangling"), "output")


def test_rows_of_one_table_are_written_into_the_folder_that_was_named(tmp_path):
    """SDV 2 names the file by the table; SDV 1 is given the file."""
    if not TAKES_DICT:
        pytest.skip("SDV 1 is given the file")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "table.csv").symlink_to(tmp_path / "victim.csv")
    for name in ("table", "../victim"):
        with pytest.raises(ValueError, match=r"is a link to a place outside its folder|must not hold any of"):
            OutputFile.of(_sample, (3, str(tmp_path / "out")), {}, name)
    assert (
        OutputFile.of(_sample, (3, str(tmp_path / "new")), {}, "table").path == tmp_path / "new" / "table.csv"
    )


def _sample(num_rows: int, output_folder_path: str) -> None:
    """As SDV's."""

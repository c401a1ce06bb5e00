"""Files as offices have them, at every command that reads a table: which those are the commands themselves say."""

import argparse
import json
import shutil
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from tables import DOUBTFUL
from test_files import parsers
from test_output import ANSWERS

from sdv_plausible.cli.main import COMMANDS, main
from sdv_plausible.fitting.release_budget import Budget
from sdv_plausible.table.files.csv_files import read_csv as read

GIVEN = ("encoding", "separator", "quote", "decimal", "thousands", "na_values", "true_values", "false_values")


def options_of(command: argparse.ArgumentParser) -> set[str]:
    return {action.dest for action in command._actions}


OWN_TABLES = {"families": "test_families_command.py: two tables, of which neither is people.csv"}


@cache
def reading() -> list[str]:
    """Commands that are told of a table where each is tried."""
    return [name for name in COMMANDS if "people.csv" in ANSWERS[name][0].split()]


def told(name: str, *, new: Path) -> list[str]:
    return [name, *ANSWERS[name][0].format(new=new).split()]


@pytest.fixture
def here(holder, tmp_path, monkeypatch):
    shutil.copytree(holder, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(
        "sdv_plausible.extensions.app.serving.server.serve", lambda _, tell, token: tell("http://x/")
    )
    return tmp_path / "here"


def test_commands_that_read_a_table_have_the_options_of_files_and_no_others_do():
    assert len(reading()) > 7
    for name, command in parsers().items():
        tables, options = command.get_default("tables"), options_of(command)
        assert (name in reading() or name in OWN_TABLES) == bool({*(tables or ())} - {"public"}), name
        assert [option for option in GIVEN if (option in options) != bool(tables)] == [], name
        assert all(option in options or command.get_default(option) is None for option in tables or ())
        files = {action.dest for action in command._actions if "CSV or Parquet" in str(action.help)}
        assert not tables or {*files} - {"output"} <= {*tables}, name  # what is read is among them


@pytest.mark.parametrize("name", reading())
def test_a_table_with_semicolons_decimal_commas_and_umlauts(name, here, tmp_path, capsys):
    table = pd.read_csv("people.csv").rename(columns={"sex": "größe; in cm"})
    words = json.loads(Path("domain.json").read_text())
    words["größe; in cm"] = {"sdtype": "numerical", "range_min": 0.0, "range_max": 99.5, "decimal_places": 1}
    del words["sex"]
    Path("domain.json").write_text(json.dumps(words))
    table["größe; in cm"] = [i % 199 / 2 for i in range(len(table))]
    table.to_csv("people.csv", index=False, sep=";", decimal=",", encoding="latin-1")
    spelled = ["--encoding", "latin-1", *([] if name == "declare" else ["--decimal", ","])]
    spelled += ["--alike"] if "alike" in options_of(parsers()[name]) else []
    assert main([*told(name, new=tmp_path), *spelled]) == 0
    said = capsys.readouterr()
    assert "that do not fit" not in said.err
    if name == "check":
        assert "count as missing: none" in said.out


@pytest.mark.parametrize("name", reading())
def test_a_doubtful_header_is_refused_before_the_draw(name, here, tmp_path, capsys):
    Path("domain.json").write_text('{"age": {"sdtype": "numerical"}}')
    options, words, before = options_of(parsers()[name]), told(name, new=tmp_path), b""
    if "budget" in options:
        Budget(5.0, 1e-8, tmp_path / "budget")
        before = (tmp_path / "budget").read_bytes()
        words += ["--budget", str(tmp_path / "budget"), "5", "1e-8"]
        words += ["--private", "0.5"] if "private" in options else []
    for doubt, header in DOUBTFUL.items():
        Path("people.csv").write_text(f"{header}\n" + "SECRET;1\n" * 50)
        assert main(words) == 2, doubt
        said = capsys.readouterr()
        assert "header line" in said.err
        assert said.err.count("\n") == 1
        assert "SECRET" not in said.out + said.err
        assert [path.name for path in tmp_path.iterdir() if "budget" not in path.name] == ["here"]
        assert not before or (tmp_path / "budget").read_bytes() == before


@pytest.mark.parametrize("name", reading())
def test_what_is_of_csv_alone_is_refused_for_parquet(name, here, tmp_path, capsys):
    pd.read_csv("people.csv").to_parquet("people.parquet")
    words = [word.replace("people.csv", "people.parquet") for word in told(name, new=tmp_path)]
    for option, mark in {"encoding": "utf-8", "separator": ";", "quote": "'"}.items():
        assert main([*words, f"--{option}", mark]) == 2
        assert f"--{option} ({mark!r}) only applies to CSV files" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here"]
    assert main(words) == 0


def test_one_table_of_two_may_be_csv(here, tmp_path, capsys):
    pd.read_csv("people.csv").to_parquet("people.parquet")
    pd.read_csv("people.csv").to_csv("people.csv", sep=";", index=False)
    for command in ("inspect", "report"):
        words = ["people.parquet", "people.csv", "--separator", ";", "--domain", "domain.json"]
        words += ["-o", str(tmp_path / f"{command}.html")]
        assert main([command, *words]) == 2
        assert "only applies to CSV files" in capsys.readouterr().err
        assert main([command, *words, "--alike"]) == 0


@pytest.mark.parametrize("command", ["report", "report --publishable --allow-no-claim", "inspect"])
def test_what_this_package_wrote_is_read_as_it_writes(command, tmp_path, monkeypatch, capsys, few_scores):
    """Whatever the real table is written like."""
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(
        {"größe": [1.5, 2.25] * 60, "ort": ["Zürich", "Bern"] * 60, "ja": [True, False] * 60}
    )
    said = frame.assign(ja=frame["ja"].map({True: "wahr", False: "falsch"}))
    said.to_csv("real.csv", index=False, sep=";", decimal=",", encoding="latin-1")
    frame.to_csv("ours.csv", index=False)
    shutil.copy("real.csv", "theirs.csv")
    Path("domain.json").write_text('{"ja": {"sdtype": "boolean"}}')
    words = "--encoding latin-1 --decimal , --true-values wahr --false-values falsch --domain domain.json"
    spelled, seen = [*words.split(), "-o", "page.html", "--overwrite"], []
    reader = "sdv_plausible.table.files.table_file.read_csv"
    monkeypatch.setattr(reader, lambda *a, **k: seen.append(read(*a, **k)) or seen[-1])
    name, *rest = command.split()
    for more in (["ours.csv"], ["theirs.csv", "--alike"], ["ours.csv", "--separator", ";"]):
        assert main([name, "real.csv", *more, *spelled, *rest]) == 0
        real, synthetic = seen[-2:]
        pd.testing.assert_frame_equal(real, synthetic)
        assert synthetic["größe"].tolist() == frame["größe"].tolist()
    capsys.readouterr()
    assert main(["inspect", "real.csv", "theirs.csv", *spelled]) == 2
    said = capsys.readouterr().err
    assert "theirs.csv: line 1, or a later one, is not text in the encoding 'utf-8'" in said
    assert "add --alike" in said


def test_what_plays_no_part_in_a_draft_is_refused(here, tmp_path, capsys):
    words = ["declare", "people.csv", "-o", str(tmp_path / "d.json"), "--decimal", ","]
    assert main(words) == 2
    assert "--decimal is of cells, and none is read" in capsys.readouterr().err
    Path("old.csv").write_text("age;sex\n1,5;f\n12,25;m\n")
    assert main([*words, "--from-public", "old.csv"]) == 0
    found = json.loads((tmp_path / "d.json").read_text())["columns"]["age"]
    assert (found["range_min"], found["range_max"], found["decimal_places"]) == (1.5, 12.25, 2)


def test_half_a_code_book_is_checked_as_far_as_it_goes(here, tmp_path, capsys):
    """In the order of the README: declare, check, fit."""
    Path("book.csv").write_text("name,type,min,max,values\nage,number,17,90,\nsex,category,,,Female|Male\n")
    assert main(["declare", "people.csv", "-o", "half.json", "--from-codebook", "book.csv"]) == 0
    capsys.readouterr()
    assert main(["check", "people.csv", "--domain", "half.json", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["undeclared"] == ["race", "hours_per_week"]
    assert {*json.loads(Path("half.json").read_text())["looked"]} == {"age", "sex"}
    assert main(["check", "people.csv", "--domain", "half.json"]) == 0
    assert "Not declared, and not compared: race, hours_per_week" in capsys.readouterr().out

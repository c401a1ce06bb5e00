"""No output of any command replaces a file that is read, or another output: every option of every command."""

import argparse
import os
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

from sdv_plausible.cli.main import COMMANDS, main, parser

ENDINGS = {
    "fit": ".release", "describe": ".json", "declare": ".json", "inspect": ".html", "report": ".html",
    "card": ".html", "registry": ".yaml",
}  # fmt: skip


@cache
def parsers() -> dict[str, argparse.ArgumentParser]:
    made = parser(tuple(COMMANDS))
    found = next(a for a in made._actions if isinstance(a, argparse._SubParsersAction))
    return dict(found.choices)


def cases() -> list[tuple[str, str, str]]:
    """Command, output, and what else may name a file, since it is a free text; positions by their names."""
    return [
        (name, output, action.dest)
        for name, command in parsers().items()
        for output in command.get_default("outputs") or ("output",)
        if any(action.dest == output for action in command._actions)
        for action in command._actions
        if action.dest != output
        and action.nargs != 0
        and action.choices is None
        and action.type in (None, str, Path)
    ]


def words_of(command: argparse.ArgumentParser, told: dict[str, str]) -> list[str]:
    """The arguments: what is told, and something for all that is required."""
    words: list[str] = []
    for action in command._actions:
        if action.dest not in told and not action.required:
            continue
        text = told.get(action.dest, f"none-{action.dest}")
        number = action.nargs if isinstance(action.nargs, int) else 1
        if not action.option_strings:
            words = [text, *words]
        else:
            budget = ["1", "1", text] if command.prog.endswith("declare") else [text, "1", "1e-9"]
            words += [action.option_strings[-1], *(budget if number == 3 else [text])]
    return words


@pytest.mark.parametrize("name", sorted({name for name, _, _ in cases()}))
def test_what_is_named_twice_is_refused_and_kept(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / f"precious{ENDINGS.get(name, '.csv')}"
    path.write_text("{}")
    command, kept = parsers()[name], []
    overwrite = ["--overwrite"] if any(action.dest == "overwrite" for action in command._actions) else []
    for output, read in [case[1:] for case in cases() if case[0] == name]:
        told = {output: str(path), read: f"../{tmp_path.name}/{path.name}"}  # spelled in another way
        code, said = main([name, *words_of(command, told), *overwrite]), capsys.readouterr().err
        is_refused = code == 2 and "are the same file, and one would destroy the other" in said
        kept.append((output, read, is_refused and path.read_text() == "{}"))
    assert [case for case in kept if not case[-1]] == []


def test_the_options_that_read_are_among_them():
    fits = "data metadata domain rules public budget structure model_parameters"
    expected = {
        "fit": fits, "synthesize": fits, "report": "synthetic holdout ledger release", "sample": "secret release",
        "card": "audit budget", "declare": "from_codebook domain budget", "registry": "ledger", "inspect": "real",
        "describe": "rules", "audit": "anonymeter",
    }  # fmt: skip
    read = {(name, option) for name, _, option in cases()}
    assert {(name, option) for name in expected for option in expected[name].split()} <= read
    assert {output for name, output, _ in cases() if name == "registry"} == {"output", "conformance"}
    assert {output for name, output, _ in cases() if name == "fit"} == {"output", "ledger"}


def test_a_file_in_a_folder_that_is_written_to(tmp_path, capsys):
    (tmp_path / "people.csv").write_text("age\n1\n")
    declared = tmp_path / "audit.json"
    declared.write_text("{}")
    words = ["audit", str(tmp_path / "people.csv"), "--domain", str(declared), "-o", str(tmp_path)]
    assert main(words) == 2
    assert "audit.json) are the same file" in capsys.readouterr().err
    assert declared.read_text() == "{}"


@pytest.mark.parametrize("data", ["rows", "rows/*.csv"])
@pytest.mark.parametrize("output", ["-o", "--ledger"])
def test_a_file_that_a_folder_or_a_pattern_names(data, output, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("rows").mkdir()
    rows = Path("rows", "precious.csv")
    rows.write_text("age\n1\n")
    named = {"-o": "new.csv", output: str(rows)}
    assert main(["synthesize", data, "--overwrite", *chain(*named.items())]) == 2
    assert "are the same file, and one would destroy the other" in capsys.readouterr().err
    assert rows.read_text() == "age\n1\n"


def test_marks_are_of_the_files_in_a_folder_whatever_it_is_called(tmp_path, capsys):
    for folder, file, told in (("d", "a.parquet", True), ("d.parquet", "a.csv", False)):
        rows = tmp_path / folder / file
        rows.parent.mkdir()
        rows.write_text("age\n1\n")
        assert main(["synthesize", str(rows.parent), "--separator", ";", "-o", str(tmp_path)]) == 2
        assert ("only applies to CSV files" in capsys.readouterr().err) == told


@pytest.mark.skipif(os.name != "posix", reason="there are no such files")
def test_what_is_no_file_is_not_replaced(tmp_path, capsys):
    """A pipe that somebody reads from would be gone, and a file in its place."""
    pipe = tmp_path / "o.csv"
    os.mkfifo(pipe)
    (tmp_path / "people.csv").write_text("age\n1\n")
    words = ["synthesize", str(tmp_path / "people.csv"), "-o", str(pipe)]
    for more in ([], ["--overwrite"]):
        assert main([*words, *more]) == 2
        said = capsys.readouterr().err
        assert f"{pipe} is no regular file" in said
        assert said.count("\n") == 1
        assert pipe.is_fifo()


def test_a_link_into_a_folder_that_is_not_there_is_refused_before_anything_is_read(tmp_path, capsys):
    (tmp_path / "people.csv").write_text("age\n1\n")
    (tmp_path / "o.csv").symlink_to("none/o.csv")
    assert main(["synthesize", str(tmp_path / "people.csv"), "-o", str(tmp_path / "o.csv")]) == 2
    assert f"its folder {tmp_path / 'none'} is missing" in capsys.readouterr().err

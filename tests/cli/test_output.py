"""What a command says, and where: nothing in a pipe but the answer, and warnings in a line each."""

import argparse
import io
import json
import math
import shutil
import sys
import time
import warnings
from pathlib import Path

import pandas as pd
import pytest
from killing import READY, SIGNALS, ended, waiting

from sdv_plausible.cli import check, main, output
from sdv_plausible.cli.output import aligned, one_line_warnings, print_result, print_to_stderr, progress_steps
from sdv_plausible.utils.entry_points import extension

OURS = str(Path(output.__file__))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_an_answer_for_people_or_programs(capsys):
    document = {"path": Path("a/b"), "epsilon": math.inf, "rows": [1, math.nan], "name": "größe"}
    print_result(argparse.Namespace(json=False), "words", document)
    assert capsys.readouterr().out == "words\n"
    print_result(argparse.Namespace(json=True), "words", document)
    said = json.loads(capsys.readouterr().out)
    assert said == {"path": "a/b", "epsilon": None, "rows": [1, None], "name": "größe"}


def test_warnings_of_ours_in_one_line_each_and_of_nobody_else(capsys):
    """They name options and not arguments: whoever types a command has no ``domain=`` to fill in."""
    said = 'declare them (domain={"a": {"sdtype": "id"}}), or what they hold (domain=...)'
    told = 'declare them (--domain FILE with {"a": {"sdtype": "id"}}), or what they hold (--domain FILE)'
    with one_line_warnings():
        for text in ("two\n  lines", "two\n  lines", said):
            warnings.warn_explicit(text, UserWarning, OURS, 1)
        warnings.warn_explicit("SECRET 34", UserWarning, "/elsewhere/pandas/core.py", 1)
    captured = capsys.readouterr()
    assert captured.err == f"sdv-plausible: warning: two lines\nsdv-plausible: warning: {told}\n"
    assert captured.out == ""


def steps() -> None:
    with progress_steps("reading", "fitting") as begin:
        begin()
        begin.note("pass 1, 300 rows")
        begin()
        begin.rows(25, 100)
        time.sleep(0.01)


def test_progress_on_a_terminal_and_none_in_a_pipe(monkeypatch):
    """The elapsed time goes on although nothing is reported."""
    pipe, terminal = io.StringIO(), Terminal()
    monkeypatch.setattr(output, "TICK", 0.001)
    monkeypatch.setattr(sys, "stderr", pipe)
    steps()
    assert pipe.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", terminal)
    steps()
    shown = terminal.getvalue()
    for words in (
        "reading (step 1 of 2, pass 1, 300 rows) [00:00]",
        "fitting (step 2 of 2)",
        "25 of 100 rows, ",
    ):
        assert words in shown
    assert shown.count("fitting (step 2 of 2, 25 of 100 rows, 00:00 left)") > 1


def test_emphasis_on_a_terminal_with_colours_alone(monkeypatch):
    options = argparse.Namespace(json=False)
    for name, value, stream, has_colours in (
        ("NO_COLOR", "", Terminal(), True),
        ("NO_COLOR", "1", Terminal(), False),
        ("TERM", "dumb", Terminal(), False),
        ("NO_COLOR", "", io.StringIO(), False),
    ):
        with monkeypatch.context() as patch:
            patch.setenv("TERM", "xterm")
            patch.setenv(name, value)
            patch.setattr(sys, "stdout", stream)
            patch.setattr(sys, "stderr", stream)
            print_result(options, "NOT private: for you\n  Not covered:\n  a: b", {})
            print_to_stderr("warning: few rows")
        plain = stream.getvalue().replace("\033[33m", "").replace("\033[1m", "").replace("\033[0m", "")
        assert plain == "NOT private: for you\n  Not covered:\n  a: b\nsdv-plausible: warning: few rows\n"
        assert ("\033[33mwarning\033[0m" in stream.getvalue()) == has_colours
        assert ("\033[1m  Not covered:\033[0m" in stream.getvalue()) == has_colours


def test_columns_of_a_table_are_aligned():
    assert aligned([("a", "bb", "c"), ("dddd", "e", "f g")]) == ["a     bb  c", "dddd  e   f g"]


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (ValueError("no\nrows"), 2, "error: no rows"),
        (MemoryError(), 2, "error: MemoryError"),
        (None, 0, ""),
    ],
)
def test_exit_codes(error, code, words, monkeypatch, capsys):
    def run(options):
        options.budget = drawn
        if error is not None:
            raise error

    drawn = None
    monkeypatch.setattr(check, "run", run)
    assert main.main(["check", "x.csv"]) == code
    captured = capsys.readouterr()
    assert "stays charged" not in captured.err
    assert words in captured.err
    assert captured.err.count("\n") == (code != 0)
    assert "Traceback" not in captured.err
    drawn = "b.json"
    main.main(["check", "x.csv"])
    assert ("what a budget was charged stays charged" in capsys.readouterr().err) == (code == 130)


PAGE = f"""
import signal, sys
from sdv_plausible.cli import main
from sdv_plausible.cli import check
from sdv_plausible.utils.atomic_files import write_atomically

def half(path):
    path.write_text("a real row")
    {READY}

check.run = lambda options: write_atomically(options.data[0], half)
sys.exit(main.main(["check", sys.argv[1]]))
"""


@pytest.mark.skipif(len(SIGNALS) == 1, reason="no such signals")
@pytest.mark.parametrize("number", SIGNALS)
def test_a_command_that_is_asked_to_end_leaves_nothing(number, tmp_path):
    with waiting(PAGE, tmp_path / "page.html") as running:
        assert list(tmp_path.glob("*/page.html"))
        is_asked = number != SIGNALS[-1]  # nobody hears SIGKILL: what it leaves is the control
        assert ended(running, number) == (128 + number if is_asked else -number)
    assert bool(list(tmp_path.iterdir())) is not is_asked


def test_help_says_the_exit_codes(capsys):
    for arguments in (["--help"], ["synthesize", "--help"]):
        with pytest.raises(SystemExit, match="0"):
            main.main(arguments)
        said = " ".join(capsys.readouterr().out.split())
        for code in ("0 done", "2 refused or failed", "130 interrupted", "129, 143 ended by SIGHUP"):
            assert code in said
    assert "sdv-plausible synthesize DATA -o OUTPUT [options]" in said


def test_help_lists_every_command_by_task_in_short_lines(capsys):
    with pytest.raises(SystemExit, match="0"):
        main.main(["--help"])
    said = capsys.readouterr().out
    assert [f"\n  {name} " in said for name in main.COMMANDS] == [True] * len(main.COMMANDS)
    assert all(f"\n{task}:\n" in said for task in main.GROUPS)
    assert max(map(len, said.splitlines())) <= 80
    assert set(main.ORDER) == set(main.COMMANDS)


@pytest.mark.parametrize("name", main.ORDER)
def test_the_example_of_each_command_is_one(name):
    """Its options are the command's. Control: another option is none."""
    parser = main.parser([name])
    example = extension("command", name).EXAMPLE
    assert parser.parse_args([name, *example.split()]).run
    with pytest.raises(SystemExit, match="2"):
        parser.parse_args([name, *example.split(), "--no-such-option"])


ANSWERS = {  # what each command is told, in the folder of the fixture holder, and a key of its answer
    "demo": ("--rows 20 --table-rows 400 -o {new}/demo", "ledger"),
    "declare": ("people.csv -o {new}/d.json", "to_be_filled_in"),
    "check": ("people.csv --domain domain.json", "found"),
    "plan": ("--domain domain.json", "warnings"),
    "synthesize": ("people.csv -o {new}/s.csv --domain domain.json -n 50", "rows"),
    "fit": ("people.csv -o {new}/f.release --domain domain.json", "sha256"),
    "families": (
        "households.csv persons.csv --metadata both.json --domain families.json -o {new}/f.release",
        "sha256",
    ),
    "sample": ("people.release -o {new}/r.csv -n 9", "rows"),
    "report": ("people.csv people.csv -o {new}/r.html --domain domain.json", "for_the_holder_alone"),
    "describe": ("people.csv -o {new}/d.json --domain domain.json --mode independent", "sha256"),
    "generate": ("people.release -o {new}/r.csv -n 9", "sha256"),
    "inspect": ("people.csv people.csv -o {new}/i.html --domain domain.json", "for_the_holder_alone"),
    "audit": ("people.csv -o {new}/audit --domain domain.json --seconds 0", "verdict"),
    "app": ("", "address"),
    "card": ("people.release -o {new}/c.html", "claim"),
    "registry": ("people.release -o {new}/r.yaml", "to_be_filled_in"),
    "types": ("people.release", "found"),
    "key": ("-o {new}/key.pem", "public"),
    "verify": ("people.release", "verdicts"),
    "completion": ("bash", "script"),
}


@pytest.fixture
def _served(monkeypatch):
    address = "http://127.0.0.1/"
    monkeypatch.setattr(
        "sdv_plausible.extensions.app.serving.server.serve", lambda _, tell, token: tell(address)
    )


@pytest.mark.usefixtures("few_scores", "_served")
@pytest.mark.parametrize("name", main.COMMANDS)
def test_every_command_answers_programs_in_one_object(name, holder, declared, tmp_path, monkeypatch, capsys):
    """Half a code book will do for each, and a cell of any length is read."""
    words, key = ANSWERS[name]
    shutil.copytree(holder, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    half = {**declared, "race": {"sdtype": None}, "note": {"range_values": ["x"]}}
    Path("domain.json").write_text(json.dumps(half))
    table = pd.read_csv("people.csv").assign(note="x")
    table.loc[7, "note"] = "SECRET" * 40_000
    table.to_csv("people.csv", index=False)
    assert main.main([name, *words.format(new=tmp_path).split(), "--json"]) == 0, capsys.readouterr().err
    said = capsys.readouterr()
    assert key in json.loads(said.out)
    assert "SECRET" not in said.err


@pytest.mark.usefixtures("_served")
def test_a_review_in_a_browser_answers_them_too(holder, tmp_path, capsys):
    told = ["declare", str(holder / "people.csv"), "-o", str(tmp_path / "d.json"), "--web"]
    assert main.main([*told, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["address"] == "http://127.0.0.1/"
    assert main.main(told) == 0
    said = capsys.readouterr().out
    assert said.startswith("Open in a browser on this machine: http://127.0.0.1/\n")
    assert said.endswith("not written: nothing was saved.\n")


@pytest.mark.parametrize("as_json", [False, True])
def test_an_answer_that_cannot_be_printed_undoes_no_work(as_json, capsys, monkeypatch):
    options, raw = argparse.Namespace(json=as_json), io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding="ascii"))
    print_result(options, "p\u0142e\u0107", {"column": "p\u0142e\u0107"})
    assert b"p\\u0142e" in raw.getvalue()

    class Full(io.StringIO):
        encoding = "utf-8"

        def write(self, _):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("sys.stdout", Full())
    print_result(options, "words", {})
    assert "done, but the answer could not be printed (OSError)" in capsys.readouterr().err

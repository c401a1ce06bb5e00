"""Every planted fault can be planted, names an existing test and the command that runs it.

``python tests/planted_faults.py`` plants all faults, which takes minutes.
"""

from __future__ import annotations

import ast
import builtins
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import planted_faults
import pytest
from optional_parts import PARTS, TESTS, canaries, dear_tests
from pages import ROOT
from planted_faults import Fault, command_of

FAULTS = planted_faults.faults()
PAGE = ROOT / "docs/explanation/mutants.md"
SOME = Fault(name="some", file="table/codec.py", old="= 1\n", new="= 2\n", test="table/test_codec.py::test_a")


def undefined_names(tree: ast.Module) -> set[str]:
    """Names that a module reads but neither defines nor imports anywhere."""
    nodes = [*ast.walk(tree)]
    read = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    stored |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    stored |= {(node.asname or node.name).split(".")[0] for node in nodes if isinstance(node, ast.alias)}
    stored |= {name for node in nodes if isinstance(name := getattr(node, "name", None), str)}
    return read - stored - {*dir(builtins), "__file__"}


def wrong_faults(faults: list[Fault]) -> list[str]:
    """Faults that cannot be planted, or whose test does not exist."""
    wrong = []
    for fault in faults:
        try:
            tree = ast.parse(fault.source((ROOT / "sdv_plausible" / fault.file).read_text()))
            wrong += [f"{fault.name}: no name {name}" for name in undefined_names(tree)]
        except (OSError, ValueError, SyntaxError) as error:
            wrong.append(f"{fault.name}: {error}")
        file, _, function = fault.test.split("[")[0].partition("::")
        path = TESTS / file
        if not path.is_file() or not re.search(rf"^def {function}\(", path.read_text(), re.MULTILINE):
            wrong.append(f"{fault.name}: no test {fault.test}")
    return wrong


def test_faults_change_one_place_of_a_file_and_their_tests_are_there() -> None:
    assert wrong_faults(FAULTS) == []


def test_a_fault_whose_place_or_test_is_gone_is_seen() -> None:
    honest = FAULTS[0]
    gone = [replace(honest, old="no such text"), replace(honest, new="("), replace(honest, file="gone.py")]
    gone += [replace(honest, new=f"no_such_name({honest.old})")]
    tests = ("gone.py::test_gone", f"{honest.test.split('::')[0]}::gone")
    gone += [replace(honest, test=test) for test in tests]
    assert wrong_faults([honest]) == []
    assert [len(wrong_faults([fault])) for fault in gone] == [1] * 6


def test_the_list_says_which_command_runs_each_test() -> None:
    """If this fails after a change of dear.txt or of a part: python tests/planted_faults.py --commands."""
    assert {f.test: f.command for f in FAULTS} == {f.test: command_of(f.test) for f in FAULTS}


def test_the_quick_command_runs_the_core_but_for_what_is_dear_and_the_canaries() -> None:
    quick, every = planted_faults.COMMANDS
    first = next(test.removesuffix("[*]") for test in dear_tests() if test.endswith("[*]"))
    dear = next(test for test in dear_tests() if not test.endswith("[*]"))
    of_part = f"{next(iter(PARTS['verify'].tests))}/test_totals.py::test_any"
    found = [command_of(test) for test in (SOME.test, first, f"{first}[1]", dear, of_part, *canaries())]
    assert found == [quick, quick, every, every, every, *[quick] * len(canaries())]


def test_there_are_faults_of_every_kind_and_each_is_another() -> None:
    assert len(FAULTS) >= 70
    assert len({(fault.file, fault.old, fault.new) for fault in FAULTS}) == len(FAULTS)
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    folders = Counter(fault.file.split("/")[0] for fault in FAULTS)
    wanted = {
        "privacy", "queries", "mechanism", "models", "table", "rules", "release", "sdv", "fitting", "extensions",
    }  # fmt: skip
    assert wanted <= {folder for folder, number in folders.items() if number >= 3}


def test_the_page_tells_how_many_are_caught_by_which_command() -> None:
    number = Counter(fault.command for fault in FAULTS)
    quick, every = planted_faults.COMMANDS
    said = f"{len(FAULTS)} faults: `{quick}` catches {number[quick]}, and `{every}`, which `.ci/run` runs, the other {number[every]}"
    assert said in " ".join(PAGE.read_text().split())


@pytest.mark.slow
def test_a_fault_is_caught_by_its_own_test_alone(tmp_path: Path) -> None:
    """Control: edits that change nothing, break the file, or belong to a test that another command runs.

    The script runs in a new process, because this one has imported the tests already.
    """
    fault = next(fault for fault in FAULTS if fault.file == "queries/budget_tracker.py")
    same = replace(fault, name="same", new=f"{fault.old} ")
    broken = replace(fault, name="broken", new=fault.old.replace("used", "no_such_name"))
    quick = next(iter(planted_faults.COMMANDS))
    other = next(fault for fault in FAULTS if fault.file.startswith("extensions/verify/"))
    other = replace(other, name="other", command=quick)
    planted_faults.write([fault, same, broken, other], tmp_path / "list.json")
    script = [sys.executable, "tests/planted_faults.py", "--list", str(tmp_path / "list.json")]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}  # which ./dev sets
    ran = subprocess.run(script, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    found = [line.split(" (")[0] for line in ran.stdout.splitlines()]
    assert found == [
        f"caught by {fault.command}: {fault.name}", "NOT CAUGHT: same", "NOT CAUGHT: broken", "NOT CAUGHT: other",
        f"4 faults planted, 1 caught: {', '.join(f'{int(c == fault.command)} by {c}' for c in planted_faults.COMMANDS)}",
    ], ran.stderr  # fmt: skip
    assert ran.returncode == 1

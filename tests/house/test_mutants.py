"""Mutation tests: the table of modules and tests is valid, and every survivor is explained (slow)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import mutants
import pytest
from pages import ROOT


def test_modules_of_the_core_and_their_tests_are_there() -> None:
    for module, tests in mutants.CORE.items():
        assert (ROOT / "sdv_plausible" / module).is_file()
        assert tests
        assert [name for name in tests if not (ROOT / "tests" / name).is_file()] == []


def test_edits_are_of_code_alone(tmp_path: Path) -> None:
    pytest.importorskip("cosmic_ray")
    path = tmp_path / "module.py"
    path.write_text(
        "@decorated(frozen=True)\ndef f(x: int | None) -> int | None:\n"
        '    if x < 1:\n        raise ValueError(f"{x + 1}")\n    return x\n'
    )
    assert {edit.line for edit in mutants.edits(path)} == {3}
    operators = {edit.operator.split("_")[0] for edit in mutants.edits(path)}
    assert operators == {"core/NumberReplacer", "core/ReplaceComparisonOperator"}


def test_an_edit_is_told_as_the_page_writes_it() -> None:
    assert mutants.change("a\n  b  # c\n", "a\n  d  # c\n") == "`b # c` becomes `d # c`"


def test_what_is_explained_is_in_the_source() -> None:
    page = mutants.PAGE.read_text()
    known = mutants.explained_survivors(page)
    assert len(known) == len(re.findall("^- `.+` becomes `", page, re.MULTILINE))
    for module, edit in known:
        lines = (ROOT / "sdv_plausible" / module).read_text().splitlines()
        assert edit[1:].split("` becomes `")[0] in {" ".join(line.split()) for line in lines}


def test_an_explanation_is_of_one_module() -> None:
    page = "`a.py`: why\n\n- `x: y` becomes `z`: why\n\n`b/c.py`\n\n- `x` becomes `y: z`\n"
    wanted = {("a.py", "`x: y` becomes `z`"), ("b/c.py", "`x` becomes `y: z`")}
    assert mutants.explained_survivors(page) == wanted


@pytest.mark.parametrize(
    "module",
    [
        pytest.param("queries/partition_selection.py", marks=pytest.mark.slow),
        pytest.param("mechanism/privacy_tests/release_level.py", marks=pytest.mark.nightly),
    ],
)
def test_survivors_are_explained(module: str) -> None:
    """The two smallest modules; ``./dev mutants`` runs all modules in nine minutes."""
    pytest.importorskip("cosmic_ray")
    done = subprocess.run(
        [sys.executable, "tests/mutants.py", module], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr

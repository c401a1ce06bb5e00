"""The cost report: CPU time by folder, and folders that exceed their budget by half or more."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from cost_report import BUDGETS, by_folder, folder_of, over_budget
from optional_parts import CORE, PARTS
from pages import ROOT


def test_a_folder_beyond_its_budget_is_named() -> None:
    costs = {
        "fitting/test_a.py::t[1/2]": 8.0, "fitting/test_b.py::t": 8.0, "test_models.py::t": 1.0, "extensions/audit/a.py::t": 9.0,
    }  # fmt: skip
    costs = {f"tests/{test}": seconds for test, seconds in costs.items()}
    assert by_folder(costs) == {"fitting": 16.0, "test_models.py": 1.0, "audit (part)": 9.0}
    assert over_budget(costs, {"fitting": 11.0, "test_models.py": 1.0}) == []
    (line,) = over_budget(costs, {"fitting": 10.0, "test_models.py": 1.0})
    assert line.startswith("fitting: 16 s of CPU time, 10 s are its budget")


def test_a_slow_machine_alone_exceeds_no_budget() -> None:
    """Twice the time in all folders exceeds no budget; half more in one of them does."""
    budgets = dict.fromkeys("abcdef", 10.0)
    costs = {f"tests/{folder}/test_x.py::t": 20.0 for folder in budgets}
    assert over_budget(costs, budgets) == []
    (line,) = over_budget({**costs, "tests/f/test_x.py::t": 31.0}, budgets)
    assert line.startswith("f: 31 s")
    few = dict.fromkeys("ab", 10.0)
    assert len(over_budget({f"tests/{folder}/test_x.py::t": 20.0 for folder in few}, few)) == 2


def test_budgets_are_of_folders_and_parts_that_are_there() -> None:
    assert {*json.loads(BUDGETS.read_text())} <= {*CORE, *(f"{part} (part)" for part in PARTS)}
    assert folder_of("tests/mechanism/privacy_tests/test_x.py::t[tests/audit]") == "mechanism"


def test_a_run_that_needs_half_more_than_its_budget_fails(tmp_path: Path) -> None:
    """Slow tests do not count against the budget; the report lists their cost separately."""
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    burn = "    end = time.process_time() + 0.2\n    while time.process_time() < end: pass\n"
    (tmp_path / "test_a.py").write_text(
        f"import time, pytest\n\ndef test_fast():\n{burn}\n@pytest.mark.slow\ndef test_slow():\n{burn}"
    )

    def run(seconds: float) -> subprocess.CompletedProcess[str]:
        (tmp_path / "budgets.json").write_text(json.dumps({"test_a.py": seconds}))
        options = ["--cost-report", "--cost-json", "costs.json", "--time-budgets", "budgets.json"]
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "cost_report", *options],
            cwd=tmp_path, env={"PYTHONPATH": str(ROOT / "tests")}, capture_output=True, text=True, check=False,
        )  # fmt: skip

    assert run(10.0).returncode == 0
    costs = json.loads((tmp_path / "costs.json").read_text())
    assert {*costs["costs"]} == {"test_a.py::test_fast"}
    assert {*costs["slow"]} == {"test_a.py::test_slow"}
    failed = run(0.01)
    assert failed.returncode == 1
    assert "over budget: test_a.py" in failed.stdout

"""A pytest plugin that reports the CPU time of the tests, by folder and by test.

``--cost-report`` prints a table at the end of the run, ``--cost-json FILE`` writes it to a file, and ``--time-budgets FILE``
fails a run in which the fast tests of a folder need more than 1.5 times its budget. CPU time is the time of this program
alone, but on busy cores that share caches it is up to half longer: measure on an idle machine. On a slower machine all
folders need more: the budgets are multiplied by the median ratio of time to budget, where that is above 1.

``python tests/cost_report.py costs.json`` writes the budgets of the folders in the file that ``--cost-json costs.json`` wrote.
"""

from __future__ import annotations

import json
import math
import resource
import statistics
import sys
import time
from collections import Counter
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest
from optional_parts import parts_of

DEAREST = 20  # tests that are listed one by one
ALLOWED = 1.5  # times the budget: beyond, the run fails
ENOUGH = 5  # folders whose median tells how slow a machine is
LEAST = 20  # seconds of a budget: of fewer, chance decides
BUDGETS = Path(__file__).parent / "budgets.json"


def cpu_seconds() -> float:
    """CPU time of this process and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def folder_of(nodeid: str) -> str:
    """The optional part that a test is of, or else the folder below tests/; its file, where it is in none."""
    file = nodeid.split("::", maxsplit=1)[0].removeprefix("tests/")
    return next((f"{part} (part)" for part in parts_of(file)), file.split("/", maxsplit=1)[0])


def by_folder(costs: Mapping[str, float]) -> Counter[str]:
    """The sum over the tests of each folder, and of each optional part."""
    folders: Counter[str] = Counter()
    for nodeid, seconds in costs.items():
        folders[folder_of(nodeid)] += seconds
    return folders


def slowness(times: Mapping[str, float], budgets: Mapping[str, float]) -> float:
    """How much slower than the machine of the budgets this one is: 1, unless most folders need more than theirs."""
    ratios = [seconds / budgets[folder] for folder, seconds in times.items() if folder in budgets]
    return max(1.0, statistics.median(ratios)) if len(ratios) >= ENOUGH else 1.0


def over_budget(costs: Mapping[str, float], budgets: Mapping[str, float]) -> list[str]:
    """One line for each folder that needs more than its budget allows."""
    times = by_folder(costs)
    allowed = ALLOWED * slowness(times, budgets)
    return [
        f"{folder}: {seconds:.0f} s of CPU time, {budgets[folder]:g} s are its budget (tests/cost_report.py)"
        for folder, seconds in sorted(times.items())
        if seconds > allowed * budgets.get(folder, math.inf)
    ]


def write_budgets(costs: Mapping[str, float]) -> None:
    """Set the budgets of the folders that ran."""
    known = json.loads(BUDGETS.read_text()) if BUDGETS.exists() else {}
    known |= {folder: max(math.ceil(seconds), LEAST) for folder, seconds in by_folder(costs).items()}
    BUDGETS.write_text(json.dumps(dict(sorted(known.items())), indent=2) + "\n")


class CostReport:
    """Collects the CPU time of every test, from this process or from the workers of pytest-xdist."""

    def __init__(self, config: pytest.Config) -> None:
        self.config, self.costs = config, Counter[str]()
        self.fast = Counter[str]()  # of these, the tests that are not slow
        self.collection: list[float] = []  # of every process that collected
        self._started = cpu_seconds()
        self._last = 0.0

    def pytest_collection_finish(self) -> None:
        self.collection.append(cpu_seconds() - self._started)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, Any, Any]:
        report = yield
        now = cpu_seconds()
        report.cpu_seconds, self._last = now - self._last, now
        return report

    def pytest_runtest_logstart(self) -> None:
        self._last = cpu_seconds()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        seconds = getattr(report, "cpu_seconds", 0.0)
        self.costs[report.nodeid] += seconds
        if "slow" not in report.keywords:
            self.fast[report.nodeid] += seconds

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(self.config, "workeroutput", None)
        if output is not None:
            output["collection_seconds"] = self.collection
            return
        if path := self.config.getoption("cost_json"):
            told = {"collection": self.collection, "costs": self.fast, "slow": self.costs - self.fast}
            Path(path).write_text(json.dumps(told, indent=1))
        if session.exitstatus == pytest.ExitCode.OK and self._over():
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.collection += getattr(node, "workeroutput", {}).get("collection_seconds", [])

    def _over(self) -> list[str]:
        path = self.config.getoption("time_budgets")
        return over_budget(self.fast, json.loads(Path(path).read_text())) if path else []

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self.config.getoption("cost_report"):
            return
        write, cases = terminalreporter.write_line, Counter(map(folder_of, self.costs))
        terminalreporter.section("CPU seconds by folder")
        for folder, seconds in by_folder(self.costs).most_common():
            write(f"{seconds:8.1f}  {cases[folder]:5} cases  {folder}")
        for seconds in self.collection:
            write(f"{seconds:8.1f}  collection, in each process")
        terminalreporter.section(f"The {DEAREST} dearest tests, in CPU seconds")
        for nodeid, seconds in self.costs.most_common(DEAREST):
            write(f"{seconds:8.1f}  {nodeid}")
        for line in self._over():
            write(f"over budget: {line}", red=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("cost of tests")
    group.addoption(
        "--cost-report", action="store_true", help="print CPU time by folder and the dearest tests"
    )
    group.addoption("--cost-json", metavar="FILE", help="write the CPU time of every test")
    group.addoption(
        "--time-budgets", metavar="FILE", help="fail if a folder needs half more CPU time than FILE says"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(CostReport(config), "cost-report")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        write_budgets(json.loads(Path(name).read_text())["costs"])

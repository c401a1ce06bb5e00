"""Plants each fault of planted_faults.json in a copy of the package, and runs the one test that must fail with it.

``python tests/planted_faults.py [word ...]`` takes the faults whose name, file or test has one of the words; without words, all of
them. It prints a line for each, and ends with 1 unless every fault is caught. ``--list FILE`` takes the faults of another list, and
``--commands`` writes anew which command runs each test.
"""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pytest
from mutants import LIBRARIES, copy_of_repository
from optional_parts import canaries, dear_tests, is_named, parts_of

LIST = Path(__file__).parent / "planted_faults.json"
COMMANDS = {"./dev test": ("--part", "core"), "./dev test all": ("-m", "not nightly")}
"""A command of developers, and what it tells pytest; ``.ci/run`` runs the second."""
OURS = ("optional_parts", "mutants", "planted_faults")  # modules of tests/ that are imported here
SECONDS = 120.0  # for one test, its imports included
OF_THE_LIST = (
    "NameError",
    "ImportError",
    "SyntaxError",
    "UnboundLocalError",
)  # what no fault is meant to raise


@dataclass(frozen=True)
class Fault:
    """A text of one file of the package, what stands there instead, and the test that must then fail."""

    name: str
    file: str
    old: str
    new: str
    test: str
    command: str = ""

    def source(self, text: str) -> str:
        """The file's text with the fault."""
        if text.count(self.old) != 1 or self.old == self.new:
            raise ValueError(f"{self.name}: {self.old!r} occurs {text.count(self.old)} times in {self.file}")
        return text.replace(self.old, self.new)


def faults(path: Path = LIST) -> list[Fault]:
    """All faults of a list."""
    return [Fault(**entry) for entry in json.loads(path.read_text())]


def write(entries: Iterable[Fault], path: Path = LIST) -> None:
    """Store a list."""
    path.write_text(json.dumps([asdict(one) for one in entries], indent=1, ensure_ascii=False) + "\n")


def command_of(test: str) -> str:
    """The quickest command that runs a test."""
    function, dear = test.split("[", maxsplit=1)[0], dear_tests()
    if parts_of(function.split("::")[0]):
        is_quick = is_named(test, canaries())
    else:  # of some tests ./dev test runs the first case alone: then the fault must name no case
        is_quick = function not in dear and (test == function or f"{function}[*]" not in dear)
    return next(iter(COMMANDS)) if is_quick else "./dev test all"


class Outcomes:
    """Which tests passed."""

    def __init__(self) -> None:
        self.passed: list[str] = []
        self.why = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.passed.append(report.nodeid)
        if report.failed:
            lines = [line for line in str(report.longrepr).splitlines() if line.startswith("E  ")]
            self.why = self.why or (lines or [f"in its {report.when}"])[0][1:].strip()


def _run(folder: Path, command: str, tests: list[str], result: Path) -> None:
    """Run tests of a copy, in a process made for it, and leave what came of them in a file."""
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    os.chdir(folder)
    os.environ["PYTHONPATH"] = str(folder)
    sys.path.insert(0, str(folder))
    sys.dont_write_bytecode = True  # a fault's code must not be taken for the file's
    for name in OURS:  # the copy's own say which tests are of which part
        sys.modules.pop(name, None)
    outcomes = Outcomes()
    options = ("-q", "--tb=short", "-p", "no:cacheprovider", "-p", "no:xdist")
    quiet = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
    names = [f"tests/{test}" for test in tests]
    stop = ["-x"] if len(names) == 1 else []
    code = pytest.main([*options, *stop, *quiet, *COMMANDS[command], *names], plugins=[outcomes])
    package = sys.modules.get("sdv_plausible")  # none where no test was collected
    if package is not None and not str(package.__file__).startswith(str(folder)):
        outcomes.why, code = "the tests met another copy of the package", pytest.ExitCode.INTERNAL_ERROR
    result.write_text(json.dumps([int(code), outcomes.passed, outcomes.why]))
    os._exit(0)


def run(folder: Path, command: str, tests: list[str]) -> tuple[int, list[str], str]:
    """Pytest's exit code, the tests that passed, and why the first one failed."""
    result = folder / "result.json"
    result.unlink(missing_ok=True)
    process = multiprocessing.get_context("fork").Process(target=_run, args=(folder, command, tests, result))
    process.start()
    process.join(SECONDS * len(tests))
    if process.is_alive():
        process.kill()
        process.join()
    if not result.exists():
        return -1, [], "it did not end in time"
    code, passed, why = json.loads(result.read_text())
    return code, [name.removeprefix("tests/") for name in passed], why


def honest(folder: Path, chosen: list[Fault]) -> set[str]:
    """The tests of these faults that pass without any fault, and that their command runs."""
    found = set[str]()
    for command in COMMANDS:
        tests = sorted({fault.test for fault in chosen if fault.command == command})
        code, passed, _ = run(folder, command, tests) if tests else (0, list[str](), "")
        if code == pytest.ExitCode.USAGE_ERROR:  # of a test that is not there none runs: then one by one
            passed = [name for test in tests for name in run(folder, command, [test])[1]]
        found |= {t for t in tests if t in passed or any(name.startswith(f"{t}[") for name in passed)}
    return found


def plant(chosen: list[Fault]) -> Iterator[tuple[Fault, bool, str]]:
    """Plant faults one after another: whether each is caught, and what its test said."""
    for library in LIBRARIES:
        importlib.import_module(library)
    with copy_of_repository() as folder:
        passing = honest(folder, chosen)
        for fault in chosen:
            path = folder / "sdv_plausible" / fault.file
            before = path.read_text()
            path.write_text(fault.source(before))
            code, _, why = run(folder, fault.command, [fault.test])
            path.write_text(before)
            if fault.test not in passing:
                yield fault, False, "the test does not pass without the fault"
            elif code != pytest.ExitCode.TESTS_FAILED or why.startswith(OF_THE_LIST):
                yield fault, False, why or "the test passes"
            else:
                yield fault, True, why


def main(words: list[str]) -> int:
    """Plant the faults that are asked for; 1 where one is not caught."""
    is_other = words[:1] == ["--list"]
    entries, words = (faults(Path(words[1])), words[2:]) if is_other else (faults(), words)
    if words == ["--commands"]:
        write(replace(fault, command=command_of(fault.test)) for fault in entries)
        return 0
    chosen = [f for f in entries if not words or any(w in f"{f.name} {f.file} {f.test}" for w in words)]
    caught = Counter[str]()
    for fault, is_caught, why in plant(chosen):
        caught[fault.command] += is_caught
        said = f"caught by {fault.command}" if is_caught else "NOT CAUGHT"
        print(f"{said}: {fault.name} ({fault.test}: {why})", flush=True)
    told = ", ".join(f"{caught[command]} by {command}" for command in COMMANDS)
    print(f"{len(chosen)} faults planted, {sum(caught.values())} caught: {told}")
    return int(sum(caught.values()) < len(chosen))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Every test belongs to the core or to one optional part, and ``./dev test`` runs some tests of each part."""

from __future__ import annotations

import re
from functools import cache

from optional_parts import CORE, PARTS, TESTS, canaries, dear_of, dear_tests, parts_of
from pages import ROOT

FILES = sorted(path.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py"))


@cache
def functions_of(file: str) -> set[str]:
    """Names of the test functions in a file below tests/."""
    return {*re.findall(r"^def (test_\w+)\(", (TESTS / file).read_text(), flags=re.MULTILINE)}


def missing(tests: set[str]) -> list[str]:
    """Tests that do not exist."""
    named = {test: test.split("[")[0].split("::") for test in tests}
    return sorted(
        test for test, (file, name) in named.items() if file not in FILES or name not in functions_of(file)
    )


def test_every_test_file_is_of_the_core_or_of_one_part() -> None:
    of_core = {file for file in FILES if file.split("/")[0] in CORE}
    assert {file: parts_of(file) for file in FILES if len(parts_of(file)) > 1} == {}
    assert [file for file in FILES if not parts_of(file) and file not in of_core] == []


def test_every_part_has_tests_that_are_there_and_canaries_among_them() -> None:
    for name, part in PARTS.items():
        assert [path for path in part.tests if not (TESTS / path).exists()] == []
        assert part.canaries, name
        assert [test for test in part.canaries if not part.has(test.split("::")[0])] == []


def test_canaries_and_dear_tests_are_there() -> None:
    assert missing(canaries() | dear_tests()) == []
    assert missing({"house/test_optional_parts.py::test_gone", "house/test_gone.py::test_gone"}) != []


def test_dear_tests_are_of_the_core_and_leave_every_folder_some() -> None:
    dear = dear_tests()
    assert [test for test in dear if parts_of(test.split("::")[0])] == []
    of_core = [file for file in FILES if not parts_of(file)]
    left = {f.split("/")[0] for f in of_core if any(f"{f}::{t}" not in dear for t in functions_of(f))}
    assert left == {*CORE}


def test_dear_tests_are_told_by_their_costs() -> None:
    costs = {"t": 1.5, "u[1]": 0.6, "u[2]": 0.6, "v[1]": 1.2, "v[2]": 0.1, "w": 0.9}
    costs = {f"tests/a.py::{name}": seconds for name, seconds in costs.items()}
    told = dear_of({**costs, "tests/extensions/audit/a.py::t": 9.0})
    assert told == {"a.py::t", "a.py::u[*]", "a.py::v"}


def test_dev_knows_the_parts() -> None:
    said = re.search(r"^PARTS=\"(.*)\"$", (ROOT / "dev").read_text(), flags=re.MULTILINE)
    assert said is not None
    assert said[1].split() == ["core", "all", *PARTS]

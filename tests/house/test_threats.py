"""Every threat on docs/explanation/threat_model.md names at least one test that exists, and a defence."""

from __future__ import annotations

import ast
import re

import pytest
from pages import ROOT

NAME = "docs/explanation/threat_model.md"
HEAD = ["threat", "what we do", "test"]
TOPICS = (
    "damaged",
    "changed on purpose",
    "holds code",
    "odd cell",
    "person with many rows",
    "types detected",
    "conditions",
    "interrupted",
    "budget overspent",
)


def rows(text: str) -> list[list[str]]:
    """Cells of every row of every table."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if row != HEAD and not set("".join(row)) <= set("-")]


def without_a_test(text: str, tests: dict[str, set[str]]) -> list[str]:
    """Threats whose row has not three full cells, or names no test file, folder of tests or test function."""
    wrong = []
    for row in rows(text):
        full = len(row) == len(HEAD) and all(row)
        if not full or not any(exists(span, tests) for span in re.findall(r"`([^`]+)`", row[-1])):
            wrong.append(row[0])
    return wrong


def exists(span: str, tests: dict[str, set[str]]) -> bool:
    """Whether a span names a folder of tests, a test file, or a function in the file that it names."""
    file, _, function = span.partition("::")
    if file.endswith("/"):
        return file.startswith("tests/") and any((ROOT / file).rglob("test_*.py"))
    found = [known for known in tests if file and f"/{known}".endswith(f"/{file}")]
    return any(not function or function in tests[known] for known in found)


@pytest.fixture(scope="module")
def page() -> str:
    return (ROOT / NAME).read_text()


@pytest.fixture(scope="module")
def functions() -> dict[str, set[str]]:
    """The test functions of every test file."""
    return {
        path.relative_to(ROOT).as_posix(): {
            node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)
        }
        for path in (ROOT / "tests").rglob("test_*.py")
    }


def test_every_threat_has_a_test(page, functions):
    assert len(rows(page)) > 30
    assert without_a_test(page, functions) == []


def test_no_threat_is_listed_twice(page):
    threats = [row[0] for row in rows(page)]
    assert len(threats) == len(set(threats))


@pytest.mark.parametrize("topic", TOPICS)
def test_what_was_once_found_is_among_them(topic, page):
    assert any(topic in row[0] for row in rows(page))


PLANTED = [
    "| a | b | |",
    "| a | b | words alone |",
    "| a | | `test_threats.py` |",
    "| a | b | `test_gone.py` |",
    "| a | b | `test_threats.py::test_gone` |",
    "| a | b | `tests/gone/` |",
    "| a | b | `sdv_plausible/privacy/` |",
    "| a | `test_threats.py` |",
]


@pytest.mark.parametrize("row", PLANTED)
def test_a_planted_threat_without_a_test_is_caught(row, functions):
    assert without_a_test(f"| threat | what we do | test |\n|---|---|---|\n{row}\n", functions) == ["a"]


@pytest.mark.parametrize(
    "named", ["test_threats.py", "test_threats.py::test_every_threat_has_a_test", "tests/house/"]
)
def test_a_threat_with_one_is_not(named, functions):
    assert without_a_test(f"| a | b | `{named}` |\n", functions) == []

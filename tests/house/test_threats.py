"""Every threat and every row of the paper map names tests that exist."""

from __future__ import annotations

import re

import pytest
from pages import ROOT

NAME, MAP = "docs/explanation/threat_model.md", "docs/explanation/paper_map.md"
TOPICS = (
    "damaged", "changed on purpose", "holds code", "odd cell", "person with many rows", "types detected", "conditions",
    "interrupted", "budget overspent",
)  # fmt: skip


def rows(text: str) -> list[dict[str, str]]:
    """Rows of all tables, as mappings from head to cell."""
    found: list[dict[str, str]] = []
    head: list[str] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if cells and head and not set("".join(cells)) <= set("-"):
            is_whole = len(cells) == len(head)
            found.append(dict(zip(head, cells, strict=False)) if is_whole else {head[0]: cells[0]})
        head = (head or cells) if cells else []
    return found


def wrong_rows(text: str, tests: dict[str, str]) -> list[str]:
    """Rows without a test, with a missing test, or whose tests contain no name of the column "here"."""
    return [next(iter(row.values())) for row in rows(text) if not _is_tested(row, tests)]


def _is_tested(row: dict[str, str], tests: dict[str, str]) -> bool:
    if not all(cell for head, cell in row.items() if head != "remarks") or "test" not in row:
        return False
    if row.get("here") == row["test"] == "none":
        return "remarks" in row and row["remarks"] != ""
    opened, file = "", ""
    for span in re.findall(r"`([^`]+)`", row["test"]):
        path, _, function = span.partition("::")
        file = path or file
        if (text := _opened(file, function, tests)) is None:
            return False
        opened += text
    spans = re.findall(r"`([^`]+)`", row.get("here", ""))
    words = {word for span in spans for word in re.findall(r"\w{3,}", span)}
    return opened != "" and (not words or any(re.search(rf"(?<![A-Za-z]){word}", opened) for word in words))


def _opened(file: str, function: str, tests: dict[str, str]) -> str | None:
    """Path and text of a test file, or text of a folder's tests; None if it or the function does not exist."""
    if file.endswith("/") and file.startswith("tests/") and not function:
        return "".join(text for known, text in tests.items() if known.startswith(file)) or None
    for known, text in tests.items() if file else ():
        if f"/{known}".endswith(f"/{file}") and re.search(
            rf"^ *def {function}\b" if function else "", text, re.MULTILINE
        ):
            return known + text
    return None


@pytest.fixture(scope="module")
def tests() -> dict[str, str]:
    """Text of every test file, by path."""
    paths = (ROOT / "tests").rglob("test_*.py")
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in paths}


@pytest.mark.parametrize(("name", "number"), [(NAME, 30), (MAP, 110)])
def test_every_row_has_tests_that_are_there(name, number, tests):
    text = (ROOT / name).read_text()
    assert len(rows(text)) > number
    assert wrong_rows(text, tests) == []


def test_no_threat_is_listed_twice():
    threats = [row["threat"] for row in rows((ROOT / NAME).read_text())]
    assert len(threats) == len(set(threats))
    assert [topic for topic in TOPICS if not any(topic in threat for threat in threats)] == []


HEADS = "| threat | what we do | test |", "| in the paper | here | test | remarks |"
PLANTED = [
    "| a | b | |",
    "| a | b | words alone |",
    "| a | | `test_threats.py` |",
    "| a | b | `test_gone.py` |",
    "| a | b | `test_threats.py`, `test_gone.py` |",
    "| a | b | `test_threats.py::test_gone` |",
    "| a | b | `test_threats.py`, `::test_gone` |",
    "| a | b | `::test_every_row_has_tests_that_are_there` |",
    "| a | b | `tests/gone/` |",
    "| a | b | `sdv_plausible/privacy/` |",
    "| a | `test_threats.py` |",
    "| a | `GreedyBayes` | the same | |",
    "| a | `GreedyBayes` | | it is |",
    "| a | `GreedyBayes` | `test_paper_shares.py` | |",
    "| a | `GreedyBayes` | none | |",
    "| a | none | none | |",
]
SOUND = [
    "| a | b | `test_threats.py` |",
    "| a | b | `test_threats.py::test_every_row_has_tests_that_are_there` |",
    "| a | b | `test_threats.py::test_every_row_has_tests_that_are_there`, `::test_no_threat_is_listed_twice` |",
    "| a | b | `tests/house/` |",
    "| a | `GreedyBayes` | `test_greedy_bayes.py` | |",
    "| a | none | none | for a reason |",
]


def test_a_planted_row_without_a_test_is_caught_and_no_other(tests):
    for row in (*PLANTED, *SOUND):
        head = HEADS[row.count("|") == 5]
        assert wrong_rows(f"{head}\n|---|\n{row}\n", tests) == (["a"] if row in PLANTED else []), row

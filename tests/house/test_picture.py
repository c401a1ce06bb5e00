"""The picture of the imports between packages: importers are above what they import, and cycles are red."""

from __future__ import annotations

import ast
import re
import runpy
from collections import Counter
from pathlib import Path

import pytest
from pages import ROOT

LINES = {"core": 49_500, "extensions": 20_300}
"""Budgets of lines of Python, blank ones included. A change that raises one says why in its commit message."""


@pytest.fixture(scope="module")
def script() -> dict:
    return runpy.run_path(str(ROOT / "docs/draw_imports.py"))


def draw(script: dict, imports: list[str]) -> tuple[dict[str, int], str]:
    edges = Counter(tuple(pair.split()) for pair in imports)
    packages = sorted({package for edge in edges for package in edge})
    drawing = script["Drawing"](edges, script["stack"](packages, edges))
    script["lay_out"](drawing)
    return drawing.floors, script["to_svg"](drawing, dict.fromkeys(packages, 7))


def test_importers_stand_above_what_they_import(script):
    floors, picture = draw(script, ["cli sdv", "cli core", "sdv table", "table core", "audit core"])
    assert floors == {"core": 0, "table": 1, "audit": 1, "sdv": 2, "cli": 3}
    assert "#cc0000" not in picture
    assert all(f">{package}<" in picture for package in floors)


def test_a_circle_is_red(script):
    floors, picture = draw(script, ["sdv table", "table core", "core sdv"])
    assert picture.count("#cc0000") == 2  # one arrow: line and head
    assert sorted(floors.values()) == [0, 1, 2]


def test_every_room_of_the_package_is_read(script):
    imports, lines = script["read_imports"](ROOT / "sdv_plausible")
    assert {"privacy", "models", "cli"} <= set(lines)
    assert imports["models", "privacy"] > 1
    assert not any(package.startswith("_") for package in lines)


def largest(kind: type[ast.AST], path: Path) -> int:
    tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return max((node.end_lineno - node.lineno + 1 for node in tree if isinstance(node, kind)), default=0)


def test_the_page_tells_the_figures_as_they_are(script):
    """Each figure of the table is at least the true one, and larger by 2 % at most."""
    imports, lines = script["read_imports"](ROOT / "sdv_plausible")
    files = sorted((ROOT / "sdv_plausible").rglob("*.py"))
    counts = [len(path.read_text(encoding="utf-8").splitlines()) for path in files]
    found = {
        "packages, arrows between them": (len(lines), len(imports)), "modules, lines of Python": (len(files), sum(counts)),
        "largest class, largest module": (max(largest(ast.ClassDef, path) for path in files), max(counts)),
    }  # fmt: skip
    core = [i for i, path in enumerate(files) if "extensions" not in path.parts]
    found["core: modules, lines"] = (len(core), sum(counts[i] for i in core))
    page = (ROOT / "docs/explanation/architecture.md").read_text(encoding="utf-8")
    for row, known in found.items():
        cells = re.search(rf"^\| {row}[^|]*\|[^|]*\|([^|]*)\|", page, re.MULTILINE)[1]
        told = [int(figure.replace(",", "")) for figure in re.findall(r"[\d,]*\d", cells)]
        assert all(true <= said <= 1.02 * true + 1 for said, true in zip(told, known, strict=True)), (
            row,
            known,
        )


def over_budget(lines: dict[str, int]) -> list[str]:
    return [name for name, most in LINES.items() if lines[name] > most]


def test_core_and_extensions_keep_their_budgets_of_lines():
    """No budget is larger than needed by more than a hundredth. Control: a thousand lines more are seen."""
    lines = dict.fromkeys(LINES, 0)
    for path in (ROOT / "sdv_plausible").rglob("*.py"):
        part = "extensions" if "extensions" in path.parts else "core"
        lines[part] += len(path.read_text(encoding="utf-8").splitlines())
    assert over_budget(lines) == []
    assert all(most <= 1.01 * lines[name] for name, most in LINES.items()), lines
    assert over_budget({name: number + 1_000 for name, number in lines.items()}) == list(LINES)

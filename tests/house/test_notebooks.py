"""Notebooks of the docs run from the first to the last cell, and store no outputs, which may show rows.

Cells run as in a notebook: in order, in one namespace, and the last expression is displayed.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from pages import ROOT, Page, all_pages
from sentences import total
from test_references import broken_links

NOTEBOOKS = sorted((ROOT / "docs").rglob("*.ipynb"))


def cells(path: Path, kind: str) -> list[dict[str, Any]]:
    """Cells of a kind."""
    every = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in every if cell["cell_type"] == kind]


def run(path: Path) -> list[Any]:
    """Run the code cells; return the display of each, as HTML if the object has it."""
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    for cell in cells(path, "code"):
        *first, last = ast.parse("".join(cell["source"])).body
        is_shown = isinstance(last, ast.Expr)
        exec(compile(ast.Module(first if is_shown else [*first, last], []), str(path), "exec"), names)
        value = eval(compile(ast.Expression(last.value), str(path), "eval"), names) if is_shown else None
        shown.append(value._repr_html_() if hasattr(value, "_repr_html_") else value)
    return shown


def with_outputs(path: Path) -> list[int]:
    """Numbers of the cells that store outputs or an execution count."""
    return [i for i, cell in enumerate(cells(path, "code")) if cell["outputs"] or cell["execution_count"]]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = run(path)
    assert any(total(1, 1e-09) in str(each) for each in shown)
    assert (tmp_path / "synthetic.csv").exists()


def test_notebooks_are_clean_and_their_links_resolve():
    assert NOTEBOOKS
    for path in NOTEBOOKS:
        assert json.loads(path.read_text(encoding="utf-8"))["nbformat"] == 4
        assert with_outputs(path) == []
        text = "\n\n".join("".join(cell["source"]) for cell in cells(path, "markdown"))
        assert broken_links(Page.parse(path.relative_to(ROOT).as_posix(), text), all_pages()) == []


def _planted(folder: Path, *sources: str, outputs: list[Any] | None = None) -> Path:
    usual = {"cell_type": "code", "outputs": outputs or [], "execution_count": None}
    made = [{**usual, "source": [source]} for source in sources]
    path = folder / "planted.ipynb"
    path.write_text(json.dumps({"nbformat": 4, "cells": made}))
    return path


def test_a_planted_cell_fails(tmp_path):
    with pytest.raises(ZeroDivisionError):
        run(_planted(tmp_path, "x = 0", "1 / x"))
    assert run(_planted(tmp_path, "x = 2", "y = x\ny + 1")) == [None, 3]


def test_a_planted_output_is_found(tmp_path):
    assert with_outputs(_planted(tmp_path, "1", outputs=[{"output_type": "stream"}])) == [0]

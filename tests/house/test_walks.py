"""The walks of architecture.md: at most six modules each; every name is defined in the module before it."""

from __future__ import annotations

import ast
import re

from pages import ROOT

PAGE = (ROOT / "docs/explanation/architecture.md").read_text()
MOST = 6


def walks(page: str) -> dict[str, str]:
    """Text of each walk, by name."""
    (section,) = re.findall(r"\n## Four walks\n(.*?)\n## ", page, flags=re.S)
    return {text.split("**")[1]: text for text in section.split("\n\n") if text.startswith("**")}


def defined(module: str) -> set[str]:
    """Names of a module's functions, classes and methods."""
    found: set[str] = set()
    for node in ast.parse((ROOT / "sdv_plausible" / module).read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
            found |= {f"{node.name}.{f.name}" for f in node.body if isinstance(f, ast.FunctionDef)}
    return found


def misplaced(walk: str) -> list[str]:
    """Names that the module before them does not define."""
    wrong, module = [], ""
    for span in re.findall(r"`([^`]+)`", walk.partition("**:")[2] or walk):
        if span.endswith(".py"):
            module = span
        elif "." in span or re.fullmatch(r"[A-Z]\w+|[a-z]+_[a-z_]+|compose", span):
            wrong += [] if span in defined(module) else [f"{module}: {span}"]
    return wrong


def test_what_four_walks_name_is_there_in_six_modules_at_most() -> None:
    assert set(walks(PAGE)) == {"One cell", "`epsilon`", "`person=`", "A privacy test"}
    for name, walk in walks(PAGE).items():
        assert misplaced(walk) == [], name
        assert 2 < len(re.findall(r"`([^`]+\.py)`", walk)) <= MOST


def test_planted_a_function_that_has_moved_is_found() -> None:
    walk = walks(PAGE)["A privacy test"].replace("`read_test`", "`read_tests`")
    assert misplaced(walk) == ["mechanism/privacy_tests/privacy_settings.py: read_tests"]

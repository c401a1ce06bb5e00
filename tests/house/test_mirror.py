"""The tests mirror the package: `sdv_plausible/table/codec.py` is tested in `tests/table/test_codec.py`.

Also `test_codec_*.py` (a part of it) and `test_table_codec.py` (where names would be the same) in that room. A
module whose tests are elsewhere is listed with the reason; the list may not name one that is gone or has a
file.
"""

from __future__ import annotations

import ast
import fnmatch
from pathlib import Path

import pytest
from pages import ROOT

PACKAGE, TESTS = ROOT / "sdv_plausible", ROOT / "tests"

ELSEWHERE = {
    "cli.py": "a face over everything: tests/integration/test_cli.py",
}


def has_code(source: str) -> bool:
    """Whether a module defines a function or class: imports and constants need no test of their own."""
    return any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in ast.parse(source).body)


def mirrored(module: str) -> tuple[str, ...]:
    """Patterns of the test files of a module, both from their roots; an `__init__` is tested by its package's name."""
    path = Path(module)
    room, name = path.parent, path.stem
    if name == "__init__":
        room, name = room.parent, room.name or "package"
    names = (f"test_{name}.py", f"test_{name}_*.py", f"test_{room.name}_{name}.py")
    return tuple((room / name).as_posix() for name in names)


def without_tests(modules: dict[str, str], tests: set[str], elsewhere: dict[str, str]) -> list[str]:
    """Modules with code, no mirrored test file and no reason; and reasons that are no longer needed."""
    with_code = {module for module, source in modules.items() if has_code(source)}
    needed = {module for module in with_code if not any(fnmatch.filter(tests, pattern) for pattern in mirrored(module))}
    return sorted(needed ^ set(elsewhere))


@pytest.mark.xfail(strict=False, reason="tests are being moved")
def test_every_module_has_its_test_file():
    modules = {path.relative_to(PACKAGE).as_posix(): path.read_text() for path in PACKAGE.rglob("*.py")}
    tests = {path.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py")}
    assert without_tests(modules, tests, ELSEWHERE) == []


def test_a_module_without_tests_is_caught():
    code = "def f():\n    pass\n"
    modules = {"table/codec.py": code, "table/__init__.py": '"""Doc."""\n', "models/__init__.py": code, "__init__.py": code}
    tests = {"table/test_codec.py", "test_models.py", "test_package.py"}
    others = tests - {"table/test_codec.py"}
    assert without_tests(modules, tests, {}) == []
    assert without_tests(modules, others, {}) == ["table/codec.py"]
    assert without_tests(modules, others | {"models/test_codec.py", "table/test_codecs.py"}, {}) == ["table/codec.py"]
    assert without_tests(modules, others | {"table/test_codec_dates.py"}, {}) == []
    assert without_tests(modules, others | {"table/test_table_codec.py"}, {}) == []
    assert without_tests(modules, others, {"table/codec.py": "why"}) == []
    assert without_tests(modules, tests, {"table/codec.py": "no longer true"}) == ["table/codec.py"]
    assert without_tests(modules, tests, {"table/gone.py": "why"}) == ["table/gone.py"]

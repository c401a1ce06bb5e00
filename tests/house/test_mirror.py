"""The tests mirror the package: `sdv_plausible/table/codec.py` is tested in `tests/table/test_codec.py`.

Also accepted in that folder: `test_codec_*.py`, `test_table_codec.py` (for equal module names), and any test file that imports
the module. Other modules are in ELSEWHERE, which may not list a module that is gone or has a test file.
"""

from __future__ import annotations

import ast
import fnmatch
import re
from pathlib import Path

from pages import ROOT

PACKAGE, TESTS = ROOT / "sdv_plausible", ROOT / "tests"

ELSEWHERE = {
    **dict.fromkeys(
        ("cli/demo.py", "cli/synthesize.py", "cli/types.py", "utils/entry_points.py"),
        "integration/test_cli.py",
    ),
    "extensions/app/app_command.py": "integration/test_app_in_browser.py",
    "extensions/multi_table/release_commands.py": "extensions/multi_table/test_families_command.py",
    "extensions/standards/key_command.py": "extensions/standards/test_attestation.py",
    "extensions/standards/registry_command.py": "extensions/standards/test_registry.py",
    "models/model_types.py": "release/file/test_release_file_models.py",
    **{
        f"release/file/{name}.py": "release/file/test_release.py"
        for name in ("all_sections", "fake_columns", "schema_section", "settings_section")
    },
    "sdv/release_conversion.py": "release/file/test_rebuilding.py",
    "sdv/type_detection.py": "integration/test_cli.py",
    "table/cells/cell_documents.py": "table/columns/test_domain.py",
    "table/columns/cell_reader.py": "table/files/test_csv_files.py",
    "table/columns/id_formats.py": "integration/test_id_formats.py",
    "table/files/parquet_files.py": "integration/test_mixed_columns.py",
}
"""Modules without a test file of their own, and the test file that covers each through its callers."""


def has_code(source: str) -> bool:
    """Whether a module defines functions or classes, other than hooks of lazy imports."""
    made = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return any(node.name not in ("__getattr__", "__dir__") for node in made)


def mirrored(module: str) -> tuple[str, ...]:
    """Patterns of a module's test files; the test file of an `__init__` has its package's name."""
    path = Path(module)
    folder, name = path.parent, path.stem
    if name == "__init__":
        folder, name = folder.parent, folder.name or "package"
    names = (f"test_{name}.py", f"test_{name}_*.py", f"test_{folder.name}_{name}.py")
    return tuple((folder / name).as_posix() for name in names)


def is_met(module: str, tests: dict[str, str]) -> bool:
    """Whether a test file has the module's name, or one in the same folder imports it."""
    if any(fnmatch.filter(tests, pattern) for pattern in mirrored(module)):
        return True
    folder, name = Path(module).parent, Path(module).stem
    package = re.escape(".".join(("sdv_plausible", *folder.parts)))
    imported = re.compile(
        rf"^ *from {package}(\.{name} import | import (\([^)]*|.*)\b{name}\b)", re.MULTILINE
    )
    return any(imported.search(source) for test, source in tests.items() if Path(test).parent == folder)


def without_tests(modules: dict[str, str], tests: dict[str, str], elsewhere: dict[str, str]) -> list[str]:
    """Modules with code but without tests and not in `elsewhere`, and entries of it that are not needed."""
    needed = {module for module, source in modules.items() if has_code(source) and not is_met(module, tests)}
    return sorted(needed ^ set(elsewhere))


def test_every_module_has_its_test_file():
    modules = {path.relative_to(PACKAGE).as_posix(): path.read_text() for path in PACKAGE.rglob("*.py")}
    tests = {path.relative_to(TESTS).as_posix(): path.read_text() for path in TESTS.rglob("test_*.py")}
    lacking = without_tests(modules, tests, ELSEWHERE)
    assert not lacking, f"tests/<folder>/test_<module>.py for each of {', '.join(lacking)}"
    assert {test for test in ELSEWHERE.values() if test not in tests} == set()


def test_a_module_without_tests_is_caught():
    code = "def f():\n    pass\n"
    empty, late = '"""Doc."""\n', "def __getattr__(name):\n    pass\n"
    modules = {"table/codec.py": code, "table/__init__.py": empty, "extensions/audit/__init__.py": late}
    modules |= {"models/__init__.py": code, "__init__.py": code}
    tests = dict.fromkeys(["table/test_codec.py", "test_models.py", "test_package.py"], "")
    others = {name: source for name, source in tests.items() if name != "table/test_codec.py"}
    assert without_tests(modules, tests, {}) == []
    assert without_tests(modules, others, {}) == ["table/codec.py"]
    more = dict.fromkeys(["models/test_codec.py", "table/test_codecs.py"], "")
    assert without_tests(modules, others | more, {}) == ["table/codec.py"]
    assert without_tests(modules, others | {"table/test_codec_dates.py": ""}, {}) == []
    assert without_tests(modules, others | {"table/test_table_codec.py": ""}, {}) == []
    assert without_tests(modules, others, {"table/codec.py": "why"}) == []
    assert without_tests(modules, tests, {"table/codec.py": "no longer true"}) == ["table/codec.py"]
    assert without_tests(modules, tests, {"table/gone.py": "why"}) == ["table/gone.py"]


def test_an_import_counts_in_the_room_alone():
    for test, source, met in (
        ("table/test_x.py", "from sdv_plausible.table.codec import f", True),
        ("table/test_x.py", "from sdv_plausible.table import cells, codec", True),
        ("table/test_x.py", "from sdv_plausible.table import (\n    cells,\n    codec,\n)", True),
        ("table/test_x.py", "from sdv_plausible.table.codecs import f", False),
        ("table/test_x.py", "from sdv_plausible.table.cells import codec", False),
        ("table/test_x.py", "x = 'sdv_plausible.table.codec'", False),
        ("models/test_x.py", "from sdv_plausible.table.codec import f", False),
    ):
        assert is_met("table/codec.py", {test: source}) is met, source

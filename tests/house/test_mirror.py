"""The tests mirror the package: `sdv_plausible/table/codec.py` is tested in `tests/table/test_codec.py`.

Also `test_codec_*.py` (a part of it) and `test_table_codec.py` (where names would be the same) in that room, or any
test of the room that imports it. A module whose tests are elsewhere, or reach it through others, is listed with the
reason; the list may not name one that is gone or has its test.
"""

from __future__ import annotations

import ast
import fnmatch
import re
from pathlib import Path

from pages import ROOT

PACKAGE, TESTS = ROOT / "sdv_plausible", ROOT / "tests"

ELSEWHERE = {
    "extensions/app/pages/columns_page.py": "the review page as a step: tests/extensions/app/pages/test_app_pages.py",
    **{
        f"commands/{name}.py": "a face: tests/integration/test_cli.py, or the test of what it calls"
        for name in ("app", "demo", "key", "registry", "synthesize", "types")
    },
    "cli/files.py": "several files on the command line: tests/fitting/test_partitioned_table.py",
    **dict.fromkeys(
        (
            "extensions/multi_table/simulation.py",
            "extensions/verify/verification.py",
            "extensions/verify/independent/content_checks.py",
        ),
        "what verify computes again: tests/verifying",
    ),
    "models/model_types.py": "models in files: tests/release/file/test_release_file_models.py",
    "queries/queryable.py": "the door, through what is asked of it: test_queryable.py",
    **{
        f"release/file/{name}.py": "read and written with the rest of a file: test_release.py and test_fuzz.py"
        for name in ("domain", "invented", "schema", "settings")
    },
    "sdv/type_detection.py": "types of a file's columns: tests/integration/test_cli.py",
    "sdv/release_conversion.py": "from a synthesizer to a file and back: tests/release/file/test_rebuilding.py",
    **{
        f"sdv/{name}.py": "SDV's face, tested as SDV calls it: tests/integration"
        for name in ("fit_input", "saved_files", "sdv_state", "synthesizer")
    },
    "table/columns/domain.py": "what a domain is made of: test_domain.py",
    "table/columns/cell_reader.py": "cells of files: tests/table/files/test_csv_files.py",
    "table/columns/id_formats.py": "ids: tests/integration/test_id_formats.py, at every door",
    "utils/json_schema.py": "forms: test_column_document.py, against jsonschema",
    "table/files/table_file.py": "a face: tests/integration/test_cli.py, and tests/extensions/app/review/test_review.py",
    "table/files/parquet_files.py": "tests/integration/test_mixed_columns.py, and tests/sources/test_file_sources.py",
    "table/cells/cell_documents.py": "values of cells: test_domain.py, and tests/release/file/test_release.py",
}


def has_code(source: str) -> bool:
    """Whether a module defines a function or class: imports and constants need no test, nor names that load late."""
    made = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return any(node.name not in ("__getattr__", "__dir__") for node in made)


def mirrored(module: str) -> tuple[str, ...]:
    """Patterns of the test files of a module, both from their roots; an `__init__` is tested by its package's name."""
    path = Path(module)
    room, name = path.parent, path.stem
    if name == "__init__":
        room, name = room.parent, room.name or "package"
    names = (f"test_{name}.py", f"test_{name}_*.py", f"test_{room.name}_{name}.py")
    return tuple((room / name).as_posix() for name in names)


def is_met(module: str, tests: dict[str, str]) -> bool:
    """Whether a test file has the module's name, or one of its room imports it."""
    if any(fnmatch.filter(tests, pattern) for pattern in mirrored(module)):
        return True
    room, name = Path(module).parent, Path(module).stem
    package = re.escape(".".join(("sdv_plausible", *room.parts)))
    imported = re.compile(
        rf"^ *from {package}(\.{name} import | import (\([^)]*|.*)\b{name}\b)", re.MULTILINE
    )
    beside = [source for test, source in tests.items() if Path(test).parent == room]
    return any(imported.search(source) for source in beside)


def without_tests(modules: dict[str, str], tests: dict[str, str], elsewhere: dict[str, str]) -> list[str]:
    """Modules with code that no test of their room meets, and no reason; and reasons that are no longer needed."""
    needed = {module for module, source in modules.items() if has_code(source) and not is_met(module, tests)}
    return sorted(needed ^ set(elsewhere))


def test_every_module_has_its_test_file():
    modules = {path.relative_to(PACKAGE).as_posix(): path.read_text() for path in PACKAGE.rglob("*.py")}
    tests = {path.relative_to(TESTS).as_posix(): path.read_text() for path in TESTS.rglob("test_*.py")}
    lacking = without_tests(modules, tests, ELSEWHERE)
    assert not lacking, f"tests/<room>/test_<module>.py for each of {', '.join(lacking)}"


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

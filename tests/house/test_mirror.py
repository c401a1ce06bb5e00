"""The tests mirror the package: `sdv_plausible/table/codec.py` is tested in `tests/table/test_codec.py`.

Also `test_codec_*.py` (a part of it) and `test_table_codec.py` (where names would be the same) in that room. A
module whose tests are elsewhere is listed with the reason; the list may not name one that is gone or has a
file.
"""

from __future__ import annotations

import ast
import fnmatch
from pathlib import Path

from pages import ROOT

PACKAGE, TESTS = ROOT / "sdv_plausible", ROOT / "tests"

ELSEWHERE = {
    "app/columns.py": "a part of the pages: tests/app/test_app_pages.py, from step to step",
    "fit/run.py": "the one fit: what both doors have in common, tests/fit/test_fit_source.py beside it",
    "cli.py": "a face over everything: tests/integration/test_cli.py",
    **{
        f"commands/{name}.py": "a face: tests/integration/test_cli.py, or the test of what it calls"
        for name in ("app", "check", "demo", "shared_fit", "registry", "synthesize", "types")
    },
    "datasets/census_schema.py": "the columns of the simulated survey: test_census.py beside it",
    "evaluation/page/network.py": "a drawing of a layout: tests/evaluation/test_network_layout.py and test_charts.py",
    "evaluation/page/pages.py": "whole pages: tests/evaluation/report/test_report_pages.py",
    "late.py": "names that load late: tests/integration/test_imports.py and tests/house/test_loaded.py",
    "privacy/accounting/loss_distribution.py": "composes for composition.py: test_composition.py, by enumeration",
    "models/learners.py": "what base.py's learners are asked: test_base.py",
    "models/registered.py": "models in files: tests/release_file/test_release_file_models.py",
    "questions/door.py": "the door, through what is asked of it: test_queryable.py",
    "questions/transcript.py": "answers in files: tests/release_file/test_answers.py",
    **{
        f"release_file/{name}.py": "read and written with the rest of a file: test_release.py and test_fuzz.py"
        for name in (
            "arrays",
            "documents",
            "domain",
            "invented",
            "parts",
            "sampling",
            "schema",
            "sections",
            "seeds",
            "settings",
        )
    },
    "release_file/card_lines.py": "what is on a card: test_card.py beside it",
    "sdv/base.py": "SDV's face, tested as SDV calls it: tests/integration/test_sdv_citizen.py",
    "sdv/detection.py": "types of a file's columns: tests/integration/test_cli.py",
    **{
        f"sdv/{name}.py": "SDV's face, tested as SDV calls it: tests/integration"
        for name in ("fitted", "fitting", "sampling", "synthesizer")
    },
    "sdv/releasing.py": "from a synthesizer to a file and back: tests/release_file/test_rebuilding.py",
    "sdv/stand_ins.py": "what SDV sees: tests/integration/test_private_claim.py, and sdv/test_output_types.py",
    "sdv/versions.py": "what differs between SDV's versions: all of tests/integration, on both",
    "table/attribute.py": "what a domain is made of: test_domain.py",
    "sources/source_rows.py": "as rows in memory: test_rows.py beside it, which compares the two",
    "table/cell_texts.py": "how a cell of text is read: test_csv_files.py, through files",
    "table/column_types.py": "what the readers are told: test_csv_files.py and test_declarations_checked.py",
    "table/parquet.py": "test_csv_files.py, which compares both kinds of file",
    "table/id_formats.py": "ids: tests/integration/test_id_formats.py, at every door",
    "table/json_forms.py": "forms: test_column_document.py, against jsonschema",
    "table/values.py": "values of cells: test_domain.py, and tests/release_file/test_release.py",
    "table/private_columns.py": "learning by the plan of private_domain.py: test_private_domain.py",
    "table/words.py": "words of declarations: test_declarations_checked.py",
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
    needed = {
        module
        for module in with_code
        if not any(fnmatch.filter(tests, pattern) for pattern in mirrored(module))
    }
    return sorted(needed ^ set(elsewhere))


def test_every_module_has_its_test_file():
    modules = {path.relative_to(PACKAGE).as_posix(): path.read_text() for path in PACKAGE.rglob("*.py")}
    tests = {path.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py")}
    assert without_tests(modules, tests, ELSEWHERE) == []


def test_a_module_without_tests_is_caught():
    code = "def f():\n    pass\n"
    modules = {
        "table/codec.py": code,
        "table/__init__.py": '"""Doc."""\n',
        "models/__init__.py": code,
        "__init__.py": code,
    }
    tests = {"table/test_codec.py", "test_models.py", "test_package.py"}
    others = tests - {"table/test_codec.py"}
    assert without_tests(modules, tests, {}) == []
    assert without_tests(modules, others, {}) == ["table/codec.py"]
    assert without_tests(modules, others | {"models/test_codec.py", "table/test_codecs.py"}, {}) == [
        "table/codec.py"
    ]
    assert without_tests(modules, others | {"table/test_codec_dates.py"}, {}) == []
    assert without_tests(modules, others | {"table/test_table_codec.py"}, {}) == []
    assert without_tests(modules, others, {"table/codec.py": "why"}) == []
    assert without_tests(modules, tests, {"table/codec.py": "no longer true"}) == ["table/codec.py"]
    assert without_tests(modules, tests, {"table/gone.py": "why"}) == ["table/gone.py"]

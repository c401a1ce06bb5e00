"""Edits one place of the privacy core at a time and lists the edits that no test of that module sees.

``./dev mutants [module ...]``. Edits are cosmic-ray's; a module's tests run in a fork of a process that has the libraries
loaded, on a copy of the repository. A survivor that docs/explanation/mutants.md explains is counted; any other one fails the run.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import importlib
import json
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/explanation/mutants.md"

# Module of the privacy core -> test files that must see an edit of it, the quickest first.
CORE = {
    "privacy/neighbours.py": (
        "privacy/test_neighbours.py",
        "privacy/test_neighbours_of_persons.py",
        "privacy/test_units.py",
    ),
    "queries/budget_tracker.py": ("queries/test_budget_tracker.py",),
    "queries/count_queries.py": ("queries/test_count_queries.py",),
    "queries/partition_selection.py": ("queries/test_partition_selection.py",),
    "queries/queryable.py": ("queries/test_queryable.py",),
    "mechanism/privacy_tests/release_level.py": ("mechanism/privacy_tests/test_release_level.py",),
    "privacy/accounting/losses.py": ("privacy/accounting/test_losses.py",),
    "privacy/accounting/release_loss.py": ("privacy/accounting/test_release_loss.py",),
    "table/learned/declared_ranges.py": ("table/learned/test_declared_ranges.py",),
    "privacy/accounting/composition.py": ("privacy/accounting/test_composition.py",),
    "privacy/accounting/privacy_filters.py": ("privacy/accounting/test_privacy_filters.py",),
    "privacy/noise/mechanisms.py": ("privacy/noise/test_mechanisms.py",),
    "mechanism/privacy_tests/row_tests.py": ("mechanism/privacy_tests/test_row_tests.py",),
    "models/adaptive/adaptive_network.py": ("models/adaptive/test_adaptive_network.py", "test_models.py"),
    "extensions/models/datasynthesizer/greedy_bayes.py": (
        "extensions/models/datasynthesizer/test_greedy_bayes.py",
        "privacy/test_neighbours_of_persons.py",
    ),
    "extensions/models/gaussian_copula/copula_learner.py": (
        "extensions/models/gaussian_copula/test_copula_learner.py",
        "test_models.py",
    ),
    "extensions/models/latent/training.py": ("extensions/models/latent/test_gradients.py",),
    "extensions/models/latent/latent_learner.py": ("extensions/models/latent/test_latent_learner.py",),
    "extensions/models/paper/paper_network.py": (
        "extensions/models/paper/test_paper_network.py",
        "extensions/models/paper/test_printed.py",
        "test_models.py",
        "privacy/test_neighbours_of_persons.py",
    ),
    "extensions/models/uniform.py": ("extensions/models/test_uniform.py",),
}

# One edit of each kind is enough: a sum that becomes a product is seen by whoever sees the difference.
OPERATORS = re.compile(
    r"core/(ReplaceBinaryOperator_(Add_Sub|Sub_Add|Mul_Div|Mul_Add|Div_Mul|FloorDiv_Mul|Mod_Add|Pow_Mul|BitOr_BitAnd|BitAnd_BitOr)"
    r"|ReplaceComparisonOperator_(Eq_NotEq|NotEq_Eq|Lt_LtE|Lt_GtE|LtE_Lt|LtE_Gt|Gt_GtE|Gt_LtE|GtE_Gt|GtE_Lt|Is_IsNot|IsNot_Is)"
    r"|ReplaceUnaryOperator_Delete_(USub|Not|Invert)|ReplaceTrueWithFalse|ReplaceFalseWithTrue|ReplaceAndWithOr|ReplaceOrWithAnd"
    r"|ExceptionReplacer|NumberReplacer|ZeroIterationForLoop)"
)
LIBRARIES = (  # not SDV itself: it loads this package as its plugin
    "numpy",
    "pandas",
    "scipy.stats",
    "opendp.prelude",
    "dp_accounting",
    "cryptography",
    "ctgan",
    "networkx",
    "hypothesis",
    "pytest",
)


@dataclass(frozen=True)
class Edit:
    """One edit of a module: cosmic-ray's operator, the how-manieth of its places, and the line."""

    operator: str
    occurrence: int
    line: int


def edits(path: Path) -> Iterator[Edit]:
    """All edits of a module but those of type hints, decorators and errors' texts."""
    from cosmic_ray.ast import ast_nodes, get_ast_from_path
    from cosmic_ray.plugins import get_operator, operator_names

    source, tree = path.read_text(), get_ast_from_path(path)
    skipped, lines = words_of(source), source.splitlines()
    for name in filter(OPERATORS.fullmatch, operator_names()):
        operator = get_operator(name)()
        places = (place for node in ast_nodes(tree) for place in operator.mutation_positions(node))
        for occurrence, (start, end) in enumerate(places):
            star = lines[start[0] - 1].startswith("*,", start[1])  # parameters after it are named: no product
            if not star and not any(low <= start and end <= high for low, high in skipped):
                yield Edit(name, occurrence, start[0])


def words_of(source: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Where type hints, decorators and the errors that are raised begin and end: no edit of them is a fault."""
    found: list[Any] = []
    for node in ast.walk(ast.parse(source)):
        found += [getattr(node, "annotation", None), getattr(node, "returns", None)]
        found += getattr(node, "decorator_list", [])
        found += [node] if isinstance(node, ast.Raise) else []
    return [((n.lineno, n.col_offset), (n.end_lineno, n.end_col_offset)) for n in found if n is not None]


def run_tests(folder: Path, files: tuple[str, ...], *, write: bool) -> None:
    """Run test files of a copy, in a process made for it; its exit code says whether all passed."""
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    sys.dont_write_bytecode = not write  # a mutant's code must not be taken for the module's
    import pytest

    code = pytest.main(
        [
            "-x",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            "-W",
            "ignore::pytest.PytestAssertRewriteWarning",
        ]
        + [f"tests/{name}" for name in files],
        plugins=[QuickestFirst(folder / "seconds.json")],
    )
    os._exit(int(code))


class QuickestFirst:
    """Orders tests by the time that they took in the first run, before any edit: most edits are seen soon."""

    def __init__(self, path: Path) -> None:
        self.path, self.took = path, dict[str, float]()
        self.known: dict[str, float] = json.loads(path.read_text()) if path.exists() else {}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items.sort(key=lambda item: self.known.get(item.nodeid, 0.0))

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.took[report.nodeid] = self.took.get(report.nodeid, 0.0) + report.duration

    def pytest_sessionfinish(self) -> None:
        if not self.known:
            self.path.write_text(json.dumps(self.took))


def passes(folder: Path, files: tuple[str, ...], timeout: float, *, write: bool = False) -> bool:
    """Whether all tests pass in time."""
    process = multiprocessing.get_context("fork").Process(
        target=run_tests, args=(folder, files), kwargs={"write": write}
    )
    process.start()
    process.join(timeout)
    if process.is_alive():
        process.kill()
        process.join()
    return process.exitcode == 0


def survivors(module: str, folder: Path) -> Iterator[tuple[Edit, str | None]]:
    """Every edit of a module, with what it changed where no test failed."""
    from cosmic_ray.mutating import use_mutation
    from cosmic_ray.plugins import get_operator

    path, files, start = folder / "sdv_plausible" / module, CORE[module], time.monotonic()
    if not passes(folder, files, 600, write=True):
        raise SystemExit(f"{module}: its tests fail before any edit: {', '.join(files)}")
    timeout = 10 + 5 * (time.monotonic() - start)
    for edit in edits(path):
        with use_mutation(path, get_operator(edit.operator)(), edit.occurrence) as (before, after):
            yield edit, change(before, after) if passes(folder, files, timeout) else None


def change(before: str, after: str) -> str:
    """An edit as ``old`` becomes ``new``, one line each, as the page of explanations writes it."""
    lines = [x for x in difflib.ndiff(before.splitlines(), after.splitlines()) if x[:2] in ("- ", "+ ")]
    return " becomes ".join(f"`{' '.join(line[2:].split())}`" for line in lines)


def explained_survivors(page: str) -> set[tuple[str, str]]:
    """Modules and edits of the page: a line that names a module alone, and under it one edit a line."""
    module, found = "", set()
    for line in page.splitlines():
        module = (re.findall(r"^`([\w/]+\.py)`", line) or [module])[0]
        found |= {(module, edit) for edit in re.findall(r"^- (`.+` becomes `.+?`)(?=:|$)", line)}
    return found


@contextlib.contextmanager
def copy_of_repository() -> Iterator[Path]:
    """Copy what the tests need: the edits are never made in the working tree."""
    with tempfile.TemporaryDirectory() as name:
        for folder in ("sdv_plausible", "tests", "docs"):
            shutil.copytree(ROOT / folder, Path(name) / folder, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy2(ROOT / "pyproject.toml", name)
        yield Path(name)


def main(modules: list[str]) -> int:
    """Run modules (default: all); 1 if a survivor is not explained, or an explanation is not needed."""
    unknown = sorted(set(modules) - set(CORE))
    if unknown:
        raise SystemExit(f"no module of the privacy core: {', '.join(unknown)}; known: {', '.join(CORE)}")
    for library in LIBRARIES:
        importlib.import_module(library)
    known, failed = explained_survivors(PAGE.read_text()), False
    for module in modules or CORE:
        killed = explained = total = 0
        stale = {edit for name, edit in known if name == module}
        with copy_of_repository() as folder:
            for edit, changed in survivors(module, folder):
                stale.discard(changed or "")
                total, killed = total + 1, killed + (changed is None)
                if changed is None or (module, changed) in known:
                    explained += changed is not None
                    continue
                print(f"sdv_plausible/{module}:{edit.line}: {edit.operator}\n  {changed}", flush=True)
        missing = total - killed - explained
        print(f"{module}: {total} mutants, {killed} killed, {explained} explained, {missing} not", flush=True)
        for changed in sorted(stale):
            print(f"explained, but killed or gone: {changed}", flush=True)
        failed = failed or missing > 0 or bool(stale)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

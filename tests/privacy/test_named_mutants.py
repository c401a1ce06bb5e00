"""Faults that an earlier suite of 770 tests let pass, each put into the source: every test named must now fail.

The edits are those of ``planted_faults.json``. Before one the named tests pass; with it, they fail. More of them are found by
``./dev mutants`` (docs/explanation/mutants.md).
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from cases import fast_and_slow
from guarded import PACKAGE
from planted_faults import Fault, faults

from sdv_plausible.extensions.models.latent.autoencoder import WEIGHTS
from sdv_plausible.mechanism.privacy_tests.release_level import ReleaseTest
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours

TESTS = Path(__file__).parents[1]
FAULTS = {fault.name: fault for fault in faults()}
pytestmark = pytest.mark.filterwarnings(
    "ignore:.* (most cells are outside|cells are missing although):UserWarning"
)  # as where the named tests are

A_PATH, A_FOLDER, A_PATCH = (
    object(),
    object(),
    object(),
)  # stand for a path where no file is, an empty folder, a patch
REPLAY = "privacy/test_replay.py", "test_what_leaves_depends_on_the_rows_through_noisy_answers_alone"
DOORS = "privacy/test_replay_of_doors.py", "test_no_door_leaves_anything_of_the_rows"
PARTS = "sources/test_parts.py", "test_every_part_has_a_number_and_coins_of_its_own"
OUTPUT = "table/columns/test_output_types.py", "test_a_type_that_one_finer_or_odd_row_widens_is_not_written"

# Name of a fault -> arguments of calls of its test that must fail with it.
MUTANTS: dict[str, list[tuple[Any, ...]]] = {
    "the root of the number of scored pairs is forgotten": [(ONE_ROW,)],
    "scores are distances from the product of the true margins": [("adaptive", "row", "dependent")],
    "estimates for the scores are made of the true margins": [("adaptive", 1.0)],
    "the schedule is given the true number of rows": [("adaptive", 1.0)],
    "the size check is without its margin": [(1e-6,)],
    "a domain is learned with the true number of rows": [(20.0,)],
    "margins before a published table are the true ones": [("published table",)],
    "buckets that a published table makes finer are cut by the true masses": [()],
    "published pairs are raked to the true margins": [("published table",)],
    "the copula is returned with the true margins": [("model copula",)],
    "the vote on types is decided by the true counts": [(["true", "false", ""],)],
    "a person counts as a row in a vote on types": [()],
    "all rows of a person vote": [()],
    "after a vote the total is that of the types found": [()],
    "an envelope pays for more than it holds": [(A_PATCH,)],
    "a person counts as a row in tables of three or more columns": [("given arcs", "person", "dependent")],
    "of several thresholds of a fit a budget in rho counts one": [()],
    "of several Gaussians of a fit a budget in rho counts one": [()],
    "rows are charged as if a unit that is replaced were in both tables": [
        (Neighbours(replace=True),), (Neighbours(rows=2, replace=True, person="ticket"),),
    ],
    "a unit's rows are not taken off the lower bound on the rows": [(7,)],
    "a unit's rows are not put upon the upper bound on the rows": [(7,)],
    "sizes of groups have noise for rows that come or go where units are replaced": [
        ("row replaced", "release_groups"), ("person replaced", "release_groups"),
    ],
    "a choice is made for one row whoever is protected": [("person", "choose"), ("row replaced", "choose")],
    "Laplace noise is for one row whoever is protected": [("person", "ask_laplace"), ("row replaced", "ask_laplace")],
    "rows of a unit that is replaced are charged the profile of one that comes or goes": [(1, 10, 100_000)],
    "the pass rate's floor is that of seeds that are not looked at": [({"max_check_plausible": 20}, 20)],
    "the declared number of seeds is not held against the seeds of a split": [((0.25, 0.25, 0.5), 1400)],
    "whatever is derived from the paper's learner asks each part for one thing alone": [()],
    "a fit may charge what was not planned": [(None, "synthesizer", False), (None, "source", False)],
    "rows at one place of all parts have one secret number": [("parquet", "nothing"), ("duckdb", "codes")],
    "cells outside the domain are drawn alike in all parts": [("csv", "nothing"), ("stream", "nothing")],
    "all partitions of a cluster have one number": [("dask", "codes")],
    "all partitions of Spark have one number": [("spark", "codes")],
    "codes of rows that were chosen are not held against these": [()],
    "codes are kept as if all parts were the first": [("arrow", "codes"), ("dask", "codes")],
    "categories are those of the first rows": [("categories", 3), ("texts", 3)],
    "missing numbers are in the first bin": [("numbers", 3), ("dates", 7)],
    "people's rows have the same secret numbers in all parts": [(600,)],
    "the parts' share of delta is no part of the total of a split": [()],
    "the most that a domain costs is without the weight of declared bounds": [()],
    "looks at columns that are neither declared nor open are forgotten before a vote": [()],
    "privately learned columns are written in the real columns' types": [("synthesizer",), ("source",)],
    "categories are not brought into one form": [()],
    "a family is not tied through rows whose parent is not there": [()],
    "a budget forgets the unit from the third fit on": [(A_PATH,)],
    "of a statement's digest four digits are compared": [(A_FOLDER,)],
    "a number that a name of several parts holds is not looked at": [()],
    **{f"the guard of the gradients' norm forgets the layer {name}": [(name,)] for name in WEIGHTS},
}  # fmt: skip
# Other tests that must fail, too: file, function, arguments.
FURTHER: dict[str, list[tuple[Any, ...]]] = {
    "the root of the number of scored pairs is forgotten": [
        ("privacy/test_asked_sensitivities.py", "test_what_learners_ask_moves_as_far_as_its_noise_is_for", "adaptive", "row", "dependent"),
    ],
    "margins before a published table are the true ones": [(*REPLAY, "published table")],
    "the vote on types is decided by the true counts": [(*DOORS, "fit"), (*DOORS, "voted")],
    "a person counts as a row in a vote on types": [
        ("privacy/test_asked_sensitivities.py", "test_what_is_asked_in_a_vote_on_types_moves_as_far_as_its_noise_is_for", "numbers", 0.5, "person"),
    ],
    "after a vote the total is that of the types found": [
        ("fitting/test_undeclared_types.py", "test_the_total_is_the_same_whatever_the_types", 5, "bayesian_network", ReleaseTest()),
    ],
    "an envelope pays for more than it holds": [("privacy/test_entries.py", "test_an_envelope_that_is_too_small_is_refused", "noise")],
    "a person counts as a row in tables of three or more columns": [
        ("privacy/test_units.py", "test_no_unit_moves_an_answer_further", "coded", "triple"),
    ],
    "people's rows have the same secret numbers in all parts": [(*PARTS, "polars", "people")],
    "privately learned columns are written in the real columns' types": [OUTPUT],
}  # fmt: skip
OWN = {name: FAULTS[name].test.split("[")[0].split("::") for name in MUTANTS}
CALLS = [(name, (*OWN[name], *given)) for name, calls in MUTANTS.items() for given in calls]
FIRST = [(name, (*OWN[name], *calls[0])) for name, calls in MUTANTS.items()]
CALLS += [(name, call) for name, calls in FURTHER.items() for call in calls]


def functions(tree: ast.AST, path: str = "") -> dict[str, ast.FunctionDef]:
    """Functions of a module, and of its classes, by their dotted names."""
    found: dict[str, ast.FunctionDef] = {}
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            found[path + node.name] = node
        elif isinstance(node, ast.ClassDef):
            found |= functions(node, f"{path}{node.name}.")
    return found


def plant(fault: Fault, patch: pytest.MonkeyPatch) -> None:
    """Replace the function that a fault edits, compiled in its own module, wherever it was imported."""
    text = (PACKAGE / fault.file).read_text(encoding="utf-8")
    before, edited = (functions(ast.parse(source)) for source in (text, fault.source(text)))
    (path,) = (path for path, made in edited.items() if ast.dump(made) != ast.dump(before[path]))
    *classes, name = path.split(".")
    module = importlib.import_module("sdv_plausible." + fault.file.removesuffix(".py").replace("/", "."))
    owner = reduce(getattr, classes, module)
    honest, made = getattr(owner, name), dict[str, Any]()
    source = compile(ast.Module([edited[path]], []), module.__file__ or "", "exec")
    exec(source, module.__dict__, made)
    patch.setattr(owner, name, made[name])
    for other in list(sys.modules.values()):
        if getattr(other, "__dict__", {}).get(name) is honest:
            patch.setattr(other, name, made[name])


def load(path: str, patch: pytest.MonkeyPatch) -> ModuleType:
    """A test file as a module of its own, with what lies beside it in reach."""
    patch.syspath_prepend(str((TESTS / path).parent))
    spec = importlib.util.spec_from_file_location(f"mutated_{Path(path).stem}", TESTS / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    patch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("name", "call"),
    fast_and_slow(CALLS, lambda *case: case in FIRST),
    ids=[f"{name}: {call[1]}" for name, call in CALLS],
)
def test_each_mutant_is_caught_by_each_test_named(name, call, monkeypatch, tmp_path_factory):
    path, function, *arguments = call
    tested: Callable[..., None] = getattr(load(path, monkeypatch), function)

    def run() -> None:
        folder = tmp_path_factory.mktemp("named")
        with pytest.MonkeyPatch.context() as patch:
            given = {A_PATH: folder / "file", A_FOLDER: folder, A_PATCH: patch}
            tested(*(given[one] if type(one) is object else one for one in arguments))

    run()
    plant(FAULTS[name], monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception)):  # or what it expects is not raised
        run()


def test_a_mutant_whose_text_is_gone_is_no_mutant(monkeypatch):
    """So that a rewritten function does not make these tests pass for nothing."""
    with pytest.raises(ValueError, match="occurs 0 times in"):
        plant(replace(next(iter(FAULTS.values())), old="no such text"), monkeypatch)

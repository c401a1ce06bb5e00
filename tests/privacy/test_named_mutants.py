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

from sdv_plausible.mechanism.privacy_tests.release_level import ReleaseTest
from sdv_plausible.models.latent.network import WEIGHTS
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours

TESTS = Path(__file__).parents[1]
FAULTS = {fault.name: fault for fault in faults()}
pytestmark = pytest.mark.filterwarnings(
    "ignore:.* (most cells are outside|cells are missing although):UserWarning"
)  # as where the named tests are

A_PATH = object()  # stands for a path in a folder of its own, where no file is
ASKED_AGAIN = "privacy/test_asked_again.py", "test_learners_ask_the_same_for_the_same_answers"
ASKED = "privacy/test_asked_sensitivities.py", "test_what_learners_ask_moves_as_far_as_its_noise_is_for"
VOTED = (
    "privacy/test_asked_sensitivities.py",
    "test_what_is_asked_in_a_vote_on_types_moves_as_far_as_its_noise_is_for",
)
SCALES = "privacy/test_scales_of_units.py", "test_the_noise_of_every_answer_is_for_the_unit"
PARTS = "sources/test_parts.py", "test_every_part_has_a_number_and_coins_of_its_own"
REPLAY = "privacy/test_replay.py", "test_what_leaves_depends_on_the_rows_through_noisy_answers_alone"
LOSSES = "privacy/accounting/test_filters.py", "test_every_loss_of_a_fit_counts"
CODED = "table/test_codec.py", "test_cells_are_coded_as_each_alone_however_many_at_once"
TYPES = (
    "table/columns/test_output_types.py",
    "test_types_of_privately_learned_columns_show_no_row_at_any_door",
)

# Name of a fault -> calls of tests (file, function, arguments) that must fail with it.
MUTANTS: dict[str, list[tuple[Any, ...]]] = {
    "the root of the number of scored pairs is forgotten": [
        ("questions/test_counts.py", "test_scores_move_as_far_as_stated", ONE_ROW), (*ASKED, "adaptive", "row", "dependent"),
    ],
    "scores are distances from the product of the true margins": [(*ASKED, "adaptive", "row", "dependent")],
    "estimates for the scores are made of the true margins": [(*ASKED_AGAIN, "adaptive", 1.0)],
    "the schedule is given the true number of rows": [(*ASKED_AGAIN, "adaptive", 1.0)],
    "the size check is without its margin": [
        ("mechanism/privacy_tests/test_row_tests.py", "test_a_bound_that_a_neighbour_does_not_reach_is_confirmed_as_often_as_charged", 1e-6),
    ],
    "margins before a published table are the true ones": [(*ASKED_AGAIN, "public", 20.0), (*REPLAY, "published table")],
    "buckets that a published table makes finer are cut by the true masses": [
        ("privacy/test_asked_again.py", "test_a_published_table_makes_buckets_finer_for_the_same_answers"),
    ],
    "published pairs are raked to the true margins": [(*REPLAY, "published table")],
    "the copula is returned with the true margins": [(*REPLAY, "model copula")],
    "the vote on types is decided by the true counts": [
        ("privacy/test_asked_again.py", "test_types_are_voted_for_by_the_same_questions_for_the_same_answers", ["true", "false", ""]),
        ("privacy/test_replay_of_doors.py", "test_no_door_leaves_anything_of_the_rows", "fit"),
    ],
    "a person counts as a row in a vote on types": [
        (*VOTED, "numbers", 0.5, "person"),
        ("fit/test_voting.py", "test_a_person_with_several_rows_is_protected_by_the_vote_too"),
    ],
    "all rows of a person vote": [("fit/test_voting.py", "test_the_rows_that_vote_are_those_chosen")],
    "after a vote the total is that of the types found": [
        ("fit/test_voting.py", "test_the_total_is_the_same_whatever_the_types", 5, "bayesian_network", ReleaseTest()),
        ("privacy/test_entries.py", "test_what_is_within_an_envelope_is_no_part_of_the_total"),
    ],
    "an envelope pays for more than it holds": [
        ("fit/test_voting.py", "test_what_was_not_kept_is_never_charged"),
        ("privacy/test_entries.py", "test_an_envelope_that_is_too_small_is_refused", "noise"),
    ],
    "a person counts as a row in tables of three or more columns": [
        (*ASKED, "given arcs", "person", "dependent"),
        ("privacy/test_units.py", "test_no_unit_moves_an_answer_further", "coded", "triple"),
    ],
    "of several thresholds of a fit a budget in rho counts one": [LOSSES],
    "of several Gaussians of a fit a budget in rho counts one": [LOSSES],
    "rows are charged as if a unit that is replaced were in both tables": [
        ("mechanism/privacy_tests/test_row_tests.py", "test_the_rows_of_a_unit_that_is_replaced_are_not_counted_on", unit)
        for unit in (Neighbours(replace=True), Neighbours(rows=2, replace=True, person="ticket"))
    ],
    "a unit's rows are not taken off the lower bound on the rows": [
        ("privacy/test_neighbours_of_persons.py", "test_the_bound_holds_for_the_smaller_table", 7),
    ],
    "a unit's rows are not put upon the upper bound on the rows": [
        ("privacy/test_neighbours_of_persons.py", "test_the_bound_from_above_holds_for_the_larger_table", 7),
    ],
    "sizes of groups have noise for rows that come or go where units are replaced": [
        (*SCALES, "row replaced", "release_groups"), (*SCALES, "person replaced", "release_groups"),
    ],
    "a choice is made for one row whoever is protected": [(*SCALES, "person", "choose"), (*SCALES, "row replaced", "choose")],
    "Laplace noise is for one row whoever is protected": [
        (*SCALES, "person", "ask_laplace"), (*SCALES, "row replaced", "ask_laplace"),
    ],
    "rows of a unit that is replaced are charged the profile of one that comes or goes": [
        ("privacy/accounting/test_one_row.py", "test_a_replacement_is_charged_a_pair_of_its_own", 1, 10, 100_000),
    ],
    "the pass rate's floor is that of seeds that are not looked at": [
        ("mechanism/privacy_tests/test_row_tests.py", "test_the_floor_of_the_pass_rate_is_that_of_the_seeds_that_are_counted",
         {"max_check_plausible": 20}, 20),
    ],
    "the declared number of seeds is not held against the seeds of a split": [
        ("fit/test_release_learning.py", "test_the_bound_is_held_against_the_rows_that_are_seeds", (0.25, 0.25, 0.5), 1400),
    ],
    "whatever is derived from the paper's learner asks each part for one thing alone": [
        ("mechanism/privacy_tests/test_settings.py", "test_structure_and_parameters_are_apart_for_the_papers_learner_alone"),
    ],
    "a fit may charge what was not planned": [
        ("fit/test_fit_budget.py", "test_every_fit_charges_what_was_planned_and_no_more", None, door, False)
        for door in ("synthesizer", "source")
    ],
    "rows at one place of all parts have one secret number": [(*PARTS, "parquet", "nothing"), (*PARTS, "duckdb", "codes")],
    "cells outside the domain are drawn alike in all parts": [(*PARTS, "csv", "nothing"), (*PARTS, "stream", "nothing")],
    "all partitions of a cluster have one number": [(*PARTS, "dask", "codes")],
    "all partitions of Spark have one number": [(*PARTS, "spark", "codes")],
    "codes of rows that were chosen are not held against these": [
        ("sources/test_spark_tables.py", "test_codes_are_of_the_rows_that_were_looked_at_before"),
    ],
    "codes are kept as if all parts were the first": [(*PARTS, "arrow", "codes"), (*PARTS, "dask", "codes")],
    "categories are those of the first rows": [(*CODED, "categories", 3), (*CODED, "texts", 3)],
    "missing numbers are in the first bin": [(*CODED, "numbers", 3), (*CODED, "dates", 7)],
    "people's rows have the same secret numbers in all parts": [
        ("sources/test_bounded.py", "test_every_choice_of_a_persons_rows_is_equally_likely_wherever_they_are", 600),
        (*PARTS, "polars", "people"),
    ],
    "the parts' share of delta is no part of the total of a split": [
        ("privacy/accounting/test_split.py", "test_the_deltas_of_parts_and_of_all_rows_are_within_the_total"),
    ],
    "the most that a domain costs is without the weight of declared bounds": [
        ("table/learned/test_private_domain.py", "test_no_columns_cost_more_than_the_most"),
    ],
    "looks at columns that are neither declared nor open are forgotten before a vote": [
        ("fit/test_voting.py", "test_looks_at_columns_that_stand_in_for_declared_ones_stay_on_record"),
    ],
    "privately learned columns are written in the real columns' types": [
        (*TYPES, "synthesizer"), (*TYPES, "source"),
        (TYPES[0], "test_a_type_that_one_finer_or_odd_row_widens_is_not_written", "int64", "Int64"),
    ],
    "categories are not brought into one form": [
        ("table/cells/test_distinct.py", "test_categories_are_brought_into_their_one_form"),
    ],
    "a family is not tied through rows whose parent is not there": [
        ("related/test_related_families.py", "test_families_are_tied_through_whoever_is_not_there"),
    ],
    "a budget forgets the unit from the third fit on": [
        ("fit/test_fit_budget.py", "test_another_unit_is_refused_however_many_fits_there_were", A_PATH),
    ],
    "of a statement's digest four digits are compared": [
        ("release/test_attestation.py", "test_every_digit_of_a_digest_counts", A_PATH),
    ],
    "a number that a name of several parts holds is not looked at": [
        ("table/test_table_persons.py", "test_a_tuple_that_holds_a_rounded_number_names_nobody"),
    ],
    **{
        f"the guard of the gradients' norm forgets the layer {name}": [
            ("models/latent/test_gradients.py", "test_the_norm_and_its_guard_see_every_layer", name),
        ]
        for name in WEIGHTS
    },
}  # fmt: skip
CALLS = [(name, call) for name, calls in MUTANTS.items() for call in calls]


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
    fast_and_slow(CALLS, lambda name, call: call == MUTANTS[name][0]),
    ids=[f"{name}: {call[1]}" for name, call in CALLS],
)
def test_each_mutant_is_caught_by_each_test_named(name, call, monkeypatch, tmp_path_factory):
    path, function, *arguments = call
    tested: Callable[..., None] = getattr(load(path, monkeypatch), function)

    def run() -> None:
        tested(*(tmp_path_factory.mktemp("named") / "file" if one is A_PATH else one for one in arguments))

    run()
    plant(FAULTS[name], monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception)):  # or what it expects is not raised
        run()


def test_a_mutant_whose_text_is_gone_is_no_mutant(monkeypatch):
    """So that a rewritten function does not make these tests pass for nothing."""
    with pytest.raises(ValueError, match="occurs 0 times in"):
        plant(replace(next(iter(FAULTS.values())), old="no such text"), monkeypatch)

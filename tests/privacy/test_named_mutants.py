"""Faults that an earlier suite of 770 tests let pass, each put into the source: one named test at least must now fail.

A mutant is one edit of a function's source text. Before it, the named tests pass; with it, they fail. More of them are found by
``./dev mutants`` (docs/explanation/mutants.md).
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import guarded
import pytest
from cases import fast_and_slow

from sdv_plausible.fit import budget, learning, run, voting
from sdv_plausible.mechanism.privacy_tests.randomized import RandomizedTest
from sdv_plausible.mechanism.privacy_tests.release_level import ReleaseTest
from sdv_plausible.mechanism.privacy_tests.settings import Settings
from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.models.adaptive.measurements import Measurements
from sdv_plausible.models.datasynthesizer import greedy_bayes as greedy_learner
from sdv_plausible.models.gaussian_copula.copula_learner import GaussianCopula
from sdv_plausible.models.latent import gradients
from sdv_plausible.models.latent.network import WEIGHTS
from sdv_plausible.models.paper import paper_network as paper_learner
from sdv_plausible.privacy import entries
from sdv_plausible.privacy.accounting import filters, one_row, split
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.questions.counts import CountTable, Distances
from sdv_plausible.questions.queryable import Queryable
from sdv_plausible.related import families
from sdv_plausible.release import attestation
from sdv_plausible.sources import spark_tables
from sdv_plausible.sources.bounded import Deal
from sdv_plausible.sources.coded import Coder
from sdv_plausible.sources.dask_tables import DaskSource
from sdv_plausible.sources.kept import Encode
from sdv_plausible.sources.spark_tables import SparkParts
from sdv_plausible.table import persons
from sdv_plausible.table.cells import distinct
from sdv_plausible.table.codec import ColumnCodec
from sdv_plausible.table.columns import output_types
from sdv_plausible.table.learned import type_votes
from sdv_plausible.table.learned.private_domain import Whole

TESTS = Path(__file__).parents[1]
pytestmark = pytest.mark.filterwarnings(
    "ignore:.* (most cells are outside|cells are missing although):UserWarning"
)  # as where the named tests are


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One edit of one function, and calls of tests (file, function, arguments) that must fail with it."""

    owner: type | ModuleType
    name: str
    old: str
    new: str
    caught_by: tuple[tuple[str, str, tuple[Any, ...]], ...]

    def apply(self, patch: pytest.MonkeyPatch) -> None:
        """Replace the function by the edited one, compiled in its own module, wherever it was imported."""
        honest = getattr(self.owner, self.name)
        function = honest.fget if isinstance(honest, property) else honest
        source = textwrap.dedent(inspect.getsource(function))
        assert source.count(self.old) == 1, f"{self.old!r} is not once in {self.owner.__name__}.{self.name}"
        module, made = sys.modules[function.__module__], dict[str, Any]()
        exec(
            compile(source.replace(self.old, self.new), module.__file__ or "", "exec"), module.__dict__, made
        )
        patch.setattr(self.owner, self.name, made[self.name])
        for other in list(sys.modules.values()):
            if getattr(other, "__dict__", {}).get(self.name) is honest:
                patch.setattr(other, self.name, made[self.name])


ASKED_AGAIN = "privacy/test_asked_again.py", "test_learners_ask_the_same_for_the_same_answers"
ASKED = "privacy/test_asked_sensitivities.py", "test_what_learners_ask_moves_as_far_as_its_noise_is_for"
SCALES = "privacy/test_scales_of_units.py", "test_the_noise_of_every_answer_is_for_the_unit"
PARTS = "sources/test_parts.py", "test_every_part_has_a_number_and_coins_of_its_own"
REPLAY = "privacy/test_replay.py", "test_what_leaves_depends_on_the_rows_through_noisy_answers_alone"
A_PATH = object()  # stands for a path in a folder of its own, where no file is
EXACT = (
    "[next(iter(self._rows._rows.tables([[Axis.of_codes(j, len(b))]]))) for j, b in enumerate(self.buckets)]"
)


MUTANTS = {
    "the root of the number of scored pairs is forgotten": Mutant(
        owner=Distances, name="sensitivity", old=" * math.sqrt(len(self.sets))", new="",
        caught_by=(
            ("questions/test_counts.py", "test_scores_move_as_far_as_stated", (ONE_ROW,)),
            (*ASKED, ("adaptive", "row", "dependent")),
        ),
    ),
    "scores are distances from the product of the true margins": Mutant(
        owner=Distances, name="exact", old="np.abs(tables - np.stack([self.estimates[i] for i in positions.tolist()]))",
        new="np.rint(np.abs(tables - tables.sum(2, keepdims=True) * tables.sum(1, keepdims=True)"
            " / np.maximum(tables.sum((1, 2), keepdims=True), 1)))",
        caught_by=(
            (*ASKED, ("adaptive", "row", "dependent")),
        ),
    ),
    "estimates for the scores are made of the true margins": Mutant(
        owner=Measurements, name="_coarse_counts", old="self.coarse[j]",
        new="next(iter(self._rows._rows.tables([[self._axes[j]]]))).astype(float) / self.total",
        caught_by=((*ASKED_AGAIN, ("adaptive", 1.0)),),
    ),
    "the schedule is given the true number of rows": Mutant(
        owner=AdaptiveNetwork, name="fit", old="float(rows.ask(NumberOfRows(), SIZE_SHARE).values[0])",
        new="(rows.ask(NumberOfRows(), SIZE_SHARE), float(rows._rows.num_rows()))[1]",
        caught_by=((*ASKED_AGAIN, ("adaptive", 1.0)),),
    ),
    "the size check is without its margin": Mutant(
        owner=RandomizedTest, name="confirm", old=" - margin < self.least_rows", new=" < self.least_rows",
        caught_by=(("mechanism/privacy_tests/test_row_tests.py", "test_a_bound_that_a_neighbour_does_not_reach_is_confirmed_as_often_as_charged", (1e-6,)),),
    ),
    "margins before a published table are the true ones": Mutant(
        owner=Measurements, name="_take_margins", old="_public.margins(*self._asked)",
        new="_public.margins([t.astype(float) for t in self._rows._rows.tables([[Axis.of_codes(j, len(c))] for j, c in enumerate(self._asked[0])])], *self._asked[1:])",
        caught_by=((*ASKED_AGAIN, ("public", 20.0)), (*REPLAY, ("published table",))),
    ),
    "buckets that a published table makes finer are cut by the true masses": Mutant(
        owner=Measurements, name="_finer", old="[np.bincount(b, p) for b, p in zip(fine, self.margins, strict=True)]",
        new="[np.bincount(b, next(iter(self._rows._rows.tables([[Axis.of_codes(j, len(b))]])))) / self.total for j, b in enumerate(fine)]",
        caught_by=(("privacy/test_asked_again.py", "test_a_published_table_makes_buckets_finer_for_the_same_answers", ()),),
    ),
    "published pairs are raked to the true margins": Mutant(
        owner=Measurements, name="_published", old="self._public.pairs(self.buckets, self.coarse, ",
        new=f"self._public.pairs(self.buckets, [np.bincount(b, n) / n.sum() for b, n in zip(self.buckets, {EXACT})], ",
        caught_by=((*REPLAY, ("published table",)),),
    ),
    "the copula is returned with the true margins": Mutant(
        owner=GaussianCopula, name="fit", old="_axes(buckets, ranks), margins)",
        new="_axes(buckets, ranks), [clean_margin(t.astype(float), t.sum()) for t in rows._rows.tables(codes)])",
        caught_by=((*REPLAY, ("model copula",)),),
    ),
    "the vote on types is decided by the true counts": Mutant(
        owner=type_votes._Vote, name="ask", old="return answer.values, answer.sigma",
        new="return CellKinds(self.name, self.spelling, by).exact(self.rows._rows).astype(float), answer.sigma",
        caught_by=(
            ("privacy/test_asked_again.py", "test_types_are_voted_for_by_the_same_questions_for_the_same_answers", (["true", "false", ""],)),
            ("privacy/test_replay_of_doors.py", "test_no_door_leaves_anything_of_the_rows", ("fit",)),
        ),
    ),
    "a person counts as a row in a vote on types": Mutant(
        owner=type_votes.CellKinds, name="sensitivity", old="return neighbours.histogram_l2", new="return 1.0",
        caught_by=(
            ("privacy/test_asked_sensitivities.py", "test_what_is_asked_in_a_vote_on_types_moves_as_far_as_its_noise_is_for", ("numbers", 0.5, "person")),
            ("fit/test_voting.py", "test_a_person_with_several_rows_is_protected_by_the_vote_too", ()),
        ),
    ),
    "all rows of a person vote": Mutant(
        owner=run, name="chosen", old="rows = rows.of_persons(", new="_ = rows.of_persons(",
        caught_by=(("fit/test_voting.py", "test_the_rows_that_vote_are_those_chosen", ()),),
    ),
    "after a vote the total is that of the types found": Mutant(
        owner=entries, name="counted", old="if not any(entry is one for one in inside)", new="if not entry.envelope",
        caught_by=(
            ("fit/test_voting.py", "test_the_total_is_the_same_whatever_the_types", (5, "bayesian_network", ReleaseTest())),
            ("privacy/test_entries.py", "test_what_is_within_an_envelope_is_no_part_of_the_total", ()),
        ),
    ),
    "an envelope pays for more than it holds": Mutant(
        owner=entries, name="check_envelope", old="inside and not _dominates(envelope.losses, inside)", new="False",
        caught_by=(
            ("fit/test_voting.py", "test_what_was_not_kept_is_never_charged", ()),
            ("privacy/test_entries.py", "test_an_envelope_that_is_too_small_is_refused", ("noise",)),
        ),
    ),
    "a person counts as a row in tables of three or more columns": Mutant(
        owner=CountTable, name="sensitivity", old="return neighbours.histogram_l2",
        new="return neighbours.histogram_l2 / (neighbours.rows if len(self.axes) > 2 else 1)",
        caught_by=(
            (*ASKED, ("given arcs", "person", "dependent")),
            ("privacy/test_units.py", "test_no_unit_moves_an_answer_further", ("coded", "triple", 2, False)),
        ),
    ),
    "of several thresholds of a fit a budget in rho counts one": Mutant(
        owner=filters, name="gaussian_cost", old="math.fsum(failure)", new="max(failure, default=0.0)",
        caught_by=(("privacy/accounting/test_filters.py", "test_every_loss_of_a_fit_counts", ()),),
    ),
    "of several Gaussians of a fit a budget in rho counts one": Mutant(
        owner=filters, name="gaussian_cost", old="math.fsum(squares)", new="max(squares, default=0.0)",
        caught_by=(("privacy/accounting/test_filters.py", "test_every_loss_of_a_fit_counts", ()),),
    ),
    "rows are charged as if a unit that is replaced were in both tables": Mutant(
        owner=RandomizedTest, name="_rows_entry", old="max(1, self.least_rows - unit) if self.neighbours.replace else self.least_rows",
        new="self.least_rows",
        caught_by=tuple(
            ("mechanism/privacy_tests/test_row_tests.py", "test_the_rows_of_a_unit_that_is_replaced_are_not_counted_on", (unit,))
            for unit in (Neighbours(replace=True), Neighbours(rows=2, replace=True, person="ticket"))
        ),
    ),
    "a unit's rows are not taken off the lower bound on the rows": Mutant(
        owner=paper_learner, name="least_rows", old=" - rows.neighbours.rows", new="",
        caught_by=(("privacy/test_neighbours_of_persons.py", "test_the_bound_holds_for_the_smaller_table", (7,)),),
    ),
    "a unit's rows are not put upon the upper bound on the rows": Mutant(
        owner=greedy_learner, name="_most_rows", old=" + rows.neighbours.rows", new="",
        caught_by=(("privacy/test_neighbours_of_persons.py", "test_the_bound_from_above_holds_for_the_larger_table", (7,)),),
    ),
    "sizes of groups have noise for rows that come or go where units are replaced": Mutant(
        owner=ReleaseTest, name="release", old="self.neighbours.histogram_l1", new="self.neighbours.rows",
        caught_by=(
            (*SCALES, ("row replaced", "release_groups")),
            (*SCALES, ("person replaced", "release_groups")),
        ),
    ),
    "a choice is made for one row whoever is protected": Mutant(
        owner=Queryable, name="choose", old="question.sensitivity(self.neighbours)", new="question.sensitivity(ONE_ROW)",
        caught_by=tuple((*SCALES, (unit, "choose")) for unit in guarded.UNITS if unit != "row"),
    ),
    "Laplace noise is for one row whoever is protected": Mutant(
        owner=Queryable, name="ask_laplace", old="question.l1(self.neighbours)", new="question.l1(ONE_ROW)",
        caught_by=tuple((*SCALES, (unit, "ask_laplace")) for unit in guarded.UNITS if unit != "row"),
    ),
    "rows of a unit that is replaced are charged the profile of one that comes or goes": Mutant(
        owner=one_row, name="rows_loss", old=" or neighbours.replace", new="",
        caught_by=(("privacy/accounting/test_one_row.py", "test_a_replacement_is_charged_a_pair_of_its_own", (1, 10, 100_000)),),
    ),
    "the pass rate's floor is that of seeds that are not looked at": Mutant(
        owner=RandomizedTest, name="_rows_entry", old="(n_lower, self.stop, self.max_check_plausible)", new="(n_lower, self.stop)",
        caught_by=(
            ("mechanism/privacy_tests/test_row_tests.py", "test_the_floor_of_the_pass_rate_is_that_of_the_seeds_that_are_counted",
             ({"max_check_plausible": 20}, 20)),
        ),
    ),
    "the declared number of seeds is not held against the seeds of a split": Mutant(
        owner=learning, name="fit_release", old="test.confirm(seeds)", new="settings.split or test.confirm(seeds)",
        caught_by=(
            ("fit/test_release_learning.py", "test_the_bound_is_held_against_the_rows_that_are_seeds", ((0.25, 0.25, 0.5), 1400)),
        ),
    ),
    "whatever is derived from the paper's learner asks each part for one thing alone": Mutant(
        owner=Settings, name="random_split", old="is_ours(learner) and ", new="",
        caught_by=(("mechanism/privacy_tests/test_settings.py", "test_structure_and_parameters_are_apart_for_the_papers_learner_alone", ()),),
    ),
    "a fit may charge what was not planned": Mutant(
        owner=budget, name="draw_all", old="ledger.before_charge = only_planned(planned)", new="pass",
        caught_by=tuple(
            ("fit/test_fit_budget.py", "test_every_fit_charges_what_was_planned_and_no_more", (None, door, False))
            for door in ("synthesizer", "source")
        ),
    ),
    "rows at one place of all parts have one secret number": Mutant(
        owner=Coder, name="codes", old='coins.spawn("part", number)', new='coins.spawn("part")',
        caught_by=(
            (*PARTS, ("parquet", "nothing")),
            (*PARTS, ("duckdb", "codes")),
        ),
    ),
    "cells outside the domain are drawn alike in all parts": Mutant(
        owner=Coder, name="coded", old='self.coins.spawn("part", number)', new='self.coins.spawn("part")',
        caught_by=(
            (*PARTS, ("csv", "nothing")),
            (*PARTS, ("stream", "nothing")),
        ),
    ),
    "all partitions of a cluster have one number": Mutant(
        owner=DaskSource, name="_tasks", old="task(sent, part, types, i)", new="task(sent, part, types, 0)",
        caught_by=((*PARTS, ("dask", "codes")),),
    ),
    "all partitions of Spark have one number": Mutant(
        owner=spark_tables, name="_read", old="partition * PARTS_OF_PARTITION + i", new="i",
        caught_by=((*PARTS, ("spark", "codes")),),
    ),
    "codes of rows that were chosen are not held against these": Mutant(
        owner=SparkParts, name="total", old="self._of._unchanged.check(told[2:])", new="pass",
        caught_by=(("sources/test_spark_tables.py", "test_codes_are_of_the_rows_that_were_looked_at_before", ()),),
    ),
    "codes are kept as if all parts were the first": Mutant(
        owner=Encode, name="count", old="self.coder.codes(part, number)", new="self.coder.codes(part, 0)",
        caught_by=((*PARTS, ("arrow", "codes")), (*PARTS, ("dask", "codes"))),
    ),
    "categories are those of the first rows": Mutant(
        owner=ColumnCodec, name="encode_into", old="codes.take(where[rows],", new="codes.take(where[: len(found[rows])],",
        caught_by=(
            ("table/test_codec.py", "test_cells_are_coded_as_each_alone_however_many_at_once", ("categories", 3)),
            ("table/test_codec.py", "test_cells_are_coded_as_each_alone_however_many_at_once", ("texts", 3)),
        ),
    ),
    "missing numbers are in the first bin": Mutant(
        owner=ColumnCodec, name="encode_into", old="where=present, ", new="",
        caught_by=(
            ("table/test_codec.py", "test_cells_are_coded_as_each_alone_however_many_at_once", ("numbers", 3)),
            ("table/test_codec.py", "test_cells_are_coded_as_each_alone_however_many_at_once", ("dates", 7)),
        ),
    ),
    "people's rows have the same secret numbers in all parts": Mutant(
        owner=Deal, name="count", old='self.coins.spawn("part", number)', new='self.coins.spawn("part")',
        caught_by=(
            ("sources/test_bounded.py", "test_every_choice_of_a_persons_rows_is_equally_likely_wherever_they_are", (600,)),
            (*PARTS, ("polars", "people")),
        ),
    ),
    "the parts' share of delta is no part of the total of a split": Mutant(
        owner=split, name="split_total", old="ApproxDP(epsilon=amplified, delta=share)", new="ApproxDP(epsilon=amplified, delta=0.0)",
        caught_by=(("privacy/accounting/test_split.py", "test_the_deltas_of_parts_and_of_all_rows_are_within_the_total", ()),),
    ),
    "the most that a domain costs is without the weight of declared bounds": Mutant(
        owner=Whole, name="most", old="max(BOUNDED_WEIGHT, *WEIGHTS.values())", new="max(WEIGHTS.values())",
        caught_by=(("table/learned/test_private_domain.py", "test_no_columns_cost_more_than_the_most", ()),),
    ),
    "looks at columns that are neither declared nor open are forgotten before a vote": Mutant(
        owner=voting, name="left_open", old=" if n in known or not (n in is_open or n.startswith(voted))", new=" if n in known",
        caught_by=(("fit/test_voting.py", "test_looks_at_columns_that_stand_in_for_declared_ones_stay_on_record", ()),),
    ),
    "privately learned columns are written in the real columns' types": Mutant(
        owner=output_types, name="output_type", old='attribute.provenance == "inferred"', new='attribute.provenance != "declared"',
        caught_by=(
            ("table/columns/test_output_types.py", "test_types_of_privately_learned_columns_show_no_row_at_any_door", ("synthesizer",)),
            ("table/columns/test_output_types.py", "test_types_of_privately_learned_columns_show_no_row_at_any_door", ("source",)),
            ("table/columns/test_output_types.py", "test_a_type_that_one_finer_or_odd_row_widens_is_not_written", ("int64", "Int64")),
        ),
    ),
    "categories are not brought into one form": Mutant(
        owner=distinct, name="distinct_values", old="return _told(column.cat.codes.to_numpy(), column.cat.categories.to_list())",
        new="return column.cat.codes.to_numpy().astype(np.int64), column.cat.categories.to_list()",
        caught_by=(("table/cells/test_distinct.py", "test_categories_are_brought_into_their_one_form", ()),),
    ),
    "a family is not tied through rows whose parent is not there": Mutant(
        owner=families._Names, name="family", old="(above >= 0) & (own >= 0)",
        new="(above >= 0) & (own >= 0) & np.isin(above, self.own[link.parent])",
        caught_by=(("related/test_related_families.py", "test_families_are_tied_through_whoever_is_not_there", ()),),
    ),
    "a budget forgets the unit from the third fit on": Mutant(
        owner=budget.Budget, name="draw", old="if earlier not in (None, now):", new="if len(state.fits) < 2 and earlier not in (None, now):",
        caught_by=(("fit/test_fit_budget.py", "test_another_unit_is_refused_however_many_fits_there_were", (A_PATH,)),),
    ),
    "of a statement's digest four digits are compared": Mutant(
        owner=attestation, name="check_attestation", old="if found not in digests:", new="if found[:4] not in [one[:4] for one in digests]:",
        caught_by=(("release/test_attestation.py", "test_every_digit_of_a_digest_counts", (A_PATH,)),),
    ),
    "a number that a name of several parts holds is not looked at": Mutant(
        owner=persons, name="_is_rounded", old="if type(name) is tuple else", new="if False else",
        caught_by=(("table/test_table_persons.py", "test_a_tuple_that_holds_a_rounded_number_names_nobody", ()),),
    ),
    **{
        f"the guard of the gradients' norm forgets the layer {name}": Mutant(
            owner=gradients, name="clipped", old="for name, (_, deltas) in small.items():",
            new=f"for name, (_, deltas) in ((n, x) for n, x in small.items() if n != {name!r}):",
            caught_by=(("models/latent/test_gradients.py", "test_the_norm_and_its_guard_see_every_layer", (name,)),),
        )
        for name in WEIGHTS
    },
}  # fmt: skip


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


CALLS = [(name, call) for name, mutant in MUTANTS.items() for call in mutant.caught_by]


@pytest.mark.parametrize(
    ("name", "call"),
    fast_and_slow(CALLS, lambda name, call: call == MUTANTS[name].caught_by[0]),
    ids=[f"{name}: {call[1]}" for name, call in CALLS],
)
def test_each_mutant_is_caught_by_each_test_named(name, call, monkeypatch, tmp_path_factory):
    path, function, arguments = call
    tested: Callable[..., None] = getattr(load(path, monkeypatch), function)

    def run(*given: Any) -> None:
        tested(*(tmp_path_factory.mktemp("named") / "file" if one is A_PATH else one for one in given))

    run(*arguments)
    MUTANTS[name].apply(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception)):  # or what it expects is not raised
        run(*arguments)


def test_a_mutant_whose_text_is_gone_is_no_mutant(monkeypatch):
    """So that a rewritten function does not make these tests pass for nothing."""
    gone = Mutant(owner=Distances, name="sensitivity", old="no such text", new="", caught_by=())
    with pytest.raises(AssertionError, match="is not once in Distances.sensitivity"):
        gone.apply(monkeypatch)

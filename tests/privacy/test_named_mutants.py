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

import pytest

from sdv_plausible.models.adaptive.learner import AdaptiveLearner
from sdv_plausible.models.adaptive.measurements import Measurements
from sdv_plausible.privacy.neighbours import ONE_ROW
from sdv_plausible.questions.counts import Distances
from sdv_plausible.release.row_tests import RandomizedTest

TESTS = Path(__file__).parents[1]


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One edit of one function, and calls of tests (file, function, arguments) that must fail with it."""

    owner: type
    name: str
    old: str
    new: str
    caught_by: tuple[tuple[str, str, tuple[Any, ...]], ...]

    def apply(self, patch: pytest.MonkeyPatch) -> None:
        """Replace the function by the edited one, compiled in its own module."""
        source = textwrap.dedent(inspect.getsource(getattr(self.owner, self.name)))
        assert source.count(self.old) == 1, f"{self.old!r} is not once in {self.owner.__name__}.{self.name}"
        module, made = sys.modules[self.owner.__module__], dict[str, Any]()
        exec(
            compile(source.replace(self.old, self.new), module.__file__ or "", "exec"), module.__dict__, made
        )
        patch.setattr(self.owner, self.name, made[self.name])


MUTANTS = {
    "the root of the number of scored pairs is forgotten": Mutant(
        owner=Distances, name="sensitivity", old=" * math.sqrt(len(self.sets))", new="",
        caught_by=(
            ("questions/test_counts.py", "test_scores_move_as_far_as_stated", (ONE_ROW,)),
            (
                "privacy/test_asked_sensitivities.py", "test_what_learners_ask_moves_as_far_as_its_noise_is_for",
                ("adaptive", "dependent"),
            ),
        ),
    ),
    "scores are distances from the product of the true margins": Mutant(
        owner=Distances, name="exact", old="np.abs(tables - np.stack([self.estimates[i] for i in positions.tolist()]))",
        new="np.rint(np.abs(tables - tables.sum(2, keepdims=True) * tables.sum(1, keepdims=True)"
            " / np.maximum(tables.sum((1, 2), keepdims=True), 1)))",
        caught_by=(
            (
                "privacy/test_asked_sensitivities.py", "test_what_learners_ask_moves_as_far_as_its_noise_is_for",
                ("adaptive", "dependent"),
            ),
        ),
    ),
    "estimates for the scores are made of the true margins": Mutant(
        owner=Measurements, name="_coarse_counts", old="self.coarse[j]",
        new="next(iter(self._rows._rows.tables([[self._axes[j]]]))).astype(float) / self.total",
        caught_by=(("privacy/test_asked_again.py", "test_learners_ask_the_same_for_the_same_answers", ("adaptive", 1.0)),),
    ),
    "the schedule is given the true number of rows": Mutant(
        owner=AdaptiveLearner, name="fit", old="float(rows.ask(NumberOfRows(), SIZE_SHARE).values[0])",
        new="(rows.ask(NumberOfRows(), SIZE_SHARE), float(rows._rows.num_rows()))[1]",
        caught_by=(("privacy/test_asked_again.py", "test_learners_ask_the_same_for_the_same_answers", ("adaptive", 1.0)),),
    ),
    "the size check is without its margin": Mutant(
        owner=RandomizedTest, name="confirm", old=" - margin < self.least_rows", new=" < self.least_rows",
        caught_by=(("release/test_row_tests.py", "test_a_bound_that_a_neighbour_does_not_reach_is_confirmed_as_often_as_charged", (1e-6,)),),
    ),
}  # fmt: skip


def load(path: str, patch: pytest.MonkeyPatch) -> ModuleType:
    """A test file as a module of its own, with what lies beside it in reach."""
    patch.syspath_prepend(str((TESTS / path).parent))
    spec = importlib.util.spec_from_file_location(f"mutated_{Path(path).stem}", TESTS / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CALLS = [(name, call) for name, mutant in MUTANTS.items() for call in mutant.caught_by]


@pytest.mark.parametrize(("name", "call"), CALLS, ids=[f"{name}: {call[1]}" for name, call in CALLS])
def test_each_mutant_is_caught_by_each_test_named(name, call, monkeypatch):
    path, function, arguments = call
    run: Callable[..., None] = getattr(load(path, monkeypatch), function)
    run(*arguments)
    MUTANTS[name].apply(monkeypatch)
    with pytest.raises(AssertionError):
        run(*arguments)


def test_a_mutant_whose_text_is_gone_is_no_mutant(monkeypatch):
    """So that a rewritten function does not make these tests pass for nothing."""
    gone = Mutant(owner=Distances, name="sensitivity", old="no such text", new="", caught_by=())
    with pytest.raises(AssertionError, match="is not once in Distances.sensitivity"):
        gone.apply(monkeypatch)

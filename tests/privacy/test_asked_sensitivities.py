"""Everything that is really asked while fitting moves no further than its noise is for, when one unit comes, goes or is replaced.

A spy at the door watches real fits of every learner, for every unit (``guarded.py``), of every privacy test and of the private
domain, on small adversarial tables. Each exact answer is computed again on neighbouring tables: with every possible row more,
as often as a unit has rows, with each of its rows less, or with both. Its L2 move (L1 where the noise is Laplace, the largest
one where something is chosen) must not exceed the sensitivity that the noise was really drawn for, nor its square in units of
the noise what was paid; nor may a number that is charged by itself move by more than its part of that sensitivity. Nothing is estimated: there is no false alarm, but for bounds that fail as seldom as charged. Each
planted fault must be caught.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import guarded
import numpy as np
import oracles
import pandas as pd
import pytest
import spies
from cases import each_once, fast_and_slow
from doors import fit_codes
from voting import held_vote

from sdv_plausible.extensions.models.paper import paper_network as paper_learner
from sdv_plausible.extensions.models.paper.structure import Entropies
from sdv_plausible.mechanism.privacy_tests.privacy_settings import Settings
from sdv_plausible.models.adaptive.public_prior import PublicCodes
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import CodeArray, CountTable
from sdv_plausible.queries.queryable import NoisyValues, Queryable
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.declared.declarations import read_declarations
from sdv_plausible.table.learned.private_columns import learn_attributes
from sdv_plausible.table.learned.private_domain import LearningBudget
from sdv_plausible.table.learned.raw_queries import FrameColumns, RunCounts
from tests.flat import settings_of

CARDS = (3, 2, 4)
UNIVERSE = oracles.universe(CARDS)
DOMAIN = Domain(
    (
        Attribute(name="a", kind="categorical", values=("x", "y", "z")),
        Attribute(name="b", kind="ordinal", values=(0, 1)),
        Attribute(name="c", kind="integer", lower=(0, 5, 6), upper=(4, 5, 9), nullable=True, buckets=(0, 1, 1, 2)),
    )
)  # fmt: skip


def rows(*parts: tuple[int, tuple[int, ...]]) -> np.ndarray:
    """So many equal rows, and so on."""
    return np.array([row for number, row in parts for _ in range(number)], dtype=np.int32).reshape(-1, 3)


TABLES = {
    "no row": rows(),
    "one row": rows((1, (2, 1, 3))),
    "equal rows": rows((40, (1, 0, 2))),
    "one odd row": rows((40, (1, 0, 2)), (1, (2, 1, 3))),
    "two values": rows((30, (0, 0, 0)), (30, (2, 1, 3))),
    "every row once": np.array(UNIVERSE, dtype=np.int32),
    "dependent": np.array([(i % 3, (i % 3 == 1) ^ (i % 11 == 0), i % 4) for i in range(600)], dtype=np.int32),
}
LEARNERS = guarded.learners({"c": ["a", "b"]})
PUBLISHED = np.array([(i % 3, i % 3 == 1, (i + i // 7) % 4 if i % 5 else -1) for i in range(300)], np.int32)
LEARNERS["public"] = replace(LEARNERS["adaptive"], public=PublicCodes(codes=PUBLISHED))
ROWS_ALONE = ("as printed", "latent")  # which say so, and refuse other units
RELEASES: dict[str, dict[str, Any]] = {
    "model alone": {},
    "groups": {"omega": 1},
    "groups, a range": {"omega": (1, 2)},
    "split": {"omega": 2, "split": (0.3, 0.3, 0.4)},
}


def settings(**changed: Any) -> Settings:
    usual: dict[str, Any] = {
        "k": 2,
        "gamma": 4.0,
        "epsilon0": 1.0,
        "omega": None,
        "row_cap": 1,
        "seed_free_share": 0.5,
    }
    return settings_of(**{**usual, "epsilon": 1.0, "delta": 1e-6, "test": "release", **changed})


def fitted(learner: str, codes: np.ndarray, unit: Neighbours = ONE_ROW, **changed: Any) -> list[spies.Asked]:
    ledger, who = PrivacyLedger(delta=1e-6, neighbours=unit), settings(neighbours=unit, **changed)
    with spies.watched() as seen:
        fit_codes(codes, DOMAIN, who, LEARNERS[learner], ledger, KeyedRNG.from_seed(5))
    return seen


def joining(unit: Neighbours) -> list[list[tuple[int, ...]]]:
    """Rows that a unit may bring: as many equal ones as it may have, and others."""
    equal = [[row] * unit.rows for row in UNIVERSE]
    mixed = [[UNIVERSE[(5 * i + 7 * k) % len(UNIVERSE)] for k in range(unit.rows)] for i in range(8)]
    return equal + (mixed if unit.rows > 1 else [])


def leaving(asked: spies.Asked, codes: np.ndarray, unit: Neighbours) -> list[np.ndarray]:
    """Places of rows that a unit may take away: of each kind as many as it may have, and the last ones.

    Where rows have secret numbers in their order, the last rows alone are taken away: the others keep theirs.
    """
    last = [np.arange(len(codes))[-unit.rows :]] if len(codes) else []
    if asked.in_order:
        return last
    _, kinds = np.unique(codes, axis=0, return_inverse=True)
    kinds = kinds.ravel()
    return [np.flatnonzero(kinds == kind)[: unit.rows] for kind in range(kinds.max(initial=-1) + 1)] + last


def coded_neighbours(unit: Neighbours = ONE_ROW) -> Callable[[spies.Asked], Iterator[CodeArray]]:
    """Neighbouring tables of what was asked; of replaced units some of many pairs."""

    def found(asked: spies.Asked) -> Iterator[CodeArray]:
        codes = asked.rows.records()
        more = [np.array(rows, dtype=np.int32) for rows in joining(unit)]
        less = [np.delete(codes, gone, axis=0) for gone in leaving(asked, codes, unit)]
        if unit.replace:
            less = [*less[:2], *less[-2:]]
            tables = [np.vstack([rest, rows]) for rest in less for rows in more]
        else:
            tables = [np.vstack([codes, rows]) for rows in more] + less
        for table in tables:
            yield CodeArray(table.astype(np.int32), CARDS)

    return found


def check(
    seen: list[spies.Asked], neighbours: Callable[[spies.Asked], Iterator[Any]], unit: Neighbours = ONE_ROW
) -> int:
    """Compare every move with what the noise is for and what was paid; return how many moves there were at all."""
    moves = 0
    for asked in seen:
        assert asked.calls or asked.kind == "release_groups", f"{asked.kind} was answered without noise"
        pairs = [asked.moves(other) for other in neighbours(asked)]
        furthest, number = map(max, zip(*pairs, strict=True)) if pairs else (0.0, 0.0)
        moves += furthest > 0
        for call in asked.calls:
            parts = math.sqrt(asked.apart) if call.name == "discrete_gaussian" else asked.apart
            apart = f"moves by {number}, and is charged as one of {asked.apart} of {call}"
            assert number <= call.sensitivity / parts * (1 + 1e-12), f"a number of {asked.kind} {apart}"
            further = f"{asked.kind} moves by {furthest}, noise is for {call}"
            assert furthest <= call.sensitivity * (1 + 1e-12), further
            ratio = call.sensitivity / call.scale
            cost = {"discrete_gaussian": ratio**2, "exponential_choice": 2 * ratio}.get(call.name, ratio)
            assert cost <= asked.paid * (1 + 1e-9), f"{asked.kind} costs {cost}, {asked.paid} was paid"
        if not asked.calls:
            assert furthest <= unit.histogram_l1, f"groups move by {furthest}"
    return moves


KINDS = {
    "adaptive": {"NumberOfRows", "CountTable"},
    "cfs": {"NumberOfRows", "CountTable", "Entropies"},
    "as printed": {"PrintedSize", "PrintedCounts"},  # and entropies where noisy rows are many
    "correlated": {"NumberOfRows", "CountTable", "MutualInformation"},
    "latent": {"CountTable", "GradientSum"},
}
SOME = [(unit, table) for unit in guarded.UNITS for table in ("one odd row", "dependent")]
UNITS_TABLES = [*SOME, *(("row", table) for table in TABLES if ("row", table) not in SOME)]
FAST = [("row", "one odd row"), *((unit, "dependent") for unit in guarded.UNITS)]


@pytest.mark.parametrize(("unit", "table"), fast_and_slow(UNITS_TABLES, lambda *case: case in FAST))
@pytest.mark.parametrize("learner", LEARNERS)
def test_what_learners_ask_moves_as_far_as_its_noise_is_for(learner, unit, table):
    who = guarded.UNITS[unit]
    if learner in ROWS_ALONE and unit != "row":
        with pytest.raises(
            ValueError, match="addition or removal of single rows|single rows added or removed"
        ):
            fitted(learner, TABLES[table], who)
        return
    seen = fitted(learner, TABLES[table], who)
    moves = check(seen, coded_neighbours(who), who)
    kinds = {asked.kind for asked in seen}
    if learner in ("uniform", "random"):
        assert not seen
        return
    assert moves >= len(seen) / 2  # a question that no row moves is not worth its noise
    if table == "dependent":
        assert kinds >= KINDS.get(learner, {"CountTable"})
        assert ("L1Distances" in kinds) == (learner in ("adaptive", "workload", "public"))


NUMBERS = Domain(
    tuple(Attribute(name=name, kind="integer", lower=(0, 1, 2, 3), upper=(0, 1, 2, 3)) for name in "abc")
)
ORDERED = np.array([(i % 4, (i + i // 9) % 4, i % 3) for i in range(900)], dtype=np.int32)


def numbers_fitted(codes: np.ndarray, unit: Neighbours = ONE_ROW) -> list[spies.Asked]:
    with spies.watched() as seen:
        ledger, who = PrivacyLedger(delta=1e-6, neighbours=unit), settings(neighbours=unit, epsilon=20.0)
        fit_codes(codes, NUMBERS, who, LEARNERS["adaptive"], ledger, KeyedRNG.from_seed(5))
    return seen


def numbers_neighbours(unit: Neighbours) -> Callable[[spies.Asked], Iterator[CodeArray]]:
    """Rows that come, or replace others: all equal, with the lowest and the highest values."""

    def found(asked: spies.Asked) -> Iterator[CodeArray]:
        codes = asked.rows.records()
        for row in itertools.product((0, 3), repeat=3):
            more = np.tile(np.array(row, dtype=np.int32), (unit.rows, 1))
            rest = codes[unit.rows :] if unit.replace else codes
            yield CodeArray(np.vstack([rest, more]), NUMBERS.cardinalities)

    return found


@pytest.mark.parametrize("unit", guarded.UNITS)
def test_products_of_scores_move_as_far_as_their_noise_is_for(unit):
    who = guarded.UNITS[unit]
    seen = [asked for asked in numbers_fitted(ORDERED, who) if asked.kind == "ScoreProducts"]
    assert check(seen, numbers_neighbours(who), who) == len(seen) == 1


@pytest.mark.parametrize(("unit", "table"), SOME)
@pytest.mark.parametrize("release", RELEASES)
def test_what_a_release_asks_of_the_seeds_too(release, unit, table):
    who = guarded.UNITS[unit]
    seen = fitted("given arcs", TABLES[table], who, **RELEASES[release])
    assert check(seen, coded_neighbours(who), who)
    assert ("release_groups" in {asked.kind for asked in seen}) == (release != "model alone")


@pytest.mark.parametrize("unit", fast_and_slow(["row", "person replaced"], lambda unit: unit == "row"))
@pytest.mark.parametrize("learner", LEARNERS)
def test_at_any_noise(learner, unit):
    """At much budget the bound on the rows, and with it the entropies' sensitivity, comes close to the truth."""
    who = guarded.UNITS[unit]
    if learner in ROWS_ALONE and unit != "row":
        return
    for epsilon, table in itertools.product((0.1, 50.0), ("equal rows", "dependent")):
        seen = fitted(learner, TABLES[table], who, epsilon=epsilon)
        check(seen, coded_neighbours(who), who)
        if learner == "as printed":
            assert ("PrintedEntropies" in {asked.kind for asked in seen}) == (epsilon == 50.0)


@pytest.mark.parametrize("unit", guarded.UNITS)
def test_the_randomised_test_asks_for_the_number_of_rows(unit):
    who, codes = guarded.UNITS[unit], np.tile(TABLES["every row once"], (150, 1))
    seen = fitted("independent", codes, who, test="randomized", k=50, omega=2)
    assert seen[0].kind == "count_rows"
    check(seen, coded_neighbours(who), who)


@dataclass(frozen=True)
class Column:
    """Cells of a column, others that may join them, and what is declared of it."""

    sdtype: str
    cells: list[Any]
    others: list[Any]
    words: dict[str, Any] | None = None

    def frame(self, cells: list[Any]) -> FrameColumns:
        """In the type that pandas chooses for all of the cells together."""
        as_they_are = self.sdtype in ("categorical", "ordinal", "boolean", "text") or not cells
        return FrameColumns(pd.DataFrame({"x": pd.Series(cells, dtype=object if as_they_are else None)}))

    def neighbours(self, unit: Neighbours) -> Callable[[spies.Asked], Iterator[Any]]:
        """Tables with a unit more, less or another; of equal cells, and of different ones."""
        n, c = len(self.cells), unit.rows
        joining = [[cell] * c for cell in self.others]
        joining += [[self.others[(i + k) % len(self.others)] for k in range(c)] for i in range(c - 1)]
        starts = sorted({0, max(0, n // 2 - c), max(0, n - c)})
        less = [self.cells[:i] + self.cells[i + c :] for i in starts]
        if unit.replace:
            tables = [rest + cells for rest in less for cells in joining]
        else:
            tables = [self.cells + cells for cells in joining] + less
        return lambda asked: map(self.frame, tables)


FRAMES = {
    "few values": Column("categorical", ["a", "b"] * 8, ["a", "new", None, 1, True, 2.5]),
    "mixed values": Column("categorical", [1, True, "1", 2.5, None, np.nan] * 3, [1.0, True, "x", None, 10**6]),
    "ordinal": Column("ordinal", [1, 2, 3] * 9, [1, 2.0, 4, None]),
    "flags": Column("boolean", [True, False] * 9, [True, None]),
    "whole numbers": Column("numerical", list(range(60)), [3, 3.5, None, math.inf, 1e300, -1e300, 5e-324, 2**62]),
    "spikes": Column("numerical", [0.0] * 300 + [1.25] * 200 + [7.0, 1 / 3], [0.0, 1.25, 1.26, None, 1e9, -5.0]),
    "missing": Column("numerical", [None] * 20 + [5.0], [5.0, None, 0.1]),
    "dates": Column(
        "datetime", [pd.Timestamp("2020-01-01") + pd.Timedelta(i, "D") for i in range(50)],
        [pd.Timestamp("1680-01-01"), pd.Timestamp("2020-01-01 10:30:00.5"), pd.NaT],
    ),
    "a short range": Column(
        "numerical", [10 * (i % 40) for i in range(300)], [0, 5, 399, 400, None],
        {"range_min": 0, "range_max": 400, "decimal_places": 0},
    ),
    "a long range": Column(
        "numerical", [0] * 100 + [500 * (i % 90) for i in range(300)], [0, 500, 501, 99_999, 1e9, None],
        {"range_min": 0, "range_max": 100_000, "decimal_places": 0, "range_is_nullable": True},
    ),
}  # fmt: skip
TEXTS = {
    "numbers": ["1", "2.5", "-3e4"] * 20,
    "codes": ["007", "008"] * 20,
    "days": ["2020-02-01", "01/02/2020", "13/02/2020"] * 20,
    "truths": ["true", "FALSE", ""] * 20,
    "words": ["".join(chr(97 + (i * k) % 26) for k in range(1, 3 + i % 9)) for i in range(60)],
}
OTHER_TEXTS = [
    "1", "true", "TRUE", "", "new", "2020-02-01", "02/02/2020", "202002", "+41", "$5", "y" * 90, None,
]  # fmt: skip


def some_fast(columns: Mapping[str, Any]) -> list[Any]:
    """Every column, noise and unit; fast is a row at little noise of each column, and every unit with another column."""
    units = [*guarded.UNITS]
    fast = {*each_once([*columns], [0.5], units), *((name, 30.0, "row") for name in columns)}
    return fast_and_slow(itertools.product(columns, [0.5, 30.0], units), lambda *case: case in fast)


def learned(name: str, epsilon: float, unit: Neighbours = ONE_ROW) -> list[spies.Asked]:
    column = FRAMES[name]
    specs = {"x": {"sdtype": column.sdtype}}
    words = column.words and {"x": column.words}
    plan = read_declarations(words, "private", 12, specs).plan_private(
        specs, LearningBudget.of(epsilon, 1e-6), unit
    )
    ledger = PrivacyLedger(delta=1e-6, neighbours=unit)
    with spies.watched() as seen:
        door = Queryable(column.frame(column.cells), ledger, plan.entries(), KeyedRNG.from_seed(5))
        learn_attributes(door, plan, {}, {}, 12)
    return seen


def voted(name: str, epsilon: float, unit: Neighbours = ONE_ROW) -> list[spies.Asked]:
    texts = pd.DataFrame({"x": pd.Series(TEXTS[name], dtype=object)})
    with spies.watched() as seen:
        held_vote(texts, epsilon, 1e-6, KeyedRNG.from_seed(5), unit)
    return seen


@pytest.mark.parametrize(("name", "epsilon", "unit"), some_fast(FRAMES))
def test_what_is_asked_to_learn_a_domain_moves_as_far_as_its_noise_is_for(name, epsilon, unit):
    who = guarded.UNITS[unit]
    seen = learned(name, epsilon, who)
    assert check(seen, FRAMES[name].neighbours(who), who)
    kinds = {asked.kind for asked in seen}
    if FRAMES[name].sdtype not in ("numerical", "datetime"):
        assert kinds == {"NumberOfRows", "MissingCount" if name == "flags" else "FrequentValues"}
    elif FRAMES[name].words is None:
        assert kinds >= {"NumberOfRows", "PrecisionQuery", "RunCounts", "FrequentPoints"}


@pytest.mark.parametrize(("name", "epsilon", "unit"), some_fast(TEXTS))
def test_what_is_asked_in_a_vote_on_types_moves_as_far_as_its_noise_is_for(name, epsilon, unit):
    who = guarded.UNITS[unit]
    seen = voted(name, epsilon, who)
    assert check(seen, Column("text", TEXTS[name], OTHER_TEXTS).neighbours(who), who)
    assert {asked.kind for asked in seen} <= {"InferenceRowCount", "CellKindCounts", "FrequentValues"}


def test_every_question_of_the_product_is_asked_in_these_cases():
    """A new kind of question without a case is named; so is a way of asking that no spy watches."""
    asked = {each.kind for learner in LEARNERS for each in fitted(learner, TABLES["dependent"], epsilon=50.0)}
    asked |= {each.kind for each in numbers_fitted(ORDERED)}
    asked |= {each.kind for name in FRAMES for each in learned(name, 30.0)}
    asked |= {each.kind for name in TEXTS for each in voted(name, 30.0)}
    asked.add(
        "RowCountQuery"
    )  # of pure noise: its moves and its scale are in tests/fitting/test_row_count_check.py
    assert guarded.questions() - asked == set()
    assert guarded.questions({"x.py": "class Whispers:\n    proof = ''\n"}) - asked == {"Whispers"}
    assert spies.unwatched() == []
    assert spies.unwatched(type("Door", (Queryable,), {**vars(Queryable), "whisper": check})) == ["whisper"]


def count_missing_cells_twice(honest: Any) -> Any:
    def counts(self: FrameColumns, reading: Any) -> np.ndarray:
        found = honest(self, reading)
        found[0] += found[-1]
        return found

    return counts


def of_codes(learner: str, table: str, **changed: Any) -> Callable[[], int]:
    return lambda: check(fitted(learner, TABLES[table], **changed), coded_neighbours())


def of_columns(name: str, epsilon: float) -> Callable[[], int]:
    return lambda: check(learned(name, epsilon), FRAMES[name].neighbours(ONE_ROW))


# What is replaced, by what, given what it was; and a fit that shows it. Two more are in test_named_mutants.py.
FAULTS: dict[str, tuple[Any, str, Callable[[Any], Any], Callable[[], int]]] = {
    "noise of tables is halved": (CountTable, "sensitivity", lambda _: lambda *_: 0.5, of_codes("given arcs", "one row")),
    "entropies are those of twice the rows": (
        paper_learner, "least_rows", lambda honest: lambda rows, plan: 2 * honest(rows, plan),
        of_codes("cfs", "equal rows", epsilon=50.0),
    ),
    "the number of entropies is forgotten": (
        Entropies, "sensitivity", lambda honest: lambda self, who: honest(self, who) / math.sqrt(len(self.cardinalities)) / 2,
        of_codes("cfs", "equal rows", epsilon=50.0),
    ),
    "cells are charged one by one": (CountTable, "apart", lambda _: 2, of_codes("as printed", "equal rows", epsilon=50.0)),
    "every row is counted in every set": (
        CodeArray, "part", lambda _: lambda self, *_: self, of_codes("uniform", "dependent", omega=(1, 2)),
    ),
    "half is paid": (
        Queryable, "_noisy", lambda honest: lambda self, exact, sensitivity, share: honest(self, exact, sensitivity, 2 * share),
        of_codes("independent", "one row", epsilon=0.1),
    ),
    "answers are exact": (
        Queryable, "_noisy", lambda _: lambda self, exact, *_: NoisyValues(values=exact.astype(float), sigma=1.0),
        of_codes("independent", "one row"),
    ),
    "runs overlap": (
        RunCounts, "exact", lambda honest: lambda self, rows: honest(replace(self, last=self.last + 1), rows),
        of_columns("whole numbers", 0.5),
    ),
    "missing cells are counted twice": (
        FrameColumns, "precision_counts", count_missing_cells_twice, of_columns("missing", 0.5),
    ),
    "noise of runs is halved": (RunCounts, "sensitivity", lambda _: lambda *_: 0.5, of_columns("spikes", 30.0)),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_caught(fault, monkeypatch):
    owner, name, planted, run = FAULTS[fault]
    run()
    monkeypatch.setattr(owner, name, planted(getattr(owner, name, None)), raising=False)
    with pytest.raises(AssertionError, match="moves by|was paid|without noise|groups move"):
        run()

"""Everything that is really asked while fitting moves no further than its noise is for, when one row comes or goes.

A spy at the door watches real fits of every learner, of every privacy test and of the private domain, on small adversarial
tables. Each exact answer is computed again on the table with every possible row more, and with each of its rows less. Its L2
move (L1 where the noise is Laplace) must not exceed the sensitivity that the noise was really drawn for, nor its square in
units of the noise what was paid. Nothing is estimated: there is no false alarm, but for bounds that fail as seldom as charged.
Each planted fault must be caught.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import oracles
import pandas as pd
import pytest
import spies
from doors import fit_codes

from sdv_plausible.models import make_learner
from sdv_plausible.models.paper import learner as paper_learner
from sdv_plausible.models.paper.entropies import Entropies
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.questions.codes import CodeArray
from sdv_plausible.questions.counts import CountTable, Distances
from sdv_plausible.questions.queryable import Queryable
from sdv_plausible.release.settings import Settings
from sdv_plausible.table.columns import FrameColumns, RunCounts
from sdv_plausible.table.domain import Attribute, Domain
from sdv_plausible.table.lattice import Lattice
from sdv_plausible.table.private_domain import DomainPlan, learn_attributes

CARDS = (3, 2, 4)
UNIVERSE = oracles.universe(CARDS)
DOMAIN = Domain(
    (
        Attribute(name="a", kind="categorical", values=("x", "y", "z")),
        Attribute(name="b", kind="ordinal", values=(0, 1)),
        Attribute(
            name="c", kind="integer", lower=(0, 5, 6), upper=(4, 5, 9), nullable=True, buckets=(0, 1, 1, 2)
        ),
    )
)


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
LEARNERS: dict[str, Any] = {
    "adaptive": make_learner("bayesian_network"),
    "cfs": make_learner("bayesian_network", "cfs"),
    "given arcs": make_learner("bayesian_network", {"c": ["a", "b"]}),
    "independent": make_learner("independent"),
    "uniform": make_learner("uniform"),
}
RELEASES: dict[str, dict[str, Any]] = {
    "model alone": {},
    "groups": {"omega": 1},
    "groups, a range": {"omega": (1, 2)},
    "split": {"omega": 2, "split": (0.3, 0.3, 0.4)},
}


def settings(**changed: Any) -> Settings:
    usual: dict[str, Any] = {
        "epsilon": 1.0, "delta": 1e-6, "k": 2, "gamma": 4.0, "epsilon0": 1.0, "omega": None, "privacy_test": "release",
        "row_cap": 1, "seed_free_share": 0.5,
    }  # fmt: skip
    return Settings(**{**usual, **changed})


def fitted(learner: str, codes: np.ndarray, **changed: Any) -> list[spies.Asked]:
    with spies.watched() as seen:
        fit_codes(
            codes,
            DOMAIN,
            settings(**changed),
            LEARNERS[learner],
            PrivacyLedger(delta=1e-6),
            Coins.from_seed(5),
        )
    return seen


# --- neighbours of what was asked -------------------------------------------------------------------------------------


def coded_neighbours(asked: spies.Asked) -> Iterator[CodeArray]:
    """The rows with every row of the universe more, and with each kind of their rows less.

    Where rows have secret numbers in their order, the last row alone is taken away: the others keep theirs.
    """
    codes = asked.rows.records()
    for row in UNIVERSE:
        yield CodeArray(np.vstack([codes, row]).astype(np.int32), CARDS)
    kinds = (
        np.unique(codes, axis=0, return_index=True)[1] if asked.kind != "release_groups" else [len(codes) - 1]
    )
    for i in kinds if len(codes) else ():
        yield CodeArray(np.delete(codes, i, axis=0), CARDS)


def check(seen: list[spies.Asked], neighbours: Callable[[spies.Asked], Iterator[Any]]) -> int:
    """Compare every move with what the noise is for and what was paid; return how many moves there were at all."""
    moves = 0
    for asked in seen:
        assert asked.calls or asked.kind == "release_groups", f"{asked.kind} was answered without noise"
        furthest = max((asked.move(other) for other in neighbours(asked)), default=0.0)
        moves += furthest > 0
        for call in asked.calls:
            assert furthest <= call.sensitivity * (1 + 1e-12), (
                f"{asked.kind} moves by {furthest}, noise is for {call}"
            )
            cost = (call.sensitivity / call.scale) ** (2 if call.name == "discrete_gaussian" else 1)
            assert cost <= asked.paid * (1 + 1e-9), f"{asked.kind} costs {cost}, {asked.paid} was paid"
        if not asked.calls:
            assert furthest <= 1, f"groups move by {furthest}"
    return moves


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("learner", LEARNERS)
def test_what_learners_ask_moves_as_far_as_its_noise_is_for(learner, table):
    seen = fitted(learner, TABLES[table])
    moves = check(seen, coded_neighbours)
    kinds = {asked.kind for asked in seen}
    if learner == "uniform":
        assert not seen
        return
    assert moves >= len(seen) / 2  # a question that no row moves is not worth its noise
    wanted = {"adaptive": {"NumberOfRows", "CountTable"}, "cfs": {"NumberOfRows", "CountTable", "Entropies"}}
    assert kinds >= wanted.get(learner, {"CountTable"})
    if table == "dependent" and learner == "adaptive":
        assert "Distances" in kinds


@pytest.mark.parametrize("table", ["one odd row", "dependent"])
@pytest.mark.parametrize("release", RELEASES)
def test_what_a_release_asks_of_the_seeds_too(release, table):
    seen = fitted("given arcs", TABLES[table], **RELEASES[release])
    assert check(seen, coded_neighbours)
    assert ("release_groups" in {asked.kind for asked in seen}) == (release != "model alone")


@pytest.mark.parametrize("epsilon", [0.1, 50.0])
def test_at_any_noise(epsilon):
    """At much budget the bound on the rows, and with it the entropies' sensitivity, comes close to the truth."""
    for learner in ("adaptive", "cfs"):
        for codes in (TABLES["equal rows"], TABLES["dependent"]):
            check(fitted(learner, codes, epsilon=epsilon), coded_neighbours)


def test_the_randomised_test_asks_for_the_number_of_rows():
    codes = np.tile(TABLES["every row once"], (150, 1))
    seen = fitted("independent", codes, privacy_test="randomized", k=50, omega=2)
    assert seen[0].kind == "count_rows"
    check(
        seen,
        lambda asked: iter([CodeArray(np.vstack([codes, codes[:1]]), CARDS), CodeArray(codes[1:], CARDS)]),
    )


# --- the private domain -----------------------------------------------------------------------------------------------

FRAMES: dict[str, tuple[str, list[Any], list[Any]]] = {
    "few values": ("categorical", ["a", "b"] * 8, ["a", "new", None, 1, True, 2.5]),
    "mixed values": ("categorical", [1, True, "1", 2.5, None, np.nan] * 3, [1.0, True, "x", None, 10**6]),
    "ordinal": ("ordinal", [1, 2, 3] * 9, [1, 2.0, 4, None]),
    "flags": ("boolean", [True, False] * 9, [True, None]),
    "whole numbers": ("numerical", list(range(60)), [3, 3.5, None, math.inf, 1e300, -1e300, 5e-324, 2**62]),
    "spikes": ("numerical", [0.0] * 300 + [1.25] * 200 + [7.0, 1 / 3], [0.0, 1.25, 1.26, None, 1e9, -5.0]),
    "missing": ("numerical", [None] * 20 + [5.0], [5.0, None, 0.1]),
    "dates": ("datetime", [pd.Timestamp("2020-01-01") + pd.Timedelta(days=i) for i in range(50)], [pd.Timestamp("1680-01-01"), pd.Timestamp("2020-01-01 10:30:00.5"), pd.NaT]),
}  # fmt: skip


def frame(values: list[Any], sdtype: str) -> FrameColumns:
    """In the type that pandas chooses for all of the values together."""
    dtype = object if not values or sdtype in ("categorical", "ordinal", "boolean") else None
    return FrameColumns(pd.DataFrame({"x": pd.Series(values, dtype=dtype)}))


def learned(name: str, epsilon: float) -> list[spies.Asked]:
    sdtype, values, _ = FRAMES[name]
    plan = DomainPlan.make({"x": sdtype}, epsilon, 1e-6)
    with spies.watched() as seen:
        door = Queryable(frame(values, sdtype), PrivacyLedger(delta=1e-6), plan.entries(), Coins.from_seed(5))
        learn_attributes(door, plan, {}, {}, 12)
    return seen


def column_neighbours(name: str) -> Callable[[spies.Asked], Iterator[Any]]:
    sdtype, values, extra = FRAMES[name]
    others = [frame([*values, value], sdtype) for value in extra]
    others += [frame(values[:i] + values[i + 1 :], sdtype) for i in {0, len(values) // 2, len(values) - 1}]
    return lambda asked: iter(others)


@pytest.mark.parametrize("epsilon", [0.5, 30.0])
@pytest.mark.parametrize("name", FRAMES)
def test_what_is_asked_to_learn_a_domain_moves_as_far_as_its_noise_is_for(name, epsilon):
    seen = learned(name, epsilon)
    assert check(seen, column_neighbours(name))
    kinds = {asked.kind for asked in seen}
    if FRAMES[name][0] in ("numerical", "datetime"):
        assert kinds >= {"NumberOfRows", "Precision", "RunCounts"}
        assert ("FrequentPoints" in kinds) == (
            epsilon == 30.0 and name == "spikes"
        )  # a table rich enough for all looks
    else:
        assert kinds == {"NumberOfRows", "MissingOrNot" if name == "flags" else "FrequentValues"}


# --- planted faults ---------------------------------------------------------------------------------------------------


def forget_the_root(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Distances, "sensitivity", lambda self, neighbours: float(neighbours.histogram_l1))


def take_true_margins(patch: pytest.MonkeyPatch) -> None:
    """Scores against the product of the rows' own margins."""

    def exact(self: Distances, rows: Any) -> np.ndarray:
        tables = rows.tables(self.sets)
        return np.array(
            [round(float(np.abs(t - np.outer(t.sum(1), t.sum(0)) / max(t.sum(), 1)).sum())) for t in tables]
        )

    patch.setattr(Distances, "exact", exact)


def halve_the_noise_of_tables(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(CountTable, "sensitivity", lambda self, neighbours: 0.5)


def take_the_entropies_of_twice_the_rows(patch: pytest.MonkeyPatch) -> None:
    honest = paper_learner.least_rows
    patch.setattr(paper_learner, "least_rows", lambda rows, plan: 2 * honest(rows, plan))


def forget_the_number_of_entropies(patch: pytest.MonkeyPatch) -> None:
    honest = Entropies.sensitivity
    patch.setattr(Entropies, "sensitivity", lambda self, neighbours: honest(self, neighbours) / math.sqrt(len(self.cardinalities)) / 2)  # fmt: skip


def count_every_row_in_every_set(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(CodeArray, "part", lambda self, low, high, coins: self)


def pay_half(patch: pytest.MonkeyPatch) -> None:
    honest = Queryable._noisy
    patch.setattr(
        Queryable,
        "_noisy",
        lambda self, exact, sensitivity, share: honest(self, exact, sensitivity, 2 * share),
    )


def answer_exactly(patch: pytest.MonkeyPatch) -> None:
    from sdv_plausible.questions.queryable import Answer

    patch.setattr(
        Queryable,
        "_noisy",
        lambda self, exact, sensitivity, share: Answer(values=exact.astype(float), sigma=1.0),
    )


def overlap_runs(patch: pytest.MonkeyPatch) -> None:
    honest = Lattice.grid
    patch.setattr(Lattice, "grid", lambda self: (honest(self)[0], honest(self)[1] + 1))


def count_missing_cells_twice(patch: pytest.MonkeyPatch) -> None:
    honest = FrameColumns.precision_counts

    def counts(self: FrameColumns, reading: Any) -> np.ndarray:
        found = honest(self, reading)
        found[0] += found[-1]
        return found

    patch.setattr(FrameColumns, "precision_counts", counts)


def halve_the_sensitivity_of_runs(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(RunCounts, "sensitivity", lambda self, neighbours: 0.5)


FAULTS: dict[Callable[[pytest.MonkeyPatch], None], Callable[[], Any]] = {
    forget_the_root: lambda: check(fitted("adaptive", TABLES["dependent"]), coded_neighbours),
    take_true_margins: lambda: check(fitted("adaptive", TABLES["dependent"]), coded_neighbours),
    halve_the_noise_of_tables: lambda: check(fitted("given arcs", TABLES["one row"]), coded_neighbours),
    take_the_entropies_of_twice_the_rows: lambda: check(
        fitted("cfs", TABLES["equal rows"], epsilon=50.0), coded_neighbours
    ),
    forget_the_number_of_entropies: lambda: check(
        fitted("cfs", TABLES["equal rows"], epsilon=50.0), coded_neighbours
    ),
    count_every_row_in_every_set: lambda: check(
        fitted("uniform", TABLES["dependent"], omega=(1, 2)), coded_neighbours
    ),
    pay_half: lambda: check(fitted("independent", TABLES["one row"], epsilon=0.1), coded_neighbours),
    answer_exactly: lambda: check(fitted("independent", TABLES["one row"]), coded_neighbours),
    overlap_runs: lambda: check(learned("whole numbers", 0.5), column_neighbours("whole numbers")),
    count_missing_cells_twice: lambda: check(learned("missing", 0.5), column_neighbours("missing")),
    halve_the_sensitivity_of_runs: lambda: check(learned("spikes", 30.0), column_neighbours("spikes")),
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_planted_faults_are_caught(fault, monkeypatch):
    FAULTS[fault]()
    fault(monkeypatch)
    with pytest.raises(AssertionError, match="moves by|was paid|without noise|groups move"):
        FAULTS[fault]()

"""All families that may join small tables: how far everything moves that the two fits really ask.

A spy at the door (``spies.py``) hears a fit of both tables, and each exact answer is computed again with a
family more, where everybody else's secret choices are the same: the coupling of
docs/explanation/proofs/related_tables.md, Lemma 2. Nothing is estimated: there is no false alarm. Each planted
fault must be caught.
"""

from __future__ import annotations

import itertools
import json
import math
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import spies
from cases import fast_and_slow
from trees import metadata_of

from sdv_plausible.extensions.multi_table import (
    multi_table_synthesizer,
    related_fit,
    related_rows,
    simulation,
)
from sdv_plausible.extensions.multi_table import related_release as releases
from sdv_plausible.extensions.multi_table.multi_table_synthesizer import (
    PlausibleDeniabilityMultiTableSynthesizer,
)
from sdv_plausible.extensions.multi_table.related_fit import MultiTableSpecs, fit_tables
from sdv_plausible.extensions.multi_table.related_rows import JoinedTables, join_families
from sdv_plausible.extensions.multi_table.relationships import max_rows_per_family as most_lines
from sdv_plausible.fitting.diagnostics import HolderDiagnostics
from sdv_plausible.privacy.accounting.composition import compose
from sdv_plausible.privacy.accounting.losses import GaussianLoss
from sdv_plausible.privacy.ledger import BudgetExceededError, PrivacyLedger
from sdv_plausible.privacy.neighbours import Person
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import CountTable
from sdv_plausible.table.columns.domain import Domain

MOST = {"people": 2, "trips": 2, "cars": 1}
METADATA = metadata_of(
    {
        "homes": {"home": "id", "tenure": "categorical"},
        "people": {"of": "id", "person": "id", "sex": "categorical", "age": "numerical"},
        "trips": {"by": "id", "mode": "categorical"},
        "cars": {"at": "id", "fuel": "categorical"},
    },
    ("people", "person", "trips", "by"), ("homes", "home", "people", "of"), ("homes", "home", "cars", "at"),
)  # fmt: skip
DOMAIN = {
    "homes": {"tenure": {"range_values": ["own", "rent"]}},
    "people": {"sex": {"range_values": ["f", "m"]}, "age": {"range_min": 1, "range_max": 3}},
    "trips": {"mode": {"range_values": ["car", "foot"]}},
    "cars": {"fuel": {"range_values": ["gas", "volts"]}},
}
KEYS = {"homes": ["home"], "people": ["of", "person"], "trips": ["by"], "cars": ["at"]}
COLUMNS = {name: list(table["columns"]) for name, table in METADATA["tables"].items()}
ORDER = ("homes", "people", "cars", "trips")
ROLES = {"people": {"sex": {"f": "exactly one"}}}
Tables = dict[str, list[tuple[Any, ...]]]
TOLD: dict[str, MultiTableSpecs] = {}


def told(**options: Any) -> MultiTableSpecs:
    """What a fit with these options is told: planned once, and never changed."""
    options = {"domain": DOMAIN, "epsilon": 4.0, "delta": 1e-6, "max_children": MOST, **options}
    if (asked_for := repr(options)) not in TOLD:
        TOLD[asked_for] = PlausibleDeniabilityMultiTableSynthesizer(METADATA, **options)._specs
    return TOLD[asked_for]


TREE = told().tree


class CoinsOfRows:
    """Secret numbers of rows, by what is said of a row and not by its place: the coupling of Lemma 2."""

    def __init__(self, names: dict[str, list[Any]], stream: tuple[str, ...] = ()) -> None:
        self.names, self.stream, self.drawn = names, stream, 0

    def spawn(self, stream: str) -> CoinsOfRows:
        return CoinsOfRows(self.names, (*self.stream, stream))

    def uniform(self, size: int) -> np.ndarray:
        self.drawn += 1
        names = self.names.get("/".join(self.stream)) or self.names[self.stream[0]]
        if self.stream[-1] == "siblings" and len(names) != size:
            return np.zeros(size)  # before it is known which rows are used
        assert len(names) == size
        return np.array([coin(self.stream, self.drawn, name) for name in names])


@cache  # the same rows are brought together with hundreds of families
def coin(stream: tuple[str, ...], drawn: int, name: tuple[Any, ...]) -> float:
    """The secret number of one row."""
    return float(KeyedRNG.from_seed(7).spawn("/".join(stream)).spawn(drawn, *name).uniform())


def named(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Names of rows: their cells, and a number among rows of the same."""
    return [(*row, rows[:i].count(row)) for i, row in enumerate(rows)]


def together(tables: Tables, tell: MultiTableSpecs | None = None) -> JoinedTables:
    """All tables brought together, with coins that go with the rows, and with the roles that are told."""
    names = {name: named(rows) for name, rows in tables.items()}
    frames = {
        name: pd.DataFrame(rows, columns=COLUMNS[name]).astype(object).assign(row=range(len(rows)))
        for name, rows in tables.items()
    }
    rng: Any = CoinsOfRows(names)
    standing = {} if tell is None else tell.first_candidates(frames, KeyedRNG.from_seed(3))
    used = join_families(frames, TREE, rng, standing).tables
    rng.names = names | {f"{name}/siblings": [names[name][i] for i in used[name]["row"]] for name in used}
    return join_families(frames, TREE, rng, standing)


def lines(found: JoinedTables) -> dict[str, Counter[Any]]:
    """Lines of every table that a fit sees: with its parent's columns and a sibling's, where it has them."""
    told_ = {}
    for name, table in found.tables.items():
        keys = [key for key in table if key.split(".")[-1] in {"row", *itertools.chain(*KEYS.values())}]
        seen, own = table.drop(columns=keys).astype(str), set(COLUMNS[name]) - {*KEYS[name]}
        cells = seen[[c for c in seen if c in own or c.startswith("number of")]].to_numpy()
        others = found.siblings.get(name, np.full(len(table), -1))
        beside = [tuple(cells[i]) if i >= 0 else None for i in others]
        told_[name] = Counter(zip(map(tuple, seen.to_numpy()), beside, strict=True))
    return told_


def with_rows(tables: Tables, more: Tables) -> Tables:
    """The tables with more rows, at the start and between the others."""
    return {name: [*rows[:1], *more.get(name, []), *rows[1:]] for name, rows in tables.items()}


@cache
def joined() -> list[Tables]:
    """All rows of one family that may join: of every kind that moves anything, each once."""
    found: list[Tables] = [
        {  # two homes and an orphan's key that share people: one family
            "homes": [("new", "own"), ("also", "own")],
            "people": [
                ("new", "n0", "f", 1), ("also", "n0", "f", 1), ("lost", "n0", "m", 2), ("also", "n1", "f", 1),
                ("new", None, "m", 3),
            ],
            "trips": [("n0", "car"), ("n1", "car")] * 3,
            "cars": [("new", "gas"), ("also", "gas")],
        }
    ]  # fmt: skip
    for homes, people, trips, cars in itertools.product((0, 1, 2), (0, 1, 3), (0, 3), (0, 2)):
        equal = {
            "homes": [("new", "own")] * homes,
            "people": [("new", f"n{i}", "f", 1) for i in range(people)],
            "trips": [(f"n{i % 3}", "car") for i in range(trips * people)],
        }
        other = {
            "homes": [("new", ("own", "rent")[i % 2]) for i in range(homes)],
            "people": [("new", f"n{i // 2}", "fm"[i % 2], 1 + i) for i in range(people)],
            "trips": [(f"n{i % 3}", ("car", "foot")[i % 2]) for i in range(trips * people)],
        }
        found += [{**rows, "cars": [("new", "gas")] * cars} for rows in (equal, other)]
    return list({repr(more): more for more in found}.values())


NOTHING: Tables = {"homes": [], "people": [], "trips": [], "cars": []}
BASES: list[Tables] = [
    NOTHING,
    {"homes": [("a", "own")], "people": [("a", "p", "f", 1)], "trips": [("p", "car")], "cars": []},
    {
        "homes": [("a", "own"), ("b", "rent")],
        "people": [("a", "p", "f", 1), ("a", "q", "m", 2), ("a", "r", "m", 3), ("b", "s", "f", 3)],
        "trips": [("p", "car"), ("s", "foot"), ("s", "car"), ("s", "foot")],
        "cars": [("a", "gas"), ("b", "gas"), ("b", "volts")],
    },
    {
        "homes": [("a", "own"), ("a", "rent"), (None, "own"), ("b", "own")],
        "people": [
            ("a", "p", "f", 1), ("lost", "q", "m", 2), (None, "r", "m", 3), ("a", "p", "m", 2), ("lost", None, "f", 1),
            ("a", None, "f", 3), ("b", "p", "f", 2),
        ],
        "trips": [("p", "car"), ("p", "foot"), ("q", "car"), (None, "car"), ("nobody", "car")],
        "cars": [("a", "gas"), (None, "gas"), ("lost", "volts")],
    },
]  # fmt: skip


def moved(one: Counter[Any], other: Counter[Any]) -> tuple[int, int]:
    """Lines that came, and that went."""
    return (other - one).total(), (one - other).total()


def excess(base: Tables, tell: MultiTableSpecs | None = None) -> Iterator[str]:
    """Families that move more lines than a family may, or another family's."""
    one = lines(together(base, tell))
    for more in joined():
        other = lines(together(with_rows(base, more), tell))
        for name in ORDER:
            came, went = moved(one[name], other[name])
            if went or came > most_lines(TREE, {} if tell is None else tell.roles, name):
                yield f"{name}: {came} lines came and {went} went with {more}"


@pytest.mark.parametrize("base", fast_and_slow(range(len(BASES)), lambda base: base in (0, 3)))
def test_a_family_brings_so_many_lines_at_most_and_touches_no_other(base):
    """Also where one row stands in its parent's line."""
    tell = told(roles=ROLES)
    found = together(BASES[base], tell).tables
    assert base in (0,) or found["homes"]["first of people.age"].notna().any()
    assert [*excess(BASES[base]), *excess(BASES[base], tell)] == []


def _to_the_next(parents: pd.DataFrame, children: pd.DataFrame, whose: np.ndarray) -> pd.DataFrame:
    """Planted: whoever should stand in a parent's line stands in the next one's."""
    return attach_first_children(parents, children, (whose + 1) % max(len(parents), 1))


def _as_well(*given: Any) -> tuple[np.ndarray, np.ndarray]:
    """Planted: whoever should stand in a parent's line has a line of its own."""
    used, is_first = chosen(*given)
    return used, np.zeros_like(is_first)


def _others(whose: np.ndarray, rng: Any) -> np.ndarray:
    """Planted: siblings are whoever comes next in the file."""
    return (np.arange(len(whose)) + 1) % max(len(whose), 1)


def _no_cap(whose: np.ndarray, secret: np.ndarray, most: int) -> np.ndarray:
    """Planted: all children of each parent, and one row of parents still."""
    return smallest(whose, secret, 1 if most == 1 else len(whose))


def _of_orphans(names: Any, link: Any, used: np.ndarray) -> np.ndarray:
    """Planted: children whose parent is not there hang on the first one."""
    found = places(names, link, used)
    return np.where((found < 0) & (len(used) > 0), 0, found)


attach_first_children, chosen = related_rows.attach_first_children, related_rows.select_children
smallest, places = related_rows.select_smallest, related_rows._KeyNumbers.places
MOVING: dict[str, tuple[Any, ...]] = {
    "who stands elsewhere": (related_rows, "attach_first_children", _to_the_next),
    "who counts twice": (related_rows, "select_children", _as_well),
    "siblings": (related_rows, "siblings", _others), "no cap": (related_rows, "select_smallest", _no_cap),
    "orphans": (related_rows._KeyNumbers, "places", _of_orphans),
    "a family is a key of the root": (related_rows._KeyNumbers, "family", lambda names: names.own["homes"]),
}  # fmt: skip


def test_planted_lines_that_another_family_moves_are_seen():
    for name, planted in MOVING.items():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(*planted)
            assert any(excess(BASES[2], told(roles=ROLES) if name.startswith("who") else None)), name


def test_one_row_touches_its_familys_lines_alone():
    """A row by itself is no unit: it moves no more lines than its family has, but they come and go."""
    rows = {
        "homes": ("lost", "own"),
        "people": ("b", "new", "f", 2),
        "trips": ("p", "car"),
        "cars": ("b", "gas"),
    }
    for base in BASES[1:]:
        one = lines(together(base))
        for name, row in rows.items():
            other = lines(together(with_rows(base, {name: [row]})))
            for table in ORDER:
                assert max(moved(one[table], other[table])) <= TREE.rows(table)


FAMILIES: list[Tables] = [  # as many equal lines as a family may bring, and others
    {
        "homes": [("new", "own")], "people": [("new", "n0", "f", 1), ("new", "n1", "f", 1)],
        "trips": [("n0", "car"), ("n1", "car")] * 2, "cars": [("new", "gas")],
    },
    {
        "homes": [("new", "rent"), ("new", "own")],
        "people": [("new", "n0", "m", 3), ("new", "n1", "f", 1), ("new", "n2", "f", 2)],
        "trips": [("n0", "car"), ("n2", "foot")] * 3, "cars": [("new", "gas"), ("new", "volts")],
    },
    {"homes": [("new", "own")]},
    {"people": [("new", f"n{i}", "f", 1) for i in range(3)], "trips": [("n0", "car")]},
]  # fmt: skip


def asked(
    tell: MultiTableSpecs, found: JoinedTables, answers: list[Any] | None = None
) -> tuple[list[spies.Asked], Any]:
    with spies.watched(answers) as seen:
        made = fit_tables(tell, found, KeyedRNG.from_seed(5), HolderDiagnostics())
    return seen, made


def complaints(tell: MultiTableSpecs, base: Tables, more: Tables, instead: Tables = NOTHING) -> list[str]:
    """Where a family moves something further than its noise is for, or all of it costs more than is stated.

    Where a family is added, or another one ``instead`` of it.
    """
    seen, made = asked(tell, together(with_rows(base, instead), tell))
    again, _ = asked(tell, together(with_rows(base, more), tell), [one.answer for one in seen])
    said, spent = [], list[GaussianLoss]()
    for one, other in zip(seen, again, strict=True):
        assert one.parameters == other.parameters
        furthest, number = one.moves(other.rows)
        (call,) = one.calls
        assert call.name == "discrete_gaussian"
        most = call.sensitivity * (1 + 1e-12)
        if furthest > most or number > most / math.sqrt(one.apart):
            said.append(f"{one.kind} moves by {furthest}, and its noise is for {call.sensitivity}")
        whole = round(call.sensitivity**2)  # of a family that moves all of it as far as it may
        assert whole == pytest.approx(call.sensitivity**2)
        spent.append(GaussianLoss(sensitivity_over_sigma=1 / call.scale, count=whole))
    total = compose(spent, tell.delta)
    if total > made.ledger.total() * (1 + 1e-9) or made.ledger.total() > tell.epsilon:
        said.append(f"all noise together costs {total}, and {made.ledger.total()} is stated")
    return said


@pytest.mark.parametrize("base", fast_and_slow(range(len(BASES)), lambda base: base == 3))
def test_no_family_moves_an_answer_further_and_all_cost_no_more_than_is_stated(base):
    """Also where one row stands in its parent's line, and where value sets are learned."""
    found = [
        one
        for roles in ({}, ROLES)
        for more in FAMILIES
        for one in complaints(told(roles=roles), BASES[base], more)
    ]
    sex = {"people": {"sex": DOMAIN["people"]["sex"]}}
    for options in ({"domain": None}, {"roles": ROLES, "domain": sex}) if base == 3 else ():
        found += complaints(told(**options), BASES[base], FAMILIES[0])
    assert found == []


OTHER: Tables = {  # in other cells throughout
    "homes": [("old", "rent")], "people": [("old", "o0", "m", 3), ("old", "o1", "m", 3)],
    "trips": [("o0", "foot"), ("o1", "foot")] * 2, "cars": [("old", "volts")],
}  # fmt: skip


@pytest.mark.parametrize("base", fast_and_slow(range(len(BASES)), lambda base: base == 2))
def test_a_replaced_family_moves_no_answer_further_than_its_noise_is_for(base):
    """Planted: noise for a family more."""
    for instead in (OTHER, {"homes": [("old", "own")]}):
        assert complaints(told(neighbours="replace_one"), BASES[base], FAMILIES[0], instead) == []
    assert base != 2 or complaints(told(), BASES[base], FAMILIES[0], OTHER)


def test_planted_totals_and_noise_are_seen():
    """Tables of counts have the noise of one row, or the fit of a table is charged for nothing."""
    honest, missed = releases.joint_ledger, []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CountTable, "sensitivity", lambda question, neighbours: 1.0)
        assert complaints(told(), BASES[3], FAMILIES[0])
    for name in ORDER:

        def joint(tree, ledgers, name=name):
            return honest(tree, {**ledgers, name: PrivacyLedger(delta=ledgers[name].delta)})

        with pytest.MonkeyPatch.context() as patch:
            for module in (related_fit, releases):
                patch.setattr(module, "joint_ledger", joint)
            missed += [] if complaints(told(), BASES[3], FAMILIES[0]) else [name]
    assert missed == []


def test_planted_a_fit_of_children_for_one_row_is_no_release(monkeypatch):
    monkeypatch.setattr(related_fit, "Person", lambda column, _: Person(column, 1))
    with pytest.raises(ValueError, match="protect no one family"):
        fit_tables(told(), together(BASES[3]), KeyedRNG.from_seed(5), HolderDiagnostics())


def test_no_table_is_called_so_that_its_choice_shares_coins_with_a_fit(monkeypatch):
    """Lemma 2 takes all numbers as independent: with one stream for both, codes of cells and the choice were one."""
    names = {"homes": "families", "people": "cells outside the domain", "trips": "parents", "cars": "persons"}
    said = json.loads(json.dumps(METADATA))
    said["tables"] = {names[name]: table for name, table in said["tables"].items()}
    for relation in said["relationships"]:
        for end in ("parent_table_name", "child_table_name"):
            relation[end] = names[relation[end]]
    bounds, domain = ({names[name]: one for name, one in of.items()} for of in (MOST, DOMAIN))
    synth = PlausibleDeniabilityMultiTableSynthesizer(said, domain=domain, epsilon=4.0, max_children=bounds)
    parts: list[set[bytes]] = []
    draw = KeyedRNG._draw

    def noted(rng, n_bytes):
        parts[-1].add(rng._key)
        return draw(rng, n_bytes)

    def new_part(honest):
        def run(*given):
            parts.append(set())
            return honest(*given)

        return run

    monkeypatch.setattr(KeyedRNG, "_draw", noted)
    for step in ("join_families", "fit_tables"):
        monkeypatch.setattr(multi_table_synthesizer, step, new_part(getattr(multi_table_synthesizer, step)))
    rows = {**BASES[2], "homes": [("a", "squat"), ("b", "rent")]}
    synth.fit({names[name]: pd.DataFrame(one, columns=COLUMNS[name]) for name, one in rows.items()})
    chosen, fitted = parts
    assert len(chosen) == 8  # of each table its rows, of people their keys, of three tables siblings
    assert not chosen & fitted


def test_a_table_that_would_cost_otherwise_than_was_planned_stops_the_fit(monkeypatch):
    """The plan is what a budget was drawn for. Control: all fits above."""
    tell = told()
    monkeypatch.setitem(tell.planned, "trips", PrivacyLedger(delta=1e-6))
    with pytest.raises(BudgetExceededError, match="charges more than its plan"):
        fit_tables(tell, together(BASES[3]), KeyedRNG.from_seed(5), HolderDiagnostics())


@pytest.mark.parametrize(
    ("roles", "lines_of_people", "alone"), [({}, [1, 2, 2], [True, False, False]), (ROLES, [2], [True])]
)
def test_simulated_parents_stand_beside_as_many_lines_as_they_have(roles, lines_of_people, alone):
    """Whoever stands in the parent's line has none, so that the other one of two is alone."""
    tell = told(roles=roles)
    link = next(link for link in tell.tree.links if link.child == "people")
    homes = pd.DataFrame({link.count: [0, 1, 2]})
    made = simulation.parent_row_per_child(link, homes, "people" in tell.first_columns).sort_values(
        link.of_parent(link.count)
    )
    assert made[link.of_parent(link.count)].tolist() == lines_of_people
    learner = tell.child_fit(link, Domain((related_fit.count_attribute(link.count, 2),)), made).fit.learner
    assert learner.alone.tolist() == alone


def test_simulated_lines_are_the_first_of_all_in_a_public_order(monkeypatch):
    """However few are sorted at a time: files of earlier versions, which sorted all, are verified still."""
    monkeypatch.setattr(simulation, "NUM_SIMULATED", 50)
    monkeypatch.setattr(simulation, "SORT_BLOCK", 64)
    link = next(link for link in told().tree.links if link.child == "people")
    for sizes in ([0, 1, 2], [0, 0], [3] * 40, [0, 7, 1] * 300):
        homes = pd.DataFrame({"home": range(len(sizes)), link.count: sizes})
        every = homes.loc[homes.index.repeat(homes[link.count])]
        order = KeyedRNG.from_seed(simulation.SIMULATION_SEED).spawn("order").uniform(len(every)).argsort()
        wanted = every.iloc[order[:50]].reset_index(drop=True).rename(columns=link.of_parent)
        pd.testing.assert_frame_equal(simulation.parent_row_per_child(link, homes, has_first=False), wanted)


def test_as_many_children_as_may_be_take_no_more_memory():
    """Only the lines that are kept are made: 4 million others would take 64 MB as positions alone."""
    link = next(link for link in told().tree.links if link.child == "people")
    homes = pd.DataFrame({link.count: [1000] * 4000})
    tracemalloc.start()
    try:
        made = simulation.parent_row_per_child(link, homes, has_first=False)
        assert tracemalloc.get_traced_memory()[1] < 20 * 2**20
    finally:
        tracemalloc.stop()
    assert len(made) == simulation.NUM_SIMULATED

"""All families that may join small tables: how far everything moves that the two fits really ask.

A spy at the door (``spies.py``) hears a fit of both tables, and each exact answer is computed again with a
family more, where everybody else's secret choices are the same: the coupling of
docs/explanation/proofs/related_tables.md, Lemma 2. Nothing is estimated: there is no false alarm. Each planted
fault must be caught.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import spies
from cases import fast_and_slow

from sdv_plausible.fit.telling import Teller
from sdv_plausible.privacy.accounting.composition import compose
from sdv_plausible.privacy.accounting.losses import GaussianLoss
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import Neighbours, Person
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.questions.counts import CountTable
from sdv_plausible.related import families, fitting
from sdv_plausible.related import release as releases
from sdv_plausible.related.families import Families, brought_together
from sdv_plausible.related.fitting import Told, fit_families
from sdv_plausible.related.synthesizer import PlausibleDeniabilityMultiTableSynthesizer

MOST = 2
METADATA = {
    "tables": {
        "homes": {
            "primary_key": "home",
            "columns": {"home": {"sdtype": "id"}, "tenure": {"sdtype": "categorical"}},
        },
        "people": {
            "columns": {"of": {"sdtype": "id"}, "sex": {"sdtype": "categorical"}, "age": {"sdtype": "numerical"}}
        },
    },
    "relationships": [
        {
            "parent_table_name": "homes", "parent_primary_key": "home",
            "child_table_name": "people", "child_foreign_key": "of",
        }
    ],
}  # fmt: skip
DOMAIN = {
    "homes": {"tenure": {"range_values": ["own", "rent"]}},
    "people": {"sex": {"range_values": ["f", "m"]}, "age": {"range_min": 1, "range_max": 3}},
}
Rows = list[tuple[Any, ...]]


def told(**options: Any) -> Told:
    options = {"domain": DOMAIN, "epsilon": 4.0, "delta": 1e-6, "max_children": MOST, **options}
    return PlausibleDeniabilityMultiTableSynthesizer(METADATA, **options)._told


# --- tables whose rows have coins of their own ------------------------------------------------------


class CoinsOfRows:
    """Secret numbers of rows, by what is said of a row and not by its place: the coupling of Lemma 2."""

    def __init__(self, names: dict[str, list[Any]], stream: str = "") -> None:
        self.names, self.stream, self.drawn = names, stream, 0

    def spawn(self, stream: str) -> CoinsOfRows:
        return CoinsOfRows(self.names, stream)

    def uniform(self, size: int) -> np.ndarray:
        self.drawn += 1
        names = self.names[self.stream]
        assert len(names) == size
        return np.array(
            [Coins.from_seed(7).spawn(self.stream, self.drawn, *name).uniform() for name in names]
        )


def named(rows: Rows) -> list[tuple[Any, ...]]:
    """Names of rows: their cells, and a number among rows of the same."""
    seen: Counter[Any] = Counter()
    found = []
    for row in rows:
        found.append((*row, seen[row]))
        seen[row] += 1
    return found


def together(homes: Rows, people: Rows, link: Any) -> Families:
    """Both tables brought together, with coins that go with the rows."""
    names = {"parents": named(homes), "children": named(people), "siblings": []}
    coins: Any = CoinsOfRows(names)
    secret = coins.spawn("children").uniform(len(people))
    keys = {home[0] for home in homes} - {None}
    ranked = sorted(range(len(people)), key=lambda i: secret[i])
    of = Counter[Any]()
    used = []
    for i in ranked:
        of[people[i][0]] += 1
        used += [i] if people[i][0] in keys and of[people[i][0]] <= link.most else []
    names["siblings"] = [names["children"][i] for i in sorted(used)]
    return brought_together(
        pd.DataFrame(homes, columns=["home", "tenure"]).astype(object),
        pd.DataFrame(people, columns=["of", "sex", "age"]).astype(object),
        link,
        coins,
    )


def lines(found: Families) -> tuple[Counter[Any], Counter[Any]]:
    """Lines of both tables that a fit sees: a child's with its parent's columns and a sibling's."""
    parents = found.parents.drop(columns="home").astype(str)
    seen = found.children.drop(columns=["of", "homes.home"]).astype(str)
    own = seen[["sex", "age"]].to_numpy()
    beside = [tuple(own[i]) if i >= 0 else None for i in found.siblings]
    children = zip(map(tuple, seen.to_numpy()), beside, strict=True)
    return Counter(map(tuple, parents.to_numpy())), Counter(children)


def joined(homes: Rows, people: Rows) -> Iterator[tuple[Rows, Rows]]:
    """The tables with all rows of one key more, of every kind that moves anything, before and between the others."""
    for parents, children in itertools.product((0, 1, 2), (0, 1, 2, 3)):
        for kind in ("equal", "mixed"):
            new_homes = [
                ("new", "own" if kind == "equal" else ("own", "rent")[i % 2]) for i in range(parents)
            ]
            new_people = [
                ("new", "f" if kind == "equal" else "fm"[i % 2], 1 if kind == "equal" else 1 + i % 3)
                for i in range(children)
            ]
            yield [*new_homes, *homes], [*people[:1], *new_people, *people[1:]]


BASES: list[tuple[Rows, Rows]] = [
    ([], []),
    ([("a", "own")], [("a", "f", 1)]),
    ([("a", "own"), ("b", "rent")], [("a", "f", 1), ("a", "m", 2), ("a", "m", 3), ("b", "f", 3)]),
    (
        [("a", "own"), ("a", "rent"), (None, "own"), ("b", "own")],
        [("a", "f", 1), ("lost", "m", 2), (None, "m", 3), ("a", "m", 2), ("lost", "f", 1), ("a", "f", 3)],
    ),
]


def moved(one: Counter[Any], other: Counter[Any]) -> tuple[int, int]:
    """Lines that came, and that went."""
    return (other - one).total(), (one - other).total()


def excess() -> list[str]:
    """Families that move more lines than a family may, or another family's."""
    link, told_ = told().link, []
    for homes, people in BASES:
        one = lines(together(homes, people, link))
        for more in joined(homes, people):
            other = lines(together(*more, link))
            for name, a, b, most in zip(("parents", "children"), one, other, (1, MOST), strict=True):
                came, went = moved(a, b)
                if went or came > most:
                    told_.append(f"{name}: {came} lines came and {went} went with {more}")
    return told_


def test_a_family_brings_one_line_and_at_most_so_many_and_touches_no_other() -> None:
    assert excess() == []


def test_one_parents_row_or_one_child_touches_its_familys_lines_alone() -> None:
    """A child by itself is no unit: it moves no more lines than its family has, but they come and go."""
    link = told().link
    for homes, people in BASES[1:]:
        one = lines(together(homes, people, link))
        for more in ((homes, [*people, ("a", "f", 2)]), ([("lost", "own"), *homes], people)):
            other = lines(together(*more, link))
            assert max(moved(one[0], other[0])) <= 1
            assert max(moved(one[1], other[1])) <= MOST


def _others(whose: np.ndarray, coins: Any) -> np.ndarray:
    """Planted: siblings are whoever comes next in the file."""
    return (np.arange(len(whose)) + 1) % max(len(whose), 1)


def _no_cap(whose: np.ndarray, secret: np.ndarray, most: int) -> np.ndarray:
    """Planted: all children of each parent, and one row of parents still."""
    return smallest(whose, secret, 1 if most == 1 else len(whose))


def _of_orphans(first: Any, second: Any) -> tuple[np.ndarray, np.ndarray]:
    """Planted: children whose parent is not there hang on the first one."""
    keys, named_ = same_names(first, second)
    return keys, np.where(np.isin(named_, keys), named_, keys.max(initial=-1))


smallest, same_names = families.smallest, families._same_names
MOVING = {"siblings": _others, "smallest": _no_cap, "_same_names": _of_orphans}


@pytest.mark.parametrize("name", MOVING)
def test_planted_lines_that_another_family_moves_are_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[str] = []
    monkeypatch.setattr(families, name, MOVING[name])
    try:
        found = excess()
    except AssertionError:  # more rows are used than may be
        found = ["more children are used"]
    assert found


# --- what is really asked ---------------------------------------------------------------------------

FAMILIES: list[tuple[Rows, Rows]] = [  # as many equal lines as a family may bring, and others
    ([("new", "own")], [("new", "f", 1)] * 2),
    ([("new", "rent"), ("new", "own")], [("new", "m", 3), ("new", "f", 1), ("new", "f", 2)]),
    ([("new", "own")], []),
    ([], [("new", "f", 1)] * 3),
]


def asked(tell: Told, found: Families, answers: list[Any] | None = None) -> tuple[list[spies.Asked], Any]:
    with spies.watched(answers) as seen:
        made = fit_families(tell, found, Coins.from_seed(5), Teller())
    return seen, made


def complaints(tell: Told, homes: Rows, people: Rows, more: tuple[Rows, Rows]) -> list[str]:
    """Where a family moves something further than its noise is for, or all of it costs more than is stated."""
    seen, made = asked(tell, together(homes, people, tell.link))
    new_homes, new_people = more
    larger = together([*new_homes, *homes], [*people[:1], *new_people, *people[1:]], tell.link)
    again, _ = asked(tell, larger, [one.answer for one in seen])
    said, spent = [], 0.0
    for one, other in zip(seen, again, strict=True):
        assert one.parameters == other.parameters
        furthest, number = one.moves(other.rows)
        (call,) = one.calls
        assert call.name == "discrete_gaussian"
        if furthest > call.sensitivity * (1 + 1e-12) or number > call.sensitivity / math.sqrt(one.apart) * (
            1 + 1e-12
        ):
            said.append(f"{one.kind} moves by {furthest}, and its noise is for {call.sensitivity}")
        spent += (call.sensitivity / call.scale) ** 2  # of a family that moves all of it as far as it may
    total = compose([GaussianLoss(sensitivity_over_sigma=math.sqrt(spent))], tell.delta)
    if total > made.ledger.total() * (1 + 1e-9) or made.ledger.total() > tell.epsilon:
        said.append(f"all noise together costs {total}, and {made.ledger.total()} is stated")
    return said


@pytest.mark.parametrize("more", range(len(FAMILIES)))
@pytest.mark.parametrize("base", fast_and_slow(range(len(BASES)), lambda base: base in (0, 3)))
@pytest.mark.parametrize("domain", [DOMAIN, None], ids=["declared", "learned"])
def test_no_family_moves_an_answer_further_and_all_cost_no_more_than_is_stated(
    base: int, more: int, domain: Any
) -> None:
    if domain is None and (base, more) != (3, 0):
        return
    assert complaints(told(domain=domain), *BASES[base], FAMILIES[more]) == []


def _of_one_row(question: CountTable, neighbours: Neighbours) -> float:
    """Planted: tables of counts have the noise of one row."""
    return 1.0


def _of_one_fit(link: Any, parents: PrivacyLedger, children: PrivacyLedger) -> PrivacyLedger:
    """Planted: the parents' fit is charged for nothing."""
    return joint_ledger(link, PrivacyLedger(delta=parents.delta), children)


def _of_parents_alone(link: Any, parents: PrivacyLedger, children: PrivacyLedger) -> PrivacyLedger:
    return joint_ledger(link, parents, PrivacyLedger(delta=parents.delta))


joint_ledger = releases.joint_ledger
STATED: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "a table with noise for one row": lambda patch: patch.setattr(CountTable, "sensitivity", _of_one_row),
    "the children's fit alone": lambda patch: _both(patch, _of_one_fit),
    "the parents' fit alone": lambda patch: _both(patch, _of_parents_alone),
}


def _both(patch: pytest.MonkeyPatch, planted: Any) -> None:
    for module in (fitting, releases):
        patch.setattr(module, "joint_ledger", planted)


@pytest.mark.parametrize("planted", STATED)
def test_planted_totals_and_noise_are_seen(planted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    STATED[planted](monkeypatch)
    assert complaints(told(), *BASES[3], FAMILIES[0])


def test_planted_a_fit_of_children_for_one_row_is_no_release(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "Person", lambda column, _: Person(column, 1))
    with pytest.raises(ValueError, match="protect no one family"):
        fit_families(told(), together(*BASES[3], told().link), Coins.from_seed(5), Teller())


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("domain", [DOMAIN, None], ids=["declared", "learned"])
def test_the_total_is_the_users_epsilon(epsilon: float, domain: Any) -> None:
    """Each fit keeps a part of delta back, so that shares alone would cost more: .995 to 1 of it is spent."""
    total = fitting.planned_ledger(told(epsilon=epsilon, delta=1e-9, domain=domain)).total()
    assert 0.995 * epsilon < total <= epsilon

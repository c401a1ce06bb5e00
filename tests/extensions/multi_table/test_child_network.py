"""Children beside their parents and a sibling: what is asked for, and how the budget is shared."""

from dataclasses import replace

import numpy as np
import pytest

from sdv_plausible.extensions.multi_table.simulation import ChildNetwork
from sdv_plausible.models.adaptive import measurements as module
from sdv_plausible.models.adaptive.measurements import LIGHT, ConditioningColumns
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import CodeArray
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.queries.transcript import Transcript
from sdv_plausible.table.columns.domain import Attribute, Domain

VALUES = ("a", "b", "c")
SIBLINGS = {f"sibling.{name}": name for name in ("x", "y")}
COLUMNS = [Attribute(name=name, kind="categorical", values=VALUES) for name in ("x", "y", "home.p", "home.n")]
BESIDES = [Attribute(name=name, kind="categorical", values=VALUES, nullable=True) for name in SIBLINGS]
DOMAIN = Domain((*COLUMNS, *BESIDES))
BESIDE = {2, 3, 4, 5}


def learned(epsilon=3.0, rows=3_000):
    """A network, and what its rows were asked."""
    rng = np.random.default_rng(0)
    home = rng.integers(3, size=(rows, 2))
    own = (home[:, [0, 0]] + rng.integers(2, size=(rows, 2))) % 3
    codes = np.column_stack([own, home, np.roll(own, 1, axis=0)]).astype(np.int32)
    parents = dict(zip(("home.p", "home.n"), home.T, strict=True))
    learner = ChildNetwork(parents=parents, siblings=SIBLINGS, alone=rng.random(rows) < 0.3)
    budget, ledger = ModelBudget(epsilon=epsilon, delta=1e-9), PrivacyLedger(delta=1e-9)
    counts, answers = CodeArray(np.asfortranarray(codes), DOMAIN.cardinalities), Transcript()
    plan = learner.plan(DOMAIN, budget)
    asked = Queryable(counts, ledger, plan, KeyedRNG.from_seed(1), transcript=answers)
    return learner.fit(asked, DOMAIN, budget, KeyedRNG.from_seed(2)), answers.answers


def columns_of(answers):
    """Columns of every table that was asked for or compared."""
    tables = [table for answer in answers for table in getattr(answer.asked, "tables", ())]
    return [frozenset(axis.column for axis in table) for table in tables]


def asked_amiss(answers):
    """Tables in which no column of the child is."""
    return [columns for columns in columns_of(answers) if len(columns) > 1 and columns <= BESIDE]


BINS = tuple(range(12))
NUMBERS = [f"n{j}" for j in range(6)]


def ordered_child(rows=6_000):
    """Rows drawn from a network of six equally correlated numbers, the rows that it learned, and what was asked."""
    own = [Attribute(name=name, kind="integer", lower=BINS, upper=BINS) for name in NUMBERS]
    beside = [replace(column, name=f"sibling.{column.name}", nullable=True) for column in own]
    domain = Domain((*own, COLUMNS[2], *beside))
    rng = np.random.default_rng(1)
    home, common = rng.integers(3, size=rows), rng.normal(size=(rows, 1))
    values = np.rint(6 + 2 * (common + rng.normal(size=(rows, 6))) / 2**0.5).clip(0, 11)
    codes = np.column_stack([values, home, np.roll(values, 1, axis=0)]).astype(np.int32)
    siblings = {column.name: name for column, name in zip(beside, NUMBERS, strict=True)}
    learner = ChildNetwork(parents={"home.p": home}, siblings=siblings, alone=rng.random(rows) < 0.3)
    budget, ledger, answers = ModelBudget(epsilon=0.6, delta=1e-9), PrivacyLedger(delta=1e-9), Transcript()
    counts = CodeArray(np.asfortranarray(codes), domain.cardinalities)
    plan = learner.plan(domain, budget)
    asked = Queryable(counts, ledger, plan, KeyedRNG.from_seed(1), transcript=answers)
    network = learner.fit(asked, domain, budget, KeyedRNG.from_seed(2))
    return network.sample(rows, KeyedRNG.from_seed(3))[:, :6], codes[:, :6], answers.answers


def test_correlations_of_a_childs_numbers_survive_a_small_budget(monkeypatch):
    """Three quarters of them. Control: a child whose unmeasured pairs are not tilted. Seeded: no false alarm."""
    above = np.triu_indices(6, 1)
    kept = []
    for tilts in (True, False):
        if not tilts:
            monkeypatch.setattr(module.Measurements, "tilt_unmeasured", lambda self: None)
        drawn, codes, answers = ordered_child()
        assert "products" in {answer.asked.kind for answer in answers}
        kept.append(float((np.corrcoef(drawn.T) / np.corrcoef(codes.T))[above].mean()))
    assert kept[0] > 0.75
    assert kept[1] < 0.6


def test_no_pair_beside_is_asked_for_and_children_come_last(monkeypatch):
    """Planted: a learner that leaves out no pair."""
    network, answers = learned()
    assert any(len(columns) == 2 for columns in columns_of(answers))
    assert asked_amiss(answers) == []
    assert {*network.order[:4]} == BESIDE
    singles = {next(iter(c)) for c in columns_of(answers) if len(c) == 1}
    assert singles == {0, 1, 4, 5}  # the parents' are known
    monkeypatch.setattr(module.ConditioningColumns, "pair_mask", lambda self, m: np.zeros((m, m), dtype=bool))
    assert asked_amiss(learned()[1])


def test_shares_are_spent_whatever_stands_beside():
    pairs, shares = np.array([[0, 1], [0, 4], [2, 5]]), np.array([0.2, 0.2, 0.1])
    weighed = ConditioningColumns(columns=frozenset({4, 5})).reweighted(shares, pairs)
    assert weighed.sum() == pytest.approx(shares.sum())
    assert weighed[0] / weighed[1] == pytest.approx(1 / module.LIGHT_PAIR)
    assert np.array_equal(ConditioningColumns().reweighted(shares, pairs), shares)


def test_one_way_counts_share_what_they_are_given():
    given = []

    class Door:
        def ask_tables(self, sets, shares):
            given.append((sets, shares))
            answer = type("Answer", (), {"values": np.full(3, 100.0), "sigma": 1.0})
            return [answer() for _ in sets]

    beside = ConditioningColumns(columns=frozenset({1, 2}), margins={2: np.array([0.5, 0.5, 0.0])})
    counts, sigmas, total = beside.measure(Door(), (3, 3, 3), 0.4)
    ((sets, shares),) = given
    assert [axes[0].column for axes in sets] == [0, 1]
    assert sum(shares) == pytest.approx(0.4)
    assert shares[1] / shares[0] == pytest.approx(LIGHT)
    assert total == pytest.approx(300)
    assert counts[2].tolist() == [150, 150, 0]
    assert len(sigmas) == 3


def test_a_forecast_is_of_the_childs_own_columns():
    parents = dict.fromkeys(("home.p", "home.n"), np.zeros(1, dtype=int))
    learner, budget = ChildNetwork(parents=parents, siblings=SIBLINGS), ModelBudget(epsilon=1.0, delta=1e-9)
    assert [*learner.forecast(DOMAIN, budget, 1_000).columns] == ["x", "y"]

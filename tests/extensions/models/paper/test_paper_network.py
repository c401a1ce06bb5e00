"""Learners: charged before they look, noise as planned, and valid tables whatever the noise does."""

import math

import numpy as np
import pytest
from doors import learn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from sdv_plausible.extensions.models.paper import paper_network as learning
from sdv_plausible.extensions.models.paper import structure as structures
from sdv_plausible.extensions.models.paper.paper_network import PaperNetwork
from sdv_plausible.extensions.models.paper.paper_plans import LearningPlan
from sdv_plausible.extensions.models.paper.structure import ENTROPY_GRID, check_structure, check_tables
from sdv_plausible.extensions.models.uniform import Uniform
from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.models.buckets import MAX_BUCKETS
from sdv_plausible.models.model_checks import categorical_domain
from sdv_plausible.privacy.accounting.losses import GaussianLoss, InfiniteLoss
from sdv_plausible.privacy.accounting.sensitivity import entropy_sensitivity_in_steps
from sdv_plausible.privacy.ledger import BudgetExceededError, PrivacyLedger
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.noise.mechanisms import record_calls
from sdv_plausible.queries.count_queries import CodeArray
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.table.columns.domain import Attribute, Domain

COLUMNS = (
    Attribute(name="a", kind="categorical", values=("x", "y", "z")),
    Attribute(name="b", kind="integer", lower=tuple(range(15)), upper=tuple(range(15)), nullable=True),
    Attribute(name="c", kind="ordinal", values=(0, 1)),
    Attribute(name="d", kind="categorical", values=("only",), nullable=True),
)
DOMAIN = Domain(COLUMNS)
BUDGET = ModelBudget(epsilon=1.0, delta=1e-6)
FREE = ModelBudget(epsilon=math.inf, delta=1e-6)
LEARNERS = {
    "cfs": PaperNetwork(),
    "independent": PaperNetwork(structure="independent"),
    "given": PaperNetwork(structure={"c": ["a", "b"], "b": ["a"]}),
    "posterior": PaperNetwork(parameters="posterior", max_parents=1, concentration=0.01),
    "adaptive": AdaptiveNetwork(),
    "uniform": Uniform(),
}


def codes(n=400, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, n)
    b = np.minimum(a * 5 + rng.integers(0, 6, n), 15)
    c = (a == 1) ^ (rng.random(n) < 0.1)
    return np.stack([a, b, c, rng.integers(0, 2, n)], axis=1).astype(np.int32)


def ledger():
    return PrivacyLedger(delta=1e-6)


def fit(name, rows, budget=BUDGET, pays=None, rng=None):
    return learn(LEARNERS[name], rows, DOMAIN, budget, pays or ledger(), rng or KeyedRNG.from_seed(1))


def check_network(network, domain):
    assert network.cardinalities == domain.cardinalities
    for table in network.tables:
        assert (table.probabilities >= 0).all()
        np.testing.assert_allclose(table.probabilities.sum(axis=1), 1)
        assert [len(bucket) for bucket in table.buckets] == [domain.cardinalities[p] for p in table.parents]
        assert set(np.ravel([np.unique(b).size - b.max() - 1 for b in table.buckets])) <= {0}
    rows = network.sample(200, KeyedRNG.from_seed(0))
    assert ((rows >= 0) & (rows < np.array(domain.cardinalities))).all()


@pytest.mark.parametrize("name", LEARNERS)
@settings(max_examples=8, deadline=None)
@given(
    n=st.sampled_from([0, 1, 2, 60]), epsilon=st.sampled_from([0.01, 1.0, 50.0, math.inf]), seed=st.integers(0, 10**6)
)  # fmt: skip
def test_tables_are_distributions_for_any_rows_and_budget(name, n, epsilon, seed):
    """Also for no row at all: under a guarantee the number of rows may not decide whether there is an error."""
    network = fit(
        name, codes(n, seed), ModelBudget(epsilon=epsilon, delta=1e-6), rng=KeyedRNG.from_seed(seed)
    )
    check_network(network, DOMAIN)


@pytest.mark.parametrize("name", sorted(LEARNERS.keys() - {"given"}))  # which names columns of its own
def test_domains_of_one_column_and_of_single_values(name):
    for domain in map(categorical_domain, ((1,), (4,), (1, 1, 1), (1, 5))):
        rows = np.zeros((50, len(domain.names)), dtype=np.int32)
        for budget in (BUDGET, FREE):
            check_network(
                learn(LEARNERS[name], rows, domain, budget, ledger(), KeyedRNG.from_seed(0)), domain
            )


@pytest.mark.parametrize("name", ["cfs", "given", "adaptive"])
def test_without_noise_the_data_is_learned(name):
    """Table of (a, c): 0.9 on a == 1. Control: independent columns miss it."""
    found = {}
    for which in (name, "independent"):
        rows = fit(which, codes(20_000), FREE).sample(20_000, KeyedRNG.from_seed(2))
        found[which] = [rows[rows[:, 0] == a, 2].mean() for a in range(3)]
    np.testing.assert_allclose(found[name], [0.1, 0.9, 0.1], atol=0.02)
    assert max(found["independent"]) < 0.5


def test_structure_and_parameter_rows_of_a_split_serve_their_own_stage():
    """Of two tables that contradict each other one gives the structure, the other one the numbers."""
    rng = np.random.default_rng(1)
    dependent, flat = codes(5000), np.stack([rng.integers(0, c, 5000) for c in DOMAIN.cardinalities], axis=1)

    def learned(structure, parameters):
        return learn(LEARNERS["cfs"], parameters, DOMAIN, FREE, ledger(), KeyedRNG.from_seed(0), structure)

    mixed, pure = learned(dependent, flat), learned(dependent, dependent)
    arcs = [{(t.child, t.parents) for t in network.tables} for network in (mixed, learned(flat, flat))]
    assert arcs[0] != arcs[1]
    for network in (mixed, pure):
        assert any(set(t.parents) | {t.child} >= {0, 1} for t in network.tables)
    rows = mixed.sample(5000, KeyedRNG.from_seed(1))
    assert abs(np.corrcoef(rows[:, 0], rows[:, 1])[0, 1]) < 0.1
    assert np.corrcoef(*pure.sample(5000, KeyedRNG.from_seed(1))[:, :2].T)[0, 1] > 0.8


class RefusingLedger(PrivacyLedger):
    def charge(self, *entries):
        raise BudgetExceededError


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("budget", [BUDGET, FREE])
def test_nothing_is_looked_at_before_the_ledger_agrees(name, budget):
    """There are no rows: whoever looks at them fails. Control: with a ledger that agrees, they are looked at."""
    with record_calls() as calls, pytest.raises(BudgetExceededError):
        fit(name, None, budget, RefusingLedger(delta=1e-6))
    assert not calls
    if name == "uniform":
        check_network(fit(name, None, budget), DOMAIN)
    else:
        with pytest.raises((AttributeError, TypeError)):
            fit(name, None, budget)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("budget", [BUDGET, FREE])
def test_what_is_charged_is_what_was_planned(name, budget):
    """``plan`` has no rows to look at. Infinite epsilon: no noise call, and an infinite loss that says so."""
    paid = ledger()
    with record_calls() as calls:
        fit(name, codes(), budget, paid)
    assert list(paid.entries) == LEARNERS[name].plan(DOMAIN, budget)
    if name == "uniform":
        assert paid.total() == 0
    elif budget is FREE:
        assert paid.total() == math.inf
        assert any(isinstance(loss, InfiniteLoss) for entry in paid.entries for loss in entry.losses)
        assert not paid.claims_privacy
    else:
        assert 0.95 < paid.total() <= 1.0 + 1e-9
    assert bool(calls) == (budget is BUDGET and name != "uniform")


def planned(name):
    """Squares of mu of all Gaussian noise that a plan pays for."""
    losses = [loss for entry in LEARNERS[name].plan(DOMAIN, BUDGET) for loss in entry.losses]
    return sum(x.sensitivity_over_sigma**2 * x.count for x in losses if isinstance(x, GaussianLoss))


def check_calls(calls, plan, source, sensitivities):
    """Every call's noise has sensitivity over budget, and all together do not exceed the plan; returns their mu^2."""
    used = 0.0
    for call in calls:
        assert call.name == "discrete_gaussian"
        assert call.source == source
        assert call.sensitivity in sensitivities, call
        assert call.scale == pytest.approx(call.sensitivity / math.sqrt(2 * call.budget), rel=1e-9)
        used += (call.sensitivity / call.scale) ** 2
    assert used <= plan * (1 + 1e-6), "more noise budget used than planned"
    return used


# Sensitivities of the vector of 4 (4 + 1) entropies, for lower bounds up to 400 rows.
ENTROPIES = {math.sqrt(20) * entropy_sensitivity_in_steps(i, ENTROPY_GRID) for i in range(1, 400)}


@pytest.mark.parametrize("name", ["cfs", "independent", "given", "posterior"])
def test_every_noise_call_is_as_planned(name):
    """Planted faults of it: tests/privacy/test_known_bugs.py and test_noise_on_every_cell.py."""
    plan, allowed = planned(name), {1.0} | (ENTROPIES if name in ("cfs", "posterior") else set())
    for rng, source in ((KeyedRNG.from_os_entropy(), "opendp"), (KeyedRNG.from_seed(3), "seeded stream")):
        with record_calls() as calls:
            network = fit(name, codes(), rng=rng)
        used = check_calls(calls, plan, source, allowed)
        assert used == pytest.approx(plan, rel=1e-6)  # the whole plan, and not more
        # Noise on every declared cell: one-way tables first, with as many cells as the domain has codes.
        assert [math.prod(c.shape) for c in calls[:4]] == list(DOMAIN.cardinalities)
        if name != "independent":
            cells = {t.child: t.probabilities.size for t in network.tables}
            assert [math.prod(c.shape) for c in calls[-4:]] == [cells[j] for j in range(4)]


def test_the_adaptive_learner_stays_within_its_plan():
    with record_calls() as calls:
        fit("adaptive", codes(3000))
    allowed, plan = {1.0, *map(math.sqrt, (3, 4, 5, 6))}, planned("adaptive")
    assert check_calls(calls, plan, "seeded stream", allowed) > 0.4 * plan
    assert calls[0].shape == (1,)
    assert [c.shape for c in calls[1:5]] == [(c,) for c in DOMAIN.cardinalities]


def test_the_forecast_of_a_link_is_the_noise_of_a_table_with_one_parent():
    """Half the mean distance of the noise on all its cells, E|z|/2 = 0.4 sigma for each, as a share of the rows."""
    middle = float(np.median(DOMAIN.cardinalities))
    for unit in (ONE_ROW, Neighbours(rows=3, person="home")):
        budget = ModelBudget(epsilon=1.0, delta=1e-6, neighbours=unit)
        sigma = unit.histogram_l2 / LearningPlan.make("cfs", DOMAIN, budget).mu_each("tables")
        found = LEARNERS["cfs"].forecast(DOMAIN, budget, 5000)
        assert found.link == pytest.approx(0.4 * middle * min(middle, MAX_BUCKETS) * sigma / 5000)
        assert (found.rows, found.assumed, set(found.columns)) == (5000, (), set(DOMAIN.names))
        assert LEARNERS["independent"].forecast(DOMAIN, budget, 5000).link is None
    for learner, money in ((LEARNERS["cfs"], FREE), (PaperNetwork(noise="paper"), BUDGET)):
        assert learner.forecast(DOMAIN, money, 5000) is None


def test_tables_are_drawn_to_their_margins_as_far_as_there_is_noise(monkeypatch):
    """The prior's mass: that of a record, and of the noise on a row of the table; margins alone have none."""
    strengths, honest = [], learning.dirichlet_table

    def table(counts, prior, strength, *rest):
        strengths.append(strength)
        return honest(counts, prior, strength, *rest)

    monkeypatch.setattr(learning, "dirichlet_table", table)
    sigma = 1 / LearningPlan.make("cfs", DOMAIN, BUDGET).mu_each("tables")
    for name, noise in (("cfs", sigma), ("independent", 0.0)):
        learner = PaperNetwork(structure=name, concentration=2.5)
        learn(learner, codes(), DOMAIN, BUDGET, ledger(), KeyedRNG.from_seed(1))
        assert strengths == pytest.approx([2.5 + noise * math.sqrt(c) for c in DOMAIN.cardinalities])
        strengths.clear()


def least_rows(n, mu, failure, rng):
    plan = LearningPlan(mu=mu, shares={"size": 1.0}, num_attributes=4, size_failure=failure)
    codes = CodeArray(np.zeros((n, 4), dtype=int), (1,) * 4)
    return learning.least_rows(Queryable(codes, PrivacyLedger(delta=0.5), plan.entries("cfs"), rng), plan)


def too_high(size_failure, runs=2000, n=500):
    """How often the noisy lower bound is not a lower bound for the smaller neighbour, of n - 1 rows."""
    return sum(least_rows(n, 0.05, size_failure, KeyedRNG.from_seed(i)) > n - 1 for i in range(runs))


def test_the_lower_bound_on_the_number_of_rows_holds_as_often_as_charged():
    """2,000 runs at a failure probability of 0.05; false alarm 1e-6. Control: without the margin it fails."""
    most = binom.ppf(1 - 1e-6, 2000, 0.05)
    assert too_high(0.05) <= most
    assert too_high(1 - 1e-9) > most
    # Delta_H falls from n = 1 on, so that 1 is the safe answer where the noise says less.
    assert {least_rows(3, 0.001, 1e-9, KeyedRNG.from_seed(i)) for i in range(20)} == {1}


def test_bad_parameters_are_named():
    for name, values in {
        "structure": ["best", [("a", "b")], None], "max_cost": [0, 2.5, True], "max_parents": [-1, 1.5, True],
        "concentration": [0, math.inf, math.nan, "a"], "parameters": ["mode"],
    }.items():  # fmt: skip
        for value in values:
            with pytest.raises(ValueError, match=f"^{name} "):
                PaperNetwork(**{name: value})
    for value in (0, 1.5, True, "a"):
        with pytest.raises(ValueError, match="^max_cost "):
            AdaptiveNetwork(max_cost=value)


def test_usual_parameters_are_those_of_the_docs():
    """And the least are allowed."""
    numbers = {"max_cost": 300, "max_parents": None, "concentration": 1.0}
    words = {"structure": "cfs", "parameters": "mean", "noise": "calibrated", "conditionals": "table"}
    assert PaperNetwork() == PaperNetwork(**numbers, **words)
    assert AdaptiveNetwork() == AdaptiveNetwork(max_cost=300_000, public=None)
    least = PaperNetwork(max_cost=1, max_parents=0)
    network = learn(least, codes(), DOMAIN, BUDGET, ledger(), KeyedRNG.from_seed(1))
    assert {table.parents for table in network.tables} == {()}
    assert PaperNetwork(max_parents=1).max_parents == 1


def test_a_table_of_as_many_cells_as_are_allowed_is_made(monkeypatch):
    """Of more the last parents are left out, as a fit has paid; what is given and too large is refused."""
    learner, rows = PaperNetwork(structure={"c2": ["c0", "c1"]}), np.zeros((5, 3), dtype=np.int32)
    for most, sizes in ((24, {3, 4, 24}), (23, {3, 4, 6}), (5, {3, 4, 2})):
        monkeypatch.setattr(structures, "MAX_CELLS", most)
        network = learn(learner, rows, categorical_domain((3, 4, 2)), FREE, ledger(), KeyedRNG.from_seed(0))
        assert {table.probabilities.size for table in network.tables} == sizes
    monkeypatch.undo()
    wide = categorical_domain((10,) * 12)
    parents = check_structure({"c11": [f"c{i}" for i in range(11)]}, wide)
    said = r"structure: the table of 'c11'.*1,000,000,000,000 cells.*leave out parents"
    with pytest.raises(ValueError, match=said):
        check_tables(parents, wide)

"""Learners and models: what they may spend, and what a model gets for two methods, against slow definitions."""

import itertools
import math
from fractions import Fraction

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networks import FALSE_ALARM, UNIVERSE, network, p_value

from sdv_plausible.extensions.models.uniform import Uniform
from sdv_plausible.models import base
from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.models.base import Learner, ModelBudget, PrefixModel, Proposals, SeedModel
from sdv_plausible.models.bayesian_network import HasStructure
from sdv_plausible.models.learner_checks import model_class, planned_entries, plausible_gamma
from sdv_plausible.privacy.accounting import losses
from sdv_plausible.privacy.accounting.composition import compose
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.queryable import SeedRecords
from sdv_plausible.table.columns.domain import Attribute, Domain

DOMAIN = Domain((Attribute(name="x", kind="ordinal", values=(0, 1)),))


SPENT = [(), (losses.GaussianLoss(sensitivity_over_sigma=0.01),), (losses.PureDP(epsilon=0.02),)]


@settings(max_examples=30)
@given(st.floats(0.3, 8), st.floats(1e-10, 1e-3), st.integers(0, 90), st.sampled_from(SPENT))
def test_a_learner_may_spend_what_is_left_and_hardly_less(epsilon, delta, percent, spent):
    """With what was spent before, and a failure, it stays within (epsilon, delta); a hundredth more would not."""
    failure = percent / 100 * delta
    mu = ModelBudget(epsilon=epsilon, delta=delta, spent=spent).gaussian(failure)

    def total(mu):
        failed = [losses.ApproxDP(epsilon=0.0, delta=failure)] if failure else []
        return compose([*spent, *losses.gaussian_noise(mu), *failed], delta)

    assert total(mu) <= epsilon * (1 + 1e-6)
    assert total(1.02 * mu) > epsilon


def test_the_entry_of_a_budget_says_what_it_costs():
    budget = ModelBudget(epsilon=1.0, delta=1e-6)
    entry = budget.entry("one-way counts")
    assert entry.losses == losses.gaussian_noise(budget.gaussian())
    assert "one-way counts" in entry.mechanism
    assert set(entry.parts) == {"structure", "parameters"}
    free = ModelBudget(epsilon=math.inf, delta=1e-6)
    assert free.gaussian() == math.inf
    assert [type(loss) for loss in free.entry("one-way counts").losses] == [losses.InfiniteLoss]
    assert "no noise" in free.entry("one-way counts").mechanism


class Silent(Learner):
    """A learner that plans nothing."""

    fit = Uniform.fit

    def plan(self, domain, budget):
        return []


def test_a_learner_that_charges_nothing_ends_the_claim(monkeypatch):
    """One that says that it learned nothing does not."""
    budget, learner = ModelBudget(epsilon=1.0, delta=1e-6), Silent()
    (entry,) = planned_entries(learner, DOMAIN, budget)
    assert entry.status == "no claim"
    own = [LedgerEntry(name="model", mechanism="", losses=(), scope="")]
    monkeypatch.setattr(Silent, "plan", lambda *_: own)
    assert planned_entries(learner, DOMAIN, budget) == own
    assert [e.status for e in planned_entries(Uniform(), DOMAIN, budget)] == ["declared"]


def test_only_prefix_models_have_equally_likely_plausible_seeds():
    """A learner that says nothing, or nonsense, may make any model: the test's gamma then counts in the accounting."""
    told = Silent()
    for wrong in (None, "PrefixModel", int, PrefixModel.__mro__):
        told.makes = wrong
        assert (model_class(told), plausible_gamma(told, 4.0)) == (SeedModel, 4.0)
    told.makes = PrefixModel
    assert plausible_gamma(told, 4.0) == 1.0
    assert plausible_gamma(AdaptiveNetwork(), 4.0) == 1.0
    assert model_class(Silent()) is SeedModel


RNG = np.random.default_rng(0)
STATES, SEEDS = 5, RNG.integers(0, 5, (23, 1))
KERNEL = RNG.dirichlet(np.full(STATES, 0.3), STATES)  # Pr[candidate | seed], of very unequal likelihoods


class Kernel(SeedModel):
    """One column; a candidate is drawn from a row of a matrix. It keeps no prefix."""

    num_attributes = 1

    def propose(self, rows, omega, rng):
        u = rng.uniform(len(rows))
        found = (np.cumsum(KERNEL, axis=1)[self.seeds[rows, 0]] <= u[:, None]).sum(axis=1)
        return Proposals(candidates=found[:, None].astype(np.int32), seeds=rows, omega=omega)

    def log_likelihood(self, proposals, rows):
        with np.errstate(divide="ignore"):
            return np.log(KERNEL[self.seeds[rows, 0]][:, proposals.candidates[:, 0]].T)


def test_plausible_seeds_of_any_model_by_definition(monkeypatch):
    """Records in the partition of the candidate's own seed, with exact fractions; in blocks of any size."""
    model, rng = Kernel(), KeyedRNG.from_seed(0)
    model.attach_seeds(SeedRecords(SEEDS))
    proposals = model.propose(rng.integers(23, 200), np.ones(200, dtype=int), rng)
    for gamma in (1.5, 4.0, 100.0):
        wanted = []
        for y, own in zip(proposals.candidates[:, 0], proposals.seeds, strict=True):
            parts = [oracles.partition(Fraction(KERNEL[s, y]), Fraction(gamma)) for s in SEEDS[:, 0]]
            wanted.append(sum(part == parts[own] for part in parts))
        assert len(set(wanted)) > 1
        for block in (3, 1000):
            monkeypatch.setattr(base, "SCAN_BLOCK", block)
            assert model.count_plausible(proposals, gamma).tolist() == wanted


def test_look_up_in_groups_agrees_with_looking_at_all_records_also_of_some_proposals():
    net, rng = network(), KeyedRNG.from_seed(1)
    for look in (lambda: net.seeds, lambda: net.groups, lambda: Kernel().seeds):
        with pytest.raises(RuntimeError, match="attach_seeds comes before"):
            look()
    net.attach_seeds(SeedRecords(net.sample(200, rng)))
    proposals = net.propose(rng.integers(200, 300), rng.integers(5, 300), rng)
    assert (net.count_plausible(proposals, 4.0) == SeedModel.count_plausible(net, proposals, 4.0)).all()
    candidates = np.arange(6).reshape(3, 2)
    proposals = Proposals(candidates=candidates, seeds=np.array([5, 6, 7]), omega=np.array([0, 1, 2]))
    taken = proposals.take(np.array([2, 0]))
    assert (taken.candidates.tolist(), taken.seeds.tolist()) == ([[4, 5], [0, 1]], [7, 5])
    assert taken.omega.tolist() == [2, 0]


class Shortest(PrefixModel):
    """The shared network with nothing but the two methods that a prefix model must have."""

    inner = network()
    order, cardinalities = inner.order, inner.cardinalities

    def complete(self, codes, kept, rng, *, systematic=False):
        return self.inner.complete(codes, kept, rng)

    def log_completion(self, candidates, kept):
        return self.inner.log_completion(candidates, kept)


def test_everything_else_follows_from_two_methods():
    """Likelihood of every candidate from every seed, by definition; and candidates, by chi-square."""
    model, seeds = Shortest(), np.array(UNIVERSE)
    model.attach_seeds(SeedRecords(seeds))

    def exact(seed, omega):
        return [oracles.likelihood(model.inner.tables, y, seed, omega) for y in UNIVERSE]

    for omega in range(5):
        of_each = np.full(len(seeds), omega)
        proposals = Proposals(candidates=seeds, seeds=np.zeros(len(seeds), dtype=int), omega=of_each)
        wanted = np.array([exact(s, omega) for s in UNIVERSE], dtype=float).T
        np.testing.assert_allclose(np.exp(model.log_likelihood(proposals, np.arange(48))), wanted, rtol=1e-12)
    made = model.propose(np.full(20_000, 9), np.full(20_000, 2), KeyedRNG.from_seed(0))
    assert p_value(made.candidates, exact(UNIVERSE[9], 2)) > FALSE_ALARM
    assert (
        p_value(model.sample(20_000, KeyedRNG.from_seed(1)), exact(UNIVERSE[9], 2)) < FALSE_ALARM
    )  # control
    assert model.num_attributes == 4


def test_known_values_by_drawing_all_and_keeping_what_fits():
    """The general way: weight 1 or 0; the rows that fit have the exact conditional law."""
    model, known, start = Shortest(), {3: 2, 0: 1}, np.zeros((40_000, 4), dtype=np.int32)
    codes, log_weight = model.complete_given(start, 0, known, KeyedRNG.from_seed(3))
    assert set(np.exp(log_weight).tolist()) == {0.0, 1.0}
    fits = np.isfinite(log_weight)
    assert (fits == ((codes[:, 3] == 2) & (codes[:, 0] == 1))).all()
    joint = [oracles.likelihood(model.inner.tables, y, y, 4) * (y[3] == 2 and y[0] == 1) for y in UNIVERSE]
    law = [p / sum(joint) for p in joint]
    assert p_value(codes[fits], law) > FALSE_ALARM
    assert p_value(codes, law) < FALSE_ALARM  # control


def test_a_network_tells_its_structure():
    assert isinstance(network(), HasStructure)
    assert not isinstance(Kernel(), HasStructure)
    structure = network().structure()
    assert [child for child, _ in structure] == [2, 0, 1, 3]
    before = itertools.accumulate(({child} for child, _ in structure), set.union, initial=set())
    assert all(set(parents) <= earlier for (_, parents), earlier in zip(structure, before, strict=False))

"""The public checks of learners and models: ours pass, and each planted mistake is named.

False alarm of a comparison of sampling with likelihood: 1e-9; ours run with fixed coins. The planted fault moves a
twentieth of the mass: with 20,000 draws its chi-square is about 1,000 on few cells, a miss is below 1e-9.
"""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from doors import door

from sdv_plausible import check_learner, check_model
from sdv_plausible.extensions.models.paper.paper_network import PaperNetwork
from sdv_plausible.extensions.models.uniform import Uniform
from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.models.base import Learner, SeedModel
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.models.conditional_table import ConditionalTable
from sdv_plausible.privacy.ledger import BudgetExceededError
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import Axis, CountTable, NumberOfRows

CARDS = (3, 2)


FIRST = ConditionalTable(child=0, parents=(), buckets=(), probabilities=np.array([[0.5, 0.3, 0.2]]))
CHANCES = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
SECOND = ConditionalTable(child=1, parents=(0,), buckets=(np.arange(3),), probabilities=CHANCES)
NETWORK = BayesianNetwork([FIRST, SECOND])


LEARNERS = {
    "adaptive": AdaptiveNetwork(),
    "cfs": PaperNetwork(structure="cfs"),
    "independent": PaperNetwork(structure="independent"),
    "no arcs, posterior": PaperNetwork(structure={}, parameters="posterior"),
    "uniform": Uniform(),
}


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
def test_our_learners_pass(learner):
    check_learner(learner)


class Scanned(SeedModel):
    """The same model with the two methods that every model has: counts come from the scan."""

    num_attributes = 2

    def __init__(self):
        self.inner = BayesianNetwork([FIRST, SECOND])

    def attach_seeds(self, seeds):
        super().attach_seeds(seeds)
        self.inner.attach_seeds(seeds)

    def propose(self, rows, omega, rng):
        return self.inner.propose(rows, omega, rng)

    def log_likelihood(self, proposals, rows):
        return self.inner.log_likelihood(proposals, rows)


def test_a_network_passes_and_a_model_of_two_methods_too():
    for model in (NETWORK, Scanned()):
        check_model(model, CARDS)
    with pytest.raises(ValueError, match="fit the model to fewer"):
        check_model(NETWORK, (100, 100))  # too many candidates to enumerate


class Moved(Scanned):
    """Samples a twentieth of the mass elsewhere than its likelihood says."""

    def propose(self, rows, omega, rng):
        made = super().propose(rows, omega, rng)
        moved = (omega > 0) & (rng.uniform(len(rows)) < 0.05)
        made.candidates[moved, 1] = 0
        return made


class Unnormalised(Scanned):
    def log_likelihood(self, proposals, rows):
        return super().log_likelihood(proposals, rows) + 0.1


class Columned(BayesianNetwork):
    def log_completion(self, candidates, kept):
        return super().log_completion(candidates, kept)[:, None]


class NoNumber(Scanned):
    def log_likelihood(self, proposals, rows):
        return super().log_likelihood(proposals, rows) * np.nan


class Overcounts(Scanned):
    def count_plausible(self, proposals, gamma):
        return super().count_plausible(proposals, gamma) + 1


class ForgetsTheSeed(BayesianNetwork):
    def complete(self, codes, kept, rng, *, systematic=False):
        return super().complete(codes, 0, rng, systematic=systematic)


class Unsaved(Scanned):
    def __getstate__(self):
        flat = ConditionalTable(child=0, parents=(), buckets=(), probabilities=np.full((1, 3), 1 / 3))
        return {"inner": BayesianNetwork([flat, SECOND])}


def test_planted_mistakes_of_models_are_named():
    for model, said in (
        (Moved(), "as often as"),
        (Unnormalised(), "add up to"),
        (Columned(NETWORK.tables), "one number for each candidate"),
        (NoNumber(), "no number"),
        (Overcounts(), "count_plausible"),
        (ForgetsTheSeed(NETWORK.tables), "must keep"),
        (Unsaved(), "saved and loaded"),
    ):
        with pytest.raises(AssertionError, match=said):
            check_model(model, CARDS)


@dataclass(frozen=True)
class Margins(Learner):
    """A right learner, of which the mistakes below are made."""

    makes = BayesianNetwork

    def plan(self, domain, budget):
        return [budget.entry("one-way counts")]

    def shares(self, domain):
        return [1 / len(domain)] * len(domain)

    def fit(self, rows, domain, budget, rng):
        axes = [[Axis.of_codes(j, c)] for j, c in enumerate(domain.cardinalities)]
        counts = [np.maximum(a.values, 0) + 1 for a in rows.ask_tables(axes, self.shares(domain))]
        laws = [(c / c.sum())[None] for c in counts]
        return BayesianNetwork(
            [ConditionalTable(child=j, parents=(), buckets=(), probabilities=p) for j, p in enumerate(laws)]
        )


class Overspends(Margins):
    def shares(self, domain):
        return [1.0] * len(domain)


class Steals(Margins):
    def fit(self, rows, domain, budget, rng):
        rows.raw_rows("To inspect them")
        return super().fit(rows, domain, budget, rng)


class Overplans(Margins):
    def plan(self, domain, budget):
        return [budget.entry("one-way counts"), budget.entry("the same again")]


class PlansByTheDay(Margins):
    def plan(self, domain, budget):
        return [budget.entry(f"looked at {KeyedRNG.from_os_entropy().integers(2**60)}")]


class Promises(Margins):
    makes = ForgetsTheSeed


class FailsOnNoRow(Margins):
    def fit(self, rows, domain, budget, rng):
        if rows.ask(NumberOfRows(), 1e-6).values[0] < -1e9:  # pragma: no cover  never, but it takes a share
            raise ZeroDivisionError
        return super().fit(rows, domain, budget, rng)


def test_planted_mistakes_of_learners_are_named():
    """What they are made of makes none."""
    check_learner(Margins())
    for learner, error, said in (
        (Overspends(), BudgetExceededError, "exceeds what is left"),
        (Steals(), AssertionError, "raw rows"),
        (Overplans(), AssertionError, "the plan costs"),
        (PlansByTheDay(), AssertionError, "same again"),
        (Promises(), AssertionError, "ForgetsTheSeed"),
        (FailsOnNoRow(), BudgetExceededError, "exceeds what is left"),
    ):
        with pytest.raises(error, match=said):
            check_learner(learner)


def test_the_door_gives_no_rows_and_no_more_answers_than_were_paid_for():
    codes = np.zeros((50, 2), dtype=np.int32)
    rows = door(codes, CARDS, 1.0, KeyedRNG.from_seed(0))
    assert not [name for name in vars(rows) if not name.startswith("_") and name != "neighbours"]
    rows.ask(CountTable([Axis.of_codes(0, 3)]), 0.9)
    for look in (lambda: rows.ask(NumberOfRows(), 0.2), lambda: rows.count_rows(0.1, 0.0)):
        with pytest.raises(BudgetExceededError):
            look()
    assert door(codes, CARDS, math.inf).ask(NumberOfRows(), 1.0).values[0] == 50

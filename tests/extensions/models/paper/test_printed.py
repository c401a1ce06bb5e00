"""Noise as printed: its scales, what is charged for it, and that too small a scale is caught."""

import dataclasses
import math

import doors
import numpy as np
import pytest

from sdv_plausible.extensions.models.paper import paper_network
from sdv_plausible.extensions.models.paper.paper_network import PaperNetwork
from sdv_plausible.extensions.models.paper.paper_plans import PrintedEntropies, PrintedPlan, cut_at_zero
from sdv_plausible.extensions.models.paper.structure import ENTROPY_GRID
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.privacy.accounting.paper_theorems import paper_entropy_sensitivity, paper_shares
from sdv_plausible.privacy.accounting.sensitivity import entropy_sensitivity_in_steps
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.privacy.noise import mechanisms as noise
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.noise.mechanisms import record_calls
from sdv_plausible.table.columns.domain import Attribute, Domain

DELTA = 2.0**-30
COLUMNS = [Attribute(name=n, kind="categorical", values=tuple(range(c))) for n, c in (("a", 2), ("b", 3))]
DOMAIN = Domain(tuple(COLUMNS))


def rows(n):
    first = np.arange(n) % 2
    return np.column_stack([first, np.where(np.arange(n) % 5 == 0, 2, first)]).astype(np.int32)


def learn(n, epsilon):
    ledger, budget = PrivacyLedger(delta=DELTA), ModelBudget(epsilon=epsilon, delta=DELTA)
    with record_calls() as calls:
        model = doors.learn(
            PaperNetwork(noise="paper"), rows(n), DOMAIN, budget, ledger, KeyedRNG.from_seed(3)
        )
    return model, ledger, calls


def test_shares_are_the_papers():
    shares = paper_shares(11, 2.32, DELTA)
    assert (shares.size, shares.entropy, shares.counts) == pytest.approx((0.116, 0.0283, 0.1028), abs=5e-5)


def test_lemma_1_at_the_noisy_number_is_enough():
    """paper_formulas.md, Theorem 1: whatever n is, unless the noise exceeds what its failure is charged for."""
    made = PrintedPlan.make(11, ModelBudget(epsilon=2.32, delta=DELTA), learns_structure=True)
    for size in (0.02, 0.116, 1.0):
        plan = dataclasses.replace(made, shares=dataclasses.replace(paper_shares(11, 2.32, DELTA), size=size))
        reach = math.ceil(-math.log(plan.size_failure) / size)
        assert math.exp(-size * reach) <= plan.size_failure
        least = plan.least_noisy_rows
        for noisy in [*range(least, least + 300), *(least * 2**i for i in range(12))]:
            question = PrintedEntropies((2, 2), [np.arange(2)] * 2, noisy)
            assert question.l1(ONE_ROW) / 6 >= entropy_sensitivity_in_steps(noisy - reach, ENTROPY_GRID)
        low = reach // 4  # planted: no least number of rows
        few = PrintedEntropies((2, 2), [np.arange(2)] * 2, low + reach)
        assert few.l1(ONE_ROW) / 6 < entropy_sensitivity_in_steps(low, ENTROPY_GRID)


def test_noise_is_of_the_printed_scales():
    _, ledger, calls = learn(20_000, 2.32)
    shares = paper_shares(2, 2.32, DELTA)
    assert [call.name for call in calls] == ["discrete_laplace"] * 4
    assert calls[0].scale == pytest.approx(1 / shares.size)
    printed = paper_entropy_sensitivity(20_000) / shares.entropy / ENTROPY_GRID
    assert calls[1].shape == (6,)
    assert calls[1].scale == pytest.approx(printed, rel=0.02)
    assert [call.scale for call in calls[2:]] == pytest.approx([1 / shares.counts] * 2)
    assert [entry.name for entry in ledger.entries] == ["size", "structure", "tables"]
    assert 1.0 < ledger.total() < 2 * 2.32  # exact composition of what Theorem 3 gives 2.32 twice
    assert cut_at_zero(np.array([-1.5, 0.0, 2.0])).tolist() == [0, 0, 2]
    _, ledger, calls = learn(200, math.inf)
    assert not calls
    assert not ledger.claims_privacy


def test_the_least_noisy_number_asks_for_entropies_and_one_less_does_not(monkeypatch):
    plan, shapes = PrintedPlan.make(2, ModelBudget(epsilon=2.32, delta=DELTA), learns_structure=True), []

    def exact(values, **_):
        shapes.append(np.shape(values))
        return np.asarray(values)

    monkeypatch.setattr(noise, "discrete_laplace", exact)
    for short, asked in ((0, [(1,), (6,), (2,), (2, 3)]), (1, [(1,), (2,), (3,)])):
        learn(plan.least_noisy_rows - short, 2.32)
        assert shapes == asked
        shapes.clear()


def test_tables_are_drawn_after_an_even_prior(monkeypatch):
    """The concentration is the mass of the prior: nothing else is."""
    priors, honest = [], paper_network.dirichlet_table

    def table(counts, prior, strength, *rest):
        priors.append((prior.tolist(), strength))
        return honest(counts, prior, strength, *rest)

    monkeypatch.setattr(paper_network, "dirichlet_table", table)
    learn(200, 2.32)
    assert priors == [([0.5] * 2, 1.0), (pytest.approx([1 / 3] * 3), 1.0)]


def test_words_and_neighbours_are_checked():
    with pytest.raises(ValueError, match="calibrated"):
        PaperNetwork(noise="printed")
    people = Neighbours(rows=2, person="home")
    PaperNetwork().check_neighbours(people)
    PaperNetwork(noise="paper").check_neighbours(ONE_ROW)
    said = r"noise \('paper'\) .* single rows .* beside person \('home'\): leave that out"
    with pytest.raises(ValueError, match=said):
        PaperNetwork(noise="paper").check_neighbours(people)
    replaced = ModelBudget(epsilon=1.0, delta=DELTA, neighbours=Neighbours.parse("replace_one", None))
    with pytest.raises(ValueError, match=r"single rows .* beside neighbours \('replace_one'\)"):
        PrintedPlan.make(3, replaced, learns_structure=True)

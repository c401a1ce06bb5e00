"""Bugs that other libraries have had, replayed: the same checker passes the shipped code and catches each of them."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from doors import door, learn

from sdv_plausible import PlausibleDeniabilitySynthesizer
from sdv_plausible.extensions.models.paper.paper_network import PaperNetwork
from sdv_plausible.extensions.models.paper.paper_plans import LearningPlan
from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.models.base import Learner, ModelBudget
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.privacy.accounting.losses import GaussianLoss, InfiniteLoss
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise import mechanisms as noise
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.budget_tracker import BudgetTracker
from sdv_plausible.queries.count_queries import Axis, CountTable
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.learned import inferred_domains
from tests.flat import values

CARDS = (3, 2, 4)
DOMAIN = Domain(
    tuple(Attribute(name=f"c{j}", kind="categorical", values=tuple(range(c))) for j, c in enumerate(CARDS))
)
BUDGET = ModelBudget(epsilon=1.0, delta=1e-6)
FREE = ModelBudget(epsilon=math.inf, delta=1e-6)
LEARNERS = {
    "adaptive": AdaptiveNetwork(),
    "cfs": PaperNetwork(structure="cfs"),
    "independent": PaperNetwork(structure="independent"),
    "given arcs": PaperNetwork(structure={"c1": ["c0"], "c2": ["c1"]}),
}


def rows(n: int = 2000) -> np.ndarray:
    rng = np.random.default_rng(5)
    first = rng.integers(0, 3, n)
    return np.stack([first, first % 2, rng.integers(0, 4, n)], axis=1).astype(np.int32)


def check_noise_pays_for_the_charge(learner: str) -> None:
    """The noise that was drawn costs no more than what the ledger was charged, which stays within the budget."""
    ledger, codes = PrivacyLedger(delta=BUDGET.delta), rows()
    with noise.record_calls() as calls:
        learn(LEARNERS[learner], codes, DOMAIN, BUDGET, ledger, KeyedRNG.from_os_entropy())
    spent = sum((c.sensitivity / c.scale) ** 2 for c in calls)  # of a vector as its stated sensitivity says
    gaussian = [loss for e in ledger.entries for loss in e.losses if isinstance(loss, GaussianLoss)]
    charged = sum(loss.count * loss.sensitivity_over_sigma**2 for loss in gaussian)
    assert calls
    assert spent <= charged * (1 + 1e-6)
    assert ledger.total() <= BUDGET.epsilon * (1 + 1e-6)


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_noise_pays_for_the_charge_and_noise_n_times_too_small_is_caught(
    learner: str, monkeypatch
) -> None:
    """Planted: counts are made frequencies after noise whose sensitivity is already that of frequencies, 1/n."""
    check_noise_pays_for_the_charge(learner)
    exact, n = noise.discrete_gaussian, len(rows())
    of_frequencies = lambda values, *, rho, **how: exact(values, rho=min(rho * n**2, 1e12), **how)  # noqa: E731
    monkeypatch.setattr(noise, "discrete_gaussian", of_frequencies)
    with pytest.raises(AssertionError):
        check_noise_pays_for_the_charge(learner)


def test_the_noise_has_the_scale_that_the_spy_reports() -> None:
    """Sample variance of 20,000 cells within 6 of its standard deviations: false alarm below 1e-8."""
    asked = door(np.zeros((0, 1), dtype=np.int32), (20_000,), 0.5)
    for share in (0.04, 0.5):
        spread = (
            asked.ask(CountTable([Axis.of_codes(0, 20_000)]), share).values.var() / asked.sigma(share) ** 2
        )
        assert abs(spread - 1) < 6 * math.sqrt(2 / 20_000)
        assert abs(1.1**2 * spread - 1) > 6 * math.sqrt(2 / 20_000)  # control: 10 % too small


@pytest.mark.parametrize("kind", ["adaptive", "given arcs"])
def test_a_budget_spent_twice_is_caught(kind: str, monkeypatch) -> None:
    """Every stage takes the whole budget, which is charged once."""
    monkeypatch.setattr(BudgetTracker, "spend", lambda self, **costs: None)
    honest, entries = Queryable._noisy, LearningPlan.entries
    if kind == "adaptive":
        whole = lambda self, exact, sensitivity, share: honest(self, exact, sensitivity, 1.0)  # noqa: E731
        monkeypatch.setattr(Queryable, "_noisy", whole)
    else:
        monkeypatch.setattr(LearningPlan, "entries", lambda self, structure: entries(self, structure)[:1])
        monkeypatch.setattr(LearningPlan, "release_shares", lambda self, stage: [1.0] * self.releases(stage))
    with pytest.raises(AssertionError):
        check_noise_pays_for_the_charge(kind)


COLUMNS = {
    "age": {"sdtype": "numerical", "range_min": 0, "range_max": 99, "range_is_nullable": False},
    "city": {"sdtype": "categorical", "range_values": ["Basel", "Bern", "Chur"], "range_is_nullable": False},
}


def people(n: int = 300, oldest: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"age": rng.integers(20, 70, n), "city": rng.choice(["Basel", "Bern"], n)})
    table.loc[0, "age"] = oldest
    return table


def fitted(table: pd.DataFrame, **changes) -> PlausibleDeniabilitySynthesizer:
    ranges = {name: {k: v for k, v in spec.items() if k != "sdtype"} for name, spec in COLUMNS.items()}
    metadata = metadata_from_columns({name: {"sdtype": spec["sdtype"]} for name, spec in COLUMNS.items()})
    synth = PlausibleDeniabilitySynthesizer(metadata, **values(**{"domain": ranges, **changes}))
    synth.fit(table)
    return synth


def check_nobody_can_repeat_the_noise(**changes) -> None:
    """Same configuration, same rows: if there is a privacy claim, the noise differs from fit to fit."""
    first, second = (fitted(people(), **changes) for _ in range(2))
    if first.privacy_ledger().claims_privacy:
        tables = [
            np.concatenate([t.probabilities.ravel() for t in s._sampler.model.tables])
            for s in (first, second)
        ]
        assert not np.array_equal(*tables)
        assert not np.array_equal(*(s._sampler.rng.spawn("x").words(4) for s in (first, second)))


def test_a_public_hash_as_noise_key_is_caught(monkeypatch) -> None:
    check_nobody_can_repeat_the_noise()
    check_nobody_can_repeat_the_noise(random_state=3)  # repeats, and therefore claims nothing
    assert "random_state" in fitted(people(), random_state=3).privacy_ledger().sentence()

    def keyed_by_configuration(self) -> KeyedRNG:
        digest = hashlib.sha256(repr((self.epsilon, self.delta, self.test)).encode()).digest()
        return KeyedRNG.from_seed(int.from_bytes(digest, "big"))

    monkeypatch.setattr(PlausibleDeniabilitySynthesizer, "_fit_rng", keyed_by_configuration)
    with pytest.raises(AssertionError):
        check_nobody_can_repeat_the_noise()


def check_no_row_moves_the_domain(**changes) -> None:
    """One row with an extreme value or a new category: the domain stays, or no privacy is claimed."""
    usual, extreme = people(), people(oldest=99)
    extreme.loc[1, "city"] = "Chur"
    first, second = (fitted(t, **changes) for t in (usual, extreme))
    if first.privacy_ledger().claims_privacy:
        assert first._codec.domain == second._codec.domain
        assert first.sample(2)["age"].dtype == second.sample(2)["age"].dtype


def test_no_row_moves_the_domain(monkeypatch) -> None:
    inferred = {"domain": None, "undeclared": "infer"}
    check_no_row_moves_the_domain()
    check_no_row_moves_the_domain(**inferred)  # it moves, and therefore nothing is claimed
    entries = fitted(people(), **inferred).privacy_ledger().entries
    assert any(isinstance(loss, InfiniteLoss) for e in entries for loss in e.losses)
    infer = (
        inferred_domains.infer_attribute
    )  # planted: a domain from the largest value, as if it were declared
    as_if_declared = lambda *args, **kwargs: replace(infer(*args, **kwargs), provenance="declared")  # noqa: E731
    monkeypatch.setattr(inferred_domains, "infer_attribute", as_if_declared)
    with pytest.raises(AssertionError):
        check_no_row_moves_the_domain(**inferred)


@dataclass(frozen=True)
class Thief(Learner):
    """Looks at the rows without noise and tells the ledger nothing."""

    def plan(self, domain, budget):
        return []

    makes = BayesianNetwork

    def fit(self, rows, domain, budget, rng):
        return learn(PaperNetwork(), rows._rows.records(), domain, FREE, PrivacyLedger(delta=1e-6), rng)


def test_the_ledger_does_not_vouch_for_a_learner_of_the_user_that_charges_nothing() -> None:
    ledger = fitted(people(), model=Thief()).privacy_ledger()
    assert not ledger.claims_privacy

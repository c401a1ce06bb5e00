"""Bugs that other libraries have had, replayed: the same checker passes the shipped code and catches each of them."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from doors import door, learn

from sdv_plausible import PlausibleDeniabilitySynthesizer
from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.models.base import Learner, ModelBudget
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.models.paper.entropies import ENTROPY_GRID, count_entropies
from sdv_plausible.models.paper.paper_network import PaperNetwork
from sdv_plausible.models.paper.shares import LearningPlan
from sdv_plausible.privacy.accounting.losses import GaussianLoss, InfiniteLoss
from sdv_plausible.privacy.accounting.sensitivity import entropy_sensitivity, entropy_sensitivity_in_steps
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise import mechanisms as noise
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.questions.budget import Meter
from sdv_plausible.questions.codes import CodeArray
from sdv_plausible.questions.counts import Axis, CountTable
from sdv_plausible.questions.queryable import Queryable
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.learned import inference
from tests.flat import values

CARDS = (3, 2, 4)
DOMAIN = Domain(
    tuple(Attribute(name=f"c{j}", kind="categorical", values=tuple(range(c))) for j, c in enumerate(CARDS))
)
BUDGET = ModelBudget(epsilon=1.0, delta=1e-6)
FREE = ModelBudget(epsilon=math.inf, delta=1e-6)
LEARNERS = [
    AdaptiveNetwork(),
    PaperNetwork(structure="cfs"),
    PaperNetwork(structure="independent"),
    PaperNetwork(structure={"c1": ["c0"], "c2": ["c1"]}),
]
by_learner = pytest.mark.parametrize(
    "learner", LEARNERS, ids=["adaptive", "cfs", "independent", "given arcs"]
)


def rows(n: int = 2000) -> np.ndarray:
    rng = np.random.default_rng(5)
    first = rng.integers(0, 3, n)
    return np.stack([first, first % 2, rng.integers(0, 4, n)], axis=1).astype(np.int32)


# ---- noise n times too small, budget spent twice ------------------------------------------------------------------------


def check_noise_pays_for_the_charge(learner) -> None:
    """The noise that was drawn costs no more than what the ledger was charged, which stays within the budget."""
    ledger, codes = PrivacyLedger(delta=BUDGET.delta), rows()
    with noise.record_calls() as calls:
        learn(learner, codes, DOMAIN, BUDGET, ledger, Coins.from_os_entropy())
    spent = sum(
        (c.sensitivity / c.scale) ** 2 for c in calls
    )  # a call on a vector costs what its stated sensitivity says
    gaussian = [loss for e in ledger.entries for loss in e.losses if isinstance(loss, GaussianLoss)]
    charged = sum(loss.count * loss.sensitivity_over_sigma**2 for loss in gaussian)
    assert calls
    assert spent <= charged * (1 + 1e-6)
    assert ledger.total() <= BUDGET.epsilon * (1 + 1e-6)


@by_learner
def test_the_noise_pays_for_the_charge(learner) -> None:
    check_noise_pays_for_the_charge(learner)


@by_learner
def test_noise_n_times_too_small_is_caught(learner, monkeypatch) -> None:
    """Counts are turned into frequencies after noise whose sensitivity is already that of frequencies, 1/n."""
    exact, n = noise.discrete_gaussian, len(rows())

    def of_frequencies(values, *, rho, **how):
        return exact(values, rho=min(rho * n**2, 1e12), **how)

    monkeypatch.setattr(noise, "discrete_gaussian", of_frequencies)
    with pytest.raises(AssertionError):
        check_noise_pays_for_the_charge(learner)


def test_the_noise_has_the_scale_that_the_spy_reports() -> None:
    """Sample variance of 20,000 cells within 6 of its standard deviations: false alarm below 1e-8."""
    asked = door(np.zeros((0, 1), dtype=np.int32), (20_000,), 0.5)
    for share in (0.04, 0.5):
        drawn = asked.ask(CountTable([Axis.of_codes(0, 20_000)]), share).values
        assert abs(drawn.var() / asked.sigma(share) ** 2 - 1) < 6 * math.sqrt(2 / 20_000)
        assert abs(drawn.var() / (asked.sigma(share) / 1.1) ** 2 - 1) > 6 * math.sqrt(
            2 / 20_000
        )  # control: 10 % too small


@pytest.mark.parametrize("kind", ["adaptive", "given arcs"])
def test_a_budget_spent_twice_is_caught(kind: str, monkeypatch) -> None:
    """Every stage takes the whole budget, which is charged once."""
    if kind == "adaptive":
        monkeypatch.setattr(Meter, "spend", lambda self, **costs: None)
        honest = Queryable._noisy
        monkeypatch.setattr(
            Queryable, "_noisy", lambda self, exact, sensitivity, share: honest(self, exact, sensitivity, 1.0)
        )
        learner = AdaptiveNetwork()
    else:
        monkeypatch.setattr(Meter, "spend", lambda self, **costs: None)
        learner = LEARNERS[3]
        entries = LearningPlan.entries
        monkeypatch.setattr(LearningPlan, "entries", lambda self, structure: entries(self, structure)[:1])
        monkeypatch.setattr(LearningPlan, "each", lambda self, stage: [1.0] * self.releases(stage))
    with pytest.raises(AssertionError):
        check_noise_pays_for_the_charge(learner)


# ---- sensitivity of another function ------------------------------------------------------------------------------------


def joint_tables(n: int):
    """All tables of n rows over two columns with two values each, as codes (n, 2)."""
    cells = np.array(list(itertools.product(range(2), range(2))), dtype=np.int32)
    for chosen in itertools.combinations_with_replacement(range(4), n):
        yield cells[list(chosen)]


def check_sensitivity(function: Callable[[np.ndarray], np.ndarray], bound: Callable[[int], float]) -> None:
    """Adding one row changes no entry of the function by more than the bound, over all small tables."""
    for n in range(1, 7):
        for table in joint_tables(n):
            before = function(table)
            for row in itertools.product(range(2), range(2)):
                changed = np.abs(function(np.vstack([table, np.array([row], dtype=np.int32)])) - before).max()
                assert changed <= bound(n) + 1e-12, f"{changed} at n = {n}"


def entropies(table: np.ndarray):
    return count_entropies(CodeArray(table, (2, 2)), (2, 2), [np.arange(2), np.arange(2)])


def mutual_information(table: np.ndarray) -> np.ndarray:
    e = entropies(table)
    return np.array([e.single[0] + e.single[1] - e.joint[0, 1]])


def test_the_noisy_entropies_have_the_sensitivity_that_is_used() -> None:
    check_sensitivity(lambda t: entropies(t).flatten(), entropy_sensitivity)
    check_sensitivity(
        lambda t: np.rint(entropies(t).flatten() / ENTROPY_GRID),
        lambda n: entropy_sensitivity_in_steps(n, ENTROPY_GRID),
    )


@pytest.mark.parametrize(
    ("function", "bound"),
    [
        # The correlation that the structure search ends up with is not what noise was drawn for.
        (lambda t: entropies(t).correlation(), entropy_sensitivity),
        # PrivBayes' bound on mutual information, used for its normalised form.
        (
            lambda t: mutual_information(t) / np.maximum(entropies(t).single.min(), 1e-9),
            lambda n: 2 / (n + 1) * math.log2((n + 2) / 2) + n / (n + 1) * math.log2((n + 2) / max(n, 1)),
        ),
        # One row's share of the table, as if entropies were averages over rows.
        (lambda t: entropies(t).flatten(), lambda n: 1 / (n + 1)),
    ],
    ids=["symmetrical uncertainty", "normalised mutual information", "average"],
)
def test_the_sensitivity_of_another_function_is_caught(function, bound) -> None:
    with pytest.raises(AssertionError, match="at n ="):
        check_sensitivity(function, bound)


# ---- a public hash as noise key -----------------------------------------------------------------------------------------

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
    plain = {name: {"sdtype": spec["sdtype"]} for name, spec in COLUMNS.items()}
    synth = PlausibleDeniabilitySynthesizer(
        metadata_from_columns(plain), **values(**{"domain": ranges, **changes})
    )
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
        assert len(tables[0]) != len(tables[1]) or not np.array_equal(*tables)
        assert not np.array_equal(
            first._sampler.coins.spawn("x").words(4), second._sampler.coins.spawn("x").words(4)
        )


def test_nobody_can_repeat_the_noise() -> None:
    check_nobody_can_repeat_the_noise()
    check_nobody_can_repeat_the_noise(random_state=3)  # repeats, and therefore claims nothing
    assert "random_state" in fitted(people(), random_state=3).privacy_ledger().sentence()


def test_a_public_hash_as_noise_key_is_caught(monkeypatch) -> None:
    def keyed_by_configuration(self) -> Coins:
        digest = hashlib.sha256(repr((self.epsilon, self.delta, self.test)).encode()).digest()
        return Coins.from_seed(int.from_bytes(digest, "big"))

    monkeypatch.setattr(PlausibleDeniabilitySynthesizer, "_fit_coins", keyed_by_configuration)
    with pytest.raises(AssertionError):
        check_nobody_can_repeat_the_noise()


# ---- a domain from max() --------------------------------------------------------------------------------------------------


def check_no_row_moves_the_domain(**changes) -> None:
    """One row with an extreme value or a new category: the domain stays, or no privacy is claimed."""
    usual, extreme = people(), people(oldest=99)
    extreme.loc[1, "city"] = "Chur"
    first, second = (fitted(t, **changes) for t in (usual, extreme))
    if first.privacy_ledger().claims_privacy:
        assert first._codec.domain == second._codec.domain
        assert first.sample(2)["age"].dtype == second.sample(2)["age"].dtype


def test_no_row_moves_the_domain() -> None:
    check_no_row_moves_the_domain()
    check_no_row_moves_the_domain(
        domain=None, undeclared="infer"
    )  # inferred: moves, and therefore claims nothing
    inferred = fitted(people(), domain=None, undeclared="infer").privacy_ledger()
    assert any(isinstance(loss, InfiniteLoss) for e in inferred.entries for loss in e.losses)


def test_a_domain_from_the_largest_value_is_caught(monkeypatch) -> None:
    infer = inference.infer_attribute

    def as_if_declared(*args, **kwargs):
        return replace(infer(*args, **kwargs), provenance="declared")

    monkeypatch.setattr(inference, "infer_attribute", as_if_declared)
    with pytest.raises(AssertionError):
        check_no_row_moves_the_domain(domain=None, undeclared="infer")


# ---- a learner that charges nothing ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Thief(Learner):
    """Looks at the rows without noise and tells the ledger nothing."""

    def plan(self, domain, budget):
        return []

    makes = BayesianNetwork

    def fit(self, rows, domain, budget, coins):
        return learn(PaperNetwork(), rows._rows.records(), domain, FREE, PrivacyLedger(delta=1e-6), coins)


def test_the_ledger_does_not_vouch_for_a_learner_of_the_user_that_charges_nothing() -> None:
    ledger = fitted(people(), model=Thief()).privacy_ledger()
    assert not ledger.claims_privacy


@pytest.mark.filterwarnings("ignore:Parsing dates:UserWarning")
def test_no_row_changes_how_others_are_read() -> None:
    """Texts that may be day or month first: the first row decides about all others (learning.md, Lemma 1)."""
    ends = {
        "lower": tuple(range(0, 10**18, 10**16)),
        "upper": tuple(e + 10**16 - 1 for e in range(0, 10**18, 10**16)),
    }
    codec = Codec(Domain((Attribute(name="when", kind="datetime", nullable=True, **ends),)))
    texts = ["13.02.1990", *["02.12.1990"] * 5]
    whole = codec.encode(pd.DataFrame({"when": texts}), Coins.from_seed(0))
    assert (whole[1:] == codec.encode(pd.DataFrame({"when": texts[1:]}), Coins.from_seed(0))).all()

"""A plan is what the ledger of the fit will say, word by word; and it is told no row."""

from __future__ import annotations

import inspect
import math
import re

import numpy as np
import pandas as pd
import pytest
from cases import each_once
from doors import fit_codes

from sdv_plausible import Budget, PlausibleDeniabilitySynthesizer, RandomizedTest, ReleaseTest, metadata_of
from sdv_plausible.extensions.models.paper.paper_network import PaperNetwork
from sdv_plausible.fitting.plan import HARDLY_ANY, TRIED_EPSILONS, epsilon_for, plan
from sdv_plausible.models import make_learner
from sdv_plausible.models.base import Learner, SeedModel
from sdv_plausible.privacy.accounting.composition import calibrate_gaussian
from sdv_plausible.privacy.accounting.losses import GaussianLoss, InfiniteLoss
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.table.columns.domain import Attribute, Domain
from tests.flat import settings_of

DOMAIN = Domain(tuple(Attribute(name=n, kind="ordinal", values=tuple(range(c))) for n, c in (("a", 3), ("b", 2), ("c", 4))))  # fmt: skip
ROWS = np.random.default_rng(0).integers(0, DOMAIN.cardinalities, (3000, 3)).astype(np.int32)
COST = (GaussianLoss(sensitivity_over_sigma=0.05),)
EXTRA = (LedgerEntry(name="domain", mechanism="learned", losses=COST, scope=""),)
USUAL = {
    "epsilon": 1.0, "delta": 1e-6, "k": 30, "gamma": 4.0, "epsilon0": 1.0, "omega": None, "test": "release",
    "row_cap": 50, "seed_free_share": 0.5,
}  # fmt: skip


def settings(**changed):
    return settings_of(**{**USUAL, **changed})


def fitted(made, learner, *extra):
    ledger = PrivacyLedger(delta=1e-6, covers=made.test.covers)
    ledger.charge(*extra)
    fit_codes(ROWS, DOMAIN, made, learner, ledger, KeyedRNG.from_seed(0))
    return ledger


@pytest.mark.parametrize("privacy_test", ["release", "randomized", "deterministic"])
@pytest.mark.parametrize(
    ("structure", "omega", "epsilon"),
    each_once([None, "cfs", {"b": ["a"]}, "independent"], [None, 2], [1.0, 1.0, math.inf]),
)
def test_a_plan_is_the_ledger_of_the_fit(privacy_test, omega, structure, epsilon):
    made = settings(test=privacy_test, omega=omega, epsilon=epsilon)
    learner = make_learner("bayesian_network") if structure is None else PaperNetwork(structure=structure)
    planned = plan(made, learner, DOMAIN, extra=EXTRA).ledger
    ledger = fitted(made, learner, *EXTRA)
    assert ledger.entries == planned.entries
    assert str(ledger) == str(planned)
    if epsilon == 1.0 and privacy_test == "release" and omega is None:
        assert 0.95 < ledger.total() <= 1.0 + 1e-9


def test_a_plan_counts_with_the_secret_split_of_the_fit():
    """Control: without the split both would say more."""
    made, learner = settings(omega=1, k=5, split=(0.2, 0.3, 0.5)), PaperNetwork()
    planned = plan(made, learner, DOMAIN).ledger
    ledger = fitted(made, learner)
    assert ledger.split == planned.split
    assert ledger.total() == planned.total()
    ledger.split = None
    assert ledger.total() > planned.total()


def test_what_to_expect():
    learner = make_learner("bayesian_network")
    made = plan(settings(test="randomized", row_cap=50), learner, DOMAIN, num_rows=51, table_rows=999)
    assert [warning.split(" (")[0] for warning in made.warnings[:2]] == ["num_rows", "least_rows"]
    assert made.forecast.rows == 999
    assert "999" in str(made)
    assert str(made.ledger) in str(made)
    costly = plan(settings(test="randomized", row_cap=20_000), learner, DOMAIN)
    assert costly.ledger.total() > HARDLY_ANY
    assert any("hardly any protection" in warning for warning in costly.warnings)
    assert plan(settings(), learner, DOMAIN).forecast is None
    for name in ("num_rows", "table_rows"):
        with pytest.raises(ValueError, match=rf"^{name} \(0\)"):
            plan(settings(), learner, DOMAIN, **{name: 0})
    told = {"settings", "learner", "domain", "num_rows", "table_rows", "extra", "assumed", "public"}
    assert set(inspect.signature(plan).parameters) == told


def check_that_nothing_is_spent(tmp_path) -> None:
    """A plan and a fit of a million rows are refused, with the call to write, and the budget is whole."""
    columns = {"a": {"sdtype": "categorical", "range_values": ["x", "y"]}}
    path = tmp_path / "budget"
    budget = Budget(epsilon=10.0**7, delta=1e-6, path=path)
    unspent = path.read_bytes()
    synth = PlausibleDeniabilitySynthesizer(
        metadata_of(columns), domain=columns, test="randomized", budget=budget
    )
    calls = r"RandomizedTest\(row_cap=1_000\). RandomizedTest.within\(rows=1_000, least_rows=20_000\)"
    for call in (synth.plan, lambda: synth.fit(pd.DataFrame({"a": ["x", "y"] * 1000}))):
        with pytest.raises(ValueError, match=rf"^row_cap \(1,000,000, the default\).*{calls}"):
            call()
    assert path.read_bytes() == unspent


def test_rows_that_nobody_limited_are_refused_before_anything_is_spent(tmp_path, monkeypatch):
    check_that_nothing_is_spent(tmp_path)
    monkeypatch.setattr("sdv_plausible.fitting.plan._check_row_cap", lambda *_: None)
    (tmp_path / "again").mkdir()
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_that_nothing_is_spent(tmp_path / "again")


def test_a_million_rows_are_planned_where_they_cost_little_or_nothing_is_claimed():
    learner, many = make_learner("bayesian_network"), {"row_cap": None}
    for made in (
        settings(test="deterministic", **many),
        settings(test="randomized", epsilon=math.inf, **many),
        settings(test="randomized", **many, least_rows=10**9, k=20_000, epsilon0=1e-3),
    ):
        assert plan(made, learner, DOMAIN).ledger.entries
    with pytest.raises(ValueError, match="^row_cap"):
        plan(settings(test="randomized", **many), learner, DOMAIN)


@pytest.mark.filterwarnings("default:a total epsilon of")
def test_a_total_above_ten_is_warned_of_by_plan_and_fit_with_what_lowers_it():
    """A million rows by hand, too; the default alone is refused."""
    columns, rows = {"a": {"sdtype": "categorical", "range_values": ["x", "y"]}}, ["x", "y"] * 1000
    for test, epsilon, names in (
        (RandomizedTest(row_cap=10**6), 1.0, r"epsilon, row_cap \(1,000,000\) or epsilon0"),
        (ReleaseTest(omega=0, epsilon0=12.0), 1.0, "epsilon or epsilon0$"),
        ("release", 11.0, "epsilon$"),
    ):
        synth = PlausibleDeniabilitySynthesizer(
            metadata_of(columns), domain=columns, test=test, epsilon=epsilon
        )
        (said,) = [text for text in synth.plan().warnings if "hardly any protection" in text]
        assert re.search(f"lower {names}", said)
        with pytest.warns(UserWarning, match=re.escape(said)):
            synth.fit(pd.DataFrame({"a": rows}))


def test_of_a_split_the_rows_that_learn_are_forecast():
    planned = ((None, 2000), ((0.25, 0.25, 0.5), 2000), (None, 1000))
    whole, half, fewer = (
        plan(settings(split=split), make_learner("bayesian_network"), DOMAIN, table_rows=rows)
        for split, rows in planned
    )
    assert half.forecast.columns == fewer.forecast.columns
    assert half.forecast.rows == whole.forecast.rows == 2000
    assert half.rows_needed > whole.rows_needed


def test_a_learner_that_foresees_nothing_and_one_of_the_wrong_model():
    class Plain(Learner):
        makes = SeedModel

        def plan(self, domain, budget):
            return [budget.entry("something")]

        def fit(self, rows, domain, budget, rng):
            raise NotImplementedError

    made = plan(settings(test="deterministic"), Plain(), DOMAIN, table_rows=500)
    assert (made.forecast, made.rows_needed) == (None, None)
    with pytest.raises(ValueError, match="prefix groups"):
        plan(settings(), Plain(), DOMAIN)


# --- an advantage in the place of epsilon -------------------------------------------------------------


def ledger_at(epsilon, *more):
    ledger = PrivacyLedger(delta=1e-9)
    loss = GaussianLoss(sensitivity_over_sigma=calibrate_gaussian(epsilon, 1e-9))
    ledger.charge(LedgerEntry(name="model", mechanism="noise", losses=(loss,), scope="the model"), *more)
    return ledger


def test_the_largest_epsilon_that_keeps_an_advantage():
    """One that none keeps is refused, and one that all keep gives the largest that is tried."""
    for advantage in (0.01, 0.05, 0.3):
        epsilon = epsilon_for(advantage, ledger_at)
        assert ledger_at(epsilon).attackers().advantage <= advantage
        assert ledger_at(1.001 * epsilon).attackers().advantage > advantage
    seen = LedgerEntry(name="rows", mechanism="copied", losses=(InfiniteLoss(),), scope="rows")
    with pytest.raises(ValueError, match=r"max_advantage \(0.05\) cannot be reached by any epsilon from 0.01 on"):  # fmt: skip
        epsilon_for(0.05, lambda epsilon: ledger_at(epsilon, seen))
    assert epsilon_for(0.05, lambda _: PrivacyLedger(delta=1e-9)) == TRIED_EPSILONS[1]
    for wrong in (0, 1, -0.1, math.nan):
        with pytest.raises(ValueError, match="^max_advantage"):
            epsilon_for(wrong, ledger_at)


@pytest.mark.filterwarnings("ignore:invalid value")  # the last figures before NumPy has no words
def test_figures_beyond_all_sense_are_refused_in_words():
    """What a solver or a library's index says of them helps nobody."""
    columns = {"a": {"sdtype": "categorical", "range_values": ["x", "y"]}, "b": {"sdtype": "numerical"}}
    for model, epsilon, delta, said in (
        ("correlated", 3e3, 1e-9, "hundreds of epsilon"),
        ("bayesian_network", 1e300, 1e-9, "outside the range of double"),
        ("independent", 1.0, 1e-300, "outside the range of double"),
    ):
        options = {"epsilon": epsilon, "delta": delta, "model": model}
        synth = PlausibleDeniabilitySynthesizer(metadata_of(columns), domain=columns, **options)
        with pytest.raises(ValueError, match=said):
            synth.plan()

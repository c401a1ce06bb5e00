"""From codes to a release: the split, who is charged first, and what is refused."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from sdv_plausible.extensions.models.uniform import Uniform
from sdv_plausible.fitting.fit import fit_release, split_rows
from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.models.base import Learner, ModelBudget, SeedModel
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.models.learner_checks import planned_entries
from sdv_plausible.privacy.accounting.losses import GaussianLoss, PureDP, squares
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import BudgetExceededError, PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.noise.mechanisms import record_calls
from sdv_plausible.queries.count_queries import Axis, CodeArray
from sdv_plausible.table.columns.domain import Attribute, Domain
from tests.flat import settings_of


def test_a_split_is_disjoint_secret_and_in_proportion():
    """10,000 rows: false alarm 1e-6 for each part. Parts below 1 in all leave rows unused."""
    rows, shares = CodeArray(np.arange(10_000).reshape(-1, 1), [10_000]), (0.2, 0.3, 0.4)

    def parts(seed):
        split = split_rows(rows, shares, KeyedRNG.from_seed(seed))
        return {name: part.records()[:, 0].tolist() for name, part in split.items()}

    found = parts(0)
    ids = [*found["structure"], *found["parameters"], *found["seeds"]]
    assert len(set(ids)) == len(ids)
    assert set(found["learning"]) == {*found["structure"], *found["parameters"]}
    for name, share in zip(("structure", "parameters", "seeds"), shares, strict=True):
        low, high = binom.ppf([5e-7, 1 - 5e-7], 10_000, share)
        assert low <= len(found[name]) <= high
    assert parts(0) == found
    assert parts(1)["seeds"] != found["seeds"]
    assert all(part is rows for part in split_rows(rows, None, KeyedRNG.from_seed(0)).values())


# --- who is charged first ---------------------------------------------------------------------------------------------

DOMAIN = Domain(tuple(Attribute(name=n, kind="ordinal", values=tuple(range(c))) for n, c in (("a", 3), ("b", 2), ("c", 4))))  # fmt: skip
ROWS = np.random.default_rng(0).integers(0, DOMAIN.cardinalities, (2000, 3)).astype(np.int32)
CODES = CodeArray(ROWS, DOMAIN.cardinalities)
USUAL = {
    "epsilon": 1.0, "delta": 1e-6, "k": 30, "gamma": 4.0, "epsilon0": 1.0, "omega": None, "test": "release",
    "row_cap": 50, "seed_free_share": 0.5,
}  # fmt: skip


class LookedAtError(Exception):
    """Somebody touched the rows."""


class Untouchable:
    """Stands in for rows: every use is seen."""

    def __getattribute__(self, name):
        raise LookedAtError(name)


class Watched(CodeArray):
    """Rows that note, at every look, which entries the ledger has."""

    def __init__(self, ledger):
        super().__init__(ROWS, DOMAIN.cardinalities)
        self.ledger, self.looks = ledger, []

    def __getattribute__(self, name):
        if name in ("num_rows", "tables", "groups", "records"):
            self.looks.append((name, tuple(entry.name for entry in self.ledger.entries)))
        return super().__getattribute__(name)


def settings(**changed):
    return settings_of(**{**USUAL, **changed})


def empty(**limit):
    return PrivacyLedger(delta=1e-6, **limit)


def fit(rows, made, ledger, learner=None, rng=None):
    return fit_release(rows, DOMAIN, made, learner or AdaptiveNetwork(), ledger, rng or KeyedRNG.from_seed(0))


@pytest.mark.parametrize(("privacy_test", "omega"), [("release", None), ("release", 1), ("randomized", 1)])
def test_every_look_finds_its_entry_in_the_ledger(privacy_test, omega):
    """The seeds' entries come first: what checks a public claim is looked at before the model is paid for."""
    ledger, by_row = empty(), privacy_test == "randomized"
    rows = Watched(ledger)
    fit(rows, settings(test=privacy_test, omega=omega), ledger)
    seeds = ("size", "rows") if by_row else ("seeds",)
    whole = (*seeds, "model")
    by_look = dict(reversed(rows.looks))  # the first of each
    assert by_look["tables"] == whole
    assert by_look["num_rows"] == (seeds if by_row else whole)
    if omega == 1:
        assert by_look["records" if by_row else "groups"] == (*whole, "plausible deniability")
    else:
        assert not {"records", "groups"} & set(by_look)  # where all is resampled, no seed is looked at


def test_a_ledger_that_refuses_has_seen_no_row():
    """Control: one that agrees sees the rows touched. Only the number of seeds was asked; the model's entry is not in the ledger."""
    for privacy_test in ("release", "randomized", "deterministic"):
        made = settings(test=privacy_test, omega=1)
        with record_calls() as calls, pytest.raises(BudgetExceededError):
            fit(Untouchable(), made, empty(limit=1e-3))
        assert not calls
        with pytest.raises(LookedAtError):
            fit(Untouchable(), made, empty())
    ledger = empty()
    rows = Watched(ledger)
    with record_calls() as calls, pytest.raises(ValueError, match=r"least_rows \(1000000\) is not confirmed"):
        fit(rows, settings(test="randomized", omega=1, least_rows=10**6), ledger)
    assert [call.name for call in calls] == ["discrete_laplace"]
    assert [name for name, _ in rows.looks] == ["num_rows"]
    assert [entry.name for entry in ledger.entries] == ["size", "rows"]


@pytest.mark.parametrize(
    ("split", "least_rows"), [(None, 1990), ((0.25, 0.25, 0.5), 1400)], ids=["all rows", "split"]
)
def test_the_bound_is_held_against_the_rows_that_are_seeds(split, least_rows):
    """2000 rows, half of them seeds under the split. Control: a bound that stands is fitted."""
    usual, ledger = {"test": "randomized", "omega": 1, "split": split}, empty()
    with contextlib.suppress(ValueError):
        fit(CODES, settings(**usual, least_rows=least_rows), ledger)
    assert [entry.name for entry in ledger.entries] == ["size", "rows"]  # and there it ended
    fit(CODES, settings(**usual, least_rows=600), empty())


def test_the_budget_of_the_model_leaves_room_for_what_was_charged():
    """A domain that was learned before takes its part: the total stays within the epsilon that was asked for."""
    loss = GaussianLoss(sensitivity_over_sigma=0.1)
    mus = []
    for extra in ((), (LedgerEntry(name="domain", mechanism="", losses=(loss,), scope=""),)):
        ledger = empty()
        ledger.charge(*extra)
        fit(CODES, settings(), ledger)
        assert 0.95 < ledger.total() <= 1.0 + 1e-9
        mus.append(squares(ledger.entries[-2].losses))
    assert mus[1] < mus[0]


# --- what is refused --------------------------------------------------------------------------------------------------


class Liar(Learner):
    """A learner that says it makes one kind of model and gives another."""

    makes = BayesianNetwork

    def plan(self, domain, budget):
        return [budget.entry("nothing")]

    def fit(self, rows, domain, budget, rng):
        return object()


def test_a_model_of_another_kind_is_refused():
    """Unseen, where the test cannot use it."""
    with pytest.raises(
        TypeError, match=r"the learner \(Liar\) must return BayesianNetwork, but returned object"
    ):
        fit(CODES, settings(), empty(), Liar())
    ledger = empty()
    for wrong in (SeedModel, None):
        learner = Liar()
        learner.makes = wrong
        with pytest.raises(ValueError, match="needs a model with prefix groups"):
            fit(Untouchable(), settings(), ledger, learner)
    assert ledger.entries == ()
    with pytest.raises(ValueError, match=r"omega \(4\) must be .* between 0 and 3"):
        fit(CODES, settings(omega=4), empty())


# --- coins ------------------------------------------------------------------------------------------------------------


def test_noise_learning_and_sampling_have_coins_of_their_own():
    """The same sampling coins whatever was learned; and no two stages share a stream."""
    drawn = []
    for test, learner in (("release", Uniform()), ("randomized", AdaptiveNetwork())):
        sampler = fit(CODES, settings(test=test, omega=1), empty(), learner, KeyedRNG.from_seed(3))
        drawn.append(sampler.rng.spawn("x").uniform(5).tolist())
    assert drawn[0] == drawn[1]
    stages = (KeyedRNG.from_seed(3).spawn(name) for name in ("release", "learning", "sampling", "split"))
    streams = {tuple(rng.spawn("x").uniform(5)) for rng in stages}
    assert len(streams) == 4
    assert tuple(drawn[0]) in streams


def test_of_a_split_each_stage_sees_its_own_rows():
    """Structure, parameters and seeds: three disjoint parts, asked by name."""
    seen = {}
    numbered = Domain((Attribute(name="row", kind="ordinal", values=tuple(range(2000))),))

    def asked(rows):
        (answer,) = rows.ask_tables([[Axis.of_codes(0, 2000)]], [0.1])
        return set(np.flatnonzero(answer.values).tolist())

    class Looks(Liar):
        def fit(self, rows, domain, budget, rng):
            seen.update({part: asked(rows.part(part)) for part in ("structure", "parameters")})
            seen["both"] = asked(rows)
            assert asked(rows.part("seeds")) == seen["both"]  # no learner is given a row of the seeds
            return Uniform().fit(rows, domain, budget, rng)

    made = settings(epsilon=float("inf"), test="deterministic", omega=1, split=(0.2, 0.3, 0.4))
    rows = CodeArray(np.arange(2000).reshape(-1, 1), (2000,))
    sampler = fit_release(rows, numbered, made, Looks(), empty(), KeyedRNG.from_seed(1))
    seen["seeds"] = set(sampler.mechanism.model.seeds[:, 0].tolist())
    assert seen["both"] == seen["structure"] | seen["parameters"]
    assert not seen["structure"] & seen["parameters"]
    assert not seen["seeds"] & seen["both"]
    assert min(map(len, seen.values())) > 300


def test_a_learners_entry_is_for_the_rows_that_it_is_given():
    """Under a split an entry of other rows would be counted as theirs: less than it costs."""
    own = LedgerEntry(name="own", mechanism="own", losses=(PureDP(epsilon=1.0),), scope="the model")

    def planned(*parts):
        class Own(Uniform):
            def plan(self, domain, budget):
                return [replace(own, parts=parts)]

        return planned_entries(Own(), Domain(()), ModelBudget(epsilon=1.0, delta=1e-6))

    assert planned() == [replace(own, parts=("structure", "parameters"))]  # of both, and no others
    for parts in (("seeds",), ("domain",), ("structure", "seeds")):
        with pytest.raises(ValueError, match="a learner gets no other rows"):
            planned(*parts)

"""Checks of a model or a learner of your own, in the manner of scikit-learn's estimator checks.

They raise ``AssertionError`` with what is wrong. A check that draws is exact up to a stated false-alarm
probability; it finds plain mistakes (a likelihood that does not belong to the sampling, a cost that was not
planned), and is no proof.
"""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Sequence

import numpy as np
from scipy.stats import chisquare

from sdv_plausible.models.base import Learner, ModelBudget, PrefixModel, Proposals, SeedModel
from sdv_plausible.models.learner_checks import makes, planned_entries
from sdv_plausible.models.model_types import type_of
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.plausible_seeds import scan_plausible_seeds
from sdv_plausible.queries.coded_rows import CodeArray
from sdv_plausible.queries.queryable import Queryable, SeedRecords
from sdv_plausible.table.columns.domain import Attribute, Domain

FALSE_ALARM = 1e-9  # of each comparison of sampling and likelihood
DRAWS = 20_000  # candidates of each comparison
MOST_CANDIDATES = 4096  # universes up to here are enumerated
LEAST_EXPECTED = 5.0  # of a cell of the chi-square test
GAMMA = 2.0
NUM_SEEDS = 40
FEW_SEEDS = 3  # whose latent points are compared

TINY = (3, 2, 2)  # cardinalities of the domain on which likelihoods are checked
AWKWARD = ((1,), (4,), (1, 1), (1, 5, 2), (2, 300))
BUDGETS = (ModelBudget(epsilon=1.0, delta=1e-6), ModelBudget(epsilon=0.05, delta=1e-9))


def check_model(model: SeedModel, cardinalities: Sequence[int]) -> None:
    """Check a fitted model: its likelihood against its sampling, and its counts against a scan of all seeds.

    Parameters
    ----------
    model : SeedModel
        Fitted, over columns with these numbers of codes. Seeds are attached to it while it is checked.
    cardinalities : sequence of int
        Number of codes of every column. The product must be at most 4,096: the check enumerates all
        candidates.

    Raises
    ------
    AssertionError
        If the model is not what it says.
    ValueError
        If there are too many candidates to enumerate.
    """
    if math.prod(cardinalities) > MOST_CANDIDATES:
        raise ValueError(
            f"cardinalities (of {len(cardinalities)} columns) give {math.prod(cardinalities):,} candidates, "
            f"above {MOST_CANDIDATES:,}: fit the model to fewer or smaller columns for this check"
        )
    assert isinstance(model, SeedModel), (
        f"a model must derive from SeedModel or PrefixModel, not {type(model).__name__}"
    )
    m = len(cardinalities)
    assert model.num_attributes == m, f"num_attributes is {model.num_attributes} for {m} columns"
    assert sorted(model.order) == list(range(m)), f"order {model.order} must name every column once"
    universe = np.array(list(itertools.product(*(range(c) for c in cardinalities))), dtype=np.int32)
    state, coins = dict(model.__dict__), KeyedRNG.from_seed(0)
    seeds = universe[coins.integers(len(universe), NUM_SEEDS)]
    try:
        model.attach_seeds(SeedRecords(seeds))
        for omega in range(m + 1):
            if model.in_latent_space and not isinstance(model, PrefixModel):
                _check_points(model, omega, coins)
            else:
                _check_likelihood(model, universe, seeds, omega, coins)
            _check_counts(model, len(seeds), omega, coins)
        _check_copies(model)
    finally:
        model.__dict__.clear()
        model.__dict__.update(state)
    tested = model.for_row_tests()
    if tested is not model:
        check_model(tested, cardinalities)


def check_learner(learner: Learner) -> None:
    """Check a learner on small and awkward tables: what it plans, what it asks, and the models that it makes.

    Parameters
    ----------
    learner : Learner
        Of the package, or your own.

    Raises
    ------
    AssertionError
        If a rule is broken; the text says which.
    """
    assert isinstance(learner, Learner), f"a learner must derive from Learner, not {type(learner).__name__}"
    for budget in BUDGETS:
        check_model(_fitted(learner, TINY, budget, 2000), TINY)
    for cardinalities in AWKWARD:
        for rows in (0, 1, 60):
            model = _fitted(learner, cardinalities, BUDGETS[0], rows)
            drawn = model.propose(*_of_one_seed(model, cardinalities), KeyedRNG.from_seed(1)).candidates
            assert ((drawn >= 0) & (drawn < np.array(cardinalities))).all(), (
                f"candidates leave the domain of cardinalities {cardinalities} after learning from {rows} "
                "rows"
            )
    free = ModelBudget(epsilon=math.inf, delta=1e-6)
    check_model(_fitted(learner, TINY, free, 2000), TINY)


def domain_of(cardinalities: Sequence[int]) -> Domain:
    """Columns c0, c1, ... with so many codes each, which are declared."""
    return Domain(
        tuple(
            Attribute(name=f"c{j}", kind="categorical", values=tuple(range(c)))
            for j, c in enumerate(cardinalities)
        )
    )


def _fitted(learner: Learner, cardinalities: Sequence[int], budget: ModelBudget, num_rows: int) -> SeedModel:
    """Fit as a release does, and check what that did to the ledger."""
    domain = domain_of(cardinalities)
    coins = KeyedRNG.from_seed(num_rows)
    codes = np.stack([coins.integers(c, num_rows) for c in cardinalities], axis=1).astype(np.int32)
    planned = planned_entries(learner, domain, budget)
    assert planned_entries(learner, domain, budget) == planned, (
        "plan must say the same again: it depends on domain and budget"
    )
    ledger = PrivacyLedger(delta=budget.delta)
    rows = Queryable(CodeArray(codes, cardinalities), ledger, planned, coins)
    model = learner.fit(rows, domain, budget, coins.spawn("fit"))
    claimed = all(entry.status != "no claim" for entry in planned)
    assert list(ledger.entries) == planned or not claimed, (
        "something was charged after the plan (raw rows?): let plan() say that no claim is made, or learn "
        "from answers"
    )
    if claimed:
        assert ledger.total() <= budget.epsilon * (1 + 1e-6), (
            f"the plan costs {rounded_up(ledger.total(), 4)}, above {budget.epsilon}"
        )
    assert isinstance(model, makes(learner)), (
        f"fit must give the {makes(learner).__name__} that makes promises"
    )
    return model


def _of_one_seed(model: SeedModel, cardinalities: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Proposals from one seed, with every omega."""
    model.attach_seeds(SeedRecords(np.zeros((1, len(cardinalities)), dtype=np.int32)))
    omegas = np.repeat(np.arange(len(cardinalities) + 1), 20)
    return np.zeros(len(omegas), dtype=np.int64), omegas


def _check_likelihood(
    model: SeedModel, universe: np.ndarray, seeds: np.ndarray, omega: int, coins: KeyedRNG
) -> None:
    """Candidates from one seed occur as often as their likelihoods say."""
    seed = np.zeros(len(universe), dtype=np.int64)
    everything = Proposals(candidates=universe, seeds=seed, omega=np.full(len(universe), omega))
    told = np.asarray(model.log_likelihood(everything, np.array([0])))
    assert told.shape == (len(universe), 1), (
        f"omega {omega}: log_likelihood has the shape {told.shape} for {len(universe)} candidates and one "
        f"seed, not {(len(universe), 1)}; log_completion must give one number for each candidate"
    )
    assert not np.isnan(told).any(), f"omega {omega}: a log likelihood is no number (NaN)"
    with np.errstate(divide="ignore"):
        likelihood = np.exp(told[:, 0])
    assert abs(likelihood.sum() - 1) < 1e-6, (
        f"omega {omega}: the likelihoods of all candidates from one seed add up to {likelihood.sum():.6g}, "
        "not to 1"
    )
    made = model.propose(np.zeros(DRAWS, dtype=np.int64), np.full(DRAWS, omega), coins)
    kept = list(model.order[: len(model.order) - omega])
    if isinstance(model, PrefixModel):
        assert (made.candidates[:, kept] == seeds[0, kept]).all(), (
            f"omega {omega}: a prefix model must keep {kept} of the seed"
        )
    cell = {tuple(row): i for i, row in enumerate(universe.tolist())}
    seen = np.bincount([cell[tuple(row)] for row in made.candidates.tolist()], minlength=len(universe))
    expected = DRAWS * likelihood
    assert not seen[expected == 0].any(), f"omega {omega}: a candidate of likelihood 0 was made"
    often = expected >= LEAST_EXPECTED
    observed, wanted = (
        np.append(seen[often], seen[~often].sum()),
        np.append(expected[often], expected[~often].sum()),
    )
    used = wanted > 0
    if used.sum() > 1:
        p = float(chisquare(observed[used], wanted[used] * observed[used].sum() / wanted[used].sum()).pvalue)
        assert p > FALSE_ALARM, (
            f"omega {omega}: candidates do not occur as often as their likelihoods say (p = {p:.3g})"
        )


def _check_points(model: SeedModel, omega: int, coins: KeyedRNG) -> None:
    """Latent points occur as often as their likelihoods say, as far as two seeds can tell."""
    # What two seeds' laws have in common, the sum of the smaller likelihood, is estimated from the points of
    # one and of the other, each time as a mean of values in [0, 1]: Hoeffding's inequality.
    slack = math.sqrt(math.log(2 / FALSE_ALARM) / DRAWS)
    made = [_points_of(model, seed, omega, coins) for seed in range(FEW_SEEDS)]
    for one, other in itertools.combinations(range(FEW_SEEDS), 2):
        rows = np.array([one, other])
        ratios = [model.log_likelihood(made[seed], rows) @ np.array([1.0, -1.0]) for seed in rows.tolist()]
        common = [float(np.exp(np.minimum(r, 0)).mean()) for r in (-ratios[0], ratios[1])]
        assert abs(common[0] - common[1]) <= slack, (
            f"omega {omega}: latent points do not occur as often as their likelihoods say (what seeds {one} "
            f"and {other} have in common is {common[0]:.4g} or {common[1]:.4g})"
        )


def _points_of(model: SeedModel, seed: int, omega: int, coins: KeyedRNG) -> Proposals:
    made = model.propose(np.full(DRAWS, seed, dtype=np.int64), np.full(DRAWS, omega), coins)
    assert made.latents is not None, "a model in latent space must give the latent point of every candidate"
    return made


def _check_counts(model: SeedModel, num_seeds: int, omega: int, coins: KeyedRNG) -> None:
    """Plausible seeds as the model counts them are those of the slow scan over all seeds."""
    rows = coins.integers(num_seeds, 30)
    made = model.propose(rows, np.full(len(rows), omega), coins)
    likelihood = model.log_likelihood(made, np.arange(num_seeds))
    own = likelihood[np.arange(len(rows)), rows]
    assert np.isfinite(own).all(), (
        f"omega {omega}: a candidate has likelihood 0 under the seed that it was made from"
    )
    scanned = scan_plausible_seeds(lambda r: likelihood[:, r], own, num_seeds, gamma=GAMMA)
    counted = model.count_plausible(made, GAMMA)
    assert (counted == scanned).all(), (
        f"omega {omega}: count_plausible gives {counted.tolist()}, a scan {scanned.tolist()}"
    )


def _check_copies(model: SeedModel) -> None:
    """A saved model, and one that went through a release file, propose what the original proposes."""
    _check_copy(model, pickle.loads(pickle.dumps(model)), "a saved and loaded model")
    known = type_of(model)
    if known is not None:
        copy = known.from_arrays(known.to_arrays(model))
        assert isinstance(copy, SeedModel), f"from_arrays gives a {type(copy).__name__}"
        copy.attach_seeds(SeedRecords(model.seeds))
        _check_copy(model, copy, "a model that went through its to_arrays and from_arrays")


def _check_copy(model: SeedModel, copy: SeedModel, what: str) -> None:
    rows = np.zeros(50, dtype=np.int64)
    omega = np.full(50, model.num_attributes)
    one, other = (m.propose(rows, omega, KeyedRNG.from_seed(3)).candidates for m in (model, copy))
    assert (one == other).all(), f"{what} proposes other candidates from the same coins"

"""Checks for custom models and learners, similar to scikit-learn's estimator checks.

They raise ``AssertionError`` with the reason. Statistical checks have a stated false-alarm probability. The
checks find plain mistakes, such as a likelihood that does not match the sampler or a cost that was not
planned. They do not prove correctness.
"""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Sequence

import numpy as np
from scipy.stats import chisquare

from sdv_plausible.models.base import Learner, ModelBudget, PrefixModel, Proposals, SeedModel
from sdv_plausible.models.learner_checks import model_class, planned_entries
from sdv_plausible.models.model_types import model_type_of
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.plausible_seeds import scan_plausible_seeds
from sdv_plausible.queries.count_queries import CodeArray
from sdv_plausible.queries.queryable import Queryable, SeedRecords
from sdv_plausible.table.columns.domain import Attribute, Domain

FALSE_ALARM = 1e-9  # false-alarm probability of each statistical comparison
DRAWS = 20_000  # candidates per comparison
MOST_CANDIDATES = 4096  # largest domain that is enumerated
LEAST_EXPECTED = 5.0  # smallest expected count of a cell of the chi-square test
GAMMA = 2.0
NUM_SEEDS = 40
FEW_SEEDS = 3  # seeds whose latent points are compared

TINY = (3, 2, 2)  # cardinalities of the domain for likelihood checks
AWKWARD = ((1,), (4,), (1, 1), (1, 5, 2), (2, 300))
BUDGETS = (ModelBudget(epsilon=1.0, delta=1e-6), ModelBudget(epsilon=0.05, delta=1e-9))


def check_model(model: SeedModel, cardinalities: Sequence[int]) -> None:
    """Check a fitted model: its likelihood against its sampler, and its seed counts against a full scan.

    Parameters
    ----------
    model : SeedModel
        Fitted model over columns with these cardinalities. The check attaches seeds temporarily.
    cardinalities : sequence of int
        Number of codes of each column. Their product must be at most 4,096, because the check enumerates all
        candidates.

    Raises
    ------
    AssertionError
        If the model violates its contract.
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
    state, rng = dict(model.__dict__), KeyedRNG.from_seed(0)
    seeds = universe[rng.integers(len(universe), NUM_SEEDS)]
    try:
        model.attach_seeds(SeedRecords(seeds))
        for omega in range(m + 1):
            if model.in_latent_space and not isinstance(model, PrefixModel):
                _check_points(model, omega, rng)
            else:
                _check_likelihood(model, universe, seeds, omega, rng)
            _check_counts(model, len(seeds), omega, rng)
        _check_copies(model)
    finally:
        model.__dict__.clear()
        model.__dict__.update(state)
    row_test_model = model.for_row_tests()
    if row_test_model is not model:
        check_model(row_test_model, cardinalities)


def check_learner(learner: Learner) -> None:
    """Check a learner on small and unusual tables: its plan, its queries and its fitted models.

    Parameters
    ----------
    learner : Learner
        A learner of this package, or your own.

    Raises
    ------
    AssertionError
        If the learner violates a rule, which the message names.
    """
    assert isinstance(learner, Learner), f"a learner must derive from Learner, not {type(learner).__name__}"
    for budget in BUDGETS:
        check_model(_fit_and_check(learner, TINY, budget, 2000), TINY)
    for cardinalities in AWKWARD:
        for rows in (0, 1, 60):
            model = _fit_and_check(learner, cardinalities, BUDGETS[0], rows)
            candidates = model.propose(
                *_one_seed_proposals(model, cardinalities), KeyedRNG.from_seed(1)
            ).candidates
            assert ((candidates >= 0) & (candidates < np.array(cardinalities))).all(), (
                f"candidates leave the domain of cardinalities {cardinalities} after learning from {rows} "
                "rows"
            )
    no_noise = ModelBudget(epsilon=math.inf, delta=1e-6)
    check_model(_fit_and_check(learner, TINY, no_noise, 2000), TINY)


def categorical_domain(cardinalities: Sequence[int]) -> Domain:
    """Return a domain of declared categorical columns c0, c1, ... with these cardinalities."""
    return Domain(
        tuple(
            Attribute(name=f"c{j}", kind="categorical", values=tuple(range(c)))
            for j, c in enumerate(cardinalities)
        )
    )


def _fit_and_check(
    learner: Learner, cardinalities: Sequence[int], budget: ModelBudget, num_rows: int
) -> SeedModel:
    """Fit as a release does, and check the effect on the ledger."""
    domain = categorical_domain(cardinalities)
    rng = KeyedRNG.from_seed(num_rows)
    codes = np.stack([rng.integers(c, num_rows) for c in cardinalities], axis=1).astype(np.int32)
    planned = planned_entries(learner, domain, budget)
    assert planned_entries(learner, domain, budget) == planned, (
        "plan must say the same again: it depends on domain and budget"
    )
    ledger = PrivacyLedger(delta=budget.delta)
    rows = Queryable(CodeArray(codes, cardinalities), ledger, planned, rng)
    model = learner.fit(rows, domain, budget, rng.spawn("fit"))
    has_guarantee = all(entry.status != "no claim" for entry in planned)
    assert list(ledger.entries) == planned or not has_guarantee, (
        "something was charged after the plan (raw rows?): let plan() say that no claim is made, or learn "
        "from answers"
    )
    if has_guarantee:
        assert ledger.total() <= budget.epsilon * (1 + 1e-6), (
            f"the plan costs {rounded_up(ledger.total(), 4)}, above {budget.epsilon}"
        )
    assert isinstance(model, model_class(learner)), (
        f"fit must give the {model_class(learner).__name__} that makes promises"
    )
    return model


def _one_seed_proposals(model: SeedModel, cardinalities: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Attach one seed and return its row numbers with every omega."""
    model.attach_seeds(SeedRecords(np.zeros((1, len(cardinalities)), dtype=np.int32)))
    omegas = np.repeat(np.arange(len(cardinalities) + 1), 20)
    return np.zeros(len(omegas), dtype=np.int64), omegas


def _check_likelihood(
    model: SeedModel, universe: np.ndarray, seeds: np.ndarray, omega: int, rng: KeyedRNG
) -> None:
    """Check that candidates from one seed occur as often as their likelihoods predict."""
    seed = np.zeros(len(universe), dtype=np.int64)
    universe_proposals = Proposals(candidates=universe, seeds=seed, omega=np.full(len(universe), omega))
    values = np.asarray(model.log_likelihood(universe_proposals, np.array([0])))
    assert values.shape == (len(universe), 1), (
        f"omega {omega}: log_likelihood has the shape {values.shape} for {len(universe)} candidates and one "
        f"seed, not {(len(universe), 1)}; log_completion must give one number for each candidate"
    )
    assert not np.isnan(values).any(), f"omega {omega}: a log likelihood is no number (NaN)"
    with np.errstate(divide="ignore"):
        likelihood = np.exp(values[:, 0])
    assert abs(likelihood.sum() - 1) < 1e-6, (
        f"omega {omega}: the likelihoods of all candidates from one seed add up to {likelihood.sum():.6g}, "
        "not to 1"
    )
    proposals = model.propose(np.zeros(DRAWS, dtype=np.int64), np.full(DRAWS, omega), rng)
    kept = list(model.order[: len(model.order) - omega])
    if isinstance(model, PrefixModel):
        assert (proposals.candidates[:, kept] == seeds[0, kept]).all(), (
            f"omega {omega}: a prefix model must keep {kept} of the seed"
        )
    cell_index = {tuple(row): i for i, row in enumerate(universe.tolist())}
    counts = np.bincount(
        [cell_index[tuple(row)] for row in proposals.candidates.tolist()], minlength=len(universe)
    )
    expected = DRAWS * likelihood
    assert not counts[expected == 0].any(), f"omega {omega}: a candidate of likelihood 0 was made"
    is_large = expected >= LEAST_EXPECTED
    observed, predicted = (
        np.append(counts[is_large], counts[~is_large].sum()),
        np.append(expected[is_large], expected[~is_large].sum()),
    )
    is_nonzero = predicted > 0
    if is_nonzero.sum() > 1:
        p = float(
            chisquare(
                observed[is_nonzero],
                predicted[is_nonzero] * observed[is_nonzero].sum() / predicted[is_nonzero].sum(),
            ).pvalue
        )
        assert p > FALSE_ALARM, (
            f"omega {omega}: candidates do not occur as often as their likelihoods say (p = {p:.3g})"
        )


def _check_points(model: SeedModel, omega: int, rng: KeyedRNG) -> None:
    """Check that latent points occur as often as their likelihoods predict, for pairs of seeds."""
    # The overlap of two seeds' distributions, the sum of the smaller likelihood, is estimated from the points
    # of either seed as a mean of values in [0, 1]; Hoeffding's inequality bounds the difference.
    slack = math.sqrt(math.log(2 / FALSE_ALARM) / DRAWS)
    proposals = [_propose_points(model, seed, omega, rng) for seed in range(FEW_SEEDS)]
    for one, other in itertools.combinations(range(FEW_SEEDS), 2):
        rows = np.array([one, other])
        ratios = [
            model.log_likelihood(proposals[seed], rows) @ np.array([1.0, -1.0]) for seed in rows.tolist()
        ]
        overlap = [float(np.exp(np.minimum(r, 0)).mean()) for r in (-ratios[0], ratios[1])]
        assert abs(overlap[0] - overlap[1]) <= slack, (
            f"omega {omega}: latent points do not occur as often as their likelihoods say (what seeds {one} "
            f"and {other} have in common is {overlap[0]:.4g} or {overlap[1]:.4g})"
        )


def _propose_points(model: SeedModel, seed: int, omega: int, rng: KeyedRNG) -> Proposals:
    proposals = model.propose(np.full(DRAWS, seed, dtype=np.int64), np.full(DRAWS, omega), rng)
    assert proposals.latents is not None, (
        "a model in latent space must give the latent point of every candidate"
    )
    return proposals


def _check_counts(model: SeedModel, num_seeds: int, omega: int, rng: KeyedRNG) -> None:
    """Check the model's counts of plausible seeds against a full scan."""
    rows = rng.integers(num_seeds, 30)
    proposals = model.propose(rows, np.full(len(rows), omega), rng)
    likelihood = model.log_likelihood(proposals, np.arange(num_seeds))
    own = likelihood[np.arange(len(rows)), rows]
    assert np.isfinite(own).all(), (
        f"omega {omega}: a candidate has likelihood 0 under the seed that it was made from"
    )
    scanned = scan_plausible_seeds(lambda r: likelihood[:, r], own, num_seeds, gamma=GAMMA)
    counted = model.count_plausible(proposals, GAMMA)
    assert (counted == scanned).all(), (
        f"omega {omega}: count_plausible gives {counted.tolist()}, a scan {scanned.tolist()}"
    )


def _check_copies(model: SeedModel) -> None:
    """Check that a pickled model, and one rebuilt from its arrays, propose the same candidates."""
    _check_copy(model, pickle.loads(pickle.dumps(model)), "a saved and loaded model")
    model_type = model_type_of(model)
    if model_type is not None:
        copy = model_type.from_arrays(model_type.to_arrays(model))
        assert isinstance(copy, SeedModel), f"from_arrays gives a {type(copy).__name__}"
        copy.attach_seeds(SeedRecords(model.seeds))
        _check_copy(model, copy, "a model that went through its to_arrays and from_arrays")


def _check_copy(model: SeedModel, copy: SeedModel, what: str) -> None:
    rows = np.zeros(50, dtype=np.int64)
    omega = np.full(50, model.num_attributes)
    one, other = (m.propose(rows, omega, KeyedRNG.from_seed(3)).candidates for m in (model, copy))
    assert (one == other).all(), f"{what} proposes other candidates from the same rng"

"""Checks of a learner before it learns: supported columns, ledger entries and likelihoods."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

from sdv_plausible.models.base import Learner, ModelBudget, PrefixModel, SeedModel
from sdv_plausible.privacy.accounting.losses import InfiniteLoss, Loss
from sdv_plausible.privacy.entries import MODEL_PARTS, LedgerEntry
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.table.columns.domain import Attribute, Domain

MOST_COLUMNS = (
    1000  # limit for learners that use all pairs of columns: half a million pairs, about ten minutes
)
MANY_COLUMNS = 300  # number of columns from which such a learner warns that fitting takes minutes
FAR = (
    16 * 3e-21
)  # tail mass of a latent point's coordinates beyond the sampler's reach (latent_test.md, Lemma 3)
GRID_EXCESS = 1 + 1e-6  # widening of gamma for log likelihoods that are rounded to a grid


def check_number_of_columns(learner: Learner, number: int) -> None:
    """Raise if a learner does not support this many columns, before any query or charge."""
    if number <= MANY_COLUMNS or not learner.looks_at_pairs:
        return
    pairs = number * (number - 1) // 2
    reason = f"{number:,} modelled columns have {pairs:,} pairs, and this model evaluates all of them"
    way_out = 'remove columns, or use model="independent", which has no limit'
    if number > MOST_COLUMNS:
        raise ValueError(f"{reason}: it takes at most {MOST_COLUMNS:,} columns (MOST_COLUMNS); {way_out}")
    warnings.warn(f"{reason}: fitting takes minutes; to be faster, {way_out}", stacklevel=3)


def model_class(learner: Learner) -> type[SeedModel]:
    """Return the class of a learner's models, or SeedModel if it declares none."""
    declared = learner.makes
    return declared if isinstance(declared, type) and issubclass(declared, SeedModel) else SeedModel


def planned_entries(learner: Learner, domain: Domain, budget: ModelBudget) -> list[LedgerEntry]:
    """Return a learner's ledger entries, planned without learned value sets; no entries, no guarantee."""
    return _entries(learner, without_learned_values(domain), budget)


def check_plan_independence(learner: Learner, domain: Domain, budget: ModelBudget) -> None:
    """Raise if the plan depends on value sets that were learned from the rows."""
    if _losses(_entries(learner, domain, budget)) != _losses(planned_entries(learner, domain, budget)):
        raise Refused.saying(
            "model",
            f"model ({type(learner).__name__}) plans its cost from learned value sets, so the cost would "
            "depend on the rows: declare the value sets, or plan from the number of columns only",
        )


def without_learned_values(domain: Domain) -> Domain:
    """Return the domain with only the name of each column whose values were learned."""
    return Domain(tuple(Attribute.unknown(a.name) if a.provenance == "private" else a for a in domain))


def _losses(entries: Sequence[LedgerEntry]) -> list[Loss]:
    return [loss for entry in entries for loss in entry.losses]


def _entries(learner: Learner, domain: Domain, budget: ModelBudget) -> list[LedgerEntry]:
    # Entries without parts cover the whole model. Under ``split`` an entry for rows that a learner does not
    # receive would be counted for those rows, so it is rejected.
    planned = [
        replace(entry, parts=MODEL_PARTS) if entry.losses and not entry.parts else entry
        for entry in learner.plan(domain, budget) or ()
    ]
    for entry in planned:
        if entry.envelope:
            raise Refused.saying(
                "model",
                f"model ({type(learner).__name__}): its entry {entry.name!r} is an envelope for other "
                "entries: a learner must charge each query once",
            )
        if entry.losses and not {*entry.parts} <= {*MODEL_PARTS}:
            raise Refused.saying(
                "model",
                f"model ({type(learner).__name__}): its entry {entry.name!r} has parts {entry.parts}, which "
                f"must be among {MODEL_PARTS}: a learner gets no other rows",
            )
    return planned or [
        LedgerEntry(
            name="model",
            mechanism="a learner that charged nothing",
            losses=(InfiniteLoss(),),
            scope="the model",
            note=("the learner charged nothing for what it learned: include all its queries in its plan"),
            parts=MODEL_PARTS,
        )
    ]


def plausible_gamma(learner: Learner, gamma: float) -> float:
    """Return the likelihood ratio bound among plausible seeds, for the accounting of Privacy Test 2."""
    # Plausible seeds of a :class:`PrefixModel` are prefix groups with equal likelihoods, so the bound is 1.
    # Other models use the whole partition: the test's gamma (docs/explanation/proofs/seed_test.md,
    # Theorem 2), widened where logarithms are rounded to a grid (latent_test.md, Lemma 2).
    fitted_class = model_class(learner)
    if fitted_class.in_latent_space:
        return gamma * GRID_EXCESS
    return 1.0 if issubclass(fitted_class, PrefixModel) else gamma


def impossible_seed_probability(learner: Learner, gamma: float) -> float:
    """Return the probability that a proposal counts an impossible seed (latent_test.md, Lemma 3)."""
    return gamma * GRID_EXCESS * FAR if model_class(learner).in_latent_space else 0.0

"""What is asked of a learner before it learns: columns it takes, its entries, its models' likelihoods."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

from sdv_plausible.models.base import Learner, ModelBudget, PrefixModel, SeedModel
from sdv_plausible.privacy.accounting.losses import InfiniteLoss, Loss
from sdv_plausible.privacy.entries import WHOLE_MODEL, LedgerEntry
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.table.columns.domain import Attribute, Domain

MOST_COLUMNS = (
    1000  # for learners that look at all pairs of columns: half a million of them, some ten minutes
)
MANY_COLUMNS = 300  # from here on such a learner takes so long that one should know
FAR = (
    16 * 3e-21
)  # of a latent point: what its coordinates have beyond the reach of a draw (latent_test.md, Lemma 3)
GRID_EXCESS = 1 + 1e-6  # of gamma, where logarithms of likelihoods are on a grid


def check_number_of_columns(learner: Learner, number: int) -> None:
    """Refuse more modelled columns than a learner can take in, before anything is asked or charged."""
    if number <= MANY_COLUMNS or not learner.looks_at_pairs:
        return
    pairs = number * (number - 1) // 2
    found = f"{number:,} modelled columns have {pairs:,} pairs, and this model looks at all of them"
    way_out = 'leave columns out, or use model="independent", which takes any number'
    if number > MOST_COLUMNS:
        raise ValueError(f"{found}: it takes at most {MOST_COLUMNS:,} columns (MOST_COLUMNS); {way_out}")
    warnings.warn(f"{found}: fitting takes minutes; to be faster, {way_out}", stacklevel=3)


def makes(learner: Learner) -> type[SeedModel]:
    """Class of a learner's models, where it tells one."""
    told = learner.makes
    return told if isinstance(told, type) and issubclass(told, SeedModel) else SeedModel


def planned_entries(learner: Learner, domain: Domain, budget: ModelBudget) -> list[LedgerEntry]:
    """Ledger entries of a learner; one that plans none may have learned elsewhere, and ends the claim.

    It is asked with what nobody's answers tell: of a column whose values were learned, the name alone.
    """
    return _entries(learner, without_learned(domain), budget)


def check_blind(learner: Learner, domain: Domain, budget: ModelBudget) -> None:
    """Refuse a learner that would plan otherwise if it were asked with the value sets that were learned.

    What it asks would not be what it planned.
    """
    if _losses(_entries(learner, domain, budget)) != _losses(planned_entries(learner, domain, budget)):
        raise Refused.saying(
            "model",
            f"model ({type(learner).__name__}) plans by value sets that were learned from the rows, so that "
            "their answers would choose what it costs: declare them, or plan by the number of columns alone",
        )


def without_learned(domain: Domain) -> Domain:
    """The domain as nobody's answers tell it: of a column whose values were learned, its name alone."""
    return Domain(tuple(Attribute.unknown(a.name) if a.provenance == "private" else a for a in domain))


def _losses(entries: Sequence[LedgerEntry]) -> list[Loss]:
    return [loss for entry in entries for loss in entry.losses]


def _entries(learner: Learner, domain: Domain, budget: ModelBudget) -> list[LedgerEntry]:
    # Those that name no part are for all of the model. An entry for another part of the rows than a learner
    # is given is refused: under ``split`` it would be counted as if other rows had been asked.
    planned = [
        replace(entry, parts=WHOLE_MODEL) if entry.losses and not entry.parts else entry
        for entry in learner.plan(domain, budget) or ()
    ]
    for entry in planned:
        if entry.envelope:
            raise Refused.saying(
                "model",
                f"model ({type(learner).__name__}): its entry {entry.name!r} is an envelope, which stands "
                "for others: a learner charges what it asks, once",
            )
        if entry.losses and not {*entry.parts} <= {*WHOLE_MODEL}:
            raise Refused.saying(
                "model",
                f"model ({type(learner).__name__}): its entry {entry.name!r} has parts {entry.parts}, which "
                f"must be among {WHOLE_MODEL}: a learner is given no other rows",
            )
    return planned or [
        LedgerEntry(
            name="model",
            mechanism="a learner that charged nothing",
            losses=(InfiniteLoss(),),
            scope="the model",
            note=(
                "the model's learner charged nothing for what it learned; let its plan say what it asks "
                "of the rows"
            ),
            parts=WHOLE_MODEL,
        )
    ]


def plausible_gamma(learner: Learner, gamma: float) -> float:
    """Factor between likelihoods among the plausible seeds, for Privacy Test 2's accounting."""
    # The plausible seeds of a :class:`PrefixModel` are prefix groups, with equal likelihoods: 1. Any other
    # model may use the whole partition: the test's gamma (docs/explanation/proofs/seed_test.md, Theorem 2),
    # widened where logarithms are rounded to a grid (latent_test.md, Lemma 2).
    made = makes(learner)
    if made.in_latent_space:
        return gamma * GRID_EXCESS
    return 1.0 if issubclass(made, PrefixModel) else gamma


def far_share(learner: Learner, gamma: float) -> float:
    """Probability, of each proposal, that a counted seed could not have made it (latent_test.md, Lemma 3)."""
    return gamma * GRID_EXCESS * FAR if makes(learner).in_latent_space else 0.0

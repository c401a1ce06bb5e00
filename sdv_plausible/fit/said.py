"""Sentences of the ledger beside its total: which plausible deniability holds, and what the paper prints.

They are entries without a loss, charged with the rest, so that they stay with the ledger wherever it goes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sdv_plausible.models.learners import makes
from sdv_plausible.privacy.accounting.losses import EpsilonDelta
from sdv_plausible.privacy.accounting.theorem1 import theorem1_best
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import SAID
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.release.drawing.omega import Omega
from sdv_plausible.release.privacy_tests.randomized import RandomizedTest
from sdv_plausible.release.privacy_tests.settings import Settings
from sdv_plausible.table.columns.domain import Domain

if TYPE_CHECKING:
    from sdv_plausible.models.paper.paper_network import PaperNetwork

NO_SEED = (
    "(k, gamma)-plausible deniability is empty here: no seed is used, so every record is a plausible seed of "
    "every row, whatever k and gamma are, and the protection is epsilon alone"
)
FROM_POINTS = (
    "The test looks at the latent point from which alone the row is decoded: what it guarantees in epsilon "
    "holds for the row and for the pair, which sample_with_points releases at no further cost; plausible "
    "deniability holds for the pair alone, as seeds of far-apart points may all give the same row"
)
MISSED_OF_ROWS = "that a rejection can be seen, that several rows are released and not one candidate, "
MISSED_OF_MODEL = (
    "that the entropies' sensitivity is for replacing a row and twice what adding one needs, and that it is "
    "divided by a noisy number of rows; no claim rests on it"
)
SAME_ROWS = "that structure and tables were learned from the same rows here, "


def sentences(settings: Settings, learner: Any, domain: Domain) -> tuple[LedgerEntry, ...]:
    """Entries of a ledger's further sentences."""
    found = [_entry(SAID[0], deniability(settings, latent=settings.looks_at_points(makes(learner))))]
    if getattr(learner, "accounting", "proved") == "paper":
        from sdv_plausible.models.paper.paper_network import PaperNetwork  # which alone is printed

        if isinstance(learner, PaperNetwork):
            found.append(_entry(SAID[1], as_printed(settings, learner, domain)))
    return tuple(found)


def _entry(name: str, text: str) -> LedgerEntry:
    return LedgerEntry(name=name, mechanism=f"{text}.", losses=(), scope="the release")


def deniability(settings: Settings, *, latent: bool = False) -> str:
    """Which (k, gamma)-plausible deniability holds, with its k, or that none does."""
    # ``latent``: the test looks at a latent point and not at the row.
    test = settings.test
    if (test.omega is not None and test.omega.is_all) or not test.uses_seeds:
        return NO_SEED
    says = test.says_of_seeds
    if latent:
        says = f"{test.says_of_points}. {FROM_POINTS}"
    return f"{says}. It speaks of a row's seed, not of whom the model was learned from"


def as_printed(settings: Settings, learner: PaperNetwork, domain: Domain) -> str:
    """What the formulas of section 3.5 and Theorem 1 give, and what they miss."""
    text, missed = f"As printed in [PD] this would be {_printed_model(settings, learner, domain)}", ""
    test = settings.test
    if isinstance(test, RandomizedTest) and test.omega != Omega(None, None):
        missed = MISSED_OF_ROWS
        try:
            best = theorem1_best(test.k, test.gamma, test.epsilon0, settings.seed_delta)
            text += f", and epsilon {rounded_up(best.epsilon)} for each candidate (Theorem 1, t = {best.t})"
        except ValueError:
            text += ", and no epsilon for candidates (Theorem 1 has no t at this delta)"
    if settings.split is None:
        missed += SAME_ROWS
    return f"{text}; it misses {missed}{MISSED_OF_MODEL}"


def _printed_model(settings: Settings, learner: PaperNetwork, domain: Domain) -> str:
    if math.isinf(settings.epsilon) or not len(domain):
        return "no epsilon for the model"
    from sdv_plausible.privacy.accounting import paper_formulas as printed  # no other sentence needs them

    budget = settings.model_budget(settings.empty_ledger())
    plan, m = learner.printed_plan(domain, budget), len(domain)
    assert plan.shares is not None  # epsilon is finite and there are columns
    parameters = printed.paper_parameter_loss(m, plan.shares.counts, budget.delta)
    structure = EpsilonDelta(0.0, 0.0)
    if plan.learns_structure:
        structure = printed.paper_structure_loss(m, plan.shares.entropy, budget.delta, plan.shares.size)
    loss, how = (
        printed.paper_model_loss(structure, parameters),
        "Theorems 2, 3, the larger of structure and tables",
    )
    if settings.split is not None:
        share = max(settings.split[:2])
        loss = printed.paper_sampling_amplification(*loss, share)
        how += f", Theorem 4 with p = {share:.3g}"
    return f"epsilon {rounded_up(loss.epsilon)} at delta {rounded_up(loss.delta)} for the model ({how})"

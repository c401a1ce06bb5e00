"""From encoded rows to a sampler: split the rows, learn a model, attach the privacy test."""

from __future__ import annotations

from collections.abc import Mapping

from sdv_plausible.fitting.ledger_notes import sentences
from sdv_plausible.mechanism.drawing.sampler import Sampler
from sdv_plausible.mechanism.privacy_tests.privacy_settings import Settings
from sdv_plausible.models.base import Learner, ModelBudget, SeedModel
from sdv_plausible.models.learner_checks import (
    impossible_seed_probability,
    model_class,
    planned_entries,
    plausible_gamma,
)
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import ExactCounts
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.queries.transcript import ALL_ROWS, Transcript
from sdv_plausible.table.columns.domain import Domain


def fit_release(
    rows: ExactCounts,
    domain: Domain,
    settings: Settings,
    learner: Learner,
    ledger: PrivacyLedger,
    coins: KeyedRNG,
    transcript: Transcript | None = None,
) -> Sampler:
    """Learn the model and attach the privacy test. Every query is charged first, then recorded."""
    if settings.neighbours != ledger.neighbours:
        raise ValueError(
            f"ledger (for the {ledger.neighbours.relation}) must be for the neighbours of the settings "
            f"(the {settings.neighbours.relation}): make it with the same neighbours"
        )
    test, factor = settings.test, settings.test.likelihood_factor
    settings.check_model(model_class(learner))
    parts = split_rows(rows, settings.split, coins)
    budget = settings.model_budget(ledger)
    charge = test.charge(plausible_gamma(learner, factor), impossible_seed_probability(learner, factor))
    transcript = transcript or Transcript()
    seeds = Queryable(
        parts["seeds"],
        ledger,
        charge,
        coins.spawn("release"),
        transcript=transcript,
        name=_name(parts, "seeds"),
    )
    test.confirm(seeds)  # before anything else is spent
    if (split := settings.random_split(learner)) is not None:
        ledger.split = split
    model = learn_model(parts, domain, learner, budget, ledger, coins.spawn("learning"), transcript)
    ledger.charge(*sentences(settings, learner, domain))
    omega = settings.omega_for(model, domain.cardinalities)
    omega.among(len(domain))  # raises before anything is drawn
    sampler = test.start(model, seeds, omega, coins.spawn("sampling"))
    sampler.answers = transcript.answers
    return sampler


def learn_model(
    parts: Mapping[str, ExactCounts],
    domain: Domain,
    learner: Learner,
    budget: ModelBudget,
    ledger: PrivacyLedger,
    coins: KeyedRNG,
    transcript: Transcript | None = None,
) -> SeedModel:
    """Charge the learner's plan, and let it query the parts for learning, structure and parameters."""
    rows = Queryable(
        parts["learning"], ledger, planned_entries(learner, domain, budget), coins.spawn("noise"),
        parts={name: part for name, part in parts.items() if name != "seeds"}, transcript=transcript,
        name=_name(parts, "learning"),
    )  # fmt: skip
    model, made = learner.fit(rows, domain, budget, coins), model_class(learner)
    if not isinstance(model, made):
        raise TypeError(
            f"the learner ({type(learner).__name__}) makes {made.__name__}, and gave a {type(model).__name__}"
        )
    return model


def _name(parts: Mapping[str, ExactCounts], name: str) -> str:
    """Name of a part in the transcript: ALL_ROWS if the rows are not split."""
    return name if len({id(rows) for rows in parts.values()}) > 1 else ALL_ROWS


def split_rows(
    rows: ExactCounts, split: tuple[float, float, float] | None, coins: KeyedRNG
) -> dict[str, ExactCounts]:
    """Parts by purpose: all rows for each, or disjoint parts by secret independent draws."""
    if split is None:
        return dict.fromkeys(("learning", "structure", "parameters", "seeds"), rows)
    named, first, second = coins.spawn("split"), split[0], split[0] + split[1]
    return {
        "learning": rows.part(0, second, named),
        "structure": rows.part(0, first, named),
        "parameters": rows.part(first, second, named),
        "seeds": rows.part(second, second + split[2], named),
    }

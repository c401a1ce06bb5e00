"""Learner of a private variational autoencoder: noisy margins, then noisy sums of clipped gradients."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sdv_plausible.extensions.models.latent.autoencoder import (
    MOST_BUCKETS,
    MOST_HIDDEN,
    MOST_LATENT,
    check_floor,
)
from sdv_plausible.extensions.models.latent.latent_model import LatentModel
from sdv_plausible.extensions.models.latent.training import TrainingPlan, untrained
from sdv_plausible.models.base import Learner, ModelBudget, SeedModel
from sdv_plausible.models.buckets import default_buckets
from sdv_plausible.models.count_learning import counts_entry, measure_margins, stage_entry
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.accounting.sampled_gaussian import calibrate_sampled
from sdv_plausible.privacy.entries import MODEL_PARTS, LedgerEntry
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.table.columns.domain import Domain

MARGINS = 0.2  # share of mu**2 for one-way counts; training gets the rest
_MOST_REQUESTED = MOST_BUCKETS // 4  # ordered columns may get more buckets than requested


@dataclass(frozen=True, kw_only=True)
class Latent(Learner):
    """Variational autoencoder, trained by differentially private gradient descent.

    Parameters
    ----------
    floor : float
        Smallest standard deviation of an encoded record, in [1/32, 1]; all records together have about 1. A
        larger floor makes more seeds plausible in the row tests, and a latent point less informative.
    latent, hidden : int
        Dimensions of the latent space, at most 16, and of the hidden layers, at most 1,024.
    max_buckets : int
        Largest number of buckets of a column, from 2 to 1,024. The decoder draws a bucket, and the margin a
        code within it.
    steps : int
        Number of training steps, at least 1.
    sample : float
        Sampling rate of the rows in each step, in (0, 1].
    weight : float
        Weight of the divergence of encoded records from the prior, >= 0.
    """

    floor: float = 0.2
    latent: int = 4
    hidden: int = 32
    max_buckets: int = 10
    steps: int = 128
    sample: float = 0.125
    weight: float = 1.0
    makes: ClassVar[type[SeedModel]] = LatentModel
    looks_at_records: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_floor(self.floor)
        check.whole("steps", self.steps, 1, "try 128")
        check.whole("max_buckets", self.max_buckets, 2, "try 10", most=_MOST_REQUESTED)
        check.whole("latent", self.latent, 1, "try 8", most=MOST_LATENT)
        check.whole("hidden", self.hidden, 1, "try 32", most=MOST_HIDDEN)
        check.rate("sample", self.sample, "it is a share of the rows")
        check.non_negative("weight", self.weight)

    def check_neighbours(self, neighbours: Neighbours) -> None:
        """Raise ValueError unless the guarantee protects single rows, added or removed."""
        if neighbours != ONE_ROW:
            raise check.Refused.saying(
                "model",
                'model ("latent") only supports the addition or removal of single rows, not the '
                f'{neighbours.relation}: leave out person and neighbours, or use "bayesian_network"',
            )

    def plan(self, domain: Domain, budget: ModelBudget) -> list[LedgerEntry]:
        """Return the ledger entries of learning: one for the margins and one for all training steps.

        Raises
        ------
        ValueError
            If the guarantee protects people, or replaced rows.
        """
        self.check_neighbours(budget.neighbours)
        if math.isinf(budget.epsilon):
            return [budget.entry("one-way counts and gradients")]
        m = len(domain)
        each = budget.gaussian() * math.sqrt(MARGINS / m)
        margins = counts_entry("margins", "one-way counts", MODEL_PARTS, each, m)
        spent = (*budget.spent, *margins.losses)
        training = calibrate_sampled(budget.epsilon, budget.delta, self.sample, self.steps, spent)
        noise = (
            f"each of a fresh sample that a row is in with probability {rounded_up(self.sample)}, discrete "
            "Gaussian noise"
        )
        sums = f"{self.steps} sums of clipped gradients"
        return [margins, stage_entry("training", sums, MODEL_PARTS, (training,), noise)]

    def fit(self, rows: Queryable, domain: Domain, budget: ModelBudget, rng: KeyedRNG) -> LatentModel:  # noqa: ARG002
        """Measure the margins, then train."""
        m = len(domain)
        _, total, margins = measure_margins(rows, domain.cardinalities, [1 / m] * m)
        buckets = [
            default_buckets(column, margin, self.max_buckets)
            for column, margin in zip(domain, margins, strict=True)
        ]
        masses = [np.bincount(bucket, margin) for bucket, margin in zip(buckets, margins, strict=True)]
        start = untrained(masses, self.hidden, self.latent, self.floor, rng.spawn("weights"))
        training = TrainingPlan(steps=self.steps, sample=self.sample, weight=self.weight)
        network = training.run(start, rows, buckets, total, rng)
        within_bucket = [
            margin / mass[bucket] for margin, mass, bucket in zip(margins, masses, buckets, strict=True)
        ]
        return LatentModel(network, buckets, within_bucket)

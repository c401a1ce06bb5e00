"""Short ways for tests to put rows behind their door."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sdv_plausible import Domain, PrivacyLedger
from sdv_plausible.fitting.fit import fit_release, learn_model
from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.mechanism.drawing.released_prefixes import ReleasedSeeds
from sdv_plausible.mechanism.drawing.sampler import Sampler
from sdv_plausible.mechanism.privacy_tests.privacy_settings import Settings
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.privacy.accounting.losses import GaussianLoss, InfiniteLoss
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import CodeArray
from sdv_plausible.queries.queryable import Queryable


def door(
    codes: np.ndarray, cardinalities: Sequence[int], mu: float, rng: KeyedRNG | None = None
) -> Queryable:
    """Rows that may be asked for Gaussian noise of mu in all; infinity answers exactly."""
    loss = InfiniteLoss() if np.isinf(mu) else GaussianLoss(sensitivity_over_sigma=mu)
    entry = LedgerEntry(name="model", mechanism="test", losses=(loss,), scope="test")
    ledger = PrivacyLedger(delta=1e-6)
    return Queryable(CodeArray(codes, cardinalities), ledger, [entry], rng or KeyedRNG.from_os_entropy())


def learn(
    learner: Any, codes: np.ndarray, domain: Domain, budget: ModelBudget, ledger: PrivacyLedger, rng: KeyedRNG,
    structure: np.ndarray | None = None,
) -> Any:  # fmt: skip
    """Fit a learner to rows as a release does: its plan is charged, then it asks. ``structure``: other rows for that stage."""
    parts = {"learning": CodeArray(codes, domain.cardinalities)}
    if structure is not None:
        parts = {
            "learning": CodeArray(np.concatenate([structure, codes]), domain.cardinalities),
            "structure": CodeArray(structure, domain.cardinalities),
            "parameters": CodeArray(codes, domain.cardinalities),
        }
    return learn_model(parts, domain, learner, budget, ledger, rng)


def fit_codes(
    codes: np.ndarray, domain: Domain, settings: Settings, learner: Any, ledger: PrivacyLedger, rng: KeyedRNG
) -> Sampler:
    """Fit a release to an array of codes."""
    return fit_release(CodeArray(codes, domain.cardinalities), domain, settings, learner, ledger, rng)


def release_seeds(model: Any, seeds: np.ndarray, omega: Any, test: Any, rng: KeyedRNG) -> ReleasedSeeds:
    """Apply a release test to an array of seeds."""
    rows = Queryable(CodeArray(seeds, model.cardinalities), PrivacyLedger(delta=1e-6), test.charge(1.0), rng)
    return ReleasedSeeds.draw(model, rows, Omega.parse(omega), test)

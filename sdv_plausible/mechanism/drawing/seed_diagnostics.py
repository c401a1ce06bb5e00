"""Sizes of groups of plausible seeds, for the data owner only: not private."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.mechanism.drawing.mechanism import PlausibleDeniabilityMechanism
from sdv_plausible.mechanism.drawing.sampler import RecordSampler, Sampler
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

SHOWN_OMEGAS = 6  # lines in a plot


def diagnose(sampler: Sampler, num_candidates: int) -> pd.DataFrame:
    """Quartiles of the numbers of plausible seeds, and the share with at least k, by omega. Not private."""
    mechanism, lines = _mechanism(sampler), []
    for omega, plausible in _plausible_seeds(mechanism, num_candidates).items():
        low, middle, high = np.percentile(plausible, [25, 50, 75])
        share = float((plausible >= mechanism.test.least_seeds).mean())
        lines.append((omega, mechanism.model.num_attributes - omega, low, middle, high, share))
    return pd.DataFrame(lines, columns=["omega", "kept", "size_25", "size_50", "size_75", "share_at_least_k"])


def seed_diagnostics(sampler: Sampler, num_candidates: int) -> dict[str, Any]:
    """Numbers of plausible seeds at the mechanism's omega, and pass rates by k and omega, for the report."""
    mechanism = _mechanism(sampler)
    by_omega = _plausible_seeds(mechanism, num_candidates)
    m, k = mechanism.model.num_attributes, mechanism.test.least_seeds
    used = mechanism.omega.among(m)
    shown = {used[0], used[-1], *np.linspace(0, m, SHOWN_OMEGAS).round().astype(int).tolist()}
    ks = sorted({max(1, round(k * factor)) for factor in (0.1, 0.2, 0.5, 1, 2, 5, 10)})
    return {
        "plausible_seeds": np.concatenate([by_omega[omega] for omega in used]),
        "pass_rates": {
            k: {omega: float((seeds >= k).mean()) for omega, seeds in by_omega.items() if omega in shown}
            for k in ks
        },
    }


def _mechanism(sampler: Sampler) -> PlausibleDeniabilityMechanism:
    if not isinstance(sampler, RecordSampler):
        raise ValueError(
            "diagnose() needs the seed records, which test='release' does not keep; fit a second synthesizer "
            "with test='randomized' on the same table to look at them"
        )
    return sampler.mechanism


def _plausible_seeds(mechanism: PlausibleDeniabilityMechanism, num_candidates: int) -> dict[int, np.ndarray]:
    """Numbers of plausible seeds of candidates from uniformly random seeds, for omega m to 0."""
    check.whole("num_candidates", num_candidates, 1, "try 10,000")
    coins = KeyedRNG.from_os_entropy()
    rows = coins.integers(mechanism.num_seeds, num_candidates)
    counts = {}
    for omega in range(mechanism.model.num_attributes, -1, -1):
        proposals = mechanism.model.propose(rows, np.full(len(rows), omega), coins)
        counts[omega] = mechanism.model.count_plausible(proposals, mechanism.test.gamma)
    return counts

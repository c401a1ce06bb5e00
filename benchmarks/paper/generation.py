"""Figures 5 and 6: how long it takes, and how many candidates pass.

Figure 6 looks at the seeds without noise. It is a diagnostic on private data, not for publication.
"""

from __future__ import annotations

import os
import time
from functools import partial
from typing import Any

import numpy as np

from benchmarks.paper.data import EXAMPLE_ORDER
from benchmarks.paper.settings import (
    FIGURE5_LIMITS,
    FIGURE5_ROWS,
    GAMMA,
    GAMMAS,
    KS,
    MAX_CHECKED,
    MAX_CHECKED_GAMMA,
    OMEGAS,
    TIMED_OMEGA,
)
from benchmarks.paper.store import Store
from benchmarks.paper.synthesis import Study
from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.models.base import Proposals
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.privacy.noise.noise_samplers import hypergeometric_counts
from sdv_plausible.privacy.plausible_seeds import PrefixGroups, scan_plausible_seeds
from sdv_plausible.queries.queryable import SeedRecords

CANDIDATES = 50_000


def timing(study: Study, store: Store) -> None:
    """Figure 5: seconds to learn, and to release N rows at one omega; one process."""
    repeat = study.repeat

    def learn() -> dict[str, Any]:
        _ = study.split
        start = time.perf_counter()
        study.learn("cfs", 1.0)
        return {"seconds": time.perf_counter() - start, "load": os.getloadavg()[0]}

    def release(number: int) -> dict[str, Any]:
        mechanism = study.mechanism(study.network("cfs", 1.0), TIMED_OMEGA)
        start = time.perf_counter()
        mechanism.release(number, study.rng.spawn("timing", number))
        return {"seconds": time.perf_counter() - start, "released": number, "load": os.getloadavg()[0]}

    def scan() -> dict[str, Any]:
        network, number, seeds = study.network("cfs", 1.0), study.sizes.scanned, study.split.seeds
        network.attach_seeds(SeedRecords(seeds))
        rng = study.rng.spawn("scan")
        made = network.propose(rng.integers(len(seeds), number), np.full(number, TIMED_OMEGA), rng)
        own = network.log_suffix(made.candidates)[:, seeds.shape[1] - TIMED_OMEGA]
        start = time.perf_counter()
        found = scan_plausible_seeds(lambda r: network.log_likelihood(made, r), own, len(seeds), gamma=GAMMA)
        seconds = time.perf_counter() - start
        assert (found == network.count_plausible(made, GAMMA)).all(), "scan and look-up must agree"
        return {"seconds": seconds, "candidates": number, "load": os.getloadavg()[0]}

    def limited() -> dict[str, Any]:
        mechanism = study.mechanism(study.network("cfs", 1.0), TIMED_OMEGA, **FIGURE5_LIMITS)
        start = time.process_time()
        mechanism.release(FIGURE5_ROWS, study.rng.spawn("timing", "limits"))
        return {"seconds": time.process_time() - start, "released": FIGURE5_ROWS, "load": os.getloadavg()[0]}

    store.once("timing", "learn", repeat, learn)
    store.once("timing", "the paper's limits", repeat, limited)
    for number in study.sizes.timed:
        store.once("timing", f"release {number}", repeat, partial(release, number))
    store.once("timing", "scan", repeat, scan)


def pass_rates(study: Study, store: Store) -> None:
    """Figure 6: share of candidates with at least k plausible seeds, against k."""
    for name, omega in OMEGAS.items():
        store.once("passing", name, study.repeat, partial(_known, study, omega))
        if isinstance(omega, tuple):
            for gamma in GAMMAS:
                row = f"{name}, hidden, γ={gamma:g}"
                store.once("passing", row, study.repeat, partial(_hidden, study, omega, gamma))
            row = f"{name}, hidden, γ={MAX_CHECKED_GAMMA:g}, {MAX_CHECKED:,} seeds checked"
            store.once(
                "passing", row, study.repeat, partial(_hidden, study, omega, MAX_CHECKED_GAMMA, MAX_CHECKED)
            )
    for omega in (5, 7):
        store.once("passing", f"ω={omega}", study.repeat, partial(_known, study, omega))
    name = "ω∈[5-11], order of the example graph"
    store.once("passing", name, study.repeat, partial(_example_order, study, (5, 11)))


def _shares(plausible: np.ndarray) -> dict[str, Any]:
    return {"values": [float((plausible >= k).mean()) for k in KS]}


def _proposals(study: Study, omega: object) -> tuple[BayesianNetwork, Proposals]:
    network = study.network("cfs", 1.0)
    network.attach_seeds(SeedRecords(study.split.seeds))
    rng = study.rng.spawn("passing", omega)
    number = min(CANDIDATES, 10 * len(study.split.seeds))
    rows = rng.integers(len(study.split.seeds), number)
    return network, network.propose(rows, Omega.parse(omega).draw(network.num_attributes, number, rng), rng)


def _known(study: Study, omega: object) -> dict[str, Any]:
    """omega is known to whoever judges plausibility: gamma makes no difference."""
    network, made = _proposals(study, omega)
    return _shares(network.count_plausible(made, GAMMA))


def _hidden(study: Study, omega: tuple[int, int], gamma: float, checked: int | None = None) -> dict[str, Any]:
    """omega stays hidden and the likelihood is the mixture's: gamma matters. All seeds are looked at, or some."""
    network, made = _proposals(study, omega)
    found = network.count_plausible_mixture(made, range(omega[0], omega[1] + 1), gamma)
    number = len(study.split.seeds)
    if checked is not None and checked < number:
        found = hypergeometric_counts(found, number, checked, max(KS), study.rng.spawn("checked", omega))
    return _shares(found)


def _example_order(study: Study, omega: tuple[int, int]) -> dict[str, Any]:
    """Known omega in another resampling order: a candidate's kept values are its seed's, so seeds alone decide."""
    seeds = study.split.seeds
    groups = PrefixGroups(seeds[:, EXAMPLE_ORDER], [study.split.cardinalities[j] for j in EXAMPLE_ORDER])
    rng = study.rng.spawn("example order")
    chosen = rng.integers(len(seeds), min(CANDIDATES, 10 * len(seeds)))
    kept = len(EXAMPLE_ORDER) - Omega.parse(omega).draw(len(EXAMPLE_ORDER), len(chosen), rng)
    found = np.empty(len(chosen), dtype=np.int64)
    for length in np.unique(kept):
        found[kept == length] = groups.sizes(seeds[chosen[kept == length]][:, EXAMPLE_ORDER], int(length))
    return _shares(found)

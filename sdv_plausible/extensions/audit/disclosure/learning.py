"""The exact privacy curve of a noisy learner on a small universe, against what its plan charges.

A learner's model is made of noisy answers alone. So it is enough to know what was asked, the noise that was
really drawn, and how far the exact answers of two neighbouring tables are apart: the exact law of the privacy
loss is then a convolution of integer noises.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, ndtr

from sdv_plausible.extensions.audit.disclosure.claims import Comparison, checked_epsilons, claimed_deltas
from sdv_plausible.extensions.audit.disclosure.count_tables import Counts, neighbouring
from sdv_plausible.extensions.audit.disclosure.small_universe import universe
from sdv_plausible.extensions.audit.disclosure.transition_matrix import FloatArray
from sdv_plausible.extensions.audit.recorded_queries import RecordingQueryable, check_heard
from sdv_plausible.models.base import Learner, ModelBudget
from sdv_plausible.models.learner_checks import planned_entries
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.coded_rows import CodeArray

REACH = 9.0  # standard deviations of a Gaussian that are enumerated; what is beyond is added to delta
SAME = 10  # decimals of a loss that tell it from another
NEGLIGIBLE = 1e-19  # probability of a loss that is added to delta
MOST_LOSSES = 20_000_000
FINE = 1000.0  # scale from which on Gaussian noise is taken as continuous: delta moves by about 1e-6

Moves = tuple[tuple[str, float, int], ...]
"""Noise, its scale, and by how much the exact value changes: for every value that does."""


def compare_learner(
    learner: Learner, domain: Any, budget: ModelBudget, tables: Iterable[Counts], epsilons: npt.ArrayLike
) -> Comparison:
    """Hold the exact curve of a learner against what its plan charges, over all neighbours.

    The learner runs once on every table. One that chooses questions by earlier answers is audited along the
    questions that it chose there; one that does not, wholly.

    Parameters
    ----------
    learner : Learner
        Any that asks by ``ask``, ``ask_tables``, ``ask_laplace`` and ``count_rows``.
    domain : Domain
        Of few columns and codes.
    budget : ModelBudget
        What it may spend, for which neighbours: single rows, added and removed or replaced.
    tables : iterable of tuple of int
        Tables as counts of all records of the universe, such as :func:`tables_of_sizes` gives.
    epsilons : array of float
        Where to compare, each >= 0.

    Raises
    ------
    NotImplementedError
        If the learner asks in another way: a choice, a sum over a sample.
    ValueError
        If nothing was heard of it: no claim holds by silence.
    """
    who = budget.neighbours
    if who.rows != 1:
        raise ValueError(f"budget.neighbours.rows ({who.rows}) must be 1: tables here have no people")
    at, known = checked_epsilons(epsilons), tuple(tables)
    engines = {table: CodeArray(_codes(table, domain), domain.cardinalities) for table in known}
    entries = planned_entries(learner, domain, budget)
    best, worst = np.full(len(at), -1.0), [(known[0], known[0])] * len(at)
    pairs = neighbouring(known, "replace_one" if who.replace else "add_remove")
    watched: dict[Counts, RecordingQueryable] = {}
    for one, other in ((known[i], known[j]) for i, j in pairs):
        for table, near in ((one, other), (other, one)):
            if table not in watched:
                ledger = PrivacyLedger(delta=budget.delta, neighbours=who)
                coins = KeyedRNG.from_os_entropy()
                watched[table] = RecordingQueryable(engines[table], ledger, entries, coins)
                learner.fit(watched[table], domain, budget, coins)
            found = _deltas(watched[table], engines[table], engines[near], at)
            for e in np.flatnonzero(found > best):
                best[e], worst[e] = found[e], (table, near)
    check_heard(learner, heard=any(door.heard or door.raw for door in watched.values()))
    claimed = claimed_deltas([loss for entry in entries for loss in entry.losses], at)
    return Comparison(epsilons=at, claimed=claimed, exact=best, worst_pairs=tuple(worst))


def _codes(table: Counts, domain: Any) -> np.ndarray:
    return np.asfortranarray(np.repeat(universe(domain.cardinalities), table, axis=0))


def _deltas(
    rows: RecordingQueryable, engine: CodeArray, other: CodeArray, epsilons: FloatArray
) -> FloatArray:
    """Exact delta of the answers to all questions, between two tables."""
    moves: list[tuple[str, float, int]] = []
    for one in rows.heard:
        change = np.abs(
            np.asarray(one.question.exact(engine)) - np.asarray(one.question.exact(other))
        ).ravel()
        if change.any() and one.drawn is None:
            return np.ones(len(epsilons))
        if one.drawn is not None:
            step = one.drawn.granularity  # whole numbers of steps: noise on whole numbers
            moves += [
                (one.drawn.name, one.drawn.scale / step, int(size / step)) for size in change[change > 0]
            ]
    if rows.raw:
        return np.ones(len(epsilons))
    fine = [move for move in moves if move[0] == "discrete_gaussian" and move[1] > FINE]
    losses, masses = _loss_law(tuple(sorted(move for move in moves if move not in fine)))
    left = epsilons[:, None] - losses[None, :]
    gain = _gaussian(math.sqrt(sum((change / scale) ** 2 for _, scale, change in fine)), left)
    found: FloatArray = gain @ masses + max(0.0, 1.0 - float(masses.sum()))
    return found


def _gaussian(mu: float, epsilon: FloatArray) -> FloatArray:
    """Delta of the Gaussian mechanism at any epsilon, below 0 too; of mu 0, nothing more than a shift."""
    if mu == 0:
        return -np.expm1(np.minimum(epsilon, 0.0))
    found: FloatArray = ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu))
    return np.maximum(found, 0.0)


@lru_cache(maxsize=4096)
def _loss_law(moves: Moves) -> tuple[FloatArray, FloatArray]:
    """Privacy losses of independent noisy values together, and their probabilities."""
    losses: FloatArray = np.zeros(1)
    masses: FloatArray = np.ones(1)
    for move in moves:
        more, weights = _one_loss(*move)
        _check_few(len(losses) * len(more))
        sums = np.round((losses[:, None] + more[None, :]).ravel(), SAME)
        losses, where = np.unique(sums, return_inverse=True)
        joint = (masses[:, None] * weights[None, :]).ravel()
        masses = np.asarray(np.bincount(where, weights=joint), dtype=np.float64)
        kept = masses > NEGLIGIBLE
        losses, masses = losses[kept], masses[kept]
    return losses, masses


def _check_few(losses: int) -> None:
    if losses > MOST_LOSSES:
        raise ValueError(
            f"the learner's answers have more than {MOST_LOSSES:,} different losses: audit it on fewer "
            "columns, or with a larger epsilon, which takes less noise"
        )


@lru_cache(maxsize=4096)
def _one_loss(name: str, scale: float, change: int) -> tuple[FloatArray, FloatArray]:
    """``ln p(z) - ln p(z - change)`` and p(z), for the noise z of one value."""
    _check_few(change)
    if name == "discrete_laplace":  # all z <= 0 have one loss, and all z >= change
        z = np.arange(change + 1, dtype=np.float64)
        step = math.exp(-1 / scale)
        mass = -math.expm1(-1 / scale) * np.exp(-z / scale)
        mass[0], mass[-1] = 1.0, math.exp(-change / scale)
        return (change - 2 * z) / scale, mass / (1 + step)
    assert name == "discrete_gaussian", name
    reach = math.ceil(REACH * scale) + change
    z = np.arange(-reach, reach + 1, dtype=np.float64)
    weight = np.exp(-(z**2) / (2 * scale**2))
    return (change**2 - 2 * z * change) / (2 * scale**2), weight / weight.sum()

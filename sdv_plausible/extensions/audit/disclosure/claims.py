"""Comparison of a claimed privacy curve with the exact one, over all neighbours of a small universe."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, ndtr

from sdv_plausible.extensions.audit.disclosure.small_universe import universe
from sdv_plausible.extensions.audit.disclosure.transition_matrix import (
    Counts,
    FloatArray,
    TransitionMatrix,
    neighbouring,
)
from sdv_plausible.extensions.audit.recorded_queries import RecordingQueryable, check_recorded
from sdv_plausible.models.base import Learner, ModelBudget
from sdv_plausible.models.learner_checks import planned_entries
from sdv_plausible.privacy.accounting.composition import composed_delta
from sdv_plausible.privacy.accounting.losses import InfiniteLoss, Loss
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import CodeArray

ROUNDING = 1e-9  # relative tolerance: the accountant uses floats
UNSEEN = 1e-13  # absolute tolerance: mass truncated from exact distributions


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """Claimed and exact delta at several epsilons.

    Attributes
    ----------
    epsilons : ndarray of float, shape (e,)
        Compared epsilons.
    claimed : ndarray of float, shape (e,)
        Delta of the ledger.
    exact : ndarray of float, shape (e,)
        Largest exact delta over all neighbours.
    worst_pairs : tuple of (table, table)
        The neighbours, likelier and rarer, that attain it, for every epsilon.
    """

    epsilons: FloatArray
    claimed: FloatArray
    exact: FloatArray
    worst_pairs: tuple[tuple[Counts, Counts], ...]

    @property
    def broken(self) -> npt.NDArray[np.bool_]:
        """Where the claim is below the exact curve, shape (e,)."""
        is_broken: npt.NDArray[np.bool_] = self.exact > self.claimed * (1 + ROUNDING) + UNSEEN
        return is_broken

    @property
    def holds(self) -> bool:
        """Whether the claim is nowhere below the exact curve."""
        return not self.broken.any()

    def __str__(self) -> str:
        relative_excess = (self.exact - self.claimed) / np.maximum(self.claimed, UNSEEN)
        worst = int(np.where(self.exact > UNSEEN, relative_excess, -2.0).argmax())
        first, second = self.worst_pairs[worst]
        return (
            f"the claim {'holds' if self.holds else 'is BROKEN'}: at epsilon {self.epsilons[worst]:.4g} "
            f"claimed delta {self.claimed[worst]:.6g}, exact {self.exact[worst]:.6g}, between tables "
            f"{first} and {second}"
        )


def compare(
    matrix: TransitionMatrix, claim: PrivacyLedger | Iterable[Loss], epsilons: npt.ArrayLike
) -> Comparison:
    """Compare the exact curve of a transition matrix with a claim.

    Parameters
    ----------
    matrix : TransitionMatrix
        Matrix of the mechanism, with the claim's neighbouring relation.
    claim : PrivacyLedger or iterable of Loss
        A whole ledger, or the losses charged for this mechanism.
    epsilons : array of float
        Epsilons to compare, each >= 0.

    Returns
    -------
    Comparison
        Both curves.

    Raises
    ------
    ValueError
        If an epsilon is negative or not finite.
    """
    checked = checked_epsilons(epsilons)
    worst = [matrix.worst_pair(float(epsilon)) for epsilon in checked]
    return Comparison(
        epsilons=checked,
        claimed=claimed_deltas(claim, checked),
        exact=np.array([delta for delta, _, _ in worst]),
        worst_pairs=tuple((likelier, rarer) for _, likelier, rarer in worst),
    )


def claimed_deltas(claim: PrivacyLedger | Iterable[Loss], epsilons: FloatArray) -> FloatArray:
    """Return the composed delta of a claim at every epsilon."""
    if isinstance(claim, PrivacyLedger):
        claim = claim.losses if claim.claims_privacy else [InfiniteLoss()]
    delta = composed_delta(claim)
    return np.array([delta(float(epsilon)) for epsilon in epsilons])


def checked_epsilons(epsilons: npt.ArrayLike) -> FloatArray:
    """Return the epsilons as an array; raise ValueError if they are invalid."""
    values = np.atleast_1d(np.asarray(epsilons, dtype=np.float64))
    if values.ndim != 1 or not values.size or not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(f"epsilons ({epsilons!r}) must be finite numbers >= 0; try np.linspace(0, 4, 41)")
    return values


REACH = 9.0  # enumerated standard deviations of a Gaussian; the tails are added to delta
SAME = 10  # decimals to which losses are rounded
NEGLIGIBLE = 1e-19  # losses with less probability are added to delta
MOST_LOSSES = 20_000_000
FINE = 1000.0  # scale above which Gaussian noise counts as continuous: delta changes by about 1e-6

ValueChanges = tuple[tuple[str, float, int], ...]
"""Noise distribution, scale, and change of the exact value, for every value that changes."""


def compare_learner(
    learner: Learner, domain: Any, budget: ModelBudget, tables: Iterable[Counts], epsilons: npt.ArrayLike
) -> Comparison:
    """Compare the exact curve of a learner with its planned charges, over all neighbours.

    The learner runs once on every table. An adaptive learner is audited along the queries that it chose
    there; a non-adaptive one completely.

    Parameters
    ----------
    learner : Learner
        Any learner that only uses ``ask``, ``ask_tables``, ``ask_laplace`` and ``count_rows``.
    domain : Domain
        A domain of few columns and codes.
    budget : ModelBudget
        Budget of the learner; its neighbours are single rows, added and removed or replaced.
    tables : iterable of tuple of int
        Tables as counts of all records of the universe, such as those of :func:`tables_of_sizes`.
    epsilons : array of float
        Epsilons to compare, each >= 0.

    Returns
    -------
    Comparison
        Both curves.

    Raises
    ------
    NotImplementedError
        If the learner makes other queries, such as a choice or a sum over a sample.
    ValueError
        If the learner made no query: silence proves no claim.
    """
    neighbours = budget.neighbours
    if neighbours.rows != 1:
        raise ValueError(f"budget.neighbours.rows ({neighbours.rows}) must be 1: tables here have no people")
    checked, table_list = checked_epsilons(epsilons), tuple(tables)
    records = universe(domain.cardinalities)
    engines = {
        table: CodeArray(np.asfortranarray(np.repeat(records, table, axis=0)), domain.cardinalities)
        for table in table_list
    }
    entries = planned_entries(learner, domain, budget)
    best, worst = np.full(len(checked), -1.0), [(table_list[0], table_list[0])] * len(checked)
    pairs = neighbouring(table_list, "replace_one" if neighbours.replace else "add_remove")
    queryables: dict[Counts, RecordingQueryable] = {}
    for first, second in ((table_list[i], table_list[j]) for i, j in pairs):
        for table, neighbour in ((first, second), (second, first)):
            if table not in queryables:
                ledger = PrivacyLedger(delta=budget.delta, neighbours=neighbours)
                rng = KeyedRNG.from_os_entropy()
                queryables[table] = RecordingQueryable(engines[table], ledger, entries, rng)
                learner.fit(queryables[table], domain, budget, rng)
            deltas = _deltas(queryables[table], engines[table], engines[neighbour], checked)
            for index in np.flatnonzero(deltas > best):
                best[index], worst[index] = deltas[index], (table, neighbour)
    check_recorded(
        learner, recorded=any(queryable.recorded or queryable.raw for queryable in queryables.values())
    )
    claimed = claimed_deltas([loss for entry in entries for loss in entry.losses], checked)
    return Comparison(epsilons=checked, claimed=claimed, exact=best, worst_pairs=tuple(worst))


def _deltas(
    queryable: RecordingQueryable, engine: CodeArray, other: CodeArray, epsilons: FloatArray
) -> FloatArray:
    """Return the exact delta of all answers together, between two tables."""
    changes: list[tuple[str, float, int]] = []
    for query in queryable.recorded:
        change = np.abs(
            np.asarray(query.question.exact(engine)) - np.asarray(query.question.exact(other))
        ).ravel()
        if change.any() and query.drawn is None:
            return np.ones(len(epsilons))
        if query.drawn is not None:
            step = query.drawn.granularity  # noise is on integer multiples of the step
            changes += [
                (query.drawn.name, query.drawn.scale / step, int(size / step)) for size in change[change > 0]
            ]
    if queryable.raw:
        return np.ones(len(epsilons))
    continuous = [
        value_change
        for value_change in changes
        if value_change[0] == "discrete_gaussian" and value_change[1] > FINE
    ]
    losses, masses = _loss_law(
        tuple(sorted(value_change for value_change in changes if value_change not in continuous))
    )
    remaining_epsilons = epsilons[:, None] - losses[None, :]
    gain = _gaussian(
        math.sqrt(sum((change / scale) ** 2 for _, scale, change in continuous)), remaining_epsilons
    )
    deltas: FloatArray = gain @ masses + max(0.0, 1.0 - float(masses.sum()))
    return deltas


def _gaussian(mu: float, epsilon: FloatArray) -> FloatArray:
    """Return delta of the Gaussian mechanism at any epsilon, including negative ones; mu 0 is allowed."""
    if mu == 0:
        return -np.expm1(np.minimum(epsilon, 0.0))
    delta: FloatArray = ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu))
    return np.maximum(delta, 0.0)


@lru_cache(maxsize=4096)
def _loss_law(changes: ValueChanges) -> tuple[FloatArray, FloatArray]:
    """Return the privacy losses of independent noisy values together, and their probabilities."""
    losses: FloatArray = np.zeros(1)
    masses: FloatArray = np.ones(1)
    for change in changes:
        next_losses, weights = _one_loss(*change)
        _check_few(len(losses) * len(next_losses))
        sums = np.round((losses[:, None] + next_losses[None, :]).ravel(), SAME)
        losses, index = np.unique(sums, return_inverse=True)
        joint = (masses[:, None] * weights[None, :]).ravel()
        masses = np.asarray(np.bincount(index, weights=joint), dtype=np.float64)
        is_kept = masses > NEGLIGIBLE
        losses, masses = losses[is_kept], masses[is_kept]
    return losses, masses


def _check_few(losses: int) -> None:
    if losses > MOST_LOSSES:
        raise ValueError(
            f"the learner's answers have more than {MOST_LOSSES:,} different losses: audit it on fewer "
            "columns, or with a larger epsilon, which takes less noise"
        )


@lru_cache(maxsize=4096)
def _one_loss(name: str, scale: float, change: int) -> tuple[FloatArray, FloatArray]:
    """Return ``ln p(z) - ln p(z - change)`` and p(z), for the noise z of one value."""
    _check_few(change)
    if name == "discrete_laplace":  # all z <= 0 have the same loss, and so have all z >= change
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

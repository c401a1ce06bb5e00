"""A claimed privacy curve against the exact one, over all neighbours of a small universe."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sdv_plausible.extensions.audit.disclosure.count_tables import Counts
from sdv_plausible.extensions.audit.disclosure.transition_matrix import FloatArray, TransitionMatrix
from sdv_plausible.privacy.accounting.composition import composed_delta
from sdv_plausible.privacy.accounting.losses import InfiniteLoss, Loss
from sdv_plausible.privacy.ledger import PrivacyLedger

ROUNDING = 1e-9  # relative: the accountant computes with doubles
UNSEEN = 1e-13  # absolute: what exact laws cut off


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """Claimed and exact delta at some epsilons.

    Attributes
    ----------
    epsilons : ndarray of float, shape (e,)
        Where they are compared.
    claimed : ndarray of float, shape (e,)
        Delta of the ledger.
    exact : ndarray of float, shape (e,)
        Largest exact delta over all neighbours.
    worst_pairs : tuple of (table, table)
        For every epsilon the neighbours, likelier and rarer, that reach it.
    """

    epsilons: FloatArray
    claimed: FloatArray
    exact: FloatArray
    worst_pairs: tuple[tuple[Counts, Counts], ...]

    @property
    def broken(self) -> npt.NDArray[np.bool_]:
        """Where the claim is below the exact curve, shape (e,)."""
        found: npt.NDArray[np.bool_] = self.exact > self.claimed * (1 + ROUNDING) + UNSEEN
        return found

    @property
    def holds(self) -> bool:
        """Whether the claim is nowhere below the exact curve."""
        return not self.broken.any()

    def __str__(self) -> str:
        share = (self.exact - self.claimed) / np.maximum(self.claimed, UNSEEN)
        at = int(np.where(self.exact > UNSEEN, share, -2.0).argmax())
        one, other = self.worst_pairs[at]
        return (
            f"the claim {'holds' if self.holds else 'is BROKEN'}: at epsilon {self.epsilons[at]:.4g} claimed "
            f"delta {self.claimed[at]:.6g}, exact {self.exact[at]:.6g}, between tables {one} and {other}"
        )


def compare(
    matrix: TransitionMatrix, claim: PrivacyLedger | Iterable[Loss], epsilons: npt.ArrayLike
) -> Comparison:
    """Hold the exact curve of a transition matrix against a claim.

    Parameters
    ----------
    matrix : TransitionMatrix
        Of the mechanism, with the neighbours that the claim speaks of.
    claim : PrivacyLedger or iterable of Loss
        A ledger, all of it, or the losses that were charged for this mechanism.
    epsilons : array of float
        Where to compare, each >= 0.
    """
    at = checked_epsilons(epsilons)
    found = [matrix.worst_pair(float(epsilon)) for epsilon in at]
    return Comparison(
        epsilons=at,
        claimed=claimed_deltas(claim, at),
        exact=np.array([delta for delta, _, _ in found]),
        worst_pairs=tuple((one, other) for _, one, other in found),
    )


def claimed_deltas(claim: PrivacyLedger | Iterable[Loss], epsilons: FloatArray) -> FloatArray:
    """Composed delta of a claim at every epsilon."""
    if isinstance(claim, PrivacyLedger):
        claim = claim.losses if claim.claims_privacy else [InfiniteLoss()]
    delta = composed_delta(claim)
    return np.array([delta(float(epsilon)) for epsilon in epsilons])


def checked_epsilons(epsilons: npt.ArrayLike) -> FloatArray:
    """Return them as an array, or say what is wrong."""
    found = np.atleast_1d(np.asarray(epsilons, dtype=np.float64))
    if found.ndim != 1 or not found.size or not np.isfinite(found).all() or (found < 0).any():
        raise ValueError(f"epsilons ({epsilons!r}) must be finite numbers >= 0; try np.linspace(0, 4, 41)")
    return found

"""Comparison of a claimed privacy curve with the exact one, over all neighbours of a small universe."""

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

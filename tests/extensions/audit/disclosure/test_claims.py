"""Claims held against exact curves."""

import numpy as np
import pytest

from sdv_plausible.extensions.audit.disclosure.claims import claimed_deltas, compare
from sdv_plausible.extensions.audit.disclosure.count_synthesizers import discrete_gaussian, laplace
from sdv_plausible.extensions.audit.disclosure.figures import plot_curves
from sdv_plausible.privacy.accounting.losses import GaussianLoss, InfiniteLoss, PureDP
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import PrivacyLedger

EPSILONS = np.linspace(0, 3, 7)


def ledger_of(*entries, delta=1e-6):
    ledger = PrivacyLedger(delta=delta)
    ledger.charge(*(LedgerEntry(mechanism="x", scope="x", **entry) for entry in entries))
    return ledger


def test_a_ledger_and_its_losses_claim_the_same():
    loss = GaussianLoss(sensitivity_over_sigma=1.0)
    ledger, matrix = ledger_of({"name": "counts", "losses": (loss,)}), discrete_gaussian(8, 1.0)
    one, other = compare(matrix, ledger, EPSILONS), compare(matrix, [loss], EPSILONS)
    np.testing.assert_array_equal(one.claimed, other.claimed)
    assert one.holds
    assert "holds" in str(one)
    assert one.exact[2] == pytest.approx(matrix.delta(1.0))
    assert sum(map(abs, np.subtract(*one.worst_pairs[2]))) == 2


def test_a_claim_too_low_is_seen_and_drawn():
    """Planted: noise of half the scale that the claim is for."""
    found = compare(laplace(5, 4.0), [PureDP(epsilon=2.0)], EPSILONS)
    assert not found.holds
    assert "BROKEN" in str(found)
    assert found.broken.tolist() == (found.exact > found.claimed).tolist()
    drawn = plot_curves(found)
    assert [trace.name for trace in drawn.data] == ["claimed", "exact", "claim broken"]
    right = compare(laplace(5, 2.0), [PureDP(epsilon=2.0)], EPSILONS)
    assert right.holds
    assert len(plot_curves(right).data) == 2
    for epsilons in ([-1.0], [], [np.inf], [[1.0]]):
        with pytest.raises(ValueError, match="must be finite numbers"):
            compare(laplace(5, 2.0), [PureDP(epsilon=2.0)], epsilons)


def test_a_claim_is_of_what_the_total_counts_and_not_of_what_an_envelope_stands_for():
    """Counted twice, a mechanism would have more room than its ledger states."""
    noise, at = (GaussianLoss(sensitivity_over_sigma=0.3),), np.array([0.1, 0.5, 1.0])
    stands = {"name": "learning", "losses": noise, "parts": ("domain", "parameters"), "envelope": True}
    inside = {"name": "domain", "losses": noise, "parts": ("domain",)}
    assert np.array_equal(claimed_deltas(ledger_of(stands, inside), at), claimed_deltas(noise, at))
    ledger = ledger_of(stands, inside, {"name": "seen", "losses": (InfiniteLoss(),)})
    assert (claimed_deltas(ledger, at) == 1).all()

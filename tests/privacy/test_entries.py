"""Envelopes: what stands for whatever follows, and the adversary against whom a total of the outcome fails."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import log_ndtr
from scipy.stats import norm

from sdv_plausible.privacy.accounting.composition import calibrate_gaussian, compose
from sdv_plausible.privacy.accounting.gaussian import discrete_gaussian_mu
from sdv_plausible.privacy.accounting.losses import (
    ApproxDP,
    BoundedRangeLoss,
    GaussianLoss,
    InfiniteLoss,
    Loss,
    PureDP,
)
from sdv_plausible.privacy.entries import LedgerEntry, Part, covered_entries, entries_in_total
from sdv_plausible.privacy.ledger import PrivacyLedger


def entry(
    name: str, *losses: Loss, parts: tuple[Part, ...] = ("domain",), envelope: bool = False
) -> LedgerEntry:
    return LedgerEntry(name=name, mechanism=name, losses=losses, scope=name, parts=parts, envelope=envelope)


def noise(mu: float, count: int = 1) -> GaussianLoss:
    return GaussianLoss(sensitivity_over_sigma=mu, count=count)


VOTE = entry("types", noise(0.01), ApproxDP(epsilon=0.0, delta=1e-10))
LEARNING = entry(
    "learning", noise(0.1), ApproxDP(epsilon=0.0, delta=1e-9), parts=("domain", "parameters"), envelope=True
)


def ledger_of(*entries: LedgerEntry) -> PrivacyLedger:
    made = PrivacyLedger(delta=1e-8)
    made.charge(*entries)
    return made


def test_what_is_within_an_envelope_is_no_part_of_the_total() -> None:
    before, seeds = ledger_of(VOTE, LEARNING), entry("seeds", PureDP(epsilon=0.3), parts=("seeds",))
    inside = (entry("domain", noise(0.05)), entry("model", noise(0.05, 3), parts=("parameters",)))
    for after in ((), inside[:1], inside):
        ledger = ledger_of(VOTE, LEARNING, *after)
        assert ledger.total() == before.total() == compose([*VOTE.losses, *LEARNING.losses], 1e-8)
        assert ledger.losses == before.losses
        assert ledger.attackers() == before.attackers()
        assert len(ledger.entries) == 2 + len(after)
        assert ledger.within == tuple(loss for one in after for loss in one.losses)
    assert ledger_of(VOTE, LEARNING, seeds, *inside).losses == (*before.losses, *seeds.losses)
    assert ledger_of(*inside, LEARNING).total() > ledger_of(LEARNING).total()  # before it
    both = entry("model and seeds", noise(0.01), parts=("parameters", "seeds"))  # more than it stands for
    assert both in entries_in_total([LEARNING, both])
    of_all = entry("coins", noise(0.01), parts=())  # of nothing that it stands for
    assert of_all in entries_in_total([LEARNING, of_all])
    assert covered_entries([LEARNING, entry("seen", InfiniteLoss())]) == []
    assert not ledger_of(LEARNING, entry("seen", InfiniteLoss())).claims_privacy


LARGER = {
    "noise": noise(0.1001), "noise shared out": noise(0.0501, 4), "failure": ApproxDP(epsilon=0.0, delta=1.1e-9),
    "of another kind": PureDP(epsilon=1e-6),
}  # fmt: skip


@pytest.mark.parametrize("case", LARGER)
def test_an_envelope_that_is_too_small_is_refused(case: str) -> None:
    ledger = ledger_of(VOTE, LEARNING)
    with pytest.raises(ValueError, match="entry 'learning' must cover all"):
        ledger.charge(entry("domain", LARGER[case]))
    assert ledger.entries == (VOTE, LEARNING)
    with pytest.raises(ValueError, match="one envelope"):
        ledger.charge(LEARNING)


def test_many_pieces_within_one_large_one_may_cost_more_in_concentrated_terms() -> None:
    """Their squares of mu add up to less than one discrete Gaussian's, and their rho to more."""
    large = entry("learning", noise(1.2), envelope=True)
    pieces = noise(discrete_gaussian_mu(1 / 1.2) / 20 * (1 - 3e-4), 400)
    assert 400 * pieces.mu**2 <= noise(1.2).mu ** 2
    with pytest.raises(ValueError, match="must cover all later charges"):
        ledger_of(large, entry("domain", pieces))
    ledger_of(large, entry("domain", noise(1.2 / 20, 400)))


def test_one_failure_is_more_than_several_of_its_sum() -> None:
    """Several compose to less than their sum. Control: several within one, and within themselves."""
    one, two = ApproxDP(epsilon=0.0, delta=0.2), ApproxDP(epsilon=0.0, delta=0.1, count=2)
    for envelope, inside in ((one, two), (two, two), (one, one)):
        ledger_of(entry("learning", envelope, envelope=True), entry("domain", inside))
    with pytest.raises(ValueError, match="must cover all later charges"):
        ledger_of(entry("learning", two, envelope=True), entry("domain", one))


def test_an_envelope_for_anything() -> None:
    any_ = entry("learning", ApproxDP(epsilon=1.0, delta=1e-9), envelope=True)
    two = entry("learning", PureDP(epsilon=1.0), noise(9.0), envelope=True)
    chosen = BoundedRangeLoss(epsilon=0.3, count=3)
    mu = calibrate_gaussian(1.0, 1e-9, [chosen])
    ledger_of(any_, entry("domain", chosen, noise(mu)))
    for envelope, inside in ((any_, (chosen, noise(1.01 * mu))), (two, (noise(0.01),))):
        with pytest.raises(ValueError, match="must cover all later charges"):
            ledger_of(envelope, entry("domain", *inside))


def gaussian_delta(mu: float, epsilon: np.ndarray) -> np.ndarray:
    """Curve of the Gaussian mechanism at every real epsilon."""
    first = norm.cdf(mu / 2 - epsilon / mu)
    return first - np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu))


def worst_delta(vote: float, outcomes: list[tuple[float, float]], epsilon: float) -> float:
    """Delta at epsilon of a vote with Gaussian noise, after which what hurts most of the outcomes follows.

    Outcomes are mu and a probability to fail; which of them follows is a function of the vote's answer.
    """
    z = np.linspace(-12, 12, 200_001) + vote  # answers with the row in
    loss = vote * z - vote**2 / 2
    after = np.array([f + (1 - f) * gaussian_delta(mu, epsilon - loss) for mu, f in outcomes])
    return float(np.trapezoid(norm.pdf(z - vote) * np.max(after, axis=0), z))


def whole(epsilon: float, delta: float, fails: float = 0.0) -> float:
    """The mu of Gaussian noise that takes all of (epsilon, delta) next to failures."""
    excess = lambda mu: float(gaussian_delta(mu, np.array(epsilon))) - (delta - fails) / (1 - fails)  # noqa: E731
    return float(brentq(excess, 1e-3, 9, xtol=1e-14))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_total_holds_against_whoever_chooses_the_outcome(epsilon: float) -> None:
    """Of noise that takes what failures leave: planted, totals that are each true of one outcome alone."""
    delta = 1e-6
    vote, fails = 0.1 * whole(epsilon, delta), 0.1 * delta
    alone, stands = (math.sqrt(whole(epsilon, delta, some) ** 2 - vote**2) for some in (0.0, fails))
    found = worst_delta(vote, [(alone, 0.0), (stands, fails)], epsilon) / delta
    assert found > 1.005 if epsilon < 1 else found > 0.95
    kept = [(stands, fails), (stands, 0.0), (0.7 * stands, fails)]
    assert 0.999 * delta < worst_delta(vote, kept, epsilon) <= delta * (1 + 1e-6)

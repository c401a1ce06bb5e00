"""The exact account of benchmarks.budget_used against closed forms and an enumeration."""

import math

import oracles_accounting as oracle
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr

from benchmarks.budget_used import composed, epsilon_of, noises_of, worth
from sdv_plausible.privacy.accounting.losses import ApproxDP, GaussianLoss
from sdv_plausible.privacy.noise.mechanisms import NoiseCall


def call(sensitivity: float, scale: float) -> NoiseCall:
    drawn = {"name": "discrete_gaussian", "budget": 0.0, "shape": (3,), "source": "opendp"}
    return NoiseCall(sensitivity=sensitivity, scale=scale, **drawn)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Closed form of Balle and Wang (2018), Theorem 8."""
    excess = lambda e: ndtr(mu / 2 - e / mu) - math.exp(e) * ndtr(-mu / 2 - e / mu) - delta  # noqa: E731
    return float(brentq(excess, 0.0, 5.0))


def test_few_numbers_against_an_enumeration() -> None:
    atoms = oracle.compose_atoms([oracle.discrete_gaussian(2.0), oracle.discrete_gaussian(3.0)])
    losses, masses = composed({(2.0, 1.0): 1, (3.0, 1.0): 1})
    for epsilon in (0.3, 0.8, 1.5):
        delta = oracle.atoms_delta(atoms, epsilon)
        assert epsilon_of(losses, masses, delta) == pytest.approx(epsilon, abs=2e-4)


def test_much_wide_noise_is_as_continuous_noise() -> None:
    """Also a vector that moves by 6,000: as fewer numbers, of noise that is wide still."""
    for calls in ([call(1.0, 60.0)] * 40, [call(6_000.0, 6_000 * 60 / math.sqrt(40))]):
        found, is_exact = worth(calls, [GaussianLoss(sensitivity_over_sigma=0.1)], 1e-6)
        closed = gaussian_epsilon(math.sqrt(40) / 60, 1e-6)
        assert is_exact
        assert found == pytest.approx(closed, rel=1e-4)
    assert sum(noises_of([call(6_000.0, 60_000.0)]).values()) < 1_000


def test_a_failure_is_taken_off_delta() -> None:
    plain, _ = worth([call(1.0, 5.0)], [], 1e-6)
    less, _ = worth([call(1.0, 5.0)], [ApproxDP(epsilon=0.0, delta=5e-7)], 1e-6)
    assert less > 1.005 * plain

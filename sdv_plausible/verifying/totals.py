"""The total of a ledger's losses, composed anew, by other means than the program's own.

Gaussian noise alone, and sums over samples, by dp-accounting's privacy-loss distributions; everything else by
its own sums over atoms of the loss, next to which Gaussian noise has the closed form of Balle and Wang
(*Improving the Gaussian Mechanism*, ICML 2018, Theorem 8); zero-concentrated privacy by dp-accounting's
conversion. The program does each the other way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp.rdp_privacy_accountant import compute_epsilon
from scipy.optimize import brentq
from scipy.special import log_ndtr

from sdv_plausible.verifying.losses import LARGE, Atoms, Loss, Sorted

_STEPS = 2000  # points of a grid of losses for a standard deviation of the total
_MOST = 1 << 21  # points of a grid
_ORDERS = 1 + np.geomspace(1.1e-2, 1e6, 6000)
_GRID = 400  # the same for dp-accounting, which connects the dots


class UnknownTotalError(ValueError):
    """This reading has no total for such losses."""


def total(losses: Sequence[Loss], delta: float) -> float:
    """Epsilon at delta of all of them, used in turn; infinite where there is none."""
    pairs = [one for one in losses if one["type"] in ("PureDP", "ApproxDP") and one["epsilon"] > LARGE]
    large, found = Sorted.of(pairs), Sorted.of([one for one in losses if one not in pairs])
    if found.endless or large.delta >= delta:
        return math.inf
    delta -= large.delta
    best = found.epsilon if found.delta <= delta else math.inf
    if found.rho and found.delta < delta:
        rdp = found.rho * _ORDERS
        best = min(best, float(compute_epsilon(_ORDERS.tolist(), rdp.tolist(), delta - found.delta)[0]))
    if not found.zcdp:
        best = min(best, _composed(found, delta))
    elif found.mu_squared or found.others or found.sampled:
        raise UnknownTotalError("losses of which rho alone is known stand beside others")
    return large.epsilon + best


def split_total(parts: Sequence[tuple[float, Sequence[Loss]]], common: Sequence[Loss], delta: float) -> float:
    """Epsilon where each row falls, secretly and by itself, into one part or into none.

    ``ln(1 + sum of p (e^epsilon - 1))`` of what each part costs, at half of delta where all rows are used for
    something besides (``common``), with which it is then composed.
    """
    share = delta / 2 if common else delta
    costs = [(p, total(losses, share) if losses else 0.0) for p, losses in parts]
    most = max(cost for _, cost in costs)
    if math.isinf(most):
        return math.inf
    inside = math.fsum(p * (math.exp(cost - most) - math.exp(-most)) for p, cost in costs)
    amplified = max(0.0, most + math.log(inside + math.exp(-most)))
    if not common:
        return amplified
    return total([{"type": "ApproxDP", "epsilon": amplified, "delta": share}, *common], delta)


def _composed(found: Sorted, delta: float) -> float:
    """By distributions of the loss, in the worse of both directions."""
    failure, mu = -math.expm1(found.log_kept), math.sqrt(found.mu_squared)
    if failure >= delta:
        return math.inf
    left = (delta - failure) / (1 - failure)
    if found.sampled or not found.others:
        return _by_library(found, mu, left)
    both = [found.others, [(atoms.reverse(), count) for atoms, count in found.others]]
    if all(atoms.symmetric for atoms, _ in found.others):
        both = both[:1]
    return max(_smallest(_delta_beside(others, mu), left) for others in both)


def _by_library(found: Sorted, mu: float, delta: float) -> float:
    """Everything as distributions of dp-accounting."""
    if not (mu or found.sampled):
        return 0.0
    uses = 1 + sum(count for *_, count in [*found.sampled, *found.others])
    each = [rate * mu_of * math.sqrt(count) for rate, mu_of, count in found.sampled]
    step = math.sqrt(mu * mu + math.fsum(e * e for e in each)) / _GRID / math.sqrt(uses)
    made = [pld.from_gaussian_mechanism(1 / mu, value_discretization_interval=step)] if mu else []
    for rate, mu_of, count in found.sampled:
        one = pld.from_gaussian_mechanism(1 / mu_of, sampling_prob=rate, value_discretization_interval=step)
        made.append(one.self_compose(count))
    for atoms, count in found.others:
        one = pld.from_two_probability_mass_functions(*_pair(atoms), True, step, symmetric=atoms.symmetric)
        made.append(one.self_compose(count))
    whole = made[0]
    for part in made[1:]:
        whole = whole.compose(part)
    return float(whole.get_epsilon_for_delta(delta))


def _pair(atoms: Atoms) -> tuple[dict[int, float], dict[int, float]]:
    """Logarithms of the masses of a pair of distributions with this loss."""
    upper = {i: math.log(m) for i, m in enumerate(atoms.masses.tolist()) if m > 0}
    lower = {i: log_mass - atoms.values[i] for i, log_mass in upper.items()}
    rest = -math.expm1(float(np.logaddexp.reduce(list(lower.values()))))
    if rest > 1e-12:
        lower[-1] = math.log(rest)
    if atoms.failure > 0:
        upper[-2] = math.log(atoms.failure)
    return lower, upper


def _delta_beside(others: Sequence[tuple[Atoms, int]], mu: float) -> Callable[[float], float]:
    """Delta at every epsilon of Gaussian noise next to losses of finitely many values."""
    spread = math.fsum(count * float(atoms.masses @ atoms.values**2) for atoms, count in others)
    reach = math.fsum(count * float(np.abs(atoms.values).max()) for atoms, count in others)
    uses = sum(count for _, count in others)
    step = max(math.sqrt(spread + mu * mu) / _STEPS / math.sqrt(uses), 2 * reach / _MOST)
    half = math.ceil(reach / step) + uses + 1  # rounding moves each use by a step at most
    size = 1 << (2 * half + 1).bit_length()
    spectrum, log_kept = np.ones(size // 2 + 1, dtype=complex), 0.0
    for atoms, count in others:
        spectrum *= np.fft.rfft(_on_grid(atoms, step, size)) ** count
        log_kept += count * math.log1p(-atoms.failure)
    masses = np.fft.irfft(spectrum, size)
    losses = step * np.fft.fftfreq(size, 1 / size)
    seen = masses > 1e-18
    masses, losses, failure = masses[seen], losses[seen], -math.expm1(log_kept)

    def delta(epsilon: float) -> float:
        return failure + float(masses @ gaussian_delta(mu, epsilon - losses))

    return delta


def _on_grid(atoms: Atoms, step: float, size: int) -> np.ndarray:
    """Masses at multiples of a step: each value is shared so that both distributions keep their mass."""
    place = np.floor(atoms.values / step + 1e-9)
    up = atoms.masses * np.expm1(place * step - atoms.values) / math.expm1(-step)
    found = np.zeros(size)
    np.add.at(found, place.astype(int) % size, atoms.masses - up)
    np.add.at(found, (place.astype(int) + 1) % size, up)
    return found


def gaussian_delta(mu: float, epsilon: np.ndarray) -> np.ndarray:
    """``Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)`` at any epsilon, of either sign."""
    if not mu:
        return np.maximum(0.0, -np.expm1(np.minimum(epsilon, 0.0)))
    keep, lose = log_ndtr(mu / 2 - epsilon / mu), epsilon + log_ndtr(-mu / 2 - epsilon / mu)
    found: np.ndarray = np.exp(keep) * -np.expm1(np.minimum(lose - keep, 0.0))
    return found


def _smallest(delta: Callable[[float], float], most: float) -> float:
    """Smallest epsilon at which delta is this or less."""
    if delta(0.0) <= most:
        return 0.0
    high = 1e-3
    while delta(high) > most:
        high *= 2
        if high > 1e5:
            return math.inf
    return float(brentq(lambda e: math.log(max(delta(e), 1e-300) / most), 0.0, high, xtol=1e-12, rtol=1e-10))

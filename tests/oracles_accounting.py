"""Slow, obvious references for the accountant: sums over every outcome.

Nothing here is imported from ``sdv_plausible.privacy``: these are the definitions that the formulas are held against.
Mechanism 1 itself is enumerated by ``sdv_plausible.extensions.audit.disclosure.exact``, in fractions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy import stats
from scipy.optimize import brentq

from sdv_plausible.extensions.audit.disclosure import exact

FACTORS = [Fraction(x) for x in ("1", "11/10", "3/2", "2", "3", "5", "8", "20", "100")]
EPSILONS = np.log([float(f) for f in FACTORS])
SLACK = 1e-9  # relative, for the float side of a comparison
# Likelihoods of 4 candidates under 3 kinds of record. The first is one fixed omega (disjoint groups); in the second
# records overlap at different probabilities, so that gamma matters.
PREFIXES = [[Fraction(1), 0, 0, 0], [0, Fraction(1, 2), Fraction(1, 2), 0], [0, 0, 0, Fraction(1)]]
OVERLAPPING = [
    [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4), 0],
    [Fraction(1, 4), Fraction(1, 2), 0, Fraction(1, 4)],
    [Fraction(1, 6), Fraction(1, 6), Fraction(1, 6), Fraction(1, 2)],
]


Law = Mapping[Hashable, Fraction]


def rows(one_attempt: Sequence[Fraction], num_rows: int) -> np.ndarray:
    """Distribution of `num_rows` released rows over all sequences of candidates."""
    row = np.array([float(p / sum(one_attempt)) for p in one_attempt])
    joint = np.ones(1)
    for _ in range(num_rows):
        joint = np.kron(joint, row)
    return joint


def hockey_stick(p: Law, q: Law, factor: Fraction) -> Fraction:
    """Smallest delta with ``P(S) <= factor Q(S) + delta`` for every event S; factor stands for e^epsilon."""
    return sum((max(Fraction(0), m - factor * q.get(y, Fraction(0))) for y, m in p.items()), Fraction(0))


def hockey_sticks(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Smallest delta with P(S) <= factor Q(S) + delta for every event S, at every factor."""
    return np.array([np.maximum(0.0, p - float(f) * q).sum() for f in FACTORS])


def released_pairs(
    likelihood, gamma: Fraction, test: exact.PassProbability, num_rows: int, sizes: Iterable[int]
):
    """Every neighbour pair: table, added record, distributions of N rows with and without it, and a pass-rate floor."""
    for n in sizes:
        for table in itertools.combinations_with_replacement(range(len(likelihood)), n):
            for extra in range(len(likelihood)):
                more, less = (exact.attempt(t, likelihood, test, gamma) for t in ((*table, extra), table))
                if sum(more) and sum(less):
                    floor = float(min(sum(more), sum(less)))
                    yield n, table, extra, rows(more, num_rows), rows(less, num_rows), floor


def excess(claim, more: np.ndarray, less: np.ndarray) -> float:
    """Largest amount by which the enumerated divergence exceeds a claimed profile, both directions.

    Sums of doubles: right to 1e-13, so at most TOLERANCE where the claim holds.
    """
    remove, add = claim.profile(EPSILONS)
    removed = hockey_sticks(more, less) - remove * (1 + SLACK)
    added = hockey_sticks(less, more) - add * (1 + SLACK)
    return float(max(removed.max(), added.max()))


TOLERANCE = 1e-12


def binomial_delta(num_draws: int, a1: float, a0: float, epsilon: float) -> float:
    """Hockey-stick divergence of Binomial(N, a1) from Binomial(N, a0), summed over every count."""
    return float(_summed(*_log_masses(num_draws, a1, a0), epsilon))


def binomial_epsilon(num_draws: int, a1: npt.ArrayLike, a0: npt.ArrayLike, delta: float) -> float:
    """Smallest epsilon >= 0, within 1e-9, at which both directions of every pair of coins stay within delta."""
    first, second = _log_masses(num_draws, a1, a0)

    def worst(epsilon: float) -> float:
        return float(max(_summed(first, second, epsilon).max(), _summed(second, first, epsilon).max()))

    if worst(0.0) <= delta:
        return 0.0
    high = 1.0
    while worst(high) > delta:
        high *= 2
    return float(brentq(lambda epsilon: math.log(max(worst(epsilon), 1e-300) / delta), 0.0, high, xtol=1e-9))


def _log_masses(num_draws: int, *heads: npt.ArrayLike) -> list[np.ndarray]:
    """Log probability of every count of heads, one row per coin."""
    return [stats.binom.logpmf(np.arange(num_draws + 1), num_draws, np.asarray(a)[..., None]) for a in heads]


def _summed(first: np.ndarray, second: np.ndarray, epsilon: float) -> np.ndarray:
    return np.sum(-np.exp(first) * np.expm1(np.minimum(epsilon + second - first, 0.0)), axis=-1)


def pass_probability(c: int, k: int, epsilon0: float, noise: str) -> float:
    """Pr[c + noise >= k], from the noise's distribution function."""
    if noise == "laplace":
        return float(stats.laplace.sf(k - c, scale=1 / epsilon0))
    return float(stats.dlaplace.sf(k - c - 1, epsilon0))


def fixed_omega_coin(c: int, a0: float, k: int, epsilon0: float, noise: str) -> float:
    """Chance a1 that a released row is from the group with the added row, where it was a0 with c rows."""
    ratio = (
        (1 + 1 / c) * pass_probability(c + 1, k, epsilon0, noise) / pass_probability(c, k, epsilon0, noise)
    )
    return ratio * a0 / (1 - a0 + ratio * a0)


def fixed_omega_epsilon(
    num_rows: int,
    k: int,
    epsilon0: float,
    delta: float,
    floor: float,
    n: int,
    noise: str,
    *,
    sizes: Iterable[int],
    rates: int = 7,
) -> float:
    """Largest loss over the given group sizes and a grid of admissible shares a0: a lower bound on the worst case."""
    coins = []
    for c in sizes:
        top = min(1.0 - 1e-9, c * pass_probability(c, k, epsilon0, noise) / (n * floor))
        shares = np.linspace(top / rates, top, rates)
        coins += [(fixed_omega_coin(c, float(a0), k, epsilon0, noise), float(a0)) for a0 in shares]
    return binomial_epsilon(num_rows, *np.transpose(coins), delta)


def histograms(n: int, largest: int | None = None) -> Iterator[tuple[int, ...]]:
    """All histograms of n rows up to relabelling: the partitions of n."""
    if n == 0:
        yield ()
        return
    for part in range(min(n, largest or n), 0, -1):
        for rest in histograms(n - part, part):
            yield (part, *rest)


def entropy(counts: Iterable[int]) -> float:
    """Empirical entropy in bits."""
    kept = [c for c in counts if c]
    n = sum(kept)
    return -math.fsum(c / n * math.log2(c / n) for c in kept) if n else 0.0


def one_row_more(counts: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Every histogram that has one row more: in any present cell, or in a new one."""
    for i in range(len(counts)):
        yield (*counts[:i], counts[i] + 1, *counts[i + 1 :])
    yield (*counts, 1)


Atoms = list[tuple[float, float]]  # outcomes of a mechanism: probability under each neighbour


def compose_atoms(mechanisms: Sequence[Atoms]) -> Atoms:
    """Joint outcomes of mechanisms used one after the other."""
    outcomes = itertools.product(*mechanisms)
    return [(math.prod(p for p, _ in one), math.prod(q for _, q in one)) for one in outcomes]


def atoms_delta(atoms: Atoms, epsilon: float) -> float:
    """Hockey-stick divergence of the first neighbour from the second."""
    return math.fsum(max(0.0, p - math.exp(epsilon) * q) for p, q in atoms)


def flipped(atoms: Atoms) -> Atoms:
    """The other direction."""
    return [(q, p) for p, q in atoms]


def profile(atoms: Atoms, epsilons: np.ndarray) -> np.ndarray:
    """The worse direction's delta at every epsilon."""
    return np.array([max(atoms_delta(atoms, e), atoms_delta(flipped(atoms), e)) for e in epsilons])


def randomised_response(epsilon: float) -> Atoms:
    """The worst epsilon-DP mechanism."""
    high = 1 / (1 + math.exp(-epsilon))
    return [(high, 1 - high), (1 - high, high)]


def discrete_laplace(epsilon: float, shift: int = 1) -> Atoms:
    """Noisy integers, neighbours `shift` apart; outcomes outside the two values are merged, as their ratio is constant."""
    a = math.exp(-epsilon / shift)
    peak = (1 - a) / (1 + a)
    middle = [(peak * a**x, peak * a ** (shift - x)) for x in range(1, shift)]
    outside = 1 / (1 + a)
    return [(outside, outside * a**shift), *middle, (outside * a**shift, outside)]


def discrete_gaussian(sigma: float, shift: int = 1) -> Atoms:
    """Noisy integers, neighbours `shift` apart, out to 20 sigma."""
    reach = math.ceil(20 * sigma) + shift + 5
    x = np.arange(-reach, reach + 1)
    weight = np.exp(-(x**2) / (2 * sigma**2))
    moved = np.exp(-((x - shift) ** 2) / (2 * sigma**2))
    total = math.fsum(weight)
    return [(float(p), float(q)) for p, q in zip(weight / total, moved / total, strict=True)]


def exponential_mechanism(scores: Sequence[float], changed: Sequence[float], scale: float) -> Atoms:
    """Choice with probability proportional to exp(score/scale), for two neighbours' scores."""
    first = np.exp((np.asarray(scores) - max(scores)) / scale)
    second = np.exp((np.asarray(changed) - max(changed)) / scale)
    return [(float(p), float(q)) for p, q in zip(first / first.sum(), second / second.sum(), strict=True)]


def composed_gaussians(
    noises: Iterable[tuple[float, int] | tuple[float, int, float]], *, points: int = 4000
) -> tuple[np.ndarray, np.ndarray]:
    """Privacy losses, and their masses, of discrete Gaussian noise on integers that all move by one.

    Each of ``noises`` is a sigma, how many integers have it, and what the noise is a multiple of (1). An upper bound: an atom of a loss is shared between
    the two next points of a grid so that both distributions keep their mass. ``points`` of it make a deviation.
    """
    parts = [(*one, 1.0)[:3] for one in noises]
    deviation = math.sqrt(sum(count / sigma**2 for sigma, count, _ in parts))
    step = deviation / points
    reach = 14 * deviation + deviation**2 + 3 / min(sigma for sigma, _, _ in parts) ** 2
    size = 1 << (2 * math.ceil(reach / step)).bit_length()
    spectrum = np.ones(size // 2 + 1, dtype=complex)
    for sigma, count, multiple in parts:
        reach_of_noise = math.ceil(14 * sigma / multiple) + 1
        at = np.arange(-reach_of_noise, reach_of_noise + 1) * multiple
        mass = np.exp(-(at**2) / (2 * sigma**2))
        loss = (2 * at + 1) / (2 * sigma**2)
        low = np.floor(loss / step).astype(int)
        up = mass / mass.sum() * np.expm1(low * step - loss) / math.expm1(-step)
        one = np.bincount(low % size, mass / mass.sum() - up, size) + np.bincount((low + 1) % size, up, size)
        spectrum *= np.fft.rfft(one) ** count
    return step * np.fft.fftfreq(size, 1 / size), np.maximum(np.fft.irfft(spectrum, size), 0.0)


def delta_of(losses: np.ndarray, masses: np.ndarray, epsilon: float) -> float:
    """``E[(1 - e^(epsilon - L))+]``."""
    beyond = losses > epsilon
    return float(masses[beyond] @ -np.expm1(epsilon - losses[beyond]))

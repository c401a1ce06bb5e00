"""How much of the epsilon asked for the noise is worth: asked, the ledger's total, and an exact account of the noise drawn.

Run: python -m benchmarks.budget_used [--epsilons 0.1 1 3 10] [--delta 1e-6] [--cases census ...] [--rows 30000]

Every call of the noise functions is recorded, and nothing of the rows. The losses of discrete Gaussian noise of these deviations on
whole numbers that move by these sensitivities (linear on a lattice) are composed by a fast Fourier transform; a vector of
sensitivity s counts as s^2 numbers that move by one. Other losses (failures, choices, sums over samples) are as they were charged;
beside choices and sums, each Gaussian answer is one that dominates it, and the worth an upper bound ("<=").
``learned``: the types of the columns are declared, and no values. ``voted``: not even the types. ``few``: three columns of the census table. ``related``: the
simulated households (500) and their people, everything declared.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from sdv.metadata import Metadata

from sdv_plausible import PlausibleDeniabilityMultiTableSynthesizer, PlausibleDeniabilitySynthesizer
from sdv_plausible.datasets import (
    census_like,
    census_like_metadata,
    families_like,
    families_like_domain,
    families_like_metadata,
)
from sdv_plausible.privacy.accounting.composition import compose
from sdv_plausible.privacy.accounting.losses import ApproxDP, GaussianLoss, Loss, PureDP
from sdv_plausible.privacy.accounting.sampled_gaussian import SampledGaussianLoss
from sdv_plausible.privacy.noise.mechanisms import NoiseCall, record_calls

EPSILONS = (0.1, 0.3, 1.0, 3.0, 4.0, 8.0, 10.0)
WIDE = 200.0  # deviation from which on noise on a lattice costs what continuous noise does, up to 1e-6
POINTS = 16_000  # of the grid of losses, for a standard deviation
Noises = Mapping[tuple[float, float], int]
"""Deviations and granularities, and how many numbers that move by one have each."""


def noises_of(calls: Iterable[NoiseCall]) -> Noises:
    """Gaussian noise that was drawn; many numbers of wide noise as fewer, of a deviation that is wide still."""
    found = Counter[tuple[float, float]]()
    for call in calls:
        if call.name == "discrete_gaussian":
            found[call.scale, call.granularity] += max(1, math.floor(call.sensitivity**2 + 1e-6))
    alike = Counter[tuple[float, float]]()
    for (sigma, step), count in found.items():
        fewer = count if sigma < WIDE else min(count, math.ceil(count * (WIDE / sigma) ** 2))
        alike[sigma * math.sqrt(fewer / count), step] += fewer
    return alike


def composed(noises: Noises, points: int = POINTS) -> tuple[np.ndarray, np.ndarray]:
    """Privacy losses of all of it together, and their masses: atoms are shared between two points of a grid."""
    deviation = math.sqrt(math.fsum(count / sigma**2 for (sigma, _), count in noises.items()))
    step, nearest = deviation / points, min(sigma for sigma, _ in noises)
    reach = 14 * deviation + deviation**2 + 3 / nearest**2
    size = 1 << (2 * math.ceil(reach / step)).bit_length()
    spectrum = np.ones(size // 2 + 1, dtype=complex)
    for (sigma, granularity), count in noises.items():
        most = math.ceil(14 * sigma / granularity) + 1
        at = np.arange(-most, most + 1) * granularity
        masses = np.exp(-(at**2) / (2 * sigma**2))
        masses /= masses.sum()
        losses = (2 * at + 1) / (2 * sigma**2)  # of a number that moves by one
        place = np.floor(losses / step).astype(int)
        up = (
            masses * np.expm1(place * step - losses) / math.expm1(-step)
        )  # both distributions keep their mass
        grid = np.bincount(place % size, masses - up, size) + np.bincount((place + 1) % size, up, size)
        spectrum *= np.fft.rfft(grid) ** count
    return step * np.fft.fftfreq(size, 1 / size), np.maximum(np.fft.irfft(spectrum, size), 0.0)


def epsilon_of(losses: np.ndarray, masses: np.ndarray, delta: float) -> float:
    """Smallest epsilon at which ``E[(1 - e^(epsilon - L))+]`` is delta."""
    low, high = 0.0, float(losses.max())
    for _ in range(60):
        middle = (low + high) / 2
        beyond = losses > middle
        is_more = float(masses[beyond] @ -np.expm1(middle - losses[beyond])) > delta
        low, high = (middle, high) if is_more else (low, middle)
    return high


def worth(calls: Iterable[NoiseCall], charged: Sequence[Loss], delta: float) -> tuple[float, bool]:
    """Epsilon of the noise that was drawn next to the other losses, and whether it is exact."""
    others = [loss for loss in charged if not isinstance(loss, GaussianLoss)]
    of_samples = [loss.sensitivity_over_sigma for loss in others if isinstance(loss, SampledGaussianLoss)]
    of_all = [c for c in calls if not any(math.isclose(c.sensitivity / c.scale, r) for r in of_samples)]
    noises = noises_of(of_all)
    pure = [loss for loss in others if isinstance(loss, PureDP) and loss.count == 1]
    if all(loss in pure or (isinstance(loss, ApproxDP) and loss.epsilon == 0) for loss in others):
        failure = math.fsum(loss.count * loss.delta for loss in others if isinstance(loss, ApproxDP))
        losses, masses = composed(noises)
        for loss in pure:  # of a count's Laplace noise, whose loss is one of two
            up = 1 / (1 + math.exp(-loss.epsilon))
            losses = np.concatenate([losses + loss.epsilon, losses - loss.epsilon])
            masses = np.concatenate([masses * up, masses * (1 - up)])
        return epsilon_of(losses, masses, (delta - failure) / (1 - failure)), True
    drawn = [  # a number in steps of its granularity, each of which costs a part of what moves it by one
        GaussianLoss(sensitivity_over_sigma=granularity / sigma, count=round(count / granularity**2))
        for (sigma, granularity), count in noises.items()
    ]
    return compose([*others, *drawn], delta), False


Case = Callable[[float, float, int], tuple[float, list[Loss]]]
"""Fits at an epsilon and delta, a table of so many rows; the ledger's total, and what it charged."""


def single(
    model: str = "bayesian_network", columns: slice = slice(None), *, is_declared: bool = True,
    types: str = "declared",
) -> Case:  # fmt: skip
    """A fit of the simulated census table."""

    def fit(epsilon: float, delta: float, rows: int) -> tuple[float, list[Loss]]:
        table = census_like(rows).iloc[:, columns]
        domain = {name: told for name, told in census_like_metadata().items() if name in table}
        words = {name: {"sdtype": told["sdtype"]} for name, told in domain.items()}
        metadata = Metadata.load_from_dict({"tables": {"table": {"columns": words}}})
        given = {"domain": domain} if is_declared else {}
        synth = PlausibleDeniabilitySynthesizer(
            metadata, epsilon=epsilon, delta=delta, model=model, types=types, **given
        )
        synth.fit(table)
        ledger = synth.privacy_ledger()
        return ledger.total(), list(ledger.losses)

    return fit


def related(epsilon: float, delta: float, rows: int) -> tuple[float, list[Loss]]:
    """A fit of 500 simulated households."""
    synth = PlausibleDeniabilityMultiTableSynthesizer(
        Metadata.load_from_dict(families_like_metadata()), epsilon=epsilon, delta=delta, domain=families_like_domain(),
        types="declared",
    )  # fmt: skip
    synth.fit(families_like(500))
    ledger = synth.privacy_ledger()
    return ledger.total(), list(ledger.losses)


CASES: dict[str, Case] = {
    "census": single(),
    "few": single(columns=slice(0, 3)),
    "learned": single(is_declared=False),
    "voted": single(is_declared=False, types="voted"),
    "related": related,
    "independent": single("independent"),
    "gaussian_copula": single("gaussian_copula"),
    "paper": single("paper"),
    "correlated": single("correlated"),
    "latent": single("latent"),
}


def line(case: str, epsilon: float, delta: float, rows: int) -> str:
    """One line of the table."""
    with record_calls() as calls, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        total, losses = CASES[case](epsilon, delta, rows)
    found, is_exact = worth(calls, losses, delta)
    mark = "" if is_exact else "<= "
    return f"| {case} | {epsilon:g} | {total:.4g} | {mark}{found:.4g} | {100 * found / epsilon:.1f} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--epsilons", type=float, nargs="*", default=EPSILONS)
    parser.add_argument("--delta", type=float, default=1e-6)
    parser.add_argument("--cases", nargs="*", choices=CASES, default=list(CASES))
    parser.add_argument("--rows", type=int, default=30_000)
    args = parser.parse_args()
    print("| case | asked | ledger | worth of the noise | % of asked |\n|---|---|---|---|---|")
    for case in args.cases:
        for epsilon in args.epsilons:
            print(line(case, epsilon, args.delta, args.rows), flush=True)


if __name__ == "__main__":
    main()

"""Theorem 1 of the paper, and the probability that a number of plausible seeds passes Privacy Test 2.

Neighbours differ by adding or removing one row: D' is D with one more row. *Removing* bounds what D' makes
likelier than D, *adding* the reverse. Composition is in :mod:`sdv_plausible.privacy.accounting.composition`;
many rows under the row-by-row tests are in :mod:`sdv_plausible.privacy.accounting.released_rows`.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.accounting.gaussian import FloatArray
from sdv_plausible.privacy.accounting.losses import EpsilonDelta

Noise = Literal["discrete_laplace", "laplace"]


class Theorem1Choice(NamedTuple):
    """Theorem 1 at its best t."""

    epsilon: float
    delta: float
    t: int


def check_noise(noise: str) -> None:
    """Raise unless this is a noise of the randomised test."""
    check.one_of("threshold_noise", noise, ("discrete_laplace", "laplace"))


def log_pass_probability(
    group_size: npt.ArrayLike, k: int, epsilon0: float, noise: Noise = "discrete_laplace"
) -> FloatArray:
    """Natural log of pt(c) = Pr[c + noise >= k]: c plausible seeds pass Privacy Test 2."""
    # Values <= 0 in the shape of c, finite for any probability. Concave in c
    # (``docs/explanation/proofs/seed_test.md``, Lemma 1). The noise has density proportional to
    # ``exp(-epsilon0 |z|)`` on the integers or on the real line.
    check_noise(noise)
    distance = np.asarray(group_size, dtype=np.float64) - k
    a = math.exp(-epsilon0)
    # Below the centre the tail falls by the factor a per step; above it is one minus the other tail.
    at_centre = 0.5 if noise == "laplace" else 1 / (1 + a)
    first_above = 0.5 if noise == "laplace" else a / (1 + a)
    below = math.log(at_centre) + epsilon0 * np.minimum(distance, 0.0)
    above = np.log1p(-first_above * np.exp(-epsilon0 * np.maximum(distance, 0.0)))
    result: FloatArray = np.where(distance <= 0, below, above)
    return result


def theorem1(
    k: int,
    gamma: float,
    epsilon0: float,
    t: int,
    *,
    n_lower: int | None = None,
    noise: Noise = "discrete_laplace",
) -> EpsilonDelta:
    """Theorem 1 of the paper: one candidate of Mechanism 1 with Privacy Test 2, for events among rows."""
    # ``epsilon = epsilon0 + ln(1 + gamma/t)``, ``delta = exp(-epsilon0 (k - t))`` as printed. With `n_lower`
    # the sharper ``delta = pt(t)/(n_lower + 1)`` (``docs/explanation/proofs/theorem1.md``): the new row must
    # also be the seed. It does not cover a visible rejection, and it must not be composed over released rows
    # (``docs/explanation/proofs/conditional_release.md``): see
    # :mod:`sdv_plausible.privacy.accounting.released_rows`. k >= 2, gamma >= 1 (1 for one known omega, where
    # all plausible seeds are equally likely), epsilon0 > 0, 1 <= t < k; ``noise`` matters only with
    # `n_lower`.
    k, gamma, epsilon0 = _test_parameters(k, gamma, epsilon0)
    t = check.whole("t", t, 1)
    if t >= k:
        raise check.Refused.saying("k", f"k ({k}) must exceed t ({t}): Theorem 1 needs 1 <= t < k")
    delta = math.exp(-epsilon0 * (k - t))
    if n_lower is not None:
        n_lower = check.whole("n_lower", n_lower, 0)
        delta = math.exp(float(log_pass_probability(t, k, epsilon0, noise))) / (n_lower + 1)
    return EpsilonDelta(epsilon0 + math.log1p(gamma / t), delta)


def theorem1_best(
    k: int,
    gamma: float,
    epsilon0: float,
    delta: float,
    *,
    n_lower: int | None = None,
    noise: Noise = "discrete_laplace",
) -> Theorem1Choice:
    """Theorem 1 at the largest t, hence the smallest epsilon, whose delta is at most the given one."""
    # Parameters as in :func:`theorem1`. Refused if no t gives so small a delta.
    k, gamma, epsilon0 = _test_parameters(k, gamma, epsilon0)
    delta = check.share_of_delta("delta", delta)

    def at(t: int) -> EpsilonDelta:
        return theorem1(k, gamma, epsilon0, t, n_lower=n_lower, noise=noise)

    largest = bisect_right(range(1, k), delta, key=lambda t: at(t).delta)  # delta rises with t
    if largest == 0:
        raise check.Refused.saying(
            "delta",
            f"delta ({delta!r}) cannot be reached with k = {k} with epsilon0 = {epsilon0!r}: Theorem 1 "
            "needs 1 <= t < k with exp(-epsilon0 (k - t)) <= delta; raise k or epsilon0",
        )
    return Theorem1Choice(*at(largest), largest)


def _test_parameters(k: int, gamma: float, epsilon0: float) -> tuple[int, float, float]:
    return (
        check.whole("k", k, 1, "it is a number of plausible seeds; try 50"),
        check.at_least("gamma", gamma, 1.0, "it is a factor; try 4.0"),
        check.positive("epsilon0", epsilon0, "try 1.0"),
    )


def floor_by_construction(
    weight: float, k: int, epsilon0: float, n_lower: int, *, noise: Noise = "discrete_laplace"
) -> float:
    """Lower bound on the pass rate if candidates are seed-free (omega = m) with this probability."""
    # It is ``weight pt(n_lower)``: all seeds are plausible seeds of a seed-free candidate. It needs no test
    # and no attempt budget, and cannot fail. Account for the rows with
    # :func:`sdv_plausible.privacy.accounting.released_rows.released_rows_loss` at gamma = 1, because omega
    # varies (``docs/explanation/proofs/pass_rate.md``, Theorem 3). The weight is in (0, 1]; ``n_lower`` >= 1
    # is a lower bound on the seeds of the smaller neighbour.
    weight = check.rate("weight", weight, "it is the share of seed-free candidates")
    n = check.whole("n_lower", n_lower, 1)
    return weight * math.exp(
        float(log_pass_probability(n, check.whole("k", k, 1), check.positive("epsilon0", epsilon0), noise))
    )


SIZE_SHARE = 0.05  # share of the structure's epsilon for the noisy number of rows; the paper gives none


def paper_sequential_composition(losses: Iterable[tuple[float, float]]) -> EpsilonDelta:
    """Theorem 2 (sequential composition): epsilons add, deltas add."""
    pairs = [(check.non_negative("epsilon", e), check.probability("delta", d)) for e, d in losses]
    return EpsilonDelta(math.fsum(e for e, _ in pairs), min(1.0, math.fsum(d for _, d in pairs)))


def paper_advanced_composition(epsilon: float, delta: float, count: int, delta_slack: float) -> EpsilonDelta:
    """Theorem 3 (advanced composition) for `count` mechanisms with equal (epsilon, delta)."""
    # ``epsilon sqrt(2 count ln(1/delta_slack)) + count epsilon (e^epsilon - 1)`` at ``count delta +
    # delta_slack``; epsilon >= 0, delta in [0, 1], count >= 1, delta_slack in (0, 1).
    epsilon = check.non_negative("epsilon", epsilon)
    delta = check.probability("delta", delta)
    count = check.whole("count", count, 1)
    slack = check.open_probability(
        "delta_slack", delta_slack, "it is the slack of the composition theorem; try 1e-9"
    )
    total = epsilon * math.sqrt(2 * count * math.log(1 / slack)) + count * epsilon * math.expm1(epsilon)
    return EpsilonDelta(total, min(1.0, count * delta + slack))


def paper_sampling_amplification(epsilon: float, delta: float, probability: float) -> EpsilonDelta:
    """Theorem 4 (amplification by sampling): ``(ln(1 + p (e^epsilon - 1)), p delta)``."""
    # For rows sampled with probability p. The theorem covers one sampled part; for several disjoint parts of
    # one split use :func:`sdv_plausible.privacy.accounting.composition.split_total`.
    epsilon = check.non_negative("epsilon", epsilon)
    delta = check.probability("delta", delta)
    p = check.probability("probability", probability)
    return EpsilonDelta(math.log1p(p * math.expm1(epsilon)), p * delta)


def paper_structure_loss(
    num_attributes: int, epsilon_entropy: float, delta: float, epsilon_size: float
) -> EpsilonDelta:
    """Section 3.5: m (m + 1) noisy entropies by Theorem 3, and the noisy number of rows by Theorem 2."""
    # m is ``num_attributes`` >= 1; ``delta`` in (0, 1) is the slack of Theorem 3. The epsilons are those of
    # one noisy entropy, and of the noisy number of rows.
    m = check.whole("num_attributes", num_attributes, 1)
    entropies = paper_advanced_composition(epsilon_entropy, 0.0, m * (m + 1), delta)
    return paper_sequential_composition([entropies, (epsilon_size, 0.0)])


def paper_parameter_loss(num_attributes: int, epsilon_counts: float, delta: float) -> EpsilonDelta:
    """Section 3.5: noisy counts of m attributes' tables by Theorem 3; one row changes one cell of each."""
    m = check.whole("num_attributes", num_attributes, 1)
    return paper_advanced_composition(epsilon_counts, 0.0, m, delta)


def paper_model_loss(structure: EpsilonDelta, parameters: EpsilonDelta) -> EpsilonDelta:
    """Section 3.5: structure and parameters are from disjoint parts of the rows, so the larger of each."""
    return EpsilonDelta(max(structure[0], parameters[0]), max(structure[1], parameters[1]))


def paper_entropy_sensitivity(n: int) -> float:
    """Lemma 1 of the paper: ``(2 + 1/ln 2 + 2 log2 n) / n`` bits, replace-one."""
    # About twice the exact value (2.03 times at n = 280,000); needed to reproduce the paper. n >= 1.
    n = check.whole("n", n, 1, "the bound divides by n")
    return (2 + 1 / math.log(2) + 2 * math.log2(n)) / n


@dataclass(frozen=True, kw_only=True)
class PaperShares:
    """Epsilon of every single noisy number under ``noise="paper"``."""

    size: float  # noisy number of rows of D_T (epsilon_nT)
    entropy: float  # each noisy entropy (epsilon_H)
    counts: float  # each table of noisy counts (epsilon_p)


def paper_shares(num_attributes: int, epsilon: float, delta: float) -> PaperShares:
    """Epsilons at which section 3.5's formulas give epsilon for the structure, and epsilon for the tables."""
    # ``epsilon`` > 0 is both epsilon_L and epsilon_P, before amplification by sampling; ``delta`` in (0, 1)
    # is both delta_L and delta_P.
    epsilon = check.positive("epsilon", epsilon, "try 1.0")
    size = SIZE_SHARE * epsilon
    return PaperShares(
        size=size,
        entropy=_largest(lambda e: paper_structure_loss(num_attributes, e, delta, size).epsilon, epsilon),
        counts=_largest(lambda e: paper_parameter_loss(num_attributes, e, delta).epsilon, epsilon),
    )


def _largest(loss: Callable[[float], float], limit: float) -> float:
    """Largest single loss whose composition stays within a limit, by bisection."""
    low, high = 0.0, limit
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if loss(middle) <= limit else (low, middle)
    return low

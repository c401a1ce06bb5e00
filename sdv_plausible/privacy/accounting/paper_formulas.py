"""The composition formulas of Bindschaedler, Shokri and Gunter (PVLDB 2017, arXiv 1708.07975) as printed.

``noise="paper"`` takes its noise scales from them, and ``accounting="paper"`` a sentence next to the total.
No total is based on them. Theorem 1 itself is :func:`sdv_plausible.privacy.accounting.theorem1.theorem1`.
``docs/explanation/proofs/paper_formulas.md`` lists where the paper's own use of them needs care.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.accounting.losses import EpsilonDelta

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
    slack = check.open_probability("delta_slack", delta_slack, "it buys the square root; try 1e-9")
    total = epsilon * math.sqrt(2 * count * math.log(1 / slack)) + count * epsilon * math.expm1(epsilon)
    return EpsilonDelta(total, min(1.0, count * delta + slack))


def paper_sampling_amplification(epsilon: float, delta: float, probability: float) -> EpsilonDelta:
    """Theorem 4 (amplification by sampling): ``(ln(1 + p (e^epsilon - 1)), p delta)``."""
    # For rows sampled with probability p. The theorem covers one sampled part; for several disjoint parts of
    # one split use :func:`sdv_plausible.privacy.accounting.random_split.split_total`.
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

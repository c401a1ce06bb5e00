"""Making the pass-rate floor of the row-by-row tests true.

The pass rate of one attempt is private, and every bound on released rows divides by a floor on it. Seed-free
candidates (omega = m) give one by construction (``docs/explanation/proofs/pass_rate.md``, Theorem 3).
"""

from __future__ import annotations

import math

from sdv_plausible.privacy import checks as check
from sdv_plausible.privacy.accounting.theorem1 import Noise, log_pass_probability


def floor_by_construction(
    weight: float, k: int, epsilon0: float, n_lower: int, *, noise: Noise = "discrete_laplace"
) -> float:
    """Pass-rate floor where candidates are seed-free (omega = m) with this probability."""
    # It is ``weight pt(n_lower)``. A seed-free candidate has all seeds as plausible seeds. No test, no error,
    # no attempt budget; account the rows with
    # :func:`sdv_plausible.privacy.accounting.released_rows.released_rows_loss` at gamma = 1, because omega
    # varies (``docs/explanation/proofs/pass_rate.md``, Theorem 3). The weight is in (0, 1]; ``n_lower`` >= 1
    # bounds the seeds of the smaller neighbour from below.
    weight = check.rate("weight", weight, "it is the share of seed-free candidates")
    n = check.whole("n_lower", n_lower, 1)
    return weight * math.exp(
        float(log_pass_probability(n, check.whole("k", k, 1), check.positive("epsilon0", epsilon0), noise))
    )

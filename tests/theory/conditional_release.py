"""The loss of one released row (``docs/explanation/proofs/conditional_release.md``)."""

import math
from typing import NamedTuple

from sdv_plausible.privacy.accounting.losses import EpsilonDelta
from sdv_plausible.privacy.accounting.paper_theorems import log_pass_probability, theorem1


class DirectedLoss(NamedTuple):
    """What a table makes likelier than the table with one row removed, and with one row added."""

    remove: EpsilonDelta
    add: EpsilonDelta


def conditional_release(k, gamma, epsilon0, t, *, pass_rate_floor, n_lower=1, noise="discrete_laplace"):
    """One *released* row: what may be composed over rows, unlike Theorem 1's own pair.

    With epsilon of Theorem 1 and q the true floor on the pass rate of one attempt, removing costs ``(epsilon,
    pt(t)/((n+1) q))`` and adding ``(ln(e^epsilon + pt(t)/(n q)), 0)``.
    """
    epsilon, q, n = theorem1(k, gamma, epsilon0, t).epsilon, pass_rate_floor, n_lower
    small = math.exp(float(log_pass_probability(t, k, epsilon0, noise)))
    return DirectedLoss(
        remove=EpsilonDelta(epsilon, min(1.0, small / ((n + 1) * q))),
        add=EpsilonDelta(epsilon + math.log1p(math.exp(-epsilon) * small / (n * q)), 0.0),
    )

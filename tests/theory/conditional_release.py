"""The loss of one released row (``docs/explanation/proofs/conditional_release.md``)."""

import math

from sdv_plausible.privacy import checks as check
from sdv_plausible.privacy.accounting.losses import EpsilonDelta
from sdv_plausible.privacy.accounting.theorem1 import log_pass_probability, theorem1
from theory.directed_loss import DirectedLoss

__all__ = ["conditional_release"]


def conditional_release(k, gamma, epsilon0, t, *, pass_rate_floor, n_lower=1, noise="discrete_laplace"):
    """One *released* row: what may be composed over rows, unlike Theorem 1's own pair.

    With epsilon of Theorem 1 and q the floor on the pass rate of one attempt, removing costs ``(epsilon,
    pt(t)/((n+1) q))`` and adding ``(ln(e^epsilon + pt(t)/(n q)), 0)``
    (``docs/explanation/proofs/conditional_release.md``). For N rows,
    :func:`sdv_plausible.privacy.accounting.released_rows.released_rows_loss` is far tighter than composing
    this.

    Parameters
    ----------
    k, gamma, epsilon0, t, noise
        As in :func:`theorem1`.
    pass_rate_floor : float
        Lower bound q on the probability that one attempt is released, for both tables, in (0, 1]. It must be
        true: :mod:`sdv_plausible.privacy.accounting.theorem1` says how to make it so.
    n_lower : int
        Lower bound on the number of seeds of the smaller table, >= 1.
    """
    epsilon = theorem1(k, gamma, epsilon0, t).epsilon
    q = check.rate("pass_rate_floor", pass_rate_floor)
    n = check.whole("n_lower", n_lower, 1)
    small = math.exp(float(log_pass_probability(t, k, epsilon0, noise)))
    return DirectedLoss(
        remove=EpsilonDelta(epsilon, min(1.0, small / ((n + 1) * q))),
        add=EpsilonDelta(epsilon + math.log1p(math.exp(-epsilon) * small / (n * q)), 0.0),
    )

"""Loss of the release-level test as an (epsilon, delta) pair: a release charges it as a loss, by its whole profile.

Proof: ``docs/explanation/proofs/release_test.md``.
"""

import math
from decimal import Decimal
from typing import NamedTuple

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.accounting.release_loss import _arithmetic, _log_at_zero, release_margin


class ReleaseTestLoss(NamedTuple):
    """Loss of the release-level test, and the margin s above k that its released sizes must have."""

    epsilon: float
    delta: float
    s: int


def release_test_loss(*, k, epsilon0, pre_threshold=True, delta=None, s=None):
    """Loss of releasing prefix groups with their noisy sizes once; any number of rows afterwards is free.

    Sizes get discrete Laplace noise Z with ``Pr[Z = z] ~ a^|z|``, ``a = exp(-epsilon0)``, drawn once per
    group present, and are released if they reach k + s. With the pre-threshold only groups of at least k
    seeds enter: ``delta = a^s/(1 + a)``; without it ``delta = a^(k+s-1)/(1 + a)``. Both are exact. Of delta (a
    target) and s one is given.
    """
    k = check.whole("k", k, 1, "it is a number of seeds; try 50")
    epsilon0 = check.positive("epsilon0", epsilon0, "it is the loss of the noisy sizes; try 1.0")
    if (delta is None) == (s is None):
        raise ValueError(f"delta ({delta!r}) and s ({s!r}): give exactly one of them, the other follows")
    entry = 0 if pre_threshold else k - 1  # distance that a group must jump to be released, beyond s
    if delta is not None:
        s = max(0, release_margin(epsilon0, delta) - entry)
    s = check.whole("s", s, 0)
    return ReleaseTestLoss(epsilon0, _tail(s + entry, epsilon0), s)


def _tail(s, epsilon0):
    """Pr[Z >= s] for s >= 0 and discrete Laplace Z, rounded up."""
    exact, rate = _arithmetic(epsilon0), Decimal(epsilon0)
    tail = exact.exp(exact.subtract(_log_at_zero(exact, rate), exact.multiply(rate, s)))
    return next(x for x in (float(tail), math.nextafter(float(tail), math.inf)) if Decimal(x) >= tail)

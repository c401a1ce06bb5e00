"""Guarantees for replacing one row: reported beside the add/remove figures, never mixed with them."""

import math

from sdv_plausible.privacy import checks as check
from sdv_plausible.privacy.accounting.losses import EpsilonDelta
from sdv_plausible.privacy.accounting.sensitivity import entropy_sensitivity

__all__ = ["replace_one", "replace_one_entropy_sensitivity"]

_LARGEST_EXPONENT = 700.0  # exp of it is still a double


def replace_one(loss):
    """Guarantee for *replacing* a row, from one for adding or removing: ``(2 eps, (1 + e^eps) delta)``.

    Reported beside the add/remove figure, never mixed with it
    (``docs/explanation/proofs/conditional_release.md``, Remark 3).
    """
    epsilon, delta = loss
    return EpsilonDelta(
        2 * epsilon, 0.0 if delta == 0 else min(1.0, (1 + math.exp(min(epsilon, _LARGEST_EXPONENT))) * delta)
    )


def replace_one_entropy_sensitivity(n):
    """Exact replace-one sensitivity of the entropy of n >= 1 rows, in bits: that of adding a row to n - 1.

    ``docs/explanation/proofs/entropy_sensitivity.md``, Theorem 2. Everything else here is add/remove.
    """
    return entropy_sensitivity(check.whole("n", n, 1, "a row can only be replaced where there is one") - 1)

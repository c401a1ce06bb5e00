"""Amplification by a secret random split of the rows (``docs/explanation/proofs/random_split.md``)."""

import math
from typing import NamedTuple

from sdv_plausible.privacy import checks as check
from sdv_plausible.privacy.accounting.losses import EpsilonDelta
from theory.directed_loss import DirectedLoss

__all__ = ["SplitPart", "random_split"]

_ROUNDING = 1e-12  # by which probabilities may sum to more than 1


class SplitPart(NamedTuple):
    """One part of a random split: a row's chance to fall into it, and what its rows cost, composed."""

    probability: float
    epsilon: float
    delta: float = 0.0


def random_split(parts):
    """Joint loss of a random split: each row falls independently and secretly into one part, or into none.

    Removing costs ``(ln sum p_c e^eps_c, sum p_c delta_c)``, adding ``(-ln sum p_c e^-eps_c, sum w_c
    delta_c)`` with w_c proportional to ``p_c e^-eps_c`` (``docs/explanation/proofs/random_split.md``). The
    losses of everything that ever uses a part are composed *first* and amplified here once; amplified values
    must not be added. Each (eps_c, delta_c) must hold for every size of its part and every output of the
    other stages.

    Parameters
    ----------
    parts : sequence of (probability, epsilon, delta)
        Parts of the split; what is missing from probability 1 is "no part".

    Raises
    ------
    ValueError
        If probabilities sum to more than 1, or a value is out of range.
    """
    used = [SplitPart(*part) for part in parts]
    for part in used:
        check.probability("probability", part.probability)
        check.non_negative("epsilon", part.epsilon)
        check.probability("delta", part.delta)
    rest = 1 - math.fsum(part.probability for part in used)
    if rest < -_ROUNDING:
        raise ValueError(
            f"probabilities sum to {1 - rest!r}: a row falls into one part only, so at most to 1"
        )
    used.append(SplitPart(max(0.0, rest), 0.0, 0.0))
    # expm1 keeps small amplified losses exact: the probabilities sum to 1.
    grown = math.fsum(p * math.expm1(e) for p, e, _ in used)
    shrunk = math.fsum(p * math.expm1(-e) for p, e, _ in used)
    weights = [p * math.exp(-e) for p, e, _ in used]
    add_delta = math.fsum(w * d for w, (_, _, d) in zip(weights, used, strict=True)) / math.fsum(weights)
    return DirectedLoss(
        remove=EpsilonDelta(math.log1p(grown), math.fsum(p * d for p, _, d in used)),
        add=EpsilonDelta(-math.log1p(shrunk), add_delta),
    )

"""Amplification by a secret random split of the rows (``docs/explanation/proofs/random_split.md``)."""

import math

from sdv_plausible.privacy.accounting.losses import EpsilonDelta
from theory.conditional_release import DirectedLoss


def random_split(parts):
    """Joint loss of a random split: each row falls independently and secretly into one part, or into none.

    Parts are (probability, epsilon, delta). Removing costs ``(ln sum p_c e^eps_c, sum p_c delta_c)``, adding
    ``(-ln sum p_c e^-eps_c, sum w_c delta_c)`` with w_c proportional to ``p_c e^-eps_c``. The losses of
    everything that ever uses a part are composed *first* and amplified here once. Each (eps_c, delta_c) must
    hold for every size of its part and every output of the other stages.
    """
    used = [*parts, (max(0.0, 1 - math.fsum(p for p, _, _ in parts)), 0.0, 0.0)]
    # expm1 keeps small amplified losses exact: the probabilities sum to 1.
    grown = math.fsum(p * math.expm1(e) for p, e, _ in used)
    shrunk = math.fsum(p * math.expm1(-e) for p, e, _ in used)
    weights = [p * math.exp(-e) for p, e, _ in used]
    add_delta = math.fsum(w * d for w, (_, _, d) in zip(weights, used, strict=True)) / math.fsum(weights)
    return DirectedLoss(
        remove=EpsilonDelta(math.log1p(grown), math.fsum(p * d for p, _, d in used)),
        add=EpsilonDelta(-math.log1p(shrunk), add_delta),
    )

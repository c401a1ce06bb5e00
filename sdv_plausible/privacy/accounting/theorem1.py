"""Theorem 1 of the paper, and the probability that a number of plausible seeds passes Privacy Test 2.

Neighbours differ by adding or removing one row: D' is D with one more row. *Removing* bounds what D' makes
likelier than D, *adding* the reverse. Composition is in :mod:`sdv_plausible.privacy.accounting.composition`;
many rows under the row-by-row tests are in :mod:`sdv_plausible.privacy.accounting.released_rows`.
"""

from __future__ import annotations

import math
from bisect import bisect_right
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
            f"delta ({delta!r}) is out of reach of k = {k} with epsilon0 = {epsilon0!r}: Theorem 1 needs "
            f"1 <= t < k with exp(-epsilon0 (k - t)) <= delta; raise k or epsilon0",
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

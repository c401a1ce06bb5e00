"""What one release costs: Theorem 1, conditional release, the release-level test, the random split.

Neighbours are tables that differ by adding or removing one row, everywhere: D' is D with one row more, *removing*
bounds what D' makes likelier than D, *adding* the reverse. Composition lives in
:mod:`sdv_plausible.privacy.accounting.composition`, many rows under the row-by-row tests in
:mod:`sdv_plausible.privacy.accounting.released_rows`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from sdv_plausible.privacy import checks as check
from sdv_plausible.privacy.accounting.sensitivity import (
    entropy_sensitivity,
    entropy_sensitivity_in_steps,
    paper_entropy_sensitivity,
    replace_one_entropy_sensitivity,
)

__all__ = [
    "DirectedLoss",
    "EpsilonDelta",
    "Noise",
    "ReleaseTestLoss",
    "SplitPart",
    "Theorem1Choice",
    "check_noise",
    "conditional_release",
    "entropy_sensitivity",
    "entropy_sensitivity_in_steps",
    "log_pass_probability",
    "paper_entropy_sensitivity",
    "random_split",
    "release_test_loss",
    "replace_one",
    "replace_one_entropy_sensitivity",
    "size_lower_bound_margin",
    "theorem1",
    "theorem1_best",
]

Noise = Literal["discrete_laplace", "laplace"]
FloatArray = npt.NDArray[np.float64]


class EpsilonDelta(NamedTuple):
    """One (epsilon, delta) guarantee."""

    epsilon: float
    delta: float


@dataclass(frozen=True, kw_only=True)
class DirectedLoss:
    """A guarantee stated for each direction of the neighbour relation.

    Parameters
    ----------
    remove : EpsilonDelta
        What a table makes likelier than the table with one row removed.
    add : EpsilonDelta
        What a table makes likelier than the table with one row added.
    """

    remove: EpsilonDelta
    add: EpsilonDelta

    @property
    def worst(self) -> EpsilonDelta:
        """One pair that holds in both directions."""
        return EpsilonDelta(max(self.remove.epsilon, self.add.epsilon), max(self.remove.delta, self.add.delta))


class Theorem1Choice(NamedTuple):
    """Theorem 1 at its best t."""

    epsilon: float
    delta: float
    t: int


class ReleaseTestLoss(NamedTuple):
    """Loss of the release-level test, and the margin s above k that its released sizes must have."""

    epsilon: float
    delta: float
    s: int


class SplitPart(NamedTuple):
    """One part of a random split: the chance that a row falls into it, and what its rows are used for, composed."""

    probability: float
    epsilon: float
    delta: float = 0.0


def check_noise(noise: str) -> None:
    """Raise unless noise names a noise of the randomised test."""
    if noise not in ("discrete_laplace", "laplace"):
        raise ValueError(f'noise ({noise!r}) must be "discrete_laplace" (what RandomizedTest draws) or "laplace"')


def log_pass_probability(group_size: npt.ArrayLike, k: int, epsilon0: float, noise: Noise = "discrete_laplace") -> FloatArray:
    """Natural log of pt(c) = Pr[c + noise >= k]: the chance that c plausible seeds pass Privacy Test 2.

    Parameters
    ----------
    group_size : array of int or float
        Plausible seeds c, any shape.
    k : int
        Centre of the threshold.
    epsilon0 : float
        Inverse scale of the noise: density proportional to ``exp(-epsilon0 |z|)`` on the integers or on the real line.
    noise : {"discrete_laplace", "laplace"}
        Which of the two.

    Returns
    -------
    array of float
        Values <= 0; finite however small the probability. Concave in c (``docs/explanation/proofs/seed_test.md``,
        Lemma 1).
    """
    check_noise(noise)
    distance = np.asarray(group_size, dtype=np.float64) - k
    a = math.exp(-epsilon0)
    # Below the centre the tail at it falls by the factor a per step; above it one minus the other tail.
    at_centre = 0.5 if noise == "laplace" else 1 / (1 + a)
    first_above = 0.5 if noise == "laplace" else a / (1 + a)
    below = math.log(at_centre) + epsilon0 * np.minimum(distance, 0.0)
    above = np.log1p(-first_above * np.exp(-epsilon0 * np.maximum(distance, 0.0)))
    result: FloatArray = np.where(distance <= 0, below, above)
    return result


def theorem1(
    k: int, gamma: float, epsilon0: float, t: int, *, n_lower: int | None = None, noise: Noise = "discrete_laplace"
) -> EpsilonDelta:
    """Theorem 1 of the paper: one candidate of Mechanism 1 with Privacy Test 2, for events among rows.

    ``epsilon = epsilon0 + ln(1 + gamma/t)``, ``delta = exp(-epsilon0 (k - t))`` as printed. With `n_lower` the
    sharper ``delta = pt(t)/(n_lower + 1)`` (``docs/explanation/proofs/theorem1.md``): the new row must also be the
    seed. It does not cover a visible rejection and must not be composed over released rows: see
    :func:`conditional_release`.

    Parameters
    ----------
    k : int
        Centre of the threshold, >= 2.
    gamma : float
        Partition width, >= 1; 1 for one known omega, where all plausible seeds are equally likely.
    epsilon0 : float
        Inverse scale of the threshold noise, > 0.
    t : int
        Where the proof splits small from large partitions, 1 <= t < k.
    n_lower : int, optional
        Lower bound on the number of seeds of the smaller table, >= 0.
    noise : {"discrete_laplace", "laplace"}
        Only used with `n_lower`.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    k, gamma, epsilon0 = _test_parameters(k, gamma, epsilon0)
    t = check.whole("t", t, 1)
    if t >= k:
        raise ValueError(f"k ({k}) must exceed t ({t}): Theorem 1 needs 1 <= t < k")
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
    """Theorem 1 with the largest t, so the smallest epsilon, whose delta does not exceed the given one.

    Parameters
    ----------
    k, gamma, epsilon0, n_lower, noise
        As in :func:`theorem1`.
    delta : float
        Largest delta allowed, in (0, 1).

    Raises
    ------
    ValueError
        If a parameter is out of range, or no t gives so small a delta.
    """
    delta = check.open_probability("delta", delta)
    low, high = 0, k - 1  # delta rises with t: the answer is in [low, high], 0 standing for "none"
    while low < high:
        middle = (low + high + 1) // 2
        fits = theorem1(k, gamma, epsilon0, middle, n_lower=n_lower, noise=noise).delta <= delta
        low, high = (middle, high) if fits else (low, middle - 1)
    if low == 0:
        raise ValueError(
            f"delta ({delta!r}) is out of reach of k = {k} with epsilon0 = {epsilon0!r}: Theorem 1 needs "
            f"1 <= t < k with exp(-epsilon0 (k - t)) <= delta; raise k or epsilon0"
        )
    return Theorem1Choice(*theorem1(k, gamma, epsilon0, low, n_lower=n_lower, noise=noise), low)


def conditional_release(
    k: int,
    gamma: float,
    epsilon0: float,
    t: int,
    *,
    pass_rate_floor: float,
    n_lower: int = 1,
    noise: Noise = "discrete_laplace",
) -> DirectedLoss:
    """One *released* row: what may be composed over rows, unlike Theorem 1's own pair.

    With epsilon of Theorem 1 and q the floor on the pass rate of one attempt, removing costs ``(epsilon, pt(t)/((n+1)
    q))`` and adding ``(ln(e^epsilon + pt(t)/(n q)), 0)`` (``docs/explanation/proofs/conditional_release.md``). For N
    rows, :func:`sdv_plausible.privacy.accounting.released_rows.seed_test_loss` is far tighter than composing this.

    Parameters
    ----------
    k, gamma, epsilon0, t, noise
        As in :func:`theorem1`.
    pass_rate_floor : float
        Lower bound q on the probability that one attempt is released, for both tables, in (0, 1]. It must be true:
        :mod:`sdv_plausible.privacy.accounting.pass_rate` says how to make it so.
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


def release_test_loss(
    *, k: int, epsilon0: float, pre_threshold: bool = True, delta: float | None = None, s: int | None = None
) -> ReleaseTestLoss:
    """Loss of releasing prefix groups with their noisy sizes once; any number of rows afterwards is free.

    Sizes get discrete Laplace noise Z with ``Pr[Z = z] ~ a^|z|``, ``a = exp(-epsilon0)``, drawn once per group
    present, and are released if they reach k + s. With the pre-threshold only groups of at least k seeds enter:
    ``delta = a^s/(1 + a)``; without it ``delta = a^(k+s-1)/(1 + a)``. Both are exact: no smaller delta holds at
    epsilon0 (``docs/explanation/proofs/release_test.md``).

    Parameters
    ----------
    k : int
        Seeds per released prefix, >= 1; sure with the pre-threshold.
    epsilon0 : float
        Privacy loss of the noisy sizes, > 0.
    pre_threshold : bool
        Whether groups below k are dropped before the noise.
    delta : float, optional
        Target in (0, 1): the smallest s that meets it is returned. Give either delta or s.
    s : int, optional
        Margin above k, >= 0.

    Returns
    -------
    ReleaseTestLoss
        ``(epsilon, delta, s)`` with the delta that is really spent.
    """
    k = check.whole("k", k, 1, "it is a number of seeds; try 50")
    epsilon0 = check.positive("epsilon0", epsilon0, "it is the loss of the noisy sizes; try 1.0")
    if (delta is None) == (s is None):
        raise ValueError(f"delta ({delta!r}) and s ({s!r}): give exactly one of them, the other follows")
    entry = 0 if pre_threshold else k - 1  # distance that a group must jump to be released, beyond s
    log_at_zero = -math.log1p(math.exp(-epsilon0))
    if s is None:
        assert delta is not None
        needed = (log_at_zero - math.log(check.open_probability("delta", delta, "try 1e-9"))) / epsilon0 - entry
        s = max(0, math.ceil(needed - 1e-12 * abs(needed)))
        if _log_tail(s + entry, epsilon0) > math.log(delta):
            s += 1
    s = check.whole("s", s, 0)
    return ReleaseTestLoss(epsilon0, math.exp(_log_tail(s + entry, epsilon0)), s)


def random_split(parts: Sequence[SplitPart | tuple[float, float, float]]) -> DirectedLoss:
    """Joint loss of a random split: each row falls independently and secretly into one part, or into none.

    Removing costs ``(ln sum p_c e^eps_c, sum p_c delta_c)``, adding ``(-ln sum p_c e^-eps_c, sum w_c delta_c)`` with
    w_c proportional to ``p_c e^-eps_c`` (``docs/explanation/proofs/random_split.md``). The losses of everything that
    ever uses a part are composed *first* and amplified here once; amplified values must not be added. Each (eps_c,
    delta_c) must hold for every size of its part and every output of the other stages.

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
    if rest < -1e-12:
        raise ValueError(f"probabilities sum to {1 - rest!r}: a row falls into one part only, so at most to 1")
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


def replace_one(loss: EpsilonDelta) -> EpsilonDelta:
    """Guarantee for *replacing* one row, from one for adding or removing: ``(2 epsilon, (1 + e^epsilon) delta)``.

    Reported beside the add/remove figure, never mixed with it (``docs/explanation/proofs/conditional_release.md``,
    Remark 3).
    """
    epsilon, delta = loss
    return EpsilonDelta(2 * epsilon, 0.0 if delta == 0 else min(1.0, (1 + math.exp(min(epsilon, 700.0))) * delta))


def size_lower_bound_margin(epsilon: float, beta: float) -> int:
    """Subtract this from a noisy number of rows to get a lower bound on it that is safe as a public parameter.

    The number of rows n gets discrete Laplace noise of inverse scale epsilon; with margin s the event "bound above
    the size of the smaller neighbour" has probability at most ``a^s/(1 + a) <= beta`` under both neighbours. Charge
    ``(epsilon, beta)`` (``docs/explanation/proofs/conditional_release.md``, Remark 4).

    Parameters
    ----------
    epsilon : float
        Loss of the noisy number of rows, > 0.
    beta : float
        Probability of the bad event, in (0, 1).
    """
    return release_test_loss(k=1, epsilon0=epsilon, delta=beta).s


def _log_tail(s: int, epsilon0: float) -> float:
    """Natural log of Pr[Z >= s] for s >= 0 and discrete Laplace Z."""
    return -epsilon0 * s - math.log1p(math.exp(-epsilon0))


def _test_parameters(k: int, gamma: float, epsilon0: float) -> tuple[int, float, float]:
    return (
        check.whole("k", k, 1, "it is a number of plausible seeds; try 50"),
        check.at_least("gamma", gamma, 1.0, "it is a factor; try 4.0"),
        check.positive("epsilon0", epsilon0, "try 1.0"),
    )

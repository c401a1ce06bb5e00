"""Composition: the total loss of all uses of the rows.

There are three valid bounds, and the smallest counts: summation, zero-concentrated DP with the tight
conversion, and privacy-loss distributions (dp-accounting), discretised pessimistically. All Gaussian noise
together is one Gaussian mechanism and by itself needs no discretisation. Proofs:
``docs/explanation/proofs/composition.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from scipy.optimize import brentq

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.accounting.crossing import largest_within, smallest_within
from sdv_plausible.privacy.accounting.gaussian import (
    DISCRETE_EXCESS,
    discrete_gaussian_mu,
    gaussian_log_delta,
    zcdp_delta,
)
from sdv_plausible.privacy.accounting.loss_distribution import Composer, SortedLosses, composer_of
from sdv_plausible.privacy.accounting.losses import (
    LARGEST_SQUARE,
    ZCDP,
    ApproxDP,
    EpsilonDelta,
    InfiniteLoss,
    Loss,
    PureDP,
    RhoDelta,
    budgets_in_one_piece,
)
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.privacy.parameter_checks import Refused

_LARGE_EPSILON = 50.0  # beyond any protection; in a distribution of losses it would overflow
_LARGEST_MU = 1e3  # where the search for a Gaussian budget starts
_MARGIN = 2e-6  # relative; a calibrated budget stays within the target however it is split


def compose(losses: Iterable[Loss], delta: float) -> float:
    """Smallest total epsilon at the given delta of adaptively composed mechanisms.

    Never below the true total. 0 without losses; infinite if no finite epsilon holds at this delta, in (0,
    1).
    """
    delta = check.share_of_delta("delta", delta, "it is the failure probability of the total; try 1e-9")
    all_losses = list(losses)
    if any(isinstance(loss, InfiniteLoss) for loss in all_losses):
        return math.inf
    rest, large = _set_aside_large(all_losses)
    if large.delta >= delta:
        return math.inf
    delta -= large.delta
    if not rest:
        return large.epsilon
    best = min(_added_up(rest, delta), _zcdp_epsilon(rest, delta))
    if not all(isinstance(loss, ZCDP) for loss in rest):
        total = SortedLosses.of(rest)
        best = min(best, composer_of(total).distribution(total.mu_squared).epsilon(delta))
    return large.epsilon + best


def compose_delta(losses: Iterable[Loss], epsilon: float) -> float:
    """Smallest delta in [0, 1] at the given total epsilon >= 0; else as :func:`compose`."""
    return composed_delta(losses)(epsilon)


def composed_delta(losses: Iterable[Loss]) -> Callable[[float], float]:
    """Compose once; the result computes :func:`compose_delta` at any epsilon."""
    all_losses = list(losses)
    if any(isinstance(loss, InfiniteLoss) for loss in all_losses):
        return lambda _: 1.0
    rest, large = _set_aside_large(all_losses)
    total, pair = SortedLosses.of(rest), _pair(rest)
    distribution = composer_of(total).distribution(total.mu_squared)

    def delta(epsilon: float) -> float:
        left = check.non_negative("epsilon", epsilon) - large.epsilon
        if left < 0:
            return 1.0
        if not rest:
            return min(1.0, large.delta)
        candidates = [distribution.delta(left), _zcdp_delta(rest, left)]
        if pair and pair.epsilon <= left:
            candidates.append(pair.delta)
        return min(1.0, large.delta + min(candidates))

    return delta


def calibrate_gaussian(epsilon: float, delta: float, other_losses: Sequence[Loss] = ()) -> float:
    """Largest Gaussian budget mu that, with the other losses, keeps the total within (epsilon, delta)."""
    # Charge it, or parts of it, as :func:`sdv_plausible.privacy.accounting.losses.gaussian_noise`: in pieces
    # of sigma >= 5 sensitivities. The split is decided later: an answer of more than a piece gets a little
    # more noise than ``sum (s_i/sigma_i)^2 <= mu^2`` requires (``docs/explanation/proofs/composition.md``,
    # Theorems 3 and 4). In terms of zCDP rho = mu^2/2; at (1, 1e-9) it is 10 % above the tight zCDP
    # conversion. Cached, as a plan repeats calls.
    epsilon = check.positive("epsilon", epsilon, "it is the total to stay within")
    delta = check.share_of_delta("delta", delta)
    return _calibrated(epsilon, delta, tuple(other_losses), budgets_in_one_piece())


@lru_cache(maxsize=1024)
def _calibrated(epsilon: float, delta: float, other_losses: tuple[Loss, ...], in_one_piece: bool) -> float:
    target = epsilon * (1 - _MARGIN)
    spent = compose(other_losses, delta)
    if spent >= target:
        raise check.Refused.saying(
            "epsilon",
            f"epsilon ({epsilon!r}) is used up: the other losses compose to {rounded_up(spent, 4)} at "
            f"delta {rounded_up(delta)}; raise epsilon or spend less on them",
        )
    others, large = _set_aside_large(other_losses)
    target, delta = target - large.epsilon, delta - large.delta
    ceiling = _largest_mu(lambda mu: math.exp(gaussian_log_delta(mu, target)), delta, _LARGEST_MU)
    dominating = _dominating_mu(SortedLosses.of(others), target, delta, ceiling)
    by_noise = _last_piece(dominating) if in_one_piece else _discrete_budget(dominating)
    mu = max(by_noise, _zcdp_mu(others, target, delta, ceiling))
    if not mu > 0:
        raise check.Refused.saying(
            "epsilon",
            f"epsilon ({epsilon!r}) is too small to calibrate noise at delta {rounded_up(delta)}; try 0.01",
        )
    return mu


def _dominating_mu(base: SortedLosses, epsilon: float, delta: float, ceiling: float) -> float:
    """Largest mu of a continuous Gaussian mechanism with the other losses; `ceiling` is that without them."""
    if base.others or base.failure:
        composer = Composer(base, scale=ceiling)
        return _largest_mu(
            lambda mu: composer.distribution(base.mu_squared + mu * mu).delta(epsilon), delta, ceiling
        )
    return math.sqrt(max(0.0, ceiling**2 - base.mu_squared))


def _discrete_budget(dominating: float) -> float:
    """Nearly largest m whose pieces, charged as by :func:`gaussian_noise`, cost at most `dominating`."""
    piece = discrete_gaussian_mu(1 / math.sqrt(LARGEST_SQUARE)) ** 2
    count = math.floor(dominating**2 / piece)
    if not count:
        return _last_piece(dominating)
    last = _last_piece(math.sqrt(max(0.0, dominating**2 - count * piece)))
    return math.sqrt(count * LARGEST_SQUARE + last * last)


def _last_piece(dominating: float) -> float:
    """Largest m that costs at most `dominating` as one discrete Gaussian."""
    # It costs at most ``m (1 + DISCRETE_EXCESS/sigma^2)``, with sigma = 1/m.
    if not dominating:
        return 0.0
    return float(
        brentq(
            lambda m: m * (1 + DISCRETE_EXCESS * m * m) - dominating, 0.0, dominating, xtol=1e-15, rtol=1e-12
        )
    )


def _zcdp_mu(others: Sequence[Loss], epsilon: float, delta: float, ceiling: float) -> float:
    """Largest budget under zCDP, where discrete Gaussians cost as much as continuous ones."""
    return _largest_mu(lambda m: _zcdp_delta([*others, ZCDP(rho=m * m / 2)], epsilon), delta, ceiling)


def _largest_mu(delta_at: Callable[[float], float], delta: float, ceiling: float) -> float:
    """Largest mu up to the ceiling that keeps delta; 0 if even a billionth of the ceiling does not."""
    return largest_within(delta_at, delta, 1e-9 * ceiling, ceiling)


def _set_aside_large(losses: Sequence[Loss]) -> tuple[list[Loss], EpsilonDelta]:
    """Split off the losses beyond any protection, and sum them."""
    large = [
        loss for loss in losses if isinstance(loss, (PureDP, ApproxDP)) and loss.epsilon > _LARGE_EPSILON
    ]
    return [loss for loss in losses if loss not in large], _pair(large) or EpsilonDelta(0.0, 0.0)


def _pair(losses: Iterable[Loss]) -> EpsilonDelta | None:
    """Sum of the losses' (epsilon, delta); None if one has no such pair."""
    pairs = [loss.pair() for loss in losses]
    present = [pair for pair in pairs if pair is not None]
    if len(present) < len(pairs):
        return None
    return EpsilonDelta(math.fsum(p.epsilon for p in present), math.fsum(p.delta for p in present))


def _zcdp(losses: Iterable[Loss]) -> RhoDelta | None:
    """Sum of the losses' (rho, delta); None if one has none."""
    parts = [loss.zcdp() for loss in losses]
    present = [part for part in parts if part is not None]
    if len(present) < len(parts):
        return None
    return RhoDelta(math.fsum(p.rho for p in present), math.fsum(p.delta for p in present))


def _added_up(losses: Sequence[Loss], delta: float) -> float:
    pair = _pair(losses)
    return math.inf if pair is None or pair.delta > delta else pair.epsilon


def _zcdp_delta(losses: Sequence[Loss], epsilon: float) -> float:
    total = _zcdp(losses)
    return 1.0 if total is None else total.delta + float(zcdp_delta(total.rho, epsilon))


def _zcdp_epsilon(losses: Sequence[Loss], delta: float) -> float:
    total = _zcdp(losses)
    if total is None or total.delta >= delta:
        return math.inf
    rho, left = total.rho, delta - total.delta
    # Bun and Steinke's simple conversion is an upper bound; the factor covers its rounding.
    upper = (rho + 2 * math.sqrt(rho * math.log(1 / left))) * (1 + 1e-9)
    return smallest_within(lambda e: float(zcdp_delta(rho, e)), left, 0.0, upper) if rho else 0.0


COMMON_SHARE = 0.5  # share of delta for uses of all rows, where there are any


def split_total(parts: Sequence[tuple[float, Sequence[Loss]]], common: Iterable[Loss], delta: float) -> float:
    """Epsilon at delta where each row is, independently and secretly, in one part or in none."""
    # ``ln(1 + sum p_i (e^eps_i - 1))``: all uses of a part are composed first, and amplified once. ``parts``
    # holds, for each part, the probability that a row is in it and the losses of its uses; ``common`` holds
    # the losses of uses of all rows. For one row added or removed; infinite where a part has no epsilon at
    # its share of delta.
    shared = list(common)
    share = delta * (1 - COMMON_SHARE) if shared else delta
    # The parts' largest delta holds in both directions; their mean does not hold for adding a row.
    composed = [(p, compose(losses, share) if losses else 0.0) for p, losses in parts]
    largest = max((epsilon for _, epsilon in composed), default=0.0)
    if math.isinf(largest):
        return math.inf
    rest = 1 - math.fsum(p for p, _ in composed)
    inner = math.fsum(p * math.exp(epsilon - largest) for p, epsilon in composed)
    amplified = max(0.0, largest + math.log(inner + max(rest, 0.0) * math.exp(-largest)))
    return compose([ApproxDP(epsilon=amplified, delta=share), *shared], delta) if shared else amplified


@dataclass(frozen=True)
class RandomSplit:
    """A random split of the rows into parts with different uses.

    ``parts`` holds, for each part, the probability that a row is in it, and its own uses: ``"structure"``,
    ``"parameters"``, ``"seeds"``.
    """

    parts: tuple[tuple[float, frozenset[str]], ...]

    @classmethod
    def of(cls, split: Sequence[float], *, apart: bool) -> RandomSplit:
        """Structure, parameters and seeds; the first two are one part unless known to be separate."""
        structure, parameters, seeds = split
        model_parts = ((structure + parameters, frozenset({"structure", "parameters"})),)
        if apart:
            model_parts = (  # type: ignore[assignment]
                (structure, frozenset({"structure"})), (parameters, frozenset({"parameters"})),
            )  # fmt: skip
        return cls((*model_parts, (seeds, frozenset({"seeds"}))))

    def part_of(self, uses: Sequence[str]) -> int | None:
        """Index of the part that alone has these uses; None for all rows."""
        return next((i for i, (_, allowed) in enumerate(self.parts) if uses and set(uses) <= allowed), None)

    def total(self, entries: Iterable[tuple[Sequence[str], Sequence[Loss]]], delta: float) -> float:
        """Epsilon at delta of entries (uses, losses); uses that fit no single part count for all rows."""
        of_parts: list[list[Loss]] = [[] for _ in self.parts]
        common: list[Loss] = []
        for uses, losses in entries:
            part = self.part_of(uses)
            (common if part is None else of_parts[part]).extend(losses)
        return split_total(
            [(p, losses) for (p, _), losses in zip(self.parts, of_parts, strict=True)], common, delta
        )


def check_split(parts: Any) -> None:
    """Raise ValueError unless these are the shares of structure, parameters and seeds."""
    three = isinstance(parts, (tuple, list)) and len(parts) == 3
    shares = three and all(isinstance(p, (int, float)) and not isinstance(p, bool) and p > 0 for p in parts)
    if not shares or sum(parts) > 1 + 1e-9:
        rule = "must be three shares > 0 for structure, parameters and seeds with a sum of at most 1"
        raise Refused("split", parts, rule, "try (0.25, 0.25, 0.5)")

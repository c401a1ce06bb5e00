"""What charged ledger entries allow.

A sum of squares for Gaussian noise, an epsilon for other noise, failures.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sdv_plausible.privacy.accounting.gaussian import DISCRETE_EXCESS, sigma_within
from sdv_plausible.privacy.accounting.losses import (
    LARGEST_SQUARE,
    ApproxDP,
    BoundedRangeLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    InfiniteLoss,
    Loss,
    PureDP,
    ReleaseLoss,
)
from sdv_plausible.privacy.accounting.sampled_gaussian import SampledGaussianLoss
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import BudgetExceededError
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.privacy.neighbours import Neighbours

COARSE = 3.0  # sigma below which noise on whole numbers is too coarse
FINE = 5.0  # least sigma in steps of a finer lattice
_ROUNDING = 1e-9  # relative: shares that add up to the whole may miss it by rounding
Pieces = Mapping[float, int]
"""Sizes, and how many there are of each."""


@dataclass(frozen=True, kw_only=True)
class QueryBudget:
    """What questions may cost together."""

    # Gaussian privacy parameter of all Gaussian noise together, >= 0; infinity answers without noise
    mu: float
    epsilon: float = 0.0  # sum of the epsilons of discrete Laplace noise
    failure: float = 0.0  # sum of the failure probabilities of thresholds and bounds
    # What was charged in pieces stays in pieces: shares of mu^2, epsilons and failures, and how many of each;
    # empty where one piece is all of it (docs/explanation/proofs/composition.md, Lemma 2)
    shares: Pieces = field(default_factory=dict)
    # Where some pieces are the largest that there are: most that an answer may cost in terms of continuous
    # noise, as a multiple of its share of mu^2: the least of the entries' (Theorem 4 there). Answers are
    # then of any size
    rate: float | None = None
    epsilons: Pieces = field(default_factory=dict)
    failures: Pieces = field(default_factory=dict)
    releases: tuple[ReleaseLoss, ...] = ()  # of sizes of groups
    choices: int = 0
    choice: float = math.inf  # epsilon of each of them; infinity without noise
    # Sums over samples: how many, at which rate and with how much noise each
    sampled: SampledGaussianLoss | None = None

    @classmethod
    def of(cls, entries: Iterable[LedgerEntry]) -> QueryBudget:
        """Return what ledger entries have paid for."""
        entries = list(entries)
        losses = [loss for entry in entries for loss in entry.losses]
        squares, epsilons, failures = found = Counter[float](), Counter[float](), Counter[float]()
        for loss in losses:
            for pieces, size in zip(found, _paid_for(loss), strict=True):
                pieces[size] += loss.count
        whole = _sum(squares)
        largest = max(squares, default=0.0)
        in_pieces = math.isfinite(whole) and math.isclose(largest, LARGEST_SQUARE, rel_tol=_ROUNDING)
        chosen = [loss for loss in losses if isinstance(loss, BoundedRangeLoss)]
        sampled = [loss for loss in losses if isinstance(loss, SampledGaussianLoss)]
        if len(sampled) > 1:
            raise ValueError(
                f"entries ({len(sampled)} of sums over samples) must have one of these at most: charge all "
                "sums as one, with their number"
            )
        return cls(
            mu=math.sqrt(whole),
            epsilon=_sum(epsilons),
            failure=_sum(failures),
            shares={} if in_pieces else _pieces(squares, whole),
            rate=min(map(_rate, entries)) if in_pieces else None,
            epsilons=_pieces(epsilons),
            failures=_pieces(failures),
            releases=tuple(loss for loss in losses if isinstance(loss, ReleaseLoss)),
            choices=sum(loss.count for loss in chosen),
            choice=min((loss.epsilon for loss in chosen), default=math.inf),  # the least pays for any of them
            sampled=sampled[0] if sampled else None,
        )

    @property
    def is_private(self) -> bool:
        """Whether there is noise at all."""
        return math.isfinite(self.mu)

    def for_counts(self, neighbours: Neighbours) -> QueryBudget:
        """What is allowed in terms of one row: mu of a table of counts that one row moves by 1."""
        return replace(self, mu=self.mu / neighbours.histogram_l2)

    def sigma(self, share: float, sensitivity: float = 1.0, granularity: float | None = None) -> float:
        """Noise deviation that a share of mu^2 buys at an L2 sensitivity; 0 without privacy.

        By default on the lattice of :meth:`granularity`.
        """
        if not self.is_private:
            return 0.0
        plain = sensitivity / (self.mu * math.sqrt(share))
        step = self.granularity(share, sensitivity) if granularity is None else granularity
        if (
            self.rate is None
            or not sensitivity
            or (1 + DISCRETE_EXCESS / (plain / step) ** 2) ** 2 <= self.rate
        ):
            return plain
        # A vector of whole numbers whose sensitivity is s costs s times what one that moves by 1 does.
        most = self.mu * math.sqrt(share * self.rate) / (sensitivity / step)
        return max(plain, step * sigma_within(most))

    def granularity(self, share: float, sensitivity: float = 1.0) -> float:
        """Spacing of the values of an answer's noise: 1, or less where that would cost more than it must."""
        # docs/explanation/proofs/composition.md, Theorem 5. A budget of one piece never needs it.
        if not self.is_private or self.rate is None or not sensitivity:
            return 1.0
        plain = sensitivity / (self.mu * math.sqrt(share))
        return 1.0 if plain >= COARSE else 2.0 ** math.floor(math.log2(plain / FINE))


def _rate(entry: LedgerEntry) -> float:
    """What an entry's Gaussian noise costs as continuous noise, as a multiple of its squares."""
    noise = [loss for loss in entry.losses if isinstance(loss, GaussianLoss)]
    whole = math.fsum(one.count * one.sensitivity_over_sigma**2 for one in noise)
    return math.fsum(one.count * one.mu**2 for one in noise) / whole if whole else math.inf


def _sum(pieces: Pieces) -> float:
    return math.fsum(size * count for size, count in pieces.items())


def _pieces(sizes: Pieces, whole: float = 1.0) -> dict[float, int]:
    """Sizes that are apart, relative to a whole; nothing where there is one, or no noise."""
    found = {size / whole: count for size, count in sizes.items() if size > 0}
    return found if sum(found.values()) > 1 and all(map(math.isfinite, found)) else {}


def _paid_for(loss: Loss) -> tuple[float, float, float]:
    """Square of mu, epsilon and failure probability that each of a loss's mechanisms pays for."""
    match loss:
        case InfiniteLoss():
            return math.inf, math.inf, 1.0
        case GaussianLoss():
            return loss.sensitivity_over_sigma**2, 0.0, 0.0
        case ApproxDP():
            return 0.0, loss.epsilon, loss.delta
        case PureDP():
            return 0.0, loss.epsilon, 0.0
        case DiscreteLaplaceLoss() if loss.sensitivity == 1:  # of more it costs less than epsilon-DP may
            return 0.0, loss.epsilon, 0.0
        case _:  # a loss that no kind of question draws on
            return 0.0, 0.0, 0.0


class BudgetTracker:
    """Counts what was spent of an allowance. Views of the same rows share one.

    Gaussian noise is a sum of squares: a release with sensitivity s and noise sigma costs (s / sigma)^2, and
    the costs may be chosen as one goes, as long as their sum stays within mu^2
    (docs/explanation/proofs/adaptive_network.md, Lemma 1).
    """

    def __init__(self, allowance: QueryBudget) -> None:
        self.allowance = allowance
        self._shares: list[float] = []  # of single answers
        self._epsilons, self._failures = allowance.epsilons, allowance.failures
        self._releases = list(allowance.releases)
        self.share = self.epsilon = self.failure = 0.0  # spent so far
        self.choices = self.sums = 0
        self._answers = 0

    def next_answer(self) -> int:
        """Number the answers, so that each has a stream of coins of its own."""
        self._answers += 1
        return self._answers

    def spend_choice(self) -> None:
        """Spend one choice before it is made."""
        if self.allowance.is_private and self.choices >= self.allowance.choices:
            raise BudgetExceededError(
                f"the choice exceeds the budget: all {self.allowance.choices} that were charged are made"
            )
        self.choices += 1

    def spend_sum(self, rate: float) -> None:
        """Spend one sum over a sample before it is drawn, at the rate that was charged."""
        if self.allowance.is_private:
            paid = self.allowance.sampled
            if paid is None or self.sums >= paid.count:
                made = 0 if paid is None else paid.count
                raise BudgetExceededError(
                    f"the sum over a sample exceeds the budget: all {made} that were charged are made"
                )
            if not 0 < rate <= paid.rate:
                raise BudgetExceededError(
                    f"rate ({rate:g}) must be above 0 and at most the rate that was charged ({paid.rate:g})"
                )
        self.sums += 1

    def spend_release(self, loss: ReleaseLoss) -> None:
        """Spend a release of sizes of groups before it is made: of the sensitivity that was charged."""
        if not self.allowance.is_private:
            return
        paid = [
            one
            for one in self._releases
            if one.l1 == loss.l1 and loss.epsilon0 <= one.epsilon0 and loss.delta <= one.delta
        ]
        if not paid:
            raise BudgetExceededError(f"the release of groups exceeds the budget: {loss} was not charged")
        self._releases.remove(paid[0])

    def spend(
        self,
        *,
        share: float | Sequence[float] = 0.0,
        epsilon: float = 0.0,
        failure: float = 0.0,
        parts: int = 1,
    ) -> None:
        """Spend shares of mu^2, epsilon of discrete Laplace noise, failure probability, before an answer.

        ``parts`` equal ones may make up a share or an epsilon, where so many numbers are answered together.
        """
        # Where less is left, nothing is spent.
        allowed, shares = self.allowance, [one / parts for one in np.atleast_1d(share) for _ in range(parts)]
        wanted = {"share": math.fsum(shares), "epsilon": epsilon, "failure": failure}
        most = {"share": float(allowed.mu > 0), "epsilon": allowed.epsilon, "failure": allowed.failure}
        for what, cost in wanted.items():
            if not (cost >= 0 and (what != "share" or min(shares, default=0.0) >= 0)):
                raise ValueError(
                    f"{what} ({cost!r}) must be a number of at least 0: it is what a question costs"
                )
            used = getattr(self, what)
            if used + cost > most[what] * (1 + _ROUNDING):
                raise _beyond(what, cost, max(most[what] - used, 0))
        if allowed.shares:
            shares = sorted([*self._shares, *shares], reverse=True)
            _check_even(shares, allowed.shares)
        epsilons = _taken("epsilon", self._epsilons, epsilon / parts, parts)
        failures = _taken("failure", self._failures, failure)
        self._shares, self._epsilons, self._failures = shares, epsilons, failures
        for what, cost in wanted.items():
            setattr(self, what, getattr(self, what) + cost)


def _check_even(shares: Sequence[float], charged: Pieces) -> None:
    """Refuse answers of which the k largest cost more than the k largest charges, for any k (Lemma 2)."""
    sizes = np.array(sorted(charged, reverse=True))
    counts = np.array([charged[size] for size in sizes])
    most = np.interp(np.arange(1, len(shares) + 1), [0, *counts.cumsum()], [0, *(sizes * counts).cumsum()])
    beyond = np.cumsum(shares) > most * (1 + _ROUNDING)
    if beyond.any():
        at = int(np.argmax(beyond))
        raise _beyond("share", shares[at], max(0.0, float(most[at]) - math.fsum(shares[:at])))


def _taken(what: str, pieces: Pieces, cost: float, parts: int = 1) -> Pieces:
    """Charged pieces that are left, where every part is taken from the smallest that holds it."""
    left = Counter(pieces)
    for _ in range(parts if pieces and cost else 0):
        holds = [size for size in left if cost <= size * (1 + _ROUNDING)]
        if not holds:
            raise _beyond(what, cost, max(0.0, *left))
        size = min(holds)
        left[size] -= 1
        if not left[size]:
            del left[size]
        left[size - cost] += 1
    return left


def _beyond(what: str, cost: float, left: float) -> BudgetExceededError:
    return BudgetExceededError(
        f"{what} ({rounded_up(cost, 4)}) of the budget exceeds what is left ({left:.4g})"
    )

"""The privacy budget of queries, and what is left of it.

It has three parts: a sum of squares for Gaussian noise, epsilon for other noise, and failure probability.
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

COARSE = 3.0  # least sigma of integer noise; below it a finer grid is used
FINE = 5.0  # least sigma in steps of the finer grid
_ROUNDING = 1e-9  # relative tolerance for sums of shares
Pieces = Mapping[float, int]
"""Charged pieces: size -> number of pieces."""


@dataclass(frozen=True, kw_only=True)
class QueryBudget:
    """Privacy budget of a set of queries: how much was paid for, not how much is left."""

    # Gaussian privacy parameter of all Gaussian noise together, >= 0; infinite: exact answers
    mu: float
    epsilon: float = 0.0  # sum of the epsilons of discrete Laplace noise
    failure: float = 0.0  # sum of the failure probabilities of thresholds and bounds
    # Pieces of mu^2 (as shares), of epsilon and of failure, as charged; empty where there is only one
    # (docs/explanation/proofs/composition.md, Lemma 2)
    shares: Pieces = field(default_factory=dict)
    # Set where the Gaussian budget is charged in pieces: answers may then have any size. As continuous noise,
    # an answer may cost at most this multiple of its share of mu^2, the smallest of any entry's (Theorem 4
    # there)
    rate: float | None = None
    epsilons: Pieces = field(default_factory=dict)
    failures: Pieces = field(default_factory=dict)
    releases: tuple[ReleaseLoss, ...] = ()  # charged releases of group sizes
    choices: int = 0  # number of charged choices of the exponential mechanism
    choice: float = math.inf  # epsilon of each choice; infinite without noise
    sampled: SampledGaussianLoss | None = None  # charged sums over Poisson samples

    @classmethod
    def of(cls, entries: Iterable[LedgerEntry]) -> QueryBudget:
        """Return the budget that ledger entries pay for."""
        entries = list(entries)
        losses = [loss for entry in entries for loss in entry.losses]
        squares, epsilons, failures = piece_counts = Counter[float](), Counter[float](), Counter[float]()
        for loss in losses:
            for pieces, size in zip(piece_counts, _pieces_paid(loss), strict=True):
                pieces[size] += loss.count
        mu_squared = _sum(squares)
        largest = max(squares, default=0.0)
        in_pieces = math.isfinite(mu_squared) and math.isclose(largest, LARGEST_SQUARE, rel_tol=_ROUNDING)
        choices = [loss for loss in losses if isinstance(loss, BoundedRangeLoss)]
        sampled = [loss for loss in losses if isinstance(loss, SampledGaussianLoss)]
        if len(sampled) > 1:
            raise ValueError(
                f"entries ({len(sampled)} of sums over samples) must have one of these at most: charge all "
                "sums in one entry, with their number"
            )
        return cls(
            mu=math.sqrt(mu_squared),
            epsilon=_sum(epsilons),
            failure=_sum(failures),
            shares={} if in_pieces else _pieces(squares, mu_squared),
            rate=min(map(_rate, entries)) if in_pieces else None,
            epsilons=_pieces(epsilons),
            failures=_pieces(failures),
            releases=tuple(loss for loss in losses if isinstance(loss, ReleaseLoss)),
            choices=sum(loss.count for loss in choices),
            choice=min((loss.epsilon for loss in choices), default=math.inf),  # the smallest holds for all
            sampled=sampled[0] if sampled else None,
        )

    @property
    def is_private(self) -> bool:
        """Whether answers get noise."""
        return math.isfinite(self.mu)

    def for_counts(self, neighbours: Neighbours) -> QueryBudget:
        """Return the budget with mu for a count table that one row moves by 1."""
        return replace(self, mu=self.mu / neighbours.histogram_l2)

    def sigma(self, share: float, sensitivity: float = 1.0, granularity: float | None = None) -> float:
        """Noise deviation that a share of mu^2 buys at an L2 sensitivity; 0 without privacy.

        By default for the grid of :meth:`granularity`.
        """
        if not self.is_private:
            return 0.0
        continuous = sensitivity / (self.mu * math.sqrt(share))
        step = self.granularity(share, sensitivity) if granularity is None else granularity
        if (
            self.rate is None
            or not sensitivity
            or (1 + DISCRETE_EXCESS / (continuous / step) ** 2) ** 2 <= self.rate
        ):
            return continuous
        # mu is proportional to the sensitivity of an integer vector.
        max_mu = self.mu * math.sqrt(share * self.rate) / (sensitivity / step)
        return max(continuous, step * sigma_within(max_mu))

    def granularity(self, share: float, sensitivity: float = 1.0) -> float:
        """Spacing of an answer's noise values: 1, or less where integer noise would cost too much."""
        # docs/explanation/proofs/composition.md, Theorem 5. A budget of one piece always has spacing 1.
        if not self.is_private or self.rate is None or not sensitivity:
            return 1.0
        continuous = sensitivity / (self.mu * math.sqrt(share))
        return 1.0 if continuous >= COARSE else 2.0 ** math.floor(math.log2(continuous / FINE))


def _rate(entry: LedgerEntry) -> float:
    """Cost of an entry's Gaussian noise as continuous noise, as a multiple of its squares."""
    gaussian = [loss for loss in entry.losses if isinstance(loss, GaussianLoss)]
    squares = math.fsum(loss.count * loss.sensitivity_over_sigma**2 for loss in gaussian)
    return math.fsum(loss.count * loss.mu**2 for loss in gaussian) / squares if squares else math.inf


def _sum(pieces: Pieces) -> float:
    return math.fsum(size * count for size, count in pieces.items())


def _pieces(sizes: Pieces, total: float = 1.0) -> dict[float, int]:
    """Piece sizes relative to the whole; empty for a single piece or without noise."""
    pieces = {size / total: count for size, count in sizes.items() if size > 0}
    return pieces if sum(pieces.values()) > 1 and all(map(math.isfinite, pieces)) else {}


def _pieces_paid(loss: Loss) -> tuple[float, float, float]:
    """Squared mu, epsilon and failure probability that each use of a loss pays for."""
    match loss:
        case InfiniteLoss():
            return math.inf, math.inf, 1.0
        case GaussianLoss():
            return loss.sensitivity_over_sigma**2, 0.0, 0.0
        case ApproxDP():
            return 0.0, loss.epsilon, loss.delta
        case PureDP():
            return 0.0, loss.epsilon, 0.0
        case DiscreteLaplaceLoss() if loss.sensitivity == 1:  # at larger ones it costs less than epsilon-DP
            return 0.0, loss.epsilon, 0.0
        case _:  # no query spends this kind of loss
            return 0.0, 0.0, 0.0


class BudgetTracker:
    """Tracks how much of a query budget is spent. Views of the same rows share one tracker.

    Gaussian noise is a sum of squares: an answer with sensitivity s and noise sigma costs (s / sigma)^2. The
    costs may be chosen adaptively as long as their sum stays within mu^2
    (docs/explanation/proofs/adaptive_network.md, Lemma 1).
    """

    def __init__(self, allowance: QueryBudget) -> None:
        self.allowance = allowance
        self._shares: list[float] = []  # shares of the answers so far
        self._epsilons, self._failures = allowance.epsilons, allowance.failures
        self._releases = list(allowance.releases)
        self.share = self.epsilon = self.failure = 0.0  # spent so far
        self.choices = self.sums = 0
        self._answers = 0

    def next_answer(self) -> int:
        """Number of the next answer; it names the answer's random stream."""
        self._answers += 1
        return self._answers

    def spend_choice(self) -> None:
        """Spend one choice of the exponential mechanism before it is made."""
        if self.allowance.is_private and self.choices >= self.allowance.choices:
            raise BudgetExceededError(
                f"the choice exceeds the budget: all {self.allowance.choices} charged choices are used"
            )
        self.choices += 1

    def spend_sum(self, rate: float) -> None:
        """Spend one sum over a sample before it is drawn, at no more than the charged rate."""
        if self.allowance.is_private:
            paid = self.allowance.sampled
            if paid is None or self.sums >= paid.count:
                charged = 0 if paid is None else paid.count
                raise BudgetExceededError(
                    f"the sum over a sample exceeds the budget: all {charged} charged sums are used"
                )
            if not 0 < rate <= paid.rate:
                raise BudgetExceededError(
                    f"rate ({rate:g}) must be above 0 and at most the rate that was charged ({paid.rate:g})"
                )
        self.sums += 1

    def spend_release(self, loss: ReleaseLoss) -> None:
        """Spend one release of group sizes before it is made, at the charged sensitivity."""
        if not self.allowance.is_private:
            return
        charged = [
            release
            for release in self._releases
            if release.l1 == loss.l1 and loss.epsilon0 <= release.epsilon0 and loss.delta <= release.delta
        ]
        if not charged:
            raise BudgetExceededError(f"the release of groups exceeds the budget: {loss} was not charged")
        self._releases.remove(charged[0])

    def spend(
        self,
        *,
        share: float | Sequence[float] = 0.0,
        epsilon: float = 0.0,
        failure: float = 0.0,
        parts: int = 1,
    ) -> None:
        """Spend shares of mu^2, epsilon of discrete Laplace noise and failure probability before an answer.

        With ``parts``, a share or an epsilon is charged as that many equal pieces. If too little is left,
        nothing is spent.
        """
        allowed = self.allowance
        shares = [total / parts for total in np.atleast_1d(share) for _ in range(parts)]
        costs = {"share": math.fsum(shares), "epsilon": epsilon, "failure": failure}
        most = {"share": float(allowed.mu > 0), "epsilon": allowed.epsilon, "failure": allowed.failure}
        for what, cost in costs.items():
            if not (cost >= 0 and (what != "share" or min(shares, default=0.0) >= 0)):
                raise ValueError(
                    f"{what} ({cost!r}) must be a number of at least 0: it is the cost of a query"
                )
            used = getattr(self, what)
            if used + cost > most[what] * (1 + _ROUNDING):
                raise _over_budget(what, cost, max(most[what] - used, 0))
        if allowed.shares:
            shares = sorted([*self._shares, *shares], reverse=True)
            _check_even(shares, allowed.shares)
        epsilons = _take("epsilon", self._epsilons, epsilon / parts, parts)
        failures = _take("failure", self._failures, failure)
        self._shares, self._epsilons, self._failures = shares, epsilons, failures
        for what, cost in costs.items():
            setattr(self, what, getattr(self, what) + cost)


def _check_even(shares: Sequence[float], charged: Pieces) -> None:
    """Raise if the k largest answers cost more than the k largest charges, for any k (Lemma 2)."""
    sizes = np.array(sorted(charged, reverse=True))
    counts = np.array([charged[size] for size in sizes])
    limits = np.interp(np.arange(1, len(shares) + 1), [0, *counts.cumsum()], [0, *(sizes * counts).cumsum()])
    beyond = np.cumsum(shares) > limits * (1 + _ROUNDING)
    if beyond.any():
        first = int(np.argmax(beyond))
        raise _over_budget("share", shares[first], max(0.0, float(limits[first]) - math.fsum(shares[:first])))


def _take(what: str, pieces: Pieces, cost: float, parts: int = 1) -> Pieces:
    """Charged pieces left after taking each part from the smallest piece that holds it."""
    left = Counter(pieces)
    for _ in range(parts if pieces and cost else 0):
        large_enough = [size for size in left if cost <= size * (1 + _ROUNDING)]
        if not large_enough:
            raise _over_budget(what, cost, max(0.0, *left))
        size = min(large_enough)
        left[size] -= 1
        if not left[size]:
            del left[size]
        left[size - cost] += 1
    return left


def _over_budget(what: str, cost: float, left: float) -> BudgetExceededError:
    return BudgetExceededError(
        f"{what} ({rounded_up(cost, 4)}) of the budget exceeds what is left ({left:.4g})"
    )

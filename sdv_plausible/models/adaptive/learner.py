"""Adaptive learning of a Bayesian network: measure what the model gets most wrong, with noise, and fit again.

Every stage uses all rows and one Gaussian budget (:mod:`sdv_plausible.models.measuring`):

1. the number of rows: with the declared domain it decides every share and resolution below;
2. one-way counts of every column; ordered ones are smoothed, all are projected to the simplex;
3. columns are cut to buckets of equal noisy mass; then once or twice:
   a. scores: for every unmeasured pair the distance between its table and the current model's;
   b. the pairs whose scores exceed the noise that measuring them would add are chosen (a forest in the first of two
      rounds) and their tables measured;
   c. the residual against the model is denoised, tables and margins are made consistent, the network is fitted.

Only the releases in 1, 2, 3a and 3b look at rows (docs/explanation/proofs/adaptive_network.md).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sdv_plausible.models.adaptive.denoising import haar_denoise, rake, shrink_singular_values
from sdv_plausible.models.adaptive.log_linear import Estimates, fit_network
from sdv_plausible.models.base import LearningRows, ModelBudget
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.models.buckets import make_buckets
from sdv_plausible.models.counting import project_to_simplex
from sdv_plausible.models.forecast import Forecast, noise_distance, undeclared
from sdv_plausible.models.measuring import GaussianBudget
from sdv_plausible.privacy.accounting.losses import GaussianLoss, InfiniteLoss
from sdv_plausible.privacy.ledger import LedgerEntry, PrivacyLedger
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.table.domain import Domain

Pair = tuple[int, int]
SIZE_SHARE, SCORE_SHARE = 0.005, 0.05
BUCKET_FLOOR = 4.0  # a bucket must hold so many deviations of a pair table's noise
NUM_SIMULATED = 60_000
NUM_SIZES = 200  # numbers of pairs that are weighed against each other, at most
NO_NOISE = "the model was learned without noise (epsilon is infinite); give a finite epsilon"


@dataclass(frozen=True, kw_only=True)
class AdaptiveLearner:
    """The default learner: adaptive measurement, then a maximum-entropy Bayesian network.

    Parameters
    ----------
    max_cost : int
        Bound on the cells of one conditional table: memory and time grow with it. Parents are coarsened to keep to it.
    """

    max_cost: int = 300_000

    def __post_init__(self) -> None:
        if not isinstance(self.max_cost, (int, np.integer)) or isinstance(self.max_cost, bool) or self.max_cost < 1:
            raise ValueError(f"max_cost ({self.max_cost!r}) must be a whole number >= 1: it bounds the cells of a table")

    def plan(self, domain: Domain, budget: ModelBudget) -> list[LedgerEntry]:  # noqa: ARG002
        """One entry: the stages share one Gaussian budget, in shares that are decided on the way."""
        mu = budget.gaussian()
        what = "number of rows, one-way counts, scores of pairs, chosen pair tables"
        if math.isinf(mu):
            return [
                LedgerEntry(
                    name="model",
                    mechanism=what + ", no noise",
                    losses=(InfiniteLoss(),),
                    scope="the model",
                    note=NO_NOISE,
                    parts=("structure", "parameters"),
                )
            ]
        return [
            LedgerEntry(
                name="model",
                mechanism=f"{what}; discrete Gaussian noise on every cell, mu {mu:.4g} in all",
                losses=(GaussianLoss(sensitivity_over_sigma=mu),),
                scope="the model",
                parts=("structure", "parameters"),
            )
        ]

    def fit(
        self, rows: LearningRows, domain: Domain, budget: ModelBudget, ledger: PrivacyLedger, coins: Coins
    ) -> BayesianNetwork:
        """Charge, then learn. Of a split, structure and parameter rows are used together for both."""
        ledger.charge(*self.plan(domain, budget))
        same = rows.structure is rows.parameters
        codes = rows.parameters if same else np.concatenate([rows.structure, rows.parameters])
        return learn_adaptively(codes, domain, budget.gaussian(), self.max_cost, coins)

    def forecast(self, domain: Domain, budget: ModelBudget, rows: int) -> Forecast | None:
        """How the noise will show on a table of about so many rows, if as many pairs are measured as there are columns."""
        spender = GaussianBudget(budget.gaussian(), Coins.from_seed(0))  # releases nothing here
        if not spender.is_private:
            return None
        m, cards = len(domain), np.array(domain.cardinalities)
        schedule = Schedule.make(rows, spender, m)
        sigmas = [spender.sigma(float(s)) for s in margin_shares(domain.cardinalities, schedule.margin_share)]
        sizes = np.minimum(cards, min(schedule.most_buckets, max(rows / (BUCKET_FLOOR * schedule.pair_sigma), 1.0)))
        a, b = np.triu_indices(m, 1)
        a, b = a[(sizes[a] > 1) & (sizes[b] > 1)], b[(sizes[a] > 1) & (sizes[b] > 1)]
        noise = schedule.worth * spender.sigma(schedule.pair_share / m) * pair_noise(sizes[a], sizes[b])
        return Forecast(
            rows=rows,
            assumed=undeclared(domain),
            columns={n: noise_distance(int(c), s, rows) for n, c, s in zip(domain.names, cards, sigmas, strict=True)},
            link=float(np.median(noise)) / (2 * rows) if len(a) else None,
        )


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """How the budget is shared out: decided by the (noisy or public) number of rows, mu and the number of columns.

    Attributes
    ----------
    margin_share, pair_share : float
        Shares of mu^2 for the one-way counts and for the pair tables.
    worth : float
        A pair is measured if its score is so many times the noise of its table. The score is noisy too, and every
        further pair makes all tables noisier: where there is little power that costs more than weak links are worth.
    most_buckets : int
        Number of buckets of a column in pair tables, at most.
    pair_sigma : float
        Noise of a pair table, roughly.
    rounds : tuple of (float, float, bool)
        Per round the shares of scores and of pair tables, and whether only a forest is measured.
    """

    margin_share: float
    pair_share: float
    worth: float
    most_buckets: int
    pair_sigma: float
    rounds: tuple[tuple[float, float, bool], ...]

    @classmethod
    def make(cls, rows: float, budget: GaussianBudget, num_columns: int) -> Schedule:
        """Chosen on ACS 2018, ACS 2013, bank and NIST tables: where there is little power, the margins get more of it."""
        power = max(rows, 1.0) * budget.mu  # rows per unit of noise: the one number that says what the budget can carry
        private = budget.is_private
        margin_share = float(np.interp(np.log10(power), [2.0, 2.7, 3.6, 6.0], [0.88, 0.5, 0.36, 0.3])) if private else 0.35
        pair_share = 1 - SIZE_SHARE - margin_share - SCORE_SHARE
        return cls(
            margin_share=margin_share,
            pair_share=pair_share,
            worth=1.0 if power > 2000 else 2.0,
            most_buckets=int(np.clip(16 * (power / 4000) ** 0.25, 10, 40)) if private else 40,
            pair_sigma=budget.sigma(pair_share / (1.5 * num_columns)),
            rounds=((0.5, 0.35, True), (0.5, 0.65, False)) if power > 2000 else ((1.0, 1.0, False),),
        )


def learn_adaptively(codes: np.ndarray, domain: Domain, mu: float, max_cost: int, coins: Coins) -> BayesianNetwork:
    """Learn a network from codes (n, m) within the Gaussian budget mu (infinity: without noise)."""
    budget = GaussianBudget(mu, coins.spawn("noise"))
    rows = float(budget.release(np.array([len(codes)]), SIZE_SHARE)[0])
    schedule = Schedule.make(rows, budget, len(domain))
    state = _Measurements(codes, domain, budget, schedule)
    network = None
    for number, (share_of_scores, share_of_pairs, forest) in enumerate(schedule.rounds):
        scores, pairs = SCORE_SHARE * share_of_scores, schedule.pair_share * share_of_pairs
        chosen = state.measure_pairs(scores, pairs, forest)
        if chosen or network is None:
            network, state.simulated = fit_network(state.estimates(), max_cost, NUM_SIMULATED, coins.spawn("fit", number))
    assert network is not None
    return network


def margin_shares(cardinalities: Sequence[int], share: float) -> np.ndarray:
    """Shares of card^(2/3): they minimise the summed L1 noise of tables with these numbers of cells."""
    weight = np.array(cardinalities, dtype=float) ** (2 / 3)
    return share * weight / weight.sum()


def pair_noise(sizes_a: np.ndarray, sizes_b: np.ndarray) -> np.ndarray:
    """L1 noise of rank-one denoised a x b tables, in standard deviations of a cell; about."""
    return 0.8 * np.sqrt((sizes_a - 1) * (sizes_b - 1) * (sizes_a + sizes_b) + 1e-9)


class _Measurements:
    """Everything measured so far and what it says; the bucketed rows are the only private field."""

    def __init__(self, codes: np.ndarray, domain: Domain, budget: GaussianBudget, schedule: Schedule) -> None:
        self._budget = budget
        self._pair_sigma, self._worth = schedule.pair_sigma, schedule.worth
        self._ordered = [a.is_ordered for a in domain]
        cards = domain.cardinalities
        shares = margin_shares(cards, schedule.margin_share)
        self._counts = [
            budget.release(np.bincount(codes[:, j], minlength=c), float(s))
            for j, (c, s) in enumerate(zip(cards, shares, strict=True))
        ]
        self._sigmas = [budget.sigma(float(s)) for s in shares]
        variance = np.array([c * max(s, 1e-9) ** 2 for c, s in zip(cards, self._sigmas, strict=True)])
        self.total = max(
            float(sum(t.sum() / v for t, v in zip(self._counts, variance, strict=True)) / (1 / variance).sum()), 1.0
        )
        self.margins = [self._clean(j, counts) for j, counts in enumerate(self._counts)]
        floor = BUCKET_FLOOR * schedule.pair_sigma / self.total
        self.buckets = [
            np.unique(a.buckets, return_inverse=True)[1]
            if a.buckets
            else make_buckets(p, a.is_ordered, schedule.most_buckets, floor)
            for a, p in zip(domain, self.margins, strict=True)
        ]
        self._sizes = [int(b.max()) + 1 for b in self.buckets]
        self.coarse = [np.bincount(b, p, size) for b, p, size in zip(self.buckets, self.margins, self._sizes, strict=True)]
        self._rows = np.stack([b[codes[:, j]] for j, b in enumerate(self.buckets)], axis=1).astype(np.int32)
        self._raw: dict[Pair, tuple[np.ndarray, np.ndarray, float]] = {}  # noisy table, estimate before it, sigma
        self._pairs: dict[Pair, np.ndarray] = {}
        self.simulated: np.ndarray | None = None

    def estimates(self) -> Estimates:
        """What the network is fitted to."""
        return Estimates(margins=self.margins, coarse=self.coarse, buckets=self.buckets, pairs=self._pairs)

    def measure_pairs(self, score_share: float, pair_share: float, forest: bool) -> bool:
        """One round: score, choose, measure, clean. False if no pair was worth its noise."""
        every = itertools.combinations(range(len(self.margins)), 2)
        unmeasured = [e for e in every if e not in self._raw and self._may_pay(e)]  # the noise of scores grows with them
        if not unmeasured:
            return False
        estimate = {e: self._estimate(e) for e in unmeasured}
        # Both tables are integers and the estimate comes from earlier releases: one row changes each score by at most 1.
        scores = np.array([int(np.abs(self._table(self._rows, e) - np.rint(estimate[e])).sum()) for e in unmeasured])
        reach = float(np.sqrt(len(unmeasured)))
        noisy = self._budget.release(scores, score_share, reach)
        chosen, shares = self._worth_measuring(unmeasured, estimate, noisy, pair_share, forest)
        for e, share in zip(chosen, shares, strict=True):
            table = self._budget.release(self._table(self._rows, e), share)
            self._raw[e] = (table, estimate[e], self._budget.sigma(share))
        if chosen:
            self._clean_pairs()
        return bool(chosen)

    def _worth_measuring(
        self, pairs: list[Pair], estimate: dict[Pair, np.ndarray], noisy: np.ndarray, share: float, forest: bool
    ) -> tuple[list[Pair], list[float]]:
        """The pairs for which the sum of scores less the L1 noise of measuring them all is largest.

        Pairs are ranked by what they bring beyond their own noise: of two equal links the smaller table goes first.
        """
        # What sampling alone makes of the distance: mean absolute deviation of Poisson counts.
        chance = [np.where(estimate[e] < 0.5, estimate[e], 0.8 * np.sqrt(estimate[e])).sum() for e in pairs]
        score = np.minimum(noisy - np.array(chance), [self._farthest(e) for e in pairs])
        cost = np.array([self._price(e) for e in pairs])
        best, chosen, best_shares = 0.0, np.zeros(0, dtype=int), np.zeros(0)
        most = max(min(len(pairs), len(self.margins) - 1) if forest else len(pairs), 1)
        for k in np.unique(np.geomspace(1, most, NUM_SIZES).round().astype(int)):
            ranked = np.argsort(self._budget.sigma(share / k) * cost - score, kind="stable")
            top = (_forest(ranked, pairs, len(self.margins)) if forest else ranked)[:k]
            shares = cost[top] ** (1 / 3)
            shares *= share / shares.sum()
            sigma = np.array([self._budget.sigma(s) for s in shares])
            gain = float((score[top] - sigma * cost[top]).sum())
            if gain > best:
                best, chosen, best_shares = gain, top, shares
        return [pairs[i] for i in chosen], best_shares.tolist()

    def _farthest(self, e: Pair) -> float:
        """Bound on the L1 distance of two count tables of a pair with the same margins: 4 (1 - p) for a value of mass p."""
        return self.total * min(2.0, *(4 * (1 - float(self.coarse[j].max())) for j in e))

    def _price(self, e: Pair) -> float:
        """L1 distance that a pair must show, in standard deviations of a cell of its table."""
        return self._worth * float(pair_noise(np.array(self._sizes[e[0]]), np.array(self._sizes[e[1]])))

    def _may_pay(self, e: Pair) -> bool:
        """Whether measuring a pair would pay if its columns depended on each other as much as their margins allow."""
        return min(self._sizes[j] for j in e) > 1 and self._farthest(e) > self._pair_sigma * self._price(e)

    def _clean_pairs(self) -> None:
        if self._budget.is_private:
            self._fuse()
        for e, (table, before, sigma) in self._raw.items():
            rows, columns = (self.coarse[j] * self.total for j in e)
            prior = rake(before, rows, columns, 4)
            cleaned = rake(prior + shrink_singular_values(table - prior, sigma), rows, columns) / self.total
            self._pairs[e], self._pairs[e[1], e[0]] = cleaned, cleaned.T

    def _fuse(self) -> None:
        """Inverse-variance mean of each column's bucket counts over its own table and every pair table it is in."""
        for j, bucket in enumerate(self.buckets):
            codes_in = np.bincount(bucket, minlength=self._sizes[j])
            own = np.bincount(bucket, self._counts[j], self._sizes[j])
            weight = 1 / (self._sigmas[j] ** 2 * codes_in)
            total, weights = weight * own, weight.copy()
            for (a, b), (table, _, sigma) in self._raw.items():
                if j in (a, b):
                    variance = sigma**2 * self._sizes[b if j == a else a]
                    total, weights = total + table.sum(axis=1 if j == a else 0) / variance, weights + 1 / variance
            self.margins[j] = self._clean(j, self._counts[j] + ((total / weights - own) / codes_in)[bucket])
            self.coarse[j] = np.bincount(bucket, self.margins[j], self._sizes[j])

    def _clean(self, j: int, counts: np.ndarray) -> np.ndarray:
        smooth = haar_denoise(counts, self._sigmas[j]) if self._ordered[j] else counts
        return project_to_simplex(smooth, self.total) / self.total

    def _table(self, rows: np.ndarray, e: Pair) -> np.ndarray:
        a, b = self._sizes[e[0]], self._sizes[e[1]]
        return np.bincount(rows[:, e[0]] * b + rows[:, e[1]], minlength=a * b).reshape(a, b)

    def _estimate(self, e: Pair) -> np.ndarray:
        """The current model's count table of a pair."""
        rows, columns = (self.coarse[j] * self.total for j in e)
        if self.simulated is None:
            return np.outer(rows, columns) / self.total
        return rake(self._table(self.simulated, e) * (self.total / len(self.simulated)), rows, columns, 3)


def _forest(ranked: np.ndarray, pairs: Sequence[Pair], num_columns: int) -> np.ndarray:
    """Of the pairs numbered in ``ranked``, best first, those that close no circle."""
    component, kept = list(range(num_columns)), []
    for i in ranked:
        x, y = (component[j] for j in pairs[i])
        if x != y:
            component = [x if c == y else c for c in component]
            kept.append(i)
    return np.array(kept, dtype=int)

"""Budget schedule of the adaptive learner, and the forecast of its noise: computed without the rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sdv_plausible.models.forecast import (
    Forecast,
    noise_distance,
    pair_distances,
    shown_distance,
    undeclared_columns,
)
from sdv_plausible.queries.budget_tracker import QueryBudget
from sdv_plausible.table.columns.domain import Attribute, Domain

SIZE_SHARE, SCORE_SHARE = 0.005, 0.05
BUCKET_FLOOR = 4.0  # smallest mass of a bucket, in standard deviations of a pair table's noise
PUBLIC_BUCKETS, PUBLIC_FLOOR = 16, 1.0  # number of buckets and floor where a public table adds information
# Smallest and largest number of unordered values with their own bucket, and the largest number over all
# columns: the tables of all pairs are in memory when they are scored
MIN_OWN_BUCKETS, MAX_OWN_BUCKETS, MAX_OWN_BUCKETS_TOTAL = 128, 1024, 6000
RICH_POWER = 2000.0  # power from which two rounds of pairs, and weak dependence, pay off
SET_SCORE_SHARE, SET_TABLE_SHARE = 0.01, 0.05
PRODUCT_SHARE = 0.04  # share for the correlations of ordered columns, if all columns are ordered
TYPICAL_SCORE = 2.0  # largest standardised score of a column
MAX_CORRELATION_ERROR = 0.5  # largest error of a correlation that is worth its share
MOST_SETS = 5000  # largest number of scored sets of three or four columns: a limit on the time
NUM_SIZES = 200  # largest number of selection sizes that are compared
MAX_SCORE_NOISE = 0.05  # largest noise on the score of a set, as a share of the rows
Selector = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, kw_only=True)
class Round:
    """One round of choosing and measuring pairs."""

    # Shares of mu^2 for the scores and for the pair tables
    score_share: float
    pair_share: float
    forest: bool  # whether the measured pairs must form a forest


@dataclass(frozen=True, kw_only=True)
class SetRound:
    """The round of sets of three or four columns."""

    # Shares of mu^2 for the scores and for the tables
    score_share: float
    table_share: float
    most: int  # largest number of sets whose scores stand out from the noise


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Shares of the budget, from the (noisy or public) number of rows, mu and the number of columns."""

    # Shares of mu^2 for the one-way counts and for the pair tables
    margin_share: float
    pair_share: float
    # Ratio of a pair's score to the noise of its table from which the pair is measured. Scores are noisy too,
    # and every further pair makes all tables noisier, so a small budget skips weak dependence
    worth: float
    # Largest number of buckets of an ordered column, and of unordered values with their own bucket
    most_buckets: int
    most_own_buckets: int
    pair_sigma: float  # approximate noise of a pair table
    rounds: tuple[Round, ...]  # in order
    sets: SetRound | None = None  # the last round; None if it could not pay off
    product_share: float = 0.0  # share of mu^2 for the correlations of ordered columns

    def most_buckets_of(self, attribute: Attribute) -> int:
        """Return the largest number of buckets of a column in pair tables."""
        # Neighbouring ordered values are similar. Unordered values are not, so each frequent one gets its own
        # bucket.
        return self.most_buckets if attribute.is_ordered else self.most_own_buckets

    @classmethod
    def make(cls, rows: float, allowance: QueryBudget, num_columns: int, num_ordered: int = 0) -> Schedule:
        """Create the schedule, tuned on ACS 2018, ACS 2013, bank and NIST tables."""
        power = max(rows, 1.0) * allowance.mu  # rows per unit of noise; with little power, margins get more
        private = allowance.is_private
        margin_share = (
            float(np.interp(np.log10(power), [2.0, 2.7, 3.6, 6.0], [0.88, 0.5, 0.36, 0.3]))
            if private
            else 0.35
        )
        sets = _set_round(power, num_columns)
        product_share = _product_share(power, num_columns, num_ordered) if private else 0.0
        pair_share = 1 - SIZE_SHARE - margin_share - SCORE_SHARE - product_share
        pair_share -= sets.score_share + sets.table_share if sets else 0
        shares = ((0.5, 0.35, True), (0.5, 0.65, False)) if power > RICH_POWER else ((1.0, 1.0, False),)
        return cls(
            margin_share=margin_share,
            pair_share=pair_share,
            worth=1.0 if power > RICH_POWER else 2.0,
            most_buckets=int(np.clip(16 * (power / 4000) ** 0.4, 10, 50)) if private else 40,
            most_own_buckets=int(
                np.clip(MAX_OWN_BUCKETS_TOTAL // max(num_columns, 1), MIN_OWN_BUCKETS, MAX_OWN_BUCKETS)
            ),
            pair_sigma=allowance.sigma(pair_share / (1.5 * num_columns)),
            rounds=tuple(
                Round(score_share=SCORE_SHARE * scores, pair_share=pair_share * pairs, forest=forest)
                for scores, pairs, forest in shares
            ),
            sets=sets,
            product_share=product_share,
        )


def _product_share(power: float, num_columns: int, num_ordered: int) -> float:
    """Return the share for the correlations of ordered columns; 0 if their error would be too large."""
    pairs = num_ordered * (num_ordered - 1) / 2
    share = PRODUCT_SHARE * num_ordered / num_columns if pairs else 0.0
    if not share or TYPICAL_SCORE**2 * math.sqrt(pairs / share) / power > MAX_CORRELATION_ERROR:
        return 0.0
    return share


def num_ordered(domain: Domain) -> int:
    """Number of columns that may have a correlation: ordered ones with at least three values."""
    return sum(a.is_ordered and len(a.places) > 2 for a in domain)


def _set_round(power: float, num_columns: int) -> SetRound | None:
    """Return the round of sets if scores of a few sets per column have little noise; else None.

    The joint L2 sensitivity of q scores grows with sqrt(q): their noise is sqrt(q / share) / mu.
    """
    most = int(min((MAX_SCORE_NOISE * power) ** 2 * SET_SCORE_SHARE, MOST_SETS))
    if num_columns < 3 or most < 4 * num_columns:
        return None
    return SetRound(score_share=SET_SCORE_SHARE, table_share=SET_TABLE_SHARE, most=most)


def margin_shares(cardinalities: Sequence[int], share: float) -> np.ndarray:
    """Return shares proportional to cardinality^(2/3), which minimise the summed L1 noise of the tables."""
    weight = np.array(cardinalities, dtype=float) ** (2 / 3)
    return share * weight / weight.sum()


def pair_noise(sizes_a: np.ndarray, sizes_b: np.ndarray) -> np.ndarray:
    """Return the approximate L1 noise of denoised rank-one a x b tables, in standard deviations of a cell."""
    return 0.8 * np.sqrt((sizes_a - 1) * (sizes_b - 1) * (sizes_a + sizes_b) + 1e-9)


def forecast(domain: Domain, allowance: QueryBudget, rows: int) -> Forecast | None:
    """Return the expected effect of noise on about ``rows`` rows, with as many measured pairs as columns.

    No pair is measured, and all dependence is lost, if no two columns have buckets with enough rows.
    """
    if not allowance.is_private:
        return None
    m, cards = len(domain), np.array(domain.cardinalities)
    schedule = Schedule.make(rows, allowance, m, num_ordered(domain))
    sigmas = [allowance.sigma(float(s)) for s in margin_shares(domain.cardinalities, schedule.margin_share)]
    most = np.array([schedule.most_buckets_of(a) for a in domain], dtype=float)
    num_buckets = max(rows / (BUCKET_FLOOR * schedule.pair_sigma), 1.0)  # buckets with enough rows
    sizes = np.minimum(cards, np.minimum(most, num_buckets))
    a, b = np.triu_indices(m, 1)
    is_cut = sizes >= 2  # at least two buckets
    a, b = a[is_cut[a] & is_cut[b]], b[is_cut[a] & is_cut[b]]
    noise = schedule.worth * allowance.sigma(schedule.pair_share / m) * pair_noise(sizes[a], sizes[b])
    num_scored = int((noise < 2 * rows).sum())
    scores = allowance.sigma(schedule.rounds[0].score_share, math.sqrt(num_scored)) / (2 * rows)
    link = max(float(np.median(noise)) / (2 * rows), scores) if len(a) else 1.0
    return Forecast(
        rows=rows,
        assumed=undeclared_columns(domain),
        columns={
            n: noise_distance(int(c), s, rows) for n, c, s in zip(domain.names, cards, sigmas, strict=True)
        },
        link=link if (cards > 1).sum() > 1 else None,
        crowd=scores,
        pairs=pair_distances(domain, allowance.mu, rows),
        shown={a.name: shown_distance(a, s, rows) for a, s in zip(domain, sigmas, strict=True)},
    )


def worth_measuring(
    score: np.ndarray,
    price: np.ndarray,
    share: float,
    sigma: Callable[[float], float],
    most: int,
    keep: Selector,
) -> tuple[np.ndarray, np.ndarray]:
    """Choose the tables that maximise the sum of scores minus the L1 noise of measuring them all."""
    # Tables are ranked by score minus noise, so that of two equal scores the smaller table comes first.
    # ``score``: L1 distance that each table would correct; -inf excludes a table. ``price``: L1 noise of each
    # table in standard deviations of a cell. ``sigma``: noise of a cell for a share of mu^2. ``keep`` takes
    # ranked positions, best first, and returns those that may be measured together, in the same order;
    # later positions must not affect earlier ones. Returns positions, and their shares of mu^2.
    best, chosen, best_shares = 0.0, np.zeros(0, dtype=int), np.zeros(0)
    for k in np.unique(np.geomspace(1, max(most, 1), NUM_SIZES).round().astype(int)):
        top = _best_accepted(sigma(share / k) * price - score, int(k), keep)
        top = top[np.isfinite(score[top])]
        if not len(top):
            continue
        shares = price[top] ** (1 / 3)
        shares *= share / shares.sum()
        distinct, which = np.unique(shares, return_inverse=True)  # tables of equal shape have equal shares
        gain = float((score[top] - np.array([sigma(s) for s in distinct])[which] * price[top]).sum())
        if gain > best:
            best, chosen, best_shares = gain, top, shares
    return chosen, best_shares


def _best_accepted(value: np.ndarray, k: int, keep: Selector) -> np.ndarray:
    """Return the first k positions ranked by value that ``keep`` accepts; ranks as few as possible."""
    size = 4 * k
    while True:
        accepted = keep(_smallest(value, size))[:k]
        if len(accepted) == k or size >= len(value):
            return accepted
        size *= 4


def _smallest(value: np.ndarray, size: int) -> np.ndarray:
    """Return the first ``size`` positions, or a few more, of a stable sort by value."""
    if size >= len(value):
        return np.argsort(value, kind="stable")
    among = np.flatnonzero(value <= np.partition(value, size - 1)[size - 1])
    return among[np.argsort(value[among], kind="stable")]

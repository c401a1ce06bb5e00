"""What the adaptive learner has measured so far, and what to measure next."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree

from sdv_plausible.models.adaptive.conditioning_columns import ConditioningColumns, mean_of
from sdv_plausible.models.adaptive.denoising import (
    DenoisedPair,
    denoise_ordered_pair,
    denoise_pair,
    haar_denoise,
    keep_alive,
    normal_scores,
    project_ordered,
    project_sparse,
    rake,
)
from sdv_plausible.models.adaptive.estimates import Estimates
from sdv_plausible.models.adaptive.higher_marginals import SetTables, candidates, make_levels, with_sets
from sdv_plausible.models.adaptive.public_prior import PriorWeight, PublicCodes, share_of
from sdv_plausible.models.adaptive.schedule import (
    BUCKET_FLOOR,
    PUBLIC_BUCKETS,
    PUBLIC_FLOOR,
    Round,
    Schedule,
    SetRound,
    pair_noise,
    worth_measuring,
)
from sdv_plausible.models.buckets import groups_of_codes, make_buckets, split_buckets
from sdv_plausible.queries.count_queries import Axis, L1Distances
from sdv_plausible.queries.queryable import NoisyValues, Queryable
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.utils.counting import of_one_shape, pair_counts

Pair = tuple[int, int]
_NONE = ConditioningColumns()
LEAST_LEFT = 1e-6  # share of mu^2 that is worth asking for
DEPENDENT = 0.5  # L1 distance from independence of a modelled pair that later fits must keep
CHECKED = 3  # published pairs that are measured, at least
BEFORE, SCORED = 4, 3  # rounds of raking a model's table to the margins, before cleaning and before scoring


class Measurements:
    """Everything measured so far and what it says.

    One-way counts are asked at once, scores and pair tables in every round.
    """

    def __init__(
        self,
        rows: Queryable,
        domain: Domain,
        schedule: Schedule,
        public: PublicCodes | None = None,
        wanted: Collection[Pair] = (),
        beside: ConditioningColumns = _NONE,
    ) -> None:
        self._rows, self._public, self._beside = rows, public, beside
        self.unspent, self.asked_again = 0.0, 0  # share of mu^2 that was of no use so far; times it was used
        self._wanted = np.zeros((len(domain),) * 2, dtype=bool)
        self._wanted[tuple(np.array(list(wanted), dtype=int).reshape(-1, 2).T)] = True
        self._pair_sigma, self._worth = schedule.pair_sigma, schedule.worth
        self._is_ordered = [a.is_ordered for a in domain]
        self._places = [a.places for a in domain]
        self._declared = [a.provenance == "declared" for a in domain]
        cards = domain.cardinalities
        self._asked = beside.ask(rows, cards, schedule.margin_share)
        self._take_margins()
        self.buckets = self._make_buckets(domain, schedule)
        self._axes = [Axis(j, buckets) for j, buckets in enumerate(self.buckets)]
        self._sizes = [axis.size for axis in self._axes]
        self.coarse = self._coarse()
        self._raw: dict[
            Pair, tuple[np.ndarray, np.ndarray, float]
        ] = {}  # noisy table, estimate before it, sigma
        self._pairs: dict[Pair, np.ndarray] = {}
        self._deviations: dict[Pair, np.ndarray] = {}  # posterior, of the cells of denoised tables
        self._kept: dict[Pair, np.ndarray] = {}  # unmeasured pairs, as the model had them
        self._first: set[Pair] = set()  # pairs whose estimate was independence
        self._possible = {e: self._coarsened(e, cells) for e, cells in domain.possible.items()}
        self._levels: list[np.ndarray] = []
        self._sets: SetTables | None = None
        self.simulated: np.ndarray | None = None

    def _take_margins(self) -> None:
        """Clean one-way counts as they were answered."""
        self._counts, self._sigmas, self.total = self._asked
        if self._public is not None:
            self._counts, self._sigmas, self._fits = self._public.margins(*self._asked)
        self.margins = [self._clean(j, counts) for j, counts in enumerate(self._counts)]

    def _coarse(self) -> list[np.ndarray]:
        """Masses of the buckets."""
        return [
            np.bincount(b, p, size)
            for b, p, size in zip(self.buckets, self.margins, self._sizes, strict=True)
        ]

    def _make_buckets(self, domain: Domain, schedule: Schedule) -> list[np.ndarray]:
        """Bucket of every code of every column, from the noisy masses."""
        found = self._cut(domain, schedule, BUCKET_FLOOR)
        if self._public is not None:
            found = self._finer(found, domain, schedule)
        for e, cells in domain.possible.items():
            for j, told in zip(e, (cells, cells.T), strict=True):
                found[j] = split_buckets(found[j], told)
        return found

    def _cut(self, domain: Domain, schedule: Schedule, held: float) -> list[np.ndarray]:
        """Buckets that hold so many deviations of a pair table's noise."""
        floor = held * schedule.pair_sigma / self.total
        return [
            np.unique(a.buckets, return_inverse=True)[1]
            if a.buckets
            else make_buckets(p, a.is_ordered, schedule.most_buckets_of(a), floor, groups_of_codes(a))
            for a, p in zip(domain, self.margins, strict=True)
        ]

    def _finer(self, plain: list[np.ndarray], domain: Domain, schedule: Schedule) -> list[np.ndarray]:
        """Smaller buckets where a published table lends what noise hides in them."""
        # Of columns whose margin it fits, and which depend on another in it.
        assert self._public is not None
        most = max(schedule.most_buckets, PUBLIC_BUCKETS)
        fine = self._cut(domain, replace(schedule, most_buckets=most), PUBLIC_FLOOR)
        masses = [np.bincount(b, p) for b, p in zip(fine, self.margins, strict=True)]
        lent = {j for e in self._public.pairs(fine, masses, self._is_ordered) for j in e if self._fits[j]}
        return [fine[j] if j in lent else plain[j] for j in range(len(domain))]

    def estimates(self) -> Estimates:
        """What the network is fitted to; structural zeros are known of pairs that nobody measured, too."""
        shifts = self._shifts(self._published())
        for e in {**self._possible, **shifts}:
            if e not in self._raw:
                rows, columns = (self.coarse[j] for j in e)
                before = np.outer(rows, columns) + shifts.get(e, 0.0) / self.total
                found = rake(before * self._possible.get(e, 1.0), rows, columns)
                self._pairs[e], self._pairs[e[1], e[0]] = found, found.T
        for e, table in self._kept.items():
            found = rake(table, self.coarse[e[0]], self.coarse[e[1]])
            self._pairs[e], self._pairs[e[1], e[0]] = found, found.T
        noisiest = max((sigma for _, _, sigma in self._raw.values()), default=0.0)
        estimates = Estimates(
            margins=self.margins,
            coarse=self.coarse,
            buckets=self.buckets,
            pairs=self._pairs,
            scatter={
                e: (sigma + 1) / self.total * self._possible.get(e, 1.0)
                for e, (_, _, sigma) in self._raw.items()
            }
            | {e: np.full(table.shape, (noisiest + 1) / self.total) for e, table in self._kept.items()},
            posterior={
                e: (deviations + 1) / self.total * self._possible.get(e, 1.0)
                for e, deviations in self._deviations.items()
            },
            levels=self._levels,
        )
        return with_sets(estimates, self._sets) if self._sets else estimates

    def measure_sets(self, this: SetRound) -> bool:
        """Score sets of three or four columns, choose, measure. False if none was worth its noise."""
        assert self.simulated is not None, "sets are scored against rows of the model"
        self._levels = make_levels(self.coarse, self._is_ordered)
        axes = [
            Axis(j, level[b]) for j, (level, b) in enumerate(zip(self._levels, self.buckets, strict=True))
        ]
        rows = np.empty(self.simulated.shape, dtype=np.int32, order="F")
        for j, level in enumerate(self._levels):
            rows[:, j] = level[self.simulated[:, j]]
        self._sets = SetTables(self._rows, axes, rows, self.total)
        usable = [a.column for a in axes if a.size > 1 and a.column not in self._beside.columns]
        sets = candidates(usable, this.most, self.estimates().dependence)
        found = self._sets.measure(sets, this)
        self.unspent += 0.0 if found else this.table_share + (0.0 if sets else this.score_share)
        return found

    def measure_pairs(self, this: Round) -> bool:
        """One round: score, choose, measure, clean. False if no pair was worth its noise.

        What earlier rounds had no use for is spent on this one's pairs.
        """
        this, self.unspent = replace(this, pair_share=this.pair_share + self.unspent), 0.0
        pairs = self._unmeasured()
        if not len(pairs):
            self.unspent = this.pair_share + this.score_share
            return False
        estimates, chance = self._estimates(pairs)
        # Rounded, so that the scores are integers; the estimates come from earlier answers.
        sets = [self._axes_of(e) for e in pairs.tolist()]
        noisy = self._rows.ask(L1Distances(sets, [np.rint(t) for t in estimates]), this.score_share).values
        chosen, shares = self._worth_measuring(pairs, noisy - chance, this)
        if self._public is not None and self.simulated is None:
            chosen, shares = self._with_checks(pairs, chosen, shares, this)
        unchosen = np.setdiff1d(np.arange(len(pairs)), chosen)
        self._keep(pairs[unchosen], [estimates[i] for i in unchosen])
        tables = self._rows.ask_tables([sets[i] for i in chosen], shares)
        for i, table in zip(chosen, tables, strict=True):
            first, second = pairs[i].tolist()
            self._raw[first, second] = table.values, estimates[i].copy(), table.sigma
            self._kept.pop((first, second), None)
            if self.simulated is None:
                self._first.add((first, second))
        if len(chosen):
            self._clean_pairs()
        else:
            self.unspent = this.pair_share
        return bool(len(chosen))

    def measure_again(self) -> bool:
        """Spend what was of no use on the measured pairs, or else on the columns; False if there is none."""
        if self.unspent < LEAST_LEFT or not self._rows.allowance.is_private:
            return False
        left, self.unspent = self.unspent, 0.0
        self.asked_again += 1
        if self._raw:
            weights = np.array([sigma**-2 for _, _, sigma in self._raw.values()])
            shares = left * weights / weights.sum()
            tables = self._rows.ask_tables([self._axes_of(e) for e in self._raw], shares.tolist())
            self._take_again(dict(zip(self._raw, tables, strict=True)))
            return True
        cards = [len(counts) for counts in self._counts]
        more = self._beside.ask(self._rows, cards, left)
        self._asked = self._beside.together(self._asked, more)
        self._take_margins()
        self.coarse = self._coarse()
        return True

    @property
    def name_of_fit(self) -> tuple[str | int, ...]:
        """Name of the stream for the fit after something was measured again."""
        return ("again", self.asked_again) if self._raw else (0,)

    def _take_again(self, tables: Mapping[Pair, NoisyValues]) -> None:
        """Take in second answers to pairs: their mean by inverse variance."""
        for e, other in tables.items():
            table, before, sigma = self._raw[e]
            mean, deviation = mean_of((table, sigma), (other.values, other.sigma))
            self._raw[e] = mean, before, deviation
        self._clean_pairs()

    def _keep(self, pairs: np.ndarray, modelled: Sequence[np.ndarray]) -> None:
        """Keep strong dependence that the model has right: the next fit, in another order, may lose it."""
        if self.simulated is None:
            return
        for e, table in zip(pairs.tolist(), modelled, strict=True):
            apart = self.total * np.outer(*(self.coarse[j] for j in e))
            if float(np.abs(table - apart).sum()) > DEPENDENT * self.total:
                self._kept[e[0], e[1]] = table.copy()

    def _unmeasured(self) -> np.ndarray:
        """Pairs that could pay, (k, 2); no others, since the noise of scores grows with their number."""
        pairs = np.stack(np.triu_indices(len(self.margins), 1), axis=1)
        done = self._beside.is_pair(len(self.margins))
        done[tuple(np.array(list(self._raw), dtype=int).reshape(-1, 2).T)] = True
        return pairs[~done[tuple(pairs.T)] & (self._could_pay(pairs) | self._asked_for(pairs))]

    def _asked_for(self, pairs: np.ndarray) -> np.ndarray:
        """Pairs of the workload: they are measured, whatever they score."""
        return np.asarray(self._wanted[tuple(pairs.T)] & (np.array(self._sizes)[pairs].min(1) > 1))

    def _axes_of(self, e: Sequence[int]) -> list[Axis]:
        return [self._axes[j] for j in e]

    def _worth_measuring(
        self, pairs: np.ndarray, score: np.ndarray, this: Round
    ) -> tuple[np.ndarray, list[float]]:
        """Positions of the pairs that are worth their noise, and their shares of mu^2."""
        score = np.minimum(score, self._farthest(pairs))
        if not this.forest:
            score = np.where(self._asked_for(pairs), 1e12, score)
        chosen, shares = worth_measuring(
            score=score,
            price=self._price(pairs),
            share=this.pair_share,
            sigma=self._rows.sigma,
            most=min(len(pairs), len(self.margins) - 1) if this.forest else len(pairs),
            keep=(lambda ranked: _forest(ranked, pairs, len(self.margins))) if this.forest else np.asarray,
        )
        return chosen, self._beside.weighed(shares, pairs[chosen]).tolist()

    def _farthest(self, pairs: np.ndarray) -> np.ndarray:
        """Bound on the L1 distance of two count tables of a pair with the same margins."""
        # 4 (1 - p) for a value of mass p.
        likeliest = np.array([p.max() for p in self.coarse])[pairs].max(1)
        return np.asarray(self.total * np.minimum(2.0, 4 * (1 - likeliest)))

    def _price(self, pairs: np.ndarray) -> np.ndarray:
        """L1 distance that a pair must show, in standard deviations of a cell of its table."""
        return np.asarray(self._worth * pair_noise(*np.array(self._sizes)[pairs].T))

    def _could_pay(self, pairs: np.ndarray) -> np.ndarray:
        """Whether measuring a pair would pay if it depended as much as its margins allow."""
        enough = np.array(self._sizes)[pairs].min(1) > 1
        return np.asarray(enough & (self._farthest(pairs) > self._pair_sigma * self._price(pairs)))

    def _clean_pairs(self) -> None:
        if self._rows.allowance.is_private:
            self._fuse()
        shifts = self._shifts(self._published())
        for e, (_, before, _) in self._raw.items():
            rows, columns = (self.coarse[j] * self.total for j in e)
            possible = self._possible.get(e, np.ones(before.shape, dtype=bool))
            shift = shifts.get(e, 0.0) if e in self._first else 0.0
            prior = rake((before + shift) * possible, rows, columns, BEFORE)
            found = self._denoised(e, prior, possible)
            cleaned = rake(found * possible, rows, columns) / self.total
            self._pairs[e], self._pairs[e[1], e[0]] = cleaned, cleaned.T

    def _denoised(self, e: Pair, prior: np.ndarray, possible: np.ndarray) -> np.ndarray:
        found = self._posterior(e, prior, possible)
        self._deviations[e] = found.deviations
        return found.counts

    def _posterior(self, e: Pair, prior: np.ndarray, possible: np.ndarray) -> DenoisedPair:
        table, _, sigma = self._raw[e]
        rows, columns = (self.coarse[j] * self.total for j in e)
        u, v = (self._normal_scores(j) for j in e)
        if u is None or v is None:
            return denoise_pair(table, prior, rows, columns, sigma, possible)
        return denoise_ordered_pair(table, prior, rows, columns, sigma, possible, (u, v))

    def _normal_scores(self, j: int) -> np.ndarray | None:
        """Scores of the buckets of an ordered column; None of another."""
        if not self._is_ordered[j]:
            return None
        placed = np.isin(np.arange(self._sizes[j]), self.buckets[j][: len(self._places[j])])
        return normal_scores(self.coarse[j], placed)

    def _published(self) -> dict[Pair, np.ndarray]:
        """Count tables of the pairs that depend in the published table, with the margins of now."""
        found = self._public.pairs(self.buckets, self.coarse, self._is_ordered) if self._public else {}
        return {e: table * self.total for e, table in found.items()}

    def _with_checks(
        self, pairs: np.ndarray, chosen: np.ndarray, shares: list[float], this: Round
    ) -> tuple[np.ndarray, list[float]]:
        """At least a few of the strongest published pairs are measured: nothing else says what to believe."""
        published = self._published()
        strength = {
            i: float(np.linalg.norm(published[a, b] - self.total * np.outer(self.coarse[a], self.coarse[b])))
            for i, (a, b) in enumerate(pairs.tolist())
            if (a, b) in published
        }
        lacking = CHECKED - len(set(strength) & set(chosen.tolist()))
        strongest = sorted(set(strength) - set(chosen.tolist()), key=lambda i: -strength[i])
        if lacking <= 0 or not strongest:
            return chosen, shares
        more = np.array([*chosen, *strongest[:lacking]], dtype=int)
        return more, [this.pair_share / len(more)] * len(more)

    def _shifts(self, published: Mapping[Pair, np.ndarray]) -> dict[Pair, np.ndarray]:
        """What the published dependence adds to independence, as far as the measured pairs bear it out."""
        apart = {e: self.total * np.outer(*(self.coarse[j] for j in e)) for e in published}
        trust = PriorWeight.of(
            {
                e: share_of(table, apart[e], published[e], sigma)
                for e, (table, _, sigma) in self._raw.items()
                if e in published
            }
        )
        return {e: trust.measured.get(e, trust.others) * (table - apart[e]) for e, table in published.items()}

    def _coarsened(self, e: Pair, cells: np.ndarray) -> np.ndarray:
        """Which pairs of buckets hold a pair of codes that can occur."""
        found = np.zeros([self._sizes[j] for j in e], dtype=bool)
        np.logical_or.at(found, (self.buckets[e[0]][:, None], self.buckets[e[1]][None]), cells)
        return found

    def _fuse(self) -> None:
        """Inverse-variance mean of each column's bucket counts over all tables it is in."""
        tables: list[list[tuple[np.ndarray, float]]] = [[] for _ in self.buckets]  # lines of it, variances
        for (a, b), (table, _, sigma) in self._raw.items():
            tables[a].append((table.sum(axis=1), sigma**2 * self._sizes[b]))
            tables[b].append((table.sum(axis=0), sigma**2 * self._sizes[a]))
        for j, bucket in enumerate(self.buckets):
            codes_in = np.bincount(bucket, minlength=self._sizes[j])
            own = np.bincount(bucket, self._counts[j], self._sizes[j])
            weight = 1 / (self._sigmas[j] ** 2 * codes_in)
            total, weights = weight * own, weight.copy()
            for line, variance in tables[j]:
                total, weights = total + line / variance, weights + 1 / variance
            self.margins[j] = self._clean(j, self._counts[j] + ((total / weights - own) / codes_in)[bucket])
            self.coarse[j] = np.bincount(bucket, self.margins[j], self._sizes[j])

    def _clean(self, j: int, counts: np.ndarray) -> np.ndarray:
        places, sigma = self._places[j], self._sigmas[j]
        if k := len(places):
            smooth = np.concatenate([haar_denoise(counts[:k], sigma), counts[k:]])
            cleaned = project_ordered(smooth, counts, places, sigma, self.total)
        else:
            cleaned = project_sparse(counts, sigma, self.total)
            if self._declared[j]:
                cleaned = keep_alive(cleaned, sigma)
        return cleaned / cleaned.sum()

    def _estimates(self, pairs: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """The current model's count table of every pair, and how far chance alone moves the rows from it."""
        found: list[np.ndarray] = [np.empty(0)] * len(pairs)
        chance = np.empty(len(pairs))
        for positions, tables in self._modelled(pairs):
            # What sampling alone makes of the distance: mean absolute deviation of Poisson counts.
            chance[positions] = np.where(tables < 0.5, tables, 0.8 * np.sqrt(tables)).sum((1, 2))
            for i, table in zip(positions.tolist(), tables, strict=True):
                found[i] = table
        return found, chance

    def _modelled(self, pairs: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Positions of pairs of one shape, and their tables: of independence, or of the simulated rows."""
        if self.simulated is None:
            for positions in of_one_shape(np.array(self._sizes)[pairs]):
                rows, columns = self._coarse_counts(pairs[positions])
                yield positions, rows[:, :, None] * columns[:, None, :] / self.total
            return
        scale = self.total / max(len(self.simulated), 1)
        for positions, counts in pair_counts(list(self.simulated.T), self._sizes, pairs):
            rows, columns = self._coarse_counts(pairs[positions])
            yield positions, rake(counts * scale, rows, columns, SCORED)

    def _coarse_counts(self, pairs: np.ndarray) -> list[np.ndarray]:
        """Counts of the buckets of the first columns of these pairs, and of the second."""
        return [np.stack([self.coarse[j] for j in columns.tolist()]) * self.total for columns in pairs.T]


def _forest(ranked: np.ndarray, pairs: np.ndarray, num_columns: int) -> np.ndarray:
    """Of the pairs numbered in ``ranked``, best first, those that close no circle."""
    # A spanning forest of least ranks.
    a, b = pairs[ranked].T.astype(np.int32)  # SciPy 1.15 takes no other type here
    ranks = np.arange(1, len(ranked) + 1)  # 0 would stand for no edge
    forest = minimum_spanning_tree(csr_array((ranks, (a, b)), shape=(num_columns, num_columns)))
    return np.asarray(ranked[np.sort(forest.data).astype(int) - 1])

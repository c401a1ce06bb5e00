"""State of the adaptive learner: measured marginals, and the choice of the next measurements."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree

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
    tilt,
)
from sdv_plausible.models.adaptive.higher_marginals import (
    HigherMarginals,
    candidate_sets,
    make_levels,
    with_higher_marginals,
)
from sdv_plausible.models.adaptive.linear_dependence import (
    Correlation,
    integer_scores,
    significant_correlations,
)
from sdv_plausible.models.adaptive.maximum_entropy import Estimates
from sdv_plausible.models.adaptive.schedule import (
    BUCKET_FLOOR,
    PUBLIC_BUCKETS,
    PUBLIC_FLOOR,
    Round,
    Schedule,
    SetRound,
    margin_shares,
    pair_noise,
    worth_measuring,
)
from sdv_plausible.models.buckets import groups_of_codes, make_buckets, split_buckets
from sdv_plausible.queries.count_queries import Axis, L1Distances, ScoreProducts
from sdv_plausible.queries.queryable import NoisyValues, Queryable
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.utils.counting import group_by_shape, pair_counts

if TYPE_CHECKING:
    from sdv_plausible.models.adaptive.public_prior import PublicCodes

LIGHT = 0.25  # factor on the budget share of a conditioning column's counts
LIGHT_PAIR = 0.25  # factor on the budget share of a pair with a conditioning column
CLOSE = 1.0  # standard deviation assumed for the cells of a given margin


Noisy = tuple[np.ndarray, float]
"""Counts and their standard deviation."""
OneWay = tuple[list[np.ndarray], list[float], float]
"""One-way counts of all columns, their standard deviations, and their common total."""


def inverse_variance_mean(first: Noisy, second: Noisy) -> Noisy:
    """Return the inverse-variance weighted mean of two noisy answers."""
    weight_1, weight_2 = first[1] ** -2, second[1] ** -2
    return (weight_1 * first[0] + weight_2 * second[0]) / (weight_1 + weight_2), (weight_1 + weight_2) ** -0.5


@dataclass(frozen=True, kw_only=True)
class ConditioningColumns:
    """Columns whose joint distribution is modelled elsewhere; the other columns are learned given them.

    By default there are none: all columns are measured, with unreduced shares.

    Parameters
    ----------
    columns : frozenset of int
        Column numbers. No pair of two of these columns is measured.
    margins : mapping of int to ndarray
        Given distributions of some columns, which are not measured.
    """

    columns: frozenset[int] = frozenset()
    margins: Mapping[int, np.ndarray] = field(default_factory=dict)

    def pair_mask(self, num_columns: int) -> np.ndarray:
        """Whether both columns of a pair are conditioning columns, (m, m)."""
        is_conditioning = np.isin(np.arange(num_columns), list(self.columns))
        return np.logical_and.outer(is_conditioning, is_conditioning)

    def reweighted(self, shares: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """Return the shares of pairs (k, 2), reduced for pairs with a conditioning column."""
        if not self.columns or not len(shares):
            return shares
        weight = np.where(np.isin(pairs, list(self.columns)).any(1), LIGHT_PAIR, 1.0)
        return np.asarray(shares * weight * (shares.sum() / (shares * weight).sum()))

    def measure(self, rows: Queryable, cardinalities: Sequence[int], share: float) -> OneWay:
        """Measure the one-way counts of all columns without a given margin."""
        measured = [j for j in range(len(cardinalities)) if j not in self.margins]
        weight = margin_shares([cardinalities[j] for j in measured], 1.0)
        weight *= [LIGHT if j in self.columns else 1.0 for j in measured]
        shares = (share * weight / weight.sum()).tolist()
        answers = rows.ask_tables([[Axis.of_codes(j, cardinalities[j])] for j in measured], shares)
        return self._with_given_margins(
            {j: (a.values, a.sigma) for j, a in zip(measured, answers, strict=True)}
        )

    def averaged(self, first: OneWay, second: OneWay) -> OneWay:
        """Return the inverse-variance weighted mean of two measurements."""
        both = zip(first[0], first[1], second[0], second[1], strict=True)
        means = {
            j: inverse_variance_mean((a, s), (b, t))
            for j, (a, s, b, t) in enumerate(both)
            if j not in self.margins
        }
        return self._with_given_margins(means)

    def _with_given_margins(self, counts_of: dict[int, Noisy]) -> OneWay:
        variance = np.array([len(counts) * max(sigma, 1e-9) ** 2 for counts, sigma in counts_of.values()])
        sums = np.array([counts.sum() for counts, _ in counts_of.values()])
        total = max(float((sums / variance).sum() / (1 / variance).sum()), 1.0)
        counts_of |= {j: (margin * total, CLOSE) for j, margin in self.margins.items()}
        counts, sigmas = zip(*(counts_of[j] for j in range(len(counts_of))), strict=True)
        return list(counts), list(sigmas), total


Pair = tuple[int, int]
_NONE = ConditioningColumns()
TOLERANCE = 0.1  # smallest difference of correlations that matters
LEAST_LEFT = 1e-6  # smallest share of mu^2 worth spending
DEPENDENT = 0.5  # L1 distance from independence above which later fits keep an unmeasured pair's table
CHECKED = 3  # smallest number of public pairs to measure
BEFORE, SCORED = 4, 3  # raking rounds for a model's table, before denoising and before scoring


class Measurements:
    """Measured marginals of the adaptive learner.

    One-way counts are measured at construction, scores and pair tables in each round.
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
        self._rows, self._public, self._conditioning = rows, public, beside
        self.unspent, self.num_remeasured = 0.0, 0  # unspent share of mu^2; number of second measurements
        self._workload = np.zeros((len(domain),) * 2, dtype=bool)
        self._workload[tuple(np.array(list(wanted), dtype=int).reshape(-1, 2).T)] = True
        self._pair_sigma, self._worth = schedule.pair_sigma, schedule.worth
        self._is_ordered = [a.is_ordered for a in domain]
        self._places = [a.places for a in domain]
        self._declared = [a.provenance == "declared" for a in domain]
        cards = domain.cardinalities
        self._one_way = beside.measure(rows, cards, schedule.margin_share)
        self._clean_margins()
        self.buckets = self._make_buckets(domain, schedule)
        self._axes = [Axis(j, buckets) for j, buckets in enumerate(self.buckets)]
        self._sizes = [axis.size for axis in self._axes]
        self.coarse = self._coarse()
        # Noisy table, estimate before the measurement, and sigma of each measured pair
        self._noisy_pairs: dict[Pair, tuple[np.ndarray, np.ndarray, float]] = {}
        self._pairs: dict[Pair, np.ndarray] = {}
        self._deviations: dict[Pair, np.ndarray] = {}  # posterior deviations of the cells of denoised tables
        self._modelled_pairs: dict[Pair, np.ndarray] = {}  # unmeasured pairs, with the model's tables
        self._independent_before: set[Pair] = set()  # pairs whose estimate was independence
        self._possible = {e: self._possible_buckets(e, cells) for e, cells in domain.possible.items()}
        self._products: tuple[NoisyValues, Sequence[Pair], Mapping[int, np.ndarray]] | None = None
        self._correlations: dict[Pair, Correlation] = {}
        self._measure_correlations(schedule.product_share)
        # Tables of unmeasured pairs: the model's, tilted to these; and standard deviations of their cells
        self._tilted_tables: dict[Pair, np.ndarray] = {}
        self._tilted_deviations: dict[Pair, np.ndarray] = {}
        self.is_tilted_anew = False  # whether there are such tables that no fit has used
        self._levels: list[np.ndarray] = []
        self._sets: HigherMarginals | None = None
        self.simulated: np.ndarray | None = None

    def _measure_correlations(self, share: float) -> None:
        """Measure the correlations of all ordered columns; the share stays unspent if there are none."""
        normal = {j: z for j in range(len(self.margins)) if (z := self._normal_scores(j)) is not None}
        is_excluded = self._conditioning.pair_mask(len(self.margins))
        pairs = [e for e in itertools.combinations(normal, 2) if not is_excluded[e]]
        if not share or not pairs or self._public is not None:
            self.unspent += share
            return
        scores = {j: integer_scores(normal[j]) for j in sorted({j for e in pairs for j in e})}
        answer = self._rows.ask(ScoreProducts([self._axes_of(e) for e in pairs], scores), share)
        self._products = answer, pairs, scores
        self._find_correlations()

    def _find_correlations(self) -> None:
        """Find the significant correlations, given the current margins."""
        if self._products is not None:
            answer, pairs, scores = self._products
            counts = {j: self.coarse[j] * self.total for j in scores}
            self._correlations = significant_correlations(answer.values, answer.sigma, pairs, scores, counts)

    def tilt_unmeasured(self) -> None:
        """Tilt the model's tables of unmeasured pairs to the correlations that the model lacks."""
        pairs = [e for e in self._correlations if e not in self._noisy_pairs]
        if not pairs:
            return
        earlier, self._tilted_tables = self._tilted_tables, {}  # estimates are the model's own tables
        tilted_anew = {}
        for e, table in zip(pairs, self._estimates(np.array(pairs))[0], strict=True):
            rows, columns = (self.coarse[j] * self.total for j in e)
            u, v = (self._normal_scores(j) for j in e)
            if u is None or v is None:
                continue
            correlation, modelled = self._correlations[e], float(u @ table @ v) / self.total
            if abs(modelled - correlation.value) > self._tolerance(correlation):
                tilted = tilt(table, rows, columns, (u, v), correlation.value) * self._possible.get(e, 1.0)
                error = tilted * np.abs(np.outer(u, v)) * correlation.error
                tilted_anew[e], self._tilted_deviations[e] = tilted, (error + 1) / self.total
        self._tilted_tables = earlier | tilted_anew
        self.is_tilted_anew = bool(tilted_anew)

    def _tolerance(self, correlation: Correlation) -> float:
        """Return the difference from which the model lacks a correlation."""
        return max(2 * correlation.error, TOLERANCE)

    @property
    def may_tilt(self) -> bool:
        """Whether there are correlations, which the fitted model may lack."""
        return bool(self._correlations)

    def _clean_margins(self) -> None:
        """Clean the noisy one-way counts."""
        self._counts, self._sigmas, self.total = self._one_way
        if self._public is not None:
            self._counts, self._sigmas, self._fits = self._public.margins(*self._one_way)
        self.margins = [self._clean(j, counts) for j, counts in enumerate(self._counts)]

    def _coarse(self) -> list[np.ndarray]:
        """Return the masses of the buckets."""
        return [
            np.bincount(b, p, size)
            for b, p, size in zip(self.buckets, self.margins, self._sizes, strict=True)
        ]

    def _make_buckets(self, domain: Domain, schedule: Schedule) -> list[np.ndarray]:
        """Return the bucket of every code of every column, from the noisy masses."""
        buckets = self._make_buckets_with_floor(domain, schedule, BUCKET_FLOOR)
        if self._public is not None:
            buckets = self._refine_with_public(buckets, domain, schedule)
        for e, cells in domain.possible.items():
            for j, possible in zip(e, (cells, cells.T), strict=True):
                buckets[j] = split_buckets(buckets[j], possible)
        return buckets

    def _make_buckets_with_floor(
        self, domain: Domain, schedule: Schedule, num_deviations: float
    ) -> list[np.ndarray]:
        """Return buckets of at least ``num_deviations`` standard deviations of a pair table's noise."""
        floor = num_deviations * schedule.pair_sigma / self.total
        return [
            np.unique(a.buckets, return_inverse=True)[1]
            if a.buckets
            else make_buckets(p, a.is_ordered, schedule.most_buckets_of(a), floor, groups_of_codes(a))
            for a, p in zip(domain, self.margins, strict=True)
        ]

    def _refine_with_public(
        self, default: list[np.ndarray], domain: Domain, schedule: Schedule
    ) -> list[np.ndarray]:
        """Use finer buckets where the public table fits and shows dependence."""
        assert self._public is not None
        most = max(schedule.most_buckets, PUBLIC_BUCKETS)
        fine = self._make_buckets_with_floor(domain, replace(schedule, most_buckets=most), PUBLIC_FLOOR)
        masses = [np.bincount(b, p) for b, p in zip(fine, self.margins, strict=True)]
        refined = {j for e in self._public.pairs(fine, masses, self._is_ordered) for j in e if self._fits[j]}
        return [fine[j] if j in refined else default[j] for j in range(len(domain))]

    def estimates(self) -> Estimates:
        """Return the marginals to which the network is fitted, with structural zeros of unmeasured pairs."""
        shifts = self._public_shifts(self._public_tables())
        for e in {**self._possible, **shifts}:
            if e not in self._noisy_pairs:
                rows, columns = (self.coarse[j] for j in e)
                prior = np.outer(rows, columns) + shifts.get(e, 0.0) / self.total
                joint = rake(prior * self._possible.get(e, 1.0), rows, columns)
                self._pairs[e], self._pairs[e[1], e[0]] = joint, joint.T
        tilted: dict[tuple[int, ...], np.ndarray | float] = {
            e: deviations for e, deviations in self._tilted_deviations.items() if e not in self._noisy_pairs
        }
        self.is_tilted_anew = False
        for e, table in (
            {e: t for e, t in self._tilted_tables.items() if e in tilted} | self._modelled_pairs
        ).items():
            joint = rake(table, self.coarse[e[0]], self.coarse[e[1]])
            self._pairs[e], self._pairs[e[1], e[0]] = joint, joint.T
        noisiest = max((sigma for _, _, sigma in self._noisy_pairs.values()), default=0.0)
        estimates = Estimates(
            margins=self.margins,
            coarse=self.coarse,
            buckets=self.buckets,
            pairs=self._pairs,
            scatter=tilted
            | {
                e: (sigma + 1) / self.total * self._possible.get(e, 1.0)
                for e, (_, _, sigma) in self._noisy_pairs.items()
            }
            | {
                e: np.full(table.shape, (noisiest + 1) / self.total)
                for e, table in self._modelled_pairs.items()
            },
            posterior=tilted
            | {
                e: (deviations + 1) / self.total * self._possible.get(e, 1.0)
                for e, deviations in self._deviations.items()
            },
            levels=self._levels,
        )
        return with_higher_marginals(estimates, self._sets) if self._sets else estimates

    def measure_sets(self, current: SetRound) -> bool:
        """Score sets of three or four columns, choose and measure; False if none was worth its noise."""
        self._levels = make_levels(self.coarse, self._is_ordered)
        self._sets = self._make_set_tables()
        usable = [
            j for j, level in enumerate(self._levels) if level.any() and j not in self._conditioning.columns
        ]
        sets = candidate_sets(usable, current.most, self.estimates().dependence)
        is_measured = self._sets.measure(sets, current)
        self.unspent += 0.0 if is_measured else current.table_share + (0.0 if sets else current.score_share)
        return is_measured

    def _make_set_tables(self) -> HigherMarginals:
        """Return tables of sets on the current levels of the simulated rows."""
        assert self.simulated is not None, "sets are scored against rows of the model"
        axes = [
            Axis(j, level[b]) for j, (level, b) in enumerate(zip(self._levels, self.buckets, strict=True))
        ]
        rows = np.empty(self.simulated.shape, dtype=np.int32, order="F")
        for j, level in enumerate(self._levels):
            rows[:, j] = level[self.simulated[:, j]]
        return HigherMarginals(self._rows, axes, rows, self.total)

    def measure_pairs(self, current: Round) -> bool:
        """Score pairs, choose, measure and denoise; False if no pair was worth its noise.

        The unspent share of earlier rounds is spent here.
        """
        current, self.unspent = replace(current, pair_share=current.pair_share + self.unspent), 0.0
        pairs = self._unmeasured()
        if not len(pairs):
            self.unspent = current.pair_share + current.score_share
            return False
        if self.simulated is not None:
            self.tilt_unmeasured()
        estimates, chance = self._estimates(pairs)
        sets = [self._axes_of(e) for e in pairs.tolist()]
        # Estimates depend on earlier answers only. They are rounded, so that the scores are integers.
        noisy_scores = self._rows.ask(
            L1Distances(sets, [np.rint(t) for t in estimates]), current.score_share
        ).values
        chosen, shares = self._worth_measuring(pairs, noisy_scores - chance, current)
        if self._public is not None and self.simulated is None:
            chosen, shares = self._add_public_checks(pairs, chosen, shares, current)
        unchosen = np.setdiff1d(np.arange(len(pairs)), chosen)
        self._keep_modelled(pairs[unchosen], [estimates[i] for i in unchosen])
        tables = self._rows.ask_tables([sets[i] for i in chosen], shares)
        for i, table in zip(chosen, tables, strict=True):
            first, second = pairs[i].tolist()
            self._noisy_pairs[first, second] = table.values, estimates[i].copy(), table.sigma
            self._modelled_pairs.pop((first, second), None)
            if self.simulated is None:
                self._independent_before.add((first, second))
        if len(chosen):
            self._clean_pairs()
        else:
            self.unspent = current.pair_share
        return bool(len(chosen))

    def measure_again(self) -> bool:
        """Repeat measurements of pairs, else of columns, with the unspent share; False if none is left."""
        if self.unspent < LEAST_LEFT or not self._rows.allowance.is_private:
            return False
        share, self.unspent = self.unspent, 0.0
        self.num_remeasured += 1
        if self._noisy_pairs:
            weights = np.array([sigma**-2 for _, _, sigma in self._noisy_pairs.values()])
            shares = share * weights / weights.sum()
            tables = self._rows.ask_tables([self._axes_of(e) for e in self._noisy_pairs], shares.tolist())
            self._average_pairs(dict(zip(self._noisy_pairs, tables, strict=True)))
            return True
        cardinalities = [len(counts) for counts in self._counts]
        more = self._conditioning.measure(self._rows, cardinalities, share)
        self._one_way = self._conditioning.averaged(self._one_way, more)
        self._clean_margins()
        self.coarse = self._coarse()
        self._find_correlations()
        return True

    @property
    def stream_name(self) -> tuple[str | int, ...]:
        """Name of the random stream of a fit after repeated measurements."""
        return ("again", self.num_remeasured) if self._noisy_pairs else (0,)

    def _average_pairs(self, tables: Mapping[Pair, NoisyValues]) -> None:
        """Average repeated answers to pairs with the earlier ones, weighted by inverse variance."""
        for e, answer in tables.items():
            table, prior, sigma = self._noisy_pairs[e]
            mean, deviation = inverse_variance_mean((table, sigma), (answer.values, answer.sigma))
            self._noisy_pairs[e] = mean, prior, deviation
        self._clean_pairs()

    def _keep_modelled(self, pairs: np.ndarray, tables: Sequence[np.ndarray]) -> None:
        """Keep the model's tables of strong unmeasured pairs, which a later fit in another order may lose."""
        if self.simulated is None:
            return
        for e, table in zip(pairs.tolist(), tables, strict=True):
            independent = self.total * np.outer(*(self.coarse[j] for j in e))
            is_tilted = (e[0], e[1]) in self._tilted_tables
            if not is_tilted and float(np.abs(table - independent).sum()) > DEPENDENT * self.total:
                self._modelled_pairs[e[0], e[1]] = table.copy()

    def _unmeasured(self) -> np.ndarray:
        """Return the candidate pairs, (k, 2), kept few because the scores' noise grows with their number."""
        pairs = np.stack(np.triu_indices(len(self.margins), 1), axis=1)
        is_excluded = self._conditioning.pair_mask(len(self.margins))
        is_excluded[tuple(np.array(list(self._noisy_pairs), dtype=int).reshape(-1, 2).T)] = True
        return pairs[~is_excluded[tuple(pairs.T)] & (self._is_candidate(pairs) | self._in_workload(pairs))]

    def _in_workload(self, pairs: np.ndarray) -> np.ndarray:
        """Whether pairs belong to the workload, which is measured regardless of scores."""
        return np.asarray(self._workload[tuple(pairs.T)] & (np.array(self._sizes)[pairs].min(1) > 1))

    def _axes_of(self, e: Sequence[int]) -> list[Axis]:
        return [self._axes[j] for j in e]

    def _worth_measuring(
        self, pairs: np.ndarray, score: np.ndarray, current: Round
    ) -> tuple[np.ndarray, list[float]]:
        """Return the positions of the pairs that are worth their noise, and their shares of mu^2."""
        score = np.minimum(score, self._max_distance(pairs))
        if not current.forest:
            score = np.where(self._in_workload(pairs), 1e12, score)
        chosen, shares = worth_measuring(
            score=score,
            price=self._noise_cost(pairs),
            share=current.pair_share,
            sigma=self._rows.sigma,
            most=min(len(pairs), len(self.margins) - 1) if current.forest else len(pairs),
            keep=(lambda ranked: _spanning_forest(ranked, pairs, len(self.margins)))
            if current.forest
            else np.asarray,
        )
        return chosen, self._conditioning.reweighted(shares, pairs[chosen]).tolist()

    def _max_distance(self, pairs: np.ndarray) -> np.ndarray:
        """Return a bound on the L1 distance of two count tables of a pair with equal margins."""
        # 4 (1 - p) for a value of mass p
        likeliest = np.array([p.max() for p in self.coarse])[pairs].max(1)
        return np.asarray(self.total * np.minimum(2.0, 4 * (1 - likeliest)))

    def _noise_cost(self, pairs: np.ndarray) -> np.ndarray:
        """Return the L1 distance that makes a pair worth measuring, in standard deviations of a cell."""
        return np.asarray(self._worth * pair_noise(*np.array(self._sizes)[pairs].T))

    def _is_candidate(self, pairs: np.ndarray) -> np.ndarray:
        """Whether measuring a pair would pay off if it depended as much as its margins allow."""
        can_depend = np.array(self._sizes)[pairs].min(1) > 1
        return np.asarray(
            can_depend & (self._max_distance(pairs) > self._pair_sigma * self._noise_cost(pairs))
        )

    def _clean_pairs(self) -> None:
        if self._rows.allowance.is_private:
            self._fuse()
        shifts = self._public_shifts(self._public_tables())
        for e, (_, estimate, _) in self._noisy_pairs.items():
            rows, columns = (self.coarse[j] * self.total for j in e)
            possible = self._possible.get(e, np.ones(estimate.shape, dtype=bool))
            shift = shifts.get(e, 0.0) if e in self._independent_before else 0.0
            prior = rake((estimate + shift) * possible, rows, columns, BEFORE)
            denoised = self._denoised(e, prior, possible)
            cleaned = rake(denoised * possible, rows, columns) / self.total
            self._pairs[e], self._pairs[e[1], e[0]] = cleaned, cleaned.T

    def _denoised(self, e: Pair, prior: np.ndarray, possible: np.ndarray) -> np.ndarray:
        result = self._posterior(e, prior, possible)
        self._deviations[e] = result.deviations
        return result.counts

    def _posterior(self, e: Pair, prior: np.ndarray, possible: np.ndarray) -> DenoisedPair:
        table, _, sigma = self._noisy_pairs[e]
        rows, columns = (self.coarse[j] * self.total for j in e)
        u, v = (self._normal_scores(j) for j in e)
        if u is None or v is None:
            return denoise_pair(table, prior, rows, columns, sigma, possible)
        known = self._correlations.get(e)
        correlation = None if known is None else (known.value, known.error)
        return denoise_ordered_pair(table, prior, rows, columns, sigma, possible, (u, v), correlation)

    def _normal_scores(self, j: int) -> np.ndarray | None:
        """Return the normal scores of an ordered column's buckets, or None."""
        if not self._is_ordered[j]:
            return None
        is_placed = np.isin(np.arange(self._sizes[j]), self.buckets[j][: len(self._places[j])])
        return normal_scores(self.coarse[j], is_placed)

    def _public_tables(self) -> dict[Pair, np.ndarray]:
        """Return public count tables of dependent pairs, raked to the current margins."""
        joints = self._public.pairs(self.buckets, self.coarse, self._is_ordered) if self._public else {}
        return {e: table * self.total for e, table in joints.items()}

    def _add_public_checks(
        self, pairs: np.ndarray, chosen: np.ndarray, shares: list[float], current: Round
    ) -> tuple[np.ndarray, list[float]]:
        """Add some of the strongest public pairs: only measurements can confirm public dependence."""
        public = self._public_tables()
        strength = {
            i: float(np.linalg.norm(public[a, b] - self.total * np.outer(self.coarse[a], self.coarse[b])))
            for i, (a, b) in enumerate(pairs.tolist())
            if (a, b) in public
        }
        num_missing = CHECKED - len(set(strength) & set(chosen.tolist()))
        strongest = sorted(set(strength) - set(chosen.tolist()), key=lambda i: -strength[i])
        if num_missing <= 0 or not strongest:
            return chosen, shares
        extended = np.array([*chosen, *strongest[:num_missing]], dtype=int)
        return extended, [current.pair_share / len(extended)] * len(extended)

    def _public_shifts(self, public: Mapping[Pair, np.ndarray]) -> dict[Pair, np.ndarray]:
        """Return what public dependence adds to independence, weighted by its fit to measured pairs."""
        if not public:
            return {}
        from sdv_plausible.models.adaptive.public_prior import PriorWeight, dependence_share

        independent = {e: self.total * np.outer(*(self.coarse[j] for j in e)) for e in public}
        weight = PriorWeight.of(
            {
                e: dependence_share(table, independent[e], public[e], sigma)
                for e, (table, _, sigma) in self._noisy_pairs.items()
                if e in public
            }
        )
        return {
            e: weight.measured.get(e, weight.others) * (table - independent[e]) for e, table in public.items()
        }

    def _possible_buckets(self, e: Pair, cells: np.ndarray) -> np.ndarray:
        """Whether a pair of buckets contains a possible pair of codes."""
        possible = np.zeros([self._sizes[j] for j in e], dtype=bool)
        np.logical_or.at(possible, (self.buckets[e[0]][:, None], self.buckets[e[1]][None]), cells)
        return possible

    def _fuse(self) -> None:
        """Average each column's bucket counts over all tables that contain it, by inverse variance."""
        tables: list[list[tuple[np.ndarray, float]]] = [
            [] for _ in self.buckets
        ]  # marginal counts and variances
        for (a, b), (table, _, sigma) in self._noisy_pairs.items():
            tables[a].append((table.sum(axis=1), sigma**2 * self._sizes[b]))
            tables[b].append((table.sum(axis=0), sigma**2 * self._sizes[a]))
        for j, bucket in enumerate(self.buckets):
            codes_per_bucket = np.bincount(bucket, minlength=self._sizes[j])
            own = np.bincount(bucket, self._counts[j], self._sizes[j])
            weight = 1 / (self._sigmas[j] ** 2 * codes_per_bucket)
            total, weights = weight * own, weight.copy()
            for counts, variance in tables[j]:
                total, weights = total + counts / variance, weights + 1 / variance
            self.margins[j] = self._clean(
                j, self._counts[j] + ((total / weights - own) / codes_per_bucket)[bucket]
            )
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
        """Return the current model's count table of each pair, and the expected distance due to sampling."""
        estimates: list[np.ndarray] = [np.empty(0)] * len(pairs)
        chance = np.empty(len(pairs))
        for positions, tables in self._model_tables(pairs):
            # Expected distance due to sampling: mean absolute deviation of Poisson counts.
            chance[positions] = np.where(tables < 0.5, tables, 0.8 * np.sqrt(tables)).sum((1, 2))
            for i, table in zip(positions.tolist(), tables, strict=True):
                estimates[i] = table
        return estimates, chance

    def _model_tables(self, pairs: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield positions of pairs of one shape and their tables, independent or simulated."""
        if self.simulated is None:
            for positions in group_by_shape(np.array(self._sizes)[pairs]):
                rows, columns = self._coarse_counts(pairs[positions])
                yield positions, rows[:, :, None] * columns[:, None, :] / self.total
            return
        scale = self.total / max(len(self.simulated), 1)
        for positions, counts in pair_counts(list(self.simulated.T), self._sizes, pairs):
            rows, columns = self._coarse_counts(pairs[positions])
            tables = rake(counts * scale, rows, columns, SCORED)
            for i, e in enumerate(pairs[positions].tolist()):
                tables[i] = self._tilted_tables.get((e[0], e[1]), tables[i])
            yield positions, tables

    def _coarse_counts(self, pairs: np.ndarray) -> list[np.ndarray]:
        """Return the bucket counts of the first and of the second columns of these pairs."""
        return [np.stack([self.coarse[j] for j in columns.tolist()]) * self.total for columns in pairs.T]


def _spanning_forest(ranked: np.ndarray, pairs: np.ndarray, num_columns: int) -> np.ndarray:
    """Return the ranked pairs, best first, that close no cycle: a minimum spanning forest of ranks."""
    a, b = pairs[ranked].T.astype(np.int32)  # SciPy 1.15 supports only int32 here
    ranks = np.arange(1, len(ranked) + 1)  # 0 means no edge
    forest = minimum_spanning_tree(csr_array((ranks, (a, b)), shape=(num_columns, num_columns)))
    return np.asarray(ranked[np.sort(forest.data).astype(int) - 1])

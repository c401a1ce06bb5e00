"""Refit the network from recorded or resampled answers, with the same measurements (post-processing)."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import cast

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sdv_plausible.models.adaptive.denoising import nearest_with_margins, rake
from sdv_plausible.models.adaptive.linear_dependence import Correlation
from sdv_plausible.models.adaptive.maximum_entropy import EXACT_PRECISION, Estimates, fit_network
from sdv_plausible.models.adaptive.measurements import Measurements, Pair
from sdv_plausible.models.adaptive.schedule import Schedule
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.parameter_checks import Refused, listed
from sdv_plausible.queries.budget_tracker import QueryBudget
from sdv_plausible.queries.count_queries import Axes, Axis, QueryRecord, ScoreProducts
from sdv_plausible.queries.queryable import NoisyValues, Queryable
from sdv_plausible.queries.transcript import DEVIATION, NoisyAnswer
from sdv_plausible.table.columns.domain import Attribute, Domain

FAR = 5.0  # standard deviations beyond which totals contradict each other
SWEEPS = 5  # sweeps of adjusting a table to its marginals


@dataclass(frozen=True, kw_only=True)
class CountsWithVariance:
    """Table of counts with the variance of each cell, columns in order."""

    axes: tuple[Axis, ...]
    counts: np.ndarray
    variances: np.ndarray  # variance of every cell
    is_published: bool = False

    @classmethod
    def of(cls, answer: NoisyAnswer) -> CountsWithVariance:
        """Convert an answer, with any noise distribution."""
        axes = answer.asked.tables[0]
        order = sorted(range(len(axes)), key=lambda i: axes[i].column)
        variances = np.broadcast_to((DEVIATION[answer.noise] * answer.scales) ** 2, answer.values.shape)
        return cls(
            axes=tuple(axes[i] for i in order),
            counts=answer.values.transpose(order).astype(float),
            variances=variances.transpose(order),
            is_published=answer.is_published,
        )

    @property
    def columns(self) -> tuple[int, ...]:
        """Column numbers."""
        return tuple(axis.column for axis in self.axes)

    def marginal(self, columns: Collection[int]) -> CountsWithVariance:
        """Return the marginal over these columns."""
        summed_axes = tuple(i for i, j in enumerate(self.columns) if j not in columns)
        return replace(
            self, axes=tuple(a for a in self.axes if a.column in columns),
            counts=self.counts.sum(summed_axes), variances=self.variances.sum(summed_axes),
        )  # fmt: skip

    def coarsened(self, buckets: Sequence[np.ndarray]) -> CountsWithVariance:
        """Return the table on coarser buckets, given the bucket of every code of each column."""
        counts, variances, axes = self.counts, self.variances, list(self.axes)
        for i, axis in enumerate(self.axes):
            new_bucket = np.zeros(axis.size, dtype=np.int64)
            new_bucket[axis.buckets] = buckets[axis.column]
            if not np.array_equal(new_bucket, np.arange(len(new_bucket))):
                counts, variances = (_sum_groups(table, new_bucket, i) for table in (counts, variances))
                axes[i] = Axis(axis.column, buckets[axis.column])
        return replace(self, axes=tuple(axes), counts=counts, variances=variances)

    def as_answer(self) -> NoisyAnswer:
        """Return the table as an answer with Gaussian noise of one sigma, as the learner expects."""
        # The geometric mean limits the effect of a single suppressed count with a huge variance.
        scale = math.sqrt(np.exp(np.log(self.variances).mean()))
        return NoisyAnswer(
            asked=QueryRecord(kind="counts", tables=(self.axes,)), values=self.counts,
            noise="discrete gaussian", scale=scale, paid_by=(),
        )  # fmt: skip

    def adjusted_to(self, others: Sequence[CountsWithVariance]) -> CountsWithVariance:
        """Return the nearest counts with these marginals, weighted by the variances."""
        counts = self.counts
        for other in (other for _ in range(SWEEPS) for other in others):
            summed_axes = tuple(i for i, j in enumerate(self.columns) if j not in other.columns)
            difference = np.expand_dims(other.counts, summed_axes) - counts.sum(summed_axes, keepdims=True)
            counts = counts + difference * self.variances / self.variances.sum(summed_axes, keepdims=True)
        return replace(self, counts=counts)


def reconcile(answers: Sequence[NoisyAnswer], domain: Domain, *, warn: bool = False) -> list[NoisyAnswer]:
    """Return counts of each column in order, then pairs and larger sets, each once, with scores in place.

    ``warn``: whether to warn about contradicting totals.

    Raises
    ------
    ValueError
        If a column is in no answer.
    """
    counted = [a for a in answers if a.asked.kind == "counts"]
    keys = [tuple(sorted(axis.column for axis in a.asked.tables[0])) for a in counted]
    unique_keys = [key for key in keys if len(key) != 2]  # a fit may measure its pairs twice
    if len({*unique_keys}) == len(unique_keys) and not any(a.is_published for a in counted):
        return list(answers)
    tables = _scale_conflicting_totals([CountsWithVariance.of(a) for a in counted], domain, warn=warn)
    pairs = [t for t in tables if len(t.axes) == 2]
    sets = [t for t in tables if len(t.axes) > 2]
    pairs_of_sets = [
        t.marginal(e) for t in sets if t.is_published for e in itertools.combinations(t.columns, 2)
    ]
    buckets = _common_buckets([*pairs, *pairs_of_sets], [np.arange(c) for c in domain.cardinalities])
    singles = [_column_counts(j, tables, domain) for j in range(len(domain))]
    averaged = {
        columns: table.adjusted_to([singles[j].coarsened(groups) for j in columns])
        for tables_of, groups in (([*pairs, *pairs_of_sets], buckets), (sets, _common_buckets(sets, buckets)))
        for columns, table in _average(tables_of, groups).items()
    }
    result = [
        averaged.pop(e).as_answer()
        for e in sorted({t.columns for t in pairs_of_sets} - {t.columns for t in pairs})
    ]
    for answer in answers:
        if answer.asked.kind in ("distances", "products"):
            result.append(answer)
        elif answer.asked.kind == "counts" and (key := CountsWithVariance.of(answer).columns) in averaged:
            result.append(averaged.pop(key).as_answer())
    return [*(table.as_answer() for table in singles), *result]


def _average(
    tables: Sequence[CountsWithVariance], buckets: Sequence[np.ndarray]
) -> dict[tuple[int, ...], CountsWithVariance]:
    """Average tables over the same columns by inverse variance, on common buckets."""
    averaged: dict[tuple[int, ...], CountsWithVariance] = {}
    for table in (t.coarsened(buckets) for t in tables):
        existing = averaged.get(table.columns)
        averaged[table.columns] = table if existing is None else _mean(existing, table)
    return averaged


def _mean(first: CountsWithVariance, second: CountsWithVariance) -> CountsWithVariance:
    """Return the mean of two tables of one shape by inverse variance, cell by cell."""
    weight_1, weight_2 = 1 / first.variances, 1 / second.variances
    mean = (weight_1 * first.counts + weight_2 * second.counts) / (weight_1 + weight_2)
    return replace(first, counts=mean, variances=1 / (weight_1 + weight_2))


def _column_counts(j: int, tables: Sequence[CountsWithVariance], domain: Domain) -> CountsWithVariance:
    """Return the counts of a column's codes, from all tables with single codes; else from its buckets."""
    marginals = [t.marginal((j,)) for t in tables if j in t.columns]
    if by_code := [t for t in marginals if t.axes[0].is_identity]:
        return reduce(_mean, by_code)
    if not marginals:
        raise Refused.saying(
            "answers",
            f"answers contain no counts of column {domain.names[j]!r}: add counts over it, alone or with "
            "others, or remove it from domain",
        )
    best = min(marginals, key=lambda t: float(t.variances.sum()))
    buckets = best.axes[0].buckets
    size = np.bincount(buckets)[buckets]  # the codes of a bucket share its counts evenly
    return replace(
        best, axes=(Axis.of_codes(j, len(buckets)),), counts=best.counts[buckets] / size,
        variances=best.variances[buckets] / size,
    )  # fmt: skip


def _scale_conflicting_totals(
    tables: Sequence[CountsWithVariance], domain: Domain, *, warn: bool
) -> list[CountsWithVariance]:
    """Scale tables whose totals contradict the others to the mean total by inverse variance."""
    totals = np.array([t.counts.sum() for t in tables])
    weights = 1 / np.array([t.variances.sum() for t in tables])
    mean, odd = float(weights @ totals / weights.sum()), []
    scaled = list(tables)
    for i, (table, count) in enumerate(zip(tables, totals, strict=True)):
        if mean > 0 < count and abs(count - mean) > FAR / math.sqrt(weights[i]):
            factor = mean / count
            scaled[i] = replace(table, counts=factor * table.counts, variances=factor**2 * table.variances)
            odd.append(f"{count:,.0f} over {listed([domain.names[j] for j in table.columns])}")
    if warn and odd:
        warnings.warn(
            f"answers: totals differ by more than their noise ({'; '.join(odd[:4])}; their weighted mean is "
            f"{mean:,.0f}): the model scales these tables to it, and intervals stay those of each table. If "
            "they are about different people, remove some",
            stacklevel=5,
        )
    return scaled


def _common_buckets(tables: Sequence[CountsWithVariance], least: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the finest buckets of each column to which all tables, and ``least``, can be summed."""
    buckets = list(least)
    for axis in (axis for table in tables for axis in table.axes):
        buckets[axis.column] = _finest_coarsening(buckets[axis.column], np.asarray(axis.buckets))
    return buckets


def _finest_coarsening(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the finest common coarsening of two bucketings."""
    codes, num_first = len(first), int(first.max()) + 1
    codes_range = np.arange(codes)
    ends = np.concatenate([codes + first, codes + num_first + second])
    size = codes + num_first + int(second.max()) + 1
    edges = coo_array((np.ones(2 * codes), (np.tile(codes_range, 2), ends)), shape=(size, size))
    labels = connected_components(edges, directed=False)[1][:codes]
    for same in (second, first):  # keep the numbering if the result equals one of them
        if (
            len({*zip(same.tolist(), labels.tolist(), strict=True)})
            == len({*same.tolist()})
            == labels.max() + 1
        ):
            return same
    return labels


def _sum_groups(table: np.ndarray, group: np.ndarray, axis: int) -> np.ndarray:
    """Sum a table within groups along an axis."""
    moved = np.moveaxis(table, axis, 0)
    sums = np.zeros((int(group.max()) + 1, *moved.shape[1:]))
    np.add.at(sums, group, moved)
    return np.moveaxis(sums, 0, axis)


FEWEST_SIMULATED = 20_000  # smallest number of simulated rows of a replicate; usually twice the table's rows
COMMON = 0.02  # mass from which an unordered bucket gets its own score
DEPENDENT = 1e-9  # norm from which a score is linearly independent
BORNE = 0.5  # largest share of a number's variance that noise may have if its moments are restored
STEPS = 8  # steps towards the moments of the noisy table
_SOME_BUDGET = QueryBudget(mu=1.0)  # not used: the measurements are already chosen


def refit_network(
    answers: Sequence[NoisyAnswer], domain: Domain, max_cost: int, num_simulated: int, rng: KeyedRNG
) -> BayesianNetwork:
    """Refit the network round by round, as the learner did, from recorded answers."""
    one_way, rounds, sets, products = _split_by_kind(reconcile(answers, domain, warn=True), domain)
    tables = [*products, *sets, *(answer for current in rounds for answer in current.tables)]
    measurements = ReplayedMeasurements(one_way, tables, domain)
    measurements.replay_correlations(products)
    late = [current for current in rounds if current.is_after_sets]
    rounds = [current for current in rounds if not current.is_after_sets] or [_Round()]
    network: BayesianNetwork | None = None
    for i, current in enumerate(rounds):
        if current.is_repeat:
            measurements.replay_again(current.tables)
        else:
            measurements.replay_pairs(current.tables, current.scored)
        if not current.tables and network is not None:
            continue
        is_last = (
            not any(later.tables for later in rounds[i + 1 :]) and not sets and not measurements.may_tilt
        )
        name = measurements.stream_name if current.is_repeat else (i,)
        network, measurements.simulated = fit_network(
            measurements.estimates(), max_cost, num_simulated, rng.spawn(*name), is_last=is_last
        )
    measurements.tilt_unmeasured()
    if measurements.is_tilted_anew:
        network, measurements.simulated = fit_network(
            measurements.estimates(), max_cost, num_simulated, rng.spawn("tilted"), is_last=not sets
        )
    if sets:
        measurements.replay_sets(sets)
    for current in late:
        measurements.replay_again(current.tables)
    if sets or late:
        name = ("sets",) if sets else measurements.stream_name
        network, _ = fit_network(
            measurements.estimates(), max_cost, num_simulated, rng.spawn(*name), is_last=True
        )
    assert network is not None
    return network


def replicate_network(
    answers: Sequence[NoisyAnswer],
    domain: Domain,
    rows: np.ndarray,
    max_cost: int,
    num_simulated: int,
    rng: KeyedRNG,
) -> BayesianNetwork:
    """Fit a network to resampled answers in one step; ``rows`` (N, m) are codes of the released model's rows.

    Tables are denoised against these rows and keep the linear dependence of the answers.
    """
    one_way, rounds, sets, products = _split_by_kind(reconcile(answers, domain), domain)
    tables = [*products, *sets, *(answer for current in rounds for answer in current.tables)]
    measurements = UnshrunkMeasurements(one_way, tables, domain)
    measurements.replay_correlations(products)
    measurements.use_simulated_rows(rows)
    scored = {pair: None for current in rounds[1:] for pair in current.scored}
    first = [answer for current in rounds for answer in current.tables if not current.is_repeat]
    measurements.replay_pairs(first, list(scored))
    measurements.tilt_unmeasured()
    for current in (current for current in rounds if current.is_repeat):
        measurements.replay_again(current.tables)
    if sets:
        measurements.replay_sets(sets)
    num_rows = int(np.clip(2 * measurements.total, FEWEST_SIMULATED, num_simulated))
    return fit_network(measurements.estimates(), max_cost, num_rows, rng, is_last=True)[0]


def _split_by_kind(
    answers: Sequence[NoisyAnswer], domain: Domain
) -> tuple[list[NoisyAnswer], list[_Round], list[NoisyAnswer], list[NoisyAnswer]]:
    """Return one-way counts, rounds of pairs, tables of more columns, and products of scores."""
    counts = [a for a in answers if a.asked.kind == "counts"]
    one_way = [a for a in counts if _num_columns(a) == 1]
    if [_axes(a)[0].column for a in one_way] != list(range(len(domain))):
        raise ValueError("answers must hold one-way counts of each column, once and in order")
    products = [a for a in answers if a.asked.kind == "products"]
    return one_way, _rounds(answers), [a for a in counts if _num_columns(a) > 2], products


def _axes(answer: NoisyAnswer) -> Axes:
    return answer.asked.tables[0]


def _num_columns(answer: NoisyAnswer) -> int:
    return len(_axes(answer))


@dataclass
class _Round:
    """Scored pairs, and the tables of the measured pairs."""

    scored: list[Pair] = field(default_factory=list)
    tables: list[NoisyAnswer] = field(default_factory=list)
    is_repeat: bool = False  # whether the pairs were measured before
    is_after_sets: bool = False  # whether sets of columns were scored before


def _rounds(answers: Sequence[NoisyAnswer]) -> list[_Round]:
    """Return the rounds of pairs in order; scores come before the tables chosen by them."""
    rounds, seen, is_after_sets = [_Round()], set[Pair](), False
    for answer in answers:
        is_after_sets |= answer.asked.kind == "distances" and _num_columns(answer) > 2
        if answer.asked.kind == "distances" and _num_columns(answer) == 2:
            rounds.append(_Round(scored=[_columns(axes) for axes in answer.asked.tables]))
        elif answer.asked.kind == "counts" and _num_columns(answer) == 2:
            repeated = [_pair(a) for a in rounds[-1].tables] if rounds[-1].is_repeat else None
            if _pair(answer) in seen and (repeated is None or _pair(answer) in repeated):
                rounds.append(_Round(is_repeat=True, is_after_sets=is_after_sets))
            seen.add(_pair(answer))
            rounds[-1].tables.append(answer)
    return [current for current in rounds if current.scored or current.tables]


class _RecordedMargins:
    """Recorded one-way counts, in place of the :class:`Queryable` that :class:`Measurements` expects."""

    allowance = _SOME_BUDGET

    def __init__(self, answers: Sequence[NoisyAnswer]) -> None:
        self._answers = answers

    def ask_tables(self, sets: Sequence[Axes], shares: Sequence[float]) -> list[NoisyValues]:  # noqa: ARG002
        return [_answer(a) for a in self._answers]


def _answer(answer: NoisyAnswer) -> NoisyValues:
    return NoisyValues(values=answer.values.astype(float), sigma=answer.scale)


class ReplayedMeasurements(Measurements):
    """Measurements chosen earlier, with new answers.

    ``tables`` are the answers that name axes. The last axis of a column, a pair's, is its finest.
    """

    def __init__(self, one_way: Sequence[NoisyAnswer], tables: Sequence[NoisyAnswer], domain: Domain) -> None:
        axes = (axis for answer in tables for table in answer.asked.tables for axis in table)
        self._recorded_buckets = {axis.column: np.asarray(axis.buckets) for axis in axes}
        self._attributes = list(domain)
        rows = cast("Queryable", _RecordedMargins(one_way))
        super().__init__(rows, domain, Schedule.make(1.0, _SOME_BUDGET, len(domain)))

    def _make_buckets(self, domain: Domain, schedule: Schedule) -> list[np.ndarray]:
        """Return the recorded buckets; columns without pair tables keep the default ones."""
        default = super()._make_buckets(domain, schedule)
        return [self._recorded_buckets.get(j, buckets) for j, buckets in enumerate(default)]

    def replay_correlations(self, answers: Sequence[NoisyAnswer]) -> None:
        """Use the products of scores, if they were measured on the same buckets."""
        for answer in answers:
            query = ScoreProducts.of(answer.asked)
            axes = {axis.column: axis for pair in query.sets for axis in pair}
            if all(np.array_equal(axis.buckets, self.buckets[j]) for j, axis in axes.items()):
                pairs = [_columns(axes) for axes in query.sets]
                self._products = _answer(answer), pairs, query.scores
                self._find_correlations()

    def replay_pairs(self, answers: Sequence[NoisyAnswer], scored: Sequence[Pair] = ()) -> None:
        """Use the pair tables of a round; keep the model's tables of pairs that were only scored."""
        if scored and self.simulated is not None:
            self.tilt_unmeasured()
        pairs = [_pair(a) for a in answers]
        if unchosen := [e for e in scored if e not in pairs]:
            self._keep_modelled(np.array(unchosen), self._estimates(np.array(unchosen))[0])
        if not answers:
            return
        for e in pairs:
            self._modelled_pairs.pop(e, None)
        estimates, _ = self._estimates(np.array(pairs))
        self._noisy_pairs |= {
            e: (a.values.astype(float), table, a.scale)
            for e, a, table in zip(pairs, answers, estimates, strict=True)
        }
        self._clean_pairs()

    def replay_again(self, answers: Sequence[NoisyAnswer]) -> None:
        """Use second answers to pairs."""
        self.num_remeasured += 1
        self._average_pairs({_pair(a): _answer(a) for a in answers})

    def replay_sets(self, answers: Sequence[NoisyAnswer]) -> None:
        """Use the tables of more columns, on their recorded levels."""
        self._levels = [np.zeros(size, dtype=np.int64) for size in self._sizes]
        for axis in (axis for a in answers for axis in _axes(a)):
            self._levels[axis.column][self.buckets[axis.column]] = axis.buckets
        self._sets = self._make_set_tables()
        self._sets.set_measured({tuple(axis.column for axis in _axes(a)): _answer(a) for a in answers})


class UnshrunkMeasurements(ReplayedMeasurements):
    """Replayed measurements for inference: denoising keeps mean, variance and linear dependence.

    Denoising shrinks dependence towards the prior. Replicates would be shrunk equally, so intervals computed
    from them would miss this bias.
    """

    def _clean(self, j: int, counts: np.ndarray) -> np.ndarray:
        """Clean a margin; keep the mean and deviation of its noisy counts."""
        cleaned = super()._clean(j, counts)
        k, sigma = len(self._places[j]), self._sigmas[j] / self.total
        if k:
            cleaned[:k] = with_deviation(cleaned[:k], counts[:k] / self.total, self._places[j], sigma)
        return cleaned

    def estimates(self) -> Estimates:
        """Return estimates that the network must meet exactly."""
        return replace(super().estimates(), precision=EXACT_PRECISION)

    def use_simulated_rows(self, rows: np.ndarray) -> None:
        """Use codes (N, m) of the released model's rows as the prior of pairs."""
        self.simulated = np.column_stack([b[rows[:, j]] for j, b in enumerate(self.buckets)])

    def _tolerance(self, correlation: Correlation) -> float:  # noqa: ARG002
        """Tilt to every correlation: those of the model's rows do not vary with the answers."""
        return 0.0

    def _denoised(self, e: Pair, prior: np.ndarray, possible: np.ndarray) -> np.ndarray:
        rows, columns = (self.coarse[j] * self.total for j in e)
        noisy = nearest_with_margins(self._noisy_pairs[e][0], rows, columns, possible)
        scores = [column_scores(self._attributes[j], self.buckets[j], self.margins[j]) for j in e]
        denoised = super()._denoised(e, prior, possible)
        return with_moments(denoised, noisy, rows, columns, possible, scores)


def column_scores(attribute: Attribute, buckets: np.ndarray, margin: np.ndarray) -> np.ndarray:
    """Return orthonormal scores (k, buckets) of a column under its margin, all of mean 0.

    One score is the mean place of a bucket, for ordered codes; each other common bucket has its own score.
    """
    mass, ordered = np.bincount(buckets, margin), len(attribute.places)
    scores = [np.ones(len(mass))]
    if ordered:
        places = attribute.places / max(float(np.abs(attribute.places).max()), 1e-300)
        place_mass = np.bincount(buckets[:ordered], margin[:ordered], len(mass))
        scores.append(
            np.bincount(buckets[:ordered], margin[:ordered] * places, len(mass))
            / np.maximum(place_mass, 1e-300)
        )
    scores += [np.arange(len(mass)) == b for b in np.unique(buckets[ordered:]) if mass[b] >= COMMON]
    root = np.sqrt(np.maximum(mass, 1e-12))
    q, r = np.linalg.qr((np.array(scores) * root).T)
    return np.asarray((q / root[:, None]).T[1:][np.abs(np.diag(r))[1:] > DEPENDENT])


def with_deviation(cleaned: np.ndarray, noisy: np.ndarray, places: np.ndarray, sigma: float) -> np.ndarray:
    """Restore mean and deviation of the noisy margin in a cleaned one, unless noise dominates them."""
    mass = float(cleaned.sum())
    places = places / max(float(np.abs(places).max()), 1e-300)
    centred = places - cleaned @ places / max(mass, 1e-300)
    variance = float(cleaned @ centred**2) / max(mass, 1e-300)
    squares = centred**2 - variance
    if not sigma * np.linalg.norm(squares) < BORNE * variance * mass or len(np.flatnonzero(cleaned)) < 3:
        return cleaned  # for example, if nearly all mass is in one place
    scores = np.stack([centred / np.sqrt(variance), squares / variance])
    target, metric = scores @ noisy, cleaned * scores
    for _ in range(STEPS):
        step = np.linalg.lstsq(metric @ scores.T, target - scores @ cleaned, rcond=None)[0]
        moved = np.maximum(cleaned + step @ metric, 0)
        cleaned = moved * (mass / max(float(moved.sum()), 1e-300))
    return cleaned


def with_moments(
    denoised: np.ndarray,
    noisy: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    possible: np.ndarray,
    scores: Sequence[np.ndarray],
) -> np.ndarray:
    """Restore the noisy table's mean products of scores in a denoised one, as far as cells stay >= 0."""
    # With scores u, v that are orthonormal under the margins, adding t u v times independence moves the mean
    # of u v by t and no margin. This first-order step is repeated.
    u, v = scores
    total = max(float(rows.sum()), 1e-300)
    independent = np.outer(rows, columns) / total
    for _ in range(STEPS):
        denoised = rake(denoised * possible, rows, columns)
        difference = u @ (noisy - denoised) @ v.T / total
        denoised = np.maximum(denoised + independent * (u.T @ difference @ v), 0)
    return denoised


def _pair(answer: NoisyAnswer) -> Pair:
    return _columns(_axes(answer))


def _columns(axes: Axes) -> Pair:
    first, second = axes
    return first.column, second.column

"""Bayesian network from consistent marginals: maximum-entropy conditionals (post-processing)."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

import numpy as np
import scipy.sparse as sp

from sdv_plausible.models.bayesian_network import BayesianNetwork, Conditional
from sdv_plausible.models.conditional_table import ParentConfigurations
from sdv_plausible.models.log_linear import Factor, LogLinearConditional, bounded
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

Columns = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class FitPrecision:
    """Precision to which a network matches its target marginals."""

    rounds: int = 3  # rounds of iterative proportional scaling
    tolerance: float = 0.003  # total variation distance up to which a table counts as matched
    slack: float = 0.5  # standard deviations of slack per cell in a comparison


DEFAULT_PRECISION = FitPrecision()
EXACT_PRECISION = FitPrecision(rounds=6, tolerance=0.0003, slack=0.01)
"""For inference, where dependence must not be attenuated."""


@dataclass(frozen=True, kw_only=True)
class Estimates:
    """Denoised marginals of columns, measured pairs and measured sets."""

    margins: list[np.ndarray]  # distribution over the codes of every column
    coarse: list[np.ndarray]  # distribution over the buckets of every column
    buckets: list[np.ndarray]  # bucket of every code
    # Joint distribution of the buckets of each pair (i, j), in both orientations
    pairs: Mapping[tuple[int, int], np.ndarray]
    # Standard deviation of each cell, from noise and one row, for (i, j), i < j, or (i, j, k, ...)
    scatter: Mapping[Columns, np.ndarray | float] = field(default_factory=dict)
    # Posterior standard deviation of each cell, smaller than ``scatter``
    posterior: Mapping[Columns, np.ndarray | float] = field(default_factory=dict)
    # Level of every bucket, coarser still, for tables of more than two columns
    levels: Sequence[np.ndarray] = ()
    # Joint distribution of the levels of each set (i, j, k, ...)
    sets: Mapping[Columns, np.ndarray] = field(default_factory=dict)
    precision: FitPrecision = DEFAULT_PRECISION

    @property
    def num_columns(self) -> int:
        """Number m of columns."""
        return len(self.margins)

    def dependence(self, i: int, j: int) -> float:
        """Return the L1 distance of a pair's joint distribution from independence; 0 if unmeasured."""
        if (i, j) not in self.pairs:
            return 0.0
        return float(np.abs(self.pairs[i, j] - np.outer(self.coarse[i], self.coarse[j])).sum())

    @cached_property
    def neighbours(self) -> list[set[int]]:
        """Columns that share a measured pair or set with each column."""
        neighbours_of: list[set[int]] = [set() for _ in self.margins]
        for columns in (*self.pairs, *self.sets):
            for j in columns:
                neighbours_of[j] |= set(columns) - {j}
        return neighbours_of

    def sets_of(self, child: int, columns: Collection[int]) -> list[Columns]:
        """Return the measured sets of a child and some of ``columns``."""
        return [s for s in self.sets if child in s and all(j == child or j in columns for j in s)]

    def given(self, others: Columns, middle: int) -> np.ndarray:
        """Return the measured P(cell of the others | bucket of the middle column), (cells, buckets)."""
        if len(others) == 1:
            return self.pairs[others[0], middle] / np.maximum(self.coarse[middle], 1e-12)
        columns = tuple(sorted((*others, middle)))
        table = np.moveaxis(self.sets[columns], columns.index(middle), -1)
        table = table.reshape(-1, table.shape[-1])
        return (table / np.maximum(table.sum(0), 1e-12))[:, self.levels[middle]]

    def on_levels(self, columns: Columns) -> np.ndarray:
        """Return the distribution of the levels of a column or a measured pair."""
        table = self.coarse[columns[0]] if len(columns) == 1 else self.pairs[columns[0], columns[1]]
        for axis, j in enumerate(columns):
            table = np.moveaxis(table, axis, 0)
            levels = np.zeros((int(self.levels[j].max()) + 1, *table.shape[1:]))
            np.add.at(levels, self.levels[j], table)
            table = np.moveaxis(levels, 0, axis)
        return table


MOST_CELLS = 20_000_000  # cells of all conditional tables together: the main memory use of a wide fit
MOST_SIMULATED = 6_000_000  # simulated rows times columns: more than a hundred columns get fewer rows
CELLS_AT_ONCE = 1 << 17  # parent configurations times buckets of the child per block: they fit the cache
_NOTHING: Mapping[int, np.ndarray] = MappingProxyType({})
STRONG = 1.0  # L1 distance from independence from which a table is fitted twice per round
LOSS_STEP = 0.1  # L1 distance up to which losses count as equal


def fit_network(
    estimates: Estimates,
    max_cost: int,
    num_simulated: int,
    rng: KeyedRNG,
    *,
    is_last: bool = False,
    given: Mapping[int, np.ndarray] = _NOTHING,
    early: Collection[int] = (),
) -> tuple[BayesianNetwork, np.ndarray]:
    """Fit a network with the measured (child, parent) marginals; return it and simulated bucketed rows."""
    # Columns are ordered so that little dependence is lost. The parents of a column are its measured
    # neighbours before it. Each conditional is fitted under the parents' joint distribution in the rows
    # simulated so far. It is a dense table if that has at most ``max_cost`` cells (``MOST_CELLS`` over all
    # tables), otherwise a product of factors. The simulated rows (num_simulated, m) hold buckets. The last
    # fit does not simulate columns without children. ``given`` holds codes (num_simulated,) of conditioning
    # columns: they come first, and the network has only their margins.
    order = elimination_order(estimates, given, early)
    max_cost = min(max_cost, MOST_CELLS // len(order))
    num_simulated = max(min(num_simulated, MOST_SIMULATED // len(order)), 1)
    num_simulated = min([num_simulated, *map(len, given.values())])
    largest = max(len(p) for p in estimates.margins)
    codes = np.zeros((num_simulated, len(order)), dtype=np.min_scalar_type(-largest), order="F")
    rows = np.zeros_like(codes)
    conditionals: list[Conditional] = []
    for position, child in enumerate(order):
        conditional = _conditional(estimates, child, order[:position], rows, max_cost)
        conditionals.append(conditional)
        if not is_last or not estimates.neighbours[child].isdisjoint(order[position + 1 :]):
            codes[:, child] = (
                given[child][:num_simulated]
                if child in given
                else conditional.draw(codes, rng, systematic=True)
            )
            rows[:, child] = estimates.buckets[child][codes[:, child]]
    return BayesianNetwork(conditionals), rows


def _conditional(
    estimates: Estimates, child: int, before: Sequence[int], rows: np.ndarray, max_cost: int
) -> Conditional:
    """Fit the conditional of a column given earlier ones, under their distribution in the simulated rows."""
    marginals = _marginals_of(estimates, child, before)
    base, weights = maximum_entropy_factors(estimates.coarse[child], marginals, rows, estimates.precision)
    conditional = LogLinearConditional(
        child=child,
        bucket=estimates.buckets[child],
        inside=_inside(estimates, child),
        base=base,
        factors=tuple(
            Factor.of(
                ParentConfigurations(parents=marginal.parents, buckets=marginal.of_codes(estimates.buckets)),
                weight,
            )
            for marginal, weight in zip(marginals, weights, strict=True)
            if np.ptp(weight) > 0
        ),
    )
    return (
        conditional.tabulated()
        if conditional.configurations * conditional.cardinality <= max_cost
        else conditional
    )


@dataclass(frozen=True, kw_only=True)
class TargetMarginal:
    """Joint distribution of some parents and the child, on buckets or on levels."""

    parents: tuple[int, ...]
    levels: tuple[np.ndarray, ...]  # level of every bucket of each parent
    child: np.ndarray  # level of every bucket of the child
    joint: np.ndarray  # joint distribution, the child as last axis
    scatter: np.ndarray | float  # standard deviation of the cells
    strength: float  # L1 distance from independence
    posterior: np.ndarray | float = 0.0  # posterior standard deviation of the cells; 0 if unknown

    @cached_property
    def target(self) -> np.ndarray:
        """Joint distribution, one row per cell of the parents' levels."""
        return self.joint.reshape(-1, self.joint.shape[-1])

    def cells(self, rows: np.ndarray) -> np.ndarray:
        """Return the cell of the parents' levels of each row of buckets."""
        levels = [level[rows[:, i]] for i, level in zip(self.parents, self.levels, strict=True)]
        return np.ravel_multi_index(levels, self.joint.shape[:-1])

    def of_codes(self, buckets: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Return the level of every code of each parent."""
        return tuple(level[buckets[i]] for i, level in zip(self.parents, self.levels, strict=True))


def _marginals_of(estimates: Estimates, child: int, before: Sequence[int]) -> list[TargetMarginal]:
    """Return the marginals of a child and earlier columns, the strongest first."""
    marginals = []
    for i in estimates.neighbours[child].intersection(before):
        if (i, child) in estimates.pairs:
            marginals.append(
                TargetMarginal(
                    parents=(i,),
                    levels=(np.arange(len(estimates.coarse[i])),),
                    child=np.arange(len(estimates.coarse[child])),
                    joint=estimates.pairs[i, child],
                    scatter=_of_pair(estimates.scatter, i, child),
                    posterior=_of_pair(estimates.posterior, i, child),
                    strength=estimates.dependence(i, child),
                )
            )
    for s in estimates.sets_of(child, before):
        others = tuple(i for i in s if i != child)
        given, mass = estimates.given(others, child), estimates.coarse[child]
        marginals.append(
            TargetMarginal(
                parents=others,
                levels=tuple(estimates.levels[i] for i in others),
                child=estimates.levels[child],
                joint=np.moveaxis(estimates.sets[s], s.index(child), -1),
                scatter=estimates.scatter.get(s, 0.0),
                strength=float((np.abs(given - (given @ mass)[:, None]) @ mass).sum()),
            )
        )
    return sorted(marginals, key=lambda k: (-k.strength, k.parents))


def elimination_order(
    estimates: Estimates, first: Collection[int] = (), early: Collection[int] = ()
) -> list[int]:
    """Order columns so that each one, from the last on, loses the least dependence among the others.

    ``first`` columns, and then ``early`` ones, come first regardless of the loss.
    """
    # The neighbours of a column are drawn before it, so dependence between them through this column alone is
    # lost. With report - disease - sign measured and disease last, report and sign would be independent.
    # Among columns of about equal loss, the one with the smallest conditional comes last.
    columns = range(estimates.num_columns)
    neighbours_of = {j: sorted(estimates.neighbours[j]) for j in columns}
    lost = {j: _dependence_through(estimates, j, neighbours_of[j]) for j in columns}
    cardinalities = [len(p) for p in estimates.margins]
    total = {j: sum(losses.values()) for j, losses in lost.items()}
    pairs_with: list[dict[int, list[Columns]]] = [defaultdict(list) for _ in columns]
    for j, losses in lost.items():
        for pair in losses:
            for i in pair:
                pairs_with[j][i].append(pair)
    log_sizes = [float(np.log(len(p))) for p in estimates.coarse]
    remaining, order = set(columns), []

    def sort_key(j: int) -> tuple[int, int, float, int, int]:
        size = sum(log_sizes[i] for i in neighbours_of[j] if i in remaining) + float(np.log(cardinalities[j]))
        return 2 * (j in first) + (j in early), int(total[j] / LOSS_STEP), size, -cardinalities[j], j

    sort_keys = {j: sort_key(j) for j in columns}
    while remaining:
        last = min(sort_keys.values())[-1]
        order.append(last)
        remaining.remove(last)
        del sort_keys[last]
        for j in remaining.intersection(neighbours_of[last]):  # other columns are unaffected
            total[j] -= sum(lost[j].pop(pair, 0.0) for pair in pairs_with[j].pop(last, ()))
            sort_keys[j] = sort_key(j)
    return order[::-1]


def _dependence_through(estimates: Estimates, middle: int, neighbours: Sequence[int]) -> dict[Columns, float]:
    """Return the L1 distance from independence of unmeasured pairs that depend only through ``middle``."""
    # The other columns of a set count as one neighbour of ``middle``.
    mass = estimates.coarse[middle]
    parts: list[Columns] = [(i,) for i in neighbours if (i, middle) in estimates.pairs]
    parts += [tuple(i for i in s if i != middle) for s in estimates.sets_of(middle, neighbours)]
    if len(parts) < 2:
        return {}
    given = [estimates.given(part, middle) for part in parts]
    starts = np.cumsum([0, *(len(g) for g in given)])[:-1]
    each = np.concatenate(given)
    distance = np.abs((each * mass) @ each.T - np.outer(each @ mass, each @ mass))
    loss = np.add.reduceat(np.add.reduceat(distance, starts, axis=0), starts, axis=1)
    return {
        parts[a] + parts[b]: float(loss[a, b])
        for a, b in itertools.combinations(range(len(parts)), 2)
        if not _measured_together(estimates, parts[a], parts[b])
    }


def _measured_together(estimates: Estimates, a: Columns, b: Columns) -> bool:
    """Whether two columns are a measured pair, or two parts share a column."""
    # Columns of one set do not count: their buckets may depend more than their levels show.
    return (a + b) in estimates.pairs if len(a) == len(b) == 1 else not set(a).isdisjoint(b)


def maximum_entropy_factors(
    child: np.ndarray,
    marginals: Sequence[TargetMarginal],
    rows: np.ndarray,
    precision: FitPrecision = DEFAULT_PRECISION,
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Fit the maximum-entropy P(child | parents) with these marginals; return base and factor weights.

    Iterative proportional fitting (Deming and Stephan 1940) over the parent configurations in ``rows``
    (N, m). ``child`` (b,) is the child's distribution. Returns the base (b,), and for each marginal the
    weights of its cells (cells, b), all 1 if earlier factors already match it.
    """
    base = child / child.max()
    if not marginals:
        return base, []
    blocks = _blocks(base, marginals, rows)
    weights = [np.ones_like(marginal.target) for marginal in marginals]
    strong = [(q, marginals[q].posterior) for q in range(len(marginals)) if marginals[q].strength > STRONG][
        ::-1
    ]
    for _ in range(precision.rounds):
        for q, scatter in [*((q, marginal.scatter) for q, marginal in enumerate(marginals)), *strong]:
            marginal = marginals[q]
            fitted = _on_levels(
                np.sum([block.table(q) for block in blocks], axis=0, dtype=float), marginal.child
            )
            target = (
                marginal.target
                / np.maximum(marginal.target.sum(1, keepdims=True), 1e-12)
                * fitted.sum(1, keepdims=True)
            )
            if np.abs(target - fitted).sum() < 2 * precision.tolerance:
                continue
            old_weights = weights[q]
            # Differences within the noise hardly move the weights. Otherwise marginals that conflict because
            # of noise would make the weights diverge.
            slack = np.where(
                np.asarray(marginal.scatter) == 0, 1e-9, precision.slack * scatter + 1 / len(rows)
            )
            weights[q] = bounded(old_weights * np.clip((target + slack) / (fitted + slack), 1e-3, 1e3))
            for block in blocks:
                block.tilt((weights[q] / old_weights)[:, marginal.child].astype(np.float32), q)
        ratio = (child + 1e-9) / (np.sum([block.margin() for block in blocks], axis=0, dtype=float) + 1e-9)
        base = base * ratio
        for block in blocks:
            block.tilt(ratio.astype(np.float32))
    return base, [w[:, marginal.child] for w, marginal in zip(weights, marginals, strict=True)]


class _Block:
    """P(child | parents) at a block of parent configurations that fits the cache."""

    def __init__(
        self, child: np.ndarray, mass: np.ndarray, cells: Sequence[np.ndarray], sizes: Sequence[int]
    ):
        self._p = np.tile(child, (len(mass), 1))
        self._ones, self._mass, self._cells = np.ones_like(child), mass, cells
        one_each = np.arange(len(mass) + 1)
        self._adds = [
            sp.csc_matrix((mass, cell, one_each), shape=(size, len(mass)))
            for cell, size in zip(cells, sizes, strict=True)
        ]

    def table(self, q: int) -> np.ndarray:
        """Return the joint mass of the cells of marginal q and the child."""
        return np.asarray(self._adds[q] @ self._p)

    def margin(self) -> np.ndarray:
        """Return the mass of the child."""
        return self._mass @ self._p

    def tilt(self, ratio: np.ndarray, q: int | None = None) -> None:
        """Multiply every row by the ratio (of its cell in marginal q) and normalise it."""
        self._p *= ratio if q is None else ratio.take(self._cells[q], axis=0)
        self._p /= (self._p @ self._ones)[
            :, None
        ]  # a matrix product is much faster than a sum along short rows


def _blocks(base: np.ndarray, marginals: Sequence[TargetMarginal], rows: np.ndarray) -> list[_Block]:
    """Return the parent configurations in the rows, deduplicated if that reduces their number."""
    cells, sizes, n = (
        [marginal.cells(rows) for marginal in marginals],
        [len(marginal.target) for marginal in marginals],
        len(rows),
    )
    mass = np.full(n, 1 / n)
    if (number := math.prod(sizes)) <= n:
        counts = np.bincount(np.ravel_multi_index(cells, sizes), minlength=number)
        occurring = np.flatnonzero(counts)
        cells, mass = list(np.unravel_index(occurring, sizes)), counts[occurring] / n
    small, mass = (base / base.sum()).astype(np.float32), mass.astype(np.float32)
    step = max(CELLS_AT_ONCE // len(base), 1)
    return [
        _Block(small, mass[start : start + step], [cell[start : start + step] for cell in cells], sizes)
        for start in range(0, len(mass), step)
    ]


def _of_pair(scatter: Mapping[Columns, np.ndarray | float], i: int, j: int) -> np.ndarray | float:
    return scatter.get((i, j), 0.0) if i < j else np.transpose(scatter.get((j, i), 0.0))


def _on_levels(table: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Sum columns within levels."""
    number = int(levels.max()) + 1
    return table if number == len(levels) else table @ np.eye(number)[levels]


def _inside(estimates: Estimates, child: int) -> np.ndarray:
    """Return P(code | its bucket), from the margin."""
    bucket, p, mass = estimates.buckets[child], estimates.margins[child], estimates.coarse[child]
    size = np.bincount(bucket, minlength=len(mass))
    inside = np.where(mass[bucket] > 1e-12, p / np.maximum(mass[bucket], 1e-12), 1 / size[bucket])
    return inside / np.bincount(bucket, inside, len(mass))[bucket]

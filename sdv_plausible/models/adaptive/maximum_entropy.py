"""From consistent pair tables to a Bayesian network: maximum-entropy conditionals. Post-processing."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np
import scipy.sparse as sp

from sdv_plausible.models.adaptive.estimates import USUAL, Columns, Estimates, FitPrecision
from sdv_plausible.models.bayesian_network import BayesianNetwork, Conditional
from sdv_plausible.models.conditional_table import ParentConfigurations
from sdv_plausible.models.log_linear import Factor, LogLinearConditional, bounded
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

MOST_CELLS = 20_000_000  # of all conditional tables together: most of what a wide fit keeps in memory
MOST_SIMULATED = 6_000_000  # simulated rows times columns: beyond a hundred columns there are fewer rows
CELLS_AT_ONCE = 1 << 17  # combinations of parents times buckets of the child: they fit the cache
_NOTHING: Mapping[int, np.ndarray] = MappingProxyType({})
STRONG = 1.0  # L1 distance from independence of the tables that are met once more, closely, in each round
LOSS_STEP = 0.1  # L1 distance up to which losses count as equal


def fit_network(
    estimates: Estimates,
    max_cost: int,
    num_simulated: int,
    coins: KeyedRNG,
    *,
    is_last: bool = False,
    given: Mapping[int, np.ndarray] = _NOTHING,
    early: Collection[int] = (),
) -> tuple[BayesianNetwork, np.ndarray]:
    """Network whose (child, parent) margins are the measured ones, and bucketed rows simulated from it."""
    # Columns come in an order that loses little dependence; a column's parents are its measured neighbours
    # that come before it. The rows simulated so far give the parents' joint law, under which the conditional
    # is fitted. It is kept as factors, or as a table where that has at most ``max_cost`` cells
    # (``MOST_CELLS`` all tables together). Simulated rows (num_simulated, m) are buckets; nobody asks for the
    # last ones: columns on which no other depends are then left out. ``given`` codes (num_simulated,) are of
    # columns whose joint law is known otherwise: they come first, and the network has their margins alone.
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
                else conditional.draw(codes, coins, systematic=True)
            )
            rows[:, child] = estimates.buckets[child][codes[:, child]]
    return BayesianNetwork(conditionals), rows


def _conditional(
    estimates: Estimates, child: int, before: Sequence[int], rows: np.ndarray, max_cost: int
) -> Conditional:
    """One column's law given those before it, under their law in the rows simulated so far."""
    known = _known_of(estimates, child, before)
    base, weights = maximum_entropy_factors(estimates.coarse[child], known, rows, estimates.precision)
    found = LogLinearConditional(
        child=child,
        bucket=estimates.buckets[child],
        inside=_inside(estimates, child),
        base=base,
        factors=tuple(
            Factor.of(ParentConfigurations(parents=k.parents, buckets=k.of_codes(estimates.buckets)), w)
            for k, w in zip(known, weights, strict=True)
            if np.ptp(w) > 0
        ),
    )
    return found.tabulated() if found.configurations * found.cardinality <= max_cost else found


@dataclass(frozen=True, kw_only=True)
class KnownJoint:
    """The joint law of some parents and the child, on buckets or on levels."""

    parents: tuple[int, ...]
    levels: tuple[np.ndarray, ...]  # of every bucket of each parent
    child: np.ndarray  # the same of the child
    joint: np.ndarray  # the child last
    scatter: np.ndarray | float  # deviation of its cells
    strength: float  # how far the child depends on them
    posterior: np.ndarray | float = 0.0  # deviation of its cells after denoising; 0 where it is not known

    @cached_property
    def target(self) -> np.ndarray:
        """The joint distribution, one line per cell of the parents' levels."""
        return self.joint.reshape(-1, self.joint.shape[-1])

    def cells(self, rows: np.ndarray) -> np.ndarray:
        """Cell of the parents' levels of each row of buckets."""
        at = [level[rows[:, i]] for i, level in zip(self.parents, self.levels, strict=True)]
        return np.ravel_multi_index(at, self.joint.shape[:-1])

    def of_codes(self, buckets: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Level of every code of each parent."""
        return tuple(level[buckets[i]] for i, level in zip(self.parents, self.levels, strict=True))


def _known_of(estimates: Estimates, child: int, before: Sequence[int]) -> list[KnownJoint]:
    """What is known of a child and columns before it, the strongest first."""
    found = []
    for i in estimates.neighbours[child].intersection(before):
        if (i, child) in estimates.pairs:
            found.append(
                KnownJoint(
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
        found.append(
            KnownJoint(
                parents=others,
                levels=tuple(estimates.levels[i] for i in others),
                child=estimates.levels[child],
                joint=np.moveaxis(estimates.sets[s], s.index(child), -1),
                scatter=estimates.scatter.get(s, 0.0),
                strength=float((np.abs(given - (given @ mass)[:, None]) @ mass).sum()),
            )
        )
    return sorted(found, key=lambda k: (-k.strength, k.parents))


def elimination_order(
    estimates: Estimates, first: Collection[int] = (), early: Collection[int] = ()
) -> list[int]:
    """Last comes the column by which the others lose least; before it the same among the rest, and so on.

    But for columns that come ``first``, and ``early`` ones after these, whatever is lost.
    """
    # A column's neighbours are drawn before it, without what they have to do with each other through it
    # alone: with report - disease - sign measured and disease last, report and sign would be independent, and
    # no table of disease could mend that. Among columns that cost about the same, that with the smallest
    # conditional comes last.
    columns = range(estimates.num_columns)
    near = {j: sorted(estimates.neighbours[j]) for j in columns}
    lost = {j: _dependence_through(estimates, j, near[j]) for j in columns}
    cards = [len(p) for p in estimates.margins]
    total = {j: sum(losses.values()) for j, losses in lost.items()}
    pairs_with: list[dict[int, list[Columns]]] = [defaultdict(list) for _ in columns]
    for j, losses in lost.items():
        for pair in losses:
            for i in pair:
                pairs_with[j][i].append(pair)
    log_sizes = [float(np.log(len(p))) for p in estimates.coarse]
    rest, order = set(columns), []

    def price(j: int) -> tuple[int, int, float, int, int]:
        size = sum(log_sizes[i] for i in near[j] if i in rest) + float(np.log(cards[j]))
        return 2 * (j in first) + (j in early), int(total[j] / LOSS_STEP), size, -cards[j], j

    prices = {j: price(j) for j in columns}
    while rest:
        last = min(prices.values())[-1]
        order.append(last)
        rest.remove(last)
        del prices[last]
        for j in rest.intersection(near[last]):  # of no other column has anything changed
            total[j] -= sum(lost[j].pop(pair, 0.0) for pair in pairs_with[j].pop(last, ()))
            prices[j] = price(j)
    return order[::-1]


def _dependence_through(estimates: Estimates, middle: int, near: Sequence[int]) -> dict[Columns, float]:
    """L1 distance to independence of unmeasured pairs that depend through ``middle`` only."""
    # What a set says of ``middle`` counts as one neighbour.
    mass = estimates.coarse[middle]
    parts: list[Columns] = [(i,) for i in near if (i, middle) in estimates.pairs]
    parts += [tuple(i for i in s if i != middle) for s in estimates.sets_of(middle, near)]
    if len(parts) < 2:
        return {}
    given = [estimates.given(part, middle) for part in parts]
    starts = np.cumsum([0, *(len(g) for g in given)])[:-1]
    each = np.concatenate(given)
    apart = np.abs((each * mass) @ each.T - np.outer(each @ mass, each @ mass))
    loss = np.add.reduceat(np.add.reduceat(apart, starts, axis=0), starts, axis=1)
    return {
        parts[a] + parts[b]: float(loss[a, b])
        for a, b in itertools.combinations(range(len(parts)), 2)
        if not _measured_together(estimates, parts[a], parts[b])
    }


def _measured_together(estimates: Estimates, a: Columns, b: Columns) -> bool:
    """Whether two columns are a measured pair, or two parts have a column in common."""
    # Columns of one set are not: their buckets may depend more than their levels show.
    return (a + b) in estimates.pairs if len(a) == len(b) == 1 else not set(a).isdisjoint(b)


def maximum_entropy_factors(
    child: np.ndarray, known: Sequence[KnownJoint], rows: np.ndarray, precision: FitPrecision = USUAL
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Weights whose product is the maximum-entropy P(child | parents) with known tables, under the rows' law.

    Iterative proportional fitting (Deming and Stephan 1940) over the parents' combinations that occur in
    ``rows`` (N, m). ``child`` is its distribution (b,). The base (b,), and for each table the weights of its
    cells (cells, b), all 1 where what comes before meets it already.
    """
    base = child / child.max()
    if not known:
        return base, []
    blocks = _blocks(base, known, rows)
    weights = [np.ones_like(k.target) for k in known]
    strong = [(q, known[q].posterior) for q in range(len(known)) if known[q].strength > STRONG][::-1]
    for _ in range(precision.rounds):
        for q, scatter in [*((q, k.scatter) for q, k in enumerate(known)), *strong]:
            k = known[q]
            now = _on_levels(np.sum([block.table(q) for block in blocks], axis=0, dtype=float), k.child)
            want = k.target / np.maximum(k.target.sum(1, keepdims=True), 1e-12) * now.sum(1, keepdims=True)
            if np.abs(want - now).sum() < 2 * precision.met:
                continue
            before = weights[q]
            # Cells that differ by less than they scatter hardly move: tables that contradict one another by
            # noise would drive the weights apart, without end.
            slack = np.where(np.asarray(k.scatter) == 0, 1e-9, precision.deviations * scatter + 1 / len(rows))
            weights[q] = bounded(before * np.clip((want + slack) / (now + slack), 1e-3, 1e3))
            for block in blocks:
                block.tilt((weights[q] / before)[:, k.child].astype(np.float32), q)
        ratio = (child + 1e-9) / (np.sum([block.margin() for block in blocks], axis=0, dtype=float) + 1e-9)
        base = base * ratio
        for block in blocks:
            block.tilt(ratio.astype(np.float32))
    return base, [w[:, k.child] for w, k in zip(weights, known, strict=True)]


class _Block:
    """P(child | parents) at some combinations of the parents: so many that they fit the cache."""

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
        """Joint mass of the cells of table q and the child."""
        return np.asarray(self._adds[q] @ self._p)

    def margin(self) -> np.ndarray:
        """Mass of the child."""
        return self._mass @ self._p

    def tilt(self, ratio: np.ndarray, q: int | None = None) -> None:
        """Multiply every line by the ratio (of its cell in table q), and let it sum to 1 again."""
        self._p *= ratio if q is None else ratio.take(self._cells[q], axis=0)
        self._p /= (self._p @ self._ones)[:, None]  # a product is much faster than a sum along short lines


def _blocks(base: np.ndarray, known: Sequence[KnownJoint], rows: np.ndarray) -> list[_Block]:
    """The parents' combinations that occur in the rows, each once where that makes them fewer."""
    cells, sizes, n = [k.cells(rows) for k in known], [len(k.target) for k in known], len(rows)
    mass = np.full(n, 1 / n)
    if (number := math.prod(sizes)) <= n:
        counts = np.bincount(np.ravel_multi_index(cells, sizes), minlength=number)
        seen = np.flatnonzero(counts)
        cells, mass = list(np.unravel_index(seen, sizes)), counts[seen] / n
    small, mass = (base / base.sum()).astype(np.float32), mass.astype(np.float32)
    step = max(CELLS_AT_ONCE // len(base), 1)
    return [
        _Block(small, mass[start : start + step], [cell[start : start + step] for cell in cells], sizes)
        for start in range(0, len(mass), step)
    ]


def _of_pair(scatter: Mapping[Columns, np.ndarray | float], i: int, j: int) -> np.ndarray | float:
    return scatter.get((i, j), 0.0) if i < j else np.transpose(scatter.get((j, i), 0.0))


def _on_levels(table: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Columns added up within levels."""
    number = int(levels.max()) + 1
    return table if number == len(levels) else table @ np.eye(number)[levels]


def _inside(estimates: Estimates, child: int) -> np.ndarray:
    """P(code | its bucket), from the margin."""
    bucket, p, mass = estimates.buckets[child], estimates.margins[child], estimates.coarse[child]
    size = np.bincount(bucket, minlength=len(mass))
    inside = np.where(mass[bucket] > 1e-12, p / np.maximum(mass[bucket], 1e-12), 1 / size[bucket])
    return inside / np.bincount(bucket, inside, len(mass))[bucket]

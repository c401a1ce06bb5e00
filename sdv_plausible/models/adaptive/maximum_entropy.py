"""From consistent pair tables to a Bayesian network: maximum-entropy conditionals. Post-processing."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from sdv_plausible.models.adaptive.estimates import Columns, Estimates
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.models.buckets import merge_parents
from sdv_plausible.models.conditional_table import ConditionalTable
from sdv_plausible.privacy.noise.coins import Coins

MAX_PARENTS = 12
MOST_CELLS = 20_000_000  # of all conditional tables together: most of what a wide fit keeps in memory
FITTING_ROUNDS = 8
LOSS_STEP = 0.1  # L1 distance up to which losses count as equal


def fit_network(
    estimates: Estimates, max_cost: int, num_simulated: int, coins: Coins, *, is_last: bool = False
) -> tuple[BayesianNetwork, np.ndarray]:
    """Network whose (child, parent) margins are the measured ones, and bucketed rows simulated from it."""
    # Columns come in an order that loses little dependence and keeps conditionals small; a column's parents
    # are its measured neighbours that come before it. The rows simulated so far give the parents' joint law,
    # under which the conditional is fitted. ``max_cost`` bounds the cells of one conditional table,
    # ``MOST_CELLS`` all of them together. Simulated rows (num_simulated, m) are buckets; nobody asks for the
    # last ones: columns on which no other depends are then left out.
    order = elimination_order(estimates)
    max_cost = min(max_cost, MOST_CELLS // len(order))
    small = np.min_scalar_type(-max(len(p) for p in estimates.coarse))
    rows = np.zeros((num_simulated, estimates.num_columns), dtype=small, order="F")
    tables = []
    for position, child in enumerate(order):
        table, configuration = _conditional(estimates, child, order[:position], rows, max_cost)
        tables.append(table)
        if not is_last or not estimates.neighbours[child].isdisjoint(order[position + 1 :]):
            rows[:, child] = estimates.buckets[child][table.draw_evenly(configuration, coins)]
    return BayesianNetwork(tables), rows


def _conditional(
    estimates: Estimates, child: int, before: Sequence[int], rows: np.ndarray, max_cost: int
) -> tuple[ConditionalTable, np.ndarray]:
    """One column's table, under the law of the columns before it in the rows simulated so far."""
    # And the line of it for each of these rows.
    sets = estimates.sets_of(child, before)
    near = _nearest(estimates, child, before, sets)
    groups = merge_parents(
        [_said_of_child(estimates, child, i, sets) for i in near],
        [estimates.coarse[i] for i in near],
        max(max_cost / len(estimates.margins[child]), 1),
    )
    kept = {i: g for i, g in zip(near, groups, strict=True) if g.max() > 0}
    sizes = [int(g.max()) + 1 for g in kept.values()]
    configuration = np.zeros(len(rows), dtype=np.int64)
    for (i, g), size in zip(kept.items(), sizes, strict=True):
        configuration = configuration * size + g[rows[:, i]]
    pairs = {
        q: _collapse(estimates.pairs[i, child], g)
        for q, (i, g) in enumerate(kept.items())
        if (i, child) in estimates.pairs
    }
    factors = [_set_margin(estimates, child, s, kept) for s in sets if set(s) - {child} <= kept.keys()]
    coarse = maximum_entropy_conditional(sizes, pairs, estimates.coarse[child], configuration, factors)
    table = ConditionalTable(
        child=child,
        parents=tuple(kept),
        buckets=tuple(g[estimates.buckets[i]] for i, g in kept.items()),
        probabilities=_refine(coarse, estimates, child),
    )
    return table, configuration


def _nearest(estimates: Estimates, child: int, before: Sequence[int], sets: Sequence[Columns]) -> list[int]:
    """Measured neighbours of a child, those with the strongest pair or set first; not too many."""
    near = estimates.neighbours[child]
    strength = {i: estimates.dependence(i, child) for i in before if i in near}
    for s in sets:
        others = tuple(i for i in s if i != child)
        given, mass = estimates.given(others, child), estimates.coarse[child]
        apart = float((np.abs(given - (given @ mass)[:, None]) @ mass).sum())
        strength |= {i: max(strength[i], apart) for i in others}
    strength = {i: s for i, s in strength.items() if s > 0 or (i, child) in estimates.pairs}
    return sorted(strength, key=lambda i: -strength[i])[:MAX_PARENTS]


def _said_of_child(estimates: Estimates, child: int, parent: int, sets: Sequence[Columns]) -> np.ndarray:
    """What each bucket of a parent says: P(child | bucket), and the same given the rest of each set, in all.

    Side by side, so that buckets are merged only if both are alike: in an exclusive or the first says
    nothing. Several sets weigh no more than one.
    """
    pair = [estimates.given((child,), parent).T] if (child, parent) in estimates.pairs else []
    within = [s for s in sets if parent in s]
    given = [_given_the_rest(estimates, s, child, parent) / len(within) for s in within]
    return np.hstack([*pair, *given])


def _given_the_rest(estimates: Estimates, columns: Columns, child: int, parent: int) -> np.ndarray:
    """P(rest) P(child | rest, bucket), one line per bucket of the parent."""
    # What parent and rest say of one another is not in it: it says nothing of the child.
    table = np.moveaxis(estimates.sets[columns], (columns.index(parent), columns.index(child)), (0, -1))
    table = table.reshape(len(table), -1, table.shape[-1])
    cells = table.sum(-1, keepdims=True)
    conditional = np.where(cells > 0, table / np.maximum(cells, 1e-300), table.sum((0, 1)))
    found = conditional * cells.sum(0)
    return found.reshape(len(found), -1)[estimates.levels[parent]]


def _set_margin(
    estimates: Estimates, child: int, columns: Columns, kept: Mapping[int, np.ndarray]
) -> SetMargin:
    """A set's table as a margin of its child and parents."""
    # A merged group of buckets counts as the level of most of its mass.
    parents, names = [i for i in columns if i != child], list(kept)
    levels = []
    for i in parents:
        mass = np.zeros((int(kept[i].max()) + 1, int(estimates.levels[i].max()) + 1))
        np.add.at(mass, (kept[i], estimates.levels[i]), estimates.coarse[i])
        levels.append(mass.argmax(1))
    return SetMargin(
        parents=tuple(names.index(i) for i in parents),
        levels=tuple(levels),
        child=estimates.levels[child],
        joint=np.moveaxis(estimates.sets[columns], columns.index(child), -1),
    )


def elimination_order(estimates: Estimates) -> list[int]:
    """Last comes the column by which the others lose least; before it the same among the rest, and so on."""
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

    def price(j: int) -> tuple[int, float, int, int]:
        size = sum(log_sizes[i] for i in near[j] if i in rest) + float(np.log(cards[j]))
        return int(total[j] / LOSS_STEP), size, -cards[j], j

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


@dataclass(frozen=True, kw_only=True)
class SetMargin:
    """A margin of several parents and the child, on levels."""

    parents: tuple[int, ...]
    levels: tuple[np.ndarray, ...]
    child: np.ndarray
    joint: np.ndarray  # joint distribution of the levels, the child's last

    @cached_property
    def target(self) -> np.ndarray:
        """The joint distribution, one line per cell of the parents' levels."""
        return self.joint.reshape(-1, self.joint.shape[-1])

    @cached_property
    def child_levels(self) -> np.ndarray:
        """0 or 1, (values of the child, levels): adds up values within levels."""
        return np.eye(self.joint.shape[-1])[self.child]

    def cells(self, digits: Sequence[np.ndarray]) -> np.ndarray:
        """Cell of the parents' levels for configurations that are given digit by digit."""
        at = [level[digits[q]] for q, level in zip(self.parents, self.levels, strict=True)]
        return np.ravel_multi_index(at, self.joint.shape[:-1])


def maximum_entropy_conditional(
    sizes: Sequence[int],
    pairs: Mapping[int, np.ndarray],
    child: np.ndarray,
    configuration: np.ndarray,
    sets: Sequence[SetMargin] = (),
) -> np.ndarray:
    """Maximum-entropy P(child | parents) with given margins of parents and child under a law of the parents.

    Iterative proportional fitting over the configurations that occur; the fitted factors then define every
    configuration. ``sizes`` are the parents' b_q, ``pairs`` the known joint distributions (b_q, c), ``child``
    its own (c,); ``configuration`` (N,) is the parents' mixed-radix one in rows of their law. Shape (product
    of b_q, c); rows sum to 1.
    """
    if not sizes:
        return (child / child.sum())[None]
    counts = np.bincount(configuration)
    seen = np.flatnonzero(counts)
    weight = counts[seen] / len(configuration)
    digits = np.unravel_index(seen, sizes)
    cells = [s.cells(digits) for s in sets]
    picks = {q: _picks(digits[q], sizes[q], weight) for q in pairs}
    set_picks = [_picks(cell, len(s.target), weight) for cell, s in zip(cells, sets, strict=True)]
    factors, base = [np.ones((size, len(child))) for size in sizes], child.copy()
    set_factors = [np.ones_like(s.target) for s in sets]
    p = np.tile(base / base.sum(), (len(seen), 1))
    for _ in range(FITTING_ROUNDS):
        for q, target in pairs.items():
            ratio = _ratio(target, picks[q] @ p)
            factors[q] *= ratio
            _tilt(p, ratio, digits[q])
        for q, s in enumerate(sets):
            ratio = _ratio(s.target, (set_picks[q] @ p) @ s.child_levels)
            set_factors[q] *= ratio
            _tilt(p, ratio[:, s.child], cells[q])
        ratio = (child + 1e-9) / (weight @ p + 1e-9)
        base = base * ratio
        _tilt(p, ratio[None], None)
    full = _product(base, factors, sets, set_factors)
    return np.where(full.sum(1, keepdims=True) > 0, full, child / child.sum())


def _picks(cell: np.ndarray, size: int, weight: np.ndarray) -> sp.csr_matrix:
    """Matrix that adds up configurations within cells, by their weights."""
    return sp.csr_matrix((weight, (cell, np.arange(len(cell)))), shape=(size, len(cell)))


def _tilt(p: np.ndarray, ratio: np.ndarray, cell: np.ndarray | None) -> None:
    """Multiply every line by the ratio of its cell, and let it sum to 1 again."""
    p *= ratio if cell is None else ratio.take(cell, axis=0)
    p /= (p @ np.ones(p.shape[1]))[:, None]  # a product is much faster than a sum along short lines


def _ratio(target: np.ndarray, now: np.ndarray) -> np.ndarray:
    """What to multiply by, for the child's conditional to be the target's in every cell of the parents."""
    want = target / np.maximum(target.sum(1, keepdims=True), 1e-12) * now.sum(1, keepdims=True)
    return np.clip((want + 1e-9) / (now + 1e-9), 1e-3, 1e3)


def _product(
    base: np.ndarray,
    factors: Sequence[np.ndarray],
    sets: Sequence[SetMargin],
    set_factors: Sequence[np.ndarray],
) -> np.ndarray:
    """All factors multiplied, for every configuration; rows sum to 1, or to 0."""
    full = base[None] / base.sum()
    for factor in factors:
        full = (full[:, None] * factor).reshape(-1, len(base))
        full = full / np.maximum(full.sum(1, keepdims=True), 1e-300)
    digits = np.unravel_index(np.arange(len(full)), [len(f) for f in factors])
    for s, factor in zip(sets, set_factors, strict=True):
        full *= factor[:, s.child][s.cells(digits)]
        full = full / np.maximum(full.sum(1, keepdims=True), 1e-300)
    return full


def _refine(coarse: np.ndarray, estimates: Estimates, child: int) -> np.ndarray:
    """P(code | configuration) = P(bucket | configuration) P(code | bucket), the second from the margin."""
    bucket, p, mass = estimates.buckets[child], estimates.margins[child], estimates.coarse[child]
    size = np.bincount(bucket, minlength=len(mass))
    inside = np.where(mass[bucket] > 1e-12, p / np.maximum(mass[bucket], 1e-12), 1 / size[bucket])
    table = coarse[:, bucket] * inside
    return table / table.sum(axis=1, keepdims=True)


def _collapse(table: np.ndarray, group: np.ndarray) -> np.ndarray:
    collapsed = np.zeros((int(group.max()) + 1, table.shape[1]))
    np.add.at(collapsed, group, table)
    return collapsed

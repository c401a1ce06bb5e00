"""From consistent pair tables to a Bayesian network: maximum-entropy conditionals. Post-processing."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.models.buckets import merge_parents
from sdv_plausible.models.conditional_table import ConditionalTable
from sdv_plausible.privacy.noise.coins import Coins

MAX_PARENTS = 12
FITTING_ROUNDS = 8
LOSS_STEP = 0.1  # L1 distance up to which losses count as equal


@dataclass(frozen=True, kw_only=True)
class Estimates:
    """What is known, after denoising, about single columns and measured pairs.

    Attributes
    ----------
    margins : list of ndarray
        Distribution over the codes of every column.
    coarse : list of ndarray
        The same over its buckets.
    buckets : list of ndarray of int
        Bucket of every code.
    pairs : mapping
        (i, j) to the joint distribution of the buckets of i and j; both orientations.
    """

    margins: list[np.ndarray]
    coarse: list[np.ndarray]
    buckets: list[np.ndarray]
    pairs: Mapping[tuple[int, int], np.ndarray]

    @property
    def num_columns(self) -> int:
        """Number m of columns."""
        return len(self.margins)

    def dependence(self, i: int, j: int) -> float:
        """L1 distance between the joint distribution of a measured pair and independence."""
        return float(np.abs(self.pairs[i, j] - np.outer(self.coarse[i], self.coarse[j])).sum())


def fit_network(
    estimates: Estimates, max_cost: int, num_simulated: int, coins: Coins
) -> tuple[BayesianNetwork, np.ndarray]:
    """Network whose (child, parent) margins are the measured ones, and bucketed rows simulated from it.

    Columns come in an order that loses little dependence and keeps conditionals small; a column's parents are
    its measured neighbours that come before it. The rows simulated so far give the parents' joint law, under
    which the conditional is fitted.

    Parameters
    ----------
    estimates : Estimates
        Consistent margins and pair tables.
    max_cost : int
        Bound on the cells of one conditional table.
    num_simulated : int
        Rows to simulate.
    coins : Coins
        Source of the simulation.

    Returns
    -------
    network : BayesianNetwork
    simulated : ndarray of int, shape (num_simulated, m)
        Buckets of simulated rows.
    """
    order = elimination_order(estimates)
    rows = np.zeros((num_simulated, estimates.num_columns), dtype=np.int32, order="F")
    codes = np.zeros_like(rows)
    tables = []
    for position, child in enumerate(order):
        near = [i for i in order[:position] if (i, child) in estimates.pairs]
        near = sorted(near, key=lambda i: -estimates.dependence(i, child))[:MAX_PARENTS]
        joints = [estimates.pairs[i, child] for i in near]
        masses = [t.sum(1) for t in joints]
        conditionals = [t / np.maximum(w, 1e-300)[:, None] for t, w in zip(joints, masses, strict=True)]
        cardinality = len(estimates.margins[child])
        groups = merge_parents(conditionals, masses, max(max_cost / cardinality, 1))
        kept = [(i, g, _collapse(t, g)) for i, g, t in zip(near, groups, joints, strict=True) if g.max() > 0]
        configuration = np.zeros(num_simulated, dtype=np.int64)
        for i, g, t in kept:
            configuration = configuration * len(t) + g[rows[:, i]]
        coarse = maximum_entropy_conditional([t for _, _, t in kept], estimates.coarse[child], configuration)
        table = ConditionalTable(
            child=child,
            parents=tuple(i for i, _, _ in kept),
            buckets=tuple(g[estimates.buckets[i]] for i, g, _ in kept),
            probabilities=_refine(coarse, estimates, child),
        )
        tables.append(table)
        codes[:, child] = table.draw(codes, coins, systematic=True)
        rows[:, child] = estimates.buckets[child][codes[:, child]]
    return BayesianNetwork(tables), rows


def elimination_order(estimates: Estimates) -> list[int]:
    """Last comes the column by which the others lose least; before it the same among the rest, and so on.

    A column's neighbours are drawn before it, without what they have to do with each other through it alone:
    with report - disease - sign measured and disease last, report and sign would be independent, and no table
    of disease could mend that. Among columns that cost about the same, that with the smallest conditional
    comes last.
    """
    columns = range(estimates.num_columns)
    near = {j: [i for i in columns if (j, i) in estimates.pairs] for j in columns}
    lost = {j: _dependence_through(estimates, j, near[j]) for j in columns}
    cards = [len(p) for p in estimates.margins]
    rest, order = set(columns), []
    while rest:
        size = {
            j: sum(np.log(len(estimates.coarse[i])) for i in near[j] if i in rest) + np.log(cards[j])
            for j in rest
        }
        last = min(rest, key=lambda j: (int(sum(lost[j].values()) / LOSS_STEP), size[j], -cards[j], j))
        order.append(last)
        rest.remove(last)
        for j in rest:
            lost[j] = {pair: loss for pair, loss in lost[j].items() if last not in pair}
    return order[::-1]


def _dependence_through(
    estimates: Estimates, middle: int, near: Sequence[int]
) -> dict[tuple[int, int], float]:
    """L1 distance to independence of unmeasured pairs that depend through ``middle`` only."""
    mass = estimates.coarse[middle]
    given = {i: estimates.pairs[i, middle] / np.maximum(mass, 1e-12) for i in near}  # P(i | middle)
    return {
        (a, b): float(
            np.abs((given[a] * mass) @ given[b].T - np.outer(estimates.coarse[a], estimates.coarse[b])).sum()
        )
        for a, b in itertools.combinations(near, 2)
        if (a, b) not in estimates.pairs
    }


def maximum_entropy_conditional(
    margins: Sequence[np.ndarray], child: np.ndarray, configuration: np.ndarray
) -> np.ndarray:
    """Maximum-entropy P(child | parents) with given (parent, child) margins under a law of the parents.

    Iterative proportional fitting over the configurations that occur; the fitted factors then define every
    configuration.

    Parameters
    ----------
    margins : sequence of ndarray, shapes (b_q, c)
        Joint distributions of each parent and the child.
    child : ndarray, shape (c,)
        The child's own distribution.
    configuration : ndarray of int, shape (N,)
        Mixed-radix configuration of the parents in rows of their law.

    Returns
    -------
    ndarray, shape (product of b_q, c)
        Rows sum to 1.
    """
    if not margins:
        return (child / child.sum())[None]
    seen, counts = np.unique(configuration, return_counts=True)
    weight = counts / len(configuration)
    digits = np.unravel_index(seen, [len(t) for t in margins])
    ones, column = np.ones(len(seen)), np.arange(len(seen))
    pick = [
        sp.csr_matrix((ones, (d, column)), shape=(len(t), len(seen)))
        for d, t in zip(digits, margins, strict=True)
    ]
    factors, base = [np.ones_like(t) for t in margins], child.copy()
    p = np.tile(base / base.sum(), (len(seen), 1))
    for _ in range(FITTING_ROUNDS):
        for q, target in enumerate(margins):
            now = pick[q] @ (p * weight[:, None])
            want = target / np.maximum(target.sum(1, keepdims=True), 1e-12) * now.sum(1, keepdims=True)
            ratio = np.clip((want + 1e-9) / (now + 1e-9), 1e-3, 1e3)
            factors[q] *= ratio
            p *= ratio[digits[q]]
            p /= p.sum(1, keepdims=True)
        ratio = (child + 1e-9) / (weight @ p + 1e-9)
        base = base * ratio
        p *= ratio
        p /= p.sum(1, keepdims=True)
    full = base[None] / base.sum()
    for factor in factors:
        full = (full[:, None] * factor).reshape(-1, len(child))
        full = full / np.maximum(full.sum(1, keepdims=True), 1e-300)
    return np.where(full.sum(1, keepdims=True) > 0, full, child / child.sum())


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

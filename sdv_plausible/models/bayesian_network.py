"""Bayesian network of section 3: conditionals, and seed-based synthesis from them.

Conditionals are dense tables or products of factors, in a topological order sigma. A candidate keeps the
seed's first m - omega values in that order and draws the rest (section 3.2).
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, Protocol, runtime_checkable

import numpy as np

from sdv_plausible.models.base import PrefixModel, Proposals
from sdv_plausible.models.conditional_table import ConditionalTable
from sdv_plausible.models.log_linear import LogLinearConditional
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

NETWORK_TYPE = "bayesian_network"  # type name in release files
MANY = 1 << 16  # number of records from which building alias tables pays off
AT_ONCE = 1 << 17  # records per block
Parents = tuple[tuple[int, ...], ...]
Conditional = ConditionalTable | LogLinearConditional


class BayesianNetwork(PrefixModel):
    """Bayesian network with seed-based synthesis (section 3.2)."""

    def __init__(self, tables: Sequence[Conditional]) -> None:
        # ``tables``: one conditional per attribute, in a topological order: parents come before their
        # children. This order is the resampling order sigma.
        # Raises ValueError if an attribute has no or several conditionals, or comes before one of its
        # parents.
        self.tables = tuple(tables)
        self._order = tuple(t.child for t in self.tables)
        if sorted(self._order) != list(range(len(self.tables))):
            raise ValueError(f"each column needs exactly one table; got tables for columns {self._order}")
        for position, table in enumerate(self.tables):
            if not set(table.parents) <= set(self._order[:position]):
                raise ValueError(
                    f"column {table.child} comes before one of its parents {table.parents} in the order"
                )

    @property
    def order(self) -> tuple[int, ...]:
        """Resampling order sigma, as column numbers."""
        return self._order

    @property
    def cardinalities(self) -> tuple[int, ...]:
        """Number of codes of each attribute, in column order."""
        sizes = {t.child: t.cardinality for t in self.tables}
        return tuple(sizes[j] for j in range(len(sizes)))

    def structure(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """Return every column with its parents, in the resampling order."""
        return tuple((table.child, table.parents) for table in self.tables)

    def complete(
        self, codes: np.ndarray, kept: np.ndarray | int, rng: KeyedRNG, *, systematic: bool = False
    ) -> np.ndarray:
        """Resample, in place, each record's attributes after its first ``kept`` ones in sigma."""
        kept = np.broadcast_to(kept, len(codes))
        if len(codes) >= MANY and not systematic:
            return self._complete_many(codes, kept, rng)
        for position, table in enumerate(self.tables):
            if (resample := position >= kept).all():
                codes[:, table.child] = table.draw(codes, rng, systematic=systematic)
            elif resample.any():
                rows = np.flatnonzero(resample)
                codes[rows, table.child] = table.draw(codes[rows], rng, systematic=systematic)
        return codes

    def _complete_many(self, codes: np.ndarray, kept: np.ndarray, rng: KeyedRNG) -> np.ndarray:
        """Draw as :meth:`complete`, in blocks of records that fit the cache."""
        for start in range(0, len(codes), AT_ONCE):
            chunk = slice(start, start + AT_ONCE)
            block = np.array(codes[chunk], dtype=np.intp, order="F")  # index type of look-ups
            least, most = kept[chunk].min(), kept[chunk].max()
            for position, table in enumerate(self.tables):
                if position >= most:
                    block[:, table.child] = table.draw_many(block, rng)
                elif position >= least:
                    rows = np.flatnonzero(position >= kept[chunk])
                    block[rows, table.child] = table.draw_many(block[rows], rng)
            codes[chunk] = block
        return codes

    def complete_given(
        self, codes: np.ndarray, kept: int, known: Mapping[int, int | np.ndarray], rng: KeyedRNG
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw the free attributes given the fixed codes: likelihood weighting, log weights (N,)."""
        log_weight = np.zeros(len(codes))
        for position, table in enumerate(self.tables):
            if table.child in known:
                if position < kept:
                    log_weight[codes[:, table.child] != known[table.child]] = -np.inf
                else:
                    codes[:, table.child] = known[table.child]
                    log_weight += table.log_probability(codes)
            elif position >= kept:
                codes[:, table.child] = table.draw(codes, rng)
        return codes, log_weight

    def max_log_weight(self, known: Mapping[int, np.ndarray], kept: int) -> np.ndarray:
        """Return an upper bound on the log weight, from the largest probability of each fixed code."""
        bound = super().max_log_weight(known, kept)
        for table in self.tables[kept:]:
            if table.child in known:
                bound += table.most_likely[known[table.child]]
        return bound

    def log_suffix(self, candidates: np.ndarray) -> np.ndarray:
        """Return the natural log probability of the values after each prefix, shape (N, m + 1)."""
        # Entry (i, l) is ``sum over positions >= l of log P(y | parents of y)`` for candidate i: the factor
        # of ``Pr[y = M(d)]`` for a record d that shares y's first l values when l values are kept. The sum
        # runs from the last position in one fixed order, so that results are bit-identical.
        suffix = np.zeros((len(candidates), self.num_attributes + 1))
        for position in reversed(range(self.num_attributes)):
            suffix[:, position] = suffix[:, position + 1] + self.tables[position].log_probability(candidates)
        return suffix

    def log_completion(self, candidates: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """Return the log probability of each candidate's values after its ``kept`` ones, (N,)."""
        log_probability: np.ndarray = self.log_suffix(candidates)[np.arange(len(kept)), kept]
        return log_probability

    def mixture_log_likelihood(self, candidates: np.ndarray, omegas: Sequence[int]) -> np.ndarray:
        """Return log Pr[y = M(d)], (N, m + 1), when omega is uniform and stays hidden."""
        # Entry (i, L) holds for every record d that shares exactly the first L values of candidate i: the
        # mixture over the omegas with m - omega <= L (docs/explanation/proofs/prefix_groups.md).
        suffix = self.log_suffix(candidates)
        kept = sorted(self.num_attributes - o for o in omegas)
        mixture = np.full((len(candidates), self.num_attributes + 1), -np.inf)
        running = np.full(len(candidates), -np.inf)
        for length in range(self.num_attributes + 1):
            for _ in range(kept.count(length)):
                running = np.logaddexp(running, suffix[:, length] - np.log(len(kept)))
            mixture[:, length] = running
        return mixture

    def count_plausible_mixture(
        self, proposals: Proposals, omegas: Sequence[int], gamma: float
    ) -> np.ndarray:
        """Return the plausible seeds of each proposal, (N,), when omega stays hidden; here gamma matters."""
        from sdv_plausible.privacy.plausible_seeds import partition_number

        groups = self.groups
        candidates = proposals.candidates[:, self.order]
        partitions = partition_number(self.mixture_log_likelihood(proposals.candidates, omegas), gamma)
        own = partitions[np.arange(len(candidates)), groups.shared_length(candidates, proposals.seeds)]
        at_least = np.stack([groups.sizes(candidates, length) for length in range(self.num_attributes + 1)])
        exactly = at_least - np.vstack([at_least[1:], np.zeros_like(at_least[:1])])
        counts: np.ndarray = ((partitions == own[:, None]).T * exactly).sum(axis=0)
        return counts


def topological_order(parents: Parents, cardinalities: Sequence[int]) -> tuple[int, ...]:
    """Return the resampling order sigma: parents first, then the smallest declared cardinality."""
    # Small domains in front make large prefix groups. The order does not depend on any row.
    sorter = TopologicalSorter(dict(enumerate(parents)))
    try:
        sorter.prepare()
    except CycleError as error:
        raise ValueError(f"the structure has a cycle among columns {sorted(set(error.args[1]))}") from error
    ready: list[tuple[int, int]] = []
    order: list[int] = []
    while sorter.is_active():
        for j in sorter.get_ready():
            heapq.heappush(ready, (cardinalities[j], j))
        _, chosen = heapq.heappop(ready)
        order.append(chosen)
        sorter.done(chosen)
    return tuple(order)


@runtime_checkable
class HasStructure(Protocol):
    """Model with a graph of columns."""

    def structure(self) -> Sequence[tuple[int, tuple[int, ...]]]:
        """Return every column with its parents, in the resampling order."""


def structure_by_name(model: Any, names: Sequence[str]) -> dict[str, list[str]]:
    """Return the parents of every column by name, in the resampling order."""
    # Raises ValueError if the model has no method ``structure()``.
    if not isinstance(model, HasStructure):
        raise ValueError(
            f"the model ({type(model).__name__}) has no structure: add a method structure() that returns "
            "every column with its parents, or use model='bayesian_network'"
        )
    return {names[child]: [names[parent] for parent in parents] for child, parents in model.structure()}

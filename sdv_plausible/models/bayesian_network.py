"""The Bayesian network of section 3: conditional tables, and seed-based synthesis from them.

Fixed tables in a topological order sigma; a candidate keeps the seed's first m - omega values in that order and draws
the rest (section 3.2). Its likelihood given a seed depends on the seed only through their common prefix
(docs/explanation/proofs/prefix_groups.md), which is what :meth:`BayesianNetwork.count_plausible` looks up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from sdv_plausible.models.base import Proposals
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.privacy.plausible_seeds import PrefixGroups, partition_number

GUIDED_CELLS = 4096  # tables beyond this size outgrow the cache: a guide table then beats a binary search


@dataclass(frozen=True, kw_only=True, eq=False)
class ConditionalTable:
    """``P(child | bkt(parents))`` as a dense table.

    Parameters
    ----------
    child : int
        Column number of the attribute.
    parents : tuple of int
        Column numbers of its parents.
    buckets : tuple of ndarray of int
        For each parent the bucket of every code (the paper's ``bkt``, Eq. 7).
    probabilities : ndarray of float, shape (configurations, cardinality)
        Rows sum to 1. Configurations are mixed-radix numbers of the parents' buckets, first parent most significant.
    """

    child: int
    parents: tuple[int, ...]
    buckets: tuple[np.ndarray, ...]
    probabilities: np.ndarray
    _flat: np.ndarray = field(init=False, repr=False)
    _ceiling: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        configurations, _ = self.probabilities.shape
        expected = int(np.prod([b.max(initial=0) + 1 for b in self.buckets], dtype=np.int64))
        if configurations != expected:
            raise ValueError(f"table of column {self.child}: {configurations} rows for {expected} configurations")
        if not np.allclose(self.probabilities.sum(axis=1), 1) or (self.probabilities < 0).any():
            raise ValueError(f"table of column {self.child}: rows must be non-negative and sum to 1")
        # Row c of the cumulative table is shifted by c: the flat array is sorted and one search draws a whole column.
        cumulative = np.cumsum(self.probabilities, axis=1)
        cumulative /= cumulative[:, -1:]
        shifted = cumulative + np.arange(configurations)[:, None]
        shifted[:, -1] = np.arange(1, configurations + 1)
        object.__setattr__(self, "_flat", shifted.ravel())
        # Largest float below c + 1: rounding of c + u must not reach the next row.
        object.__setattr__(self, "_ceiling", np.nextafter(np.arange(1.0, configurations + 1), 0))

    @cached_property
    def _log(self) -> np.ndarray:
        """Logarithms of the cells, taken once: every caller gets the same last bits."""
        with np.errstate(divide="ignore"):
            return np.log(self.probabilities)

    @cached_property
    def _guide(self) -> np.ndarray:
        """Where the search for c + u starts, for u in each of ``cardinality`` equal parts of [0, 1)."""
        configurations, cardinality = self.probabilities.shape
        parts = np.maximum(np.arange(cardinality) / cardinality - 1e-9, 0)  # rounding must not start beyond the answer
        starts = np.searchsorted(self._flat, (np.arange(configurations)[:, None] + parts).ravel(), side="right")
        return starts.astype(np.int32 if self._flat.size < 2**31 else np.int64)

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in ("child", "parents", "buckets", "probabilities")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def configuration(self, codes: np.ndarray) -> np.ndarray:
        """Row of the table for each record of codes (n, m)."""
        return mixed_radix(codes, self.parents, self.buckets)

    def draw(self, codes: np.ndarray, coins: Coins, *, systematic: bool = False) -> np.ndarray:
        """Draw the child's code for each record of codes (n, m), given its parents there.

        Every record's draw has the table's law. ``systematic`` makes the draws within one configuration dependent, evenly
        spread over the unit interval: the sample's table then hardly scatters around the model's.
        """
        configurations, cardinality = self.probabilities.shape
        row = self.configuration(codes)
        u = _systematic_uniforms(row, configurations, coins) if systematic else coins.uniform(len(codes))
        wanted = np.minimum(row + u, self._ceiling[row])
        if self._flat.size <= GUIDED_CELLS:
            return np.searchsorted(self._flat, wanted, side="right") - row * cardinality
        # Inverse transform with a guide table (Chen and Asau 1974): start near the answer, step on where it lies behind.
        position = self._guide[row * cardinality + (u * cardinality).astype(np.int64)]
        behind = np.flatnonzero(self._flat[position] <= wanted)
        while len(behind):
            position[behind] += 1
            behind = behind[self._flat[position[behind]] <= wanted[behind]]
        return position - row * cardinality

    def log_probability(self, codes: np.ndarray) -> np.ndarray:
        """Natural log of ``P(child | parents)`` at each record of codes (n, m); logs are taken once, per cell."""
        log_probability: np.ndarray = self._log[self.configuration(codes), codes[:, self.child]]
        return log_probability


def _systematic_uniforms(row: np.ndarray, num_rows: int, coins: Coins) -> np.ndarray:
    """Within each group of equal ``row``: (random rank + one common uniform) / size. Each alone is uniform on [0, 1)."""
    n = len(row)
    shuffled = coins.permutation(n)
    order = shuffled[np.argsort(row[shuffled], kind="stable")]
    count = np.bincount(row, minlength=num_rows)
    group = row[order]
    rank = np.arange(n) - (np.cumsum(count) - count)[group]
    u = np.empty(n)
    u[order] = np.minimum((rank + coins.uniform(num_rows)[group]) / count[group], np.nextafter(1.0, 0.0))
    return u


def mixed_radix(codes: np.ndarray, columns: Sequence[int], buckets: Sequence[np.ndarray]) -> np.ndarray:
    """Number each record's combination of buckets, first column most significant; int64, shape (n,)."""
    key = np.zeros(len(codes), dtype=np.int64)
    for column, bucket in zip(columns, buckets, strict=True):
        key *= int(bucket.max(initial=0)) + 1
        key += bucket[codes[:, column]]
    return key


class BayesianNetwork:
    """Seed-based synthesis (section 3.2) from conditional tables that are given.

    Parameters
    ----------
    tables : sequence of ConditionalTable
        One per attribute, in a topological order: every parent comes before its child. This order is the resampling
        order sigma.
    """

    def __init__(self, tables: Sequence[ConditionalTable]) -> None:
        self.tables = tuple(tables)
        self.order = tuple(t.child for t in self.tables)
        if sorted(self.order) != list(range(len(self.tables))):
            raise ValueError(f"each column needs exactly one table; got tables for columns {self.order}")
        for position, table in enumerate(self.tables):
            if not set(table.parents) <= set(self.order[:position]):
                raise ValueError(f"column {table.child} comes before one of its parents {table.parents} in the order")
        self._seeds = np.empty((0, len(self.tables)), dtype=np.int32)
        self._groups: PrefixGroups | None = None

    @property
    def num_attributes(self) -> int:
        """Number m of attributes."""
        return len(self.tables)

    @property
    def cardinalities(self) -> tuple[int, ...]:
        """Number of codes of each attribute, in column order."""
        sizes = {t.child: t.probabilities.shape[1] for t in self.tables}
        return tuple(sizes[j] for j in range(len(sizes)))

    def attach_seeds(self, seeds: np.ndarray) -> None:
        """Take seed codes (n_s, m), in column order, and index their prefix groups."""
        self._seeds = np.asfortranarray(seeds)
        self._groups = self.group(seeds)

    def group(self, seeds: np.ndarray) -> PrefixGroups:
        """Prefix groups of records (n, m) in this network's order."""
        return PrefixGroups(np.asfortranarray(seeds[:, self.order]), [self.cardinalities[j] for j in self.order])

    def complete(self, codes: np.ndarray, kept: np.ndarray | int, coins: Coins, *, systematic: bool = False) -> np.ndarray:
        """Resample, in place, every attribute of each record beyond its first ``kept`` ones in the order sigma."""
        kept = np.broadcast_to(kept, len(codes))
        for position, table in enumerate(self.tables):
            if (resample := position >= kept).all():
                codes[:, table.child] = table.draw(codes, coins, systematic=systematic)
            elif resample.any():
                rows = np.flatnonzero(resample)
                codes[rows, table.child] = table.draw(codes[rows], coins, systematic=systematic)
        return codes

    def sample(self, num_rows: int, coins: Coins) -> np.ndarray:
        """Records drawn from the network alone, int32 codes (num_rows, m)."""
        return self.complete(np.zeros((num_rows, self.num_attributes), dtype=np.int32, order="F"), 0, coins)

    def propose(self, rows: np.ndarray, omega: np.ndarray, coins: Coins) -> Proposals:
        """Candidates from seed row numbers (N,), each with its own omega (N,)."""
        candidates = np.empty((len(rows), self.num_attributes), dtype=np.int32, order="F")
        for table in self.tables[: self.num_attributes - int(omega.min(initial=self.num_attributes))]:
            candidates[:, table.child] = self._seeds[rows, table.child]
        self.complete(candidates, self.num_attributes - omega, coins)
        return Proposals(candidates=candidates, seeds=rows, omega=omega)

    def log_suffix(self, candidates: np.ndarray) -> np.ndarray:
        """Natural log probability of drawing the values after each prefix, shape (N, m + 1).

        Entry (i, l) is ``sum over positions >= l of log P(y | parents of y)`` for candidate i: the factor of
        ``Pr[y = M(d)]`` for a record d that shares y's first l values when l values are kept. Summed from the last
        position on, in one fixed order, so that every caller gets the same last bits.
        """
        suffix = np.zeros((len(candidates), self.num_attributes + 1))
        for position in reversed(range(self.num_attributes)):
            suffix[:, position] = suffix[:, position + 1] + self.tables[position].log_probability(candidates)
        return suffix

    def log_likelihood(self, proposals: Proposals, rows: np.ndarray) -> np.ndarray:
        """Natural log of Pr[candidate = M(seed) | omega] for seed row numbers (s,), shape (N, s)."""
        kept = self.num_attributes - proposals.omega
        candidates = proposals.candidates[:, self.order]
        seeds = self._seeds[rows][:, self.order]
        shared = np.ones((len(candidates), len(rows)), dtype=bool)
        for position in range(int(kept.max(initial=0))):
            same = candidates[:, position, None] == seeds[None, :, position]
            shared &= same | (position >= kept)[:, None]
        own = self.log_suffix(proposals.candidates)[np.arange(len(kept)), kept]
        return np.where(shared, own[:, None], -np.inf)

    def count_plausible(self, proposals: Proposals, gamma: float) -> np.ndarray:  # noqa: ARG002
        """Plausible seeds of each proposal: the size of its prefix group (gamma is irrelevant for a known omega)."""
        if self._groups is None:
            raise RuntimeError("attach_seeds comes before count_plausible")
        kept = self.num_attributes - proposals.omega
        lengths = np.flatnonzero(np.bincount(kept, minlength=1))
        candidates = proposals.candidates[:, self.order[: lengths[-1]]] if len(lengths) else proposals.candidates
        if len(lengths) == 1:
            return self._groups.sizes(candidates, int(lengths[0]))
        found = np.zeros(len(candidates), dtype=np.int64)
        for length in lengths:
            rows = np.flatnonzero(kept == length)
            found[rows] = self._groups.sizes(candidates[rows], int(length))
        return found

    def mixture_log_likelihood(self, candidates: np.ndarray, omegas: Sequence[int]) -> np.ndarray:
        """Natural log of Pr[y = M(d)] when omega is drawn uniformly from ``omegas`` and stays hidden.

        Returns
        -------
        ndarray, shape (N, m + 1)
            Entry (i, L) holds for every record d that shares exactly the first L values of candidate i: the mixture
            over the omegas with m - omega <= L (docs/explanation/proofs/prefix_groups.md).
        """
        suffix = self.log_suffix(candidates)
        kept = sorted(self.num_attributes - o for o in omegas)
        mixture = np.full((len(candidates), self.num_attributes + 1), -np.inf)
        running = np.full(len(candidates), -np.inf)
        for length in range(self.num_attributes + 1):
            for _ in range(kept.count(length)):
                running = np.logaddexp(running, suffix[:, length] - np.log(len(kept)))
            mixture[:, length] = running
        return mixture

    def count_plausible_mixture(self, proposals: Proposals, omegas: Sequence[int], gamma: float) -> np.ndarray:
        """Plausible seeds of each proposal when omega stays hidden: here gamma matters; shape (N,)."""
        if self._groups is None:
            raise RuntimeError("attach_seeds comes before count_plausible_mixture")
        candidates = proposals.candidates[:, self.order]
        partitions = partition_number(self.mixture_log_likelihood(proposals.candidates, omegas), gamma)
        own = partitions[np.arange(len(candidates)), self._groups.shared_length(candidates, proposals.seeds)]
        at_least = np.stack([self._groups.sizes(candidates, length) for length in range(self.num_attributes + 1)])
        exactly = at_least - np.vstack([at_least[1:], np.zeros_like(at_least[:1])])
        found: np.ndarray = ((partitions == own[:, None]).T * exactly).sum(axis=0)
        return found

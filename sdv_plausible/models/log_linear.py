"""Log-linear conditionals: ``P(child | parents)`` proportional to a product of factors, one per marginal.

A log-linear model of one column (Agresti, *Categorical Data Analysis*, 3rd ed., section 9). The factors of
the measured marginals are stored as they are and never expanded over all parents together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sdv_plausible.models.conditional_table import (
    BITS,
    MOST_CODES,
    AliasTable,
    ConditionalTable,
    ParentConfigurations,
    Thresholds,
    spread_uniforms,
)
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

FLOOR = 1e-6  # smallest weight in a factor, relative to the largest
SMALLEST = 1e-35  # smallest weight in a table: close to the limit of single precision
LEAST = 1e-250  # smallest product of weights: close to the limit of double precision
MOST_COMBINED = 1 << 18  # cells of a table of combined factors: it fits the cache
MOST_ACCEPTANCE = 1 << 21  # cells of an acceptance table
MOST_PROPOSALS = 16  # proposals per record before falling back to inversion
FEW, MOST_AGAIN = 1 / 1024, 7 / 8  # fall back when <1/1024 of the records remain or >7/8 are rejected
CELLS_AT_ONCE = 1 << 17  # records times buckets per block: they fit the cache
Weights = tuple[ParentConfigurations, np.ndarray]  # shape (configurations, child's buckets)


@dataclass(frozen=True, kw_only=True, eq=False)
class Factor:
    """Factor of some parents and the child: weights of the child's buckets for each parent configuration."""

    given: ParentConfigurations
    weights: np.ndarray  # (configurations, child's buckets), in [FLOOR, 1]; each row's largest is 1

    @classmethod
    def of(cls, given: ParentConfigurations, weights: np.ndarray) -> Factor:
        """Scale every row to a largest weight of 1, in single precision."""
        return cls(given=given, weights=bounded(weights).astype(np.float32))

    def __post_init__(self) -> None:
        if not self.given.parents or len(self.weights) != self.given.number:
            raise ValueError(
                f"a factor needs a parent, and a row for each of {self.given.number} configurations"
            )
        if not (self.weights.min() >= np.float32(FLOOR) and (self.weights.max(axis=1) == 1).all()):
            raise ValueError(f"weights of a factor must lie in [{FLOOR:g}, 1], and each row's largest be 1")


def bounded(weights: np.ndarray) -> np.ndarray:
    """Scale every row to a largest weight of 1 and clip it at the floor."""
    return np.maximum(weights / np.maximum(weights.max(axis=1, keepdims=True), 1e-300), FLOOR)


@dataclass(frozen=True, kw_only=True, eq=False)
class LogLinearConditional:
    """``P(code | parents) = P(code | bucket) P(bucket | parents)``, the latter a product of factors."""

    # Tables hold weights in single precision. They are multiplied record by record in one fixed order, and
    # summed in double precision. Draws and likelihoods therefore use the same numbers in any batch.
    child: int  # column number of the attribute
    bucket: np.ndarray  # bucket of every code of the child
    inside: np.ndarray  # P(code | its bucket)
    base: np.ndarray  # weights of the child's buckets that do not depend on parents; zeros are allowed
    factors: tuple[Factor, ...]

    def __post_init__(self) -> None:
        sums = np.bincount(self.bucket, self.inside, len(self.base))
        if (self.inside < 0).any() or not np.allclose(sums, 1):
            raise ValueError(f"column {self.child}: what is inside each bucket must sum to 1")
        if (self.base < 0).any() or not 0 < self.base.max(initial=0) < math.inf:
            raise ValueError(f"column {self.child}: weights must be finite, not negative, and not all 0")
        if any(f.weights.shape[1] != len(self.base) for f in self.factors):
            raise ValueError(f"column {self.child}: every factor must weigh each of its buckets")

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in ("child", "bucket", "inside", "base", "factors")}

    @property
    def parents(self) -> tuple[int, ...]:
        """Column numbers of all parents, in the order of the factors."""
        return tuple(dict.fromkeys(p for f in self.factors for p in f.given.parents))

    @property
    def configurations(self) -> int:
        """Number of configurations of all parents together."""
        return _joint_configurations(self._factors).number

    @property
    def _factors(self) -> list[Weights]:
        return [(f.given, f.weights) for f in self.factors]

    @property
    def cardinality(self) -> int:
        """Number of codes of the child."""
        return len(self.bucket)

    @cached_property
    def _tables(self) -> list[Weights]:
        """The factors, combined into tables where these stay small; the first table includes the base."""
        # The first table is the proposal, the others accept or reject: the strongest factors come first.
        strongest = sorted(self._factors, key=lambda factor: float(factor[1].mean()))
        tables: list[Weights] = []
        for group in _group_tables(strongest, MOST_COMBINED) or [[]]:
            given, product = _product(group)
            product = product * (1 if tables else self.base)
            product = product / product.max(axis=1, keepdims=True)
            tables.append((given, np.maximum(product, SMALLEST if tables else 0).astype(np.float32)))
        return tables

    @cached_property
    def _rescales(self) -> list[bool]:
        """Whether weights are rescaled before each table, to avoid underflow."""
        bound, rescales = 1.0, [False]
        for _, table in self._tables[1:]:
            least = float(table.min())
            rescales.append(bound * least < LEAST)
            bound = least if rescales[-1] else bound * least
        return rescales

    @cached_property
    def most_likely(self) -> np.ndarray:
        """Log of an upper bound on the probability of each code: its probability within its bucket."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.inside))

    def _rows(self, codes: np.ndarray) -> list[np.ndarray]:
        """Return the row of each table for each record of codes (n, m)."""
        return [given.of(codes) for given, _ in self._tables]

    def _cumulative(self, rows: Sequence[np.ndarray]) -> np.ndarray:
        """Return the cumulative bucket weights of records with these rows of the tables."""
        weights: np.ndarray | None = None
        for row, (_, table), rescales in zip(rows, self._tables, self._rescales, strict=True):
            factor = table.take(row, axis=0)
            if weights is not None and rescales:
                weights /= weights.max(axis=1, keepdims=True)
            weights = factor.astype(float) if weights is None else np.multiply(weights, factor, out=weights)
        assert weights is not None
        return np.cumsum(weights, axis=1)

    @cached_property
    def _codes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Codes sorted by bucket, start of each bucket, and cumulative P(code | bucket) + bucket."""
        order = np.argsort(self.bucket, kind="stable")
        counts = np.bincount(self.bucket, minlength=len(self.base))
        starts = np.cumsum(counts) - counts
        running = np.cumsum(self.inside[order])
        offset = np.concatenate([[0.0], running])[starts]
        flat = np.minimum(running - np.repeat(offset, counts), 1.0) + np.repeat(
            np.arange(len(counts)), counts
        )
        flat[starts + counts - 1] = np.arange(1, len(counts) + 1)
        return order, starts, flat

    def draw(self, codes: np.ndarray, rng: KeyedRNG, *, systematic: bool = False) -> np.ndarray:
        """Draw the child's code for each record of codes (n, m), given its parents there."""
        # ``systematic`` as in ConditionalTable: records with similar parents get evenly spread numbers.
        u = spread_uniforms(self._parent_key(codes), rng) if systematic else rng.uniform(len(codes))
        drawn = np.empty(len(codes), dtype=np.int64)
        step = max(CELLS_AT_ONCE // len(self.base), 1)
        for start in range(0, len(codes), step):
            block = slice(start, start + step)
            drawn[block] = self._invert(self._cumulative(self._rows(codes[block])), u[block])
        return drawn

    @cached_property
    def _rejection_sampler(
        self,
    ) -> tuple[list[ParentConfigurations], AliasTable, list[Thresholds], AliasTable | None] | None:
        """Row indices, proposal table, acceptance tables, table of codes within buckets; or None."""
        if any(self._rescales) or self.cardinality > MOST_CODES:
            return None  # use inversion
        (given, weights), *others = self._tables
        acceptance = [_product(group) for group in _group_tables(others, MOST_ACCEPTANCE)]
        inside = np.zeros((len(self.base), self.cardinality))
        inside[self.bucket, np.arange(self.cardinality)] = self.inside
        within = AliasTable(inside) if self.cardinality > len(self.base) else None
        thresholds = [
            Thresholds(np.minimum(w * 2.0**BITS, 2**BITS - 1).astype(np.int64).ravel()) for _, w in acceptance
        ]
        proposal = AliasTable(weights.astype(np.float64))
        return [given, *(g for g, _ in acceptance)], proposal, thresholds, within

    def draw_many(self, codes: np.ndarray, rng: KeyedRNG) -> np.ndarray:
        """Draw as :meth:`draw`, by rejection sampling: propose from the first table, accept by the others."""
        # A record that is still rejected at the end is drawn by inversion, so every draw follows the product.
        # A proposal is off by at most 2^-53 per bucket, all proposals of a record by ``MOST_PROPOSALS`` times
        # that, and each acceptance table by 2^-53.
        if self._rejection_sampler is None:
            return self.draw(codes, rng)
        tables, proposal, acceptance, inside = self._rejection_sampler
        rows = [given.of(codes) for given in tables]
        width, remaining = len(self.base), np.arange(len(codes))
        drawn = bucket = proposal.draw(rows[0], rng)
        for _ in range(MOST_PROPOSALS if acceptance else 0):
            is_accepted = np.ones(len(remaining), dtype=bool)
            for row, thresholds in zip(rows[1:], acceptance, strict=True):
                index = row * width
                index += bucket
                is_accepted &= thresholds.draw(index, rng)
            if bucket is not drawn:
                drawn[remaining] = bucket
            rejected = np.flatnonzero(~is_accepted)
            remaining, rows = remaining.take(rejected), [row.take(rejected) for row in rows]
            if len(remaining) < FEW * len(codes) or len(remaining) > MOST_AGAIN * len(is_accepted):
                break
            bucket = proposal.draw(rows[0], rng)
        codes_drawn = (
            self._codes[0].take(drawn) if inside is None else inside.draw(drawn.astype(np.intp), rng)
        )
        if acceptance and len(remaining):
            codes_drawn[remaining] = self._invert(
                self._cumulative(self._rows(codes[remaining])), rng.uniform(len(remaining))
            )
        return codes_drawn

    def _parent_key(self, codes: np.ndarray) -> np.ndarray:
        """Return a sort key that is equal for records with the same buckets of the first parents."""
        number, key = 1, np.zeros(len(codes), dtype=np.int64)
        for factor in self.factors:
            if number * factor.given.number >= 2**62:
                break
            number *= factor.given.number
            key = key * factor.given.number + factor.given.of(codes)
        return key

    def _invert(self, cumulative: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Invert at u: find the bucket, then the code within it from the remainder of u."""
        target = u * cumulative[:, -1]
        bucket = (cumulative <= target[:, None]).sum(axis=1)
        bucket = np.minimum(bucket, len(self.base) - 1)
        order, _, flat = self._codes
        if len(order) == len(self.base):
            return order[bucket]
        records = np.arange(len(u))
        below = np.where(bucket > 0, cumulative[records, bucket - 1], 0.0)
        remainder = (target - below) / (cumulative[records, bucket] - below)
        ceiling = np.nextafter(bucket + 1.0, 0)
        return order[np.searchsorted(flat, np.minimum(bucket + remainder, ceiling), side="right")]

    def log_probability(self, codes: np.ndarray) -> np.ndarray:
        """Return the natural log of ``P(child | parents)`` at each record of codes (n, m)."""
        log_bucket = np.empty(len(codes))
        step = max(CELLS_AT_ONCE // len(self.base), 1)
        for start in range(0, len(codes), step):
            block = codes[start : start + step]
            cumulative, bucket = self._cumulative(self._rows(block)), self.bucket[block[:, self.child]]
            records = np.arange(len(block))
            weight = cumulative[records, bucket] - np.where(bucket > 0, cumulative[records, bucket - 1], 0.0)
            with np.errstate(divide="ignore"):
                log_bucket[start : start + step] = np.log(weight / cumulative[:, -1])
        with np.errstate(divide="ignore"):
            return log_bucket + np.log(self.inside)[codes[:, self.child]]

    def tabulated(self) -> ConditionalTable:
        """Expand into a dense table over all configurations of the parents."""
        given, weights = _product(self._factors)
        weights = weights * self.base
        bucket_probabilities = weights / weights.sum(axis=1, keepdims=True)
        table = bucket_probabilities[:, self.bucket] * self.inside
        return ConditionalTable(
            child=self.child,
            parents=given.parents,
            buckets=given.buckets,
            probabilities=table / table.sum(axis=1, keepdims=True),
        )


def _group_tables(tables: Sequence[Weights], most: int) -> list[list[Weights]]:
    """Greedily group tables so that each product has at most ``most`` cells."""
    groups: list[list[Weights]] = []
    for table in tables:
        for group in groups:
            if _joint_configurations([*group, table]).number * table[1].shape[1] <= most:
                group.append(table)
                break
        else:
            groups.append([table])
    return groups


def _joint_configurations(tables: Sequence[Weights]) -> ParentConfigurations:
    """Return the coarsest configurations that refine those of every table."""
    buckets_of: dict[int, list[np.ndarray]] = {}
    for given, _ in tables:
        for parent, bucket in zip(given.parents, given.buckets, strict=True):
            buckets_of.setdefault(parent, []).append(bucket)
    return ParentConfigurations(
        parents=tuple(buckets_of),
        buckets=tuple(_common_refinement(buckets) for buckets in buckets_of.values()),
    )


def _common_refinement(buckets: Sequence[np.ndarray]) -> np.ndarray:
    """Return the common refinement of several bucketings of a column."""
    if len(buckets) == 1:
        return buckets[0]
    return np.unique(np.stack(buckets), axis=1, return_inverse=True)[1].reshape(-1)


def _product(tables: Sequence[Weights]) -> Weights:
    """Return the product of tables over their joint configurations, with a largest weight of 1 per row."""
    given = _joint_configurations(tables)
    digits = np.unravel_index(np.arange(given.number), given.sizes) if given.sizes else ()
    code = {  # one representative code per bucket
        parent: np.unique(bucket, return_index=True)[1][digit]
        for parent, bucket, digit in zip(given.parents, given.buckets, digits, strict=True)
    }
    product = np.ones((given.number, tables[0][1].shape[1] if tables else 1))
    for each, weights in tables:
        product = product * weights[each.of_columns(code)]
        product /= product.max(axis=1, keepdims=True)
    return given, product

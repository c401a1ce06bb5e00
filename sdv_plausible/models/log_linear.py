"""Conditionals as products: ``P(child | parents)`` proportional to one factor for each known table.

A log-linear model of one column (Agresti, *Categorical Data Analysis*, 3rd ed., section 9): what tables of
the child and one parent, or a few, say is kept as it is, and never multiplied out over all parents together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sdv_plausible.models.alias_tables import BITS, MOST_CODES, AliasTable, Thresholds
from sdv_plausible.models.conditional_table import ConditionalTable, ParentConfigurations, spread_uniforms
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

FLOOR = 1e-6  # least weight in a factor, next to 1
SMALLEST = 1e-35  # in a table, whose precision ends a little below
LEAST = 1e-250  # of weights multiplied: so does theirs
MOST_COMBINED = 1 << 18  # cells of several factors in one table: they stay in the cache
MOST_TURNING = 1 << 21  # cells of several such tables in one that turns proposals away
MOST_PROPOSALS = 16  # to a record, before it is drawn by inversion
FEW, MOST_AGAIN = 1 / 1024, 7 / 8  # of records left, and turned away at once: so is a record then
CELLS_AT_ONCE = 1 << 17  # records times buckets: so do these
Weights = tuple[ParentConfigurations, np.ndarray]  # of the child's buckets, a row for each configuration


@dataclass(frozen=True, kw_only=True, eq=False)
class Factor:
    """What some parents say of the child: weights of its buckets, up to what their row is multiplied by."""

    given: ParentConfigurations
    weights: np.ndarray  # (configurations, child's buckets), in [FLOOR, 1]; each row's largest is 1

    @classmethod
    def of(cls, given: ParentConfigurations, weights: np.ndarray) -> Factor:
        """Scale every row to a largest weight of 1, in the precision in which it is used."""
        return cls(given=given, weights=bounded(weights).astype(np.float32))

    def __post_init__(self) -> None:
        if not self.given.parents or len(self.weights) != self.given.number:
            raise ValueError(
                f"a factor needs a parent, and a row for each of {self.given.number} configurations"
            )
        if not (self.weights.min() >= np.float32(FLOOR) and (self.weights.max(axis=1) == 1).all()):
            raise ValueError(f"weights of a factor must lie in [{FLOOR:g}, 1], and each row's largest be 1")


def bounded(weights: np.ndarray) -> np.ndarray:
    """Every row scaled to a largest weight of 1, and none below the floor."""
    return np.maximum(weights / np.maximum(weights.max(axis=1, keepdims=True), 1e-300), FLOOR)


@dataclass(frozen=True, kw_only=True, eq=False)
class LogLinearConditional:
    """``P(code | parents) = P(code | bucket) P(bucket | parents)``, the second a product of factors."""

    # Tables hold weights in single precision. They are multiplied, record by record in one fixed order, and
    # added up in double: what is drawn and the probability that is told of it come from the same numbers,
    # whatever else is asked at the same time.
    child: int  # column number of the attribute
    bucket: np.ndarray  # of every code of the child
    inside: np.ndarray  # P(code | its bucket)
    base: np.ndarray  # weights of the child's buckets that no parent changes; may hold zeros
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
        """Column numbers of all columns that some factor looks at, in the order in which they come."""
        return tuple(dict.fromkeys(p for f in self.factors for p in f.given.parents))

    @property
    def configurations(self) -> int:
        """Number of configurations of all parents together."""
        return _joined(self._factors).number

    @property
    def _factors(self) -> list[Weights]:
        return [(f.given, f.weights) for f in self.factors]

    @property
    def cardinality(self) -> int:
        """Number of codes of the child."""
        return len(self.bucket)

    @cached_property
    def _tables(self) -> list[Weights]:
        """The factors, several multiplied in one table where it stays small; the base is in the first."""
        # The first table proposes, the others turn away: it should hold the factors that say most.
        telling = sorted(self._factors, key=lambda factor: float(factor[1].mean()))
        tables: list[Weights] = []
        for group in _grouped(telling, MOST_COMBINED) or [[]]:
            given, law = _multiplied(group)
            law = law * (1 if tables else self.base)
            law = law / law.max(axis=1, keepdims=True)
            tables.append((given, np.maximum(law, SMALLEST if tables else 0).astype(np.float32)))
        return tables

    @cached_property
    def _divides(self) -> list[bool]:
        """Whether rows are divided by their largest weight before each table: they must not all become 0."""
        bound, found = 1.0, [False]
        for _, table in self._tables[1:]:
            least = float(table.min())
            found.append(bound * least < LEAST)
            bound = least if found[-1] else bound * least
        return found

    @cached_property
    def most_likely(self) -> np.ndarray:
        """Of each code the log of a bound on its probability: of that in its bucket, for any parents."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.inside))

    def _rows(self, codes: np.ndarray) -> list[np.ndarray]:
        """Row of each table for each record of codes (n, m)."""
        return [given.of(codes) for given, _ in self._tables]

    def _cumulative(self, rows: Sequence[np.ndarray]) -> np.ndarray:
        """Sums of the weights of the first bucket, the first two, ..., for records of rows of the tables."""
        weights: np.ndarray | None = None
        for row, (_, table), divides in zip(rows, self._tables, self._divides, strict=True):
            found = table.take(row, axis=0)
            if weights is not None and divides:
                weights /= weights.max(axis=1, keepdims=True)
            weights = found.astype(float) if weights is None else np.multiply(weights, found, out=weights)
        assert weights is not None
        return np.cumsum(weights, axis=1)

    @cached_property
    def _codes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Codes bucket by bucket, where each bucket starts, and cumulative P(code | bucket) + bucket."""
        order = np.argsort(self.bucket, kind="stable")
        size = np.bincount(self.bucket, minlength=len(self.base))
        starts = np.cumsum(size) - size
        running = np.cumsum(self.inside[order])
        before = np.concatenate([[0.0], running])[starts]
        flat = np.minimum(running - np.repeat(before, size), 1.0) + np.repeat(np.arange(len(size)), size)
        flat[starts + size - 1] = np.arange(1, len(size) + 1)
        return order, starts, flat

    def draw(self, codes: np.ndarray, coins: KeyedRNG, *, systematic: bool = False) -> np.ndarray:
        """Draw the child's code for each record of codes (n, m), given its parents there."""
        # ``systematic`` as in a table: records whose parents are alike get numbers that are evenly spread.
        u = spread_uniforms(self._alike(codes), coins) if systematic else coins.uniform(len(codes))
        drawn = np.empty(len(codes), dtype=np.int64)
        step = max(CELLS_AT_ONCE // len(self.base), 1)
        for start in range(0, len(codes), step):
            here = slice(start, start + step)
            drawn[here] = self._found(self._cumulative(self._rows(codes[here])), u[here])
        return drawn

    @cached_property
    def _many(
        self,
    ) -> tuple[list[ParentConfigurations], AliasTable, list[Thresholds], AliasTable | None] | None:
        """Rows that are looked up, who proposes, who turns away, and who draws codes inside buckets.

        None where that does not do.
        """
        if any(self._divides) or self.cardinality > MOST_CODES:
            return None
        (given, law), *others = self._tables
        turning = [_multiplied(group) for group in _grouped(others, MOST_TURNING)]
        inside = np.zeros((len(self.base), self.cardinality))
        inside[self.bucket, np.arange(self.cardinality)] = self.inside
        several = AliasTable(inside) if self.cardinality > len(self.base) else None
        marks = [
            Thresholds(np.minimum(w * 2.0**BITS, 2**BITS - 1).astype(np.int64).ravel()) for _, w in turning
        ]
        proposed = AliasTable(law.astype(np.float64))
        return [given, *(g for g, _ in turning)], proposed, marks, several

    def draw_many(self, codes: np.ndarray, coins: KeyedRNG) -> np.ndarray:
        """Draw as :meth:`draw` does, by rejection: from the first table, kept as often as the others say.

        A record that is turned away so often that its tables contradict each other is drawn by inversion. So
        each has the law of the product, whose weights are the numbers that :meth:`log_probability` tells.
        """
        # A proposal is off by 2^-53 for each bucket at most, and so, whatever is turned away, are all of a
        # record's together by ``MOST_PROPOSALS`` times that; what turns away by 2^-53 for each table.
        if self._many is None:
            return self.draw(codes, coins)
        tables, proposed, turning, inside = self._many
        rows = [given.of(codes) for given in tables]
        width, left = len(self.base), np.arange(len(codes))
        drawn = bucket = proposed.draw(rows[0], coins)
        for _ in range(MOST_PROPOSALS if turning else 0):
            is_kept = np.ones(len(left), dtype=bool)
            for row, marks in zip(rows[1:], turning, strict=True):
                place = row * width
                place += bucket
                is_kept &= marks.draw(place, coins)
            if bucket is not drawn:
                drawn[left] = bucket
            again = np.flatnonzero(~is_kept)
            left, rows = left.take(again), [row.take(again) for row in rows]
            if len(left) < FEW * len(codes) or len(left) > MOST_AGAIN * len(is_kept):
                break
            bucket = proposed.draw(rows[0], coins)
        found = self._codes[0].take(drawn) if inside is None else inside.draw(drawn.astype(np.intp), coins)
        if turning and len(left):
            found[left] = self._found(self._cumulative(self._rows(codes[left])), coins.uniform(len(left)))
        return found

    def _alike(self, codes: np.ndarray) -> np.ndarray:
        """A number that is the same for records with the same buckets of the first parents."""
        number, at = 1, np.zeros(len(codes), dtype=np.int64)
        for factor in self.factors:
            if number * factor.given.number >= 2**62:
                break
            number *= factor.given.number
            at = at * factor.given.number + factor.given.of(codes)
        return at

    def _found(self, cumulative: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Inversion at u: the bucket, and with what is left of u the code inside it."""
        wanted = u * cumulative[:, -1]
        bucket = (cumulative <= wanted[:, None]).sum(axis=1)
        bucket = np.minimum(bucket, len(self.base) - 1)
        order, _, flat = self._codes
        if len(order) == len(self.base):
            return order[bucket]
        line = np.arange(len(u))
        below = np.where(bucket > 0, cumulative[line, bucket - 1], 0.0)
        left = (wanted - below) / (cumulative[line, bucket] - below)
        ceiling = np.nextafter(bucket + 1.0, 0)
        return order[np.searchsorted(flat, np.minimum(bucket + left, ceiling), side="right")]

    def log_probability(self, codes: np.ndarray) -> np.ndarray:
        """Natural log of ``P(child | parents)`` at each record of codes (n, m)."""
        found = np.empty(len(codes))
        step = max(CELLS_AT_ONCE // len(self.base), 1)
        for start in range(0, len(codes), step):
            here = codes[start : start + step]
            cumulative, bucket = self._cumulative(self._rows(here)), self.bucket[here[:, self.child]]
            line = np.arange(len(here))
            weight = cumulative[line, bucket] - np.where(bucket > 0, cumulative[line, bucket - 1], 0.0)
            with np.errstate(divide="ignore"):
                found[start : start + step] = np.log(weight / cumulative[:, -1])
        with np.errstate(divide="ignore"):
            return found + np.log(self.inside)[codes[:, self.child]]

    def tabulated(self) -> ConditionalTable:
        """The same as a table over all configurations of the parents."""
        given, weights = _multiplied(self._factors)
        weights = weights * self.base
        law = weights / weights.sum(axis=1, keepdims=True)
        table = law[:, self.bucket] * self.inside
        return ConditionalTable(
            child=self.child,
            parents=given.parents,
            buckets=given.buckets,
            probabilities=table / table.sum(axis=1, keepdims=True),
        )


def _grouped(tables: Sequence[Weights], most: int) -> list[list[Weights]]:
    """Tables that have at most so many cells when they are multiplied; each joins the first where it fits."""
    groups: list[list[Weights]] = []
    for table in tables:
        for group in groups:
            if _joined([*group, table]).number * table[1].shape[1] <= most:
                group.append(table)
                break
        else:
            groups.append([table])
    return groups


def _joined(tables: Sequence[Weights]) -> ParentConfigurations:
    """Configurations that tell those of every table."""
    told: dict[int, list[np.ndarray]] = {}
    for given, _ in tables:
        for parent, bucket in zip(given.parents, given.buckets, strict=True):
            told.setdefault(parent, []).append(bucket)
    return ParentConfigurations(
        parents=tuple(told), buckets=tuple(_both(buckets) for buckets in told.values())
    )


def _both(buckets: Sequence[np.ndarray]) -> np.ndarray:
    """Buckets of codes that are in the same bucket of each."""
    if len(buckets) == 1:
        return buckets[0]
    return np.unique(np.stack(buckets), axis=1, return_inverse=True)[1].reshape(-1)


def _multiplied(tables: Sequence[Weights]) -> Weights:
    """Product of tables at every configuration of all, rows scaled to a largest weight of 1."""
    given = _joined(tables)
    digits = np.unravel_index(np.arange(given.number), given.sizes) if given.sizes else ()
    code = {  # any code of each bucket
        parent: np.unique(bucket, return_index=True)[1][digit]
        for parent, bucket, digit in zip(given.parents, given.buckets, digits, strict=True)
    }
    product = np.ones((given.number, tables[0][1].shape[1] if tables else 1))
    for each, weights in tables:
        product = product * weights[each.of_columns(code)]
        product /= product.max(axis=1, keepdims=True)
    return given, product

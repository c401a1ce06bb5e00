"""Columns that follow from others: by equality, as a sum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.rules import rule_cells
from sdv_plausible.rules.rule import Columns, DerivingRule, Formats, Words, check_columns, check_sdtypes
from sdv_plausible.table.columns.domain import Attribute

TOLERANCE = 1e-9  # of sums of doubles, relative


@dataclass(frozen=True)
class Equal(DerivingRule):
    """A column that equals another one.

    Parameters
    ----------
    column : str
        The column that is made.
    other : str
        The one that is modelled.
    """

    column: str
    other: str
    kind = "equal"

    def __post_init__(self) -> None:
        check_columns("Equal", [self.column, self.other])

    @property
    def made(self) -> tuple[str, ...]:
        """The copy."""
        return (self.column,)

    @property
    def sources(self) -> tuple[str, ...]:
        """The original."""
        return (self.other,)

    def check(self, words: Mapping[str, Words]) -> None:
        """Refuse columns of two types."""
        check_sdtypes(self, words, words[self.other].get("sdtype", ""))

    def unfold(self, table: pd.DataFrame, formats: Formats, made: Mapping[str, Attribute]) -> Columns:
        """Copy it; dates in the copy's own format."""
        if self.other in formats:
            return {
                self.column: rule_cells.written(
                    *rule_cells.numbers(table, self.other, formats), made[self.column]
                )
            }
        return {self.column: table[self.other].reset_index(drop=True)}

    def attributes(
        self, known: Mapping[str, Attribute], words: Mapping[str, Words], styles: Mapping[str, Words]
    ) -> tuple[Attribute, ...]:
        """Those of the original, with the copy's own style of dates."""
        found = replace(known[self.other], name=self.column, buckets=None, groups=None, counts=None)
        plain = {"datetime_format": None, "time_zone": None}
        style = {**plain, **styles.get(self.column, {})} if found.kind == "datetime" else {}
        return (replace(found, **style),)

    def holds(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """Whether both are the same, or both missing."""
        return rule_cells.same(table, self.column, self.other, formats)

    def to_dict(self) -> dict[str, Any]:
        """Plain form."""
        return {"rule": self.kind, "column": self.column, "other": self.other}

    def __str__(self) -> str:
        return f"{self.column} = {self.other}"


@dataclass(frozen=True)
class Sum(DerivingRule):
    """A column that is the sum of others; missing where one of them is.

    Parameters
    ----------
    total : str
        The column that is made.
    parts : sequence of str
        The summands.
    """

    total: str
    parts: tuple[str, ...]
    kind = "sum"

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", check_columns("Sum: parts", self.parts, 2))
        check_columns("Sum", [self.total, *self.parts])

    @property
    def made(self) -> tuple[str, ...]:
        """The total."""
        return (self.total,)

    @property
    def sources(self) -> tuple[str, ...]:
        """The summands."""
        return self.parts

    def check(self, words: Mapping[str, Words]) -> None:
        """Refuse columns that are no numbers."""
        check_sdtypes(self, words, "numerical")

    def _sum(self, table: pd.DataFrame, formats: Formats) -> tuple[np.ndarray, np.ndarray]:
        read = [rule_cells.numbers(table, name, formats) for name in self.parts]
        there = np.logical_and.reduce([present for _, present in read])
        with np.errstate(over="ignore"):  # one cell is no reason for a warning
            return np.sum([np.where(there, values, 0.0) for values, _ in read], axis=0), there

    def unfold(self, table: pd.DataFrame, formats: Formats, made: Mapping[str, Attribute]) -> Columns:
        """Add the parts up."""
        return {self.total: rule_cells.written(*self._sum(table, formats), made[self.total])}

    def attributes(
        self, known: Mapping[str, Attribute], words: Mapping[str, Words], styles: Mapping[str, Words]
    ) -> tuple[Attribute, ...]:
        """One bin from the smallest sum to the largest."""
        parts = [known[name] for name in self.parts]
        if any(not part.lower for part in parts):  # nothing is known but that they are missing
            common: Words = {"name": self.total, "lower": (0,), "upper": (0,), "nullable": True}
            return (Attribute(kind="integer", **common),)
        whole = all(part.kind == "integer" for part in parts)
        places = [0 if part.kind == "integer" else part.decimals for part in parts]
        decimals = None if None in places else max(p for p in places if p is not None)
        ends = sum(part.lower[0] for part in parts), sum(part.upper[-1] for part in parts)
        nullable = any(part.nullable for part in parts)
        return (rule_cells.one_bin(self.total, ends, whole=whole, decimals=decimals, nullable=nullable),)

    def holds(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """Whether the total is the sum, or missing where a part is."""
        wanted, there = self._sum(table, formats)
        total, present = rule_cells.numbers(table, self.total, formats)
        near = np.abs(np.where(present, total, 0) - wanted) <= TOLERANCE * np.maximum(1, np.abs(wanted))
        return np.where(there & present, near, there == present)

    def to_dict(self) -> dict[str, Any]:
        """Plain form."""
        return {"rule": self.kind, "total": self.total, "parts": list(self.parts)}

    def __str__(self) -> str:
        return f"{self.total} = {' + '.join(self.parts)}"

"""Derived columns: equal to another column, or the sum of others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.rules import rule_cells
from sdv_plausible.rules.rule import Columns, ColumnSpec, DerivingRule, Formats, check_columns, check_sdtypes
from sdv_plausible.table.columns.domain import Attribute

TOLERANCE = 1e-9  # relative, for sums of doubles


@dataclass(frozen=True)
class Equal(DerivingRule):
    """A column that equals another one.

    Parameters
    ----------
    column : str
        The derived column.
    other : str
        The modelled column.

    Raises
    ------
    ValueError
        If the names are equal.
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

    def check(self, specs: Mapping[str, ColumnSpec]) -> None:
        """Raise an error if the columns have different sdtypes."""
        check_sdtypes(self, specs, specs[self.other].get("sdtype", ""))

    def unfold(self, table: pd.DataFrame, formats: Formats, derived: Mapping[str, Attribute]) -> Columns:
        """Copy the original; dates in the copy's own format."""
        if self.other in formats:
            return {
                self.column: rule_cells.to_column(
                    *rule_cells.to_numbers(table, self.other, formats), derived[self.column]
                )
            }
        return {self.column: table[self.other].reset_index(drop=True)}

    def attributes(
        self,
        inputs: Mapping[str, Attribute],
        specs: Mapping[str, ColumnSpec],
        styles: Mapping[str, ColumnSpec],
    ) -> tuple[Attribute, ...]:
        """Attribute of the original, with the copy's own date style."""
        copy = replace(inputs[self.other], name=self.column, buckets=None, groups=None, counts=None)
        no_style = {"datetime_format": None, "time_zone": None}
        style = {**no_style, **styles.get(self.column, {})} if copy.kind == "datetime" else {}
        return (replace(copy, **style),)

    def holds(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """Mask of rows where both are equal, or both missing."""
        return rule_cells.are_equal(table, self.column, self.other, formats)

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {"rule": self.kind, "column": self.column, "other": self.other}

    def __str__(self) -> str:
        return f"{self.column} = {self.other}"


@dataclass(frozen=True)
class Sum(DerivingRule):
    """A column that is the sum of others; missing where any of them is.

    Parameters
    ----------
    total : str
        The derived column.
    parts : sequence of str
        The summands, two or more.

    Raises
    ------
    ValueError
        If there are fewer than two parts, or names repeat.
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

    def check(self, specs: Mapping[str, ColumnSpec]) -> None:
        """Raise an error if a column is not numerical."""
        check_sdtypes(self, specs, "numerical")

    def _sum(self, table: pd.DataFrame, formats: Formats) -> tuple[np.ndarray, np.ndarray]:
        parts = [rule_cells.to_numbers(table, name, formats) for name in self.parts]
        present = np.logical_and.reduce([part_present for _, part_present in parts])
        with np.errstate(over="ignore"):  # no warning because of one cell
            return np.sum([np.where(present, values, 0.0) for values, _ in parts], axis=0), present

    def unfold(self, table: pd.DataFrame, formats: Formats, derived: Mapping[str, Attribute]) -> Columns:
        """Add the parts."""
        return {self.total: rule_cells.to_column(*self._sum(table, formats), derived[self.total])}

    def attributes(
        self,
        inputs: Mapping[str, Attribute],
        specs: Mapping[str, ColumnSpec],
        styles: Mapping[str, ColumnSpec],
    ) -> tuple[Attribute, ...]:
        """One bin from the smallest sum to the largest."""
        parts = [inputs[name] for name in self.parts]
        if any(not part.lower for part in parts):  # all cells are missing
            common: ColumnSpec = {"name": self.total, "lower": (0,), "upper": (0,), "nullable": True}
            return (Attribute(kind="integer", **common),)
        whole = all(part.kind == "integer" for part in parts)
        decimals = rule_cells.common_decimals(parts)
        ends = sum(part.lower[0] for part in parts), sum(part.upper[-1] for part in parts)
        nullable = any(part.nullable for part in parts)
        return (rule_cells.single_bin(self.total, ends, whole=whole, decimals=decimals, nullable=nullable),)

    def holds(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """Mask of rows where the total is the sum, or missing where a part is."""
        expected, expected_present = self._sum(table, formats)
        total, present = rule_cells.to_numbers(table, self.total, formats)
        near = np.abs(np.where(present, total, 0) - expected) <= TOLERANCE * np.maximum(1, np.abs(expected))
        return np.where(expected_present & present, near, expected_present == present)

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {"rule": self.kind, "total": self.total, "parts": list(self.parts)}

    def __str__(self) -> str:
        return f"{self.total} = {' + '.join(self.parts)}"

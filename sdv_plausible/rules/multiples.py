"""Columns of multiples of a step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.rules import rule_cells
from sdv_plausible.rules.rule import Columns, ColumnSpec, DerivingRule, Formats, check_columns, check_sdtypes
from sdv_plausible.table.columns.domain import Attribute


@dataclass(frozen=True)
class Multiple(DerivingRule):
    """A number that is always a multiple of a step, such as prices in quarters: ``Multiple("price", 0.25)``.

    Parameters
    ----------
    column : str
        The column.
    step : float
        Positive. A real value between two multiples is encoded as the nearest one.

    Raises
    ------
    ValueError
        If step is not a positive number.
    """

    column: str
    step: float
    kind: ClassVar[str] = "multiple"
    reversible: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_columns("Multiple", [self.column])
        check.positive("step", self.step, "give the distance of two values, such as 0.25")
        check.plain_numbers(self)

    @property
    def made(self) -> tuple[str, ...]:
        """The column itself, derived from the number of steps."""
        return (self.column,)

    @property
    def steps(self) -> str:
        """Name of the surrogate column."""
        return f"{self.column} / {self.step:g}"

    @property
    def added(self) -> tuple[str, ...]:
        """The number of steps."""
        return (self.steps,)

    def check(self, specs: Mapping[str, ColumnSpec]) -> None:
        """Raise an error if the column is not numerical."""
        check_sdtypes(self, specs, "numerical")

    def surrogate_specs(self, specs: Mapping[str, ColumnSpec]) -> dict[str, ColumnSpec]:
        """Number of steps, in the declared range if any."""
        spec = specs.get(self.column, {})
        self._check_fine(spec)
        steps: ColumnSpec = {"sdtype": "numerical"}
        if spec.get("range_min") is not None:
            steps["range_min"] = math.ceil(spec["range_min"] / self.step - 1e-9)
        if spec.get("range_max") is not None:
            steps["range_max"] = math.floor(spec["range_max"] / self.step + 1e-9)
        if steps.get("range_min", -math.inf) > steps.get("range_max", math.inf):
            raise check.Refused.saying(
                "rules", f"rule '{self}' contradicts the declared range: it holds no such multiple"
            )
        if steps.keys() > {"sdtype"}:
            steps["decimal_places"] = 0
        if spec.get("range_is_nullable") is not None:
            steps["range_is_nullable"] = spec["range_is_nullable"]
        if spec.get("special_values"):
            steps["special_values"] = [round(v / self.step) for v in spec["special_values"]]
        return {self.steps: steps}

    def _check_fine(self, spec: ColumnSpec) -> None:
        """Raise an error if the number of steps exceeds 64 bits, or if special values are texts."""
        if any(isinstance(value, str) for value in spec.get("special_values") or ()):
            raise check.Refused.saying(
                "special_values",
                f"column {self.column!r}: special_values that are texts do not go with a resolution, or a "
                "Multiple: leave one of them out",
            )
        ends = [spec[word] for word in ("range_min", "range_max") if spec.get(word) is not None]
        largest = max((abs(end) for end in (*ends, *(spec.get("special_values") or ()))), default=0)
        if largest / 2**63 >= self.step:
            rule = (
                f"of column {self.column!r}, or the step of its Multiple, must be above {largest / 2**63:g}"
            )
            raise check.Refused("resolution", self.step, rule, "the range has too many multiples")

    def fold(self, table: pd.DataFrame, formats: Formats) -> Columns:
        """Nearest whole number of steps."""
        values, present = rule_cells.to_numbers(table, self.column, formats)
        with np.errstate(over="ignore"):  # no warning because of one cell
            steps = np.round(np.where(present, values, 0) / self.step)
        return {self.steps: pd.Series(np.where(present, steps, np.nan), index=table.index)}

    def unfold(self, table: pd.DataFrame, formats: Formats, derived: Mapping[str, Attribute]) -> Columns:
        """Number of steps times the step."""
        steps, present = rule_cells.to_numbers(table, self.steps, {})
        with np.errstate(over="ignore"):
            values = rule_cells.round_decimals(steps * self.step)
        return {self.column: rule_cells.to_column(values, present, derived[self.column])}

    def attributes(
        self,
        inputs: Mapping[str, Attribute],
        specs: Mapping[str, ColumnSpec],
        styles: Mapping[str, ColumnSpec],
    ) -> tuple[Attribute, ...]:
        """One bin over all steps."""
        steps = inputs[self.steps]
        whole, places = float(self.step).is_integer(), 0
        while places < 12 and not math.isclose(round(self.step, places), self.step, rel_tol=1e-12):
            places += 1
        ends = (steps.lower[0] * self.step, steps.upper[-1] * self.step) if steps.lower else (0, 0)
        nullable = steps.nullable or not steps.lower
        return (rule_cells.single_bin(self.column, ends, whole=whole, decimals=places, nullable=nullable),)

    def holds(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """Mask of rows whose value is a multiple, or missing."""
        values, present = rule_cells.to_numbers(table, self.column, formats)
        steps = np.where(present, values, 0) / self.step
        return np.asarray(np.abs(steps - np.round(steps)) <= 1e-6)

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {"rule": self.kind, "column": self.column, "step": self.step}

    def __str__(self) -> str:
        return f"{self.column} is a multiple of {self.step:g}"

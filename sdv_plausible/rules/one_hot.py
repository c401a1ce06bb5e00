"""One-hot groups: flags of which exactly one is set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.privacy.parameter_checks import Refused, shown
from sdv_plausible.rules import rule_cells
from sdv_plausible.rules.rule import (
    Columns,
    ColumnSpec,
    DerivingRule,
    Formats,
    check_columns,
    check_sdtypes,
    check_values,
)
from sdv_plausible.table.cells.canonical_forms import LONGEST_NAME
from sdv_plausible.table.columns.domain import Attribute

_MOST = 2**62  # largest absolute value of a flag


class OneHot(DerivingRule):
    """Columns of which exactly one is set, modelled as one category.

    Parameters
    ----------
    columns : sequence of str
        The flags, two or more.
    values : (off, on)
        Values of an unset and a set flag: ``(0, 1)``, ``(False, True)``, ``("no", "yes")``.

    Raises
    ------
    ValueError
        If there are fewer than two columns, or off and on are equal, missing or beyond 2^62.

    Examples
    --------
    >>> print(OneHot(["red", "green", "blue"]))
    exactly one of red, green, blue
    """

    kind = "one_hot"

    def __init__(self, columns: Sequence[str], values: tuple[Any, Any] = (0, 1)) -> None:
        self._columns = check_columns("OneHot", columns, 2)
        check_values("OneHot: values", values)
        if len(values) != 2 or len({rule_cells.cell_key(value, "", {}) for value in values}) < 2:
            raise ValueError(f"OneHot: values ({shown(values)}) must be two, of an unset and of a set flag")
        if any(pd.isna(value) or (rule_cells.is_number(value) and abs(value) > _MOST) for value in values):
            raise ValueError(f"OneHot: values ({shown(values)}) must be there, and numbers within 2^62")
        self.off, self.on = values

    @property
    def made(self) -> tuple[str, ...]:
        """All flags."""
        return self._columns

    @property
    def which(self) -> str:
        """Name of the surrogate column."""
        name = f"one of {', '.join(self._columns)}"
        if len(name) <= LONGEST_NAME:
            return name
        return f"one of {self._columns[0]} and {len(self._columns) - 1} others"

    @property
    def added(self) -> tuple[str, ...]:
        """The category."""
        return (self.which,)

    @property
    def named(self) -> list[tuple[str, Any]]:
        """Values of the flags."""
        return [(name, value) for name in self._columns for value in (self.off, self.on)]

    def check(self, specs: Mapping[str, ColumnSpec]) -> None:
        """Raise an error if flags are dates, or if their type cannot hold the values."""
        check_sdtypes(self, specs, "numerical", "categorical", "boolean")
        numbers = [name for name in self._columns if specs[name]["sdtype"] == "numerical"]
        if numbers and not all(map(rule_cells.is_number, (self.off, self.on))):
            raise Refused.saying(
                "rules", f"rule '{self}': the values of column {numbers[0]!r} must be numbers"
            )

    def resolve(self, specs: Mapping[str, ColumnSpec]) -> OneHot:
        """Return the rule with boolean values, if all columns are boolean."""
        all_boolean = all(specs.get(name, {}).get("sdtype") == "boolean" for name in self._columns)
        return OneHot(self._columns, (bool(self.off), bool(self.on))) if all_boolean else self

    def surrogate_specs(self, specs: Mapping[str, ColumnSpec]) -> dict[str, ColumnSpec]:
        """One category: the names of the columns."""
        return {
            self.which: {
                "sdtype": "categorical",
                "range_values": list(self._columns),
                "range_is_nullable": False,
            }
        }

    def _set(self, table: pd.DataFrame) -> np.ndarray:
        return np.stack([rule_cells.is_in(table, name, {}, [self.on]) for name in self._columns], axis=1)

    def fold(self, table: pd.DataFrame, formats: Formats) -> Columns:
        """The first flag that is set; a row without one is missing, and encoded at random."""
        flags = self._set(table)
        names = np.array(self._columns, dtype=object)[flags.argmax(axis=1)]
        return {self.which: pd.Series(np.where(flags.any(axis=1), names, None), index=table.index)}

    def unfold(self, table: pd.DataFrame, formats: Formats, derived: Mapping[str, Attribute]) -> Columns:
        """Set one flag."""
        which = table[self.which].to_numpy()
        return {
            name: pd.Series([self.on if w == name else self.off for w in which], dtype=object).infer_objects()
            for name in self._columns
        }

    def attributes(
        self,
        inputs: Mapping[str, Attribute],
        specs: Mapping[str, ColumnSpec],
        styles: Mapping[str, ColumnSpec],
    ) -> tuple[Attribute, ...]:
        """Off and on."""
        values = (self.off, self.on)
        if all(isinstance(v, (int, np.integer)) and not isinstance(v, bool) for v in values):
            ends = tuple(sorted(map(int, values)))
            return tuple(
                Attribute(name=name, kind="integer", lower=ends, upper=ends) for name in self._columns
            )
        return tuple(Attribute(name=name, kind="categorical", values=values) for name in self._columns)

    def holds(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """Mask of rows with exactly one flag set."""
        return np.asarray(self._set(table).sum(axis=1) == 1)

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {"rule": self.kind, "columns": list(self._columns), "values": [self.off, self.on]}

    def __str__(self) -> str:
        return f"exactly one of {', '.join(self._columns)}"

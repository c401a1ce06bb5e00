"""Columns derived from others by a declared mapping."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, cast

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
    check_values,
    date_formats,
)
from sdv_plausible.table.cells.dates import format_unit
from sdv_plausible.table.columns.domain import Attribute
from sdv_plausible.table.declared.spec_words import CATEGORIES, sdtype_of
from sdv_plausible.table.declared.specifications import allows_missing


class Determined(DerivingRule):
    """A column derived from others by a declared mapping, such as a code from its label.

    Parameters
    ----------
    column : str
        The derived column.
    by : str or sequence of str
        The columns from which it is derived.
    mapping : mapping
        Value of ``by`` -> value of ``column``. With several columns in ``by``, the keys are tuples. None is
        missing.
    otherwise : optional
        Value for combinations that the mapping lacks; missing by default.

    Raises
    ------
    ValueError
        If the mapping is empty or its keys do not match ``by``.

    Examples
    --------
    >>> rule = Determined("grade", by="school", mapping={"primary": 1, "secondary": 2})
    >>> print(rule)
    grade follows from school
    """

    kind = "determined"

    def __init__(
        self, column: str, by: str | Sequence[str], mapping: Mapping[Any, Any], otherwise: Any = None
    ) -> None:
        self.by = check_columns("Determined: by", by)
        (self.column,) = check_columns("Determined", [column])
        if self.column in self.by:
            raise ValueError(f"Determined: column ({column!r}) must not be among by ({self.by!r})")
        if not isinstance(mapping, Mapping) or not mapping:
            named = shown(mapping)
            raise ValueError(f"Determined: mapping ({named}) must name a value for each of {shown(by)}")
        check_values("Determined: otherwise and the mapping's values", (*mapping.values(), otherwise))
        self.mapping, self.otherwise = dict(mapping), otherwise
        self._by = [self._parts(key) for key in self.mapping]

    def _parts(self, key: Any) -> tuple[Any, ...]:
        parts = (key,) if len(self.by) == 1 else key
        if not isinstance(parts, tuple) or len(parts) != len(self.by):
            raise ValueError(
                f"Determined: the mapping's key {key!r} must have a value for each of {self.by!r}"
            )
        return parts

    @property
    def made(self) -> tuple[str, ...]:
        """The column of the mapping's values."""
        return (self.column,)

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns of its keys."""
        return self.by

    @property
    def values(self) -> list[Any]:
        """Possible values of the column."""
        return [*self.mapping.values(), self.otherwise]

    @property
    def named(self) -> list[tuple[str, Any]]:
        """Keys and values of the mapping."""
        keys = [pair for parts in self._by for pair in zip(self.by, parts, strict=True)]
        values = [*self.mapping.values(), *([] if pd.isna(self.otherwise) else [self.otherwise])]
        return [*keys, *((self.column, value) for value in values)]

    def check(self, specs: Mapping[str, ColumnSpec]) -> None:
        """Raise an error if a value, or a missing one from a gap in the mapping, does not fit the column."""
        self.attributes({}, specs, {})
        formats = date_formats(specs)
        self._by_key(formats)
        spec, source = specs[self.column], specs[self.by[0]]
        value_words = ("range_values", "range_min", "range_is_nullable")
        declared = any(spec.get(word) is not None for word in value_words)
        if declared and not allows_missing(spec) and len(self.by) == 1 and pd.isna(self.otherwise):
            mapped = {parts[0] for parts in self._by_key(formats)}
            possible = [*(source.get("range_values") or ()), *(source.get("special_values") or ())]
            possible += [None] * allows_missing(source)
            unmapped = [v for v in possible if rule_cells.cell_key(v, self.by[0], formats) not in mapped]
            if unmapped:
                text = "missing" if pd.isna(unmapped[0]) else repr(unmapped[0])
                raise Refused.saying(
                    "rules",
                    f"rule '{self}': the mapping has nothing for {text}, and column {self.column!r} is "
                    "declared without missing values: add it, or give otherwise=",
                )

    def _by_key(self, formats: Formats) -> dict[tuple[Hashable, ...], Any]:
        keys = [rule_cells.combination_key(parts, self.by, formats) for parts in self._by]
        by_key = dict(zip(keys, self.mapping.values(), strict=True))
        if len(by_key) < len(keys):
            raise Refused.saying(
                "rules", f"rule '{self}': the mapping's keys must be distinct values of {self.by!r}"
            )
        return by_key

    def unfold(self, table: pd.DataFrame, formats: Formats, derived: Mapping[str, Attribute]) -> Columns:
        """Look up the column."""
        cells, attribute = self._looked_up(table, formats), derived[self.column]
        if sdtype_of(attribute) in CATEGORIES:
            return {self.column: cells.infer_objects()}
        present = cells.notna().to_numpy()
        dtype = np.float64 if attribute.kind == "float" else np.int64
        values = np.array([cell if ok else 0 for cell, ok in zip(cells, present, strict=True)], dtype=dtype)
        return {self.column: rule_cells.to_column(values, present, attribute)}

    def _looked_up(self, table: pd.DataFrame, formats: Formats) -> pd.Series[Any]:
        """The mapping's value of each row; missing is None, dates are nanoseconds."""
        where, combinations = rule_cells.distinct_combinations(table, self.by, formats)
        by_key = self._by_key(formats)
        values = np.full(len(combinations), None, dtype=object)
        for i, combination in enumerate(combinations):
            value = by_key.get(combination, self.otherwise)
            if not pd.isna(value):
                is_date = self.column in formats
                values[i] = rule_cells.cell_key(value, self.column, formats) if is_date else value
        return pd.Series(values[where], dtype=object)

    def attributes(
        self,
        inputs: Mapping[str, Attribute],
        specs: Mapping[str, ColumnSpec],
        styles: Mapping[str, ColumnSpec],
    ) -> tuple[Attribute, ...]:
        """The mapping's values."""
        spec = specs.get(self.column, {})
        formats = date_formats({self.column: spec})
        present = [value for value in self.values if not pd.isna(value)]
        by_key = {rule_cells.cell_key(value, self.column, formats): value for value in present}
        common: ColumnSpec = {"name": self.column, "nullable": self._may_miss(inputs)}
        if spec.get("sdtype") not in ("numerical", "datetime"):
            return (Attribute(kind="categorical", values=tuple(by_key.values()), **common),)
        if self.column in formats:
            style = {"datetime_format": spec.get("datetime_format"), **styles.get(self.column, {})}
            common |= {"kind": "datetime", "unit": format_unit(spec.get("datetime_format")), **style}
        elif not all(map(rule_cells.is_number, present)):
            raise Refused.saying(
                "rules", f"rule '{self}': the values of column {self.column!r} must be numbers"
            )
        else:
            whole = all(float(value).is_integer() for value in present)
            common |= {"kind": "integer" if whole else "float"}
        points = tuple(sorted(cast("list[float]", list(by_key))))
        return (Attribute(lower=points, upper=points, **common),)

    def _may_miss(self, inputs: Mapping[str, Attribute]) -> bool:
        """Whether a row may have no value, e.g. because the mapping lacks a category."""
        source = inputs.get(self.by[0])
        if any(map(pd.isna, self.mapping.values())) or not pd.isna(self.otherwise):
            return any(map(pd.isna, self.values))
        if len(self.by) > 1 or source is None or source.nullable or source.is_ordered:
            return True
        by_key = self._by_key({})
        return any(rule_cells.combination_key((v,), self.by, {}) not in by_key for v in source.values)

    def holds(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """Mask of rows where the column equals the mapping's value."""
        comparison = pd.DataFrame({"wanted": self._looked_up(table, formats)})
        if self.column in formats:
            moments = rule_cells.to_numbers(table, self.column, formats)[0]
            expected = [rule_cells.NO_DATE if moment is None else moment for moment in comparison["wanted"]]
            return np.asarray(np.array(expected, dtype=np.int64) == moments)
        comparison["is"] = table[self.column].array
        return rule_cells.are_equal(comparison, "is", "wanted", {})

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        pairs = [
            [list(given) if len(self.by) > 1 else [given], value] for given, value in self.mapping.items()
        ]
        return {
            "rule": self.kind, "column": self.column, "by": list(self.by), "mapping": pairs,
            "otherwise": self.otherwise,
        }  # fmt: skip

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> Determined:
        """Read what :meth:`to_dict` wrote, or a mapping of texts as people write it."""
        by, mapping = entry["by"], entry["mapping"]
        names = [by] if isinstance(by, str) else by
        if not isinstance(mapping, Mapping):
            if not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in mapping):
                raise ValueError("Determined: mapping must be a list of pairs [cells, value]")
            mapping = {tuple(given) if len(names) > 1 else given[0]: value for given, value in mapping}
        return cls(entry["column"], names, mapping, entry.get("otherwise"))

    def __str__(self) -> str:
        return f"{self.column} follows from {', '.join(self.by)}"

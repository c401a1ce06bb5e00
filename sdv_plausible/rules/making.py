"""Columns that follow from others: by a declared mapping, by equality, as a sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.rules import cells
from sdv_plausible.rules.rule import Formats, MakingRule, Words, check_columns
from sdv_plausible.table.domain import Attribute

TOLERANCE = 1e-9  # of sums of doubles, relative


class Determined(MakingRule):
    """A column whose value follows from others by a declared mapping, such as a code from its label.

    Parameters
    ----------
    column : str
        The column that is made.
    by : str or sequence of str
        The columns that it follows from.
    mapping : mapping
        Value of ``by`` (a tuple of values where ``by`` has several columns; None is missing) -> value of
        ``column``.
    otherwise : optional
        Value where the mapping says nothing; missing by default.

    Raises
    ------
    ValueError
        If the mapping is empty or its keys do not fit ``by``.

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
            raise ValueError(f"Determined: mapping ({mapping!r}) must name a value for each value of {by!r}")
        self.mapping, self.otherwise = dict(mapping), otherwise
        self._by_key = {self._key(given): value for given, value in self.mapping.items()}

    def _key(self, given: Any) -> tuple[Any, ...]:
        parts = (given,) if len(self.by) == 1 else given
        if not isinstance(parts, tuple) or len(parts) != len(self.by):
            raise ValueError(
                f"Determined: the mapping's key {given!r} must have a value for each of {self.by!r}"
            )
        return tuple(map(cells.key, parts))

    @property
    def columns(self) -> tuple[str, ...]:
        """The made column first."""
        return (self.column, *self.by)

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
        """Distinct values that the column may get, but for missing."""
        found = {cells.key(value): value for value in (*self.mapping.values(), self.otherwise)}
        found.pop(cells.MISSING, None)
        return list(found.values())

    def unfold(
        self, table: pd.DataFrame, formats: Formats, made: Mapping[str, Attribute]
    ) -> dict[str, pd.Series[Any]]:
        """Look the column up."""
        return {self.column: self._looked_up(table)}

    def _looked_up(self, table: pd.DataFrame) -> pd.Series[Any]:
        columns = [cells.keys(table[name]) for name in self.by]
        codes = pd.MultiIndex.from_arrays([where for where, _ in columns])
        where, combinations = codes.factorize()
        found = np.empty(len(combinations), dtype=object)
        for i, combination in enumerate(combinations):
            key = tuple(columns[j][1][code] for j, code in enumerate(combination))
            found[i] = self._by_key.get(key, self.otherwise)
        values = pd.Series(found[where] if len(found) else found, dtype=object)
        return values.where(values.notna(), None).infer_objects()

    def attributes(
        self, known: Mapping[str, Attribute], words: Mapping[str, Words], styles: Mapping[str, Words]
    ) -> tuple[Attribute, ...]:
        """The mapping's values."""
        values: list[Any] = self.values
        common: Words = {"name": self.column, "nullable": True}
        if all(isinstance(v, (int, np.integer)) and not isinstance(v, bool) for v in values) and values:
            points = tuple(sorted(int(v) for v in values))
            return (Attribute(kind="integer", lower=points, upper=points, **common),)
        return (Attribute(kind="categorical", values=tuple(values), **common),)

    def holds(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """Whether the column is what the mapping says."""
        return cells.same(table[self.column], self._looked_up(table))

    def to_dict(self) -> dict[str, Any]:
        """Plain form; the mapping as a list of keys and values."""
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
            mapping = {tuple(given) if len(names) > 1 else given[0]: value for given, value in mapping}
        return cls(entry["column"], names, mapping, entry.get("otherwise"))

    def __str__(self) -> str:
        return f"{self.column} follows from {', '.join(self.by)}"


@dataclass(frozen=True)
class Equal(MakingRule):
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
    def columns(self) -> tuple[str, ...]:
        """The made column first."""
        return (self.column, self.other)

    @property
    def made(self) -> tuple[str, ...]:
        """The copy."""
        return (self.column,)

    @property
    def sources(self) -> tuple[str, ...]:
        """The original."""
        return (self.other,)

    def unfold(
        self, table: pd.DataFrame, formats: Formats, made: Mapping[str, Attribute]
    ) -> dict[str, pd.Series[Any]]:
        """Copy it; dates in the copy's own format."""
        if self.other in formats:
            return {self.column: cells.written(*cells.numbers(table, self.other, formats), made[self.column])}
        return {self.column: table[self.other].reset_index(drop=True)}

    def attributes(
        self, known: Mapping[str, Attribute], words: Mapping[str, Words], styles: Mapping[str, Words]
    ) -> tuple[Attribute, ...]:
        """Those of the original, with the copy's own style of dates."""
        found = replace(known[self.other], name=self.column, buckets=None)
        plain = {"datetime_format": None, "time_zone": None}
        style = {**plain, **styles.get(self.column, {})} if found.kind == "datetime" else {}
        return (replace(found, **style),)

    def holds(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """Whether both are the same, or both missing."""
        if self.other in formats:
            mine, theirs = (cells.numbers(table, name, formats)[0] for name in self.columns)
            return np.asarray(mine == theirs)
        return cells.same(table[self.column], table[self.other])

    def to_dict(self) -> dict[str, Any]:
        """Plain form."""
        return {"rule": self.kind, "column": self.column, "other": self.other}

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> Equal:
        """Read what :meth:`to_dict` wrote."""
        return cls(entry["column"], entry["other"])

    def __str__(self) -> str:
        return f"{self.column} = {self.other}"


@dataclass(frozen=True)
class Sum(MakingRule):
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
    def columns(self) -> tuple[str, ...]:
        """The total first."""
        return (self.total, *self.parts)

    @property
    def made(self) -> tuple[str, ...]:
        """The total."""
        return (self.total,)

    @property
    def sources(self) -> tuple[str, ...]:
        """The summands."""
        return self.parts

    def _sum(self, table: pd.DataFrame, formats: Formats) -> tuple[np.ndarray, np.ndarray]:
        read = [cells.numbers(table, name, formats) for name in self.parts]
        there = np.logical_and.reduce([present for _, present in read])
        return np.sum([np.where(there, values, 0.0) for values, _ in read], axis=0), there

    def unfold(
        self, table: pd.DataFrame, formats: Formats, made: Mapping[str, Attribute]
    ) -> dict[str, pd.Series[Any]]:
        """Add the parts up."""
        return {self.total: cells.written(*self._sum(table, formats), made[self.total])}

    def attributes(
        self, known: Mapping[str, Attribute], words: Mapping[str, Words], styles: Mapping[str, Words]
    ) -> tuple[Attribute, ...]:
        """One bin from the smallest sum to the largest."""
        parts = [known[name] for name in self.parts]
        if any(not part.lower or part.kind == "datetime" for part in parts):
            raise ValueError(f"rule '{self}': the parts must be numbers")
        whole = all(part.kind == "integer" for part in parts)
        places = [0 if part.kind == "integer" else part.decimals for part in parts]
        number = int if whole else float
        attribute = Attribute(
            name=self.total, kind="integer" if whole else "float",
            lower=(number(sum(part.lower[0] for part in parts)),),
            upper=(number(sum(part.upper[-1] for part in parts)),),
            decimals=None if whole or None in places else max(p for p in places if p is not None),
            nullable=any(part.nullable for part in parts),
        )  # fmt: skip
        return (attribute,)

    def holds(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """Whether the total is the sum, or missing where a part is."""
        wanted, there = self._sum(table, formats)
        total, present = cells.numbers(table, self.total, formats)
        near = np.abs(np.where(present, total, 0) - wanted) <= TOLERANCE * np.maximum(1, np.abs(wanted))
        return np.where(there & present, near, there == present)

    def to_dict(self) -> dict[str, Any]:
        """Plain form."""
        return {"rule": self.kind, "total": self.total, "parts": list(self.parts)}

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> Sum:
        """Read what :meth:`to_dict` wrote."""
        return cls(entry["total"], tuple(entry["parts"]))

    def __str__(self) -> str:
        return f"{self.total} = {' + '.join(self.parts)}"

"""Conditions, and rules built of them: implications, forbidden combinations, allowed combinations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.privacy.parameter_checks import shown
from sdv_plausible.rules import rule_cells
from sdv_plausible.rules.rule import Formats, Rule, check_columns, check_values


@dataclass(frozen=True)
class Condition:
    """Condition on one column: it holds one of some values, or lies in a closed range."""

    column: str
    values: tuple[Any, ...] | None = None  # None as an entry means missing
    # Range ends; None is unbounded. Dates are in the column's format or ISO 8601
    low: Any = None
    high: Any = None

    @classmethod
    def read(cls, column: Any, spec: Any) -> Condition:
        """Read a condition from its declaration: ``"f"``, ``["f", None]``, ``{"min": 0, "max": 15}``."""
        (name,) = check_columns("condition", [column])
        if isinstance(spec, Mapping):
            unknown = sorted(map(str, set(spec) - {"min", "max"}))
            if unknown or all(spec.get(word) is None for word in ("min", "max")):
                kind = type(spec).__name__
                raise ValueError(f"condition on {name!r} ({kind}) must have 'min', 'max' or both")
            return cls(name, None, spec.get("min"), spec.get("max"))
        is_collection = isinstance(spec, (list, tuple, set, frozenset, range))
        values = tuple(spec) if is_collection else (spec,)
        if not values or not all(pd.api.types.is_scalar(value) for value in values):
            raise ValueError(f"condition on {name!r} ({shown(spec)}) must name a value; None is missing")
        return cls(name, tuple(None if pd.isna(value) else value for value in values))

    def meets(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """Mask of rows that meet the condition; a missing cell is in no range."""
        if self.values is not None:
            return rule_cells.is_in(table, self.column, formats, self.values)
        values, present = rule_cells.to_numbers(table, self.column, formats)
        low = -np.inf if self.low is None else self._end(self.low, formats)
        high = np.inf if self.high is None else self._end(self.high, formats)
        return np.asarray(present & (values >= low) & (values <= high))

    def _end(self, value: Any, formats: Formats) -> float:
        if self.column in formats:
            return rule_cells.to_nanoseconds(value, self.column, formats[self.column])
        if not rule_cells.is_number(value):
            raise ValueError(f"condition on {self.column!r}: {shown(value)} must be a number")
        return float(value)

    @property
    def points(self) -> list[Any]:
        """Values that the condition names."""
        return [v for v in (self.values or (self.low, self.high)) if v is not None or self.values is not None]

    def to_user(self) -> Any:
        """Declaration that :meth:`read` accepts."""
        if self.values is not None:
            return list(self.values)
        return {key: end for key, end in (("min", self.low), ("max", self.high)) if end is not None}

    def __str__(self) -> str:
        if self.values is None:
            ends = [f"{_value_text(self.low)} <= " if self.low is not None else "", self.column,
                    f" <= {_value_text(self.high)}" if self.high is not None else ""]  # fmt: skip
            return "".join(ends)
        texts = ["missing" if pd.isna(v) else _value_text(v) for v in self.values]
        return f"{self.column} is {' or '.join(texts)}"


def _value_text(value: Any) -> str:
    """A value as text, as it reads after a round trip through a file."""
    if isinstance(value, np.datetime64):
        return str(pd.Timestamp(value))
    return str(value.item() if isinstance(value, np.floating) else value)


def read_conditions(label: str, conditions: Any) -> tuple[Condition, ...]:
    """Read ``{column: condition}``; all conditions must hold together."""
    if not isinstance(conditions, Mapping) or not conditions:
        raise ValueError(f"{label} ({shown(conditions)}) must be a mapping such as {{'age': {{'max': 15}}}}")
    return tuple(Condition.read(column, condition) for column, condition in conditions.items())


def all_met(conditions: Iterable[Condition], table: pd.DataFrame, formats: Formats) -> np.ndarray:
    """Mask of rows that meet all conditions."""
    masks = [condition.meets(table, formats) for condition in conditions]
    return np.logical_and.reduce(masks) if masks else np.ones(len(table), dtype=bool)


def _phrase(conditions: Iterable[Condition]) -> str:
    return " and ".join(map(str, conditions))


class _ConditionalRule(Rule):
    """A rule whose columns and values are those of its conditions."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the conditions."""
        return tuple(dict.fromkeys(condition.column for condition in self.conditions))

    @property
    def named(self) -> list[tuple[str, Any]]:
        """Values of the conditions."""
        return [(c.column, value) for c in self.conditions for value in c.values or ()]


class Implies(_ConditionalRule):
    """If a row meets some conditions, it meets others.

    Parameters
    ----------
    when, then : mapping
        Column -> a value, a list of values (None is missing), or ``{"min": ..., "max": ...}``.

    Raises
    ------
    ValueError
        If a condition is invalid.

    Examples
    --------
    >>> print(Implies({"age": {"max": 15}}, {"marital": "single"}))
    if age <= 15, then marital is single
    """

    kind = "implies"

    def __init__(self, when: Mapping[str, Any], then: Mapping[str, Any]) -> None:
        self.when, self.then = read_conditions("Implies: when", when), read_conditions("Implies: then", then)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """All conditions."""
        return (*self.when, *self.then)

    def holds(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """Mask of rows that do not meet ``when``, or that meet ``then``."""
        return ~self.applies(table, formats) | all_met(self.then, table, formats)

    def applies(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """Mask of rows that meet ``when``."""
        return all_met(self.when, table, formats)

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "rule": self.kind,
            "when": {condition.column: condition.to_user() for condition in self.when},
            "then": {condition.column: condition.to_user() for condition in self.then},
        }

    def __str__(self) -> str:
        return f"if {_phrase(self.when)}, then {_phrase(self.then)}"


class Forbidden(_ConditionalRule):
    """Conditions that no row meets together.

    Parameters
    ----------
    when : mapping
        As for :class:`Implies`.

    Raises
    ------
    ValueError
        If a condition is invalid.
    """

    kind = "forbidden"

    def __init__(self, when: Mapping[str, Any]) -> None:
        self.when = read_conditions("Forbidden", when)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """All conditions."""
        return self.when

    def holds(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """Mask of rows that do not meet all conditions."""
        return ~all_met(self.when, table, formats)

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {"rule": self.kind, "when": {c.column: c.to_user() for c in self.when}}

    def __str__(self) -> str:
        return f"never {_phrase(self.when)}"


class Allowed(Rule):
    """Columns restricted to a table of combinations; all others are structural zeros.

    Parameters
    ----------
    columns : sequence of str
        Two columns or more.
    combinations : sequence of sequence
        Combinations of their values, in that order; None is missing.

    Raises
    ------
    ValueError
        If a combination does not have one value per column.
    """

    kind = "allowed"

    def __init__(self, columns: Sequence[str], combinations: Iterable[Sequence[Any]]) -> None:
        self._columns = check_columns("Allowed", columns, 2)
        rows = list(combinations)
        lengths = [len(r) for r in rows if isinstance(r, (Sequence, np.ndarray)) and not isinstance(r, str)]
        if not rows or lengths != [len(self._columns)] * len(rows):
            raise ValueError(
                f"Allowed: combinations must have one value for each of {self._columns!r}, at least one row"
            )
        check_values("Allowed: the values of combinations", chain.from_iterable(rows))
        self.combinations = tuple(map(tuple, rows))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns."""
        return self._columns

    @property
    def named(self) -> list[tuple[str, Any]]:
        """Values of the combinations."""
        return [pair for row in self.combinations for pair in zip(self._columns, row, strict=True)]

    def holds(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """Mask of rows with an allowed combination."""
        where, distinct = rule_cells.distinct_combinations(table, self._columns, formats)
        allowed = {rule_cells.combination_key(c, self._columns, formats) for c in self.combinations}
        return np.array([c in allowed for c in distinct], dtype=bool)[where]

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "rule": self.kind,
            "columns": list(self._columns),
            "combinations": list(map(list, self.combinations)),
        }

    def __str__(self) -> str:
        return f"{', '.join(self._columns)} is one of {len(self.combinations)} combinations"

"""Combinations that cannot occur: implications, structural zeros, tables of what is allowed."""

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
    """What one column must hold: one of some values, or a number or date in a closed range."""

    column: str
    values: tuple[Any, ...] | None = None  # values; None among them is missing
    # Ends of a range; None is open. Dates in the format of the column, or as ISO 8601
    low: Any = None
    high: Any = None

    @classmethod
    def read(cls, column: Any, what: Any) -> Condition:
        """Read a condition as users write it: ``"f"``, ``["f", None]``, ``{"min": 0, "max": 15}``."""
        (name,) = check_columns("condition", [column])
        if isinstance(what, Mapping):
            unknown = sorted(map(str, set(what) - {"min", "max"}))
            if unknown or all(what.get(word) is None for word in ("min", "max")):
                kind = type(what).__name__
                raise ValueError(f"condition on {name!r} ({kind}) must have 'min', 'max' or both")
            return cls(name, None, what.get("min"), what.get("max"))
        listed = isinstance(what, (list, tuple, set, frozenset, range))
        values = tuple(what) if listed else (what,)
        if not values or not all(pd.api.types.is_scalar(value) for value in values):
            raise ValueError(f"condition on {name!r} ({shown(what)}) must name a value; None is missing")
        return cls(name, tuple(None if pd.isna(value) else value for value in values))

    def meets(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """Whether each row does; a missing cell is in no range."""
        if self.values is not None:
            return rule_cells.member(table, self.column, formats, self.values)
        values, there = rule_cells.numbers(table, self.column, formats)
        low = -np.inf if self.low is None else self._end(self.low, formats)
        high = np.inf if self.high is None else self._end(self.high, formats)
        return np.asarray(there & (values >= low) & (values <= high))

    def _end(self, value: Any, formats: Formats) -> float:
        if self.column in formats:
            return rule_cells.moment(value, self.column, formats[self.column])
        if not rule_cells.is_number(value):
            raise ValueError(f"condition on {self.column!r}: {shown(value)} must be a number")
        return float(value)

    @property
    def points(self) -> list[Any]:
        """Values that the condition names."""
        return [v for v in (self.values or (self.low, self.high)) if v is not None or self.values is not None]

    def to_user(self) -> Any:
        """What :meth:`read` takes."""
        if self.values is not None:
            return list(self.values)
        return {word: end for word, end in (("min", self.low), ("max", self.high)) if end is not None}

    def __str__(self) -> str:
        if self.values is None:
            ends = [f"{_word(self.low)} <= " if self.low is not None else "", self.column,
                    f" <= {_word(self.high)}" if self.high is not None else ""]  # fmt: skip
            return "".join(ends)
        words = ["missing" if pd.isna(v) else _word(v) for v in self.values]
        return f"{self.column} is {' or '.join(words)}"


def _word(value: Any) -> str:
    """A value as it reads once a file has held it, whatever numpy calls it."""
    if isinstance(value, np.datetime64):
        return str(pd.Timestamp(value))
    return str(value.item() if isinstance(value, np.floating) else value)


def read_conditions(what: str, given: Any) -> tuple[Condition, ...]:
    """Read ``{column: condition}``: all of them together."""
    if not isinstance(given, Mapping) or not given:
        raise ValueError(f"{what} ({shown(given)}) must be a mapping such as {{'age': {{'max': 15}}}}")
    return tuple(Condition.read(column, condition) for column, condition in given.items())


def all_met(conditions: Iterable[Condition], table: pd.DataFrame, formats: Formats) -> np.ndarray:
    """Whether each row meets all conditions."""
    found = [condition.meets(table, formats) for condition in conditions]
    return np.logical_and.reduce(found) if found else np.ones(len(table), dtype=bool)


def _words(conditions: Iterable[Condition]) -> str:
    return " and ".join(map(str, conditions))


class Implies(Rule):
    """If a row meets some conditions, then it meets others.

    Parameters
    ----------
    when, then : mapping
        Column -> a value, a list of values (None is missing), or ``{"min": ..., "max": ...}``.

    Raises
    ------
    ValueError
        If a condition cannot be read.

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

    @property
    def columns(self) -> tuple[str, ...]:
        """Their columns."""
        return tuple(dict.fromkeys(condition.column for condition in self.conditions))

    @property
    def named(self) -> list[tuple[str, Any]]:
        """Values of the conditions."""
        return [(c.column, value) for c in self.conditions for value in c.values or ()]

    def holds(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """Whether the first are not met, or the second are."""
        return ~self.applies(table, formats) | all_met(self.then, table, formats)

    def applies(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """Whether the condition of the rule is met in each row."""
        return all_met(self.when, table, formats)

    def to_dict(self) -> dict[str, Any]:
        """Plain form."""
        return {
            "rule": self.kind,
            "when": {condition.column: condition.to_user() for condition in self.when},
            "then": {condition.column: condition.to_user() for condition in self.then},
        }

    def __str__(self) -> str:
        return f"if {_words(self.when)}, then {_words(self.then)}"


class Forbidden(Rule):
    """Conditions that no row meets together.

    Parameters
    ----------
    when : mapping
        As for :class:`Implies`.

    Raises
    ------
    ValueError
        If a condition cannot be read.
    """

    kind = "forbidden"

    def __init__(self, when: Mapping[str, Any]) -> None:
        self.when = read_conditions("Forbidden", when)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """All conditions."""
        return self.when

    @property
    def columns(self) -> tuple[str, ...]:
        """Their columns."""
        return tuple(condition.column for condition in self.when)

    @property
    def named(self) -> list[tuple[str, Any]]:
        """Values of the conditions."""
        return [(c.column, value) for c in self.conditions for value in c.values or ()]

    def holds(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """Whether not all are met."""
        return ~all_met(self.when, table, formats)

    def to_dict(self) -> dict[str, Any]:
        """Plain form."""
        return {"rule": self.kind, "when": {c.column: c.to_user() for c in self.when}}

    def __str__(self) -> str:
        return f"never {_words(self.when)}"


class Allowed(Rule):
    """Columns that hold one of a table of combinations, and no other: structural zeros.

    Parameters
    ----------
    columns : sequence of str
        Two columns or more.
    combinations : sequence of sequence
        Their values, in that order; None is missing.

    Raises
    ------
    ValueError
        If a combination does not have a value for every column.
    """

    kind = "allowed"

    def __init__(self, columns: Sequence[str], combinations: Iterable[Sequence[Any]]) -> None:
        self._columns = check_columns("Allowed", columns, 2)
        given = list(combinations)
        rows = [one for one in given if isinstance(one, (Sequence, np.ndarray)) and not isinstance(one, str)]
        if not given or [len(row) for row in rows] != [len(self._columns)] * len(given):
            raise ValueError(
                f"Allowed: combinations must have one value for each of {self._columns!r}, at least one row"
            )
        check_values("Allowed: the values of combinations", chain.from_iterable(given))
        self.combinations = tuple(tuple(combination) for combination in given)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns."""
        return self._columns

    @property
    def named(self) -> list[tuple[str, Any]]:
        """Values of the combinations."""
        return [pair for found in self.combinations for pair in zip(self._columns, found, strict=True)]

    def holds(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """Whether the combination is in the table."""
        where, distinct = rule_cells.combinations(table, self._columns, formats)
        wanted = {rule_cells.declared(found, self._columns, formats) for found in self.combinations}
        return np.array([found in wanted for found in distinct], dtype=bool)[where]

    def to_dict(self) -> dict[str, Any]:
        """Plain form."""
        return {
            "rule": self.kind,
            "columns": list(self._columns),
            "combinations": list(map(list, self.combinations)),
        }

    def __str__(self) -> str:
        return f"{', '.join(self._columns)} is one of {len(self.combinations)} combinations"

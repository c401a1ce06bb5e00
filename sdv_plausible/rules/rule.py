"""Base classes of rules: constraints on every row that are known without the rows and cost no privacy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from sdv_plausible.privacy.parameter_checks import Refused, shown
from sdv_plausible.table.columns.domain import Attribute
from sdv_plausible.table.declared.specifications import sdtype_of

Formats = Mapping[str, str | None]
"""Date columns -> strftime format of their text, or None."""
ColumnSpec = dict[str, Any]
"""A column's declaration, in the vocabulary of the ``domain`` argument."""
Specs = Mapping[str, ColumnSpec]
Attributes = Mapping[str, Attribute]
Columns = dict[str, "pd.Series[Any]"]


def check_sdtypes(rule: Rule, specs: Specs, *allowed: str) -> None:
    """Raise an error if a column of the rule has another sdtype."""
    for name in rule.columns:
        sdtype = specs[name].get("sdtype")
        if sdtype not in allowed:
            raise rule.refused(f"column {name!r} must be of sdtype {' or '.join(allowed)}, not {sdtype!r}")


class Rule(ABC):
    """A constraint that holds in every row of the table, declared without reading the rows.

    Each row is checked by itself. The rule holds in every sample, and costs no privacy.
    """

    kind: ClassVar[str]

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Columns of the rule."""

    @property
    def made(self) -> tuple[str, ...]:
        """Derived columns, which the model does not see; empty for most rules."""
        return ()

    @property
    def conditions(self) -> tuple[Any, ...]:
        """Conditions of the rule, if any."""
        return ()

    @abstractmethod
    def holds(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """Mask of rows that satisfy the rule.

        Parameters
        ----------
        table : DataFrame
            Rows with at least the rule's columns.
        formats : mapping
            Formats of the date columns.

        Returns
        -------
        ndarray of bool, shape (rows,)
        """

    @property
    def named(self) -> list[tuple[str, Any]]:
        """Values named by the rule, each with its column; None is missing."""
        return []

    def check(self, specs: Specs) -> None:  # noqa: B027  most rules take any column
        """Raise an error if the rule does not fit its columns.

        Parameters
        ----------
        specs : mapping
            Specification of every column of the table: sdtype, format and declaration.

        Raises
        ------
        ValueError
            If types or declarations do not fit.
        """

    def refused(self, text: str) -> Refused:
        """Error about the rule."""
        return Refused.saying("rules", f"rule '{self}': {text}")

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Kind and parts; :func:`~sdv_plausible.rules.rule_files.rule_to_json` converts them to JSON."""

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> Rule:
        """Create a rule from its parts, the arguments of its class."""
        return cls(**{name: part for name, part in entry.items() if name != "rule"})

    @abstractmethod
    def __str__(self) -> str:
        """Return the rule as a phrase."""


class DerivingRule(Rule):
    """A rule with derived columns: they are computed, not modelled, so the rule holds exactly.

    The model may see surrogate columns in their place: a duration for a date, one category for a group of
    flags.
    """

    column: str

    @property
    def made(self) -> tuple[str, ...]:
        """Derived columns, which the model does not see."""
        return (self.column,)

    @property
    def sources(self) -> tuple[str, ...]:
        """Other columns of the table from which they are derived, if any."""
        return ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Derived columns, then their sources."""
        return (*self.made, *self.sources)

    reversible: ClassVar[bool] = False
    """Whether surrogates depend on the derived columns alone, so that conditions carry over to them."""

    @property
    def together(self) -> tuple[str, ...]:
        """Surrogate columns that are missing in the same rows."""
        return ()

    @property
    def added(self) -> tuple[str, ...]:
        """Names of the surrogate columns."""
        return ()

    def fits(self, inputs: Attributes, derived: Attributes) -> bool:
        """Whether derived columns with these attributes can be computed from those inputs.

        Parameters
        ----------
        inputs : mapping
            Attributes of sources and surrogates.
        derived : mapping
            Attributes of the derived columns, e.g. from a file.
        """
        computed = self.attributes(inputs, attribute_specs(derived), {})
        ignored = ("provenance", "unit", "buckets", "groups", "counts", "time_zone", "datetime_format",
                   "number_format")  # fmt: skip
        return len(computed) == len(derived) and all(
            replace(a, **{part: getattr(b, part) for part in ignored}) == b
            for a, b in zip(computed, derived.values(), strict=True)
        )

    def to_dict(self) -> dict[str, Any]:
        """Kind and parts: the fields of a dataclass."""
        return {"rule": self.kind, **vars(self)}

    def resolve(self, specs: Specs) -> DerivingRule:
        """Return the rule completed from the specifications of its columns."""
        return self

    def surrogate_specs(self, specs: Specs) -> dict[str, ColumnSpec]:
        """Declarations of the surrogate columns.

        Parameters
        ----------
        specs : mapping
            Specification of every column of the table: sdtype, format and declaration.
        """
        return {}

    def fold(self, table: pd.DataFrame, formats: Formats) -> Columns:
        """Surrogates of real rows, computed row by row; a row that breaks the rule gets the nearest value."""
        return {}

    @abstractmethod
    def unfold(self, table: pd.DataFrame, formats: Formats, derived: Attributes) -> Columns:
        """Compute derived columns from sources and surrogates."""

    @abstractmethod
    def attributes(self, inputs: Attributes, specs: Specs, styles: Specs) -> tuple[Attribute, ...]:
        """Attributes of the derived columns, wide enough for all possible values.

        Parameters
        ----------
        inputs : mapping
            Attributes of sources and surrogates.
        specs : mapping
            As for :meth:`surrogate_specs`.
        styles : mapping
            How the dates of a derived column are written: ``time_zone``, ``datetime_format``.
        """


def has_row_constraints(rules: Iterable[Rule]) -> bool:
    """Whether sampled rows can break a rule, so that they must be drawn again."""
    return any(not isinstance(rule, DerivingRule) for rule in rules)


def attribute_specs(attributes: Mapping[str, Attribute]) -> dict[str, ColumnSpec]:
    """Column specifications from attributes: sdtype, format, digits."""
    specs: dict[str, ColumnSpec] = {}
    for name, attribute in attributes.items():
        specs[name] = {"sdtype": sdtype_of(attribute)}
        if attribute.kind == "datetime":
            specs[name]["datetime_format"] = attribute.datetime_format
        elif attribute.kind == "integer" or attribute.decimals is not None:
            specs[name]["decimal_places"] = attribute.decimals or 0
    return specs


def date_formats(specs: Specs) -> dict[str, str | None]:
    """Formats of the date columns."""
    return {n: spec.get("datetime_format") for n, spec in specs.items() if spec.get("sdtype") == "datetime"}


def declared_places(spec: ColumnSpec) -> int | None:
    """Declared digits after the point of a column; None if undeclared."""
    whole = all(isinstance(spec.get(end), (int, np.integer)) for end in ("range_min", "range_max"))
    places: int | None = spec.get("decimal_places", 0 if whole else None)
    return places


def check_columns(rule: str, columns: Sequence[Any], least: int = 1) -> tuple[str, ...]:
    """Return column names as a tuple; raise ValueError unless they are distinct and at least ``least``."""
    names = tuple(columns) if not isinstance(columns, str) else (columns,)
    if (
        isinstance(columns, (Mapping, Set))
        or not all(isinstance(name, str) and name for name in names)
        or len(set(names)) != len(names)
    ):
        raise ValueError(f"{rule}: columns ({shown(columns)}) must be distinct names of columns")
    if len(names) < least:
        raise ValueError(f"{rule}: columns ({shown(columns)}) must be at least {least}")
    return names


def check_values(what: str, values: Iterable[Any]) -> None:
    """Raise ValueError for values that are not scalar."""
    if odd := [value for value in values if not pd.api.types.is_scalar(value)]:
        raise ValueError(f"{what} must be single values, not {type(odd[0]).__name__}")

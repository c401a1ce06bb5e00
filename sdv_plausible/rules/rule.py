"""What a rule is: something that holds in every row, known without the rows, and so free of cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from sdv_plausible.privacy.parameter_checks import Refused, shown
from sdv_plausible.table.columns.domain import Attribute
from sdv_plausible.table.declared.spec_words import sdtype_of

Formats = Mapping[str, str | None]
"""Of the columns that hold dates: the strftime format of their text, or None."""
Words = dict[str, Any]
"""A column's declaration, in the words of the ``domain`` argument."""
Columns = dict[str, "pd.Series[Any]"]


def check_sdtypes(rule: Rule, words: Mapping[str, Words], *allowed: str) -> None:
    """Refuse a rule one of whose columns has another sdtype."""
    for name in rule.columns:
        found = words[name].get("sdtype")
        if found not in allowed:
            raise Refused.saying(
                "rules",
                f"rule '{rule}': column {name!r} must be of sdtype {' or '.join(allowed)}, not {found!r}",
            )


class Rule(ABC):
    """Something that holds in every row of the table, declared without a look at one.

    A rule is checked alone on each row; it is enforced in every sample, and costs no privacy.
    """

    kind: ClassVar[str]

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Columns that the rule is about."""

    @property
    def made(self) -> tuple[str, ...]:
        """Columns that follow from others by it, which the model does not see: most rules make none."""
        return ()

    @property
    def conditions(self) -> tuple[Any, ...]:
        """Conditions of cells that it is made of, if any."""
        return ()

    @abstractmethod
    def holds(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """Whether each row keeps the rule.

        Parameters
        ----------
        table : DataFrame
            Rows with at least the rule's columns.
        formats : mapping
            Formats of the columns that hold dates.
        """

    @property
    def named(self) -> list[tuple[str, Any]]:
        """Single values that the rule names, each with its column; None is missing."""
        return []

    def check(self, words: Mapping[str, Words]) -> None:  # noqa: B027  most rules take any column
        """Refuse columns that the rule cannot be about.

        Parameters
        ----------
        words : mapping
            What is known of every column of the table: sdtype, format and declaration.

        Raises
        ------
        ValueError
            If their types or declarations do not fit.
        """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Its kind and parts; :func:`~sdv_plausible.rules.rule_files.written` makes JSON of them."""

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> Rule:
        """Make a rule of such parts, which are the arguments of its class."""
        return cls(**{name: part for name, part in entry.items() if name != "rule"})

    @abstractmethod
    def __str__(self) -> str:
        """Return the rule in words."""


class DerivingRule(Rule):
    """A rule by which some columns follow from others: they are not modelled but made, so it holds exactly.

    What the model sees in their place, if anything, are stand-ins: a duration for a date, one category for a
    group of flags.
    """

    @property
    @abstractmethod
    def made(self) -> tuple[str, ...]:
        """Columns that the model does not see."""

    @property
    def sources(self) -> tuple[str, ...]:
        """Other columns of the table from which they are made, if any."""
        return ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that are made, then those from which they are."""
        return (*self.made, *self.sources)

    reversible: ClassVar[bool] = False
    """Whether stand-ins follow from the made columns alone: values of these then give values of those."""

    @property
    def together(self) -> tuple[str, ...]:
        """Stand-ins that are missing in the same rows."""
        return ()

    @property
    def added(self) -> tuple[str, ...]:
        """Names of the columns that the model sees instead."""
        return ()

    def fits(self, known: Mapping[str, Attribute], made: Mapping[str, Attribute]) -> bool:
        """Whether columns of these value sets can be made from those: they are of the same kinds.

        Parameters
        ----------
        known : mapping
            Attributes of sources and stand-ins.
        made : mapping
            Attributes of what is made, such as a file says they are.
        """
        found = self.attributes(known, attribute_words(made), {})
        kept = (
            "provenance",
            "unit",
            "buckets",
            "groups",
            "counts",
            "time_zone",
            "datetime_format",
            "number_format",
        )
        return len(found) == len(made) and all(
            replace(a, **{part: getattr(b, part) for part in kept}) == b
            for a, b in zip(found, made.values(), strict=True)
        )

    def resolved(self, words: Mapping[str, Words]) -> DerivingRule:
        """Return the rule with all that it takes from what is known of the columns."""
        return self

    def stand_ins(self, words: Mapping[str, Words]) -> dict[str, Words]:
        """Declarations of the added columns.

        Parameters
        ----------
        words : mapping
            What is known of every column of the table: sdtype, format and declaration.
        """
        return {}

    def fold(self, table: pd.DataFrame, formats: Formats) -> Columns:
        """Stand-ins of real rows, each from its row alone; a row that breaks the rule gets the nearest."""
        return {}

    @abstractmethod
    def unfold(self, table: pd.DataFrame, formats: Formats, made: Mapping[str, Attribute]) -> Columns:
        """Columns made from their sources and stand-ins."""

    @abstractmethod
    def attributes(
        self, known: Mapping[str, Attribute], words: Mapping[str, Words], styles: Mapping[str, Words]
    ) -> tuple[Attribute, ...]:
        """Value sets of the made columns, wide enough for whatever is made.

        Parameters
        ----------
        known : mapping
            Attributes of sources and stand-ins.
        words : mapping
            As for :meth:`stand_ins`.
        styles : mapping
            How the dates of a made column are written: ``time_zone``, ``datetime_format``.
        """


def limits_rows(rules: Iterable[Rule]) -> bool:
    """Whether rows can break one, which are drawn again then."""
    return any(not isinstance(rule, DerivingRule) for rule in rules)


def attribute_words(attributes: Mapping[str, Attribute]) -> dict[str, Words]:
    """What is known of columns of which the value sets are: sdtype, format, digits."""
    found: dict[str, Words] = {}
    for name, attribute in attributes.items():
        found[name] = {"sdtype": sdtype_of(attribute)}
        if attribute.kind == "datetime":
            found[name]["datetime_format"] = attribute.datetime_format
        elif attribute.kind == "integer" or attribute.decimals is not None:
            found[name]["decimal_places"] = attribute.decimals or 0
    return found


def date_formats(words: Mapping[str, Words]) -> dict[str, str | None]:
    """Formats of the columns that hold dates."""
    return {n: w.get("datetime_format") for n, w in words.items() if w.get("sdtype") == "datetime"}


def check_columns(rule: str, columns: Sequence[Any], least: int = 1) -> tuple[str, ...]:
    """Names as a tuple."""
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
    """Refuse what no cell can be: a list, a mapping, a column."""
    if odd := [value for value in values if not pd.api.types.is_scalar(value)]:
        raise ValueError(f"{what} must be single ones, no {type(odd[0]).__name__}")

"""The neighbour relation of a guarantee: its privacy unit, and the words that describe it.

Proofs: ``docs/explanation/proofs/persons.md``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sdv_plausible.privacy import parameter_checks as check

Relation = Literal["add_remove", "replace_one"]
RELATIONS: tuple[Relation, ...] = ("add_remove", "replace_one")
MAX_ROWS_PER_UNIT = 10**6  # rows per person; with many more, verifying a release file takes minutes


@dataclass(frozen=True)
class Person:
    """The privacy unit is a person: the guarantee covers all rows of any one person.

    Parameters
    ----------
    column : str
        Column that identifies the person, such as a household or patient number. It is not modelled; like an
        id, it gets placeholder values. Rows without a value in this column are not used.
    rows : int
        Maximum number of rows used per person, >= 1; a public number. The rows are chosen secretly at random.
        The noise grows with this number, and the release describes only the rows used.
    """

    column: str
    rows: int = 1

    def __post_init__(self) -> None:
        if not (isinstance(self.column, str) and self.column):
            raise check.Refused(
                "person", self.column, "must be the name of the column that identifies persons"
            )
        why = "it is the largest number of rows used per person; try 5"
        rows = check.whole("rows", self.rows, 1, why, most=MAX_ROWS_PER_UNIT)
        object.__setattr__(self, "rows", rows)  # a Python int: release files hold no NumPy numbers


def person_from_fields(column: str | None, rows: int) -> Person | str | None:
    """Combine the two settings that files and the command line hold separately."""
    if column is None and rows != 1:
        raise check.Refused("rows_per_person", rows, "needs person, the column that identifies persons")
    return column if rows == 1 else Person(column or "", rows)


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """The neighbour relation of a guarantee.

    One unit has at most ``rows`` rows. It is added or removed or, with ``replace``, replaced by another one;
    each unit has at least one row. The column ``person`` identifies the unit; None: every row is its own
    unit.
    """

    rows: int = 1
    replace: bool = False
    person: str | None = None

    def __post_init__(self) -> None:
        check.whole("rows", self.rows, 1, "it bounds the rows of one person")

    @classmethod
    def parse(cls, relation: Relation, person: str | Person | None) -> Neighbours:
        """Read the synthesizer's arguments ``neighbours`` and ``person``."""
        check.one_of("neighbours", relation, RELATIONS)
        unit = person if isinstance(person, Person) or person is None else Person(person)
        if unit is None:
            return cls(replace=relation == "replace_one")
        return cls(rows=unit.rows, replace=relation == "replace_one", person=unit.column)

    # --- sensitivities ----------------------------------------------------------------------------------

    @property
    def histogram_l1(self) -> int:
        """Largest L1 distance between the histograms of two neighbouring tables; each row is in one cell."""
        return self.rows * (2 if self.replace else 1)

    @property
    def histogram_l2(self) -> float:
        """Largest L2 distance between such histograms."""
        # All rows of a unit may be in one cell, and move to another one.
        return self.rows * (math.sqrt(2) if self.replace else 1.0)

    def rows_of(self, units: int) -> int:
        """Smallest number of rows that cannot belong to fewer than this many units, >= 1."""
        return (units - 1) * self.rows + 1

    # --- words ------------------------------------------------------------------------------------------

    @property
    def of_people(self) -> bool:
        """Whether the unit is a person rather than a row."""
        return self.person is not None or self.rows > 1

    @property
    def unit(self) -> str:
        """The privacy unit, in words."""
        return f"one person ({self._rows})" if self.of_people else "one row"

    @property
    def protected(self) -> str:
        """The privacy unit, in the words of a privacy card."""
        if self.person is None:
            return f"any {self.unit}"
        return f"all rows of any one person (identified by {self.person}); at most {self.rows} are used"

    @property
    def question(self) -> str:
        """What an attacker tries to learn, to follow "whether"."""
        return f"{self.unit} is this one or another" if self.replace else f"{self.unit} is in the data"

    @property
    def relation(self) -> str:
        """The neighbour relation, in words."""
        if self.replace:
            details = f"{self._rows}; the number of people" if self.of_people else "the number of rows"
            return f"replacement of any {self._any_one} by another one ({details} is public)"
        return f"addition or removal of any {self._any_one}" + (f" ({self._rows})" if self.of_people else "")

    @property
    def change(self) -> str:
        """The change from a table to a neighbour, as the subject of a sentence."""
        if self.replace:
            return f"Replacing any {self._any_one} by another one"
        return f"Adding or removing any {self._any_one}"

    @property
    def bias(self) -> str:
        """Effect of contribution bounding on the output; empty where nothing is bounded."""
        if self.person is None:
            return ""
        return (
            f"people with more than {_count(self.rows)} count as if they had {self.rows}: shares and totals "
            "describe only the rows used"
        )

    def several(self, units: int) -> str:
        """A number of units, in words."""
        return f"{units} {'people' if self.of_people else 'records'}"

    @property
    def _any_one(self) -> str:
        return "one person" if self.of_people else "one row"

    @property
    def _rows(self) -> str:
        if self.person is None:
            return f"with at most {_count(self.rows)}"
        limit = "1 is" if self.rows == 1 else f"{self.rows:,} are"
        return f"all rows with one value of {self.person}, of which at most {limit} used"


def _count(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows:,} rows"


@dataclass(frozen=True, kw_only=True)
class RelatedTablesUnit(Neighbours):
    """The privacy unit of related tables: a root row with all its direct and indirect child rows.

    For each child table, ``hanging`` has its name, its parent's name, the foreign key column, and the maximum
    number of rows used per parent row. ``rows`` is the most that one unit has in one table, and ``person`` is
    the root's key. Proof: ``docs/explanation/proofs/related_tables.md``.
    """

    root: str = ""
    hanging: tuple[tuple[str, str, str, int], ...] = ()

    @property
    def unit(self) -> str:
        """The privacy unit, in words."""
        return f"one family ({self._rows})"

    @property
    def protected(self) -> str:
        """The privacy unit, in the words of a privacy card."""
        return f"any {self.unit}"

    @property
    def relation(self) -> str:
        """The neighbour relation, in words."""
        if self.replace:
            other = "another one (the number of families is public)"
            return f"replacement of any one family ({self._rows}) by {other}"
        return f"addition or removal of any one family ({self._rows})"

    def several(self, units: int) -> str:
        """A number of units, in words."""
        return f"{units} families"

    @property
    def _any_one(self) -> str:
        return "one family"

    @property
    def _rows(self) -> str:
        children = []
        for child, parent, key, limit in self.hanging:
            parent_words, each = (
                ("it", "") if parent == self.root else (f"a row of {parent} that is used", " of each")
            )
            used = "1 is" if limit == 1 else f"{limit:,} are"
            children.append(
                f"all rows of {child} that name {parent_words} in {key}, of which at most {used} used{each}"
            )
        return f"a row of {self.root} with {', and '.join(children)}"


def neighbours_from_fields(words: Mapping[str, Any]) -> Neighbours:
    """Return the neighbour relation with these fields, as a release file holds them."""
    if "root" not in words:
        return Neighbours(**words)
    return RelatedTablesUnit(**{**words, "hanging": tuple(map(tuple, words["hanging"]))})


ONE_ROW = Neighbours()

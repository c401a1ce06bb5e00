"""Which two tables count as neighbours: the unit that a guarantee protects, and how it is spoken of.

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


MOST_ROWS = 10**6  # of a person: of many more, a release file takes minutes to check


@dataclass(frozen=True)
class Person:
    """Whose rows are: the guarantee is then for all rows of any one person.

    Parameters
    ----------
    column : str
        Says whose a row is, such as a household or patient number. It is never modelled; it is invented anew,
        like an id. Rows without a value in it are not used.
    rows : int
        At most so many rows of each person are used, chosen secretly; a public number, >= 1. The noise grows
        with it, and what is released describes the rows used.
    """

    column: str
    rows: int = 1

    def __post_init__(self) -> None:
        if not (isinstance(self.column, str) and self.column):
            raise check.Refused(
                "person", self.column, "must name the column that says whose a row is, or be None"
            )
        why = "it bounds the rows used of each person; try 5"
        rows = check.whole("rows", self.rows, 1, why, most=MOST_ROWS)
        object.__setattr__(self, "rows", rows)  # numpy's numbers are in no file


def person_of(column: str | None, rows: int) -> Person | str | None:
    """Whose rows are, where both are said apart: in files and on the command line."""
    if column is None and rows != 1:
        raise check.Refused("rows_per_person", rows, "needs person, the column that says whose a row is")
    return column if rows == 1 else Person(column or "", rows)


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """The neighbour relation of a guarantee.

    One unit (a person) has at most ``rows`` rows; it is added or removed, or with ``replace`` replaced by
    another, each having at least one row. The column ``person`` says whose a row is; None: every row is a
    unit of its own.
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
        who = person if isinstance(person, Person) or person is None else Person(person)
        if who is None:
            return cls(replace=relation == "replace_one")
        return cls(rows=who.rows, replace=relation == "replace_one", person=who.column)

    # --- how far one unit moves what is counted ---------------------------------------------------------

    @property
    def histogram_l1(self) -> int:
        """L1 distance of two neighbours' tables of counts in which every row is in one cell, at most."""
        return self.rows * (2 if self.replace else 1)

    @property
    def histogram_l2(self) -> float:
        """L2 distance of the same, at most."""
        # All rows of a unit may be in one cell, and leave it for another one.
        return self.rows * (math.sqrt(2) if self.replace else 1.0)

    def rows_of(self, units: int) -> int:
        """Least number of rows that are surely those of so many units, >= 1."""
        return (units - 1) * self.rows + 1

    # --- words ------------------------------------------------------------------------------------------

    @property
    def of_people(self) -> bool:
        """Whether the unit is a person rather than a row."""
        return self.person is not None or self.rows > 1

    @property
    def unit(self) -> str:
        """What is protected."""
        return f"one person ({self._rows})" if self.of_people else "one row"

    @property
    def protected(self) -> str:
        """What is protected, in a card's words."""
        if self.person is None:
            return f"any {self.unit}"
        return f"all rows of any one person, as {self.person} tells them apart; at most {self.rows} are used"

    @property
    def question(self) -> str:
        """What an attacker may want to know, after "whether"."""
        return f"{self.unit} is this one or another" if self.replace else f"{self.unit} is in the data"

    @property
    def relation(self) -> str:
        """Which change of the table the guarantee is for."""
        if self.replace:
            details = f"{self._rows}; the number of people" if self.of_people else "the number of rows"
            return f"replacement of any {self._any_one} by another one ({details} is public)"
        return f"addition or removal of any {self._any_one}" + (f" ({self._rows})" if self.of_people else "")

    @property
    def comparison(self) -> str:
        """What is compared, to follow "as likely"."""
        if self.replace:
            return f"with any {self._any_one} as with any other one in its place"
        return f"with any {self._any_one} in the data as without {'them' if self.of_people else 'it'}"

    @property
    def bias(self) -> str:
        """What bounding the rows of a person does to the output; empty where nothing is bounded."""
        if self.person is None:
            return ""
        return (
            f"people with more than {_count(self.rows)} count as if they had {self.rows}: shares, totals and "
            "whatever goes with having many rows are those of the rows used"
        )

    def several(self, units: int) -> str:
        """So many units, in words."""
        return f"{units} {'people' if self.of_people else 'records'}"

    @property
    def _any_one(self) -> str:
        return "one person" if self.of_people else "one row"

    @property
    def _rows(self) -> str:
        if self.person is None:
            return f"with at most {_count(self.rows)}"
        most = "1 is" if self.rows == 1 else f"{self.rows:,} are"
        return f"all rows with one value of {self.person}, of which at most {most} used"


def _count(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows:,} rows"


@dataclass(frozen=True, kw_only=True)
class OneFamily(Neighbours):
    """The unit of related tables: a row of the root with all rows that hang on it, also through others.

    ``hanging`` has for each other table its name, that of the table it hangs on, the column that says on
    which row, and how many of one row's are used; ``rows`` is the most that a family has in one table, and
    ``person`` the root's key. Proof: ``docs/explanation/proofs/related_tables.md``.
    """

    root: str = ""
    hanging: tuple[tuple[str, str, str, int], ...] = ()

    @property
    def unit(self) -> str:
        """What is protected."""
        return f"one family ({self._rows})"

    @property
    def protected(self) -> str:
        """What is protected, in a card's words."""
        return f"any {self.unit}"

    @property
    def relation(self) -> str:
        """Which change of the tables the guarantee is for."""
        if self.replace:
            other = "another one (the number of families is public)"
            return f"replacement of any one family ({self._rows}) by {other}"
        return f"addition or removal of any one family ({self._rows})"

    def several(self, units: int) -> str:
        """So many units, in words."""
        return f"{units} families"

    @property
    def _any_one(self) -> str:
        return "one family"

    @property
    def _rows(self) -> str:
        hanging = []
        for child, parent, key, most in self.hanging:
            which, each = (
                ("it", "") if parent == self.root else (f"a row of {parent} that is used", " of each")
            )
            used = "1 is" if most == 1 else f"{most:,} are"
            hanging.append(
                f"all rows of {child} that name {which} in {key}, of which at most {used} used{each}"
            )
        return f"a row of {self.root} with {', and '.join(hanging)}"


def neighbours_of(words: Mapping[str, Any]) -> Neighbours:
    """The relation of these fields, as a file has them."""
    if "root" not in words:
        return Neighbours(**words)
    return OneFamily(**{**words, "hanging": tuple(map(tuple, words["hanging"]))})


ONE_ROW = Neighbours()

"""What is said of one claim of a release file, and of whom it protects."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from typing import Any, Literal

State = Literal["ok", "refused", "not checkable"]


@dataclass(frozen=True)
class Verdict:
    """One line.

    Attributes
    ----------
    about : str
        What was checked, such as "total".
    state : {"ok", "refused", "not checkable"}
        Whether it agrees. What cannot be checked is never called ok.
    why : str
        What was found.
    """

    about: str
    state: State
    why: str

    def __str__(self) -> str:
        return f"{self.about}: {self.state}: {self.why}"


class LieError(ValueError):
    """Something in a file is not as the rest of it says; the text is what a verdict quotes."""


class OpenError(ValueError):
    """Something that cannot be checked; the text says why."""


@dataclass(frozen=True)
class Unit:
    """Whom the total protects: all rows of one person, or one row."""

    rows: int
    is_replaced: bool
    person: str | None

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Unit:
        """Of a ledger's entry "neighbours"."""
        return cls(int(told["rows_per_person"]), told["relation"] == "replace_one", told["person"])

    @property
    def l1(self) -> int:
        """Most that counts change in which every row is in one cell, added up."""
        return self.rows * (2 if self.is_replaced else 1)

    @property
    def l2(self) -> float:
        """The same, as a Euclidean distance."""
        return self.rows * math.sqrt(2 if self.is_replaced else 1)


def rounded_up(figure: float, digits: int = 3) -> str:
    """A figure with so many digits, never below it, written as C's format ``%g`` writes it."""
    whole = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(f"{figure:.15g}")
    return f"{float(whole):.{digits}g}"

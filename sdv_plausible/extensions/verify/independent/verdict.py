"""What is said of one claim of a release file, and of whom it protects."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from typing import Any, Literal

LONGEST = 1200  # characters of a reason
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True)
class Verdict:
    """One line: what was checked, whether it agrees, and why; what cannot be checked is never called ok."""

    about: str
    state: Literal["ok", "refused", "not checkable"]
    why: str

    def __post_init__(self) -> None:
        for name in ("about", "why"):  # names of a file must make no line, and no colour on a terminal
            object.__setattr__(self, name, _printable(getattr(self, name)))

    def __str__(self) -> str:
        return f"{self.about}: {self.state}: {self.why}"


def _printable(text: str) -> str:
    cut = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in cut)


def shown(name: str, most: int = 60) -> str:
    """A name of a file as it stands where it is one word, and else in quotation marks and cut short."""
    if re.fullmatch(r"\w[\w-]*", name) and len(name) <= most:
        return name
    return repr(name if len(name) <= most else f"{name[:most]}...")


def visible(text: str) -> str:
    """A text with its control characters written out, as a ledger lists names."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class ContradictionError(ValueError):
    """Something in a file is not as the rest of it says; the text is what a verdict quotes."""


class UncheckableError(ValueError):
    """Something that cannot be checked; the text says why."""


@dataclass(frozen=True)
class ProtectedUnit:
    """Whom the total protects: all rows of one person, or one row."""

    rows: int
    is_replaced: bool
    person: str | None

    @classmethod
    def of(cls, ledger: Any) -> ProtectedUnit:
        """Of a ledger."""
        told = ledger["neighbours"]
        return cls(int(told["rows_per_person"]), told["relation"] == "replace_one", told["person"])

    @property
    def l1(self) -> int:
        """Most that counts change in which every row is in one cell, added up."""
        return self.rows * (2 if self.is_replaced else 1)

    @property
    def l2(self) -> float:
        """The same, as a Euclidean distance."""
        return self.rows * math.sqrt(2 if self.is_replaced else 1)


def rounded_up(figure: float) -> str:
    """A figure with three digits, never below it, written as C's format ``%g`` writes it."""
    return f"{float(Context(prec=3, rounding=ROUND_CEILING).create_decimal(f'{figure:.15g}')):.3g}"

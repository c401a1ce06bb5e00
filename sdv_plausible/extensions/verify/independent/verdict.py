"""Findings of the checks, their errors, and the privacy unit."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from typing import Any, Literal

MAX_REASON = 1200  # most characters of a reason
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True)
class Verdict:
    """Finding on one claim: what was checked, its state, and why."""

    about: str
    state: Literal["ok", "refused", "not checkable"]
    why: str

    def __post_init__(self) -> None:
        for name in ("about", "why"):  # names from a file must not add lines or terminal colours
            object.__setattr__(self, name, _printable(getattr(self, name)))

    def __str__(self) -> str:
        return f"{self.about}: {self.state}: {self.why}"


def _printable(text: str) -> str:
    shortened = text if len(text) <= MAX_REASON else f"{text[:MAX_REASON]}..."
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in shortened)


def quoted(name: str, max_length: int = 60) -> str:
    """A name from a file: as it is if it is one word, else quoted and cut."""
    if re.fullmatch(r"\w[\w-]*", name) and len(name) <= max_length:
        return name
    return repr(name if len(name) <= max_length else f"{name[:max_length]}...")


def escape_controls(text: str) -> str:
    """A text with its control characters escaped, as the ledger lists names."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class ContradictionError(ValueError):
    """A claim that the rest of the file contradicts; the message is the finding's reason."""


class UncheckableError(ValueError):
    """A claim that cannot be checked; the message is the finding's reason."""


@dataclass(frozen=True)
class ProtectedUnit:
    """The privacy unit: all rows of one person, or one row."""

    rows: int
    is_replaced: bool
    person: str | None

    @classmethod
    def of(cls, ledger: Any) -> ProtectedUnit:
        """The unit of a ledger."""
        neighbours = ledger["neighbours"]
        return cls(
            int(neighbours["rows_per_person"]), neighbours["relation"] == "replace_one", neighbours["person"]
        )

    @property
    def l1(self) -> int:
        """L1 sensitivity of a histogram."""
        return self.rows * (2 if self.is_replaced else 1)

    @property
    def l2(self) -> float:
        """L2 sensitivity of a histogram."""
        return self.rows * math.sqrt(2 if self.is_replaced else 1)


def rounded_up(figure: float) -> str:
    """A figure rounded up to three digits, in C's format ``%g``."""
    return f"{float(Context(prec=3, rounding=ROUND_CEILING).create_decimal(f'{figure:.15g}')):.3g}"

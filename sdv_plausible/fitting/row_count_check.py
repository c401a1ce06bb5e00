"""A count of the rows before all else: whether there are enough of them for what nobody declared.

Proof: ``docs/explanation/proofs/budget.md``, Theorem 3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sdv_plausible.mechanism.privacy_tests.privacy_settings import Settings
from sdv_plausible.privacy.accounting.losses import PureDP
from sdv_plausible.privacy.entries import COUNT, LedgerEntry
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.privacy.parameter_checks import listed
from sdv_plausible.queries.count_queries import NumberOfRows, QueryRecord
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.rules.rule_set import RuleSet

COUNT_SHARE, COUNT_MOST = 0.005, 0.02  # of epsilon, and at most
MOST_EPSILON = 100.0  # of a fit that counts: noise of more hides hardly a column
DEVIATIONS = 2.0  # of the count's noise, by which there may be more rows than it says
ROWS_AT_FIRST = "number of rows, first"
Specs = Mapping[str, Mapping[str, Any]]


class TooFewRowsError(ValueError):
    """A count says that there are too few rows for most columns that nobody declared.

    Only the count was spent. Its text holds nothing of the rows but the noisy count, and types and formats of
    the metadata: it may be released if these were known without the data.

    Attributes
    ----------
    rows : int
        The noisy count.
    rows_needed : dict of str to int
        By column that would be lost, the number of rows from which on it would not.
    epsilon : float
        What was spent; of delta nothing was.
    declarations : dict of str to str
        By the same columns, what to declare, with the values to be filled in.
    """

    rows: int
    rows_needed: dict[str, int]
    epsilon: float
    declarations: dict[str, str]

    @classmethod
    def of(cls, rows: int, needed: Mapping[str, int], epsilon: float, specs: Specs) -> TooFewRowsError:
        """Say what is lost of so many rows, and how to go on."""
        lines = {name: declaration(name, specs[name]) for name in needed}
        error = cls(
            f"{of_few_rows(rows, needed)}. Nothing was learned, and only the count was spent (epsilon "
            f"{rounded_up(epsilon)}), which adds to what a next fit costs. Declare what you know without the "
            f"rows (domain=..., or the command declare): {{{', '.join([*lines.values()][:3])}"
            f"{', ...' if len(lines) > 3 else ''}}}; take more rows or a larger epsilon; or go on all the "
            "same, and nothing is counted: anyway=True (--anyway)"
        )
        error.rows, error.rows_needed, error.epsilon = rows, dict(needed), epsilon
        error.declarations = lines
        return error


def declaration(name: str, words: Mapping[str, Any]) -> str:
    """What to declare of a column, in one line of a domain, with the values to be filled in."""
    told = {word: f'"{words[word]}"' for word in ("sdtype", "datetime_format") if words.get(word)}
    if not told:
        told = {"sdtype": "..."}  # which nobody knows yet
    elif words["sdtype"] in ("numerical", "datetime"):
        told |= {"range_min": "...", "range_max": "..."}
    else:
        told |= {"range_values": "[...]"}
    written = ", ".join(f'"{word}": {value}' for word, value in told.items())
    return f'"{name}": {{{written}}}'


def of_few_rows(rows: int, needed: Mapping[str, int]) -> str:
    """Which columns are lost at about so many rows, and how many rows they need: of a plan and of a fit."""
    each = sorted({*needed.values()})
    about = f"{each[0]:,}" if len(each) == 1 else f"{each[0]:,} to {each[-1]:,}"
    return (
        f"about {rows:,} rows are too few to learn what most columns hold that nobody declared: noise would "
        f"hide most of {listed([*needed])}, which need about {about} rows at this epsilon and delta"
    )


def lost_at(rows: float, needed: Mapping[str, int]) -> dict[str, int]:
    """Columns that are lost at so many rows."""
    return {name: least for name, least in needed.items() if rows < least}


def rows_needed(of_model: Mapping[str, int], rules: RuleSet) -> dict[str, int]:
    """The same by column of the table, where some of the model's columns stand for others."""
    found: dict[str, int] = {}
    for name, least in of_model.items():
        found |= {column: max(least, found.get(column, 0)) for column in rules.behind(name)}
    return found


def goes_on(noisy: float, scale: float, needed: Mapping[str, int]) -> bool:
    """Whether a fit goes on after a noisy count: with ``DEVIATIONS`` more there are rows enough."""
    return not are_too_few(noisy + DEVIATIONS * math.sqrt(2) * scale, needed)


def are_too_few(rows: float, needed: Mapping[str, int]) -> bool:
    """Whether more than half of the undeclared columns are lost at so many rows."""
    return 2 * len(lost_at(rows, needed)) > len(needed)


# --- the count ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowCountQuery(NumberOfRows):
    """Number of rows, before anything else is asked, for Laplace noise."""

    proof = "docs/explanation/proofs/budget.md, Theorem 3"

    def asked(self) -> QueryRecord:
        """Say what is asked."""
        return QueryRecord(kind=ROWS_AT_FIRST)

    def l1(self, neighbours: Neighbours) -> int:
        """All rows of a unit more or less; replacing it changes the number by less."""
        return neighbours.rows


def is_counted(s: Settings, anyway: bool) -> bool:
    """Whether the rows are counted before columns are learned that few rows may lose."""
    return not anyway and s.epsilon <= MOST_EPSILON


def count_epsilon(epsilon: float) -> float:
    """What the count takes of an epsilon."""
    return min(COUNT_SHARE * epsilon, COUNT_MOST)


def count_entry(s: Settings) -> LedgerEntry:
    """Ledger entry of the count, within the whole epsilon."""
    epsilon = count_epsilon(s.epsilon)
    return LedgerEntry(
        name=COUNT,
        mechanism=(
            f"a noisy number of rows (Laplace noise of scale {rounded_up(s.neighbours.rows / epsilon, 4)}), "
            "by which a fit ends where most undeclared columns would be lost"
        ),
        losses=(PureDP(epsilon=epsilon),),
        scope="the domain",
        parts=("domain",),
    )


def after_count(s: Settings) -> Settings:
    """What is left beside the count: both epsilons, as decimals, add up to the whole at most."""
    left = s.epsilon - count_epsilon(s.epsilon)
    while _exact(left) + _exact(count_epsilon(s.epsilon)) > _exact(s.epsilon):
        left = math.nextafter(left, 0.0)
    return replace(s, epsilon=left)


def _exact(epsilon: float) -> Fraction:
    return Fraction(repr(float(epsilon)))


def counted_rows(rows: Queryable, s: Settings, needed: Mapping[str, int], specs: Specs) -> None:
    """Count the rows, and refuse where most undeclared columns would be lost.

    ``s`` are the settings of the whole; the door is opened by :func:`count_entry`. What is decided hangs on
    the noisy count, and on what is public.

    Raises
    ------
    TooFewRowsError
        If even ``DEVIATIONS`` more than were counted are too few.
    """
    epsilon = count_epsilon(s.epsilon)
    answer = rows.ask_laplace(RowCountQuery(), epsilon)
    noisy = float(answer.values[0])
    if not goes_on(noisy, answer.sigma, needed):
        count = max(round(noisy), 0)
        raise TooFewRowsError.of(count, lost_at(count, needed), epsilon, specs)


def plan_says(rows: int | None, of_model: Mapping[str, int], rules: RuleSet) -> Sequence[str]:
    """What a plan says of columns that are lost at about so many rows."""
    needed = rows_needed(of_model, rules)
    if rows is None or not (lost := lost_at(rows, needed)):
        return ()
    if are_too_few(rows, needed):
        return (f"{of_few_rows(rows, lost)}: declare them (domain=...), or raise epsilon or delta",)
    return (
        f"at about {rows:,} rows noise would hide most of {listed([*lost])}, which need about "
        f"{max(lost.values()):,} rows at this epsilon and delta: declare them (domain=...), or raise epsilon "
        "or delta",
    )

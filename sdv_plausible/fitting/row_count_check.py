"""A noisy row count before anything else: stop if there are too few rows to learn undeclared columns.

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
from sdv_plausible.privacy.entries import ROW_COUNT_ENTRY, LedgerEntry
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.privacy.parameter_checks import listed
from sdv_plausible.queries.count_queries import NumberOfRows, QueryRecord
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.rules.rule_set import RuleSet

COUNT_SHARE, COUNT_MOST = 0.005, 0.02  # share of epsilon for the count, and its maximum
MOST_EPSILON = 100.0  # no count above this epsilon: the noise hides hardly any column
DEVIATIONS = 2.0  # standard deviations of the count's noise by which there may be more rows than counted
ROWS_AT_FIRST = "number of rows, first"
Specs = Mapping[str, Mapping[str, Any]]


class TooFewRowsError(ValueError):
    """There are too few rows to learn most undeclared columns, by a noisy count.

    Only the count was spent. The message contains the noisy count, and types and formats of the metadata. It
    may be released if these were known without the data.

    Attributes
    ----------
    rows : int
        The noisy count, >= 0.
    rows_needed : dict of str to int
        For each column that would be lost, the number of rows from which it can be learned.
    epsilon : float
        The epsilon that was spent; no delta was.
    declarations : dict of str to str
        For each of these columns a declaration, with the values left open.
    """

    rows: int
    rows_needed: dict[str, int]
    epsilon: float
    declarations: dict[str, str]

    @classmethod
    def of(cls, rows: int, needed: Mapping[str, int], epsilon: float, specs: Specs) -> TooFewRowsError:
        """The error for a noisy count, with the columns that would be lost and the ways out."""
        lines = {name: declaration(name, specs[name]) for name in needed}
        error = cls(
            f"{few_rows_sentence(rows, needed)}. Nothing was learned. Only the row count was charged "
            f"(epsilon {rounded_up(epsilon)}), which adds to the cost of the next fit. Either declare "
            "columns without looking at the rows (domain=...): "
            f"{{{', '.join([*lines.values()][:3])}{', ...' if len(lines) > 3 else ''}}}. Or use more rows "
            "or a larger epsilon. Or fit without this check: anyway=True"
        )
        error.rows, error.rows_needed, error.epsilon = rows, dict(needed), epsilon
        error.declarations = lines
        return error


def declaration(name: str, words: Mapping[str, Any]) -> str:
    """A declaration of a column in one line of Python, with the values left open."""
    entries = {key: f'"{words[key]}"' for key in ("sdtype", "datetime_format") if words.get(key)}
    if not entries:
        entries = {"sdtype": "..."}  # the type is open, too
    elif words["sdtype"] in ("numerical", "datetime"):
        entries |= {"range_min": "...", "range_max": "..."}
    else:
        entries |= {"range_values": "[...]"}
    text = ", ".join(f'"{key}": {value}' for key, value in entries.items())
    return f'"{name}": {{{text}}}'


def few_rows_sentence(rows: int, needed: Mapping[str, int]) -> str:
    """Sentence on the columns that are lost at about ``rows`` rows, and on the rows they need."""
    each = sorted({*needed.values()})
    about = f"{each[0]:,}" if len(each) == 1 else f"{each[0]:,} to {each[-1]:,}"
    return (
        f"about {rows:,} rows are too few to learn most undeclared columns. Noise would hide most of "
        f"{listed([*needed])}, which need about {about} rows at this epsilon and delta"
    )


def lost_at(rows: float, needed: Mapping[str, int]) -> dict[str, int]:
    """Columns that need more than ``rows`` rows."""
    return {name: least for name, least in needed.items() if rows < least}


def rows_needed(of_model: Mapping[str, int], rules: RuleSet) -> dict[str, int]:
    """Rows needed by column of the table, from those by column of the model."""
    needed: dict[str, int] = {}
    for name, least in of_model.items():
        needed |= {column: max(least, needed.get(column, 0)) for column in rules.behind(name)}
    return needed


def has_enough_rows(noisy: float, scale: float, needed: Mapping[str, int]) -> bool:
    """Whether a fit continues: the noisy count plus ``DEVIATIONS`` standard deviations is enough."""
    return not are_too_few(noisy + DEVIATIONS * math.sqrt(2) * scale, needed)


def are_too_few(rows: float, needed: Mapping[str, int]) -> bool:
    """Whether more than half of the undeclared columns need more than ``rows`` rows."""
    return 2 * len(lost_at(rows, needed)) > len(needed)


# --- the count ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowCountQuery(NumberOfRows):
    """Number of rows with Laplace noise, before all other queries."""

    proof = "docs/explanation/proofs/budget.md, Theorem 3"

    def asked(self) -> QueryRecord:
        """The query as the transcript records it."""
        return QueryRecord(kind=ROWS_AT_FIRST)

    def l1(self, neighbours: Neighbours) -> int:
        """The rows of a unit: adding or removing it changes the count most."""
        return neighbours.rows


def is_counted(s: Settings, anyway: bool) -> bool:
    """Whether a row count comes before undeclared columns are learned."""
    return not anyway and s.epsilon <= MOST_EPSILON


def count_epsilon(epsilon: float) -> float:
    """The share of epsilon for the count."""
    return min(COUNT_SHARE * epsilon, COUNT_MOST)


def count_entry(s: Settings) -> LedgerEntry:
    """Ledger entry of the count; ``s`` has the total epsilon."""
    epsilon = count_epsilon(s.epsilon)
    return LedgerEntry(
        name=ROW_COUNT_ENTRY,
        mechanism=(
            f"noisy number of rows (Laplace noise of scale {rounded_up(s.neighbours.rows / epsilon, 4)}); "
            "the fit stops if most undeclared columns would be lost"
        ),
        losses=(PureDP(epsilon=epsilon),),
        scope="the domain",
        parts=("domain",),
    )


def after_count(s: Settings) -> Settings:
    """Settings without the count's epsilon: as decimals, both add up to at most the total."""
    left = s.epsilon - count_epsilon(s.epsilon)
    while _exact(left) + _exact(count_epsilon(s.epsilon)) > _exact(s.epsilon):
        left = math.nextafter(left, 0.0)
    return replace(s, epsilon=left)


def _exact(epsilon: float) -> Fraction:
    return Fraction(repr(float(epsilon)))


def check_row_count(rows: Queryable, s: Settings, needed: Mapping[str, int], specs: Specs) -> None:
    """Raise TooFewRowsError if, by a noisy count alone, most undeclared columns would be lost."""
    epsilon = count_epsilon(s.epsilon)
    answer = rows.ask_laplace(RowCountQuery(), epsilon)
    noisy = float(answer.values[0])
    if not has_enough_rows(noisy, answer.sigma, needed):
        count = max(round(noisy), 0)
        raise TooFewRowsError.of(count, lost_at(count, needed), epsilon, specs)


def plan_warnings(rows: int | None, of_model: Mapping[str, int], rules: RuleSet) -> Sequence[str]:
    """Warning of a plan on the columns that are lost at about ``rows`` rows."""
    needed = rows_needed(of_model, rules)
    if rows is None or not (lost := lost_at(rows, needed)):
        return ()
    if are_too_few(rows, needed):
        return (f"{few_rows_sentence(rows, lost)}. Declare them (domain=...), or raise epsilon or delta",)
    return (
        f"at about {rows:,} rows, noise would hide most of {listed([*lost])}, which need about "
        f"{max(lost.values()):,} rows at this epsilon and delta. Declare them (domain=...), or raise "
        "epsilon or delta",
    )

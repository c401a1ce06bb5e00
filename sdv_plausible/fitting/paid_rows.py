"""The number of rows that a row-by-row test pays for."""

from __future__ import annotations

from typing import Any

from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.rules.rule import has_row_constraints
from sdv_plausible.rules.rule_files import read_rules


def paid_row_cap(rows: int, rules: Any, row_cap: int | None) -> int:
    """The ``row_cap`` of a row-by-row test: the rows wanted, unless a larger one is given."""
    if row_cap is None and has_row_constraints(read_rules(rules)):
        raise Refused.saying(
            "test",
            "test: a row-by-row test pays for every row, and rows that break a rule are drawn again: take "
            f'"release", leave these rules out, or say how many may be drawn by row_cap, such as {2 * rows}',
        )
    if row_cap is not None and row_cap < rows:
        rule = f"must be at least the rows that are asked for ({rows}), each of which is paid for"
        raise Refused("row_cap", row_cap, rule)
    return max(rows, 1) if row_cap is None else row_cap

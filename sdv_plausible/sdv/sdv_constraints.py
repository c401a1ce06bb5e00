"""Convert SDV constraints to rules, unless they learn from the rows."""

from __future__ import annotations

from typing import Any

import sdv_plausible.rules as kinds
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.rules.rule import Rule

_INSTEAD = {
    "FixedCombinations": "Allowed(columns, combinations) or Determined(column, by, mapping), with the "
    "combinations as your code book has them",
    "ProgrammableConstraint": "Implies, Forbidden, Allowed, Determined, Sum or Inequality",
    "SingleTableProgrammableConstraint": "Implies, Forbidden, Allowed, Determined, Sum or Inequality",
}


def as_rules(rules: Any) -> Any:
    """Convert the SDV constraints in a list of rules; an error names the rule to use instead."""
    if not isinstance(rules, (list, tuple)):
        return rules
    return [rule for item in rules for rule in (_converted(item) if _is_sdv(item) else [item])]


def _is_sdv(item: Any) -> bool:
    return any(base.__module__.split(".")[0] == "sdv" for base in type(item).__mro__)


def _converted(constraint: Any) -> list[Rule]:
    name, fields = type(constraint).__name__, vars(constraint)
    if name == "Inequality":
        low, high = fields["_low_column_name"], fields["_high_column_name"]
        return [kinds.Inequality(low, high, fields["strict_boundaries"])]
    if name == "Range":
        low, middle, high = (fields[f"_{which}_column_name"] for which in ("low", "middle", "high"))
        strict = fields["strict_boundaries"]
        return [kinds.Inequality(low, middle, strict), kinds.Inequality(middle, high, strict)]
    if name == "OneHotEncoding":
        return [kinds.OneHot(fields["_column_names"])]
    if name == "FixedIncrements":
        return [kinds.Multiple(fields["column_name"], fields["increment_value"])]
    base = next(
        (known for known in _INSTEAD if any(b.__name__ == known for b in type(constraint).__mro__)), ""
    )
    instead = _INSTEAD.get(base, "a rule of sdv_plausible.rules")
    raise Refused.saying(
        "rules",
        f"rules: SDV's {name} learns from the rows, or is code that cannot be checked; declare what holds "
        f"instead: {instead}",
    )

"""Satisfiability of rules: a search over the values that rules distinguish, without real rows."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.rules import rule_cells
from sdv_plausible.rules.conditions import Allowed, Forbidden, Implies, all_met
from sdv_plausible.rules.derived_columns import Determined, OneHot
from sdv_plausible.rules.rule import ColumnSpec, Formats, Rule, date_formats

MAX_SEARCH_ROWS = 200_000  # size limit of the search; larger ones are skipped


def check_possible(rules: Sequence[Rule], specs: Mapping[str, ColumnSpec]) -> None:
    """Raise an error for rules that no row can satisfy, or that can never apply."""
    formats = date_formats(specs)
    for rule in rules:
        _check_named(rule, specs, formats)
    constraints = [rule for rule in rules if isinstance(rule, (Implies, Forbidden, Allowed))]
    constrained = {name for rule in constraints for name in rule.columns}
    others = [
        rule for rule in rules if isinstance(rule, (Determined, OneHot)) and constrained & set(rule.columns)
    ]
    for group in _connected([*constraints, *others]):
        names = sorted({name for rule in group for name in rule.columns})
        values = {name: _values(name, group, specs.get(name, {})) for name in names}
        for rule in group:
            _check_values(rule, values, formats)
        _check_group(group, _satisfying_rows(group, values, formats), formats)


def _connected(rules: Sequence[Rule]) -> list[list[Rule]]:
    """Groups of rules that share no column with another group."""
    groups: list[list[Rule]] = []
    for rule in rules:
        linked = [g for g in groups if any(set(rule.columns) & set(other.columns) for other in g)]
        groups = [g for g in groups if g not in linked]
        groups.append([rule, *(other for g in linked for other in g)])
    return groups


def _check_named(rule: Rule, specs: Mapping[str, ColumnSpec], formats: Formats) -> None:
    """Raise an error for a rule that names a value outside its column's declaration."""
    known: dict[str, set[Any]] = {}
    for name, value in rule.named:
        spec, key = specs.get(name, {}), rule_cells.cell_key(value, name, formats)
        if spec.get("range_values") is not None and name not in known:
            known[name] = {rule_cells.cell_key(v, name, formats) for v in spec["range_values"]}
        if key == rule_cells.MISSING:
            outside = spec.get("range_is_nullable") is False
        elif name in known:
            outside = key not in known[name]
        else:
            outside = _is_out_of_range(value, name, spec)
        if outside:
            what = "missing" if key == rule_cells.MISSING else repr(value)
            raise Refused.saying(
                "rules",
                f"rule '{rule}' names {what}, which is not a declared value of column {name!r}: use values "
                "of its declaration, or remove this one",
            )


def _is_out_of_range(value: Any, name: str, spec: ColumnSpec) -> bool:
    """Whether a value is outside the declared range, and no special value."""
    low, high = spec.get("range_min"), spec.get("range_max")
    if low is None or high is None or value in (spec.get("special_values") or ()):
        return False
    if spec.get("sdtype") == "datetime":
        form = spec.get("datetime_format")
        low, value, high = (rule_cells.to_nanoseconds(v, name, form) for v in (low, value, high))
    elif not rule_cells.is_number(value):
        return True
    return bool(not low <= value <= high)


def _check_group(group: Sequence[Rule], possible: pd.DataFrame | None, formats: Formats) -> None:
    """Raise an error for rules that no row satisfies, or whose condition no row can meet."""
    if possible is None:
        return
    if not len(possible):
        raise Refused.saying(
            "rules",
            "rules contradict each other or the declarations: no row can satisfy all of '"
            + "', '".join(map(str, group))
            + "'",
        )
    for rule in group:
        if isinstance(rule, Implies) and not all_met(rule.when, possible, formats).any():
            raise Refused.saying(
                "rules",
                f"rules contradict each other or the declarations: no row to which rule '{rule}' applies "
                "can satisfy all rules",
            )


def _check_values(rule: Rule, values: Mapping[str, pd.Series[Any]], formats: Formats) -> None:
    """Raise an error for a condition that no declared value of its column meets."""
    for condition in rule.conditions:
        table = pd.DataFrame({condition.column: values[condition.column]})
        if not condition.meets(table, formats).any():
            raise rule.refused(
                f"no declared value of column {condition.column!r} satisfies '{condition}': use values of "
                "its declaration"
            )


def _values(name: str, rules: Sequence[Rule], spec: ColumnSpec) -> pd.Series[Any]:
    """Representative values of a column, covering all cases that the rules distinguish."""
    declared = spec.get("range_values")
    if declared is None and spec.get("sdtype") == "boolean":
        declared = (False, True)
    missing = [None] if _may_miss(name, rules, spec) else []
    if declared is not None:
        return pd.Series([*declared, *missing], dtype=object)
    named = named_values(name, rules)
    if spec.get("sdtype") == "datetime":
        return _dates(named, spec, missing)
    if spec.get("sdtype") == "numerical":
        return _numbers(named, spec, missing)
    distinct = {rule_cells.cell_key(value, name, {}): value for value in (*named, "\x00another", *missing)}
    return pd.Series(list(distinct.values()), dtype=object)


def _may_miss(name: str, rules: Sequence[Rule], spec: ColumnSpec) -> bool:
    """Whether a column may be missing: as declared, or if a rule names missing; True if undeclared."""
    if (nullable := spec.get("range_is_nullable")) is not None:
        return bool(nullable)
    is_declared = any(spec.get(word) is not None for word in ("range_values", "range_min", "range_max"))
    named = (value for rule in rules for column, value in rule.named if column == name)
    return not is_declared or any(pd.isna(value) for value in named)


def named_values(name: str, rules: Sequence[Rule]) -> list[Any]:
    """Values of a column that rules name."""
    named: list[Any] = []
    for rule in rules:
        named += [value for column, value in rule.named if column == name and not pd.isna(value)]
        named += [point for c in rule.conditions if c.column == name for point in c.points]
    return named


def dates_to_nanoseconds(named: Sequence[Any], form: str | None) -> list[int]:
    """Nanoseconds of those values that are dates, in the format or as ISO 8601."""
    nanoseconds = []
    for value in named:
        with contextlib.suppress(ValueError):  # not a date
            nanoseconds.append(rule_cells.to_nanoseconds(value, "", form))
    return nanoseconds


def _numbers(named: list[Any], spec: ColumnSpec, missing: list[None]) -> pd.Series[Any]:
    """The named numbers and range ends with their neighbours, within the range."""
    plain = [float(v) for v in named if rule_cells.is_number(v)]
    low, high = (spec.get(word) for word in ("range_min", "range_max"))
    plain += [float(end) for end in (low, high) if end is not None]
    step = 10.0 ** -spec["decimal_places"] if spec.get("decimal_places") is not None else 0.0
    if not step:
        step = 1.0 if all(isinstance(v, (int, np.integer)) for v in (low, high)) else 1e-6
    near = {v + d for v in plain for d in (-step, 0.0, step)} | {0.0}
    codes = spec.get("special_values") or ()
    special = [float(v) if rule_cells.is_number(v) else v for v in codes]
    inside = [v for v in sorted(near) if (low is None or v >= low) and (high is None or v <= high)]
    return pd.Series([*inside, *special, *missing], dtype=object)


def _dates(named: list[Any], spec: ColumnSpec, missing: list[None]) -> pd.Series[Any]:
    """The named moments and range ends with their neighbouring days, as timestamps."""
    ends = (spec.get("range_min"), spec.get("range_max"))
    day = 86_400_000_000_000
    known = dates_to_nanoseconds((*named, *ends), spec.get("datetime_format"))
    low, high = (next(iter(dates_to_nanoseconds([end], spec.get("datetime_format"))), None) for end in ends)
    near = sorted({m + d for m in known for d in (-day, 0, day)}) or [0]
    near = [m for m in near if (low is None or m >= low) and (high is None or m <= high + day - 1)]
    return pd.Series([*map(pd.Timestamp, near), *missing], dtype=object)


def _satisfying_rows(
    rules: Sequence[Rule], values: Mapping[str, pd.Series[Any]], formats: Formats
) -> pd.DataFrame | None:
    """Combinations of values that satisfy the rules; None if the search is too large."""
    table = pd.DataFrame(index=[0])
    for rule in sorted(rules, key=lambda rule: len(rule.columns)):
        for name in rule.columns:
            if name not in table:
                if len(table) * len(values[name]) > MAX_SEARCH_ROWS:
                    return None
                table = table.merge(values[name].rename(name), how="cross")
        table = table[rule.holds(table, formats)].reset_index(drop=True)
    return table

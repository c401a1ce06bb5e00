"""Whether any row can keep all rules: a search over the values that rules tell apart, without a real row."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.rules import rule_cells
from sdv_plausible.rules.conditions import Allowed, Forbidden, Implies, all_met
from sdv_plausible.rules.determined import Determined
from sdv_plausible.rules.one_hot import OneHot
from sdv_plausible.rules.rule import Formats, Rule, Words, date_formats

MOST_ROWS = 200_000  # of the search; beyond, nothing is said


def check_possible(rules: Sequence[Rule], words: Mapping[str, Words]) -> None:
    """Refuse rules that no row can keep, or that can never apply."""
    formats = date_formats(words)
    for rule in rules:
        _check_named(rule, words, formats)
    limiting = [rule for rule in rules if isinstance(rule, (Implies, Forbidden, Allowed))]
    touched = {name for rule in limiting for name in rule.columns}
    others = [
        rule for rule in rules if isinstance(rule, (Determined, OneHot)) and touched & set(rule.columns)
    ]
    for group in _connected([*limiting, *others]):
        names = sorted({name for rule in group for name in rule.columns})
        values = {name: _values(name, group, words.get(name, {})) for name in names}
        for rule in group:
            _check_values(rule, values, formats)
        _check_group(group, _possible(group, values, formats), formats)


def _connected(rules: Sequence[Rule]) -> list[list[Rule]]:
    """Rules in groups that have no column in common."""
    groups: list[list[Rule]] = []
    for rule in rules:
        near = [g for g in groups if any(set(rule.columns) & set(other.columns) for other in g)]
        groups = [g for g in groups if g not in near] + [[rule, *(other for g in near for other in g)]]
    return groups


def _check_named(rule: Rule, words: Mapping[str, Words], formats: Formats) -> None:
    """Refuse a rule that names a value that is not declared of its column."""
    known: dict[str, set[Any]] = {}
    for name, value in rule.named:
        spec, found = words.get(name, {}), rule_cells.key(value, name, formats)
        if spec.get("range_values") is not None and name not in known:
            known[name] = {rule_cells.key(v, name, formats) for v in spec["range_values"]}
        if found == rule_cells.MISSING:
            outside = spec.get("range_is_nullable") is False
        elif name in known:
            outside = found not in known[name]
        else:
            outside = _is_beyond(value, name, spec)
        if outside:
            said = "missing" if found == rule_cells.MISSING else repr(value)
            raise Refused.saying(
                "rules",
                f"rule '{rule}' names {said}, which is no declared value of column {name!r}: write values as "
                "in its declaration, or leave this one out",
            )


def _is_beyond(value: Any, name: str, spec: Words) -> bool:
    """Whether a value is outside the declared range, and no special value."""
    low, high = spec.get("range_min"), spec.get("range_max")
    if low is None or high is None or value in (spec.get("special_values") or ()):
        return False
    if spec.get("sdtype") == "datetime":
        form = spec.get("datetime_format")
        low, value, high = (rule_cells.moment(v, name, form) for v in (low, value, high))
    elif not rule_cells.is_number(value):
        return True
    return bool(not low <= value <= high)


def _check_group(group: Sequence[Rule], possible: pd.DataFrame | None, formats: Formats) -> None:
    """Refuse rules that no row keeps, or of which one can never begin."""
    if possible is None:
        return
    if not len(possible):
        raise Refused.saying(
            "rules",
            "rules contradict each other, or the declarations: no row can keep all of '"
            + "', '".join(map(str, group))
            + "'",
        )
    for rule in group:
        if isinstance(rule, Implies) and not all_met(rule.when, possible, formats).any():
            raise Refused.saying(
                "rules",
                f"rules contradict each other, or the declarations: no row that begins rule '{rule}' can "
                "keep all rules",
            )


def _check_values(rule: Rule, values: Mapping[str, pd.Series[Any]], formats: Formats) -> None:
    """Refuse a condition that no declared value of its column meets."""
    for condition in rule.conditions:
        table = pd.DataFrame({condition.column: values[condition.column]})
        if not condition.meets(table, formats).any():
            raise Refused.saying(
                "rules",
                f"rule '{rule}': no declared value of column {condition.column!r} meets '{condition}'; "
                "write values as in its declaration",
            )


def _values(name: str, rules: Sequence[Rule], spec: Words) -> pd.Series[Any]:
    """Values of a column that stand for all that rules tell apart."""
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
    distinct = {rule_cells.key(value, name, {}): value for value in (*named, "\x00another", *missing)}
    return pd.Series(list(distinct.values()), dtype=object)


def _may_miss(name: str, rules: Sequence[Rule], spec: Words) -> bool:
    """Whether a row may do without a value: of a declared column, as far as it or a rule says so."""
    if (stated := spec.get("range_is_nullable")) is not None:
        return bool(stated)
    is_declared = any(spec.get(word) is not None for word in ("range_values", "range_min", "range_max"))
    named = (value for rule in rules for column, value in rule.named if column == name)
    return not is_declared or any(pd.isna(value) for value in named)


def named_values(name: str, rules: Sequence[Rule]) -> list[Any]:
    """Values of a column that rules name."""
    named: list[Any] = []
    for rule in rules:
        named += [value for column, value in rule.named if column == name and not pd.isna(value)]
        named += [p for c in rule.conditions if c.column == name for p in c.points]
    return named


def moments(named: Sequence[Any], form: str | None) -> list[int]:
    """Nanoseconds of the dates among values, in the format or as ISO 8601."""
    found = []
    for value in named:
        with contextlib.suppress(ValueError):  # another column's, or none
            found.append(rule_cells.moment(value, "", form))
    return found


def _numbers(named: list[Any], spec: Words, missing: list[None]) -> pd.Series[Any]:
    """The named numbers, their neighbours and ends of the range, as far as inside it."""
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


def _dates(named: list[Any], spec: Words, missing: list[None]) -> pd.Series[Any]:
    """Moments about the named ones and the ends, as timestamps."""
    ends = (spec.get("range_min"), spec.get("range_max"))
    day = 86_400_000_000_000
    known = moments((*named, *ends), spec.get("datetime_format"))
    low, high = (next(iter(moments([end], spec.get("datetime_format"))), None) for end in ends)
    near = sorted({m + d for m in known for d in (-day, 0, day)}) or [0]
    near = [m for m in near if (low is None or m >= low) and (high is None or m <= high + day - 1)]
    return pd.Series([*map(pd.Timestamp, near), *missing], dtype=object)


def _possible(
    rules: Sequence[Rule], values: Mapping[str, pd.Series[Any]], formats: Formats
) -> pd.DataFrame | None:
    """Rows of such values that keep the rules; None if there are too many to look at."""
    table = pd.DataFrame(index=[0])
    for rule in sorted(rules, key=lambda rule: len(rule.columns)):
        for name in rule.columns:
            if name not in table:
                if len(table) * len(values[name]) > MOST_ROWS:
                    return None
                table = table.merge(values[name].rename(name), how="cross")
        table = table[rule.holds(table, formats)].reset_index(drop=True)
    return table

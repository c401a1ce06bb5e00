"""Whether any row can keep all rules: a search over the values that rules tell apart, without a real row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.rules import cells
from sdv_plausible.rules.conditions import Allowed, Condition, Forbidden, Implies
from sdv_plausible.rules.making import Determined
from sdv_plausible.rules.rule import Rule, Words
from sdv_plausible.table.specifications import date_ends

MOST_ROWS = 200_000  # of the search; beyond, nothing is said


def check_possible(rules: Sequence[Rule], words: Mapping[str, Words]) -> None:
    """Refuse rules that no row can keep, or that can never apply.

    Parameters
    ----------
    rules : sequence of Rule
        All rules.
    words : mapping
        What is declared of every column.

    Raises
    ------
    ValueError
        If a condition can never be met by a declared value, or no row keeps all rules.
    """
    limiting = [rule for rule in rules if isinstance(rule, (Implies, Forbidden, Allowed))]
    if not limiting:
        return
    touched = {name for rule in limiting for name in rule.columns}
    mappings = [rule for rule in rules if isinstance(rule, Determined) and rule.column in touched]
    touched |= {name for rule in mappings for name in rule.columns}
    formats = {n: w.get("datetime_format") for n, w in words.items() if w.get("sdtype") == "datetime"}
    values = {name: _values(name, [*limiting, *mappings], words.get(name, {})) for name in sorted(touched)}
    for rule in limiting:
        _check_values(rule, values, formats)
    possible = _possible([*limiting, *mappings], values, formats)
    if possible is None:
        return
    if not len(possible):
        raise ValueError(
            "rules contradict each other, or the declarations: no row can keep all of '"
            + "', '".join(map(str, [*limiting, *mappings])) + "'"
        )  # fmt: skip
    for rule in limiting:
        if isinstance(rule, Implies):
            table = possible[[c.column for c in rule.when]]
            met = [condition.meets(table, formats) for condition in rule.when]
            if not np.logical_and.reduce(met).any():
                raise ValueError(
                    f"rules contradict each other, or the declarations: no row that begins rule '{rule}' can "
                    "keep all rules"
                )


def _check_values(rule: Rule, values: Mapping[str, pd.Series[Any]], formats: Any) -> None:
    """Refuse a condition that no declared value of its column meets."""
    conditions: Sequence[Condition] = getattr(rule, "conditions", ())
    for condition in conditions:
        table = pd.DataFrame({condition.column: values[condition.column]})
        if not condition.meets(table, formats).any():
            raise ValueError(
                f"rule '{rule}': no declared value of column {condition.column!r} meets '{condition}'; "
                "write values as in its declaration"
            )


def _values(name: str, rules: Sequence[Rule], spec: Words) -> pd.Series[Any]:
    """Values of a column that stand for all that rules tell apart."""
    declared = spec.get("range_values")
    missing = [] if spec.get("range_is_nullable") is False else [None]
    if declared is not None:
        return pd.Series([*declared, *missing], dtype=object)
    named = named_values(name, rules)
    if spec.get("sdtype") == "datetime":
        return _dates(named, spec)
    if spec.get("sdtype") == "numerical":
        return _numbers(named, spec, missing)
    distinct = {cells.key(value): value for value in (*named, "\x00another", *missing)}
    return pd.Series(list(distinct.values()), dtype=object)


def named_values(name: str, rules: Sequence[Rule]) -> list[Any]:
    """Values of a column that rules name; None is missing."""
    named: list[Any] = []
    for rule in rules:
        named += [p for c in getattr(rule, "conditions", ()) if c.column == name for p in c.points]
        if isinstance(rule, Allowed) and name in rule.columns:
            named += [combination[rule.columns.index(name)] for combination in rule.combinations]
        if isinstance(rule, Determined) and name == rule.column:
            named += [*rule.values, rule.otherwise]
        elif isinstance(rule, Determined) and name in rule.by:
            keys = [given if len(rule.by) > 1 else (given,) for given in rule.mapping]
            named += [given[rule.by.index(name)] for given in keys]
    return named


def _numbers(named: list[Any], spec: Words, missing: list[None]) -> pd.Series[Any]:
    """The named numbers, their neighbours and ends of the range, as far as inside it."""
    plain = [float(v) for v in named if cells.is_number(v)]
    low, high = (spec.get(word) for word in ("range_min", "range_max"))
    plain += [float(end) for end in (low, high) if end is not None]
    step = 10.0 ** -spec["decimal_places"] if spec.get("decimal_places") is not None else 0.0
    if not step:
        step = 1.0 if all(isinstance(v, (int, np.integer)) for v in (low, high)) else 1e-6
    near = {v + d for v in plain for d in (-step, 0.0, step)} | {0.0}
    special = [float(v) for v in spec.get("special_values") or () if isinstance(v, (int, float, np.number))]
    inside = [v for v in sorted(near) if (low is None or v >= low) and (high is None or v <= high)]
    text = [v for v in named if isinstance(v, str)]
    return pd.Series([*inside, *special, *text, *missing], dtype=object)


def moments(named: Sequence[Any], form: str | None) -> list[int]:
    """Nanoseconds of the dates among values, in the format or as ISO 8601."""
    found = []
    for value in named:
        for one in (form, None) if value is not None else ():
            try:
                found.append(date_ends("", value, value, one)[0])
                break
            except ValueError:
                continue
    return found


def _dates(named: list[Any], spec: Words) -> pd.Series[Any]:
    """Moments about the named ones and the ends, as timestamps."""
    ends = (spec.get("range_min"), spec.get("range_max"))
    day = 86_400_000_000_000
    known = moments((*named, *ends), spec.get("datetime_format"))
    near = sorted({m + d for m in known for d in (-day, 0, day)}) or [0]
    return pd.Series(np.array(near, dtype=np.int64).view("M8[ns]")).astype(object)


def _possible(
    rules: Sequence[Rule], values: Mapping[str, pd.Series[Any]], formats: Any
) -> pd.DataFrame | None:
    """Rows of such values that keep the rules; None if there are too many to look at."""
    table, done = pd.DataFrame(index=[0]), set()
    for rule in sorted(rules, key=lambda rule: len(rule.columns)):
        for name in rule.columns:
            if name not in table:
                if len(table) * len(values[name]) > MOST_ROWS:
                    return None
                table = table.merge(values[name].rename(name), how="cross")
        done.add(id(rule))
        table = table[rule.holds(table, formats)].reset_index(drop=True)
    return table

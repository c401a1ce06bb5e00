"""The code books' rules in our words: what follows is made, what is ordered is spaced, the rest is implied."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sdv_plausible.rules import Allowed, Determined, Equal, Implies, Inequality, Rule

Entry = Mapping[str, Any]


def our_rules(entries: Sequence[Entry], declared: Mapping[str, Mapping[str, Any]]) -> list[Rule]:
    """Rules of a code book (see benchmarks/domains/README.md) as a user would write them with ours.

    A table of combinations in which one column tells the others makes those; so do implications that name a value for
    every declared value of a column. A column is made once: what is left of a rule about it stays a condition.
    """
    rules: list[Rule] = []
    made: set[str] = set()

    def add(rule: Rule, column: str) -> None:
        rules.append(rule)
        made.add(column)

    for entry in entries:
        if entry["rule"] == "equal":
            add(Equal(entry["columns"][1], entry["columns"][0]), entry["columns"][1])
        elif entry["rule"] == "order":
            add(Inequality(*entry["columns"]), entry["columns"][1])
        elif entry["rule"] == "combinations":
            for rule in _combinations(entry):
                rules.append(rule)
                made.update(getattr(rule, "made", ()))
    return [*rules, *_implications([e for e in entries if e["rule"] == "implies"], declared, made)]


def _combinations(entry: Entry) -> list[Rule]:
    columns, rows = entry["columns"], entry["allowed"]
    for i, name in enumerate(columns):
        if len({row[i] for row in rows}) == len(rows):
            others = [j for j in range(len(columns)) if j != i]
            return [Determined(columns[j], name, {row[i]: row[j] for row in rows}) for j in others]
    return [Allowed(columns, rows)]


def _implications(
    entries: Sequence[Entry], declared: Mapping[str, Mapping[str, Any]], made: set[str]
) -> list[Rule]:
    found: dict[tuple[str, str], dict[Any, Any]] = defaultdict(dict)
    for entry in entries:
        if len(entry["if"]) == len(entry["then"]) == 1:
            (by, what), (column, then) = next(iter(entry["if"].items())), next(iter(entry["then"].items()))
            if isinstance(then, list) and len(then) == 1:
                found[by, column] |= dict.fromkeys(_points(what, declared.get(by, {})), then[0])
    complete = {
        pair: mapping for pair, mapping in found.items()
        if mapping and set(mapping) == set(_all(declared.get(pair[0], {}))) and pair[1] not in made
    }  # fmt: skip
    rest = [
        Implies(entry["if"], entry["then"])
        for entry in entries
        if not any((by, column) in complete for by in entry["if"] for column in entry["then"])
    ]
    return [*(Determined(column, by, mapping) for (by, column), mapping in complete.items()), *rest]


def _all(spec: Mapping[str, Any]) -> list[Any]:
    """Everything that a declared column may hold, missing (None) too."""
    return [
        *_points({}, spec),
        *spec.get("special_values", ()),
        *[None] * bool(spec.get("range_is_nullable")),
    ]


def _points(what: Any, spec: Mapping[str, Any]) -> list[Any]:
    """The declared values of a column that meet a condition."""
    if isinstance(what, list):
        return what
    if "range_values" in spec:
        return list(spec["range_values"])
    low, high = what.get("min", spec.get("range_min")), what.get("max", spec.get("range_max"))
    whole = isinstance(low, int) and isinstance(high, int) and high - low < 10_000
    return list(range(max(low, spec["range_min"]), min(high, spec["range_max"]) + 1)) if whole else []

"""Rules as plain data: JSON files, and the section of a release file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd

import sdv_plausible.rules as kinds
from sdv_plausible.privacy.parameter_checks import Refused, suggestion
from sdv_plausible.rules.rule import Rule
from sdv_plausible.table.cells.cell_documents import write_value
from sdv_plausible.table.declared.domain_file import read_json
from sdv_plausible.utils.atomic_files import write_whole
from sdv_plausible.utils.json_schema import read


def written(rule: Rule) -> dict[str, Any]:
    """JSON form of a rule, as files hold it."""
    found: dict[str, Any] = _plain(rule.to_dict())
    return found


def _plain(value: Any) -> Any:
    """JSON form of a rule's parts; what is missing is null."""
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset, range)):
        return [_plain(inner) for inner in value]
    return None if pd.isna(value) is True else write_value(value)


def _plain_parts(given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for part, value in given.items():
        try:
            yield part, _plain(value)
        except ValueError as error:
            raise ValueError(f"{part}: {error}") from None


def rule_from_dict(entry: Any) -> Rule:
    """Read a rule of a file, of :func:`written`, or with cells as Python has them."""
    from sdv_plausible.rules.rule_document import KINDS, SHARED  # rules of Python need none

    if not isinstance(entry, Mapping):  # its kind alone is said: it may be a table that was named by mistake
        raise Refused.saying(
            "rules",
            f"rules: a {type(entry).__name__} is no rule; try Inequality('start', 'end'), or see "
            "docs/how_to/rules.md",
        )
    if entry.get("rule") not in list(KINDS):
        hint = suggestion(str(entry.get("rule")), KINDS)
        raise Refused.saying("rules", f"rules: each must have a 'rule' among {sorted(KINDS)}{hint}")
    name = entry["rule"]
    kind = KINDS[name]
    known = ["rule", *kind.saved]
    if unknown := sorted(map(str, set(entry) - set(known))):
        raise Refused.saying("rules", f"rule {name!r} has no {unknown}; it has {sorted(known)}")
    if lacking := [part for part in kind.saved if part not in {*entry, *kind.left_out}]:
        raise Refused.saying("rules", f"rule {name!r} lacks {lacking[0]!r}")
    given = {part: value for part, value in entry.items() if part != "rule"}
    made: type[Rule] = getattr(kinds, kind.of)
    try:
        parts = read(kind.form, dict(_plain_parts(given)), SHARED)
    except (ValueError, RecursionError) as error:
        with suppress(TypeError, LookupError, AttributeError, ArithmeticError, RecursionError):
            made.from_dict(given)  # whose words are plainer, where it refuses them, too
        raise Refused.saying("rules", f"rule {name!r} cannot be read: {error}") from None
    return made.from_dict(parts)


def read_rules(rules: Any) -> list[Rule]:
    """Rules as the ``rules`` argument takes them: a list, or the path of a JSON file."""
    if isinstance(rules, (str, Path)):
        rules = read_json(Path(rules), "rules", "or a list of rules")
    is_list = isinstance(rules, Iterable) and getattr(rules, "ndim", 1) == 1
    if isinstance(rules, (Rule, Mapping, str)) or not is_list:
        raise Refused("rules", type(rules), "must be a list of rules, or the path of a file of them")
    return [rule if isinstance(rule, Rule) else rule_from_dict(rule) for rule in rules]


def save_rules(rules: Iterable[Rule], path: str | Path) -> None:
    """Write rules as JSON, whole or not at all; ``rules=path`` reads them."""
    write_whole(path, json.dumps([written(rule) for rule in rules], indent=1))

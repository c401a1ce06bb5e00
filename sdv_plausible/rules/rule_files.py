"""Rules as JSON, in rule files and in release files."""

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
from sdv_plausible.utils.atomic_files import write_atomically
from sdv_plausible.utils.json_schema import parse_with_schema


def rule_to_json(rule: Rule) -> dict[str, Any]:
    """JSON form of a rule."""
    form: dict[str, Any] = _plain(rule.to_dict())
    return form


def _plain(value: Any) -> Any:
    """JSON form of a rule's parts; missing is null."""
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
    """Create a rule from its JSON form, as :func:`rule_to_json` returns it, or with Python values."""
    from sdv_plausible.rules.rule_document import KINDS, SHARED  # only for JSON

    if not isinstance(entry, Mapping):  # show only the type: it may be a table
        raise Refused.saying(
            "rules",
            f"rules: a {type(entry).__name__} is not a rule; try Inequality('start', 'end'), or see "
            "docs/how_to/rules.md",
        )
    if entry.get("rule") not in list(KINDS):
        hint = suggestion(str(entry.get("rule")), KINDS)
        raise Refused.saying("rules", f"rules: each must have a 'rule' among {sorted(KINDS)}{hint}")
    name = entry["rule"]
    kind = KINDS[name]
    allowed = ["rule", *kind.saved]
    if unknown := sorted(map(str, set(entry) - set(allowed))):
        raise Refused.saying("rules", f"rule {name!r} has no {unknown}; it has {sorted(allowed)}")
    if missing_parts := [part for part in kind.saved if part not in {*entry, *kind.left_out}]:
        raise Refused.saying("rules", f"rule {name!r} lacks {missing_parts[0]!r}")
    parts = {part: value for part, value in entry.items() if part != "rule"}
    rule_class: type[Rule] = getattr(kinds, kind.of)
    try:
        checked = parse_with_schema(kind.form, dict(_plain_parts(parts)), SHARED)
    except (ValueError, RecursionError) as error:
        with suppress(TypeError, LookupError, AttributeError, ArithmeticError, RecursionError):
            rule_class.from_dict(parts)  # its own error message is clearer
        raise Refused.saying("rules", f"rule {name!r} cannot be read: {error}") from None
    return rule_class.from_dict(checked)


def read_rules(rules: Any) -> list[Rule]:
    """Rules from the ``rules`` argument: a list, or the path of a JSON file."""
    if isinstance(rules, (str, Path)):
        rules = read_json(Path(rules), "rules", "or a list of rules")
    is_list = isinstance(rules, Iterable) and getattr(rules, "ndim", 1) == 1
    if isinstance(rules, (Rule, Mapping, str)) or not is_list:
        raise Refused("rules", type(rules), "must be a list of rules, or the path of a file of them")
    return [rule if isinstance(rule, Rule) else rule_from_dict(rule) for rule in rules]


def save_rules(rules: Iterable[Rule], path: str | Path) -> None:
    """Write rules as JSON, atomically; ``rules=path`` reads them.

    Parameters
    ----------
    rules : iterable of Rule
        The rules.
    path : str or Path
        The file.

    Raises
    ------
    ValueError
        If a value of a rule has no JSON form.
    """
    write_atomically(path, json.dumps([rule_to_json(rule) for rule in rules], indent=1))

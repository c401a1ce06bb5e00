"""Rules as plain data: JSON files, and the section of a release file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import sdv_plausible.rules as kinds
from sdv_plausible.privacy.checks import Refused
from sdv_plausible.rules.rule import Rule
from sdv_plausible.table.declared.words import suggestion
from sdv_plausible.utils.strict_json import strict_json
from sdv_plausible.utils.whole_files import write_whole

KINDS = {
    "determined": "Determined",
    "equal": "Equal",
    "sum": "Sum",
    "one_hot": "OneHot",
    "inequality": "Inequality",
    "multiple": "Multiple",
    "date_and_time": "DateAndTime",
    "implies": "Implies",
    "forbidden": "Forbidden",
    "allowed": "Allowed",
}
"""Class of every kind of rule, by name: none is loaded before a file holds one."""


def rules_schema() -> dict[str, Any]:
    """Return the published JSON schema of a file of rules (docs/how_to/rules.md)."""
    text = resources.files("sdv_plausible.rules").joinpath("rules.schema.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


def rule_from_dict(entry: Any) -> Rule:
    """Read what a rule's ``to_dict`` wrote."""
    if not isinstance(entry, Mapping):  # its kind alone is said: it may be a table that was named by mistake
        raise Refused.saying(
            "rules",
            f"rules: a {type(entry).__name__} is no rule; try Inequality('start', 'end'), or see "
            "docs/how_to/rules.md",
        )
    if entry.get("rule") not in list(KINDS):
        hint = suggestion(str(entry.get("rule")), KINDS)
        raise Refused.saying("rules", f"rules: each must have a 'rule' among {sorted(KINDS)}{hint}")
    try:
        rule: Rule = getattr(kinds, KINDS[entry["rule"]]).from_dict(entry)
    except KeyError as error:
        raise Refused.saying("rules", f"rule {entry['rule']!r} lacks {error}") from None
    except (TypeError, AttributeError, IndexError) as error:
        raise Refused.saying("rules", f"rule {entry['rule']!r} cannot be read: {error!r}") from None
    if unknown := sorted(set(entry) - set(rule.to_dict())):
        raise Refused.saying(
            "rules", f"rule {entry['rule']!r} has no {unknown}; it has {sorted(rule.to_dict())}"
        )
    return rule


def read_rules(rules: Any) -> list[Rule]:
    """Rules as the ``rules`` argument takes them: a list, or the path of a JSON file."""
    if isinstance(rules, (str, Path)):
        try:
            rules = strict_json(Path(rules).read_text(encoding="utf-8"))
        except ValueError as error:
            raise Refused.saying("rules", f"rules ({str(rules)!r}) is not a JSON file: {error}") from error
    if isinstance(rules, (Rule, Mapping, str)) or not isinstance(rules, Iterable):
        raise Refused("rules", type(rules), "must be a list of rules, or the path of a file of them")
    return [rule if isinstance(rule, Rule) else rule_from_dict(rule) for rule in rules]


def save_rules(rules: Iterable[Rule], path: str | Path) -> None:
    """Write rules as JSON, whole or not at all; ``rules=path`` reads them."""
    write_whole(path, json.dumps([rule.to_dict() for rule in rules], indent=1))

"""Columns with undeclared types, and checks before type inference."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sdv_plausible.fitting.column_specs import CATEGORY, ColumnSpecs
from sdv_plausible.fitting.options import VOTE_TAKES
from sdv_plausible.mechanism.privacy_tests.privacy_settings import Settings
from sdv_plausible.models.base import Learner
from sdv_plausible.privacy.parameter_checks import Refused, listed
from sdv_plausible.rules.rule import Rule
from sdv_plausible.rules.rule_files import read_rules
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.table.declared.declarations import explicit_domain_file, uses_metadata_values
from sdv_plausible.table.declared.domain_file import DomainFile


def split_undeclared(
    names: Iterable[str], domain: Any, person: str | None
) -> tuple[dict[str, dict[str, Any]], DomainFile, tuple[str, ...]]:
    """Specifications of all columns in order, the declarations, and the columns without a type."""
    if uses_metadata_values(domain):
        raise Refused.saying(
            "types",
            'types ("voted") does not go with domain="written", which is your word for types and values '
            "alike: declare what you know in domain={...}, or leave types out",
        )
    file = (explicit_domain_file(domain) or DomainFile(columns={})).without_blanks()
    known = {name: column.words for name, column in column_types(file, person=person).items()}
    names = list(names)
    is_open = tuple(name for name in names if name not in known)
    # An earlier look at a column does not matter if its type is inferred within the budget, nor a look at the
    # two columns that a date with a time becomes.
    voted = tuple(f"{name}: " for name in is_open)
    looked = {
        n: look for n, look in file.looked.items() if n in known or not (n in is_open or n.startswith(voted))
    }
    file = replace(file, looked=looked)
    return {name: dict(known.get(name, CATEGORY)) for name in names}, file, is_open


def check_inference(told: ColumnSpecs, s: Settings, learner: Learner) -> None:
    """Reject rules and structures that name columns with open types, and type inference without noise."""
    if not math.isfinite(s.epsilon):
        raise Refused.saying(
            "types",
            f'types ("voted") needs a finite epsilon, as the vote takes {VOTE_TAKES}: give one, or say '
            'types="detected"',
        )
    if learner.names_columns and learner.arcs is None:
        raise Refused.saying(
            "model",
            f"model ({type(learner).__name__}) names its columns, and the types of {listed(told.open)} are "
            "to be voted for: declare them (domain=...)",
        )
    arcs = learner.arcs or {}
    structure = {*arcs, *(parent for parents in arcs.values() for parent in parents)}
    rules = {n for rule in read_rules(told.rules) if isinstance(rule, Rule) for n in rule.columns}
    for parameter, named in (("rules", rules), ("structure", structure)):
        if both := [name for name in told.open if name in named]:
            raise Refused.saying(
                parameter,
                f"{parameter}: {listed(both)} must have a declared type, as whoever says this knows it: try "
                f'domain={{"{both[0]}": {{"sdtype": "numerical"}}}}',
            )

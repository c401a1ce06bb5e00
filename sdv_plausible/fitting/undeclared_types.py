"""Columns whose types nobody declared: which they are, and what cannot be said of them before the vote."""

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
from sdv_plausible.table.declared.declarations import given_file, says_written
from sdv_plausible.table.declared.domain_file import DomainFile


def left_open(
    names: Iterable[str], domain: Any, person: str | None
) -> tuple[dict[str, dict[str, Any]], DomainFile, tuple[str, ...]]:
    """Words of all columns of a table, in order, the declarations, and which columns have none."""
    # Columns that a template left blank are not declared.
    if says_written(domain):
        raise Refused.saying(
            "types",
            'types ("voted") does not go with domain="written", which is your word for types and values '
            "alike: declare what you know in domain={...}, or leave types out",
        )
    file = (given_file(domain) or DomainFile(columns={})).without_blanks()
    known = {name: kind.words for name, kind in column_types(file, person=person).items()}
    names = list(names)
    is_open = tuple(name for name in names if name not in known)
    # A type that cells vote for within the budget repeats nothing of what a look has shown, nor do the two
    # columns that it becomes.
    voted = tuple(f"{name}: " for name in is_open)
    kept = {
        n: one for n, one in file.looked.items() if n in known or not (n in is_open or n.startswith(voted))
    }
    file = replace(file, looked=kept)
    return {name: dict(known.get(name, CATEGORY)) for name in names}, file, is_open


def check_vote(told: ColumnSpecs, s: Settings, learner: Learner) -> None:
    """Refuse what names columns whose types nobody knows yet, and a vote without noise."""
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
    for what, named in (("rules", rules), ("structure", structure)):
        if both := [name for name in told.open if name in named]:
            raise Refused.saying(
                what,
                f"{what}: {listed(both)} must have a declared type, as whoever says this knows it: try "
                f'domain={{"{both[0]}": {{"sdtype": "numerical"}}}}',
            )

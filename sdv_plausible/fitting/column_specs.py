"""Declared specifications of a table's columns, and type inference for the others.

Columns without a type are read as categorical first, so that errors show before anything is paid, and again
with the inferred types (docs/explanation/proofs/type_votes.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sdv_plausible.mechanism.privacy_tests.privacy_settings import Settings
from sdv_plausible.models.base import Learner
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.parameter_checks import Refused, listed
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.rules.rule import Rule
from sdv_plausible.rules.rule_files import read_rules
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.rules.rules_and_declarations import rules_with_declarations
from sdv_plausible.table.cells.dates import FORMATS, shows_time
from sdv_plausible.table.columns.cell_reader import ColumnType, Spelling
from sdv_plausible.table.columns.domain import MAX_BINS
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.table.declared.declarations import (
    Declarations,
    Specs,
    Undeclared,
    explicit_domain_file,
    read_declarations,
    uses_metadata_values,
)
from sdv_plausible.table.declared.domain_file import DomainFile
from sdv_plausible.table.declared.specifications import MODELLED_SDTYPES

CATEGORY = {"sdtype": "categorical"}
# Date formats with a time of day, one per resolution: such a column becomes two columns of the model.
MOMENTS = tuple(
    {"sdtype": "datetime", "datetime_format": date_format}
    for date_format in {("%S" in text): text for text in reversed(FORMATS) if shows_time(text)}.values()
)


@dataclass(frozen=True, kw_only=True)
class ColumnSpecs:
    """Everything that is declared of a table's columns."""

    columns: Specs  # by column, in order; an undeclared type counts as categorical
    rules: Any = ()
    domain: Any = None
    max_bins: int = MAX_BINS
    undeclared: Undeclared = "private"
    split_dates: bool = True  # whether dates with a time of day become two columns by default
    open: tuple[str, ...] = ()  # columns whose types are to be inferred
    spelling: Spelling = field(default_factory=Spelling)  # how their cells are written as text

    def read(self, types: Specs | None = None) -> tuple[Declarations, RuleSet, dict[str, dict[str, Any]]]:
        """Declarations, rules and model columns, with ``types`` for the columns whose types are open."""
        types = types or {}
        columns = {name: dict(spec) for name, spec in {**self.columns, **types}.items()}
        domain = self.domain.with_types(types) if isinstance(self.domain, DomainFile) else self.domain
        declared_domain, model_specs, rules = rules_with_declarations(
            self.rules, domain, columns, self.max_bins, split_dates=self.split_dates
        )
        declared = read_declarations(declared_domain, self.undeclared, self.max_bins, model_specs)
        modelled = {name: spec for name, spec in columns.items() if _is_modelled(spec)}
        return declared, rules, rules.model_columns(modelled)

    def entries(self, s: Settings) -> tuple[LedgerEntry, ...]:
        """Charge of type inference; none if every type is declared."""
        if not self.open:
            return ()
        from sdv_plausible.fitting.options import TYPES_SHARE
        from sdv_plausible.table.learned.type_inference import type_inference_entry  # only if types are open

        return (type_inference_entry(len(self.open), TYPES_SHARE * s.epsilon, TYPES_SHARE * s.model_delta),)

    def warnings(self) -> list[str]:
        """Warning of a plan whose types are open."""
        if not self.open:
            return []
        return [
            f"{listed(self.open)}: these types are not known yet, and are planned as categories. The total "
            "does not depend on them"
        ]

    def infer_types(self, cells: Queryable, s: Settings) -> dict[str, dict[str, Any]]:
        """Infer the open types under differential privacy; at least one column is left to the model."""
        from sdv_plausible.fitting.options import TYPES_SHARE
        from sdv_plausible.table.learned.type_inference import infer_types, threshold_failure

        failure = threshold_failure(TYPES_SHARE * s.model_delta)
        return self._with_a_column(infer_types(cells, self.open, self.spelling, failure))

    @property
    def types(self) -> dict[str, ColumnType]:
        """Types by which cells are read, before type inference."""
        return column_types(self.domain, {"columns": self.columns})

    @property
    def fewest(self) -> dict[str, dict[str, Any]]:
        """The inferred types that leave the fewest columns to the model."""
        return self._with_a_column({name: {"sdtype": "id"} for name in self.open})

    def _with_a_column(self, types: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """The types, with the first open column as categorical if the model had no column otherwise."""
        has_column = any(map(_is_modelled, {**self.columns, **types}.values()))
        return types if has_column else {**types, self.open[0]: dict(CATEGORY)}


def _is_modelled(spec: Mapping[str, Any]) -> bool:
    return spec.get("sdtype") in MODELLED_SDTYPES


def split_undeclared(
    names: Iterable[str], domain: Any, person: str | None
) -> tuple[dict[str, dict[str, Any]], DomainFile, tuple[str, ...]]:
    """Specifications of all columns in order, the declarations, and the columns without a type."""
    if uses_metadata_values(domain):
        raise Refused.saying(
            "types",
            'types ("voted") cannot be combined with domain="written", which declares types and values '
            "alike: list your declarations in domain={...}, or leave types out",
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
    from sdv_plausible.fitting.options import VOTE_TAKES

    if not math.isfinite(s.epsilon):
        raise Refused.saying(
            "types",
            f'types ("voted") needs a finite epsilon, because type inference uses {VOTE_TAKES}: give one, '
            'or set types="detected"',
        )
    if learner.names_columns and learner.arcs is None:
        raise Refused.saying(
            "model",
            f"model ({type(learner).__name__}) names its columns, but the types of {listed(told.open)} are "
            "still to be inferred: declare them (domain=...)",
        )
    arcs = learner.arcs or {}
    structure = {*arcs, *(parent for parents in arcs.values() for parent in parents)}
    rules = {n for rule in read_rules(told.rules) if isinstance(rule, Rule) for n in rule.columns}
    for parameter, named in (("rules", rules), ("structure", structure)):
        if both := [name for name in told.open if name in named]:
            raise Refused.saying(
                parameter,
                f'{parameter}: {listed(both)} must have a declared type: try domain={{"{both[0]}": '
                '{"sdtype": "numerical"}}',
            )

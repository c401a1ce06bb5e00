"""Arguments of a fit, read and checked in one order for every entry point, before any row is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from sdv_plausible.fitting.column_specs import ColumnSpecs
from sdv_plausible.fitting.fit import Fit
from sdv_plausible.fitting.ledger_notes import check_types
from sdv_plausible.fitting.public_table import check_public
from sdv_plausible.fitting.reused_domain import ReusedDomain, read_reused_domain
from sdv_plausible.mechanism.privacy_tests.privacy_settings import Settings
from sdv_plausible.models import make_learner
from sdv_plausible.models.learner_checks import check_number_of_columns
from sdv_plausible.privacy.neighbours import Neighbours, Person, Relation
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.parameter_checks import Refused, listed, truth
from sdv_plausible.release.file.fake_columns import check_locales, check_placeholder_types
from sdv_plausible.rules.rule import has_row_constraints
from sdv_plausible.rules.rule_files import read_rules
from sdv_plausible.table.columns.cell_reader import PLAIN_SPELLING, Spelling
from sdv_plausible.table.columns.column_document import type_words
from sdv_plausible.table.declared.column_types import (
    check_released,
    metadata_columns,
    types_of_unknown_origin,
)
from sdv_plausible.table.declared.declarations import (
    Types,
    Undeclared,
    explicit_domain_file,
    uses_metadata_values,
)
from sdv_plausible.table.declared.domain_file import DomainFile

VOTED = "_types_were_voted_for"
"""Attribute of metadata whose types an earlier fit inferred; no file stores it."""


@dataclass(frozen=True, kw_only=True)
class FitArguments:
    """Checked arguments that depend on no column: privacy, model, test and declarations."""

    settings: Settings
    learner: Any
    domain: Any  # the declarations, or "written"
    types: Types | None  # None if some types come from metadata of unknown origin
    assumed: tuple[str, ...]  # the columns with these types
    locales: list[str]
    reused_domain: ReusedDomain  # cost of the declarations if an earlier fit learned them

    @classmethod
    def of(
        cls,
        metadata: Any,
        domain: Any,
        *,
        epsilon: float,
        delta: float,
        model: Any,
        test: Any,
        types: Types | None,
        person: str | Person | None,
        neighbours: Relation,
        budget: Any,
        locales: Any,
        random_state: int | None,
    ) -> FitArguments:
        """Read the arguments of an entry point; a ValueError names a wrong one."""
        if budget is not None:
            from sdv_plausible.fitting.release_budget import check_budget

            check_budget(budget)
        learner, unit = make_learner(model), Neighbours.parse(neighbours, person)
        settings = Settings.of(epsilon, delta, test, unit, learner)
        if random_state is not None:
            KeyedRNG.from_seed(random_state)  # raises now rather than in the fit
        check_types(types)
        known_locales = check_locales(locales)
        check_released(metadata)
        declarations = domain if uses_metadata_values(domain) else explicit_domain_file(domain)
        earlier = read_reused_domain(declarations, unit)
        assumed: tuple[str, ...] = ()
        if types in (None, "declared"):
            _check_not_inferred(metadata, declarations)
        if types is None:
            unknown = types_of_unknown_origin(metadata, declarations, unit.person)
            assumed_before = {name for entry in earlier.entries for name in entry.assumes}
            assumed = tuple(name for name in unknown if name not in assumed_before)
        elif types == "declared":
            earlier = earlier.vouched()
        return cls(
            settings=settings, learner=learner, domain=declarations, assumed=assumed,
            types=released_types(types, assumed, earlier), locales=known_locales, reused_domain=earlier,
        )  # fmt: skip

    def read(
        self,
        columns: Mapping[str, Mapping[str, Any]],
        *,
        rules: Any,
        max_bins: int,
        undeclared: Undeclared = "private",
        public: pd.DataFrame | None = None,
        anyway: bool = False,
        spelling: Spelling = PLAIN_SPELLING,
        name: str = "table",
    ) -> Fit:
        """The fit of a table with these columns; if types are inferred, only declared ones count."""
        domain, open_, rules = self.domain, tuple[str, ...](), read_rules(rules)  # once: a file may change
        if self.types == "voted":
            from sdv_plausible.fitting.column_specs import split_undeclared  # only if types are inferred

            columns, domain, open_ = split_undeclared(columns, domain, self.settings.neighbours.person)
        check_placeholder_types({name: words["sdtype"] for name, words in columns.items()}, self.locales)
        column_specs = ColumnSpecs(
            columns=columns, rules=rules, domain=domain, max_bins=max_bins, undeclared=undeclared,
            split_dates=not self.learner.names_columns, open=open_, spelling=spelling,
        )  # fmt: skip
        if open_:
            from sdv_plausible.fitting.column_specs import check_inference

            check_inference(column_specs, self.settings, self.learner)
        declared, rule_set, specs = column_specs.read()
        check_number_of_columns(self.learner, len(specs))
        check_public(public, columns, self.learner, rule_set)
        return Fit(
            column_specs=column_specs, declared=declared, rules=rule_set, specs=specs, settings=self.settings,
            learner=self.learner, reused_domain=self.reused_domain, name=name, assumed=self.assumed,
            anyway=truth("anyway", anyway),
        )  # fmt: skip


def released_types(types: Types | None, assumed: Sequence[str], earlier: ReusedDomain) -> Types | None:
    """Source of the types as a release states it: declared if no type is assumed."""
    return "declared" if types is None and not (assumed or earlier.assumes) else types


def _check_not_inferred(metadata: Any, domain: Any) -> None:
    """Reject types as declared that an earlier fit inferred and paid for."""
    if not getattr(metadata, VOTED, False):
        return
    file = domain if isinstance(domain, DomainFile) else DomainFile(columns={})
    paid = (file.learned or {}).get("types") or {}
    if names := [
        name
        for name, words in metadata_columns(metadata).items()
        if name not in file.columns and type_words(words) != paid.get(name)
    ]:
        raise Refused.saying(
            "types",
            f'types ("declared"): those of {listed(names)} were inferred by an earlier fit, whose cost this '
            "fit would not include. Give domain=earlier.get_domain() with this metadata, use "
            'types="voted", or declare these columns (domain={...})',
        )


def paid_row_cap(rows: int, rules: Any, row_cap: int | None) -> int:
    """The ``row_cap`` of a row-by-row test: the rows wanted, unless a larger one is given."""
    if row_cap is None and has_row_constraints(read_rules(rules)):
        raise Refused.saying(
            "test",
            "test: a row-by-row test pays for every row, also for rows that break a rule and are drawn "
            'again. Use "release", remove these rules, or set row_cap to the number of rows to draw, such '
            f"as {2 * rows}",
        )
    if row_cap is not None and row_cap < rows:
        rule = f"must be at least the number of requested rows ({rows}), because each row is paid for"
        raise Refused("row_cap", row_cap, rule)
    return max(rows, 1) if row_cap is None else row_cap

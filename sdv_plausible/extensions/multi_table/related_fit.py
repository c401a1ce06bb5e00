"""Fit of related tables under one total: parents first, then their children."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.extensions.multi_table.related_release import FamilyRelease, joint_ledger
from sdv_plausible.extensions.multi_table.related_rows import JoinedRows, JoinedTables
from sdv_plausible.extensions.multi_table.related_sampling import (
    as_parent_column,
    as_sibling_column,
    count_attribute,
)
from sdv_plausible.extensions.multi_table.relationships import (
    Relationship,
    Role,
    Specs,
    TableTree,
    check_joined_names,
    exactly_one_role,
    max_rows_per_family,
)
from sdv_plausible.extensions.multi_table.simulation import child_learner, simulate_parents
from sdv_plausible.fitting.arguments import FitArguments
from sdv_plausible.fitting.column_specs import ColumnSpecs as Columns
from sdv_plausible.fitting.diagnostics import HolderDiagnostics
from sdv_plausible.fitting.fit import Fit, only_planned
from sdv_plausible.fitting.fit_rows import InMemoryRows
from sdv_plausible.fitting.fit_source import make_release
from sdv_plausible.fitting.ledger_notes import entries_without_cost
from sdv_plausible.privacy.accounting.composition import calibrate_gaussian, compose
from sdv_plausible.privacy.accounting.losses import gaussian_noise
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import Person
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.parameter_checks import Refused, listed
from sdv_plausible.release.file.release import Release
from sdv_plausible.release.file.settings_section import release_settings
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.table.cells.dates import check_dates
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.cell_reader import PLAIN_SPELLING, ColumnType
from sdv_plausible.table.columns.column_document import type_words
from sdv_plausible.table.columns.domain import MAX_BINS, Attribute, Domain
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.table.declared.declarations import Declarations, Types
from sdv_plausible.table.declared.domain_file import DomainFile
from sdv_plausible.table.files.storage_types import PERSON_SDTYPE, check_storage
from sdv_plausible.utils.messages import ColumnNote

# A table's share of the squared noise parameter grows with its rows per family to this power.
SHARE_EXPONENT = 5 / 6
MAX_STEPS, MIN_SPENT = 20, 0.999  # of the calibration; the share of the total that is spent at least
# Epsilon grows linearly with a small noise parameter, and quadratically with a large one.
POWER, LEAST_POWER = 0.9, 0.4


@dataclass(frozen=True, kw_only=True, eq=False)
class ChildFit(Fit):
    """Fit of a child table; columns of parents and siblings are conditioned on and cost nothing more."""

    parents: tuple[Attribute, ...] = ()
    siblings: Mapping[str, str] = field(default_factory=dict)

    def _beside(self, domain: Domain) -> Domain:
        copies = (as_sibling_column(replace(domain[own], name=name)) for name, own in self.siblings.items())
        return replace(domain, attributes=(*domain.attributes, *self.parents, *copies))


@dataclass(frozen=True, kw_only=True)
class OwnColumns:
    """A table's own columns: their types, and the model's columns made of them."""

    types: Mapping[str, ColumnType]  # by column, all columns of the table
    declared: Declarations  # domains of the model's columns
    rules: RuleSet  # for example, a date with a time of day becomes two columns
    specs: Specs  # the model's columns, in order

    def read(self, table: pd.DataFrame) -> pd.DataFrame:
        """Transform rows to the model's columns; columns that are not modelled, such as keys, are kept."""
        names = [name for name, kind in self.types.items() if kind.is_modelled]
        rows = InMemoryRows(table[names], self.rules)
        if spelled := self.declared.spelled:
            rows = rows.read_again(spelled, PLAIN_SPELLING, self.rules)
        others = table[[name for name in self.types if name not in names]].reset_index(drop=True)
        return pd.concat([rows.folded(list(self.specs)), others], axis=1)


def own_columns(
    tree: TableTree, columns: Mapping[str, Specs], domain: Mapping[str, DomainFile], max_bins: int
) -> dict[str, OwnColumns]:
    """Read the columns of every table from metadata and declarations alone."""
    # Raises ValueError if a declaration is for an unknown column, or a table has no column to model.
    foreign_keys, own = {link.child: link.foreign_key for link in tree.links}, dict[str, OwnColumns]()
    for name, specs in columns.items():
        file = domain.get(name, DomainFile(columns={}))
        if unknown := [column for column in file.columns if column not in specs]:
            raise Refused.saying(
                "domain",
                f"domain: the metadata of table {name!r} has no columns {listed([*map(str, unknown)])}: "
                "leave them out",
            )
        types = column_types(file, {"columns": specs}, foreign_keys.get(name))
        words = {column: kind.words for column, kind in types.items()}
        declared, rules, model_specs = Columns(columns=words, domain=file, max_bins=max_bins).read()
        if not model_specs and not tree.below(name):
            raise Refused.saying(
                "metadata", f"metadata: table {name!r} must have a column that is modelled beside its keys"
            )
        own[name] = OwnColumns(types=types, declared=declared, rules=rules, specs=model_specs)
    check_joined_names(tree, {name: [*columns[name], *one.rules.added] for name, one in own.items()})
    return own


@dataclass(frozen=True, kw_only=True)
class MultiTableSpecs:
    """Arguments of the fit of all tables, except the rows."""

    tree: TableTree
    columns: Mapping[str, Specs]  # of every table
    own: Mapping[str, OwnColumns]  # the same, resolved
    keys: Mapping[str, Any]  # primary keys by table, if any
    epsilon: float
    delta: float
    domain: Mapping[str, DomainFile]
    types: Types | None
    max_bins: int = MAX_BINS
    locales: Any = ("en_US",)
    random_state: int | None = None
    roles: Mapping[str, tuple[Role, ...]] = field(default_factory=dict)
    scale: float = 1.0  # of the noise parameter; below 1 because non-Gaussian losses need part of the total

    def calibrated(self) -> MultiTableSpecs:
        """Return a copy with the least noise that the total allows, from the plan alone."""
        if math.isinf(self.epsilon):
            return self
        specs, power, previous = self, POWER, (self.scale, math.nan)
        for _ in range(MAX_STEPS):
            total = planned_ledger(specs).total()
            if math.isinf(total) or self.epsilon * MIN_SPENT <= total <= self.epsilon:
                return specs
            if previous[0] != specs.scale and previous[1] != total:  # secant estimate from the last two plans
                power = math.log(specs.scale / previous[0]) / math.log(total / previous[1])
            previous = specs.scale, total
            step = min(max(power, LEAST_POWER), 1.0)
            specs = replace(specs, scale=specs.scale * ((1 + MIN_SPENT) / 2 * self.epsilon / total) ** step)
        raise Refused.saying(
            "epsilon",
            f"epsilon ({self.epsilon:g}) at delta ({self.delta:g}) must leave something for all tables, and "
            "their plan needs more: raise epsilon or delta, or declare more columns",
        )

    def table_epsilon(self, table: str) -> float:
        """Epsilon of one table."""
        if math.isinf(self.epsilon):
            return math.inf
        mu = calibrate_gaussian(self.epsilon, self.delta, ()) * self.scale
        weights = {
            name: max_rows_per_family(self.tree, self.roles, name) ** SHARE_EXPONENT
            * (1 + len(self._links_with_first(name)))
            for name in self.tree.tables
        }
        loss = gaussian_noise(mu * math.sqrt(weights[table] / sum(weights.values())))
        if not (epsilon := compose(loss, self.delta)):
            rule = f"must be smaller: the share of table {table!r} at this delta is an epsilon of 0"
            raise Refused("delta", self.delta, rule, "try 1e-9")
        return epsilon

    def root_fit(self) -> TableFit:
        """The fit of the root."""
        return TableFit.of(self, self.tree.root, model="bayesian_network", person=None, kind=Fit)

    def child_fit(
        self, link: Relationship, parents: Domain | None = None, simulated: pd.DataFrame | None = None
    ) -> TableFit:
        """The fit of a child table, given its parent's simulated rows; None before these are known."""
        siblings = {link.of_sibling(name): name for name in self.specs(link.child)}
        return TableFit.of(
            self, link.child,
            model=child_learner(link, self.roles, siblings, parents, simulated),
            person=Person(link.foreign_key, max_rows_per_family(self.tree, self.roles, link.child)),
            kind=ChildFit,
            parents=tuple(as_parent_column(link, a) for a in parents or ()), siblings=siblings,
        )  # fmt: skip

    @cached_property
    def planned(self) -> dict[str, PrivacyLedger]:
        """Planned ledger of each table's fit, without any row."""
        fits = {
            self.tree.root: self.root_fit(),
            **{link.child: self.child_fit(link) for link in self.tree.links},
        }
        return {name: fit.planned() for name, fit in fits.items()}

    def column_types(self) -> dict[str, dict[str, ColumnType]]:
        """Types of each table's columns."""
        return {name: dict(own.types) for name, own in self.own.items()}

    @property
    def first_columns(self) -> dict[str, list[str]]:
        """For each table with a role "exactly one": its columns that are stored in the parent's row."""
        return {
            link.child: self._first_columns_of(link.child)
            for link in self.tree.links
            if exactly_one_role(self.roles.get(link.child, ()))
        }

    def _first_columns_of(self, table: str) -> list[str]:
        """Columns of the child that are stored in its parent's row."""
        role = exactly_one_role(self.roles[table])
        assert role is not None
        return [name for name in self.specs(table) if name != role.column]

    def _links_with_first(self, table: str) -> list[Relationship]:
        """Relationships to child tables with a role "exactly one"."""
        return [link for link in self.tree.below(table) if exactly_one_role(self.roles.get(link.child, ()))]

    def specs(self, table: str) -> Specs:
        """The model's columns of a table, without those of its parent and of a sibling."""
        return {**self.own[table].specs, **self._joined_specs(table)}

    def _joined_specs(self, table: str) -> Specs:
        """The model's columns that come from child tables: numbers of children, and first children."""
        counts = {count: {"sdtype": "numerical"} for count in self.tree.counts(table)}
        columns = {
            link.of_first(name): type_words(self.specs(link.child)[name])
            for link in self._links_with_first(table)
            for name in self._first_columns_of(link.child)
        }
        return {**counts, **columns}

    def known(self, table: str) -> dict[str, Attribute]:
        """Domains of the columns of :meth:`specs` that are known without the rows."""
        declared = self.own[table].declared
        domains = {name: one for name in self.own[table].specs if (one := declared.known(name)) is not None}
        domains |= {name: count_attribute(name, most) for name, most in self.tree.counts(table).items()}
        for link in self._links_with_first(table):
            child_domains = self.known(link.child)
            for name in (name for name in self._first_columns_of(link.child) if name in child_domains):
                attribute = replace(
                    child_domains[name], name=link.of_first(name), provenance="declared", number_format=None
                )
                domains[attribute.name] = as_sibling_column(attribute)
        return domains

    def declarations(self, table: str) -> dict[str, Any]:
        """Declarations of the columns that come from child tables; their cells are parsed already."""
        known = self.known(table)
        return {
            name: known.get(name) or {**words, **_keep_dates_whole(words)}
            for name, words in self._joined_specs(table).items()
        }

    def check_stored(self, tables: Mapping[str, pd.DataFrame]) -> None:
        """Reject tables with columns whose dtype does not go with their declaration."""
        primary_keys = {link.parent: link.primary_key for link in self.tree.links}
        for name, table in tables.items():
            own, parents = self.own[name], [link for link in self.tree.links if link.child == name]
            sdtypes = {column: kind.sdtype for column, kind in own.types.items() if kind.is_modelled}
            keys = (primary_keys.get(name), *(link.foreign_key for link in parents))
            sdtypes |= {key: PERSON_SDTYPE for key in keys if key}
            words = {column: own.types[column].words for column in own.types}
            try:
                check_storage(table, sdtypes)
                check_dates(table, own.declared.date_formats(words, own.rules.formats, {*table.columns}))
            except ValueError as error:
                raise Refused.saying("data", f"data: table {name!r}: {error}") from error

    def first_candidates(
        self, tables: Mapping[str, pd.DataFrame], rng: KeyedRNG
    ) -> dict[str, tuple[np.ndarray, list[str]]]:
        """Find the rows that may be stored in their parents' rows, and the columns to store.

        There is an entry for each table with a role "exactly one". ``tables`` are results of
        :meth:`OwnColumns.read`.
        """
        candidates = {}
        for name, columns in self.first_columns.items():
            role = exactly_one_role(self.roles[name])
            assert role is not None
            attribute = self.own[name].declared.known(role.column)
            assert attribute is not None, "roles are read of declared values"
            codes = Codec(Domain((attribute,))).encode(tables[name][[role.column]], rng.spawn(name))
            candidates[name] = codes[:, 0] == role.code, columns
        return candidates


@dataclass(frozen=True, kw_only=True)
class TableFit:
    """One table's fit, with the rest of its release's schema."""

    fit: Fit
    name: str
    columns: Mapping[str, Any]  # declarations by name
    key: str | tuple[str, ...] | None  # the table's primary key

    @classmethod
    def of(
        cls,
        specs: MultiTableSpecs,
        name: str,
        *,
        model: Any,
        person: Person | None,
        kind: type[Fit],
        **options: Any,
    ) -> TableFit:
        """Build the fit of a table with its own columns and those that the join adds."""
        file = specs.domain.get(name, DomainFile(columns={}))
        file = replace(file, columns={**file.columns, **specs.declarations(name)})
        model_specs = {**specs.columns[name], **specs._joined_specs(name)}
        foreign_keys = [] if person is None else [person.column]
        table_metadata = {
            "columns": specs.columns[name],
            "primary_key": specs.keys.get(name),
            "alternate_keys": foreign_keys,
        }
        arguments = FitArguments.of(
            table_metadata, file, epsilon=specs.table_epsilon(name), delta=specs.delta, model=model,
            test="release", types=specs.types, person=person, neighbours=specs.tree.neighbours, budget=None,
            locales=specs.locales, random_state=specs.random_state,
        )  # fmt: skip
        columns = column_types(file, {"columns": model_specs}, None if person is None else person.column)
        read = arguments.read(
            {name: kind.words for name, kind in columns.items()}, rules=(), max_bins=specs.max_bins, name=name
        )
        settings = release_settings(
            arguments.settings, model, read.column_specs.open, max_bins=specs.max_bins, types=arguments.types,
            locales=arguments.locales, enforce_min_max_values=True, enforce_rounding=True,
            undeclared="private", returns_tables=False,
        )  # fmt: skip
        zero_cost = entries_without_cost(
            specs.random_state, has_constraints=False, types=specs.types, assumed=arguments.assumed
        )
        fields = {f: getattr(read, f) for f in read.__dataclass_fields__}
        fields |= {
            "stored_settings": settings,
            "extra_entries": (*map(_used_entry, specs.tree.path(name)[-1:]), *zero_cost),
        }
        fields["anyway"] = True  # no row count first: one total is planned for all tables
        return cls(
            fit=kind(**fields, **options),
            name=name,
            columns=read.column_specs.types,
            key=specs.keys.get(name),
        )

    def planned(self) -> PrivacyLedger:
        """Planned ledger, without any row."""
        return self.fit.plan().ledger

    def run(self, joined: JoinedTables, rng: KeyedRNG, report: HolderDiagnostics) -> Release:
        """Fit the joined rows."""
        fit = self.fit
        parents: tuple[Attribute, ...] = fit.parents if isinstance(fit, ChildFit) else ()
        copies: Mapping[str, str] = fit.siblings if isinstance(fit, ChildFit) else {}
        table = joined.tables[self.name][[*fit.specs, *(a.name for a in parents)]]
        rows = JoinedRows(
            table, schema=joined.schemas.get(self.name, table.iloc[:0]), copies=copies,
            beside=joined.siblings.get(self.name, np.full(len(table), -1)),
        )  # fmt: skip

        def tell(words: str) -> None:
            if report.tell is not None:
                report.tell(f"{self.name}: {words}")

        diagnostics = HolderDiagnostics(tell=tell)  # without the rows: its warnings do not depend on them
        result = fit.run(rows, fit.pay(None, warns=False), rng, diagnostics)
        joined_columns = [replace(a, provenance="declared") for a in result.domain if a.name not in fit.specs]
        joined_types = column_types({attribute.name: attribute for attribute in joined_columns})
        release = make_release(result, fit, {**self.columns, **joined_types}, self.name, self.key)
        for warning in diagnostics.issued:
            for note in warning.notes:
                named = note.of_table(self.name) if isinstance(note, ColumnNote) else f"{self.name}: {note}"
                report.add(named, for_holder=warning.for_holder)
        return release


def _used_entry(link: Relationship) -> LedgerEntry:
    """Ledger entry on which rows of a child table are used."""
    how = (
        f"of rows that name one row of {link.parent} in {link.foreign_key} at most {link.most:,} are used, "
        "chosen secretly; rows that name none that is used are not; keys are invented anew"
    )
    note = (
        f"rows of {link.parent} that more hang on count as if {link.most:,} did: shares and totals describe "
        "only the rows used"
    )
    return LedgerEntry(name="persons", mechanism=how, losses=(), scope="the rows used", note=note)


def planned_ledger(specs: MultiTableSpecs) -> PrivacyLedger:
    """Planned ledger of all fits, without any row."""
    return joint_ledger(specs.tree, specs.planned)


def fit_tables(
    specs: MultiTableSpecs, joined: JoinedTables, rng: KeyedRNG, diagnostics: HolderDiagnostics
) -> FamilyRelease:
    """Fit the root, then every child table given its parents' rows, simulated from the releases."""
    tree, plans = specs.tree, specs.planned
    fits = rng.spawn("fits")  # a separate stream, since table names are arbitrary
    releases = {tree.root: specs.root_fit().run(joined, fits.spawn(tree.root), diagnostics)}
    for link in tree.links:
        fit = specs.child_fit(link, *simulate_parents(tree, specs.roles, releases, link))
        only_planned(plans[link.child])(fit.planned().losses)
        releases[link.child] = fit.run(joined, fits.spawn(link.child), diagnostics)
    return FamilyRelease(tree=tree, tables=releases, roles=specs.roles)


def _keep_dates_whole(words: Mapping[str, Any]) -> dict[str, str]:
    """Declare that dates are not split: they were split before, or are to stay whole."""
    return {"parts": "whole"} if words.get("sdtype") == "datetime" else {}

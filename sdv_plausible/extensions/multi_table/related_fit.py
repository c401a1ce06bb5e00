"""The fit of related tables: one of each under one total, after that of the table it hangs on."""

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
from sdv_plausible.extensions.multi_table.related_sampling import beside_child, up_to, with_missing
from sdv_plausible.extensions.multi_table.relationships import Relationship, Specs, TableTree, check_beside
from sdv_plausible.extensions.multi_table.roles import Role, first_of, lines
from sdv_plausible.extensions.multi_table.simulation import child_learner, simulated_parents
from sdv_plausible.fitting.arguments import FitArguments
from sdv_plausible.fitting.column_specs import ColumnSpecs as Columns
from sdv_plausible.fitting.diagnostics import FitWarning, HolderDiagnostics
from sdv_plausible.fitting.fit import Fit
from sdv_plausible.fitting.fit_rows import InMemoryRows
from sdv_plausible.fitting.fit_source import make_release
from sdv_plausible.fitting.ledger_notes import entries_without_cost
from sdv_plausible.fitting.release_budget import only_planned
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

GROWS = (
    5 / 6
)  # power of the rows of a family in a table that its share of the squared noise parameter grows with
STEPS, CLOSE = 20, 0.999  # towards the total, and what of it is spent at least
# Epsilon grows as the noise parameter does at first, and as its square where it is large.
POWER, LEAST_POWER = 0.9, 0.4


@dataclass(frozen=True, kw_only=True, eq=False)
class ChildFit(Fit):
    """A fit of children, beside which columns of parents and siblings stand: known, and paid for."""

    parents: tuple[Attribute, ...] = ()
    siblings: Mapping[str, str] = field(default_factory=dict)

    def _beside(self, domain: Domain) -> Domain:
        copies = (with_missing(replace(domain[own], name=name)) for name, own in self.siblings.items())
        return replace(domain, attributes=(*domain.attributes, *self.parents, *copies))


@dataclass(frozen=True, kw_only=True)
class OwnColumns:
    """A table's own columns: their types, and what the model sees in their place."""

    types: Mapping[str, ColumnType]  # of all columns of the table
    declared: Declarations  # value sets of the model's columns
    rules: RuleSet  # a date with a time of day becomes two columns
    specs: Specs  # the model's columns, in order

    def read(self, table: pd.DataFrame) -> pd.DataFrame:
        """The model's columns of some rows, beside columns that are not modelled, such as keys."""
        names = [name for name, kind in self.types.items() if kind.is_modelled]
        rows = InMemoryRows(table[names], self.rules)
        if spelled := self.declared.spelled:
            rows = rows.read_again(spelled, PLAIN_SPELLING, self.rules)
        others = table[[name for name in self.types if name not in names]].reset_index(drop=True)
        return pd.concat([rows.folded(list(self.specs)), others], axis=1)


def own_columns(
    tree: TableTree, columns: Mapping[str, Specs], domain: Mapping[str, DomainFile], max_bins: int
) -> dict[str, OwnColumns]:
    """The columns of every table, of metadata and declarations alone.

    Raises
    ------
    ValueError
        If a declaration is of no column, or a table has none for the model.
    """
    keys, found = {link.child: link.foreign_key for link in tree.links}, dict[str, OwnColumns]()
    for name, specs in columns.items():
        file = domain.get(name, DomainFile(columns={}))
        if strange := [column for column in file.columns if column not in specs]:
            raise Refused.saying(
                "domain",
                f"domain: the metadata of table {name!r} has no columns {listed([*map(str, strange)])}: "
                "leave them out",
            )
        types = column_types(file, {"columns": specs}, keys.get(name))
        words = {column: kind.words for column, kind in types.items()}
        declared, rules, model_specs = Columns(columns=words, domain=file, max_bins=max_bins).read()
        if not model_specs and not tree.below(name):
            raise Refused.saying(
                "metadata", f"metadata: table {name!r} must have a column that is modelled beside its keys"
            )
        found[name] = OwnColumns(types=types, declared=declared, rules=rules, specs=model_specs)
    check_beside(tree, {name: [*columns[name], *one.rules.added] for name, one in found.items()})
    return found


@dataclass(frozen=True, kw_only=True)
class MultiTableSpecs:
    """What the fit of all tables is told, but for the rows."""

    tree: TableTree
    columns: Mapping[str, Specs]  # of every table
    own: Mapping[str, OwnColumns]  # the same, read
    keys: Mapping[str, Any]  # primary keys, of tables that have one
    epsilon: float
    delta: float
    domain: Mapping[str, DomainFile]
    types: Types | None
    max_bins: int = MAX_BINS
    locales: Any = ("en_US",)
    random_state: int | None = None
    roles: Mapping[str, tuple[Role, ...]] = field(default_factory=dict)
    scale: float = 1.0  # of the noise parameter: other losses than Gaussian ones need some of the total, too

    def within(self) -> MultiTableSpecs:
        """The same with as little noise as the total allows, found from the plan alone."""
        if math.isinf(self.epsilon):
            return self
        found, power, last = self, POWER, (self.scale, math.nan)
        for _ in range(STEPS):
            total = planned_ledger(found).total()
            if math.isinf(total) or self.epsilon * CLOSE <= total <= self.epsilon:
                return found
            if last[0] != found.scale and last[1] != total:  # the power that the last two plans show
                power = math.log(found.scale / last[0]) / math.log(total / last[1])
            last = found.scale, total
            step = min(max(power, LEAST_POWER), 1.0)
            found = replace(found, scale=found.scale * ((1 + CLOSE) / 2 * self.epsilon / total) ** step)
        raise Refused.saying(
            "epsilon",
            f"epsilon ({self.epsilon:g}) at delta ({self.delta:g}) must leave something for all tables, and "
            "their plan needs more: raise epsilon or delta, or declare more columns",
        )

    def share(self, table: str) -> float:
        """Epsilon of one table: all of them have the total of all."""
        if math.isinf(self.epsilon):
            return math.inf
        mu = calibrate_gaussian(self.epsilon, self.delta, ()) * self.scale
        weights = {
            name: lines(self.tree, self.roles, name) ** GROWS * (1 + len(self._with_first(name)))
            for name in self.tree.tables
        }
        part = gaussian_noise(mu * math.sqrt(weights[table] / sum(weights.values())))
        if not (found := compose(part, self.delta)):
            rule = f"must be smaller: the share of table {table!r} at this delta is an epsilon of 0"
            raise Refused("delta", self.delta, rule, "try 1e-9")
        return found

    def of_root(self) -> TableFit:
        """The fit of the table that hangs on none."""
        return TableFit.of(self, self.tree.root, model="bayesian_network", person=None, kind=Fit)

    def of_child(
        self, link: Relationship, parents: Domain | None = None, simulated: pd.DataFrame | None = None
    ) -> TableFit:
        """The fit of a table beside the one it hangs on; None: of that nothing is known yet."""
        siblings = {link.of_sibling(name): name for name in self.specs(link.child)}
        return TableFit.of(
            self, link.child,
            model=child_learner(link, self.roles, siblings, parents, simulated),
            person=Person(link.foreign_key, lines(self.tree, self.roles, link.child)), kind=ChildFit,
            parents=tuple(beside_child(link, a) for a in parents or ()), siblings=siblings,
        )  # fmt: skip

    @cached_property
    def planned(self) -> dict[str, PrivacyLedger]:
        """What the fit of each table costs, before a row is looked at."""
        fits = {
            self.tree.root: self.of_root(),
            **{link.child: self.of_child(link) for link in self.tree.links},
        }
        return {name: fit.planned() for name, fit in fits.items()}

    def column_types(self) -> dict[str, dict[str, ColumnType]]:
        """What each column of each table is."""
        return {name: dict(own.types) for name, own in self.own.items()}

    @property
    def firsts(self) -> dict[str, list[str]]:
        """Columns that stand in the parent's line, by table of whose rows one does."""
        return {
            link.child: self._first(link.child)
            for link in self.tree.links
            if first_of(self.roles.get(link.child, ()))
        }

    def _first(self, table: str) -> list[str]:
        """Columns of a table's row that stands in its parent's line."""
        role = first_of(self.roles[table])
        assert role is not None
        return [name for name in self.specs(table) if name != role.column]

    def _with_first(self, table: str) -> list[Relationship]:
        """Links to what hangs on a table, of whose rows one stands in its line."""
        return [link for link in self.tree.below(table) if first_of(self.roles.get(link.child, ()))]

    def specs(self, table: str) -> Specs:
        """The model's columns of a table's lines, but for those of its parent and of a sibling."""
        return {**self.own[table].specs, **self._more(table)}

    def _more(self, table: str) -> Specs:
        """The model's columns of other tables' rows in a table's lines: counts, and rows with a role."""
        counts = {count: {"sdtype": "numerical"} for count in self.tree.counts(table)}
        firsts = {
            link.of_first(name): type_words(self.specs(link.child)[name])
            for link in self._with_first(table)
            for name in self._first(link.child)
        }
        return {**counts, **firsts}

    def known(self, table: str) -> dict[str, Attribute]:
        """Value sets of the columns of :meth:`specs` that are known without the rows."""
        own = self.own[table].declared
        found = {name: one for name in self.own[table].specs if (one := own.known(name)) is not None}
        found |= {name: up_to(name, most) for name, most in self.tree.counts(table).items()}
        for link in self._with_first(table):
            known = self.known(link.child)
            for name in (name for name in self._first(link.child) if name in known):
                named = replace(
                    known[name], name=link.of_first(name), provenance="declared", number_format=None
                )
                found[named.name] = with_missing(named)
        return found

    def declarations(self, table: str) -> dict[str, Any]:
        """Declarations of the columns of other tables' rows in a table's lines: they are read already."""
        known = self.known(table)
        return {
            name: known.get(name) or {**words, **_as_it_is(words)}
            for name, words in self._more(table).items()
        }

    def check_stored(self, tables: Mapping[str, pd.DataFrame]) -> None:
        """Refuse tables whose columns are stored so that their cells cannot be read: by the schema alone."""
        keys = {link.parent: link.primary_key for link in self.tree.links}
        for name, table in tables.items():
            own, named = self.own[name], [link for link in self.tree.links if link.child == name]
            read = {column: kind.sdtype for column, kind in own.types.items() if kind.is_modelled}
            read |= {
                key: PERSON_SDTYPE for key in (keys.get(name), *(link.foreign_key for link in named)) if key
            }
            words = {column: own.types[column].words for column in own.types}
            try:
                check_storage(table, read)
                check_dates(table, own.declared.date_formats(words, own.rules.formats, {*table.columns}))
            except ValueError as error:
                raise Refused.saying("data", f"data: table {name!r}: {error}") from error

    def standing(
        self, tables: Mapping[str, pd.DataFrame], coins: KeyedRNG
    ) -> dict[str, tuple[np.ndarray, list[str]]]:
        """Of tables of whose rows one stands in its parent's line, which could, and the columns that do.

        ``tables``: as :meth:`OwnColumns.read` gives them.
        """
        found = {}
        for name, columns in self.firsts.items():
            role = first_of(self.roles[name])
            assert role is not None
            attribute = self.own[name].declared.known(role.column)
            assert attribute is not None, "roles are read of declared values"
            codes = Codec(Domain((attribute,))).encode(tables[name][[role.column]], coins.spawn(name))
            found[name] = codes[:, 0] == role.code, columns
        return found


@dataclass(frozen=True, kw_only=True)
class TableFit:
    """One table's fit, with what its release says beside."""

    fit: Fit
    name: str
    columns: Mapping[str, Any]  # types by name
    key: str | tuple[str, ...] | None  # the table's primary key

    @classmethod
    def of(
        cls,
        told: MultiTableSpecs,
        name: str,
        *,
        model: Any,
        person: Person | None,
        kind: type[Fit],
        **options: Any,
    ) -> TableFit:
        """Read what is told of a table, with columns that its lines have beside its own."""
        file = told.domain.get(name, DomainFile(columns={}))
        file = replace(file, columns={**file.columns, **told.declarations(name)})
        specs = {**told.columns[name], **told._more(name)}
        linked = [] if person is None else [person.column]
        given = {"columns": told.columns[name], "primary_key": told.keys.get(name), "alternate_keys": linked}
        arguments = FitArguments.of(
            given, file, epsilon=told.share(name), delta=told.delta, model=model, test="release",
            types=told.types, person=person, neighbours=told.tree.neighbours, budget=None,
            locales=told.locales, random_state=told.random_state,
        )  # fmt: skip
        columns = column_types(file, {"columns": specs}, None if person is None else person.column)
        read = arguments.read(
            {name: kind.words for name, kind in columns.items()}, rules=(), max_bins=told.max_bins, name=name
        )
        settings = release_settings(
            arguments.settings, model, read.told.open, max_bins=told.max_bins, types=arguments.types,
            locales=arguments.locales, enforce_min_max_values=True, enforce_rounding=True,
            undeclared="private", returns_tables=False,
        )  # fmt: skip
        side = entries_without_cost(
            told.random_state, has_constraints=False, types=told.types, assumed=arguments.assumed
        )
        fields = {f: getattr(read, f) for f in read.__dataclass_fields__}
        fields |= {"said": settings, "side": (*map(_used_entry, told.tree.path(name)[-1:]), *side)}
        fields["anyway"] = True  # rows of related tables are not counted first: one total is planned for all
        return cls(fit=kind(**fields, **options), name=name, columns=read.told.types, key=told.keys.get(name))

    def planned(self) -> PrivacyLedger:
        """What it costs, before a row is looked at."""
        return self.fit.plan().ledger

    def run(self, families: JoinedTables, coins: KeyedRNG, teller: HolderDiagnostics) -> Release:
        """Fit rows of which each unit has no more than it may."""
        fit = self.fit
        parents: tuple[Attribute, ...] = fit.parents if isinstance(fit, ChildFit) else ()
        copies: Mapping[str, str] = fit.siblings if isinstance(fit, ChildFit) else {}
        table = families.tables[self.name][[*fit.specs, *(a.name for a in parents)]]
        rows = JoinedRows(
            table, schema=families.schemas.get(self.name, table.iloc[:0]), copies=copies,
            beside=families.siblings.get(self.name, np.full(len(table), -1)),
        )  # fmt: skip
        own = HolderDiagnostics()  # which compares nothing with declarations: no row shows in what it tells
        found = fit.run(rows, fit.opened(None, warns=False), coins, own)
        of_others = [replace(a, provenance="declared") for a in found.domain if a.name not in fit.specs]
        beside = column_types({attribute.name: attribute for attribute in of_others})
        release = make_release(found, fit, {**self.columns, **beside}, self.name, self.key)
        teller.told.extend(FitWarning(f"{self.name}: {one}", for_holder=one.for_holder) for one in own.told)
        return release


def _used_entry(link: Relationship) -> LedgerEntry:
    """Ledger entry that says which rows of a table that hangs on another are used."""
    how = (
        f"of rows that name one row of {link.parent} in {link.foreign_key} at most {link.most:,} are used, "
        "chosen secretly; rows that name none that is used are not; keys are invented anew"
    )
    note = (
        f"rows of {link.parent} that more hang on count as if {link.most:,} did: shares, totals and whatever "
        "goes with large families are those of the rows used"
    )
    return LedgerEntry(name="persons", mechanism=how, losses=(), scope="the rows used", note=note)


def planned_ledger(told: MultiTableSpecs) -> PrivacyLedger:
    """What all fits cost together, before a row is looked at."""
    return joint_ledger(told.tree, told.planned)


def fit_families(
    told: MultiTableSpecs, families: JoinedTables, coins: KeyedRNG, teller: HolderDiagnostics
) -> FamilyRelease:
    """Fit the root, then every table beside its parents' rows, simulated from what was released."""
    tree, plans = told.tree, told.planned
    fits = coins.spawn("fits")  # a table may be called as any other stream of these coins is
    found = {tree.root: told.of_root().run(families, fits.spawn(tree.root), teller)}
    for link in tree.links:
        fit = told.of_child(link, *simulated_parents(tree, told.roles, found, link))
        only_planned(plans[link.child])(fit.planned().losses)
        found[link.child] = fit.run(families, fits.spawn(link.child), teller)
    return FamilyRelease(tree=tree, tables=found, roles=told.roles)


def _as_it_is(words: Mapping[str, Any]) -> dict[str, str]:
    """Words by which dates are no more split: they were, or are to stay whole."""
    return {"parts": "whole"} if words.get("sdtype") == "datetime" else {}

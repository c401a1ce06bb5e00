"""The fit of related tables: one of each under one total, after that of the table it hangs on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.fit.arguments import Arguments
from sdv_plausible.fit.budget import only_planned
from sdv_plausible.fit.rows import TableRows
from sdv_plausible.fit.run import Fit
from sdv_plausible.fit.side_entries import side_entries
from sdv_plausible.fit.source import release_of
from sdv_plausible.fit.telling import FitWarning, Teller
from sdv_plausible.models.adaptive.adaptive_network import NUM_SIMULATED
from sdv_plausible.models.adaptive.child_network import ChildNetwork
from sdv_plausible.privacy.accounting.composition import calibrate_gaussian, compose
from sdv_plausible.privacy.accounting.losses import GaussianLoss
from sdv_plausible.privacy.checks import Refused, listed
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import Person
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.related.drawing import beside_child, drawings, up_to, with_missing
from sdv_plausible.related.families import Families, FamilyRows
from sdv_plausible.related.links import Link, Specs, Tree
from sdv_plausible.related.release import FamilyRelease, joint_ledger
from sdv_plausible.related.roles import Role, lines
from sdv_plausible.release.file.release import Release
from sdv_plausible.release.file.settings import said
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.cell_texts import ColumnType
from sdv_plausible.table.columns.domain import MAX_BINS, Attribute, Domain
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.table.declared.declarations import Types
from sdv_plausible.table.declared.domain_file import DomainFile

GROWS = (
    5 / 6
)  # power of the rows of a family in a table that its share of the squared noise parameter grows with
SIMULATION_SEED, MOST_SIMULATED = 2017, 4 * NUM_SIMULATED
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
class Told:
    """What the fit of all tables is told, but for the rows."""

    tree: Tree
    columns: Mapping[str, Specs]  # of every table
    keys: Mapping[str, Any]  # primary keys, of tables that have one
    epsilon: float
    delta: float
    domain: Mapping[str, DomainFile]
    types: Types
    max_bins: int = MAX_BINS
    locales: Any = ("en_US",)
    random_state: int | None = None
    roles: Mapping[str, tuple[Role, ...]] = field(default_factory=dict)
    # By table of whose rows one has a role, and stands in its parent's line: the columns of it, and what is
    # known of them
    firsts: Mapping[str, Mapping[str, Attribute | None]] = field(default_factory=dict)
    scale: float = 1.0  # of the noise parameter: other losses than Gaussian ones need some of the total, too

    def within(self) -> Told:
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
        part = GaussianLoss(sensitivity_over_sigma=mu * math.sqrt(weights[table] / sum(weights.values())))
        return compose([part], self.delta)

    def of_root(self) -> TableFit:
        """The fit of the table that hangs on none."""
        return TableFit.of(self, self.tree.root, model="bayesian_network", person=None, kind=Fit)

    def of_child(
        self, link: Link, parents: Domain | None = None, simulated: pd.DataFrame | None = None
    ) -> TableFit:
        """The fit of a table beside the one it hangs on; None: of that nothing is known yet."""
        beside = tuple(beside_child(link, a) for a in parents or ())
        siblings = {link.of_sibling(name): name for name in self.modelled(link.child)}
        codes, alone = dict[str, np.ndarray](), np.zeros(0, dtype=bool)
        if simulated is not None:
            drawn = Codec(Domain(beside)).encode(simulated, Coins.from_seed(SIMULATION_SEED).spawn("codes"))
            codes = dict(zip([a.name for a in beside], drawn.T, strict=True))
            alone = simulated[link.of_parent(link.count)].to_numpy() == 1 + (link.child in self.firsts)
        early = tuple(dict.fromkeys(role.column for role in self.roles.get(link.child, ())))
        return TableFit.of(
            self, link.child,
            model=ChildNetwork(parents=codes, siblings=siblings, alone=alone, early=early),
            person=Person(link.foreign_key, lines(self.tree, self.roles, link.child)), kind=ChildFit,
            parents=beside, siblings=siblings,
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
        keys = {link.child: link.foreign_key for link in self.tree.links}
        return {
            name: column_types(self.domain.get(name), {"columns": specs}, keys.get(name))
            for name, specs in self.columns.items()
        }

    def _with_first(self, table: str) -> list[Link]:
        """Links to what hangs on a table, of whose rows one stands in its line."""
        return [link for link in self.tree.below(table) if link.child in self.firsts]

    def specs(self, table: str) -> Specs:
        """Words of all columns of a table's lines, but for what stands beside them."""
        counts = {count: {"sdtype": "numerical"} for count in self.tree.counts(table)}
        firsts = {
            link.of_first(name): self.specs(link.child)[name]
            for link in self._with_first(table)
            for name in self.firsts[link.child]
        }
        return {**self.columns[table], **counts, **firsts}

    def known(self, table: str) -> dict[str, Attribute]:
        """What is known of the columns that a table's lines have beside its own."""
        firsts = {
            link.of_first(name): with_missing(replace(a, name=link.of_first(name), provenance="declared"))
            for link in self._with_first(table)
            for name, a in self.firsts[link.child].items()
            if a is not None
        }
        return {**{name: up_to(name, most) for name, most in self.tree.counts(table).items()}, **firsts}

    def standing(
        self, tables: Mapping[str, pd.DataFrame], coins: Coins
    ) -> dict[str, tuple[np.ndarray, list[str]]]:
        """Of tables of whose rows one stands in its parent's line, which could, and the columns that do."""
        found = {}
        for link in self.tree.links:
            for role in (role for role in self.roles.get(link.child, ()) if role.is_first):
                fit, rows = self.of_child(link).fit, TableRows(tables[link.child][[role.column]], RuleSet())
                attribute = fit.declared.known(role.column)
                assert attribute is not None, "roles are read of declared values"
                if spelled := fit.declared.spelled.get(role.column):
                    rows = rows.read_again({role.column: spelled}, fit.told.spelling, RuleSet())
                codes = Codec(Domain((attribute,))).encode(
                    rows.folded([role.column]), coins.spawn(link.child)
                )
                found[link.child] = codes[:, 0] == role.code, [*self.firsts[link.child]]
        return found

    def modelled(self, table: str) -> list[str]:
        """A table's columns that are modelled, with what its lines have beside them of rows of others."""
        names = [name for name, kind in self.column_types()[table].items() if kind.is_modelled]
        if names := [*names, *(name for name in self.specs(table) if name not in self.columns[table])]:
            return names
        raise Refused.saying(
            "metadata", f"metadata: table {table!r} must have a column that is modelled beside its keys"
        )


@dataclass(frozen=True, kw_only=True)
class TableFit:
    """One table's fit, with what its release says beside."""

    fit: Fit
    name: str
    columns: Mapping[str, Any]  # types by name
    key: str | tuple[str, ...] | None  # the table's primary key

    @classmethod
    def of(
        cls, told: Told, name: str, *, model: Any, person: Person | None, kind: type[Fit], **options: Any
    ) -> TableFit:
        """Read what is told of a table, with columns that its lines have beside its own."""
        file, specs = told.domain.get(name, DomainFile(columns={})), told.specs(name)
        if strange := [column for column in file.columns if column not in told.columns[name]]:
            raise Refused.saying(
                "domain",
                f"domain: the metadata of table {name!r} has no columns {listed([*map(str, strange)])}: "
                "leave them out",
            )
        file = replace(file, columns={**file.columns, **told.known(name)})
        arguments = Arguments.of(
            {"columns": specs}, file, epsilon=told.share(name), delta=told.delta, model=model, test="release",
            types=told.types, person=person, neighbours=told.tree.neighbours, budget=None,
            locales=told.locales, random_state=told.random_state,
        )  # fmt: skip
        columns = column_types(file, {"columns": specs}, None if person is None else person.column)
        read = arguments.read(
            {name: kind.words for name, kind in columns.items()}, rules=(), max_bins=told.max_bins, name=name
        )
        settings = said(
            arguments.settings, model, read.told.open, max_bins=told.max_bins, types=told.types,
            locales=arguments.locales, enforce_min_max_values=True, enforce_rounding=True,
            undeclared="private", returns_tables=False,
        )  # fmt: skip
        side = side_entries(told.random_state, has_constraints=False, types=told.types)
        fields = {f: getattr(read, f) for f in read.__dataclass_fields__}
        fields |= {"said": settings, "side": (*map(_used_entry, told.tree.path(name)[-1:]), *side)}
        return cls(fit=kind(**fields, **options), name=name, columns=read.told.types, key=told.keys.get(name))

    def planned(self) -> PrivacyLedger:
        """What it costs, before a row is looked at."""
        return self.fit.plan().ledger

    def run(
        self, table: pd.DataFrame, coins: Coins, teller: Teller, beside: np.ndarray | None = None
    ) -> Release:
        """Fit rows of which each unit has no more than it may."""
        modelled = [name for name, kind in self.columns.items() if kind.is_modelled]
        types, fit, rows = dict(self.columns), self.fit, TableRows(table[modelled], self.fit.rules)
        if isinstance(fit, ChildFit) and beside is not None:
            table = table[[*modelled, *(a.name for a in fit.parents)]]
            rows = FamilyRows(table, fit.rules, beside=beside, copies=fit.siblings)
            types |= column_types({a.name: a for a in fit.parents})
            types |= {name: replace(types[own], name=name) for name, own in fit.siblings.items()}
        own = Teller()  # which compares nothing with declarations: no row shows in what it tells
        release = release_of(fit.run(rows, fit.opened(None), coins, own), fit, types, self.name, self.key)
        teller.told.extend(FitWarning(f"{self.name}: {one}", for_holder=one.for_holder) for one in own.told)
        return release


def _used_entry(link: Link) -> LedgerEntry:
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


def planned_ledger(told: Told) -> PrivacyLedger:
    """What all fits cost together, before a row is looked at."""
    return joint_ledger(told.tree, told.planned)


def fit_families(told: Told, families: Families, coins: Coins, teller: Teller) -> FamilyRelease:
    """Fit the root, then every table beside its parents' rows, simulated from what was released."""
    tree, tables, plans = told.tree, families.tables, told.planned
    fits = coins.spawn("fits")  # a table may be called as any other stream of these coins is
    found = {tree.root: told.of_root().run(tables[tree.root], fits.spawn(tree.root), teller)}
    for link in tree.links:
        simulated = simulated_rows(told, found, link.parent)
        parents = Domain(tuple(a for a in found[link.parent].domain if a.name in simulated))
        fit = told.of_child(link, parents, _of_children(link, simulated, link.child in told.firsts))
        only_planned(plans[link.child])(fit.planned().losses)
        beside = families.siblings[link.child]
        found[link.child] = fit.run(tables[link.child], fits.spawn(link.child), teller, beside)
    return FamilyRelease(tree=tree, tables=found, roles=told.roles)


def simulated_rows(told: Told, found: Mapping[str, Release], table: str) -> pd.DataFrame:
    """Modelled columns of a table's rows, drawn with a public seed from releases on the way to it."""
    coins, root = Coins.from_seed(SIMULATION_SEED), told.tree.root
    rows = found[root].drawn(NUM_SIMULATED, coins.spawn("parents"))[list(found[root].domain.names)]
    path = [link.child for link in told.tree.path(table)]
    on_the_way = {name: found[name] for name in (root, *path)}
    for name, drawing in drawings(told.tree, on_the_way, told.roles).items():
        sizes = rows[drawing.link.count].to_numpy(dtype=int)
        few = np.cumsum(sizes) <= MOST_SIMULATED  # whole families, as many as that
        rows = drawing.children(rows[few], sizes[few], coins.spawn("children", name))
    return rows


def _of_children(link: Link, parents: pd.DataFrame, has_first: bool) -> pd.DataFrame:
    """Simulated rows of a parent's table, each as often as it has lines of children, in a public order."""
    sizes = parents[link.count].to_numpy(dtype=int)
    often = parents.loc[parents.index.repeat(np.maximum(sizes - has_first, 0))]
    shuffled = Coins.from_seed(SIMULATION_SEED).spawn("order").uniform(len(often)).argsort()
    return often.iloc[shuffled[:NUM_SIMULATED]].reset_index(drop=True).rename(columns=link.of_parent)

"""The fit of two related tables: two fits under one total, the children's after the parents'."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.fit.arguments import Arguments
from sdv_plausible.fit.budget import only_planned
from sdv_plausible.fit.rows import TableRows
from sdv_plausible.fit.run import Fit
from sdv_plausible.fit.side_entries import side_entries
from sdv_plausible.fit.source import release_of
from sdv_plausible.fit.telling import Teller
from sdv_plausible.models.adaptive.adaptive_network import NUM_SIMULATED
from sdv_plausible.models.adaptive.child_network import ChildNetwork
from sdv_plausible.privacy.accounting.composition import calibrate_gaussian, compose
from sdv_plausible.privacy.accounting.losses import GaussianLoss
from sdv_plausible.privacy.checks import Refused, listed
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import Person
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.related.families import Families, FamilyRows
from sdv_plausible.related.links import Link, Specs
from sdv_plausible.related.release import FamilyRelease, joint_ledger
from sdv_plausible.related.roles import Role
from sdv_plausible.release.file.release import Release
from sdv_plausible.release.file.settings import said
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.cell_texts import ColumnType
from sdv_plausible.table.columns.domain import MAX_BINS, Attribute, Domain
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.table.declared.declarations import Types
from sdv_plausible.table.declared.domain_file import DomainFile
from sdv_plausible.table.persons import person_entry

PARENT_SHARE = 0.15  # of the squared noise parameter, for the parents' table
SIMULATION_SEED = 2017
STEPS, CLOSE = 20, 0.999  # towards the total, and what of it is spent at least
POWER = 0.6  # epsilon grows as the noise parameter does at first, and as its square where it is large


@dataclass(frozen=True, kw_only=True, eq=False)
class ChildFit(Fit):
    """A fit of children, beside which columns of parents and siblings stand: known, and paid for."""

    parents: tuple[Attribute, ...] = ()
    siblings: Mapping[str, str] = field(default_factory=dict)

    def _beside(self, domain: Domain) -> Domain:
        copies = (_with_missing(replace(domain[own], name=name)) for name, own in self.siblings.items())
        return replace(domain, attributes=(*domain.attributes, *self.parents, *copies))


def _with_missing(attribute: Attribute) -> Attribute:
    """The column of a sibling: missing where there is none."""
    buckets = attribute.buckets
    if buckets is not None and not attribute.nullable:
        buckets = (*buckets, max(buckets) + 1)
    return replace(attribute, nullable=True, buckets=buckets)


@dataclass(frozen=True, kw_only=True)
class Told:
    """What the fit of both tables is told, but for the rows."""

    link: Link
    parents: Specs
    children: Specs
    epsilon: float
    delta: float
    domain: Mapping[str, DomainFile]
    types: Types
    max_bins: int = MAX_BINS
    locales: Any = ("en_US",)
    random_state: int | None = None
    roles: tuple[Role, ...] = ()
    scale: float = 1.0  # of the noise parameter: other losses than Gaussian ones need some of the total, too

    def within(self) -> Told:
        """The same with as little noise as the total allows, found from the plan alone."""
        if math.isinf(self.epsilon):
            return self
        found = self
        for _ in range(STEPS):
            total = planned_ledger(found).total()
            if math.isinf(total) or self.epsilon * CLOSE <= total <= self.epsilon:
                return found
            found = replace(found, scale=found.scale * ((1 + CLOSE) / 2 * self.epsilon / total) ** POWER)
        raise Refused.saying(
            "epsilon",
            f"epsilon ({self.epsilon:g}) at delta ({self.delta:g}) must leave something for both tables, and "
            "their plan needs more: raise epsilon or delta, or declare more columns",
        )

    def shares(self) -> tuple[float, float]:
        """Epsilons of parents and children whose total is that of both."""
        if math.isinf(self.epsilon):
            return math.inf, math.inf
        mu = calibrate_gaussian(self.epsilon, self.delta, ()) * self.scale
        first, second = (
            compose([GaussianLoss(sensitivity_over_sigma=mu * math.sqrt(share))], self.delta)
            for share in (PARENT_SHARE, 1 - PARENT_SHARE)
        )
        return first, second

    def of_parents(self) -> TableFit:
        """The fit of the parents, each with its number of children."""
        link, most = self.link, self.link.most
        count = Attribute(
            name=link.count, kind="integer", lower=tuple(range(most + 1)), upper=tuple(range(most + 1))
        )
        return TableFit.of(
            self, link.parent, {**self.parents, link.count: {"sdtype": "numerical"}}, {link.count: count},
            epsilon=self.shares()[0], model="bayesian_network", person=None, kind=Fit,
        )  # fmt: skip

    def of_children(self, parents: Domain | None, simulated: pd.DataFrame | None = None) -> TableFit:
        """The fit of the children beside their parents; None: of those nothing is known yet."""
        link = self.link
        beside = tuple(replace(a, name=link.of_parent(a.name), provenance="declared") for a in parents or ())
        siblings = {link.of_sibling(name): name for name in self.of_children_alone()}
        codes, alone = dict[str, np.ndarray](), np.zeros(0, dtype=bool)
        if simulated is not None:
            drawn = Codec(Domain(beside)).encode(simulated, Coins.from_seed(SIMULATION_SEED).spawn("codes"))
            codes = dict(zip([a.name for a in beside], drawn.T, strict=True))
            alone = simulated[link.of_parent(link.count)].to_numpy() == 1
        early = tuple(dict.fromkeys(role.column for role in self.roles))
        return TableFit.of(
            self, link.child, self.children, {}, epsilon=self.shares()[1],
            model=ChildNetwork(parents=codes, siblings=siblings, alone=alone, early=early),
            person=Person(link.foreign_key, link.most), kind=ChildFit, parents=beside, siblings=siblings,
        )  # fmt: skip

    def column_types(self) -> dict[str, dict[str, ColumnType]]:
        """What each column is, of the parents' table and of the children's."""
        tables = (
            (self.link.parent, self.parents, None),
            (self.link.child, self.children, self.link.foreign_key),
        )
        return {
            name: column_types(self.domain.get(name), {"columns": specs}, key) for name, specs, key in tables
        }

    def of_children_alone(self) -> list[str]:
        """The children's columns that are modelled."""
        types = self.column_types()[self.link.child]
        if names := [name for name, kind in types.items() if kind.is_modelled]:
            return names
        raise Refused.saying(
            "metadata",
            f"metadata: table {self.link.child!r} must have a column that is modelled beside its keys",
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
        cls, told: Told, name: str, specs: Specs, more: Mapping[str, Attribute], *, epsilon: float,
        model: Any, person: Person | None, kind: type[Fit], **options: Any,
    ) -> TableFit:  # fmt: skip
        """Read what is told of a table, with ``more`` columns whose value sets are known."""
        file = told.domain.get(name, DomainFile(columns={}))
        if strange := [column for column in file.columns if column not in specs or column in more]:
            raise Refused.saying(
                "domain",
                f"domain: the metadata of table {name!r} has no columns {listed([*map(str, strange)])}: "
                "leave them out",
            )
        file = replace(file, columns={**file.columns, **more})
        arguments = Arguments.of(
            {"columns": specs}, file, epsilon=epsilon, delta=told.delta, model=model, test="release",
            types=told.types, person=person, neighbours="add_remove", budget=None, locales=told.locales,
            random_state=told.random_state,
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
        fields |= {"said": settings, "side": (*person_entry(arguments.settings.neighbours), *side)}
        key = told.link.primary_key if name == told.link.parent else told.link.child_key
        return cls(fit=kind(**fields, **options), name=name, columns=read.told.types, key=key)

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
        return release_of(fit.run(rows, fit.opened(None), coins, teller), fit, types, self.name, self.key)


def planned_ledger(told: Told) -> PrivacyLedger:
    """What both fits cost together, before a row is looked at."""
    parents, children = told.of_parents(), told.of_children(None)
    return joint_ledger(told.link, parents.planned(), children.planned())


def fit_families(told: Told, families: Families, coins: Coins, teller: Teller) -> FamilyRelease:
    """Fit parents, then children beside parents that are simulated from what was released of them."""
    link = told.link
    parents = told.of_parents().run(families.parents, coins.spawn("parents"), teller)
    of_children = told.of_children(parents.domain, simulated_parents(link, parents))
    only_planned(told.of_children(None).planned())(of_children.planned().losses)
    children = of_children.run(families.children, coins.spawn("children"), teller, families.siblings)
    return FamilyRelease(link=link, parents=parents, children=children, roles=told.roles)


def simulated_parents(link: Link, parents: Release) -> pd.DataFrame:
    """Parents drawn from their release with a public seed, each as often as it has children."""
    names = list(parents.domain.names)
    coins = Coins.from_seed(SIMULATION_SEED)
    drawn = parents.drawn(NUM_SIMULATED, coins.spawn("parents"))[names]
    often = drawn.loc[drawn.index.repeat(drawn[link.count].to_numpy(dtype=int))]
    shuffled = coins.spawn("order").uniform(len(often)).argsort()
    return often.iloc[shuffled[:NUM_SIMULATED]].reset_index(drop=True).rename(columns=link.of_parent)

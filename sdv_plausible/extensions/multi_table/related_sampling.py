"""Rows that hang on rows that are there: each given its parent and another child of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from sdv_plausible.extensions.multi_table.relationships import Relationship, TableTree
from sdv_plausible.extensions.multi_table.roles import OpenRoles, Role, check_together, first_of
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.domain import Attribute, Domain

if TYPE_CHECKING:
    from sdv_plausible.release.file.release import Release


@dataclass(frozen=True, kw_only=True, eq=False)
class ChildSampler:
    """Draws children, from a model that puts their columns after those of parent and sibling.

    Parameters
    ----------
    model : BayesianNetwork
        Of a child's columns, its parent's, and a sibling's.
    domain : Domain
        Of these.
    parents : sequence of str
        The parents' columns, as their own table names them.
    link : Link
        How the tables hang together.
    roles : sequence of Role
        What only one child of a family is.
    """

    model: BayesianNetwork
    domain: Domain
    parents: Sequence[str]
    link: Relationship
    roles: Sequence[Role] = ()

    def __post_init__(self) -> None:
        beside = {*self._siblings, *map(self._place, map(self.link.of_parent, self.parents))}
        early, start = {self._place(role.column) for role in self.roles}, len(beside)
        if {*self.model.order[:start]} != beside:
            raise ValueError("the children's model must draw their columns after those of parent and sibling")
        if {*self.model.order[start : start + len(early)]} != early:
            raise ValueError("the children's model must draw columns with roles before a child's others")
        if lost := {*self.firsts} - {*self.parents}:
            raise ValueError(
                f"parents and children must be of one fit: {min(lost)!r} is not in the parents' lines"
            )
        check_together(self.roles, {column.name: column.cardinality for column in self.domain})

    def _place(self, name: str) -> int:
        if name not in self.domain.names:
            raise ValueError(f"parents and children must be of one fit: {name!r} is not beside children")
        return self.domain.names.index(name)

    @cached_property
    def _siblings(self) -> Mapping[int, int]:
        """Column of a sibling -> the child's column that it is one of, by number."""
        names = self.domain.names
        made = {self.link.of_sibling(name): j for j, name in enumerate(names)}
        return {j: made[name] for j, name in enumerate(names) if name in made}

    @cached_property
    def own(self) -> list[int]:
        """A child's own columns, by number."""
        beside = {*self._siblings, *map(self._place, map(self.link.of_parent, self.parents))}
        return [j for j in range(len(self.domain)) if j not in beside]

    @property
    def columns(self) -> list[str]:
        """A child's own columns."""
        return [self.domain.names[j] for j in self.own]

    @property
    def first(self) -> Role | None:
        """What exactly one child of every family is: it stands in its parent's line."""
        return first_of(self.roles)

    @property
    def firsts(self) -> list[str]:
        """Columns of the parents' lines in which that child stands."""
        role = self.first
        return [] if role is None else [self.link.of_first(c) for c in self.columns if c != role.column]

    @property
    def _kept(self) -> int:
        return len(self.domain) - len(self.own)

    def children(self, parents: pd.DataFrame, sizes: np.ndarray, coins: KeyedRNG) -> pd.DataFrame:
        """Modelled columns of all children, family by family.

        Parameters
        ----------
        parents : DataFrame
            Rows of the parents' table.
        sizes : ndarray of int
            How many children each has.
        coins : Coins
            Of this call.
        """
        others = sizes if self.first is None else np.maximum(sizes - 1, 0)
        codes = self._codes(self._encoded(parents, coins.spawn("parents")), others, coins)[:, self.own]
        own = Domain(tuple(attribute for j, attribute in enumerate(self.domain) if j in {*self.own}))
        if self.first is not None:
            starts = (np.cumsum(others) - others)[sizes > 0]
            codes = np.insert(
                codes, starts, self._firsts(parents[sizes > 0], own, coins.spawn("firsts")), axis=0
            )
        return Codec(own).decode(codes, coins.spawn("inside the bins"))

    def _firsts(self, parents: pd.DataFrame, own: Domain, coins: KeyedRNG) -> np.ndarray:
        """Codes (n, k) of children that stand in their parents' lines; cells that are not there are drawn."""
        assert self.first is not None
        codes = np.full((len(parents), len(own)), self.first.code)
        for j, attribute in enumerate(own):
            if attribute.name != self.first.column:
                cells = parents[[self.link.of_first(attribute.name)]].set_axis([attribute.name], axis=1)
                codes[:, [j]] = Codec(Domain((attribute,))).encode(cells, coins.spawn(attribute.name))
        return codes

    def _encoded(self, parents: pd.DataFrame, coins: KeyedRNG) -> dict[int, np.ndarray]:
        """Codes of the parents' columns, by number beside a child's."""
        of_parents = parents[list(self.parents)].rename(columns=self.link.of_parent)
        columns = Domain(tuple(self.domain[name] for name in of_parents.columns))
        codes = Codec(columns).encode(of_parents, coins)
        return {self._place(name): codes[:, i] for i, name in enumerate(columns.names)}

    def _codes(self, parents: Mapping[int, np.ndarray], sizes: np.ndarray, coins: KeyedRNG) -> np.ndarray:
        # The first child of several is drawn as a sibling is, given its parent alone; each other one is given
        # one of those before it.
        starts = np.cumsum(sizes) - sizes
        whose = np.repeat(np.arange(len(sizes)), sizes)
        codes = np.zeros((len(whose), len(self.domain)), dtype=np.int32, order="F")
        for j, column in parents.items():
            codes[:, j] = column[whose]
        alone, first = starts[sizes == 1], starts[sizes > 1]
        for j in self._siblings:  # the last code of a sibling's column is that nobody is there
            codes[alone, j] = self.domain.cardinalities[j] - 1
        codes[alone] = self._given(codes[alone], self._seats(codes, alone, 0), coins.spawn("alone"))
        codes[first] = self._first(codes[first], self._seats(codes, first, 0), coins.spawn("first"))
        for number in range(1, int(sizes.max(initial=0))):
            first, this = starts[sizes > number], coins.spawn("child", number)
            other = np.minimum((this.uniform(len(first)) * number).astype(int), number - 1)
            at = first + number
            codes[np.ix_(at, [*self._siblings])] = codes[np.ix_(first + other, [*self._siblings.values()])]
            codes[at] = self._given(codes[at], self._seats(codes, at, number, other), this)
        return codes

    def _seats(
        self, codes: np.ndarray, at: np.ndarray, number: int, other: np.ndarray | None = None
    ) -> OpenRoles | None:
        """Roles that are left for the next children, after ``number`` others; None where there are no roles.

        Each is drawn given its ``other``, counted from the first.
        """
        if not self.roles:
            return None
        roles = [(self._place(role.column), role.code, role.is_first) for role in self.roles]
        taken, unseen = (np.zeros((len(at), len(roles)), dtype=kind) for kind in (bool, int))
        for r, (j, code, _) in enumerate(roles):
            for earlier in range(1, number + 1):
                taken[:, r] |= codes[at - earlier, j] == code
            if other is not None:
                unseen[:, r] = number - 1
        return OpenRoles(roles=roles, taken=taken, unseen=unseen)

    def _given(self, rows: np.ndarray, seats: OpenRoles | None, coins: KeyedRNG) -> np.ndarray:
        """Children (n, m) of the parent and the sibling that their rows hold."""
        rows, kept = np.asfortranarray(rows), self._kept
        if seats is not None:
            tables = self.model.tables[kept : kept + len({j for j, _, _ in seats.roles})]
            for table in tables:
                rows[:, table.child] = seats.draw(table, rows, table.child, coins.spawn("role", table.child))
            kept += len(tables)
        return self.model.complete(rows, kept, coins)

    def _first(self, rows: np.ndarray, seats: OpenRoles | None, coins: KeyedRNG) -> np.ndarray:
        """Children (n, m) of the parent that their rows hold, as siblings are drawn."""
        rows, with_roles = np.asfortranarray(rows), {j for j, _, _ in seats.roles} if seats else set()
        for table in self.model.tables[: self._kept]:
            own = self._siblings.get(table.child)
            if seats is not None and own in with_roles:
                rows[:, table.child] = seats.draw(table, rows, own, coins.spawn("role", own))
            elif own is not None:
                rows[:, table.child] = table.draw(rows, coins)
        for j, own in self._siblings.items():
            rows[:, own] = np.minimum(rows[:, j], self.domain.cardinalities[own] - 1)
        return rows


def drawings(
    tree: TableTree, tables: Mapping[str, Release], roles: Mapping[str, Sequence[Role]]
) -> dict[str, ChildSampler]:
    """What draws rows of each table but the root, as far as their releases are there."""
    own, found = {tree.root: list(tables[tree.root].domain.names)}, dict[str, ChildSampler]()
    for link in (link for link in tree.links if link.child in tables):
        model, domain = tables[link.child].model, tables[link.child].domain
        if not isinstance(model, BayesianNetwork):
            raise ValueError(
                f"the model of {link.child!r} must be a Bayesian network, which draws rows given others"
            )
        drawing = ChildSampler(
            model=model, domain=domain, parents=own[link.parent], link=link, roles=roles.get(link.child, ())
        )
        _check_beside(drawing, tables[link.parent].domain)
        found[link.child], own[link.child] = drawing, drawing.columns
    return found


def _check_beside(drawing: ChildSampler, parents: Domain) -> None:
    """Refuse columns beside a child's that are not as their own tables have them: codes are copied."""
    link, domain = drawing.link, drawing.domain
    copies = [with_missing(replace(domain[name], name=link.of_sibling(name))) for name in drawing.columns]
    for column in (*(beside_child(link, parents[name]) for name in drawing.parents), *copies):
        if column.name not in domain or domain[column.name] != column:
            raise ValueError(
                f"parents and children must be of one fit: {column.name!r} beside children has other values"
            )


def beside_child(link: Relationship, attribute: Attribute) -> Attribute:
    """A parent's column as it stands beside a child's: known, since it was paid for there."""
    return replace(attribute, name=link.of_parent(attribute.name), provenance="declared")


def with_missing(attribute: Attribute) -> Attribute:
    """The column of a sibling: missing where there is none."""
    buckets = attribute.buckets
    if buckets is not None and not attribute.nullable:
        buckets = (*buckets, max(buckets) + 1)
    return replace(attribute, nullable=True, buckets=buckets)


def up_to(name: str, most: int) -> Attribute:
    """The column of a public number of rows, 0 to ``most``."""
    return Attribute(name=name, kind="integer", lower=tuple(range(most + 1)), upper=tuple(range(most + 1)))

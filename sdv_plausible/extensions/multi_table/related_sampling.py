"""Sample children, each given its parent and another child of that parent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from sdv_plausible.extensions.multi_table.relationships import (
    AvailableRoles,
    Relationship,
    Role,
    TableTree,
    check_compatible_roles,
    exactly_one_role,
)
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.domain import Attribute, Domain

if TYPE_CHECKING:
    from sdv_plausible.release.file.release import Release


@dataclass(frozen=True, kw_only=True, eq=False)
class ChildSampler:
    """Draw children from a model whose order has the columns of parent and sibling first."""

    model: BayesianNetwork  # of a child's columns, its parent's, and a sibling's
    domain: Domain  # of these columns
    parents: Sequence[str]  # the parent's columns, by their names in the parent's table
    link: Relationship  # relationship of the child table to its parent table
    roles: Sequence[Role] = ()  # values that only one child of a parent has

    def __post_init__(self) -> None:
        conditioning = {*self._siblings, *map(self._place, map(self.link.of_parent, self.parents))}
        early, start = {self._place(role.column) for role in self.roles}, len(conditioning)
        if {*self.model.order[:start]} != conditioning:
            raise ValueError("the children's model must draw their columns after those of parent and sibling")
        if {*self.model.order[start : start + len(early)]} != early:
            raise ValueError("the children's model must draw columns with roles before a child's others")
        if missing := {*self.firsts} - {*self.parents}:
            raise ValueError(
                f"parents and children must be of one fit: {min(missing)!r} is not in the parents' lines"
            )
        check_compatible_roles(self.roles, {column.name: column.cardinality for column in self.domain})

    def _place(self, name: str) -> int:
        if name not in self.domain.names:
            raise ValueError(f"parents and children must be of one fit: {name!r} is not beside children")
        return self.domain.names.index(name)

    @cached_property
    def _siblings(self) -> Mapping[int, int]:
        """Index of a sibling's column -> index of the child's column that it is a copy of."""
        names = self.domain.names
        copy_of = {self.link.of_sibling(name): j for j, name in enumerate(names)}
        return {j: copy_of[name] for j, name in enumerate(names) if name in copy_of}

    @cached_property
    def own(self) -> list[int]:
        """Indices of a child's own columns."""
        conditioning = {*self._siblings, *map(self._place, map(self.link.of_parent, self.parents))}
        return [j for j in range(len(self.domain)) if j not in conditioning]

    @property
    def columns(self) -> list[str]:
        """Names of a child's own columns."""
        return [self.domain.names[j] for j in self.own]

    @property
    def first(self) -> Role | None:
        """The role "exactly one", if there is one: that child is stored in its parent's row."""
        return exactly_one_role(self.roles)

    @property
    def firsts(self) -> list[str]:
        """Columns of the parent's row that hold that child."""
        role = self.first
        return [] if role is None else [self.link.of_first(c) for c in self.columns if c != role.column]

    @property
    def _num_conditioning(self) -> int:
        return len(self.domain) - len(self.own)

    def children(self, parents: pd.DataFrame, sizes: np.ndarray, rng: KeyedRNG) -> pd.DataFrame:
        """Sample the modelled columns of all children, grouped by parent."""
        # ``parents``: rows of the parent table.
        # ``sizes``: number of children of each parent.
        # ``rng``: random numbers of this call.
        others = sizes if self.first is None else np.maximum(sizes - 1, 0)
        codes = self._codes(self._encoded(parents, rng.spawn("parents")), others, rng)[:, self.own]
        own = Domain(tuple(attribute for j, attribute in enumerate(self.domain) if j in {*self.own}))
        if self.first is not None:
            starts = (np.cumsum(others) - others)[sizes > 0]
            codes = np.insert(
                codes, starts, self._firsts(parents[sizes > 0], own, rng.spawn("firsts")), axis=0
            )
        return Codec(own).decode(codes, rng.spawn("inside the bins"))

    def _firsts(self, parents: pd.DataFrame, own: Domain, rng: KeyedRNG) -> np.ndarray:
        """Codes (n, k) of the children stored in their parents' rows; missing cells are drawn."""
        assert self.first is not None
        codes = np.full((len(parents), len(own)), self.first.code)
        for j, attribute in enumerate(own):
            if attribute.name != self.first.column:
                cells = parents[[self.link.of_first(attribute.name)]].set_axis([attribute.name], axis=1)
                codes[:, [j]] = Codec(Domain((attribute,))).encode(cells, rng.spawn(attribute.name))
        return codes

    def _encoded(self, parents: pd.DataFrame, rng: KeyedRNG) -> dict[int, np.ndarray]:
        """Codes of the parents' columns, by their index in a child's row."""
        of_parents = parents[list(self.parents)].rename(columns=self.link.of_parent)
        columns = Domain(tuple(self.domain[name] for name in of_parents.columns))
        codes = Codec(columns).encode(of_parents, rng)
        return {self._place(name): codes[:, i] for i, name in enumerate(columns.names)}

    def _codes(self, parents: Mapping[int, np.ndarray], sizes: np.ndarray, rng: KeyedRNG) -> np.ndarray:
        # The first of several children is drawn like a sibling, given its parent alone.
        # Each later one is drawn given one of the earlier ones.
        starts = np.cumsum(sizes) - sizes
        parent_of = np.repeat(np.arange(len(sizes)), sizes)
        codes = np.zeros((len(parent_of), len(self.domain)), dtype=np.int32, order="F")
        for j, column in parents.items():
            codes[:, j] = column[parent_of]
        alone, first = starts[sizes == 1], starts[sizes > 1]
        for j in self._siblings:  # the last code of a sibling's column means no sibling
            codes[alone, j] = self.domain.cardinalities[j] - 1
        codes[alone] = self._draw_given(
            codes[alone], self._available_roles(codes, alone, 0), rng.spawn("alone")
        )
        codes[first] = self._draw_first(
            codes[first], self._available_roles(codes, first, 0), rng.spawn("first")
        )
        for number in range(1, int(sizes.max(initial=0))):
            first, child_rng = starts[sizes > number], rng.spawn("child", number)
            sibling = np.minimum((child_rng.uniform(len(first)) * number).astype(int), number - 1)
            current = first + number
            codes[np.ix_(current, [*self._siblings])] = codes[
                np.ix_(first + sibling, [*self._siblings.values()])
            ]
            codes[current] = self._draw_given(
                codes[current], self._available_roles(codes, current, number, sibling), child_rng
            )
        return codes

    def _available_roles(
        self, codes: np.ndarray, positions: np.ndarray, number: int, sibling: np.ndarray | None = None
    ) -> AvailableRoles | None:
        """Roles available to the next children, which come after ``number`` others; None without roles.

        ``sibling`` is the position of the sibling that each child is drawn given.
        """
        if not self.roles:
            return None
        roles = [(self._place(role.column), role.code, role.is_first) for role in self.roles]
        taken, unseen = (np.zeros((len(positions), len(roles)), dtype=kind) for kind in (bool, int))
        for r, (j, code, _) in enumerate(roles):
            for earlier in range(1, number + 1):
                taken[:, r] |= codes[positions - earlier, j] == code
            if sibling is not None:
                unseen[:, r] = number - 1
        return AvailableRoles(roles=roles, taken=taken, unseen=unseen)

    def _draw_given(self, rows: np.ndarray, available: AvailableRoles | None, rng: KeyedRNG) -> np.ndarray:
        """Draw children (n, m) given the parent and the sibling in their rows."""
        rows, num_given = np.asfortranarray(rows), self._num_conditioning
        if available is not None:
            tables = self.model.tables[num_given : num_given + len({j for j, _, _ in available.roles})]
            for table in tables:
                rows[:, table.child] = available.draw(
                    table, rows, table.child, rng.spawn("role", table.child)
                )
            num_given += len(tables)
        return self.model.complete(rows, num_given, rng)

    def _draw_first(self, rows: np.ndarray, available: AvailableRoles | None, rng: KeyedRNG) -> np.ndarray:
        """Draw first children (n, m) given the parent in their rows, as siblings are drawn."""
        rows, with_roles = np.asfortranarray(rows), {j for j, _, _ in available.roles} if available else set()
        for table in self.model.tables[: self._num_conditioning]:
            own = self._siblings.get(table.child)
            if available is not None and own in with_roles:
                rows[:, table.child] = available.draw(table, rows, own, rng.spawn("role", own))
            elif own is not None:
                rows[:, table.child] = table.draw(rows, rng)
        for j, own in self._siblings.items():
            rows[:, own] = np.minimum(rows[:, j], self.domain.cardinalities[own] - 1)
        return rows


def child_samplers(
    tree: TableTree, tables: Mapping[str, Release], roles: Mapping[str, Sequence[Role]]
) -> dict[str, ChildSampler]:
    """Return a sampler for each table but the root, as far as their releases are given."""
    own, samplers = {tree.root: list(tables[tree.root].domain.names)}, dict[str, ChildSampler]()
    for link in (link for link in tree.links if link.child in tables):
        model, domain = tables[link.child].model, tables[link.child].domain
        if not isinstance(model, BayesianNetwork):
            raise ValueError(
                f"the model of {link.child!r} must be a Bayesian network, which draws rows given others"
            )
        sampler = ChildSampler(
            model=model, domain=domain, parents=own[link.parent], link=link, roles=roles.get(link.child, ())
        )
        _check_joined_attributes(sampler, tables[link.parent].domain)
        samplers[link.child], own[link.child] = sampler, sampler.columns
    return samplers


def _check_joined_attributes(sampler: ChildSampler, parents: Domain) -> None:
    """Reject parents' or siblings' columns with other domains than in their own tables: codes are copied."""
    link, domain = sampler.link, sampler.domain
    copies = [
        as_sibling_column(replace(domain[name], name=link.of_sibling(name))) for name in sampler.columns
    ]
    for column in (*(as_parent_column(link, parents[name]) for name in sampler.parents), *copies):
        if column.name not in domain or domain[column.name] != column:
            raise ValueError(
                f"parents and children must be of one fit: {column.name!r} beside children has other values"
            )


def as_parent_column(link: Relationship, attribute: Attribute) -> Attribute:
    """A parent's column in a child's row; its domain is already paid for."""
    return replace(attribute, name=link.of_parent(attribute.name), provenance="declared")


def as_sibling_column(attribute: Attribute) -> Attribute:
    """A column in the role of a sibling's: missing if there is no sibling."""
    buckets = attribute.buckets
    if buckets is not None and not attribute.nullable:
        buckets = (*buckets, max(buckets) + 1)
    return replace(attribute, nullable=True, buckets=buckets)


def count_attribute(name: str, most: int) -> Attribute:
    """Attribute of a number of children, 0 to ``most``."""
    return Attribute(name=name, kind="integer", lower=tuple(range(most + 1)), upper=tuple(range(most + 1)))

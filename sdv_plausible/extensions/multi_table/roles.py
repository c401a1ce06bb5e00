"""What only one child of a family is, such as its head: declared without the rows, exact in samples."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sdv_plausible.extensions.multi_table.relationships import TableTree
from sdv_plausible.models.bayesian_network import Conditional
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.parameter_checks import Refused, one_of
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.domain import Attribute, Domain

Often = Literal["exactly one", "at most one"]
ATTEMPTS = 30  # to draw a value that is no role
TINY = 1e-12
OFTEN: tuple[Often, ...] = ("exactly one", "at most one")


@dataclass(frozen=True, kw_only=True)
class Role:
    """A value that only one child of a family has.

    Parameters
    ----------
    column : str
        Of the children's table.
    code : int
        Of the value, in the column's domain.
    often : {"exactly one", "at most one"}
        How many children of every family have it; without children, none.
    """

    column: str
    code: int
    often: Often

    @property
    def is_first(self) -> bool:
        """Whether one child of a family has it, and no other; it comes first."""
        return self.often == "exactly one"


def first_of(roles: Sequence[Role]) -> Role | None:
    """The role that exactly one child of every family has, who stands in its parent's line."""
    return next((role for role in roles if role.is_first), None)


def lines(tree: TableTree, roles: Mapping[str, Sequence[Role]], table: str) -> int:
    """Lines of one family in a table's fit, at most; at least one, for which there is noise."""
    less = 1 if first_of(roles.get(table, ())) else 0
    return max([math.prod(link.most - less * (link.child == table) for link in tree.path(table)), 1])


def read_roles(roles: Any, known: Mapping[str, Attribute | None]) -> tuple[Role, ...]:
    """Read the argument ``roles`` of one table: ``{column: {value: how often}}``.

    Parameters
    ----------
    roles : mapping
        As given.
    known : mapping
        Modelled columns of the children; None where the values are not declared.

    Raises
    ------
    ValueError
        If a column or value is not declared, or they cannot hold together.
    """
    rule, way_out = "must be a mapping of columns to values", "such as {'relation': {'head': 'exactly one'}}"
    if not isinstance(roles, Mapping) or not all(isinstance(said, Mapping) for said in roles.values()):
        raise Refused("roles", roles, rule, way_out)
    found = []
    for column, said in roles.items():
        one_of("roles", column, sorted(known), of="a modelled column of the children's table")
        attribute = known[column]
        if attribute is None or not attribute.values:
            raise Refused.saying(
                "roles",
                f"roles: the values of column {column!r} must be declared (domain): a role is one of them",
            )
        codec = Codec(Domain((attribute,)))
        for value, often in said.items():
            one_of(f"roles of {column} {value!r}", often, OFTEN)
            found.append(Role(column=column, code=codec.encode_value(column, value), often=often))
    check_together(found, {name: one.cardinality for name, one in known.items() if one is not None})
    return tuple(found)


def check_together(roles: Sequence[Role], cardinalities: Mapping[str, int]) -> None:
    """Refuse roles of one table that cannot hold together, by how many codes each column has."""
    for column, often in Counter(role.column for role in roles).items():
        if often >= cardinalities[column]:
            raise Refused.saying(
                "roles",
                f"roles: a value of column {column!r} must be left that any number of children may have",
            )
    if len({(role.column, role.code) for role in roles}) < len(roles):
        raise Refused.saying("roles", "roles: a value may have one role alone")
    if sum(role.is_first for role in roles) > 1:
        raise Refused.saying(
            "roles", "roles: one value alone may be that of exactly one child of every family"
        )


@dataclass(frozen=True, kw_only=True)
class OpenRoles:
    """Which roles are left for children of so many families, (n,) of them.

    Parameters
    ----------
    roles : sequence of (int, int, bool)
        Column by number, code, and whether another child has it anyway.
    taken : ndarray of bool, (n, number of roles)
        Whether a child before this one has it.
    unseen : ndarray of int, (n, number of roles)
        Children before this one that might have had it, beside the one that this one is drawn given.
    """

    roles: Sequence[tuple[int, int, bool]]
    taken: np.ndarray
    unseen: np.ndarray

    def draw(self, table: Conditional, rows: np.ndarray, column: int, coins: KeyedRNG) -> np.ndarray:
        """Codes (n,) of a column with roles, given what rows (n, m) hold: ``table`` is its conditional.

        A role that each of the k unseen children would have had with probability p, and that none has,
        falls to this one with probability p / (1 - k p): so as many families have it as if nobody had to
        give way.
        """
        here = [(r, code, first) for r, (j, code, first) in enumerate(self.roles) if j == column]
        law = np.column_stack([self._probability(table, rows, code) for _, code, _ in here])
        gone = np.array(
            [np.ones(len(rows), dtype=bool) if first else self.taken[:, r] for r, _, first in here]
        ).T
        rest = np.maximum(1 - np.where(gone, law, 0).sum(axis=1, keepdims=True), TINY)
        p = np.where(gone, 0, law / rest)
        unseen = np.column_stack([self.unseen[:, r] for r, _, _ in here])
        falls = np.minimum(p / np.maximum(1 - unseen * p, np.maximum(p, TINY)), 1)
        falls /= np.maximum(falls.sum(axis=1, keepdims=True), 1)
        which = (coins.spawn("roles").uniform(len(rows))[:, None] >= np.cumsum(falls, axis=1)).sum(axis=1)
        codes = np.array([code for _, code, _ in here])
        found = codes[np.minimum(which, len(here) - 1)]
        others = np.flatnonzero(which == len(here))
        found[others] = self._without(table, rows[others], codes, coins)
        return found

    @staticmethod
    def _probability(table: Conditional, rows: np.ndarray, code: int) -> np.ndarray:
        asked = np.asfortranarray(rows.copy())
        asked[:, table.child] = code
        return np.exp(table.log_probability(asked))

    @staticmethod
    def _without(table: Conditional, rows: np.ndarray, roles: np.ndarray, coins: KeyedRNG) -> np.ndarray:
        """Codes that are no role: drawn until they are, and in the end any."""
        found = np.full(len(rows), roles[0])
        for attempt in range(ATTEMPTS):
            again = np.flatnonzero(np.isin(found, roles))
            if len(again):
                found[again] = table.draw(rows[again], coins.spawn("again", attempt))
        again = np.flatnonzero(np.isin(found, roles))
        free = np.setdiff1d(np.arange(table.cardinality), roles)
        found[again] = free[(coins.spawn("any").uniform(len(again)) * len(free)).astype(int)]
        return found

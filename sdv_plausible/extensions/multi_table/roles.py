"""Roles: values that only one child of a parent has, such as the head of a household.

They are declared without the rows and hold exactly in samples.
"""

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
ATTEMPTS = 30  # to draw a value without a role
MIN_PROBABILITY = 1e-12
OFTEN: tuple[Often, ...] = ("exactly one", "at most one")


@dataclass(frozen=True, kw_only=True)
class Role:
    """A value that only one child of a parent has.

    Parameters
    ----------
    column : str
        Column of the child table.
    code : int
        Code of the value in the column's domain.
    often : {"exactly one", "at most one"}
        How many children of each parent that has children have it.
    """

    column: str
    code: int
    often: Often

    @property
    def is_first(self) -> bool:
        """Whether exactly one child of each parent has the role; that child comes first."""
        return self.often == "exactly one"


def exactly_one_role(roles: Sequence[Role]) -> Role | None:
    """The role "exactly one", if there is one; that child is stored in its parent's row."""
    return next((role for role in roles if role.is_first), None)


def max_rows_per_family(tree: TableTree, roles: Mapping[str, Sequence[Role]], table: str) -> int:
    """Maximum number of rows of one family in a table's fit; at least 1, which calibrates the noise."""
    moved = 1 if exactly_one_role(roles.get(table, ())) else 0
    return max([math.prod(link.most - moved * (link.child == table) for link in tree.path(table)), 1])


def read_roles(roles: Any, known: Mapping[str, Attribute | None]) -> tuple[Role, ...]:
    """Read the argument ``roles`` of one table: ``{column: {value: how often}}``.

    Parameters
    ----------
    roles : mapping
        The argument.
    known : mapping
        Modelled columns of the child table; None for columns without declared values.

    Raises
    ------
    ValueError
        If a column or value is not declared, or the roles contradict each other.
    """
    rule, way_out = "must be a mapping of columns to values", "such as {'relation': {'head': 'exactly one'}}"
    if not isinstance(roles, Mapping) or not all(isinstance(values, Mapping) for values in roles.values()):
        raise Refused("roles", roles, rule, way_out)
    read = []
    for column, values in roles.items():
        one_of("roles", column, sorted(known), of="a modelled column of the children's table")
        attribute = known[column]
        if attribute is None or not attribute.values:
            raise Refused.saying(
                "roles",
                f"roles: the values of column {column!r} must be declared (domain): a role is one of them",
            )
        codec = Codec(Domain((attribute,)))
        for value, often in values.items():
            one_of(f"roles of {column} {value!r}", often, OFTEN)
            read.append(Role(column=column, code=codec.encode_value(column, value), often=often))
    check_compatible_roles(read, {name: a.cardinality for name, a in known.items() if a is not None})
    return tuple(read)


def check_compatible_roles(roles: Sequence[Role], cardinalities: Mapping[str, int]) -> None:
    """Reject roles of one table that contradict each other; ``cardinalities`` counts each column's codes."""
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
class AvailableRoles:
    """Which roles are available to n children, one of each of n parents.

    Parameters
    ----------
    roles : sequence of (int, int, bool)
        Column index, code, and whether another child always has the role ("exactly one").
    taken : ndarray of bool, (n, number of roles)
        Whether an earlier child of the parent has the role.
    unseen : ndarray of int, (n, number of roles)
        Number of earlier children that might have had the role, other than the sibling that is conditioned
        on.
    """

    roles: Sequence[tuple[int, int, bool]]
    taken: np.ndarray
    unseen: np.ndarray

    def draw(self, table: Conditional, rows: np.ndarray, column: int, rng: KeyedRNG) -> np.ndarray:
        """Draw codes (n,) of a column with roles, given rows (n, m); ``table`` is its conditional.

        If each of the k unseen children would have had a role with probability p, and none has it, this child
        gets it with probability p / (1 - k p). The share of parents with the role is then as if roles did not
        exclude each other.
        """
        here = [(r, code, first) for r, (j, code, first) in enumerate(self.roles) if j == column]
        probabilities = np.column_stack([self._probability(table, rows, code) for _, code, _ in here])
        unavailable = np.array(
            [np.ones(len(rows), dtype=bool) if first else self.taken[:, r] for r, _, first in here]
        ).T
        rest = np.maximum(
            1 - np.where(unavailable, probabilities, 0).sum(axis=1, keepdims=True), MIN_PROBABILITY
        )
        probability = np.where(unavailable, 0, probabilities / rest)
        unseen = np.column_stack([self.unseen[:, r] for r, _, _ in here])
        adjusted = np.minimum(
            probability / np.maximum(1 - unseen * probability, np.maximum(probability, MIN_PROBABILITY)), 1
        )
        adjusted /= np.maximum(adjusted.sum(axis=1, keepdims=True), 1)
        choice = (rng.spawn("roles").uniform(len(rows))[:, None] >= np.cumsum(adjusted, axis=1)).sum(axis=1)
        codes = np.array([code for _, code, _ in here])
        drawn = codes[np.minimum(choice, len(here) - 1)]
        others = np.flatnonzero(choice == len(here))
        drawn[others] = self._draw_without_roles(table, rows[others], codes, rng)
        return drawn

    @staticmethod
    def _probability(table: Conditional, rows: np.ndarray, code: int) -> np.ndarray:
        with_code = np.asfortranarray(rows.copy())
        with_code[:, table.child] = code
        return np.exp(table.log_probability(with_code))

    @staticmethod
    def _draw_without_roles(
        table: Conditional, rows: np.ndarray, roles: np.ndarray, rng: KeyedRNG
    ) -> np.ndarray:
        """Draw codes without a role: rejection sampling, then uniformly among the other codes."""
        drawn = np.full(len(rows), roles[0])
        for attempt in range(ATTEMPTS):
            rejected = np.flatnonzero(np.isin(drawn, roles))
            if len(rejected):
                drawn[rejected] = table.draw(rows[rejected], rng.spawn("again", attempt))
        rejected = np.flatnonzero(np.isin(drawn, roles))
        others = np.setdiff1d(np.arange(table.cardinality), roles)
        drawn[rejected] = others[(rng.spawn("any").uniform(len(rejected)) * len(others)).astype(int)]
        return drawn

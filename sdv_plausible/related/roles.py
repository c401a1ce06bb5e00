"""What only one child of a family is, such as its head: declared without the rows, exact in samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sdv_plausible.privacy.checks import Refused, one_of
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.domain import Attribute, Domain

Often = Literal["exactly one", "at most one"]
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
        """Whether a family's first child has it, and no other."""
        return self.often == "exactly one"


def read_roles(roles: Any, known: Mapping[str, Attribute | None]) -> tuple[Role, ...]:
    """Read the argument ``roles``: ``{column: {value: how often}}``.

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
        if len(said) >= attribute.cardinality:
            raise Refused.saying(
                "roles",
                f"roles: a value of column {column!r} must be left that any number of children may have",
            )
    if sum(role.is_first for role in found) > 1:
        raise Refused.saying(
            "roles", "roles: one value alone may be that of exactly one child of every family"
        )
    return tuple(found)


class Roles:
    """Roles as children are drawn.

    Parameters
    ----------
    roles : sequence of Role
        All of them.
    domain : Domain
        Of the children beside their parents.
    """

    def __init__(self, roles: Sequence[Role], domain: Domain) -> None:
        self._roles = [(domain.names.index(role.column), role.code, role.is_first) for role in roles]
        self._free = {
            j: np.setdiff1d(np.arange(domain.cardinalities[j]), [c for i, c, _ in self._roles if i == j])
            for j, _, _ in self._roles
        }

    def __bool__(self) -> bool:
        return bool(self._roles)

    def held(self, codes: np.ndarray) -> np.ndarray:
        """Which roles children (n, m) have, (n, number of roles)."""
        return np.column_stack([codes[:, j] == code for j, code, _ in self._roles])

    def wrong(self, codes: np.ndarray, taken: np.ndarray, *, first: bool) -> np.ndarray:
        """Which children (n, m) may not be so, beside the roles that are taken (n, number of roles)."""
        found = np.zeros(len(codes), dtype=bool)
        for r, (j, code, is_first) in enumerate(self._roles):
            has = codes[:, j] == code
            found |= (has != first) if is_first else (has & taken[:, r])
        return found

    def forced(self, codes: np.ndarray, taken: np.ndarray, uniform: np.ndarray, *, first: bool) -> None:
        """Put right, in place, children that no draw made so: each by a number (n,) in [0, 1)."""
        for r, (j, code, is_first) in enumerate(self._roles):
            may_not = (codes[:, j] == code) & (not first if is_first else taken[:, r])
            free = self._free[j]
            codes[may_not, j] = free[(uniform[may_not] * len(free)).astype(int)]
        for j, code, is_first in self._roles:
            if is_first and first:
                codes[:, j] = code

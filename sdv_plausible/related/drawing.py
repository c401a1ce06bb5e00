"""Children of parents that are there: each given its parent and another child of the family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.related.links import Link
from sdv_plausible.related.roles import Role, Roles
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.domain import Domain

SWEEPS = 5  # in which the first two children of a family are drawn in turn, each given the other
ATTEMPTS = 30  # to draw a child that has no role of another one


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawing:
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
    link: Link
    roles: Sequence[Role] = ()

    def __post_init__(self) -> None:
        beside = {*self._siblings, *map(self._place, map(self.link.of_parent, self.parents))}
        if {*self.model.order[: len(beside)]} != beside:
            raise ValueError("the children's model must draw their columns after those of parent and sibling")

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
    def _kept(self) -> int:
        return len(self.domain) - len(self.own)

    def children(self, parents: pd.DataFrame, sizes: np.ndarray, coins: Coins) -> pd.DataFrame:
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
        codes = self._codes(self._encoded(parents, coins.spawn("parents")), sizes, coins)
        own = Domain(tuple(attribute for j, attribute in enumerate(self.domain) if j in {*self.own}))
        return Codec(own).decode(codes[:, self.own], coins.spawn("inside the bins"))

    def _encoded(self, parents: pd.DataFrame, coins: Coins) -> dict[int, np.ndarray]:
        """Codes of the parents' columns, by number beside a child's."""
        of_parents = parents[list(self.parents)].rename(columns=self.link.of_parent)
        columns = Domain(tuple(self.domain[name] for name in of_parents.columns))
        codes = Codec(columns).encode(of_parents, coins)
        return {self._place(name): codes[:, i] for i, name in enumerate(columns.names)}

    def _codes(self, parents: Mapping[int, np.ndarray], sizes: np.ndarray, coins: Coins) -> np.ndarray:
        # The first two children of a family are drawn in turn, each given the other, until they have
        # forgotten how they began: the law of a pair of siblings. Others are given one of those before them.
        starts = np.cumsum(sizes) - sizes
        whose = np.repeat(np.arange(len(sizes)), sizes)
        codes = np.zeros((len(whose), len(self.domain)), dtype=np.int32, order="F")
        for j, column in parents.items():
            codes[:, j] = column[whose]
        first, several = starts[sizes == 1], starts[sizes > 1]
        self._draw(codes, first, None, (), coins.spawn("alone"), is_first=True)
        first, second = several, several + 1
        self._begin(codes, second, coins.spawn("begin"))
        self._draw(codes, first, second, (second,), coins.spawn("first"), is_first=True)
        for sweep in range(SWEEPS):
            self._draw(codes, second, first, (first,), coins.spawn("second", sweep))
            self._draw(codes, first, second, (second,), coins.spawn("first again", sweep), is_first=True)
        for number in range(2, int(sizes.max(initial=0))):
            first, this = starts[sizes > number], coins.spawn("child", number)
            beside = first + np.minimum((this.uniform(len(first)) * number).astype(int), number - 1)
            self._draw(codes, first + number, beside, [first + i for i in range(number)], this)
        return codes

    def _begin(self, codes: np.ndarray, at: np.ndarray, coins: Coins) -> None:
        """Put a child where one is needed to begin with: each column by itself, as siblings' are."""
        rows = codes[at]
        for table in self.model.tables[: self._kept]:
            if (own := self._siblings.get(table.child)) is not None:
                codes[at, own] = np.minimum(table.draw(rows, coins), self.domain.cardinalities[own] - 1)

    def _draw(
        self, codes: np.ndarray, at: np.ndarray, beside: np.ndarray | None, others: Sequence[np.ndarray],
        coins: Coins, *, is_first: bool = False,
    ) -> None:  # fmt: skip
        """Draw children's own columns, in place, given their parents' and the child beside; None: nobody is.

        ``others`` are the children of the family, whose roles are taken.
        """
        rows = np.asfortranarray(codes[at])
        for j, own in self._siblings.items():
            missing = list(self.domain)[j].missing_code
            rows[:, j] = missing if beside is None else codes[beside, own]
        drawn = self.model.complete(rows, self._kept, coins)
        codes[at] = self._with_roles(drawn, codes, others, coins, is_first) if self.roles else drawn

    def _with_roles(
        self, drawn: np.ndarray, codes: np.ndarray, others: Sequence[np.ndarray], coins: Coins, is_first: bool
    ) -> np.ndarray:
        """Children drawn again while they have a role that is taken, or lack the first one's."""
        roles = Roles(self.roles, self.domain)
        taken = np.zeros((len(drawn), len(self.roles)), dtype=bool)
        for one in others:
            taken |= roles.held(codes[one])
        wrong = np.flatnonzero(roles.wrong(drawn, taken, first=is_first))
        for attempt in range(ATTEMPTS):
            if len(wrong):
                again = np.asfortranarray(drawn[wrong])
                drawn[wrong] = self.model.complete(again, self._kept, coins.spawn("again", attempt))
                wrong = wrong[roles.wrong(drawn[wrong], taken[wrong], first=is_first)]
        rest = drawn[wrong]
        roles.forced(rest, taken[wrong], coins.spawn("forced").uniform(len(wrong)), first=is_first)
        drawn[wrong] = rest
        return drawn

"""Children of parents that are there: each given its parent and another child of the family."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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

Draw = Callable[[np.ndarray, Coins], np.ndarray]
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
        # The first child of several is drawn as a sibling is, given its parent alone; each other one is given
        # one of those before it.
        starts = np.cumsum(sizes) - sizes
        whose = np.repeat(np.arange(len(sizes)), sizes)
        codes = np.zeros((len(whose), len(self.domain)), dtype=np.int32, order="F")
        for j, column in parents.items():
            codes[:, j] = column[whose]
        first = starts[sizes == 1]
        self._put(codes, first, self._alone, (), coins.spawn("alone"))
        first = starts[sizes > 1]
        self._put(codes, first, self._first, (), coins.spawn("first"))
        for number in range(1, int(sizes.max(initial=0))):
            first, this = starts[sizes > number], coins.spawn("child", number)
            beside = first + np.minimum((this.uniform(len(first)) * number).astype(int), number - 1)
            others = [codes[first + i] for i in range(number)] if self.roles else ()
            at = first + number
            codes[np.ix_(at, [*self._siblings])] = codes[np.ix_(beside, [*self._siblings.values()])]
            self._put(codes, at, self._given, others, this)
        return codes

    def _alone(self, rows: np.ndarray, coins: Coins) -> np.ndarray:
        """Children (n, m) who have no sibling."""
        for j in self._siblings:
            rows[:, j] = list(self.domain)[j].missing_code
        return self._given(rows, coins)

    def _given(self, rows: np.ndarray, coins: Coins) -> np.ndarray:
        """Children (n, m) of the parent and the sibling that their rows hold."""
        return self.model.complete(rows, self._kept, coins)

    def _first(self, rows: np.ndarray, coins: Coins) -> np.ndarray:
        """Children (n, m) of the parent that their rows hold, as siblings are drawn."""
        for table in self.model.tables[: self._kept]:
            if table.child in self._siblings:
                rows[:, table.child] = table.draw(rows, coins)
        for j, own in self._siblings.items():
            rows[:, own] = np.minimum(rows[:, j], self.domain.cardinalities[own] - 1)
        return rows

    def _put(
        self, codes: np.ndarray, at: np.ndarray, draw: Draw, others: Sequence[np.ndarray], coins: Coins
    ) -> None:
        """Draw children, in place; ``others`` come before them in their families: their roles are taken."""
        drawn = draw(np.asfortranarray(codes[at]), coins)
        if self.roles:
            self._with_roles(drawn, draw, others, coins)
        codes[at] = drawn

    def _with_roles(self, drawn: np.ndarray, draw: Draw, others: Sequence[np.ndarray], coins: Coins) -> None:
        """Draw children again, in place, while they have a role that is taken, or lack the first one's."""
        roles, is_first = Roles(self.roles, self.domain), not others
        taken = np.zeros((len(drawn), len(self.roles)), dtype=bool)
        for one in others:
            taken |= roles.held(one)
        wrong = np.flatnonzero(roles.wrong(drawn, taken, first=is_first))
        for attempt in range(ATTEMPTS):
            if len(wrong):
                drawn[wrong] = draw(np.asfortranarray(drawn[wrong]), coins.spawn("again", attempt))
                wrong = wrong[roles.wrong(drawn[wrong], taken[wrong], first=is_first)]
        rest = drawn[wrong]
        roles.forced(rest, taken[wrong], coins.spawn("forced").uniform(len(wrong)), first=is_first)
        drawn[wrong] = rest

"""Rows brought together: each with how many hang on it, with its parent and with a sibling.

Every line is a function of one family's rows and of secret coins, and a family has one line of the root and
at most ``tree.rows(table)`` of every other table: so the family moves what is counted by no more than that
(docs/explanation/proofs/related_tables.md, Lemma 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sdv_plausible.extensions.multi_table.relationships import Relationship, TableTree
from sdv_plausible.fitting.fit_rows import InMemoryRows
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.coded_rows import CodeArray
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.cell_reader import ColumnType, Spelling
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.table.contribution_bounding import person_keys, person_numbers, select_smallest

_NONE: Mapping[str, tuple[np.ndarray, Sequence[str]]] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class JoinedTables:
    """All tables, brought together.

    Attributes
    ----------
    tables : mapping of str to DataFrame
        A row for each that has a line of its own: its columns, counts, and its parent's columns beside it.
    siblings : mapping of str to ndarray of int
        Of every row the place of one of its siblings, and -1 where it has none.
    schemas : mapping of str to DataFrame
        No row, in the types of each table as it was given.
    """

    tables: Mapping[str, pd.DataFrame]
    siblings: Mapping[str, np.ndarray]
    schemas: Mapping[str, pd.DataFrame] = field(default_factory=dict)


def brought_together(
    tables: Mapping[str, pd.DataFrame],
    tree: TableTree,
    coins: KeyedRNG,
    firsts: Mapping[str, tuple[np.ndarray, Sequence[str]]] = _NONE,
) -> JoinedTables:
    """Rows of each table with how many hang on each, their parent and a sibling beside them.

    Of the root's rows of one family one is chosen secretly, and of each row's children at most ``link.most``.
    Rows without a key are not used, nor children whose parent is not. ``firsts``: of tables of whose rows one
    has a role, which rows have it, and the columns that then stand in the parent's line: of each row's
    children one with the role, chosen secretly, and no line of its own.
    """
    names = _KeyNumbers.of(tables, tree)
    used = {
        tree.root: select_smallest(names.family(), coins.spawn(tree.root).uniform(len(tables[tree.root])), 1)
    }
    whose, first = dict[str, np.ndarray](), dict[str, np.ndarray]()
    for link in tree.links:
        at = names.places(link, used[link.parent])
        secret = coins.spawn(link.child)
        if link.child in names.own:  # of several rows of one key one is used, of those that hang on used rows
            own = np.where(at < 0, -1, names.own[link.child])
            one = select_smallest(own, secret.spawn("key").uniform(len(at)), 1)
            at = np.where((own < 0) | np.isin(np.arange(len(at)), one), at, -1)
        can = firsts[link.child][0] if link.child in firsts else None
        used[link.child], first[link.child] = chosen_rows(at, can, link.most, secret)
        whose[link.child] = at[used[link.child]]
    found = {name: tables[name].iloc[rows].reset_index(drop=True) for name, rows in used.items()}
    for link in tree.links:
        sizes = np.bincount(whose[link.child], minlength=len(found[link.parent]))
        found[link.parent] = found[link.parent].assign(**{link.count: sizes})
    for link in reversed(tree.links):  # from the leaves on: what stands in a child's line goes with it
        if link.child in firsts:
            standing = found[link.child].loc[first[link.child], list(firsts[link.child][1])]
            of = whose[link.child][first[link.child]]
            found[link.parent] = put_beside(found[link.parent], standing.rename(columns=link.of_first), of)
    joined, chosen = dict[str, pd.DataFrame](), dict[str, np.ndarray]()
    for link in tree.links:
        rest = ~first[link.child]
        of = whose[link.child][rest]
        beside = found[link.parent].iloc[of].reset_index(drop=True).rename(columns=link.of_parent)
        joined[link.child] = pd.concat([found[link.child][rest].reset_index(drop=True), beside], axis=1)
        chosen[link.child] = siblings(of, coins.spawn(link.child).spawn("siblings"))
    return JoinedTables(tables={**found, **joined}, siblings=chosen)


def families_of(tables: Mapping[str, pd.DataFrame], tree: TableTree) -> np.ndarray:
    """Of every row of the root the number of its family, and -1 without a key."""
    return _KeyNumbers.of(tables, tree).family()


@dataclass(frozen=True, kw_only=True)
class _KeyNumbers:
    """Numbers of keys, the same for the same key of one table, and -1 where there is none."""

    tree: TableTree
    own: Mapping[str, np.ndarray]  # of tables on which others hang, by row
    of_parent: Mapping[str, np.ndarray]  # of tables that hang on others, by row

    @classmethod
    def of(cls, tables: Mapping[str, pd.DataFrame], tree: TableTree) -> _KeyNumbers:
        own, of_parent = dict[str, np.ndarray](), dict[str, np.ndarray]()
        for name in tree.tables:
            if below := tree.below(name):
                keys = [
                    tables[name][below[0].primary_key],
                    *(tables[one.child][one.foreign_key] for one in below),
                ]
                numbers = person_numbers(np.concatenate([person_keys(column) for column in keys]))
                own[name], *named = np.split(numbers, np.cumsum([len(column) for column in keys])[:-1])
                of_parent |= {one.child: found for one, found in zip(below, named, strict=True)}
        return cls(tree=tree, own=own, of_parent=of_parent)

    def family(self) -> np.ndarray:
        """Of every row of the root the number of its family: of all keys that rows tie to one another."""
        keys = self.own[self.tree.root]
        sizes = {name: 1 + max(int(of.max(initial=-1)) for of in self._of_keys(name)) for name in self.own}
        starts = dict(zip(sizes, np.cumsum([0, *sizes.values()]), strict=False))
        ends = [
            (starts[link.parent] + above[tied], starts[link.child] + own[tied])
            for link in self.tree.links
            if link.child in self.own
            for above, own in [(self.of_parent[link.child], self.own[link.child])]
            for tied in [(above >= 0) & (own >= 0)]
        ]
        if not ends:
            return keys
        first, second = (np.concatenate(side) for side in zip(*ends, strict=True))
        number = sum(sizes.values())
        graph = coo_array((np.ones(len(first), dtype=bool), (first, second)), shape=(number, number))
        tied = connected_components(graph, directed=False)[1]
        return np.where(keys < 0, -1, tied[starts[self.tree.root] + keys])

    def _of_keys(self, table: str) -> list[np.ndarray]:
        return [self.own[table], *(self.of_parent[link.child] for link in self.tree.below(table))]

    def places(self, link: Relationship, used: np.ndarray) -> np.ndarray:
        """Of every row of a child's table the place of its parent among the used rows, and -1 without one."""
        keys, named = self.own[link.parent][used], self.of_parent[link.child]
        place = np.full(max(int(keys.max(initial=-1)), int(named.max(initial=-1))) + 2, -1)
        place[keys] = np.arange(len(keys))
        place[-1] = -1  # nobody's
        return place[named]


class JoinedRows(InMemoryRows):
    """Lines of one table, each with its parent beside it; codes of a sibling are those of its own row.

    Parameters
    ----------
    table : DataFrame
        The model's columns of rows and of their parents: read and folded before they were brought together.
    schema : DataFrame
        No row, in the types of the table as it was given.
    beside : ndarray of int
        Of every row the place of a sibling, and -1 where it has none.
    copies : mapping of str to str
        The column of the row that each column of a sibling is one of.
    """

    def __init__(
        self, table: pd.DataFrame, *, schema: pd.DataFrame, beside: np.ndarray, copies: Mapping[str, str]
    ) -> None:
        super().__init__(table, RuleSet())
        self._schema, self._beside, self._copies = schema, beside, copies

    def read_again(self, types: Mapping[str, ColumnType], spelling: Spelling, rules: RuleSet) -> JoinedRows:  # noqa: ARG002
        """The same: it was read."""
        return self

    def schema(self) -> pd.DataFrame:
        """No row, in the types of the table as it was given."""
        return self._schema

    def coded(self, domain: Domain, coins: KeyedRNG) -> CodeArray:
        """Codes of all rows."""
        own = Domain(tuple(attribute for attribute in domain if attribute.name not in self._copies))
        codes = Codec(own).encode(self._table[list(own.names)], coins)
        found = np.empty((len(codes), len(domain)), dtype=codes.dtype, order="F")
        alone = self._beside < 0
        for j, attribute in enumerate(domain):
            column = codes[:, own.names.index(self._copies.get(attribute.name, attribute.name))]
            is_copy = attribute.name in self._copies
            found[:, j] = np.where(alone, attribute.missing_code, column[self._beside]) if is_copy else column
        return CodeArray(found, domain.cardinalities)


def chosen_rows(
    whose: np.ndarray, can: np.ndarray | None, most: int, coins: KeyedRNG
) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the children used, increasing, and which of them stand in their parents' lines.

    Of each parent one that ``can``, where it has one and ``can`` is told; in all at most ``most``.
    """
    if can is None:
        used = select_smallest(whose, coins.uniform(len(whose)), most)
        return used, np.zeros(len(used), dtype=bool)
    one = select_smallest(np.where(can, whose, -1), coins.spawn("first").uniform(len(whose)), 1)
    is_first = np.isin(np.arange(len(whose)), one)
    others = select_smallest(np.where(is_first, -1, whose), coins.uniform(len(whose)), most - 1)
    used = np.sort(np.concatenate([one, others]))
    return used, is_first[used]


def put_beside(parents: pd.DataFrame, children: pd.DataFrame, whose: np.ndarray) -> pd.DataFrame:
    """Parents, each with the child that stands in its line: at most one, and missing cells without one."""
    # As objects: whether a cell is missing somewhere must change no type, and no other cell with it.
    cells = children.astype(object).set_axis(whose).reindex(range(len(parents)))
    return pd.concat([parents, cells], axis=1)


def siblings(whose: np.ndarray, coins: KeyedRNG) -> np.ndarray:
    """For every child the place of one of its siblings, each as likely, and -1 where it has none."""
    order = np.lexsort((coins.uniform(len(whose)), whose))  # families one after the other, in a secret order
    starts = np.searchsorted(whose[order], whose[order])
    sizes = np.bincount(whose, minlength=1)[whose[order]] if len(whose) else np.zeros(0, dtype=int)
    step = 1 + (coins.uniform(len(whose)) * np.maximum(sizes - 1, 1)).astype(int)
    other = starts + (np.arange(len(order)) - starts + step) % np.maximum(sizes, 1)
    found = np.empty(len(whose), dtype=int)
    found[order] = np.where(sizes > 1, order[np.minimum(other, len(order) - 1)], -1)
    return found

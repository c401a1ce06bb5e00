"""Join related tables: each row with its number of children, its parent and one of its siblings.

Every joined row is a function of one family's rows and of secret random numbers. A family has one row of the
root and at most ``tree.rows(table)`` rows of every other table, so it changes the counts by no more than that
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
from sdv_plausible.queries.count_queries import CodeArray
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.cell_reader import ColumnType, Spelling
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.table.contribution_bounding import person_keys, person_numbers, select_smallest

_NONE: Mapping[str, tuple[np.ndarray, Sequence[str]]] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class JoinedTables:
    """All tables, joined."""

    # Used rows of each table: own columns, numbers of children, and the parent's columns.
    tables: Mapping[str, pd.DataFrame]
    siblings: Mapping[str, np.ndarray]  # for each row, the position of one of its siblings; -1 if it has none
    # Each table without rows, with the dtypes of the input.
    schemas: Mapping[str, pd.DataFrame] = field(default_factory=dict)


def join_families(
    tables: Mapping[str, pd.DataFrame],
    tree: TableTree,
    rng: KeyedRNG,
    firsts: Mapping[str, tuple[np.ndarray, Sequence[str]]] = _NONE,
) -> JoinedTables:
    """Select the rows used and join each with its number of children, its parent and a sibling.

    One row of the root is selected secretly per family, and at most ``link.most`` children per row. Rows
    without a key are not used, nor are children whose parent is not used. ``firsts`` has an entry for each
    table with a role "exactly one": which rows have the role, and the columns that are moved to the parent's
    row. One such child per parent, selected secretly, is stored in its parent's row and has no row of its
    own.
    """
    keys = _KeyNumbers.of(tables, tree)
    used = {
        tree.root: select_smallest(keys.family(), rng.spawn(tree.root).uniform(len(tables[tree.root])), 1)
    }
    parent_of, is_first = dict[str, np.ndarray](), dict[str, np.ndarray]()
    for link in tree.links:
        parent = keys.places(link, used[link.parent])
        child_rng = rng.spawn(link.child)
        if link.child in keys.own:  # of the rows with one key and a used parent, use one
            own = np.where(parent < 0, -1, keys.own[link.child])
            one = select_smallest(own, child_rng.spawn("key").uniform(len(parent)), 1)
            parent = np.where((own < 0) | np.isin(np.arange(len(parent)), one), parent, -1)
        has_role = firsts[link.child][0] if link.child in firsts else None
        used[link.child], is_first[link.child] = select_children(parent, has_role, link.most, child_rng)
        parent_of[link.child] = parent[used[link.child]]
    selected = {name: tables[name].iloc[rows].reset_index(drop=True) for name, rows in used.items()}
    for link in tree.links:
        num_children = np.bincount(parent_of[link.child], minlength=len(selected[link.parent]))
        selected[link.parent] = selected[link.parent].assign(**{link.count: num_children})
    for link in reversed(tree.links):  # leaves first: columns moved to a child's row move on with it
        if link.child in firsts:
            first_rows = selected[link.child].loc[is_first[link.child], list(firsts[link.child][1])]
            parents = parent_of[link.child][is_first[link.child]]
            selected[link.parent] = attach_first_children(
                selected[link.parent], first_rows.rename(columns=link.of_first), parents
            )
    joined, sibling_of = dict[str, pd.DataFrame](), dict[str, np.ndarray]()
    for link in tree.links:
        is_other = ~is_first[link.child]
        parents = parent_of[link.child][is_other]
        parent_rows = (
            selected[link.parent].iloc[parents].reset_index(drop=True).rename(columns=link.of_parent)
        )
        joined[link.child] = pd.concat(
            [selected[link.child][is_other].reset_index(drop=True), parent_rows], axis=1
        )
        sibling_of[link.child] = siblings(parents, rng.spawn(link.child).spawn("siblings"))
    return JoinedTables(tables={**selected, **joined}, siblings=sibling_of)


def family_numbers(tables: Mapping[str, pd.DataFrame], tree: TableTree) -> np.ndarray:
    """Number of the family of each row of the root; -1 without a key."""
    return _KeyNumbers.of(tables, tree).family()


@dataclass(frozen=True, kw_only=True)
class _KeyNumbers:
    """Integer codes of keys: equal for equal keys of one table, -1 for missing keys."""

    tree: TableTree
    own: Mapping[str, np.ndarray]  # primary keys of parent tables, by row
    of_parent: Mapping[str, np.ndarray]  # foreign keys of child tables, by row

    @classmethod
    def of(cls, tables: Mapping[str, pd.DataFrame], tree: TableTree) -> _KeyNumbers:
        own, of_parent = dict[str, np.ndarray](), dict[str, np.ndarray]()
        for name in tree.tables:
            if links := tree.below(name):
                keys = [
                    tables[name][links[0].primary_key],
                    *(tables[link.child][link.foreign_key] for link in links),
                ]
                numbers = person_numbers(np.concatenate([person_keys(column) for column in keys]))
                own[name], *foreign_keys = np.split(numbers, np.cumsum([len(column) for column in keys])[:-1])
                of_parent |= {link.child: codes for link, codes in zip(links, foreign_keys, strict=True)}
        return cls(tree=tree, own=own, of_parent=of_parent)

    def family(self) -> np.ndarray:
        """Number of the family of each root row: the connected component of its key."""
        keys = self.own[self.tree.root]
        sizes = {
            name: 1 + max(int(codes.max(initial=-1)) for codes in self._key_numbers(name))
            for name in self.own
        }
        starts = dict(zip(sizes, np.cumsum([0, *sizes.values()]), strict=False))
        edges = [
            (starts[link.parent] + above[connected], starts[link.child] + own[connected])
            for link in self.tree.links
            if link.child in self.own
            for above, own in [(self.of_parent[link.child], self.own[link.child])]
            for connected in [(above >= 0) & (own >= 0)]
        ]
        if not edges:
            return keys
        first, second = (np.concatenate(side) for side in zip(*edges, strict=True))
        num_keys = sum(sizes.values())
        graph = coo_array((np.ones(len(first), dtype=bool), (first, second)), shape=(num_keys, num_keys))
        connected = connected_components(graph, directed=False)[1]
        return np.where(keys < 0, -1, connected[starts[self.tree.root] + keys])

    def _key_numbers(self, table: str) -> list[np.ndarray]:
        return [self.own[table], *(self.of_parent[link.child] for link in self.tree.below(table))]

    def places(self, link: Relationship, used: np.ndarray) -> np.ndarray:
        """Position of each child's parent among the used rows; -1 if it is not used."""
        keys, foreign_keys = self.own[link.parent][used], self.of_parent[link.child]
        position_of = np.full(max(int(keys.max(initial=-1)), int(foreign_keys.max(initial=-1))) + 2, -1)
        position_of[keys] = np.arange(len(keys))
        position_of[-1] = -1  # no key
        return position_of[foreign_keys]


class JoinedRows(InMemoryRows):
    """Rows of one table with the columns of their parents; a sibling's codes are those of its own row."""

    def __init__(
        self, table: pd.DataFrame, *, schema: pd.DataFrame, beside: np.ndarray, copies: Mapping[str, str]
    ) -> None:
        # ``table``: the model's columns of the rows and of their parents; rules were applied before the join.
        # ``schema``: the table without rows, with the dtypes of the input.
        # ``beside``: position of a sibling of each row; -1 if it has none.
        # ``copies``: column of the sibling -> the own column that it is a copy of.
        super().__init__(table, RuleSet())
        self._schema, self._beside, self._copies = schema, beside, copies

    def read_again(self, types: Mapping[str, ColumnType], spelling: Spelling, rules: RuleSet) -> JoinedRows:  # noqa: ARG002
        """Return self: the cells were parsed before the join."""
        return self

    def schema(self) -> pd.DataFrame:
        """The table without rows, with the dtypes of the input."""
        return self._schema

    def coded(self, domain: Domain, rng: KeyedRNG) -> CodeArray:
        """Encode all rows."""
        own_domain = Domain(tuple(attribute for attribute in domain if attribute.name not in self._copies))
        codes = Codec(own_domain).encode(self._table[list(own_domain.names)], rng)
        all_codes = np.empty((len(codes), len(domain)), dtype=codes.dtype, order="F")
        alone = self._beside < 0
        for j, attribute in enumerate(domain):
            column = codes[:, own_domain.names.index(self._copies.get(attribute.name, attribute.name))]
            is_copy = attribute.name in self._copies
            all_codes[:, j] = (
                np.where(alone, attribute.missing_code, column[self._beside]) if is_copy else column
            )
        return CodeArray(all_codes, domain.cardinalities)


def select_children(
    parent: np.ndarray, has_role: np.ndarray | None, most: int, rng: KeyedRNG
) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the children used, increasing, and which of them move to their parents' rows.

    At most ``most`` children per parent are used. If ``has_role`` is given, one child with the role per
    parent is selected first.
    """
    if has_role is None:
        selected = select_smallest(parent, rng.uniform(len(parent)), most)
        return selected, np.zeros(len(selected), dtype=bool)
    firsts = select_smallest(np.where(has_role, parent, -1), rng.spawn("first").uniform(len(parent)), 1)
    is_first = np.isin(np.arange(len(parent)), firsts)
    others = select_smallest(np.where(is_first, -1, parent), rng.uniform(len(parent)), most - 1)
    selected = np.sort(np.concatenate([firsts, others]))
    return selected, is_first[selected]


def attach_first_children(
    parents: pd.DataFrame, children: pd.DataFrame, parent_of: np.ndarray
) -> pd.DataFrame:
    """Add to each parent the columns of its first child; cells without one are missing."""
    # As objects: a missing cell must not change the dtype, and thereby other cells.
    cells = children.astype(object).set_axis(parent_of).reindex(range(len(parents)))
    return pd.concat([parents, cells], axis=1)


def siblings(parent_of: np.ndarray, rng: KeyedRNG) -> np.ndarray:
    """For each child, the position of one of its siblings, uniformly at random; -1 if it has none."""
    order = np.lexsort((rng.uniform(len(parent_of)), parent_of))  # siblings adjacent, in a secret order
    starts = np.searchsorted(parent_of[order], parent_of[order])
    sizes = (
        np.bincount(parent_of, minlength=1)[parent_of[order]] if len(parent_of) else np.zeros(0, dtype=int)
    )
    step = 1 + (rng.uniform(len(parent_of)) * np.maximum(sizes - 1, 1)).astype(int)
    other = starts + (np.arange(len(order)) - starts + step) % np.maximum(sizes, 1)
    sibling_of = np.empty(len(parent_of), dtype=int)
    sibling_of[order] = np.where(sizes > 1, order[np.minimum(other, len(order) - 1)], -1)
    return sibling_of

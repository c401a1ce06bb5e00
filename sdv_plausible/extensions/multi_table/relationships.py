"""Tree of tables, read from metadata, and names of the columns added to a table's rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sdv_plausible.models.bayesian_network import Conditional
from sdv_plausible.privacy.neighbours import RELATIONS, RelatedTablesUnit, Relation
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.parameter_checks import Refused, listed, one_of, whole
from sdv_plausible.table.cells.canonical_forms import LONGEST_NAME
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.column_document import type_words_by_column
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.declared.specifications import check_names, check_table_names

Specs = dict[str, dict[str, Any]]
MOST_CHILDREN, MOST_ROWS, MOST_TABLES = 1000, 10**6, 100


@dataclass(frozen=True, kw_only=True)
class Relationship:
    """A parent table and a child table."""

    # ``parent``, ``child``: names of the tables.
    # ``primary_key``, ``foreign_key``: key of the parent, and the child's column that refers to it.

    parent: str
    child: str
    primary_key: str
    foreign_key: str
    most: int  # maximum number of children used per parent; a public number, >= 1

    @property
    def count(self) -> str:
        """Name of the column that holds a parent's number of children."""
        return f"number of {self.child}"

    def of_parent(self, column: str) -> str:
        """Name of a parent's column in a child's row."""
        return f"{self.parent}.{column}"

    def of_sibling(self, column: str) -> str:
        """Name of a sibling's column in a child's row."""
        return f"sibling.{column}"

    def of_first(self, column: str) -> str:
        """Name of a column, in the parent's row, of the one child with the role "exactly one"."""
        return f"first of {self.child}.{column}"


@dataclass(frozen=True, kw_only=True)
class TableTree:
    """Related tables: every table but the root has one parent table."""

    # At least one; the relationship to a table comes before those to its children.
    links: tuple[Relationship, ...]
    # Whether neighbouring datasets differ by adding or removing one family, or by replacing one.
    neighbours: Relation = "add_remove"

    def __post_init__(self) -> None:
        reached = {link.parent for link in self.links[:1]}
        for link in self.links:
            if link.parent not in reached or link.child in reached:
                raise ValueError(
                    f"links ({link.parent!r}, {link.child!r}) must lead from the root to each table once"
                )
            reached.add(link.child)
        if not reached:
            raise ValueError("links must be at least one")
        check_table_names(self.tables, "links")

    @property
    def root(self) -> str:
        """The table without a parent."""
        return self.links[0].parent

    @property
    def tables(self) -> tuple[str, ...]:
        """All tables, parents before their children."""
        return (self.root, *(link.child for link in self.links))

    def below(self, table: str) -> tuple[Relationship, ...]:
        """Relationships to the children of a table."""
        return tuple(link for link in self.links if link.parent == table)

    def counts(self, table: str) -> dict[str, int]:
        """Columns with the numbers of children of each row: name -> maximum."""
        return {link.count: link.most for link in self.below(table)}

    def path(self, table: str) -> tuple[Relationship, ...]:
        """Relationships from the root to a table."""
        last = [link for link in self.links if link.child == table]
        return (*self.path(last[0].parent), last[0]) if last else ()

    def rows(self, table: str) -> int:
        """Maximum number of rows of one family in a table."""
        return math.prod(link.most for link in self.path(table))

    @property
    def replace(self) -> bool:
        """Whether neighbouring datasets replace a family."""
        return self.neighbours == "replace_one"

    @property
    def family(self) -> RelatedTablesUnit:
        """The privacy unit of the whole release."""
        children = tuple((link.child, link.parent, link.foreign_key, link.most) for link in self.links)
        key = self.links[0].primary_key
        return RelatedTablesUnit(
            rows=max(map(self.rows, self.tables)), replace=self.replace, person=key, root=self.root,
            hanging=children,
        )  # fmt: skip


def read_tree(
    metadata: Any, most: int | Mapping[str, int], neighbours: Relation = "add_remove"
) -> tuple[TableTree, dict[str, Specs], dict[str, Any]]:
    """Read the tree of tables, the columns of each table, and its primary key, if any."""
    # Raises ValueError if the tables are not one tree whose keys are one column each; the message names the
    # tables and columns.
    document = metadata.to_dict() if hasattr(metadata, "to_dict") else metadata
    tables, relationships = _tables_and_relationships(document)
    check_table_names(tables, "metadata")
    max_children = _bounds(most, relationships)
    one_of("neighbours", neighbours, RELATIONS)
    links = _ordered(tables, [_link(entry, max_children) for entry in relationships])
    tree = TableTree(links=tuple(links), neighbours=neighbours)
    columns = {name: _columns(tables, name) for name in tree.tables}
    for link in tree.links:
        _check_keys(link, tables, columns)
    check_joined_names(tree, columns)
    for table in tree.tables:
        if tree.rows(table) > MOST_ROWS:
            raise Refused.saying(
                "max_children",
                f"max_children: one family may have {tree.rows(table):,} rows of {table!r}, and "
                f"{MOST_ROWS:,} is the most: take a smaller number for a table on the way to it",
            )
    full_names = Counter(f"{name}.{column}" for name in tree.tables for column in columns[name])
    _reject_names([name for name, often in full_names.items() if often > 1])
    primary_keys = {name: tables[name].get("primary_key") for name in tree.tables}
    return (
        tree,
        columns,
        {name: tuple(key) if isinstance(key, list) else key for name, key in primary_keys.items()},
    )


def _bounds(most: Any, relationships: list[Mapping[str, Any]]) -> dict[str, int]:
    """Maximum number of children per parent, by child table."""
    children = [entry["child_table_name"] for entry in relationships]
    bounds = most if isinstance(most, Mapping) else dict.fromkeys(children, most)
    if {*bounds} != {*children}:
        raise Refused(
            "max_children", most, f"must be a number, or one for each of {listed(sorted({*children}))}"
        )
    why = "it bounds the rows of one family; try 8"
    name = "max_children of {}" if isinstance(most, Mapping) else "max_children"
    return {child: whole(name.format(child), bounds[child], 1, why, most=MOST_CHILDREN) for child in children}


def _link(entry: Mapping[str, Any], most: Mapping[str, int]) -> Relationship:
    return Relationship(
        parent=entry["parent_table_name"],
        child=entry["child_table_name"],
        primary_key=_one_column("parent_primary_key", entry),
        foreign_key=_one_column("child_foreign_key", entry),
        most=most[entry["child_table_name"]],
    )


def _ordered(tables: Mapping[str, Any], links: list[Relationship]) -> list[Relationship]:
    """Order relationships from the root on; reject anything but a tree."""
    num_parents = Counter(link.child for link in links)
    roots = [name for name in tables if not num_parents[name]]
    if unknown := sorted({name for link in links for name in (link.parent, link.child)} - {*tables}):
        raise Refused.saying(
            "metadata", f"metadata: a relationship names {listed(unknown)}, which is no table"
        )
    if circular := sorted(link.child for link in links if link.child == link.parent):
        raise Refused.saying(
            "metadata", f"metadata: {listed(circular)} is its own parent, which is not supported"
        )
    if ambiguous := sorted(name for name in num_parents if num_parents[name] > 1):
        raise Refused.saying(
            "metadata",
            f"metadata: {listed(ambiguous)} has several parents, or one twice, and only one is supported: "
            "keep the relationship to the table whose rows are to be protected",
        )
    ordered: list[Relationship] = []
    for name in roots[:1]:
        reached = [name]
        for table in reached:
            below = [link for link in links if link.parent == table]
            ordered += below
            reached += [link.child for link in below]
    if not links or len(roots) != 1 or len(ordered) != len(links) or len(tables) > MOST_TABLES:
        way_out = (
            "PlausibleDeniabilitySynthesizer fits one table"
            if len(tables) == 1
            else "fit what does not hang together apart, under one Budget"
        )
        raise Refused.saying(
            "metadata",
            f"metadata ({listed(sorted(tables))}, {len(links)} relationships) must be 2 to "
            f"{MOST_TABLES} tables of which all hang on one, directly or on what hangs on it: {way_out}",
        )
    return ordered


def _tables_and_relationships(document: Any) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    tables = document.get("tables") if isinstance(document, Mapping) else None
    relationships = document.get("relationships") if isinstance(document, Mapping) else None
    names = ("parent_table_name", "child_table_name")
    if (
        not (isinstance(tables, Mapping) and isinstance(relationships, list))
        or not all(isinstance(name, str) and _has_columns(table) for name, table in tables.items())
        or not all(isinstance(one, Mapping) for one in relationships)
        or not all(isinstance(one.get(name), str) for one in relationships for name in names)
    ):
        raise Refused("metadata", type(document), "must be SDV's Metadata of tables with their relationships")
    return tables, relationships


def _has_columns(table: Any) -> bool:
    columns = table.get("columns", {}) if isinstance(table, Mapping) else None
    return isinstance(columns, Mapping) and all(isinstance(spec, Mapping) for spec in columns.values())


def _columns(tables: Mapping[str, Any], name: str) -> Specs:
    columns = tables[name].get("columns") or {}
    check_names(columns, f"metadata of table {name!r}")
    return type_words_by_column(columns)  # anything else may have been detected in the rows


def _one_column(word: str, entry: Mapping[str, Any]) -> str:
    key = entry.get(word)
    if isinstance(key, (list, tuple)) and len(key) == 1:
        (key,) = key
    if not isinstance(key, str):
        raise Refused.saying(
            "metadata", f"metadata: {word} ({key!r}) must be one column: put the columns of a key into one"
        )
    return key


def _check_keys(link: Relationship, tables: Mapping[str, Any], columns: Mapping[str, Specs]) -> None:
    for table, key in ((link.parent, link.primary_key), (link.child, link.foreign_key)):
        if key not in columns[table]:
            raise Refused.saying(
                "metadata", f"metadata: table {table!r} has no column {key!r}, which is its key"
            )
        if columns[table][key].get("sdtype") != "id":
            raise Refused.saying(
                "metadata",
                f"metadata: the key {key!r} of table {table!r} has sdtype "
                f"{columns[table][key].get('sdtype')!r} and must have 'id': metadata.update_column(...)",
            )
    if tables[link.parent].get("primary_key") != link.primary_key:
        raise Refused.saying(
            "metadata",
            f"metadata: the relationship names {link.primary_key!r} of {link.parent!r}, which must be its "
            f"primary key ({tables[link.parent].get('primary_key')!r}): metadata.set_primary_key(...)",
        )
    if tables[link.child].get("primary_key") == link.foreign_key and link.most > 1:
        raise Refused.saying(
            "metadata",
            f"metadata: {link.foreign_key!r} is the primary key of {link.child!r}, so that a parent has one "
            "child: say max_children=1, or name another primary key",
        )


def check_joined_names(tree: TableTree, columns: Mapping[str, Collection[str]]) -> None:
    """Reject names that collide with columns that a fit adds to a table's rows."""
    for link in tree.links:
        parents, children = (
            [
                *columns[name],
                *tree.counts(name),
                *(one.of_first(c) for one in tree.below(name) for c in columns[one.child]),
            ]
            for name in (link.parent, link.child)
        )
        added = [*map(link.of_parent, parents), *map(link.of_sibling, children)]
        occurrences = Counter([*added, *parents, *(name for name in children if name not in parents)])
        with_prefix = [
            name for name in (link.parent, *children) if f"{name}.".startswith(link.of_sibling(""))
        ]
        _reject_names([*(name for name, often in occurrences.items() if often > 1), *with_prefix])
        if len(longest := max(occurrences, key=len)) > LONGEST_NAME:
            raise Refused.saying(
                "metadata",
                f"metadata: the name {longest!r:.60} stands for what is put beside a row and has "
                f"{len(longest):,} letters, of which {LONGEST_NAME:,} are the most: rename the column or the "
                "table",
            )


def _reject_names(taken: list[str]) -> None:
    if taken:
        raise Refused.saying(
            "metadata",
            f"metadata: the names {listed(sorted({*taken}))} stand for what is put beside a row: rename them",
        )


Often = Literal["exactly one", "at most one"]
ATTEMPTS = 30  # to draw a value without a role
MIN_PROBABILITY = 1e-12
OFTEN: tuple[Often, ...] = ("exactly one", "at most one")


@dataclass(frozen=True, kw_only=True)
class Role:
    """A value that only one child of a parent has."""

    column: str  # column of the child table
    code: int  # code of the value in the column's domain
    often: Often  # how many children of each parent that has children have it

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
    """Read the argument ``roles`` of one table: ``{column: {value: how often}}``."""
    # ``known``: modelled columns of the child table; None for columns without declared values.
    # Raises ValueError if a column or value is not declared, or the roles contradict each other.
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
    """Which roles are available to n children, one of each of n parents."""

    # (int, int, bool) column index, code, and whether another child always has the role ("exactly one").
    roles: Sequence[tuple[int, int, bool]]
    taken: np.ndarray  # (n, number of roles) whether an earlier child of the parent has the role
    # (n, number of roles) number of earlier children that might have had the role, other than the sibling
    # that is conditioned on.
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

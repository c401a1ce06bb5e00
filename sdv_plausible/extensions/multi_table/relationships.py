"""How tables hang together, read from metadata alone, and names of columns beside a row's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sdv_plausible.privacy.neighbours import RELATIONS, RelatedTablesUnit, Relation
from sdv_plausible.privacy.parameter_checks import Refused, listed, one_of, whole
from sdv_plausible.table.cells.canonical_forms import LONGEST_NAME
from sdv_plausible.table.columns.column_document import type_words_by_column
from sdv_plausible.table.declared.specifications import check_names, check_table_names

Specs = dict[str, dict[str, Any]]
MOST_CHILDREN, MOST_ROWS, MOST_TABLES = 1000, 10**6, 100


@dataclass(frozen=True, kw_only=True)
class Relationship:
    """One parent table, and one child table whose rows hang on its rows.

    Parameters
    ----------
    parent, child : str
        Names of the tables.
    primary_key, foreign_key : str
        Column of the parent that names its rows, and that of the child that says on which row it hangs.
    most : int
        Children of one parent that are used, at most; a public number, >= 1.
    """

    parent: str
    child: str
    primary_key: str
    foreign_key: str
    most: int

    @property
    def count(self) -> str:
        """Column, beside the parent's own, of how many children are used."""
        return f"number of {self.child}"

    def of_parent(self, column: str) -> str:
        """What a parent's column is called beside a child's."""
        return f"{self.parent}.{column}"

    def of_sibling(self, column: str) -> str:
        """What a sibling's column is called beside a child's."""
        return f"sibling.{column}"

    def of_first(self, column: str) -> str:
        """What a column of the one child that has a role is called in its parent's line."""
        return f"first of {self.child}.{column}"


@dataclass(frozen=True, kw_only=True)
class TableTree:
    """Tables that hang on one another: every table but the root on one other.

    Parameters
    ----------
    links : tuple of Link
        At least one; that to a table comes before those to what hangs on it.
    neighbours : {"add_remove", "replace_one"}
        What is done to one family between tables that count as neighbours.
    """

    links: tuple[Relationship, ...]
    neighbours: Relation = "add_remove"

    def __post_init__(self) -> None:
        known = {link.parent for link in self.links[:1]}
        for link in self.links:
            if link.parent not in known or link.child in known:
                raise ValueError(
                    f"links ({link.parent!r}, {link.child!r}) must lead from the root to each table once"
                )
            known.add(link.child)
        if not known:
            raise ValueError("links must be at least one")
        check_table_names(self.tables, "links")

    @property
    def root(self) -> str:
        """The table that hangs on none."""
        return self.links[0].parent

    @property
    def tables(self) -> tuple[str, ...]:
        """All tables, each after what it hangs on."""
        return (self.root, *(link.child for link in self.links))

    def below(self, table: str) -> tuple[Relationship, ...]:
        """Links to what hangs on a table."""
        return tuple(link for link in self.links if link.parent == table)

    def counts(self, table: str) -> dict[str, int]:
        """Columns beside a table's own that say how many rows hang on each: name -> most."""
        return {link.count: link.most for link in self.below(table)}

    def path(self, table: str) -> tuple[Relationship, ...]:
        """Links from the root to a table."""
        last = [link for link in self.links if link.child == table]
        return (*self.path(last[0].parent), last[0]) if last else ()

    def rows(self, table: str) -> int:
        """Rows of one family in a table, at most."""
        return math.prod(link.most for link in self.path(table))

    @property
    def replace(self) -> bool:
        """Whether a family is replaced by another one."""
        return self.neighbours == "replace_one"

    @property
    def family(self) -> RelatedTablesUnit:
        """Whom the whole release protects."""
        hanging = tuple((one.child, one.parent, one.foreign_key, one.most) for one in self.links)
        key = self.links[0].primary_key
        return RelatedTablesUnit(
            rows=max(map(self.rows, self.tables)), replace=self.replace, person=key, root=self.root,
            hanging=hanging,
        )  # fmt: skip


def read_tree(
    metadata: Any, most: int | Mapping[str, int], neighbours: Relation = "add_remove"
) -> tuple[TableTree, dict[str, Specs], dict[str, Any]]:
    """How the tables of metadata hang together, the columns of each, and its primary key, if any.

    Raises
    ------
    ValueError
        If they are not one tree whose keys are one column each, in words that name what is there.
    """
    document = metadata.to_dict() if hasattr(metadata, "to_dict") else metadata
    tables, relations = _parts(document)
    check_table_names(tables, "metadata")
    bounds = _bounds(most, relations)
    one_of("neighbours", neighbours, RELATIONS)
    links = _in_order(tables, [_link(said, bounds) for said in relations])
    tree = TableTree(links=tuple(links), neighbours=neighbours)
    columns = {name: _columns(tables, name) for name in tree.tables}
    for link in tree.links:
        _check_keys(link, tables, columns)
    check_beside(tree, columns)
    for table in tree.tables:
        if tree.rows(table) > MOST_ROWS:
            raise Refused.saying(
                "max_children",
                f"max_children: one family may have {tree.rows(table):,} rows of {table!r}, and "
                f"{MOST_ROWS:,} is the most: take a smaller number for a table on the way to it",
            )
    whole_names = Counter(f"{name}.{column}" for name in tree.tables for column in columns[name])
    _check_names([name for name, often in whole_names.items() if often > 1])
    own = {name: tables[name].get("primary_key") for name in tree.tables}
    return tree, columns, {name: tuple(key) if isinstance(key, list) else key for name, key in own.items()}


def _bounds(most: Any, relations: list[Mapping[str, Any]]) -> dict[str, int]:
    """For every table that hangs on another, how many of a parent's rows are used."""
    children = [said["child_table_name"] for said in relations]
    said = most if isinstance(most, Mapping) else dict.fromkeys(children, most)
    if {*said} != {*children}:
        raise Refused(
            "max_children", most, f"must be a number, or one for each of {listed(sorted({*children}))}"
        )
    why = "it bounds the rows of one family; try 8"
    name = "max_children of {}" if isinstance(most, Mapping) else "max_children"
    return {one: whole(name.format(one), said[one], 1, why, most=MOST_CHILDREN) for one in children}


def _link(said: Mapping[str, Any], most: Mapping[str, int]) -> Relationship:
    return Relationship(
        parent=said["parent_table_name"],
        child=said["child_table_name"],
        primary_key=_one_column("parent_primary_key", said),
        foreign_key=_one_column("child_foreign_key", said),
        most=most[said["child_table_name"]],
    )


def _in_order(tables: Mapping[str, Any], links: list[Relationship]) -> list[Relationship]:
    """The links of a tree from its root on; whatever is no tree is refused by name."""
    often = Counter(link.child for link in links)
    roots = [name for name in tables if not often[name]]
    if strange := sorted({name for link in links for name in (link.parent, link.child)} - {*tables}):
        raise Refused.saying(
            "metadata", f"metadata: a relationship names {listed(strange)}, which is no table"
        )
    if circular := sorted(link.child for link in links if link.child == link.parent):
        raise Refused.saying(
            "metadata", f"metadata: {listed(circular)} is its own parent, which is not supported"
        )
    if several := sorted(name for name in often if often[name] > 1):
        raise Refused.saying(
            "metadata",
            f"metadata: {listed(several)} has several parents, or one twice, and only one is supported: keep "
            "the relationship to the table whose rows are to be protected",
        )
    order: list[Relationship] = []
    for name in roots[:1]:
        reached = [name]
        for table in reached:
            below = [link for link in links if link.parent == table]
            order += below
            reached += [link.child for link in below]
    if not links or len(roots) != 1 or len(order) != len(links) or len(tables) > MOST_TABLES:
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
    return order


def _parts(document: Any) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    tables = document.get("tables") if isinstance(document, Mapping) else None
    relations = document.get("relationships") if isinstance(document, Mapping) else None
    names = ("parent_table_name", "child_table_name")
    if (
        not (isinstance(tables, Mapping) and isinstance(relations, list))
        or not all(isinstance(name, str) and _has_columns(table) for name, table in tables.items())
        or not all(isinstance(one, Mapping) for one in relations)
        or not all(isinstance(one.get(name), str) for one in relations for name in names)
    ):
        raise Refused("metadata", type(document), "must be SDV's Metadata of tables with their relationships")
    return tables, relations


def _has_columns(table: Any) -> bool:
    columns = table.get("columns", {}) if isinstance(table, Mapping) else None
    return isinstance(columns, Mapping) and all(isinstance(spec, Mapping) for spec in columns.values())


def _columns(tables: Mapping[str, Any], name: str) -> Specs:
    columns = tables[name].get("columns") or {}
    check_names(columns, f"metadata of table {name!r}")
    return type_words_by_column(columns)  # all else may have been detected in the rows


def _one_column(word: str, said: Mapping[str, Any]) -> str:
    key = said.get(word)
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


def check_beside(tree: TableTree, columns: Mapping[str, Collection[str]]) -> None:
    """Refuse names that stand for columns which a fit adds beside a table's own."""
    for link in tree.links:
        parents, children = (
            [
                *columns[name],
                *tree.counts(name),
                *(one.of_first(c) for one in tree.below(name) for c in columns[one.child]),
            ]
            for name in (link.parent, link.child)
        )
        made = [*map(link.of_parent, parents), *map(link.of_sibling, children)]
        names = Counter([*made, *parents, *(name for name in children if name not in parents)])
        marked = [name for name in (link.parent, *children) if f"{name}.".startswith(link.of_sibling(""))]
        _check_names([*(name for name, often in names.items() if often > 1), *marked])
        if len(longest := max(names, key=len)) > LONGEST_NAME:
            raise Refused.saying(
                "metadata",
                f"metadata: the name {longest!r:.60} stands for what is put beside a row and has "
                f"{len(longest):,} letters, of which {LONGEST_NAME:,} are the most: rename the column or the "
                "table",
            )


def _check_names(taken: list[str]) -> None:
    if taken:
        raise Refused.saying(
            "metadata",
            f"metadata: the names {listed(sorted({*taken}))} stand for what is put beside a row: rename them",
        )

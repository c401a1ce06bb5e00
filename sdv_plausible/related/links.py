"""How two tables hang together, read from metadata alone, and names of columns beside a child's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sdv_plausible.privacy.checks import Refused, listed, whole
from sdv_plausible.privacy.neighbours import OneFamily
from sdv_plausible.table.declared.words import check_names, check_table_name

Specs = dict[str, dict[str, Any]]
MOST_CHILDREN = 1000


@dataclass(frozen=True, kw_only=True)
class Link:
    """One parent table, and one child table whose rows hang on its rows.

    Parameters
    ----------
    parent, child : str
        Names of the tables.
    primary_key, foreign_key : str
        Column of the parent that names its rows, and that of the child that says on which row it hangs.
    most : int
        Children of one parent that are used, at most; a public number, >= 1.
    child_key : str or tuple of str, optional
        The child's own primary key, where it has one: in its release's schema, and not in the link's file.
    """

    parent: str
    child: str
    primary_key: str
    foreign_key: str
    most: int
    child_key: str | tuple[str, ...] | None = None

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

    @property
    def family(self) -> OneFamily:
        """Whom the whole release protects."""
        return OneFamily(rows=self.most, person=self.foreign_key, parent=self.parent, child=self.child)


def read_link(metadata: Any, most: int) -> tuple[Link, Specs, Specs]:
    """How the tables of metadata hang together, and the columns of parent and child.

    Raises
    ------
    ValueError
        If they are not one parent and one child with a key of one column, in words that name what is there.
    """
    most = whole("max_children", most, 1, "it bounds the rows of one family; try 8", most=MOST_CHILDREN)
    document = metadata.to_dict() if hasattr(metadata, "to_dict") else metadata
    tables, relations = _parts(document)
    if len(tables) != 2 or len(relations) != 1:
        way_out = (
            "take tables in pairs, or PlausibleDeniabilitySynthesizer for one table"
            if len(tables) != 1
            else "PlausibleDeniabilitySynthesizer fits one table"
        )
        raise Refused.saying(
            "metadata",
            f"metadata ({listed(sorted(tables))}, {len(relations)} relationships) must have two tables and "
            f"the one relationship between them: {way_out}",
        )
    said = relations[0]
    link = Link(
        parent=said["parent_table_name"],
        child=said["child_table_name"],
        primary_key=_one_column("parent_primary_key", said),
        foreign_key=_one_column("child_foreign_key", said),
        most=most,
    )
    own = tables.get(link.child, {}).get("primary_key")
    link = replace(link, child_key=tuple(own) if isinstance(own, list) else own)
    if {link.parent, link.child} != set(tables):
        raise Refused.saying(
            "metadata",
            f"metadata: the relationship is between {link.parent!r} and {link.child!r}, and the tables are "
            f"{listed(sorted(tables))}: a table that hangs on itself is not taken",
        )
    parents, children = (_columns(tables, name) for name in (link.parent, link.child))
    _check_key(link.parent, link.primary_key, parents)
    _check_key(link.child, link.foreign_key, children)
    if tables[link.parent].get("primary_key") != link.primary_key:
        raise Refused.saying(
            "metadata",
            f"metadata: the relationship names {link.primary_key!r} of {link.parent!r}, which must be its "
            f"primary key ({tables[link.parent].get('primary_key')!r}): metadata.set_primary_key(...)",
        )
    if tables[link.child].get("primary_key") == link.foreign_key and most > 1:
        raise Refused.saying(
            "metadata",
            f"metadata: {link.foreign_key!r} is the primary key of {link.child!r}, so that a parent has one "
            "child: say max_children=1, or name another primary key",
        )
    made = [link.count, *map(link.of_parent, [*parents, link.count]), *map(link.of_sibling, children)]
    names = Counter([*made, *parents, *(name for name in children if name not in parents)])
    marked = [name for name in (link.parent, *children) if f"{name}.".startswith(link.of_sibling(""))]
    if taken := [*(name for name, often in names.items() if often > 1), *marked]:
        raise Refused.saying(
            "metadata",
            f"metadata: the names {listed(sorted(taken))} stand for what is put beside a row: rename them",
        )
    return link, parents, children


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
        raise Refused(
            "metadata", type(document), "must be SDV's Metadata of two tables with their relationship"
        )
    return tables, relations


def _has_columns(table: Any) -> bool:
    columns = table.get("columns", {}) if isinstance(table, Mapping) else None
    return isinstance(columns, Mapping) and all(isinstance(spec, Mapping) for spec in columns.values())


def _columns(tables: Mapping[str, Any], name: str) -> Specs:
    check_table_name(name)
    columns = tables[name].get("columns") or {}
    check_names(columns, f"metadata of table {name!r}")
    return {column: dict(spec) for column, spec in columns.items()}


def _one_column(word: str, said: Mapping[str, Any]) -> str:
    key = said.get(word)
    if isinstance(key, (list, tuple)) and len(key) == 1:
        (key,) = key
    if not isinstance(key, str):
        raise Refused.saying(
            "metadata", f"metadata: {word} ({key!r}) must be one column: put the columns of a key into one"
        )
    return key


def _check_key(table: str, key: str, columns: Specs) -> None:
    if key not in columns:
        raise Refused.saying("metadata", f"metadata: table {table!r} has no column {key!r}, which is its key")
    if columns[key].get("sdtype") != "id":
        raise Refused.saying(
            "metadata",
            f"metadata: the key {key!r} of table {table!r} has sdtype {columns[key].get('sdtype')!r} and "
            "must have 'id': metadata.update_column(...)",
        )

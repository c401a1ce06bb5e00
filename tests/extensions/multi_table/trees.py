"""Metadata of related tables, in few words."""

from typing import Any

ENDS = ("parent_table_name", "parent_primary_key", "child_table_name", "child_foreign_key")


def metadata_of(
    tables: dict[str, dict[str, Any]], *links: tuple[str, ...], keys: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Metadata of columns, by their sdtype or by all their words, and of links: a parent, its key, a child, its key.

    The keys of links are primary keys of parents; ``keys`` are those of tables on which nothing hangs.
    """
    primary = dict(link[:2] for link in [*links, *zip(keys[::2], keys[1::2], strict=True)])
    said: dict[str, Any] = {}
    for name, columns in tables.items():
        words = {
            column: {"sdtype": word} if isinstance(word, str) else word for column, word in columns.items()
        }
        said[name] = {"primary_key": primary[name]} if name in primary else {}
        said[name]["columns"] = words
    return {"tables": said, "relationships": [dict(zip(ENDS, link, strict=True)) for link in links]}

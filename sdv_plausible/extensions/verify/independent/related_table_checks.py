"""A file of related tables: each held to what it says by itself, and all of them to the one family."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sdv_plausible.extensions.verify.independent.content_checks import codes_of
from sdv_plausible.extensions.verify.independent.file_reader import breaches, in_counts
from sdv_plausible.extensions.verify.independent.ledger_checks import has_claim, losses_of
from sdv_plausible.extensions.verify.independent.table_names import check_table_names
from sdv_plausible.extensions.verify.independent.totals import total
from sdv_plausible.extensions.verify.independent.verdict import (
    ContradictionError,
    ProtectedUnit,
    UncheckableError,
    rounded_up,
    shown,
)

FORMAT = "sdv-plausible-families/1"
_TEXT = {"type": "string", "minLength": 1, "maxLength": 1000}
_TEXTS = ("parent", "child", "primary_key", "foreign_key")


def _of(entries: Mapping[str, Any]) -> dict[str, Any]:
    """The form of an object that has these entries and no others."""
    return {
        "type": "object", "properties": dict(entries), "required": [*entries], "additionalProperties": False,
    }  # fmt: skip


_ROLE = _of(
    {
        "column": _TEXT,
        "code": {"type": "integer", "minimum": 0},
        "often": {"enum": ["exactly one", "at most one"]},
    }
)
FORM = _of(
    {
        "format": {"const": FORMAT},
        "neighbours": {"enum": ["add_remove", "replace_one"]},
        "links": {
            "type": "array",
            "items": _of(
                {**dict.fromkeys(_TEXTS, _TEXT), "most": {"type": "integer", "minimum": 1, "maximum": 1000}}
            ),
            "minItems": 1,
            "maxItems": 99,
        },
        "tables": {"type": "object", "additionalProperties": {"type": "object"}},
        "roles": {"type": "object", "additionalProperties": {"type": "array", "items": _ROLE}},
    }
)
Checks = Mapping[str, Callable[[Any], str]]


def is_of_families(plain: Any) -> bool:
    """Whether a document says that it is of related tables."""
    return isinstance(plain, dict) and plain.get("format") == FORMAT


def tables_of(plain: Any, form: Any) -> dict[str, Any]:
    """Documents of the tables, their arrays read, the root first; ``form`` is a release's schema."""
    if broken := next(breaches(plain, FORM, FORM), None):
        raise ContradictionError(broken)
    known = [plain["links"][0]["parent"]]
    for link in plain["links"]:
        if link["parent"] not in known or link["child"] in known:
            raise ContradictionError("the links do not lead from one root to each table once")
        known.append(link["child"])
    if {*plain["tables"]} != {*known}:
        raise ContradictionError("the tables are not those of the links")
    check_table_names(known)
    for name in known:
        if broken := next(breaches(plain["tables"][name], form, form, f"file.tables.{name[:40]}"), None):
            raise ContradictionError(broken)
        if plain["tables"][name]["schema"]["table"] != name:
            raise ContradictionError(f"the document of table {name!r:.40} is of another table")
    return {name: in_counts(plain["tables"][name]) for name in known}


def checks_of(plain: Any, tables: Mapping[str, Any]) -> Checks:
    """What there is to check of all tables together."""
    own = dict(_own_columns(plain, tables))
    return {
        "one family": lambda _: _check_units(plain, tables),
        "counts of children": lambda _: _check_counts(plain, own),
        "all tables' total": lambda _: _check_total(tables),
        "columns beside": lambda _: _check_beside(plain, tables, own),
        "roles": lambda _: _check_roles(plain, own),
    }


def alone(plain: Any, tables: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Name, document, and the document without columns that stand beside a row, of each table."""
    for name, columns in _own_columns(plain, tables):
        yield name, tables[name], {**tables[name], "domain": columns}


def _own_columns(plain: Any, tables: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """Columns of each table's domain that are its own, with counts of what hangs on its rows."""
    parents = {link["child"]: link["parent"] for link in plain["links"]}
    for name, document in tables.items():
        marks = (f"{parents[name]}.", "sibling.") if name in parents else ()
        yield name, [column for column in document["domain"] if not column["name"].startswith(marks)]


def _check_units(plain: Any, tables: Mapping[str, Any]) -> str:
    """Refuse noise for fewer rows than one family has in a table, or for another change."""
    root = plain["links"][0]["parent"]
    rows, lines, keys = {root: 1}, {root: 1}, {root: None}
    for link in plain["links"]:
        name, most = link["child"], link["most"]
        rows[name], keys[name] = rows[link["parent"]] * most, link["foreign_key"]
        lines[name] = max(rows[link["parent"]] * (most - (_first(plain, name) is not None)), 1)
    for name, document in tables.items():
        wanted = ProtectedUnit(lines[name], plain["neighbours"] == "replace_one", keys[name])
        if ProtectedUnit.of(document["ledger"]) != wanted:
            raise ContradictionError(
                f"a family has {lines[name]:,} lines of {shown(name)}, and the ledger is of another unit"
            )
    if len({document["ledger"]["delta"] for document in tables.values()}) > 1:
        raise ContradictionError("the tables have several deltas")
    told = ", ".join(f"{number:,} of {shown(name)}" for name, number in lines.items())
    return f"each table's noise is for the lines that one family has there at most: {told}"


def _check_counts(plain: Any, own: Mapping[str, Any]) -> str:
    """Refuse a column of how many children a row has that is not 0 to the link's cap, each by itself."""
    for name, columns in own.items():
        links = {
            f"number of {link['child']}": link["most"] for link in plain["links"] if link["parent"] == name
        }
        counts = {column["name"]: column for column in columns if column["name"] in links}
        for count, most in links.items():
            column, codes = counts.get(count), [*range(most + 1)]
            if column is None or column["kind"] != "integer" or column["provenance"] != "declared":
                raise ContradictionError(
                    f"table {shown(name)} has no declared column {shown(count)} of whole numbers"
                )
            if [*column["lower"]] != codes or [*column["upper"]] != codes or codes_of(column) != len(codes):
                raise ContradictionError(
                    f"column {shown(count)} must have the codes 0 to {most}, the cap of its link"
                )
    return f"{len(plain['links'])} columns of numbers of children, each from 0 to the cap of its link"


def _first(plain: Any, table: str) -> str | None:
    """The column whose role exactly one of a parent's rows has: that row stands in its parent's line."""
    roles = plain["roles"].get(table, ())
    return next((role["column"] for role in roles if role["often"] == "exactly one"), None)


def _check_total(tables: Mapping[str, Any]) -> str:
    """Add up what all tables cost the same family; no file states it."""
    entries = [entry for document in tables.values() for entry in document["ledger"]["entries"]]
    if not has_claim(entries):
        raise UncheckableError("there is none, as an entry ends the claim")
    delta = next(iter(tables.values()))["ledger"]["delta"]
    found = total(losses_of(entries), delta)
    if math.isinf(found):
        raise UncheckableError(f"the entries have none at delta {rounded_up(delta)}")
    return f"the entries of all tables add up to {found:.6g} at delta {rounded_up(delta)} for one family"


def _check_beside(plain: Any, tables: Mapping[str, Any], own: Mapping[str, Any]) -> str:
    """Refuse value sets beside a row that are not those of the table that they are of."""
    number = 0
    for link in plain["links"]:
        name, parent = link["child"], link["parent"]
        wanted = {f"{parent}.{column['name']}": codes_of(column) for column in own[parent]}
        for column in own[name]:  # a sibling may be missing
            wanted[f"sibling.{column['name']}"] = codes_of({**column, "nullable": True})
        ours = {column["name"] for column in own[name]}
        beside = {c["name"]: codes_of(c) for c in tables[name]["domain"] if c["name"] not in ours}
        if beside != wanted:
            raise ContradictionError(
                f"what stands beside a row of {shown(name)} has other columns or codes than its table"
            )
        number += len(beside)
        mark, column = f"first of {name}.", _first(plain, name)
        first = {c["name"] for c in own[parent] if c["name"].startswith(mark)}
        if first != {f"{mark}{one}" for one in ours if column not in (None, one)}:
            raise ContradictionError(
                f"in lines of {shown(parent)} stand other columns of {shown(name)} than its roles say"
            )
    return f"{number} columns of parents and siblings, with the codes of their own tables"


def _check_roles(plain: Any, own: Mapping[str, Any]) -> str:
    """Refuse roles of columns or codes that are not there."""
    for name, roles in plain["roles"].items():
        codes = {column["name"]: codes_of(column) for column in own.get(name, ())}
        if sum(role["often"] == "exactly one" for role in roles) > 1:
            raise ContradictionError(
                f"several roles of {shown(name)} are said to be that of exactly one child"
            )
        if len({(role["column"], role["code"]) for role in roles}) < len(roles):
            raise ContradictionError(f"a value of {shown(name)} has several roles")
        for role in roles:
            if role["code"] >= codes.get(role["column"], 0):
                raise ContradictionError(f"a role of {shown(name)} is of no column, or of no code of it")
    if plain["links"][0]["parent"] in plain["roles"]:
        raise ContradictionError("the root's rows hang on none, and have no roles")
    return f"{sum(map(len, plain['roles'].values()))} roles, of columns that are there"

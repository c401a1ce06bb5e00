"""Checks of a file of related tables: each table by itself, and all tables together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sdv_plausible.extensions.verify.independent.content_checks import num_codes
from sdv_plausible.extensions.verify.independent.file_reader import (
    check_table_names,
    decode_table,
    schema_violations,
)
from sdv_plausible.extensions.verify.independent.ledger_checks import has_claim, losses_of
from sdv_plausible.extensions.verify.independent.totals import total
from sdv_plausible.extensions.verify.independent.verdict import (
    ContradictionError,
    ProtectedUnit,
    UncheckableError,
    quoted,
    rounded_up,
)

FORMAT = "sdv-plausible-families/1"
_TEXT = {"type": "string", "minLength": 1, "maxLength": 1000}
_TEXTS = ("parent", "child", "primary_key", "foreign_key")


def _object_schema(entries: Mapping[str, Any]) -> dict[str, Any]:
    """JSON Schema of an object with exactly these properties."""
    return {
        "type": "object", "properties": dict(entries), "required": [*entries], "additionalProperties": False,
    }  # fmt: skip


_ROLE = _object_schema(
    {
        "column": _TEXT,
        "code": {"type": "integer", "minimum": 0},
        "often": {"enum": ["exactly one", "at most one"]},
    }
)
SCHEMA = _object_schema(
    {
        "format": {"const": FORMAT},
        "neighbours": {"enum": ["add_remove", "replace_one"]},
        "links": {
            "type": "array",
            "items": _object_schema(
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


def is_multi_table(document: Any) -> bool:
    """Whether a document is of related tables, by its format."""
    return isinstance(document, dict) and document.get("format") == FORMAT


def read_tables(document: Any, json_schema: Any) -> dict[str, Any]:
    """Documents of the tables with NumPy arrays, the root first; ``form`` is the release schema."""
    if violation := next(schema_violations(document, SCHEMA, SCHEMA), None):
        raise ContradictionError(violation)
    names = [document["links"][0]["parent"]]
    for link in document["links"]:
        if link["parent"] not in names or link["child"] in names:
            raise ContradictionError("the links do not lead from one root to each table once")
        names.append(link["child"])
    if {*document["tables"]} != {*names}:
        raise ContradictionError("the tables are not those of the links")
    check_table_names(names)
    for name in names:
        if violation := next(
            schema_violations(document["tables"][name], json_schema, json_schema, f"file.tables.{name[:40]}"),
            None,
        ):
            raise ContradictionError(violation)
        if document["tables"][name]["schema"]["table"] != name:
            raise ContradictionError(f"the document of table {name!r:.40} is of another table")
    return {name: decode_table(document["tables"][name]) for name in names}


def joint_checks(document: Any, tables: Mapping[str, Any]) -> Checks:
    """Checks of all tables together."""
    own_columns = dict(_own_columns(document, tables))
    return {
        "one family": lambda _: _check_units(document, tables),
        "counts of children": lambda _: _check_counts(document, own_columns),
        "all tables' total": lambda _: _check_total(tables),
        "columns beside": lambda _: _check_conditioning_columns(document, tables, own_columns),
        "roles": lambda _: _check_roles(document, own_columns),
    }


def own_documents(document: Any, tables: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Name, document, and document without columns of related tables, of each table."""
    for name, columns in _own_columns(document, tables):
        yield name, tables[name], {**tables[name], "domain": columns}


def _own_columns(document: Any, tables: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """Each table's own columns, including the counts of its children."""
    parents = {link["child"]: link["parent"] for link in document["links"]}
    for name, table in tables.items():
        prefixes = (f"{parents[name]}.", "sibling.") if name in parents else ()
        yield name, [column for column in table["domain"] if not column["name"].startswith(prefixes)]


def _check_units(document: Any, tables: Mapping[str, Any]) -> str:
    """Check that each table's privacy unit is the rows of one family in it."""
    root = document["links"][0]["parent"]
    rows, lines, keys = {root: 1}, {root: 1}, {root: None}
    for link in document["links"]:
        name, most = link["child"], link["most"]
        rows[name], keys[name] = rows[link["parent"]] * most, link["foreign_key"]
        lines[name] = max(rows[link["parent"]] * (most - (_first_child_role(document, name) is not None)), 1)
    for name, table in tables.items():
        expected = ProtectedUnit(lines[name], document["neighbours"] == "replace_one", keys[name])
        if ProtectedUnit.of(table["ledger"]) != expected:
            raise ContradictionError(
                f"a family has {lines[name]:,} lines of {quoted(name)}, and the ledger is of another unit"
            )
    if len({table["ledger"]["delta"] for table in tables.values()}) > 1:
        raise ContradictionError("the tables have several deltas")
    summary = ", ".join(f"{number:,} of {quoted(name)}" for name, number in lines.items())
    return f"each table's noise is for the lines that one family has there at most: {summary}"


def _check_counts(document: Any, own_columns: Mapping[str, Any]) -> str:
    """Check the columns of child counts: integer codes from 0 to the relationship's cap."""
    for name, columns in own_columns.items():
        links = {
            f"number of {link['child']}": link["most"] for link in document["links"] if link["parent"] == name
        }
        counts = {column["name"]: column for column in columns if column["name"] in links}
        for count, most in links.items():
            column, codes = counts.get(count), [*range(most + 1)]
            if column is None or column["kind"] != "integer" or column["provenance"] != "declared":
                raise ContradictionError(
                    f"table {quoted(name)} has no declared column {quoted(count)} of whole numbers"
                )
            if [*column["lower"]] != codes or [*column["upper"]] != codes or num_codes(column) != len(codes):
                raise ContradictionError(
                    f"column {quoted(count)} must have the codes 0 to {most}, the cap of its link"
                )
    return f"{len(document['links'])} columns of numbers of children, each from 0 to the cap of its link"


def _first_child_role(document: Any, table: str) -> str | None:
    """Column of the role "exactly one", whose row is stored with its parent's row; else None."""
    roles = document["roles"].get(table, ())
    return next((role["column"] for role in roles if role["often"] == "exactly one"), None)


def _check_total(tables: Mapping[str, Any]) -> str:
    """Compose the charges of all tables for one family; no file states this total."""
    entries = [entry for document in tables.values() for entry in document["ledger"]["entries"]]
    if not has_claim(entries):
        raise UncheckableError("there is none, as an entry ends the claim")
    delta = next(iter(tables.values()))["ledger"]["delta"]
    combined = total(losses_of(entries), delta)
    if math.isinf(combined):
        raise UncheckableError(f"the entries have none at delta {rounded_up(delta)}")
    return f"the entries of all tables add up to {combined:.6g} at delta {rounded_up(delta)} for one family"


def _check_conditioning_columns(
    document: Any, tables: Mapping[str, Any], own_columns: Mapping[str, Any]
) -> str:
    """Compare the columns of related tables with the tables that they come from."""
    number = 0
    for link in document["links"]:
        name, parent = link["child"], link["parent"]
        expected = {f"{parent}.{column['name']}": num_codes(column) for column in own_columns[parent]}
        for column in own_columns[name]:  # there may be no sibling
            expected[f"sibling.{column['name']}"] = num_codes({**column, "nullable": True})
        own_names = {column["name"] for column in own_columns[name]}
        actual = {c["name"]: num_codes(c) for c in tables[name]["domain"] if c["name"] not in own_names}
        if actual != expected:
            raise ContradictionError(
                f"what stands beside a row of {quoted(name)} has other columns or codes than its table"
            )
        number += len(actual)
        prefix, column = f"first of {name}.", _first_child_role(document, name)
        first = {c["name"] for c in own_columns[parent] if c["name"].startswith(prefix)}
        if first != {f"{prefix}{name_}" for name_ in own_names if column not in (None, name_)}:
            raise ContradictionError(
                f"in lines of {quoted(parent)} stand other columns of {quoted(name)} than its roles say"
            )
    return f"{number} columns of parents and siblings, with the codes of their own tables"


def _check_roles(document: Any, own_columns: Mapping[str, Any]) -> str:
    """Reject roles of unknown columns or codes."""
    for name, roles in document["roles"].items():
        codes = {column["name"]: num_codes(column) for column in own_columns.get(name, ())}
        if sum(role["often"] == "exactly one" for role in roles) > 1:
            raise ContradictionError(
                f"several roles of {quoted(name)} are said to be that of exactly one child"
            )
        if len({(role["column"], role["code"]) for role in roles}) < len(roles):
            raise ContradictionError(f"a value of {quoted(name)} has several roles")
        for role in roles:
            if role["code"] >= codes.get(role["column"], 0):
                raise ContradictionError(f"a role of {quoted(name)} is of no column, or of no code of it")
    if document["links"][0]["parent"] in document["roles"]:
        raise ContradictionError("the root's rows hang on none, and have no roles")
    return f"{sum(map(len, document['roles'].values()))} roles, of columns that are there"

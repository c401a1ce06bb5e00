"""Read types, NOT NULL, ENUM and single-column CHECKs of SQL's ``CREATE TABLE``, using sqlglot.

Supported CHECKs: ``a BETWEEN 0 AND 9``, ``a IN (...)``, ``a = ANY (ARRAY[...])``, ``a = 1``,
``a = 'f' OR a = 'm'``, comparisons with a number, and conjunctions (AND) of these. Messages name all others.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sdv_plausible.table.declared.codebook import (
    Codebook,
    CodebookReader,
    Message,
    categorical_declaration,
    parse_number,
    read_text,
)

_DIALECTS = ("", "postgres", "tsql", "mysql", "oracle")
_ROWS, _LAST_ROW = re.compile(r"^COPY ", re.MULTILINE | re.IGNORECASE), re.compile(r"^\\\.$", re.MULTILINE)
_OF_PROGRAMS = re.compile(r"^\\[^\n]*$|^GO[ \t]*$", re.MULTILINE | re.IGNORECASE)
_TYPE_IN_BRACKETS = re.compile(r"(?<=\])([ \t]+)\[(\w+)\]")  # [age] [int], as SQL Server writes it
_SIGNS = {"LT": "<", "LTE": "<=", "GT": ">", "GTE": ">=", "EQ": "="}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
_TOO_DEEP = "a condition or a bracket is nested too deeply to be read: split it into several"
Declaration = dict[str, Any]


def read_sql(path: Path) -> Codebook:
    """Read the columns of the tables that a file creates, such as a dump of their schema."""
    try:
        import sqlglot
    except ImportError as error:
        raise ImportError(
            f"{path}: SQL is read by sqlglot: pip install 'sdv-plausible[codebooks]'"
        ) from error
    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # our messages report what cannot be read
    text = _OF_PROGRAMS.sub(";", _without_rows(read_text(path, "SQL")))
    parsed: list[tuple[int, list[Any]]] = []
    failed = 0  # first line that a dialect did not parse
    for dialect in _DIALECTS:
        sql = _TYPE_IN_BRACKETS.sub(r"\1\2", text) if dialect == "tsql" else text
        try:
            statements = [
                statement for statement in sqlglot.parse(sql, read=dialect or None) if statement is not None
            ]
        except sqlglot.ParseError as error:
            failed = failed or int((error.errors or [{}])[0].get("line") or 1)
        except sqlglot.TokenError:
            failed = failed or 1
        except RecursionError:
            raise ValueError(f"{path}: {_TOO_DEEP}") from None
        else:
            parsed.append((sum(map(_unparsed, statements)), statements))
    if not parsed:
        raise ValueError(
            f"{path}: line {failed} is not understood by any of sqlglot's {len(_DIALECTS)} dialects"
        )
    tables = _Tables()
    try:
        for statement in min(parsed, key=lambda result: result[0])[1]:
            tables.read(statement)
    except RecursionError:
        raise ValueError(f"{path}: {_TOO_DEEP}") from None
    if not any(tables.tables.values()):
        raise ValueError(f"{path} must hold a CREATE TABLE with columns in brackets, and holds none")
    return tables.codebook()


def _without_rows(text: str) -> str:
    """Remove the rows of a dump, from COPY to a line with a backslash and a full stop."""
    pieces, end = list[str](), 0
    for copy in _ROWS.finditer(text):
        if copy.start() < end:
            continue
        if (last := _LAST_ROW.search(text, copy.end())) is None:
            break
        pieces.append(text[end : copy.start()])
        end = last.end()
    return ";".join([*pieces, text[end:]])


def _unparsed(statement: Any) -> int:
    """Penalty for the statements and types that a dialect did not parse."""
    from sqlglot import exp

    if isinstance(statement, exp.Command):
        return 1000
    types = (node.this for node in statement.find_all(exp.DataType))
    return sum(kind == exp.DataType.Type.USERDEFINED for kind in types)


class _Tables:
    """The columns of the tables read so far."""

    def __init__(self) -> None:
        self.tables: dict[str, dict[str, Declaration]] = {}
        self.messages: list[Message] = []

    def columns(self) -> tuple[dict[str, Declaration], set[str]]:
        """Columns of all tables, and the names with conflicting declarations, which are left open."""
        merged, conflicting = dict[str, Declaration](), set[str]()
        for columns in self.tables.values():
            for name, declaration in columns.items():
                if merged.setdefault(name, declaration) != declaration:
                    conflicting.add(name)
        return {
            n: {"sdtype": None} if n in conflicting else declaration for n, declaration in merged.items()
        }, conflicting

    def codebook(self) -> Codebook:
        """The code book, with messages about missing declarations."""
        for columns in self.tables.values():
            for name, declaration in columns.items():
                self._finish(name, declaration)
        columns_by_name, conflicting = self.columns()
        for name, declaration in columns_by_name.items():
            if name in conflicting:
                self.messages.append((name, "several tables have such a column, declared otherwise"))
            elif declaration["sdtype"] is None:
                self.messages.append((name, "no values are listed"))
        return Codebook(columns=columns_by_name, messages=tuple(dict.fromkeys(self.messages)))

    def _finish(self, name: str, declaration: Declaration) -> None:
        low, high = declaration.get("range_min"), declaration.get("range_max")
        if low is None or high is None:
            if declaration["sdtype"] == "numerical":
                self.messages.append((name, "no range is told: give both its ends, or it is learned"))
            elif declaration["sdtype"] == "datetime":
                self.messages.append((name, "give its range_min and range_max, or it is learned"))
        elif low > high:
            raise ValueError(f"column {name!r}: no number is between {low} and {high}")
        if declaration["sdtype"] is None:
            declaration.pop("range_is_nullable", None)

    def read(self, statement: Any) -> None:
        """Read CREATE TABLE, or constraints added by ALTER TABLE."""
        from sqlglot import exp

        if isinstance(statement, exp.Create) and statement.kind == "TABLE":
            schema = statement.this
            if isinstance(schema, exp.Schema):
                columns = self.tables.setdefault(schema.this.name, {})
                for part in schema.expressions:
                    self._part(columns, part)
        elif isinstance(statement, exp.Alter):
            for part in statement.find_all(exp.Constraint, exp.PrimaryKey):
                self._part(self.tables.get(statement.this.name, {}), part)

    def _part(self, columns: dict[str, Declaration], part: Any) -> None:
        """Read one column or constraint."""
        from sqlglot import exp

        if isinstance(part, exp.ColumnDef):
            if part.name in columns:
                raise ValueError(f"CREATE TABLE has two columns {part.name!r}: leave one out")
            columns[part.name] = {**_type(part.kind), "range_is_nullable": True}
            for constraint in part.constraints:
                self._part(columns, constraint.kind)
                if isinstance(constraint.kind, (exp.NotNullColumnConstraint, exp.PrimaryKeyColumnConstraint)):
                    columns[part.name]["range_is_nullable"] = bool(constraint.kind.args.get("allow_null"))
        elif isinstance(part, exp.CheckColumnConstraint):
            column_def = part.find_ancestor(exp.ColumnDef)
            for condition in _conditions(part.this):
                if not _apply_condition(columns, condition):
                    name = column_def.name if column_def else None
                    self.messages.append((name, f"the CHECK {condition.sql()} is not read"))
        elif isinstance(part, exp.Constraint):
            for inner in part.expressions:
                self._part(columns, inner)
        elif isinstance(part, exp.PrimaryKey):
            for key in part.find_all(exp.Identifier):
                if key.name in columns:
                    columns[key.name]["range_is_nullable"] = False


def _type(kind: Any) -> Declaration:
    from sqlglot import exp

    types = exp.DataType.Type
    if kind is None:
        return {"sdtype": None}
    arguments = [argument.this for argument in kind.expressions if isinstance(argument, exp.DataTypeParam)]
    if kind.this in (types.ENUM, types.ENUM8, types.ENUM16):
        return categorical_declaration(argument.name for argument in kind.expressions)
    if kind.this == types.BIT:
        return categorical_declaration([0, 1])
    if kind.this in exp.DataType.INTEGER_TYPES:
        return {"sdtype": "numerical", "decimal_places": 0}
    if kind.this == types.DECIMAL and arguments:
        digits = parse_number(arguments[1].name) if len(arguments) == 2 else 0
        is_supported = isinstance(digits, int) and 0 <= digits <= 15
        return {"sdtype": "numerical", **({"decimal_places": digits} if is_supported else {})}
    if kind.this in exp.DataType.REAL_TYPES:
        return {"sdtype": "numerical"}
    if kind.this == types.BOOLEAN:
        return {"sdtype": "boolean", "range_values": [False, True]}
    if kind.this in (types.DATE, types.DATE32):
        return {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"}
    date_types = exp.DataType.TEMPORAL_TYPES
    return {"sdtype": "datetime"} if kind.this in date_types else {"sdtype": None}


def _unwrapped(node: Any) -> Any:
    """A node without parentheses and casts."""
    from sqlglot import exp

    while isinstance(node, (exp.Paren, exp.Cast)):
        node = node.this
    return node


def _conditions(node: Any) -> Iterator[Any]:
    """The terms of a conjunction."""
    from sqlglot import exp

    pending = [node]
    while pending:
        condition = pending.pop().unnest()
        if isinstance(condition, exp.And):
            pending += [condition.expression, condition.this]
        else:
            yield condition


def _apply_condition(columns: dict[str, Declaration], condition: Any) -> bool:
    """Apply a condition to its column's declaration; False if it is not supported."""
    from sqlglot import exp

    if isinstance(condition, exp.Or):
        alternatives = [_unwrapped(term) for term in condition.flatten()]
        names = {_unwrapped(term.this).name for term in alternatives if isinstance(term, exp.EQ)}
        if not all(isinstance(term, exp.EQ) for term in alternatives) or len(names) != 1:
            return False
        return _set_values(columns.get(names.pop()), [_value(term.expression) for term in alternatives])
    column = _unwrapped(condition.this) if isinstance(condition.this, exp.Expression) else None
    declaration = columns.get(column.name) if isinstance(column, exp.Column) else None
    if isinstance(condition, exp.In):
        return _set_values(declaration, list(map(_value, condition.expressions)))
    if isinstance(condition, exp.Between):
        ends = _value(condition.args["low"]), _value(condition.args["high"])
        return declaration is not None and None not in ends and _set_range(declaration, *ends)
    sign = _SIGNS.get(type(condition).__name__)
    if sign is None:
        return False
    right = _unwrapped(condition.expression)
    if isinstance(right, exp.Any):
        listed = _unwrapped(right.this)
        return isinstance(listed, exp.Array) and _set_values(
            declaration, list(map(_value, listed.expressions))
        )
    if isinstance(right, exp.Column) and declaration is None:  # 0 <= age
        declaration, sign, right = columns.get(right.name), _FLIPPED[sign], column
    bound = _value(right)
    if declaration is None or not isinstance(bound, (int, float)):
        return False
    if declaration.get("decimal_places") == 0 and sign in ("<", ">"):
        bound = math.ceil(bound) - 1 if sign == "<" else math.floor(bound) + 1
    return _set_range(declaration, None if sign[0] == "<" else bound, None if sign[0] == ">" else bound)


def _set_values(declaration: Declaration | None, values: list[Any]) -> bool:
    if declaration is None or None in values or not values:
        return False
    declaration.pop("decimal_places", None)
    declaration.update(categorical_declaration(values))
    return True


def _set_range(declaration: Declaration, low: Any, high: Any) -> bool:
    if declaration["sdtype"] != "numerical" or isinstance(low, str) or isinstance(high, str):
        return False
    if low is not None:
        declaration["range_min"] = max(low, declaration.get("range_min", low))
    if high is not None:
        declaration["range_max"] = min(high, declaration.get("range_max", high))
    return True


def _value(node: Any) -> Any:
    from sqlglot import exp

    node = _unwrapped(node)
    if isinstance(node, exp.Neg):
        value = _value(node.this)
        return -value if isinstance(value, (int, float)) else None
    if isinstance(node, exp.National) or (isinstance(node, exp.Literal) and node.is_string):
        return node.name
    return parse_number(node.name) if isinstance(node, exp.Literal) else None


READER = CodebookReader(read_sql, endings=(".sql", ".ddl"))

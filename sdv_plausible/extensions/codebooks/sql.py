"""Declarations from SQL's ``CREATE TABLE``: types, NOT NULL, ENUM, and CHECKs of one column, read by sqlglot.

Of a CHECK these forms are read: ``a BETWEEN 0 AND 9``, ``a IN (...)``, ``a = ANY (ARRAY[...])``, ``a = 1``,
``a = 'f' OR a = 'm'``, comparisons with a number, and several of them joined by AND. Every other form is
named in a message.
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
    categories,
    number,
    read_text,
)

_DIALECTS = ("", "postgres", "tsql", "mysql", "oracle")
_ROWS, _LAST_ROW = re.compile(r"^COPY ", re.MULTILINE | re.IGNORECASE), re.compile(r"^\\\.$", re.MULTILINE)
_OF_PROGRAMS = re.compile(r"^\\[^\n]*$|^GO[ \t]*$", re.MULTILINE | re.IGNORECASE)
_TYPE_IN_BRACKETS = re.compile(r"(?<=\])([ \t]+)\[(\w+)\]")  # [age] [int], as SQL Server writes it
_SIGNS = {"LT": "<", "LTE": "<=", "GT": ">", "GTE": ">=", "EQ": "="}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
_TOO_DEEP = "a condition or a bracket nests too deeply to be read: split it into several"
Words = dict[str, Any]


def read_sql(path: Path) -> Codebook:
    """Read the columns of the tables that a file creates, such as a dump of their schema."""
    try:
        import sqlglot
    except ImportError as error:
        raise ImportError(
            f"{path}: SQL is read by sqlglot: pip install 'sdv-plausible[codebooks]'"
        ) from error
    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it says what it cannot read, as we do
    text, found, failed = (
        _OF_PROGRAMS.sub(";", _without_rows(read_text(path, "SQL"))),
        list[tuple[int, list[Any]]](),
        0,
    )
    for dialect in _DIALECTS:
        written = _TYPE_IN_BRACKETS.sub(r"\1\2", text) if dialect == "tsql" else text
        try:
            statements = [one for one in sqlglot.parse(written, read=dialect or None) if one is not None]
        except sqlglot.ParseError as error:
            failed = failed or int((error.errors or [{}])[0].get("line") or 1)
        except sqlglot.TokenError:
            failed = failed or 1
        except RecursionError:
            raise ValueError(f"{path}: {_TOO_DEEP}") from None
        else:
            found.append((sum(map(_unread, statements)), statements))
    if not found:
        raise ValueError(
            f"{path}: line {failed} is not understood by any of sqlglot's {len(_DIALECTS)} dialects"
        )
    tables = _Tables()
    try:
        for statement in min(found, key=lambda one: one[0])[1]:
            tables.read(statement)
    except RecursionError:
        raise ValueError(f"{path}: {_TOO_DEEP}") from None
    if not any(tables.tables.values()):
        raise ValueError(f"{path} must hold a CREATE TABLE with columns in brackets, and holds none")
    return tables.codebook()


def _without_rows(text: str) -> str:
    """The text without the rows that a dump has after COPY, up to a line of a backslash and a full stop."""
    kept, place = list[str](), 0
    for copy in _ROWS.finditer(text):
        if copy.start() < place:
            continue
        if (last := _LAST_ROW.search(text, copy.end())) is None:
            break
        kept.append(text[place : copy.start()])
        place = last.end()
    return ";".join([*kept, text[place:]])


def _unread(statement: Any) -> int:
    """What a dialect did not understand: statements, types."""
    from sqlglot import exp

    if isinstance(statement, exp.Command):
        return 1000
    kinds = (one.this for one in statement.find_all(exp.DataType))
    return sum(kind == exp.DataType.Type.USERDEFINED for kind in kinds)


class _Tables:
    """Columns as they are read."""

    def __init__(self) -> None:
        self.tables: dict[str, dict[str, Words]] = {}
        self.messages: list[Message] = []

    def columns(self) -> tuple[dict[str, Words], set[str]]:
        """Those of all tables; one that two declare otherwise is left open, and named."""
        merged, several = dict[str, Words](), set[str]()
        for columns in self.tables.values():
            for name, words in columns.items():
                if merged.setdefault(name, words) != words:
                    several.add(name)
        return {n: {"sdtype": None} if n in several else words for n, words in merged.items()}, several

    def codebook(self) -> Codebook:
        """Everything, with what is wanting."""
        for columns in self.tables.values():
            for name, words in columns.items():
                self._finish(name, words)
        found, several = self.columns()
        for name, words in found.items():
            if name in several:
                self.messages.append((name, "several tables have such a column, declared otherwise"))
            elif words["sdtype"] is None:
                self.messages.append((name, "no values are listed"))
        return Codebook(columns=found, messages=tuple(dict.fromkeys(self.messages)))

    def _finish(self, name: str, words: Words) -> None:
        low, high = words.get("range_min"), words.get("range_max")
        if low is None or high is None:
            if words["sdtype"] == "numerical":
                self.messages.append((name, "no range is told: give both its ends, or it is learned"))
            elif words["sdtype"] == "datetime":
                self.messages.append((name, "give its range_min and range_max, or it is learned"))
        elif low > high:
            raise ValueError(f"column {name!r}: no number is between {low} and {high}")
        if words["sdtype"] is None:
            words.pop("range_is_nullable", None)

    def read(self, statement: Any) -> None:
        """One statement: a table, or constraints that are added to one."""
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

    def _part(self, columns: dict[str, Words], part: Any) -> None:
        """One column, or one constraint of the table."""
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
            place = part.find_ancestor(exp.ColumnDef)
            for condition in _conditions(part.this):
                if not _reads(columns, condition):
                    name = place.name if place else None
                    self.messages.append((name, f"the CHECK {condition.sql()} is not read"))
        elif isinstance(part, exp.Constraint):
            for inner in part.expressions:
                self._part(columns, inner)
        elif isinstance(part, exp.PrimaryKey):
            for key in part.find_all(exp.Identifier):
                if key.name in columns:
                    columns[key.name]["range_is_nullable"] = False


def _type(kind: Any) -> Words:
    from sqlglot import exp

    known = exp.DataType.Type
    if kind is None:
        return {"sdtype": None}
    arguments = [one.this for one in kind.expressions if isinstance(one, exp.DataTypeParam)]
    if kind.this in (known.ENUM, known.ENUM8, known.ENUM16):
        return categories(one.name for one in kind.expressions)
    if kind.this == known.BIT:
        return categories([0, 1])
    if kind.this in exp.DataType.INTEGER_TYPES:
        return {"sdtype": "numerical", "decimal_places": 0}
    if kind.this == known.DECIMAL and arguments:
        digits = number(arguments[1].name) if len(arguments) == 2 else 0
        exact = isinstance(digits, int) and 0 <= digits <= 15
        return {"sdtype": "numerical", **({"decimal_places": digits} if exact else {})}
    if kind.this in exp.DataType.REAL_TYPES:
        return {"sdtype": "numerical"}
    if kind.this == known.BOOLEAN:
        return {"sdtype": "boolean", "range_values": [False, True]}
    if kind.this in (known.DATE, known.DATE32):
        return {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"}
    moments = exp.DataType.TEMPORAL_TYPES
    return {"sdtype": "datetime"} if kind.this in moments else {"sdtype": None}


def _plain(node: Any) -> Any:
    """A value or column without brackets and casts."""
    from sqlglot import exp

    while isinstance(node, (exp.Paren, exp.Cast)):
        node = node.this
    return node


def _conditions(node: Any) -> Iterator[Any]:
    """What is joined by AND."""
    from sqlglot import exp

    rest = [node]
    while rest:
        inner = rest.pop().unnest()
        if isinstance(inner, exp.And):
            rest += [inner.expression, inner.this]
        else:
            yield inner


def _reads(columns: dict[str, Words], condition: Any) -> bool:
    """Take a condition on one column into its words."""
    from sqlglot import exp

    if isinstance(condition, exp.Or):
        alternatives = [_plain(one) for one in condition.flatten()]
        named = {_plain(one.this).name for one in alternatives if isinstance(one, exp.EQ)}
        if not all(isinstance(one, exp.EQ) for one in alternatives) or len(named) != 1:
            return False
        return _lists(columns.get(named.pop()), [_value(one.expression) for one in alternatives])
    left = _plain(condition.this) if isinstance(condition.this, exp.Expression) else None
    words = columns.get(left.name) if isinstance(left, exp.Column) else None
    if isinstance(condition, exp.In):
        return _lists(words, list(map(_value, condition.expressions)))
    if isinstance(condition, exp.Between):
        ends = _value(condition.args["low"]), _value(condition.args["high"])
        return words is not None and None not in ends and _bounded(words, *ends)
    sign = _SIGNS.get(type(condition).__name__)
    if sign is None:
        return False
    right = _plain(condition.expression)
    if isinstance(right, exp.Any):
        listed = _plain(right.this)
        return isinstance(listed, exp.Array) and _lists(words, list(map(_value, listed.expressions)))
    if isinstance(right, exp.Column) and words is None:  # 0 <= age
        words, sign, right = columns.get(right.name), _TURNED[sign], left
    end = _value(right)
    if words is None or not isinstance(end, (int, float)):
        return False
    if words.get("decimal_places") == 0 and sign in ("<", ">"):
        end = math.ceil(end) - 1 if sign == "<" else math.floor(end) + 1
    return _bounded(words, None if sign[0] == "<" else end, None if sign[0] == ">" else end)


def _lists(words: Words | None, values: list[Any]) -> bool:
    if words is None or None in values or not values:
        return False
    words.pop("decimal_places", None)
    words.update(categories(values))
    return True


def _bounded(words: Words, low: Any, high: Any) -> bool:
    if words["sdtype"] != "numerical" or isinstance(low, str) or isinstance(high, str):
        return False
    if low is not None:
        words["range_min"] = max(low, words.get("range_min", low))
    if high is not None:
        words["range_max"] = min(high, words.get("range_max", high))
    return True


def _value(node: Any) -> Any:
    from sqlglot import exp

    node = _plain(node)
    if isinstance(node, exp.Neg):
        found = _value(node.this)
        return -found if isinstance(found, (int, float)) else None
    if isinstance(node, exp.National) or (isinstance(node, exp.Literal) and node.is_string):
        return node.name
    return number(node.name) if isinstance(node, exp.Literal) else None


READER = CodebookReader(read_sql, endings=(".sql", ".ddl"))

"""Declarations from SQL's ``CREATE TABLE``: types, NOT NULL, ENUM, and CHECKs of one column.

Of a CHECK these forms are read: ``a BETWEEN 0 AND 9``, ``a IN (...)``, ``a = 1``, comparisons with a number,
and several of them joined by AND. Every other form is named in a message.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

from sdv_plausible.declaring.codebook import Codebook, categories, number, read_text

_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*.*?\*/)|(?P<text>'(?:[^']|'')*')|(?P<name>"[^"]+"|`[^`]+`|\[[^\]]+\])"""
    r"""|(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w]))|(?P<word>\w+)"""
    r"""|(?P<mark><=|>=|<>|!=|::|[(),;.<>=*+/%|~:-])""",
    re.DOTALL,
)
_WHOLE = {"INT", "INTEGER", "SMALLINT", "BIGINT", "TINYINT", "MEDIUMINT", "INT2", "INT4", "INT8"}
_FRACTION = {"REAL", "FLOAT", "DOUBLE", "FLOAT4", "FLOAT8"}
_EXACT = {"DECIMAL", "NUMERIC", "NUMBER"}
_DAYS = {"DATE"}
_MOMENTS = {"TIMESTAMP", "DATETIME", "TIMESTAMPTZ"}
_TABLE_WORDS = {"PRIMARY", "FOREIGN", "UNIQUE", "KEY", "INDEX"}
Token = tuple[str, str]
Tokens = list[Token]


def read_sql(path: Path) -> Codebook:
    """Read the columns of the one table that a file creates.

    Raises
    ------
    ValueError
        If there is no such statement or several, its brackets do not close, or bounds contradict.
    """
    tokens = _tokens(path, read_text(path, "SQL"))
    starts = [
        i for i, token in enumerate(tokens)
        if _upper(token) == "TABLE" and "CREATE" in map(_upper, tokens[max(0, i - 3):i])
    ]  # fmt: skip
    if len(starts) != 1:
        raise ValueError(f"{path} must hold one CREATE TABLE, and holds {len(starts)}: leave the others out")
    opening = next((i for i in range(starts[0], len(tokens)) if tokens[i][1] == "("), len(tokens))
    table = _Table()
    for part in _parts(_inside(path, tokens, opening)):
        table.read(part)
    if not table.columns:
        raise ValueError(f"{path}: CREATE TABLE has no columns in brackets")
    return table.codebook()


def _tokens(path: Path, text: str) -> Tokens:
    tokens, place = Tokens(), 0
    while place < len(text):
        token = _TOKEN.match(text, place)
        if token is None:
            line = text.count("\n", 0, place) + 1
            raise ValueError(f"{path}: line {line} is not understood from {text[place : place + 10]!r} on")
        kind, place = str(token.lastgroup), token.end()
        if kind == "name":
            tokens.append(("name", token[0][1:-1]))
        elif kind == "text":
            tokens.append(("text", token[0][1:-1].replace("''", "'")))
        elif kind != "space":
            tokens.append((kind, token[0]))
    return tokens


def _inside(path: Path, tokens: Tokens, opening: int) -> Tokens:
    """What is between a bracket and the one that closes it."""
    depth = 0
    for i in range(opening, len(tokens)):
        depth += (tokens[i] == ("mark", "(")) - (tokens[i] == ("mark", ")"))
        if depth == 0:
            return tokens[opening + 1 : i]
    raise ValueError(f"{path}: a bracket of CREATE TABLE is not closed")


def _parts(tokens: Tokens) -> list[Tokens]:
    """The list between commas that are in no brackets."""
    parts: list[Tokens] = [[]]
    depth = 0
    for token in tokens:
        depth += (token == ("mark", "(")) - (token == ("mark", ")"))
        if token == ("mark", ",") and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


class _Table:
    """Columns as they are read."""

    def __init__(self) -> None:
        self.columns: dict[str, dict[str, Any]] = {}
        self.messages: list[str] = []

    def codebook(self) -> Codebook:
        """Everything, with what is wanting."""
        for name, words in self.columns.items():
            low, high = words.get("range_min"), words.get("range_max")
            if (low is None) != (high is None):
                words.pop("range_min", None)
                words.pop("range_max", None)
            if words["sdtype"] == "numerical" and (low is None or high is None):
                self.messages.append(f"{name}: no range is told: give both its ends, or it is learned")
            elif words["sdtype"] == "datetime":
                self.messages.append(f"{name}: give its range_min and range_max, or it is learned")
            elif words["sdtype"] is None:
                self.messages.append(f"{name}: no values are listed")
            elif low is not None and high is not None and low > high:
                raise ValueError(f"column {name!r}: no number is between {low} and {high}")
        return Codebook(columns=self.columns, messages=tuple(self.messages))

    def read(self, part: Tokens) -> None:
        """One column, or one constraint of the table."""
        first = _upper(part[0])
        if first == "CONSTRAINT" and len(part) > 2:
            part = part[2:]
            first = _upper(part[0])
        if first == "CHECK":
            self._check(part[2:-1], "")
        elif first not in _TABLE_WORDS and len(part) > 1:
            name = part[0][1]
            if name in self.columns:
                raise ValueError(f"CREATE TABLE has two columns {name!r}: leave one out")
            self._column(name, part[1:])
        elif first in ("PRIMARY",):
            for kind, name in part:
                if kind in ("word", "name") and name in self.columns:
                    self.columns[name]["range_is_nullable"] = False

    def _column(self, name: str, rest: Tokens) -> None:
        kind = _upper(rest[0])
        arguments: list[Tokens] = []
        if len(rest) > 1 and rest[1][1] == "(":
            arguments = _parts(_inside(Path(name), rest, 1))
        self.columns[name] = words = _type(kind, arguments)
        words["range_is_nullable"] = True
        for i, token in enumerate(rest):
            following = _upper(rest[i + 1]) if i + 1 < len(rest) else ""
            if (_upper(token) == "NOT" and following == "NULL") or (
                _upper(token) == "PRIMARY" and following == "KEY"
            ):
                words["range_is_nullable"] = False
            elif _upper(token) == "CHECK" and following == "(":
                self._check(_inside(Path(name), rest, i + 1), name)
        if words["sdtype"] is None:
            del words["range_is_nullable"]

    def _check(self, tokens: Tokens, within: str) -> None:
        """Conditions on single columns, joined by AND; whatever else there is, is named."""
        for condition in _conditions(tokens):
            if not self._condition(condition):
                place = f"{within}: " if within else ""
                self.messages.append(
                    f"{place}the CHECK {' '.join(text for _, text in condition)} is not read"
                )

    def _condition(self, tokens: Tokens) -> bool:
        while len(tokens) > 1 and tokens[0][1] == "(" and tokens[-1][1] == ")":
            tokens = tokens[1:-1]
        if len(tokens) < 3 or tokens[0][1] not in self.columns or tokens[0][0] == "text":
            return False
        words, sign, values = self.columns[tokens[0][1]], _upper(tokens[1]), tokens[2:]
        if sign == "IN" and values[0][1] == "(" and values[-1][1] == ")":
            listed = [_value(part) for part in _parts(values[1:-1])]
            if None in listed:
                return False
            words.pop("decimal_places", None)
            words.update(categories(listed))
            return True
        if words["sdtype"] != "numerical":
            return False
        found = [number(text) if kind == "number" else None for kind, text in values]
        if sign == "BETWEEN" and len(values) == 3 and None not in (found[0], found[2]):
            return _bounded(words, found[0], found[2])
        if len(values) != 1 or found[0] is None or sign not in ("<", "<=", ">", ">=", "="):
            return False
        end, is_whole = found[0], words.get("decimal_places") == 0
        if is_whole and sign in ("<", ">"):
            end = math.ceil(end) - 1 if sign == "<" else math.floor(end) + 1
        return _bounded(words, None if sign[0] == "<" else end, None if sign[0] == ">" else end)


def _bounded(words: dict[str, Any], low: float | None, high: float | None) -> bool:
    if low is not None:
        words["range_min"] = max(low, words.get("range_min", low))
    if high is not None:
        words["range_max"] = min(high, words.get("range_max", high))
    return True


def _type(kind: str, arguments: list[Tokens]) -> dict[str, Any]:
    if kind == "ENUM":
        return categories(text for part in arguments for _, text in part)
    if kind in _WHOLE:
        return {"sdtype": "numerical", "decimal_places": 0}
    if kind in _EXACT:
        digits = number(arguments[1][0][1]) if len(arguments) == 2 else 0 if len(arguments) == 1 else None
        exact = isinstance(digits, int) and 0 <= digits <= 15
        return {"sdtype": "numerical", **({"decimal_places": digits} if exact else {})}
    if kind in _FRACTION:
        return {"sdtype": "numerical"}
    if kind in ("BOOLEAN", "BOOL"):
        return {"sdtype": "boolean", "range_values": [False, True]}
    if kind in _DAYS:
        return {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"}
    return {"sdtype": "datetime"} if kind in _MOMENTS else {"sdtype": None}


def _conditions(tokens: Tokens) -> list[Tokens]:
    """What is joined by AND, where nothing is joined by OR or denied; the AND of BETWEEN joins nothing."""
    if any(_upper(token) in ("OR", "NOT") for token in tokens):
        return [tokens]
    found: list[Tokens] = [[]]
    depth, is_between = 0, False
    for token in tokens:
        depth += (token == ("mark", "(")) - (token == ("mark", ")"))
        if _upper(token) == "AND" and depth == 0 and not is_between:
            found.append([])
            continue
        is_between = (is_between or _upper(token) == "BETWEEN") and _upper(token) != "AND"
        found[-1].append(token)
    return found


def _value(part: Tokens) -> Any:
    if len(part) != 1:
        return None
    kind, text = part[0]
    return text if kind == "text" else number(text) if kind == "number" else None


def _upper(token: Token) -> str:
    """A word or mark; names in quotes and texts are neither."""
    return token[1].upper() if token[0] in ("word", "mark") else ""

"""Read labels and missing values from SPSS syntax (``.sps``); other commands are skipped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from sdv_plausible.table.declared.codebook import (
    Codebook,
    CodebookReader,
    Message,
    labelled_declaration,
    parse_number,
    read_text,
)

_TOKEN = re.compile(
    r"""(?P<text>'(?:[^'\n]|'')*'|"(?:[^"\n]|"")*")"""
    r"""|(?P<end>\.(?=[ \t]*(?:\n|$)))"""
    r"""|(?P<mark>[/(),=])"""
    r"""|(?P<word>[^\s/(),='"]+?(?=\.[ \t]*(?:\n|$)|[\s/(),='"]|$))"""
    r"""|(?P<space>\s+)"""
)
_COMMENT = re.compile(r"/\*.*?(?:\*/|$)", re.MULTILINE)
_NOTE = re.compile(r"(\*|COMMENT\b)[^\n]*(\n(?!\s*\n)[^\n]*)*?\.?[ \t]*(\n|$)", re.IGNORECASE)
Tokens = list[tuple[str, str]]


def read_spss_syntax(path: Path) -> Codebook:
    """Read VALUE LABELS, MISSING VALUES and VARIABLE LABELS of a syntax file."""
    labels: dict[str, list[tuple[str, str]]] = {}
    missing: dict[str, list[str]] = {}
    messages: list[Message] = []
    skipped: list[str] = []
    for command in _commands(path, read_text(path, "SPSS syntax")):
        words = [text.upper() for _, text in command[:3]]
        start = 1 if words[0] == "ADD" else 0
        if _is(words[start:], "VALUE", "LABELS"):
            for names, values in _groups(path, command[start + 2 :]):
                for name in _names(names, messages):
                    labels.setdefault(name, []).extend(values)
        elif _is(words, "MISSING", "VALUES"):
            _read_missing(path, command[2:], missing, messages)
        elif _is(words, "VARIABLE", "LABELS"):
            for kind, name in command[2:]:
                if kind == "word":
                    labels.setdefault(name, [])
        elif words[0] not in ("*", "COMMENT") and not words[0].startswith("*"):
            skipped.append(words[0])
    if skipped:
        messages.append((None, f"commands that are not read: {', '.join(dict.fromkeys(skipped))}"))
    columns = {}
    for name in dict.fromkeys([*labels, *missing]):
        codes = labels.get(name, [])
        is_text = any(kind == "text" for kind, _ in codes)
        columns[name], column_messages = labelled_declaration(
            name, list(dict.fromkeys(code for _, code in codes)), missing.get(name, []), is_text=is_text
        )
        messages += column_messages
    return Codebook(columns=columns, messages=tuple(messages))


def _is(words: Sequence[str], first: str, second: str) -> bool:
    """Whether a command starts with these keywords, which SPSS lets users shorten to three letters."""
    return len(words) > 1 and all(
        len(word) > 2 and keyword.startswith(word)
        for word, keyword in zip(words[:2], (first, second), strict=True)
    )


def _commands(path: Path, text: str) -> Iterator[Tokens]:
    """Tokens of each command; a command ends with a full stop at the end of a line."""
    text, position, command = _COMMENT.sub(" ", text.replace("\r\n", "\n")), 0, Tokens()
    while position < len(text):
        if not command and (note := _NOTE.match(text, position)):
            position = note.end()
            continue
        token = _TOKEN.match(text, position)
        if token is None or token.end() == position:
            line = text.count("\n", 0, position) + 1
            raise ValueError(f"{path}: line {line} has a text without an end: close its quotes")
        kind, position = str(token.lastgroup), token.end()
        if kind == "end":
            if command:
                yield command
            command = []
        elif kind != "space":
            content = token[0]
            command.append(
                (kind, content[1:-1].replace(content[0] * 2, content[0]) if kind == "text" else content)
            )
    if command:
        yield command


def _groups(path: Path, tokens: Tokens) -> Iterator[tuple[list[str], Tokens]]:
    """Groups of VALUE LABELS: names, then pairs of a value and its label, then a slash."""
    names: list[str] = []
    values: Tokens = []
    position = 0
    while position < len(tokens):
        kind, text = tokens[position]
        next_kind = tokens[position + 1][0] if position + 1 < len(tokens) else ""
        if text == "/" and kind == "mark":
            if names:
                yield names, values
            names, values = [], []
        elif kind in ("text", "word") and next_kind == "text" and (names or kind == "text"):
            if not values and not names:
                raise ValueError(f"{path}: VALUE LABELS: {text!r:.60} must be the name of a variable")
            if kind == "word" and not values and parse_number(text.removeprefix("+")) is None:
                raise ValueError(
                    f"{path}: VALUE LABELS: after {text!r:.60} there must be a value, then its label"
                )
            values.append((kind, text))
            position += 1
        elif kind == "word" and not values:
            names.append(text)
        elif kind != "mark":
            raise ValueError(
                f"{path}: VALUE LABELS of {', '.join(names):.200}: the value {text!r:.60} has no label"
            )
        position += 1
    if names:
        yield names, values


def _names(words: Sequence[str], messages: list[Message]) -> list[str]:
    """Names of variables; ``a TO b`` needs their order, which the syntax file does not have."""
    if any(word.upper() == "TO" for word in words):
        message = f"not understood, as the order of the variables is not here: {' '.join(words)}"
        messages.append((None, message))
        return []
    return list(words)


def _read_missing(path: Path, tokens: Tokens, missing: dict[str, list[str]], messages: list[Message]) -> None:
    names: list[str] = []
    values: list[str] | None = None
    for kind, text in tokens:
        if kind == "mark" and text == "(":
            values = []
        elif kind == "mark" and text == ")" and values is not None:
            keywords = [word.upper() for word in values]
            if "THRU" in keywords or "THROUGH" in keywords:
                message = f"a range of missing values is not read: {' '.join(values)}"
                messages.append((", ".join(names), message))
                values = []
            for name in _names(names, messages):
                missing[name] = values
            names, values = [], None
        elif values is not None:
            values += [text] if kind != "mark" else []
        elif kind == "word":
            names.append(text)
    if names or values is not None:
        raise ValueError(
            f"{path}: MISSING VALUES of {', '.join(names):.200} must have values in brackets: (9)"
        )


READER = CodebookReader(read_spss_syntax, endings=(".sps",))

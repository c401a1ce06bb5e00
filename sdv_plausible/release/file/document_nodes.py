"""Checked access to a parsed document from an untrusted file.

A :class:`DocumentNode` is a value of the document with its path. Its methods return a checked value, or raise
``ValueError`` with the path and the rule. The error never quotes the value, which may be long or private.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from json import dumps, loads
from typing import Any, TypeVar

import numpy as np

from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.release.file.json_documents import decode
from sdv_plausible.table.cells.canonical_forms import LONGEST_NAME, LONGEST_TEXT, is_text
from sdv_plausible.table.cells.cell_documents import read_value
from sdv_plausible.utils.text_output import escape_controls

_LONG_QUOTE = re.compile(r"""(?<!\w)(['"])(?:(?!\1).){40,}\1?""")  # a long quotation from the file
MAX_INTEGER = 2**63 - 1
MAX_MESSAGE = 160  # length limit for another error's message, which may quote a value
Read = TypeVar("Read")


class InvalidFileError(ValueError):
    """A value of a document breaks a rule."""


def check_writable(
    field: str,
    subject: str,
    write: Callable[[], Any],
    read: Callable[[DocumentNode], object],
    path: str = "it",
) -> None:
    """Check before a fit that a release file can hold a value, by writing it and reading it back."""
    try:
        read(DocumentNode(loads(dumps(write(), allow_nan=False)), path))
    except (TypeError, ValueError, OverflowError) as error:
        raise Refused.saying(field, f"{subject} cannot be stored in a release file: {error}") from None


class DocumentNode:
    """A value of a document, and its path, such as "domain.attributes[2].kind"."""

    def __init__(self, value: Any, path: str) -> None:
        self.value, self.path = value, path

    def refuse(self, rule: str) -> ValueError:
        """Return the error for a broken rule; the caller raises it."""
        return InvalidFileError(escape_controls(f"{self.path}: {rule}", keep=""))

    def validate(self, make: Callable[[], Read]) -> Read:
        """Call ``make``; re-raise its errors with this node's path and a truncated message."""
        try:
            return make()
        except InvalidFileError:
            raise
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
            text = _LONG_QUOTE.sub(r"\1...\1", " ".join(str(error).split()))
            raise self.refuse(text if len(text) <= MAX_MESSAGE else text[:MAX_MESSAGE] + "...") from None

    def fields(self, names: Collection[str]) -> dict[str, DocumentNode]:
        """Return the children of an object that must have exactly these names."""
        children = self.entries()
        if set(children) != set(names):
            raise self.refuse(f"must have exactly the entries {', '.join(sorted(names))}")
        return children

    def entries(self, most: int = 10_000) -> dict[str, DocumentNode]:
        """Return the children of an object, by name."""
        if not isinstance(self.value, dict) or len(self.value) > most:
            raise self.refuse(f"must be an object of at most {most} entries")
        for name in self.value:
            DocumentNode(name, f"{self.path}, an entry's name").text(LONGEST_NAME)
        path = f"{self.path}." if self.path else ""
        return {name: DocumentNode(value, f"{path}{name[:40]}") for name, value in self.value.items()}

    def items(self, most: int = 10_000_000) -> list[DocumentNode]:
        """Return the children of a list."""
        if not isinstance(self.value, list) or len(self.value) > most:
            raise self.refuse(f"must be a list of at most {most} items")
        return [DocumentNode(value, f"{self.path}[{i}]") for i, value in enumerate(self.value)]

    def text(self, most: int = LONGEST_TEXT, pattern: str | None = None) -> str:
        """Return a string, which must match ``pattern`` if there is one."""
        if not isinstance(self.value, str) or not is_text(self.value, most):
            raise self.refuse(f"must be a text of at most {most} whole Unicode letters")
        if pattern is not None and not re.fullmatch(pattern, self.value):
            raise self.refuse(f"must be a text of the form {pattern}")
        return self.value

    def choice(self, options: Collection[str]) -> Any:
        """Return a string, which must be one of the options."""
        if not isinstance(self.value, str) or self.value not in options:
            raise self.refuse(f"must be one of {', '.join(sorted(options))}")
        return self.value

    def lookup(self, known: Mapping[str, Read]) -> Read:
        """Return the entry of ``known`` for a column name."""
        if not isinstance(self.value, str) or self.value not in known:
            raise self.refuse("must be the name of a column of the domain")
        return known[self.value]

    def boolean(self) -> bool:
        """Return a bool."""
        if not isinstance(self.value, bool):
            raise self.refuse("must be true or false")
        return self.value

    def whole(self, low: int = -MAX_INTEGER, high: int = MAX_INTEGER) -> int:
        """Return an integer in a range."""
        if not isinstance(self.value, int) or isinstance(self.value, bool) or not low <= self.value <= high:
            raise self.refuse(f"must be a whole number from {low} to {high}")
        return self.value

    def number(self, low: float = -math.inf, high: float = math.inf) -> float:
        """Return a finite number in a range, int or float as written."""
        value = self.value
        is_finite = (
            isinstance(value, (int, float))
            and not isinstance(value, bool)
            and abs(value) <= float(np.finfo(float).max)
        )
        if not is_finite or not low <= value <= high:
            raise self.refuse(f"must be a finite number from {low} to {high}")
        return value

    def optional(self, read: Callable[[DocumentNode], Read]) -> Read | None:
        """Return None for null, else ``read(self)``."""
        return None if self.value is None else read(self)

    def cell(self) -> Any:
        """Return the value of a table's cell."""
        return self.validate(lambda: read_value(self.value))

    def any_array(self) -> np.ndarray:
        """Return an array of int64 or float64, of any shape."""
        return self.validate(lambda: decode(self.value))

    def array(self, kind: str, shape: tuple[int | None, ...]) -> np.ndarray:
        """Return an array of int64 ("whole") or float64 ("real"); None in ``shape`` is any length."""
        values = self.any_array()
        if values.dtype != (np.int64 if kind == "whole" else np.float64):
            raise self.refuse(f"must be an array of {kind} numbers")
        sides = tuple(any if side is None else side for side in shape)
        if values.ndim != len(shape) or any(
            expected not in (any, side) for expected, side in zip(sides, values.shape, strict=True)
        ):
            raise self.refuse(f"must be an array of shape {tuple('any' if s is None else s for s in shape)}")
        return values

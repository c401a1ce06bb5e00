"""Untrusted text, with control characters escaped for terminals, logs and pages."""

from __future__ import annotations

import re
import traceback
from pathlib import Path
from typing import Any

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def escape_controls(text: str, keep: str = "\n\t") -> str:
    """Escape control characters as in JSON, so that they are shown and not executed."""
    # Control characters may move the cursor, set titles, end lines or change the writing direction. Valid
    # JSON remains valid.
    return _CONTROL.sub(lambda match: match[0] if match[0] in keep else f"\\u{ord(match[0]):04x}", text)


_PACKAGE = Path(__file__).parents[1]


def one_line(error: BaseException, rows_were_read: bool, way_out: str = "") -> str:
    """Return the error's text; once rows were read, hide foreign errors, which may quote cells."""
    if isinstance(error, OSError) and error.strerror:
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    if rows_were_read and frames and _PACKAGE not in Path(frames[-1].filename).parents:
        return f"{type(error).__name__} while the rows were processed; its text may quote cells{way_out}"
    return " ".join(str(error).split()) or type(error).__name__


def unhashable_types(column: Any) -> list[str]:
    """Return the type names of unhashable cells, such as lists and dicts."""
    types = set(map(type, column)) if column.dtype == object else set()
    return sorted(cell_type.__name__ for cell_type in types if cell_type.__hash__ is None)

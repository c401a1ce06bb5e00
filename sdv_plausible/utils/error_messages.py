"""What errors may say: one line that quotes no cell, and of cells that cannot be values the types alone."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).parents[1]


def one_line(error: BaseException, rows_were_read: bool, way_out: str = "") -> str:
    """The error's text; that of others, once rows were read, may quote cells, and is not shown."""
    if isinstance(error, OSError) and error.strerror:
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    if rows_were_read and frames and _PACKAGE not in Path(frames[-1].filename).parents:
        return f"{type(error).__name__} while the rows were worked on; its text may quote cells{way_out}"
    return " ".join(str(error).split()) or type(error).__name__


def unhashable_types(column: Any) -> list[str]:
    """Names of the types of cells that cannot be values, because they cannot be compared: lists, dicts."""
    kinds = set(map(type, column)) if column.dtype == object else set()
    return sorted(kind.__name__ for kind in kinds if kind.__hash__ is None)

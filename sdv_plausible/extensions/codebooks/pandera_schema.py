"""Read pandera schemas written by ``to_json`` and ``to_yaml``, without running pandera."""

from __future__ import annotations

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
    read_document,
    read_text,
)

MOST_ENTRIES = 1_000_000
_LOW = {"greater_than_or_equal_to", "greater_than", "ge", "gt"}
_HIGH = {"less_than_or_equal_to", "less_than", "le", "lt"}


def read_pandera(path: Path) -> Codebook:
    """Read the columns of a schema."""
    document = _document(path)
    columns = document.get("columns") if isinstance(document, dict) else None
    if not isinstance(columns, dict) or not columns or not all(isinstance(c, dict) for c in columns.values()):
        raise ValueError(f"{path} is no schema of pandera: it must map 'columns' to a dtype and checks each")
    declarations: dict[str, dict[str, Any]] = {}
    messages: list[Message] = []
    for name, column in columns.items():
        declarations[str(name)], column_messages = _column(str(name), column)
        messages += column_messages
    if document.get("checks"):
        messages.append((None, "checks of the whole table are not read"))
    return Codebook(columns=declarations, messages=tuple(messages))


def _document(path: Path) -> Any:
    if path.suffix.lower() == ".json":
        return read_document(path)
    try:
        import yaml
    except ImportError as error:
        raise ImportError(
            f"reading {path} needs PyYAML: pip install 'sdv-plausible[codebooks]', or write it with to_json"
        ) from error
    try:
        document = yaml.safe_load(read_text(path, "schema"))
    except yaml.YAMLError as error:
        raise ValueError(f"{path} is no YAML: {' '.join(str(error).split())}") from error
    _check_size(path, document)
    return document


def _check_size(path: Path, document: Any) -> None:
    """Reject YAML whose aliases expand to too many entries: a few lines may mean billions."""
    pending, count = [document], 0
    while pending:
        node = pending.pop()
        count += 1
        if count > MOST_ENTRIES:
            raise ValueError(
                f"{path} has more than {MOST_ENTRIES:,} entries once its aliases are followed: write them out"
            )
        pending += node if isinstance(node, list) else node.values() if isinstance(node, dict) else ()


def _column(name: str, column: dict[str, Any]) -> tuple[dict[str, Any], list[Message]]:
    messages, values = [], None
    ends: dict[str, float] = {}
    for check, statistics in _checks(name, column.get("checks")):
        if check in ("isin", "eq", "equal_to"):
            listed = statistics.get("allowed_values", statistics.get("value"))
            values = listed if isinstance(listed, list) else [listed]
        elif check in ("in_range", "between"):
            ends |= {"range_min": _number(name, statistics.get("min_value")),
                     "range_max": _number(name, statistics.get("max_value"))}  # fmt: skip
        elif check in _LOW | _HIGH:
            keys = [key for key in ("min_value", "max_value", "value") if key in statistics]
            bound = _number(name, statistics[keys[0]] if keys else None)
            ends["range_min" if check in _LOW else "range_max"] = bound
        else:
            messages.append((name, f"the check {check} is not understood"))
    declaration, column_messages = _words(name, str(column.get("dtype") or ""), values, ends)
    nullable = column.get("nullable")
    if isinstance(nullable, bool) and declaration["sdtype"]:
        declaration["range_is_nullable"] = nullable
    return declaration, messages + column_messages


def _checks(column: str, checks: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Names and statistics of checks: a mapping or a list with options, depending on pandera's version."""
    if isinstance(checks, dict):
        for name, statistics in checks.items():
            yield str(name), statistics if isinstance(statistics, dict) else {"value": statistics}
        return
    if not isinstance(checks, (list, type(None))):
        raise ValueError(f"column {column!r}: checks ({checks!r:.60}) must be a mapping or a list")
    for check in checks or ():
        options = check.get("options") or {} if isinstance(check, dict) else None
        if not isinstance(options, dict):
            raise ValueError(f"column {column!r}: a check ({check!r:.60}) must be an object with 'options'")
        yield str(options.get("check_name")), check


def _words(
    name: str, dtype: str, values: list[Any] | None, ends: dict[str, float]
) -> tuple[dict[str, Any], list[Message]]:
    dtype_name = dtype.casefold()
    if values is not None:
        return categorical_declaration(values), []
    if dtype_name.startswith("bool"):
        return {"sdtype": "boolean", "range_values": [False, True]}, []
    if re.match(r"u?int|float|decimal", dtype_name):
        no_decimals = {"decimal_places": 0} if "int" in dtype_name else {}
        if len(ends) == 2:
            return {"sdtype": "numerical", **ends, **no_decimals}, []
        return {"sdtype": "numerical", **ends, **no_decimals}, [
            (name, "no range is told: give both its ends, or it is learned")
        ]
    if dtype_name.startswith(("datetime", "date", "timestamp")):
        return {"sdtype": "datetime"}, [(name, "give its datetime_format, range_min and range_max")]
    return {"sdtype": None}, [(name, "no values are listed")]


def _number(name: str, value: Any) -> float:
    bound = parse_number(value)
    if bound is None:
        raise ValueError(f"column {name!r}: the bound of a check ({value!r:.60}) must be a number")
    return bound


def looks_like(document: Any) -> bool:
    """Whether a document is a pandera schema."""
    return isinstance(document, dict) and "schema_type" in document


READER = CodebookReader(read_pandera, endings=(".json", ".yaml", ".yml"), recognizes=looks_like)

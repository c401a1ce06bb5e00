"""Labels in files of SPSS (``.sav``, ``.zsav``) and Stata (``.dta``): their metadata alone, never a row."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from sdv_plausible.declaring.codebook import Codebook, Message, labelled


def read_statistics_file(path: Path) -> Codebook:
    """Read the value labels and missing values that a file's header holds; no row is read."""
    try:
        import pyreadstat
    except ImportError as error:
        raise ImportError(
            f"reading {path} needs pyreadstat: pip install 'sdv-plausible[codebooks]', or save the labels as "
            "syntax (.sps)"
        ) from error
    read = pyreadstat.read_dta if path.suffix.lower() == ".dta" else pyreadstat.read_sav
    try:
        _, found = read(str(path), metadataonly=True, user_missing=True)  # else none is told
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeError) as error:
        raise ValueError(f"{path} cannot be read as a file of SPSS or Stata: {error}") from error
    columns: dict[str, dict[str, Any]] = {}
    messages: list[Message] = []
    kinds = getattr(found, "readstat_variable_types", None) or {}
    for name in found.column_names:
        codes = [_code(value) for value in found.variable_value_labels.get(name, {})]
        is_text = kinds.get(name) == "string"
        tagged = [] if is_text else [code for code in codes if isinstance(code, str)]  # Stata's .a to .z
        codes = [code for code in codes if code not in tagged]
        missing, said = _missing(name, found, tagged)
        messages += said
        columns[name], said = labelled(name, codes, missing, is_text=is_text)
        messages += said
    return Codebook(columns=columns, messages=tuple(messages))


def _missing(name: str, found: Any, own_tags: list[str]) -> tuple[list[Any], list[Message]]:
    """Single missing values; ranges of them are named."""
    values: list[Any] = []
    messages: list[Message] = []
    for entry in (getattr(found, "missing_ranges", None) or {}).get(name, []):
        low, high = (entry["lo"], entry["hi"]) if isinstance(entry, dict) else (entry, entry)
        if low == high:
            values.append(_code(low))
        else:
            messages.append((name, f"a range of missing values is not read: {low} to {high}"))
    tagged = dict.fromkeys([*(getattr(found, "missing_user_values", None) or {}).get(name, []), *own_tags])
    if tagged:
        messages.append((name, f"tagged missing values are not read: {', '.join(map(str, tagged))}"))
    return values, messages


def _code(value: Any) -> Any:
    """A code as a table in CSV has it: 1, not 1.0."""
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return int(value)
    return value

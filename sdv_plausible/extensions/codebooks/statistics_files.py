"""Read labels from the headers of SPSS (``.sav``, ``.zsav``) and Stata (``.dta``) files, never rows."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sdv_plausible.table.declared.codebook import Codebook, CodebookReader, Message, labelled_declaration

SECONDS = 300  # time limit for a header
_CHILD = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from sdv_plausible.extensions.codebooks.statistics_files import header_in
print(json.dumps(header_in(sys.argv[2])))
"""


def read_statistics_file(path: Path) -> Codebook:
    """Read value labels and missing values from a file's header, without any row."""
    try:
        import pyreadstat  # noqa: F401  # for a clear message: a subprocess uses it
    except ImportError as error:
        raise ImportError(
            f"reading {path} needs pyreadstat: pip install 'sdv-plausible[codebooks]', or save the labels as "
            "syntax (.sps)"
        ) from error
    header = _header(path)
    if "error" in header:
        way_out = "save it anew with SPSS or Stata, or its labels as syntax (.sps)"
        raise ValueError(f"{path} cannot be read as a file of SPSS or Stata: {header['error']}; {way_out}")
    labels = {name: dict(value_labels) for name, value_labels in header["labels"]}
    columns: dict[str, dict[str, Any]] = {}
    messages: list[Message] = []
    for name in header["names"]:
        codes = [_code(value) for value in labels.get(name, {})]
        is_text = header["kinds"].get(name) == "string"
        tagged = [] if is_text else [code for code in codes if isinstance(code, str)]  # Stata's .a to .z
        codes = [code for code in codes if code not in tagged]
        missing, column_messages = _missing(name, header["ranges"], [*header["tags"].get(name, []), *tagged])
        messages += column_messages
        columns[name], column_messages = labelled_declaration(name, codes, missing, is_text=is_text)
        messages += column_messages
    return Codebook(columns=columns, messages=tuple(messages))


def _missing(name: str, ranges: Mapping[str, Any], tags: list[str]) -> tuple[list[Any], list[Message]]:
    """Single missing values, and messages about ranges and tags."""
    values: list[Any] = []
    messages: list[Message] = []
    for entry in ranges.get(name, []):
        low, high = (entry["lo"], entry["hi"]) if isinstance(entry, dict) else (entry, entry)
        if low == high:
            values.append(_code(low))
        else:
            messages.append((name, f"a range of missing values is not read: {low} to {high}"))
    if tagged := dict.fromkeys(tags):
        messages.append((name, f"tagged missing values are not read: {', '.join(map(str, tagged))}"))
    return values, messages


def _code(value: Any) -> Any:
    """A code as in CSV: 1, not 1.0."""
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return int(value)
    return value


def header_in(path: str) -> dict[str, Any]:
    """Content of a file's header as a JSON document, or ``error``."""
    import pyreadstat

    read = pyreadstat.read_dta if path.lower().endswith(".dta") else pyreadstat.read_sav
    try:
        _, metadata = read(
            path, metadataonly=True, user_missing=True
        )  # otherwise missing values are not reported
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeError) as error:
        return {"error": str(error)}
    return {
        "names": list(metadata.column_names),
        "labels": [(name, list(labels.items())) for name, labels in metadata.variable_value_labels.items()],
        "kinds": getattr(metadata, "readstat_variable_types", None) or {},
        "ranges": getattr(metadata, "missing_ranges", None) or {},
        "tags": getattr(metadata, "missing_user_values", None) or {},
    }


def _header(path: Path) -> dict[str, Any]:
    """Read the header in a subprocess, which a damaged file can crash."""
    # Isolated mode: otherwise a json.py next to the file would run.
    import_path = [
        str(Path(__file__).parents[3]),
        *(path_entry for path_entry in sys.path if Path(path_entry).is_absolute()),
    ]
    try:
        process = subprocess.run(
            [sys.executable, "-I", "-c", _CHILD, json.dumps(import_path), str(path.absolute())],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"error": f"its header was not read within {SECONDS} seconds"}
    try:
        header = json.loads(process.stdout)
    except ValueError:  # the subprocess crashed
        return {"error": "it is damaged"}
    return header if isinstance(header, dict) else {"error": "it is damaged"}


READER = CodebookReader(read_statistics_file, endings=(".sav", ".zsav", ".dta"))

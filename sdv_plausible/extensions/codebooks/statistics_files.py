"""Labels in files of SPSS (``.sav``, ``.zsav``) and Stata (``.dta``): their metadata alone, never a row."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sdv_plausible.table.declared.codebook import Codebook, CodebookReader, Message, labelled

SECONDS = 300  # for a header; what takes longer is damaged
_CHILD = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from sdv_plausible.extensions.codebooks.statistics_files import header_in
print(json.dumps(header_in(sys.argv[2])))
"""


def read_statistics_file(path: Path) -> Codebook:
    """Read the value labels and missing values that a file's header holds; no row is read."""
    try:
        import pyreadstat  # noqa: F401  # for a clear message: it is used in a process of its own
    except ImportError as error:
        raise ImportError(
            f"reading {path} needs pyreadstat: pip install 'sdv-plausible[codebooks]', or save the labels as "
            "syntax (.sps)"
        ) from error
    read = _header(path)
    if "error" in read:
        way_out = "save it anew with SPSS or Stata, or its labels as syntax (.sps)"
        raise ValueError(f"{path} cannot be read as a file of SPSS or Stata: {read['error']}; {way_out}")
    labels = {name: dict(one) for name, one in read["labels"]}
    columns: dict[str, dict[str, Any]] = {}
    messages: list[Message] = []
    for name in read["names"]:
        codes = [_code(value) for value in labels.get(name, {})]
        is_text = read["kinds"].get(name) == "string"
        tagged = [] if is_text else [code for code in codes if isinstance(code, str)]  # Stata's .a to .z
        codes = [code for code in codes if code not in tagged]
        missing, said = _missing(name, read["ranges"], [*read["tags"].get(name, []), *tagged])
        messages += said
        columns[name], said = labelled(name, codes, missing, is_text=is_text)
        messages += said
    return Codebook(columns=columns, messages=tuple(messages))


def _missing(name: str, ranges: Mapping[str, Any], tags: list[str]) -> tuple[list[Any], list[Message]]:
    """Single missing values; ranges of them are named."""
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
    """A code as a table in CSV has it: 1, not 1.0."""
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return int(value)
    return value


def header_in(path: str) -> dict[str, Any]:
    """What a file's header holds, as JSON has it; or ``error``."""
    import pyreadstat

    read = pyreadstat.read_dta if path.lower().endswith(".dta") else pyreadstat.read_sav
    try:
        _, found = read(path, metadataonly=True, user_missing=True)  # else no missing values are reported
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeError) as error:
        return {"error": str(error)}
    return {
        "names": list(found.column_names),
        "labels": [(name, list(one.items())) for name, one in found.variable_value_labels.items()],
        "kinds": getattr(found, "readstat_variable_types", None) or {},
        "ranges": getattr(found, "missing_ranges", None) or {},
        "tags": getattr(found, "missing_user_values", None) or {},
    }


def _header(path: Path) -> dict[str, Any]:
    """The same, read by a process of its own: a damaged file can end the library without an exception."""
    # Isolated: else a json.py beside the file would run.
    places = [str(Path(__file__).parents[3]), *(place for place in sys.path if Path(place).is_absolute())]
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", _CHILD, json.dumps(places), str(path.absolute())],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"error": f"its header was not read within {SECONDS} seconds"}
    try:
        found = json.loads(done.stdout)
    except ValueError:  # it was killed, or failed in a way of its own
        return {"error": "it is damaged"}
    return found if isinstance(found, dict) else {"error": "it is damaged"}


READER = CodebookReader(read_statistics_file, endings=(".sav", ".zsav", ".dta"))

"""Plants imports in a copy of the package and reports which contracts each one breaks.

The current folder holds the copy. Standard input is a JSON list of plants; each maps files to text that is appended.
Standard output is a JSON list with a mapping for each plant: contract name to whether it is kept. test_contracts.py runs this
in a new process, which imports the copy and not the package itself.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

os.environ["COLUMNS"] = "1000"  # one line per contract

from importlinter.cli import lint_imports

VERDICT = re.compile(r"^(?P<name>.+) (?P<verdict>KEPT|BROKEN)(?: \([^)]*\))?$", re.MULTILINE)


def verdicts() -> dict[str, bool]:
    """Map each contract's name to whether the package in the current folder keeps it."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        lint_imports(config_filename="pyproject.toml", cache_dir="cache")
    found = {match["name"]: match["verdict"] == "KEPT" for match in VERDICT.finditer(printed.getvalue())}
    assert found, printed.getvalue()
    return found


@contextlib.contextmanager
def planted(files: dict[str, str]) -> Iterator[None]:
    """Append text to files, and restore them on exit."""
    before = {Path(name): Path(name).read_text() if Path(name).exists() else None for name in files}
    try:
        for name, text in files.items():
            Path(name).write_text((before[Path(name)] or "") + text)
        yield
    finally:
        for path, text in before.items():
            path.unlink() if text is None else path.write_text(text)


if __name__ == "__main__":
    answers = []
    for plant in json.load(sys.stdin):
        with planted(plant):
            answers.append(verdicts())
    json.dump(answers, sys.stdout)

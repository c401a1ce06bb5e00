"""Run in a folder with a copy of the package: plants imports in it and says which contracts each one breaks.

Standard input: a JSON list of plants, each a mapping of files to the text put at their end. Standard
output: a JSON list, for each plant, of the contracts' names and whether they are kept. test_contracts.py
runs it in a process of its own, where nothing has imported the package yet, so that the copy is the one
found.
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
    """Each contract's name, and whether the package in the current folder keeps it."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        lint_imports(config_filename="pyproject.toml", cache_dir="cache")
    found = {match["name"]: match["verdict"] == "KEPT" for match in VERDICT.finditer(printed.getvalue())}
    assert found, printed.getvalue()
    return found


@contextlib.contextmanager
def planted(files: dict[str, str]) -> Iterator[None]:
    """The text at the end of each file; afterwards the files are as before."""
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

"""What was measured, line by line in a file: a run that was cut off goes on where it stopped."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Line = dict[str, Any]


class Store:
    """Lines ``{"item", "row", "repeat", ...}`` in a JSON-lines file.

    Parameters
    ----------
    path : Path
        The file; it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: list[Line] = (
            [json.loads(text) for text in path.read_text().splitlines()] if path.exists() else []
        )

    def once(self, item: str, row: str, repeat: int, measure: Callable[[], dict[str, Any]]) -> None:
        """Measure and keep, unless that was done before."""
        if any((line["item"], line["row"], line["repeat"]) == (item, row, repeat) for line in self.lines):
            return
        line = {"item": item, "row": row, "repeat": repeat, **_rounded(measure())}
        self.lines.append(line)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
        print({k: v for k, v in line.items() if not isinstance(v, list)}, flush=True)

    def forget(self, items: list[str]) -> None:
        """Drop what was measured of some items."""
        self.lines = [line for line in self.lines if line["item"] not in items]
        self.path.write_text(
            "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in self.lines), encoding="utf-8"
        )

    def of(self, item: str, row: str | None = None) -> list[Line]:
        """Lines of an item, in the order they were measured."""
        return [line for line in self.lines if line["item"] == item and row in (None, line["row"])]

    def rows(self, item: str) -> list[str]:
        """Names of an item's rows, in the order they were first measured."""
        return list(dict.fromkeys(line["row"] for line in self.of(item)))


def _rounded(values: dict[str, Any]) -> dict[str, Any]:
    return {
        k: [_short(v) for v in value] if isinstance(value, list) else _short(value)
        for k, value in values.items()
    }


def _short(value: Any) -> Any:
    return float(f"{value:.5g}") if isinstance(value, float) else value

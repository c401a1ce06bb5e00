"""What was measured, line by line in a file, each with what made it: a run that was cut off goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.paper.settings import Sizes

Line = dict[str, Any]
ROOT = Path(__file__).parents[2]
# What can change a number: not how results are shown, and no door, page or command of the package.
SOURCES = (
    *(f"benchmarks/paper/{name}.py" for name in ("data", "settings", "synthesis", "statistics", "classifiers", "generation")),
    *(f"benchmarks/paper/{name}.py" for name in ("linear", "private_linear", "diffprivlib_peer", "causes", "readings")),
    *(f"sdv_plausible/{package}" for package in ("datasets", "mechanism", "models", "privacy", "queries", "table/columns", "utils")),
    "sdv_plausible/fitting/fit.py", "sdv_plausible/evaluation/table_codes.py",
)  # fmt: skip
UNKNOWN = "before versions were kept"


class MixedVersionsError(ValueError):
    """Results that different code or settings made."""


@dataclass(frozen=True, kw_only=True)
class Version:
    """What made a result.

    Parameters
    ----------
    code : str
        Digest of ``SOURCES``, so that a commit that changes no number changes no version.
    libraries : str
        Versions of those that draw and learn.
    settings : str
        All numbers of rows, trees and draws but that of repeats.
    """

    code: str
    libraries: str
    settings: str

    @classmethod
    def of(cls, sizes: Sizes) -> Version:
        """The version of this checkout at some sizes."""
        numbers = {name: value for name, value in asdict(sizes).items() if name != "repeats"}
        return cls(code=code_digest(), libraries=_libraries(), settings=json.dumps(numbers))

    def __str__(self) -> str:
        return f"code {self.code}, {self.libraries}, {self.settings}"


@cache
def code_digest(root: Path = ROOT) -> str:
    """Twelve digits of the sources that can change a number."""
    found = hashlib.sha256()
    for name in SOURCES:
        place = root / name
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            found.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()[:12]


@cache
def _libraries() -> str:
    return ", ".join(f"{name} {version(name)}" for name in ("numpy", "scikit-learn", "opendp"))


@cache
def commit() -> str:
    """The commit that is checked out, with a + where files differ from it; empty outside a checkout."""
    asked = ["git", "-C", str(ROOT), "describe", "--always", "--abbrev=10", "--dirty=+", "--exclude=*"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    return done.stdout.strip()


class Store:
    """Lines ``{"item", "row", "repeat", ..., "made"}`` in a JSON-lines file.

    Parameters
    ----------
    path : Path
        The file; it need not exist.
    sizes : Sizes, optional
        What is measured from now on; None: the store is only read.
    """

    def __init__(self, path: Path, sizes: Sizes | None = None) -> None:
        self.path = path
        self.version = None if sizes is None else Version.of(sizes)
        self.lines: list[Line] = (
            [json.loads(text) for text in path.read_text().splitlines()] if path.exists() else []
        )

    def once(self, item: str, row: str, repeat: int, measure: Callable[[], dict[str, Any]]) -> None:
        """Measure and keep, unless that was done before."""
        if any((line["item"], line["row"], line["repeat"]) == (item, row, repeat) for line in self.lines):
            return
        line = {"item": item, "row": row, "repeat": repeat, **_rounded(measure())}
        if self.version is not None:
            line["made"] = {**asdict(self.version), "commit": commit()}
        self.lines.append(line)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
        print({k: v for k, v in line.items() if not isinstance(v, (list, dict))}, flush=True)

    def versions(self) -> dict[str, int]:
        """Every version that made lines, and how many."""
        found: dict[str, int] = {}
        for line in self.lines:
            found[_version(line)] = found.get(_version(line), 0) + 1
        return found

    def commits(self) -> list[str]:
        """The commits at which lines were made."""
        return sorted({line["made"]["commit"] for line in self.lines if "made" in line})

    def check_one_version(self) -> None:
        """Refuse lines of several versions, and lines of another one than what would now be measured.

        Raises
        ------
        MixedVersionsError
            Naming them.
        """
        known = self.versions()
        if len(known) > 1 or (self.version is not None and {*known} - {str(self.version)}):
            now = [f"{self.version} (now)"] if self.version is not None else []
            told = "; ".join([*(f"{name} ({number} lines)" for name, number in known.items()), *now])
            raise MixedVersionsError(
                f"{self.path.name} mixes what different code or settings made: {told}. Measure all of it anew: "
                "python -m benchmarks.paper rerun"
            )

    def forget(self, items: Iterable[str]) -> None:
        """Drop what was measured of some items."""
        self._keep([line for line in self.lines if line["item"] not in items])

    def forget_other_versions(self) -> None:
        """Drop what other code or settings made."""
        self._keep([line for line in self.lines if _version(line) == str(self.version)])

    def _keep(self, lines: list[Line]) -> None:
        self.lines = lines
        self.path.write_text(
            "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in self.lines), encoding="utf-8"
        )

    def of(self, item: str, row: str | None = None) -> list[Line]:
        """Lines of an item, in the order they were measured."""
        return [line for line in self.lines if line["item"] == item and row in (None, line["row"])]

    def rows(self, item: str) -> list[str]:
        """Names of an item's rows, in the order they were first measured."""
        return list(dict.fromkeys(line["row"] for line in self.of(item)))


def _version(line: Line) -> str:
    if "made" not in line:
        return UNKNOWN
    return str(Version(**{name: value for name, value in line["made"].items() if name != "commit"}))


def _rounded(values: dict[str, Any]) -> dict[str, Any]:
    return {
        k: [_short(v) for v in value] if isinstance(value, list) else _short(value)
        for k, value in values.items()
    }


def _short(value: Any) -> Any:
    return float(f"{value:.5g}") if isinstance(value, float) else value

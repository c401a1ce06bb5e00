"""Extensions, registered as entry points of installed packages, including this one.

An entry of the group ``sdv_plausible.extensions`` is called ``kind.name``. The kinds are in ``KINDS``;
docs/how_to/extend.md documents the object of each kind.
"""

from __future__ import annotations

import ast
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

GROUP = "sdv_plausible.extensions"
KINDS = ("learner", "model", "sdv_model", "command", "source", "codebook", "release", "page", "signer")


@cache
def _registered() -> dict[str, dict[str, EntryPoint]]:
    """Return entry points by kind and name; for duplicate names this package's entry wins."""
    by_kind: dict[str, dict[str, EntryPoint]] = {kind: {} for kind in KINDS}
    package = GROUP.partition(".")[0]
    points = entry_points(group=GROUP)
    for point in sorted(points, key=lambda entry: (entry.module.partition(".")[0] != package, entry.name)):
        kind, _, name = point.name.partition(".")
        if kind in by_kind and name:
            by_kind[kind].setdefault(name, point)
    return by_kind


def extension_names(kind: str) -> tuple[str, ...]:
    """Return the names of all extensions of a kind, this package's first, without importing them."""
    return tuple(_registered()[kind])


def extension_location(kind: str, name: str) -> str | None:
    """Return an extension's location, as ``module:object``, or None if the name is unknown."""
    point = _registered()[kind].get(name)
    return None if point is None else point.value


@cache
def constant_of(kind: str, name: str, constant: str) -> Any:
    """Return a literal constant of an extension's module, parsed from its source without import."""
    spec = find_spec(_registered()[kind][name].module)
    if spec is not None and spec.origin is not None:
        for node in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == constant:
                return ast.literal_eval(node.value)
    raise LookupError(f"{name} has no constant {constant}")


def extension(kind: str, name: str) -> Any:
    """Import an extension and return it.

    Raises
    ------
    LookupError
        If no installed package registers it.
    """
    point = _registered()[kind].get(name)
    if point is None:
        raise LookupError(
            f"no {kind} {name!r} is installed: the {kind}s of this package are registered when it is "
            "installed (pip install sdv-plausible), not from a copy of its files"
        )
    return point.load()

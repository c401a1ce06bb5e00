"""Extensions, found through the entry points of installed packages: this one registers its own the same way.

An entry of the group ``sdv_plausible.extensions`` is called ``kind.name``. The kinds are in ``KINDS``; docs/how_to/extend.md says what each refers to.
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
    """Entry points by kind and name; of two packages with one name, this package's counts."""
    found: dict[str, dict[str, EntryPoint]] = {kind: {} for kind in KINDS}
    for point in sorted(entry_points(group=GROUP), key=lambda one: (not _is_builtin(one), one.name)):
        kind, _, name = point.name.partition(".")
        if kind in found and name:
            found[kind].setdefault(name, point)
    return found


def _is_builtin(point: EntryPoint) -> bool:
    return point.module.partition(".")[0] == GROUP.partition(".")[0]


def extension_names(kind: str) -> tuple[str, ...]:
    """Names of all extensions of a kind, this package's first. Nothing is imported."""
    return tuple(_registered()[kind])


def extension_place(kind: str, name: str) -> str | None:
    """Where an extension is, as ``module:object``; None if there is none of this name."""
    point = _registered()[kind].get(name)
    return None if point is None else point.value


def constant_of(kind: str, name: str, constant: str) -> Any:
    """A literal constant of an extension's module, read from its source: nothing is imported but its package."""
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
            f"no {kind} {name!r} is installed: this package registers its own when it is installed "
            "(pip install sdv-plausible), not from a bare copy of its files"
        )
    return point.load()

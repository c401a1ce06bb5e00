"""Docstrings in the reference: roles, :class:`x.Y`, become code and links, paths of pages become links."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import griffe

ROLE = re.compile(r":(?:mod|func|class|meth|attr|data|exc):`~?([\w.]+)`")
PATH = re.compile(r"(?:``)?\b((?:\w+/)*\w+\.md)\b(?:``)?")
DOCS = Path(__file__).parent
SHOWN = frozenset(
    re.findall(
        r"^::: ([\w.]+)",
        "\n".join(page.read_text(encoding="utf-8") for page in DOCS.glob("reference/*.md")),
        re.MULTILINE,
    )
)


def _shown(match: re.Match[str]) -> str:
    name = match[1].rsplit(".", 1)[-1]
    public = [shown for shown in SHOWN if shown.rsplit(".", 1)[-1] == name]
    return f"[`{name}`][{public[0]}]" if public else f"`{match[1]}`"


def _linked(match: re.Match[str]) -> str:
    """Link a page by its title. Proof pages may be named without their folder."""
    path = match[1].removeprefix("docs/")
    for name in (path, f"explanation/proofs/{path}"):
        if (DOCS / name).is_file():
            title = (DOCS / name).read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
            return f"[{title}](../{name})"
    return match[0]


class Roles(griffe.Extension):
    """Replace roles and paths in every docstring."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite one docstring."""
        if obj.docstring:
            obj.docstring.value = PATH.sub(_linked, ROLE.sub(_shown, obj.docstring.value))

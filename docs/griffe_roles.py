"""Docstrings name things with roles, :class:`x.Y`: code in the reference, and links to what it has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import griffe

ROLE = re.compile(r":(?:mod|func|class|meth|attr|data|exc):`~?([\w.]+)`")
PAGES = Path(__file__).parent / "reference"
SHOWN = frozenset(
    re.findall(r"^::: ([\w.]+)", "\n".join(page.read_text() for page in PAGES.glob("*.md")), re.MULTILINE)
)


def _shown(match: re.Match[str]) -> str:
    name = match[1].rsplit(".", 1)[-1]
    public = [shown for shown in SHOWN if shown.rsplit(".", 1)[-1] == name]
    return f"[`{name}`][{public[0]}]" if public else f"`{match[1]}`"


class Roles(griffe.Extension):
    """Replace the roles in every docstring."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite one docstring."""
        if obj.docstring:
            obj.docstring.value = ROLE.sub(_shown, obj.docstring.value)

"""The reference documents all public names and no others.

A name is public if a public module exports it, or if a tutorial or how-to page imports it or writes it with its module.
Names that these pages only mention, such as `Queryable`, may be documented too.
"""

from __future__ import annotations

import ast
import pkgutil
import re
from types import ModuleType
from typing import Any

import pytest
from pages import ROOT, Page, all_pages

EXPORTING = (
    "sdv_plausible",
    *(f"sdv_plausible.{name}" for name in ("synthesizer", "audit", "evaluation", "datasets")),
)
DIRECTIVE = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)


def shown(text: str) -> list[str]:
    """Names that a reference page documents."""
    return DIRECTIVE.findall(text)


def named(page: Page) -> set[str]:
    """Names of the package that a page imports, or writes with their module."""
    found = {span for span in page.code_spans if re.fullmatch(r"sdv_plausible(\.\w+)+", span)}
    for token in page.tokens:
        if token.type == "fence" and token.info == "python":
            for node in ast.walk(ast.parse(token.content)):
                if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "sdv_plausible":
                    found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def mentioned(page: Page) -> set[str]:
    """Words in code spans of a page."""
    return set(re.findall(r"\w+", " ".join(page.code_spans)))


def _things(names: set[str]) -> dict[Any, str]:
    """Objects of the names, without modules; an object may have several names."""
    things = {pkgutil.resolve_name(name): name for name in sorted(names)}
    return {thing: name for thing, name in things.items() if not isinstance(thing, ModuleType)}


def differences(documented: set[str], public: set[str], words: set[str]) -> tuple[list[str], list[str]]:
    """Public names that are not documented, and documented names that are neither public nor mentioned."""
    on_pages, off_pages = _things(documented), _things(public)
    missing = sorted(name for thing, name in off_pages.items() if thing not in on_pages)
    known = {name for name in on_pages.values() if name.rsplit(".", 1)[-1] in words}
    return missing, sorted(
        name for thing, name in on_pages.items() if thing not in off_pages and name not in known
    )


@pytest.fixture(scope="module")
def documented() -> list[str]:
    return [
        name for page in sorted((ROOT / "docs/reference").glob("*.md")) for name in shown(page.read_text())
    ]


@pytest.fixture(scope="module")
def users_pages() -> list[Page]:
    of_users = ("README.md", "docs/tutorials/", "docs/how_to/")
    return [page for name, page in all_pages().items() if name.startswith(of_users)]


@pytest.fixture(scope="module")
def public(users_pages) -> set[str]:
    exported = {f"{module}.{name}" for module in EXPORTING for name in pkgutil.resolve_name(module).__all__}
    return exported.union(*map(named, users_pages))


@pytest.fixture(scope="module")
def words(users_pages) -> set[str]:
    return set().union(*map(mentioned, users_pages))


def test_the_reference_shows_the_public_names(documented, public, words):
    assert len(documented) == len(set(documented)) > 20
    assert differences(set(documented), public, words) == ([], [])


def test_a_missing_and_a_stray_name_are_caught(documented, public, words):
    assert differences({*documented} - {"sdv_plausible.plan"}, public, words) == (["sdv_plausible.plan"], [])
    stray = "sdv_plausible.fitting.plan.Settings"
    assert differences({*documented, stray}, public, words) == ([], [stray])
    imports = "```python\nfrom sdv_plausible.models import make_learner\n```\n"
    page = Page.parse("docs/how_to/planted.md", f"`sdv_plausible.table.codec.ColumnCodec`\n\n{imports}")
    wanted = ["sdv_plausible.models.make_learner", "sdv_plausible.table.codec.ColumnCodec"]
    assert differences({*documented}, public | named(page), words)[0] == wanted

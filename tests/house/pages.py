"""The repository's pages, parsed for the tests of this folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Page:
    """A markdown page: its text, links, anchors and code spans."""

    name: str  # path from the root of the repository
    text: str
    tokens: list[Token] = field(compare=False, repr=False)

    @classmethod
    def parse(cls, name: str, text: str) -> Page:
        """Return the page of a text; `name` need not exist."""
        return cls(name, text, MarkdownIt("commonmark").enable("table").parse(text))

    @property
    def folder(self) -> Path:
        """The folder that relative links start from."""
        return (ROOT / self.name).parent

    def _inline(self) -> Iterator[Token]:
        for token in self.tokens:
            yield from token.children or ()

    @cached_property
    def links(self) -> list[str]:
        """Targets of links and images."""
        targets = (token.attrGet("href") or token.attrGet("src") for token in self._inline())
        return [str(target) for target in targets if target]

    @cached_property
    def code_spans(self) -> list[str]:
        """Text between single backticks, in order."""
        return [token.content for token in self._inline() if token.type == "code_inline"]

    @cached_property
    def anchors(self) -> set[str]:
        """Anchors of the headings, as GitHub spells them."""
        found: dict[str, int] = {}
        anchors = set()
        for heading, inline in zip(self.tokens, self.tokens[1:], strict=False):
            if heading.type != "heading_open":
                continue
            text = "".join(child.content for child in inline.children or ())
            slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            anchors.add(slug if slug not in found else f"{slug}-{found[slug]}")
            found[slug] = found.get(slug, 0) + 1
        return anchors


def repository_files(*suffixes: str) -> list[Path]:
    """Files of the repository with these endings, without hidden folders and results."""
    tops = [path for path in ROOT.iterdir() if not path.name.startswith((".", "dist", "build", "site"))]
    files = [file for top in tops for file in ([top] if top.is_file() else top.rglob("*"))]
    found = [file for file in files if file.suffix in suffixes and "__pycache__" not in file.parts]
    return sorted(file for file in found if "benchmarks/results/" not in file.as_posix())


def page_names() -> list[str]:
    """Every markdown page, by its path from the root."""
    return [path.relative_to(ROOT).as_posix() for path in repository_files(".md")]


@cache  # parsing all pages takes a second: not at collection
def all_pages() -> dict[str, Page]:
    """Every markdown page, by its path from the root."""
    return {name: Page.parse(name, (ROOT / name).read_text()) for name in page_names()}

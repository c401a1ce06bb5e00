"""What mkdocs.yml needs beyond mkdocs: pages outside docs/, formulas without scripts."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
OUTSIDE = (
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "benchmarks/**/*.md",
    "benchmarks/**/*.png",
    "benchmarks/*.py",
)
BOOSTS = {
    "how_to/": 2.0,
    "tutorials/": 1.5,
    "explanation/proofs/": 0.5,
    "explanation/": 1.0,
    "reference/": 1.0,
}
OTHER = 0.5  # in the search, pages for users come before benchmarks and pages for contributors

DISPLAYED = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)
LIST_AFTER_TEXT = re.compile(r"^(?![-\s]|\d+\. )(.+)\n(?=- |1\. )", re.MULTILINE)
LONG_FORMULA = 40  # characters of TeX that may be wider than a phone
FORMULA = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the README as the first page, and pages, pictures and scripts outside docs/ at their own places."""
    outside = {path.relative_to(ROOT).as_posix(): path for pattern in OUTSIDE for path in ROOT.glob(pattern)}
    outside = {name: path for name, path in outside.items() if "benchmarks/results/" not in name}
    for name, path in {"index.md": ROOT / "README.md", **outside}.items():
        files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Write lists as mkdocs reads them; adapt links that leave docs/; mark formulas; rank the page."""
    markdown = LIST_AFTER_TEXT.sub(r"\1\n\n", markdown)  # an empty line before a list, and four spaces in it
    markdown = re.sub(r"^ {3}(?: {4})*(?=\S)", r"\g<0> ", markdown, flags=re.MULTILINE)
    markdown = DISPLAYED.sub(lambda match: f"$\\displaystyle {' '.join(match[1].split())}$", markdown)
    name = page.file.src_uri
    page.meta["search"] = {
        "boost": next((boost for folder, boost in BOOSTS.items() if name.startswith(folder)), OTHER)
    }
    if name == "index.md":
        page.meta["hide"] = ["navigation"]  # the tabs have it
    if "/" not in name:
        markdown = markdown.replace("](docs/", "](")
    elif name.startswith("benchmarks/"):
        markdown = re.sub(r"\]\(((?:\.\./)+)docs/", r"](\1", markdown)
    markdown = re.sub(r"\]\(((?:\.\./)*)\.\./benchmarks/", r"](\1benchmarks/", markdown)
    return re.sub(r"\]\((?!https?:)([^)#]*/)\)", r"](\1README.md)", markdown)  # a folder is its index


def on_page_content(content: str, **_: Any) -> str:
    """Turn TeX into MathML, which browsers show by themselves; let keys reach what may be cut at the side."""

    def to_mathml(match: re.Match[str]) -> str:
        formula = html.unescape(match[1])
        is_displayed = formula.startswith(r"\displaystyle ")
        shown = convert(
            formula.removeprefix(r"\displaystyle "), display="block" if is_displayed else "inline"
        )
        is_long = is_displayed or len(formula) > LONG_FORMULA
        return f'<span class="formula" tabindex="0">{shown}</span>' if is_long else shown

    return re.sub(r"<(table|pre)\b", r'<\1 tabindex="0"', FORMULA.sub(to_mathml, content))


def on_post_page(output: str, **_: Any) -> str:
    """Name the dialog of the search, which the theme does not."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"')

"""Links, anchors, files, modules and tests that pages and docstrings name exist."""

from __future__ import annotations

import fnmatch
import pkgutil
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest
from pages import ROOT, Page, all_pages, repository_files

TREES = ("sdv_plausible", "tests", "benchmarks", "docs")  # top folders of the repository's paths
ELSEWHERE = re.compile(r"^(?:https?:|mailto:)")


def broken_links(page: Page, pages: dict[str, Page]) -> list[str]:
    """Relative links without a file, and anchors without a heading."""
    wrong = []
    for link in page.links:
        if ELSEWHERE.match(link):
            continue
        target, _, anchor = link.partition("#")
        path = (page.folder / target).resolve()
        is_ours = path.is_relative_to(ROOT)
        other = pages.get(path.relative_to(ROOT).as_posix()) if target and is_ours else None
        other = other if target else page
        found = other is not None or (is_ours and path.exists())
        if not found or (anchor and (other is None or anchor not in other.anchors)):
            wrong.append(link)
    return wrong


@pytest.fixture(scope="module")
def files() -> list[str]:
    """Files and folders from the root, with a leading slash, so that the end of a path can be matched."""
    paths = [path.relative_to(ROOT) for path in repository_files(".py", ".md")]
    folders = {f"/{folder.as_posix()}/" for path in paths for folder in path.parents}
    return [f"/{path.as_posix()}" for path in paths] + sorted(folders)


@pytest.fixture(scope="module")
def tests_of() -> dict[str, set[str]]:
    """Test functions by test file."""
    named = re.compile(r"^ *def (\w+)\(", re.MULTILINE)
    paths = (ROOT / "tests").rglob("test_*.py")
    return {path.relative_to(ROOT).as_posix(): {*named.findall(path.read_text())} for path in paths}


def missing_files(page: Page, files: list[str]) -> list[str]:
    """Python files, pages and folders in backticks that do not exist; a name is a path or the end of one."""
    wrong = []
    for span in page.code_spans:
        for name in re.findall(r"^[\w./*-]+(?:\.py|\.md|/)$", span.split("::")[0]):
            if not fnmatch.filter(files, f"*/{name.lstrip('./')}"):
                wrong.append(name)
        for name in re.findall(rf"(?:^|\s)((?:{'|'.join(TREES)})/[\w./-]*)", span.split("::")[0]):
            if not (ROOT / name).exists():
                wrong.append(name)
    return sorted(set(wrong))


def missing_tests(page: Page, tests_of: dict[str, set[str]]) -> list[str]:
    """Tests in backticks that do not exist: `test_x.py::test_a`, `::test_a` (in the last file), `test_a`."""
    wrong, current = [], set[str]()
    anywhere: set[str] = set().union(*tests_of.values())
    for span in page.code_spans:
        file, separator, name = span.partition("::")
        if file.endswith(".py") and Path(file).name.startswith("test_"):
            matching = fnmatch.filter([f"/{known}" for known in tests_of], f"*/{file}")
            current = set().union(*(tests_of[known.lstrip("/")] for known in matching))
        known = current if separator else anywhere
        if not separator and re.fullmatch(r"test_\w+", span):
            name = span
        if name.startswith("test_") and not fnmatch.filter(known, name):
            wrong.append(span)
    return wrong


def _resolves(name: str) -> bool:
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError, ValueError):
        return False
    return True


def _dotted_names(text: str) -> Iterator[str]:
    """Names of the package in backticks, with or without a role: :func:`~sdv_plausible.x.y`."""
    yield from (match.rstrip("()") for match in re.findall(r"`~?(sdv_plausible(?:\.\w+)+(?:\(\))?)`", text))


def test_links_resolve():
    pages = all_pages()
    assert len(pages) > 20
    wrong = {name: found for name, page in pages.items() if (found := broken_links(page, pages))}
    assert wrong == {}


def test_files_named_on_pages_exist(files):
    wrong = {name: found for name, page in all_pages().items() if (found := missing_files(page, files))}
    assert wrong == {}


def test_tests_named_on_pages_exist(tests_of):
    wrong = {name: found for name, page in all_pages().items() if (found := missing_tests(page, tests_of))}
    assert wrong == {}


def test_names_of_the_package_resolve():
    wrong = {}
    for path in repository_files(".md", ".py"):
        skipped = path.parent.name == "house" or path.name == "CHANGELOG.md"  # the changelog has old names
        names = set() if skipped else set(_dotted_names(path.read_text()))
        if missing := sorted(name for name in names if not _resolves(name)):
            wrong[path.relative_to(ROOT).as_posix()] = missing
    assert wrong == {}


def test_a_planted_link_is_caught():
    for link in (
        "[x](no_such_page.md)", "[x](../../README.md#no-such-heading)", "![x](../images/no_such_picture.svg)",
        "[x](#no-such-heading)", "[x](../../../outside)", "[x][ref]\n\n[ref]: gone.md",
    ):  # fmt: skip
        page = Page.parse("docs/explanation/planted.md", f"# Heading\n\n{link}\n")
        assert len(broken_links(page, all_pages())) == 1, link


def test_good_links_are_not():
    links = "[a](notation.md) [b](#a-heading-with-code) [c](../../README.md#use) [d](../images/)"
    text = f"# A heading, with `code`\n\n{links}\n\n```\n[x](y.md)\n```\n"
    assert broken_links(Page.parse("docs/explanation/planted.md", text), all_pages()) == []


def test_a_planted_file_or_test_is_caught(files, tests_of):
    for text in (
        "sdv_plausible/gone.py", "models/gone.py", "models/gone/", "tests/no_such_folder/",
        "gone_too.py::test_x", "python tests/gone.py",
    ):  # fmt: skip
        assert missing_files(Page.parse("docs/planted.md", f"`{text}`"), files), text
    for text in (
        "`test_references.py::test_gone`",
        "`tests/house/test_references.py`, `::test_gone`",
        "`tests/house/test_references.py`, `...::test_public_names_resolve`",
        "`test_gone`",
    ):
        assert missing_tests(Page.parse("docs/planted.md", text), tests_of), text


def test_a_planted_name_is_caught():
    text = ":func:`~sdv_plausible.evaluation.gone`, `sdv_plausible.gone.X` and `sdv_plausible.Domain.gone`"
    names = list(_dotted_names(text))
    assert len(names) == 3
    assert not any(map(_resolves, names))


def test_the_tree_of_packages_is_as_it_is_written():
    """``python docs/write_tree.py`` updates the tree. Control: an additional line is seen."""
    script = runpy.run_path(str(ROOT / "docs/write_tree.py"))
    _, shown, _ = script["parts"](script["PAGE"].read_text(encoding="utf-8"))
    assert shown == script["tree"]()
    assert shown + "  gone/\n" != script["tree"]()


def test_every_page_is_in_the_sites_navigation():
    """`./dev docs` fails for other pages; this test fails earlier."""
    told = (ROOT / "mkdocs.yml").read_text()
    pages = [page.relative_to(ROOT / "docs") for page in (ROOT / "docs").rglob("*.md")]
    pages += [page.relative_to(ROOT) for page in (ROOT / "benchmarks").rglob("*.md")]
    pages = [page for page in pages if "results" not in page.parts]  # environments of the benchmarks
    lacking = [page for page in pages if page.as_posix() not in told]
    assert lacking == []
    assert "explanation/no_such_page.md" not in told

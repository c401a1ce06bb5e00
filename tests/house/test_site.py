"""The built site: few entries at first sight, a search that answers users' questions, and nothing loaded from elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import pytest
from pages import ROOT
from reviewing import AXE, browser, needs_browser, serious

yaml = pytest.importorskip("yaml", reason="pyyaml is not installed: pip install pyyaml")

MOST_ENTRIES = 25
QUESTIONS = "how_to/questions.html"
# What users of synthetic data asked on public trackers, in their words, and the section that answers it.
ASKED = {
    # https://github.com/sdv-dev/SDV/issues/1130
    "get the same sampled results as a previous sample call": "the-same-synthetic-rows",
    # https://github.com/sdv-dev/SDV/issues/2022
    "generate the same synthetic data every time": "the-same-synthetic-rows",
    # https://github.com/sdv-dev/SDV/issues/157
    "No way to fix the random seed?": "random-seed",
    # https://github.com/sdv-dev/SDV/issues/1726
    "Retraining an existing model with new data": "add-new-data-later",
    # https://github.com/sdv-dev/SDV/issues/246
    "primary key can not be used to join with other tables": "ids-match",
    # https://github.com/sdv-dev/SDV/issues/1447
    "Synthetic data is giving NULL as column values": "column-empty",
    # https://github.com/sdv-dev/SDV/issues/216
    "Column giving single value": "only-one-value",
    # https://github.com/KI-AIM/Cinnamon/issues/351
    "synthesizer for free-text": "free-text",
    # https://github.com/opendp/opendp/issues/319
    "How to choose budget parameters": "which-epsilon",
    # https://github.com/DataResponsibly/DataSynthesizer/issues/28
    "epsilon values 0.0001 and 1 to compare": "compare-two-values",
    # https://github.com/sdv-dev/SDV/issues/1950
    "the Excel file to read": "excel-file",
    # https://github.com/sdv-dev/SDV/issues/136
    "how do we connect to database to generate data for single or multiple tables": "database",
    # https://github.com/sdv-dev/SDV/issues/2522
    "load data from csv and Sql Server": "database",
}
PAGES = (
    "index", "tutorials/first_release", "how_to/command_line", "explanation/privacy_promise", "explanation/proofs/release_test",
    "reference/models",
)  # fmt: skip
PATH = re.compile(r"docs/[\w/]+\.md")
TYPE = """
    const box = document.querySelector(".md-search__input");
    box.value = arguments[0];
    box.dispatchEvent(new Event("keyup"));
"""
RESULTS = """
    const pages = [...document.querySelectorAll(".md-search-result__item")].slice(0, 3);
    return pages.flatMap((page) => [...page.querySelectorAll("a")].map((link) => link.href)).join(" ");
"""
CUT = """
    const blocks = [...document.querySelectorAll("pre")];
    return blocks.filter((block) => block.scrollWidth > block.clientWidth).map((block) => block.textContent);
"""
LOADED = re.compile(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=\"?(?:https?:)?//[^\s\">]+")


def _value(entry: Any) -> Any:
    """A page, or the entries of a group."""
    return next(iter(entry.values())) if isinstance(entry, dict) else entry


def most_entries(tab: list[Any]) -> int:
    """Entries in the sidebar of a tab: its groups are open, and of the groups within them the largest."""
    entries, closed = 0, [0]
    for value in map(_value, tab):
        inner = [_value(entry) for entry in value] if isinstance(value, list) else [value]
        entries += len(inner)
        closed += [len(group) for group in inner if isinstance(group, list)]
    return entries + max(closed)


def test_the_sidebar_shows_at_most_25_entries():
    """Control: all proofs in one open group are too many."""
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    tabs = {name: value for entry in nav for name, value in entry.items() if isinstance(value, list)}
    assert len(tabs) > 4
    assert {name: most for name, tab in tabs.items() if (most := most_entries(tab)) > MOST_ENTRIES} == {}
    proofs = [entry for group in tabs["Explanation"] for entry in group.get("Proofs", [])]
    assert most_entries([{"Proofs": [page for group in proofs for page in _value(group)]}]) > MOST_ENTRIES


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if any(find_spec(name) is None for name in ("material", "mkdocstrings", "latex2mathml")):
        pytest.skip("pip install 'sdv-plausible[docs]'")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    yield folder
    shutil.rmtree(folder)


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere_and_no_path_is_left(site):
    pages = {
        page.relative_to(site).as_posix(): page.read_text(encoding="utf-8") for page in site.rglob("*.html")
    }
    assert len(pages) > 80
    assert {name: found for name, text in pages.items() if (found := LOADED.findall(text))} == {}
    assert LOADED.findall('<script async src="https://unpkg.com/iframe-worker/shim">')
    reference = "".join(text for name, text in pages.items() if name.startswith("reference/"))
    assert PATH.findall(reference) == []
    links = set(re.findall(r'href="\.\./((?:how_to|explanation)/[^"#]+)', reference))
    assert len(links) > 10
    assert [link for link in links if not (site / link).is_file()] == []
    assert PATH.findall("<p>see docs/how_to/rules.md)")


@needs_browser
@pytest.mark.slow
def test_the_search_answers_users_questions(site, tmp_path):
    """From disk, without a server: the section is among those of the first three pages."""
    from selenium.webdriver.support.ui import WebDriverWait

    with browser(tmp_path, 1280) as driver:
        wait = WebDriverWait(driver, 60)
        driver.get((site / "index.html").as_uri())
        driver.execute_script("document.getElementById('__search').click()")

        def found(words):
            driver.execute_script(TYPE, "")
            wait.until(lambda d: not d.execute_script(RESULTS))
            driver.execute_script(TYPE, words)
            return wait.until(lambda d: d.execute_script(RESULTS))

        results = {words: found(words) for words in ASKED}
        assert QUESTIONS not in found("Gaussian copula")  # control
    pattern = {words: rf"{QUESTIONS}\S*#\S*{section}" for words, section in ASKED.items()}
    assert {words: links for words, links in results.items() if not re.search(pattern[words], links)} == {}


@needs_browser
@pytest.mark.slow
def test_no_code_of_the_landing_page_is_cut_at_a_desk(site, tmp_path):
    """Control: a long line is seen."""
    with browser(tmp_path, 1280) as driver:
        driver.get((site / "index.html").as_uri())
        assert driver.execute_script(CUT) == []
        driver.execute_script("document.querySelector('pre code').append('x'.repeat(200))")
        assert len(driver.execute_script(CUT)) == 1


@needs_browser
@pytest.mark.skipif(AXE is None, reason="pip install axe-playwright-python")
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.slow
def test_axe_finds_nothing_serious(site, width, tmp_path):
    with browser(tmp_path, width) as driver:
        for page in PAGES:
            driver.get((site / f"{page}.html").as_uri())
            assert serious(driver) == {}, page

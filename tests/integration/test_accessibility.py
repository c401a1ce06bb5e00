"""No serious finding of axe-core on any page that we make, on a phone and at a desk: report, card, app, review, site."""

from __future__ import annotations

import shutil
import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import pytest
from reviewing import browser, find, load_by, needs_browser, program, served, write_people

from sdv_plausible import PlausibleDeniabilitySynthesizer, metadata_of
from sdv_plausible.datasets import census_like, census_like_metadata
from sdv_plausible.evaluation import PlausibleDeniabilityReport
from sdv_plausible.evaluation.page.inspection import inspection_page
from sdv_plausible.evaluation.table_pair import prepare_pair

pytest.importorskip("selenium", reason="selenium is not installed: pip install selenium")
AXE = find_spec("axe_playwright_python")  # is not imported: of it the script alone is used
pytestmark = [
    needs_browser,
    pytest.mark.skipif(AXE is None, reason="pip install axe-playwright-python"),
    pytest.mark.slow,
]
ROOT = Path(__file__).parents[2]
WIDTHS = (390, 1280)
SITE = (
    "index", "tutorials/first_release", "how_to/command_line", "explanation/privacy_promise", "reference/models",
)  # fmt: skip
MAIN = ".actions button.main"


def serious(driver):
    """Findings that keep people out, by rule, with where they are."""
    return findings(driver, ("serious", "critical"))


def findings(driver, impacts=("minor", "moderate", "serious", "critical")):
    """Findings of axe, by rule, with where they are."""
    script = Path(next(iter(AXE.submodule_search_locations)), "axe.min.js").read_text(encoding="utf-8")
    driver.set_script_timeout(120)
    driver.execute_script(script)
    found = driver.execute_async_script("axe.run(document).then(found => arguments[0](found.violations))")
    hard = [one for one in found if one["impact"] in impacts]
    return {one["id"]: [node["target"] for node in one["nodes"]] for one in hard}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A folder with both reports and a card."""
    folder, columns = tmp_path_factory.mktemp("pages"), census_like_metadata()
    table = census_like(2_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        synth = PlausibleDeniabilitySynthesizer(metadata_of(columns), domain=columns)
        synth.fit(table)
        report = PlausibleDeniabilityReport(
            ledger=synth.privacy_ledger(), structure=synth.get_structure(), target="income_class",
            classifiers=("tree",), distinguishers=("tree",), num_runs=1,
        )  # fmt: skip
        rows = synth.sample(1_000)
        report.generate(table, rows, synth.metadata, verbose=False)
    report.to_html(folder / "own.html")
    report.to_html(folder / "public.html", publishable=True)
    synth.release().card().save(folder / "card.html")
    pair = prepare_pair(table, rows, synth.metadata)
    (folder / "inspection.html").write_text(inspection_page(pair, "2020-01-01"), encoding="utf-8")
    return folder


@pytest.mark.parametrize("width", WIDTHS)
def test_reports_card_and_inspector(pages, width, tmp_path):
    with browser(tmp_path, width) as driver:
        for page in ("own", "public", "card", "inspection"):
            driver.get((pages / f"{page}.html").as_uri())
            assert serious(driver) == {}, page
        text = (pages / "card.html").read_text(encoding="utf-8")
        bad = '<img src="data:,"><p style="color:#CCC">pale words</p><h1'
        (tmp_path / "bad.html").write_text(text.replace("<h1", bad))
        driver.get((tmp_path / "bad.html").as_uri())
        assert {"image-alt", "color-contrast"} <= set(serious(driver))


def press(driver, selector):
    load_by(driver, find(driver, selector).click)


def test_the_app(tmp_path):
    """The narrow page: test_app_in_browser.py."""
    from selenium.webdriver.support.ui import WebDriverWait

    write_people(tmp_path / "people.csv", 2000)
    with served(tmp_path, "app") as (address, _), browser(tmp_path, 1280) as driver:
        driver.get(address)
        assert findings(driver) == {}
        press(driver, MAIN)  # nothing was chosen
        assert findings(driver) == {}
        driver.find_element("id", "table").send_keys(str(tmp_path / "people.csv"))
        for step in ("columns", "rules", "budget"):
            press(driver, MAIN)
            assert findings(driver) == {}, step
            if step == "columns":
                driver.execute_script("document.querySelectorAll('details').forEach(e => { e.open = true; })")
                assert findings(driver) == {}, "unfolded columns"
                press(driver, "button[formaction$='/compare']")
                assert findings(driver) == {}, "compared columns"
        press(driver, "#begin")
        assert findings(driver) == {}
        is_done = lambda d: d.current_url.endswith("/result") and not d.find_elements("id", "step")  # noqa: E731
        WebDriverWait(driver, 120).until(is_done)
        assert findings(driver) == {}
        press(driver, ".end button")
        assert findings(driver) == {}


@pytest.mark.parametrize("width", WIDTHS)
def test_the_review_page(width, tmp_path):
    write_people(tmp_path / "people.csv")
    with program(tmp_path) as (address, _), browser(tmp_path, width) as driver:
        driver.get(address)
        assert findings(driver) == {}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if find_spec("mkdocs") is None or find_spec("latex2mathml") is None:
        pytest.skip("pip install 'sdv-plausible[docs]'")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder / "site")]
    subprocess.run(command, cwd=ROOT, check=True)
    yield folder / "site"
    shutil.rmtree(folder)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_site(site, width, tmp_path):
    with browser(tmp_path, width) as driver:
        for page in SITE:
            driver.get((site / f"{page}.html").as_uri())
            assert serious(driver) == {}, page

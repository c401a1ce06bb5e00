"""No serious finding of axe-core on any page that we make, on a phone and at a desk: report, card, app, review.

The site: ``house/test_site.py``.
"""

from __future__ import annotations

import warnings

import pytest
from reviewing import (
    AXE,
    browser,
    find,
    findings,
    load_by,
    needs_browser,
    program,
    serious,
    served,
    write_people,
)

from sdv_plausible import PlausibleDeniabilitySynthesizer, metadata_of
from sdv_plausible.datasets import census_like, census_like_metadata
from sdv_plausible.evaluation import PlausibleDeniabilityReport
from sdv_plausible.evaluation.page.inspection import inspection_page
from sdv_plausible.evaluation.table_pair import prepare_pair

pytest.importorskip("selenium", reason="selenium is not installed: pip install selenium")
pytestmark = [
    needs_browser,
    pytest.mark.skipif(AXE is None, reason="pip install axe-playwright-python"),
    pytest.mark.slow,
]
WIDTHS = (390, 1280)
MAIN = ".actions button.main"


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

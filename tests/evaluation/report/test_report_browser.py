"""The page in a real browser: no error, no request, and it fits the screen."""

import re
import shutil
import subprocess
from html import escape

import pytest
from report_cases import generated_report, html_of, many_columns
from reviewing import CHROMIUM, DRIVER, NO_BROWSER, browser

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no chromium or google-chrome on the path")


def browse(page, profile):
    """Load a file without network; return the document and what the console said."""
    options = (
        "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    )
    more = "--disable-component-update --disable-sync --enable-logging=stderr --v=0 --window-size=1280,900 --dump-dom"
    command = [BROWSER, *options.split(), *more.split(), f"--user-data-dir={profile}", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@needs_browser
def test_a_browser_finds_no_error(report, tmp_path):
    for publishable in (False, True):
        html_of(report, tmp_path, publishable=publishable)
        document, console = browse(tmp_path / "report.html", tmp_path / "profile")
        assert "<svg" in document
        assert console == []


@needs_browser
def test_the_browser_test_sees_planted_errors(tmp_path):
    page = tmp_path / "bad.html"
    page.write_text("<!doctype html><script>undefinedFunction()</script>")
    assert any("undefinedFunction" in line for line in browse(page, tmp_path / "profile")[1])
    page.write_text(
        "<!doctype html><meta http-equiv='Content-Security-Policy' content=\"default-src 'none'\"><img src='x.png'>"
    )
    assert browse(page, tmp_path / "profile")[1]


@pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason=NO_BROWSER)
def test_what_is_folded_away_is_printed(report, tmp_path):
    """A reader of paper cannot click; on the screen it stays folded."""
    pytest.importorskip("selenium", reason="selenium is not installed: pip install selenium")
    text = html_of(report, tmp_path)
    shown = (
        "return [...document.querySelectorAll('details:not([open]) table')].map(e => e.checkVisibility() "
        "&& e.getBoundingClientRect().height > 0)"
    )
    for rule, printed in (("details::details-content { content-visibility: visible; }", True), ("", False)):
        page = tmp_path / "report.html"
        page.write_text(text.replace("details::details-content { content-visibility: visible; }", rule))
        with browser(tmp_path, 794) as driver:
            driver.get(page.as_uri())
            folded = driver.execute_script(shown)
            assert len(folded) > 5
            assert not any(folded)
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
            assert set(driver.execute_script(shown)) == {printed}


def page_width(text, width, tmp_path):
    """Return how wide a page wants to be in a frame of ``width`` pixels (a window has a least width of its own)."""
    frame = tmp_path / "frame.html"
    frame.write_text(
        f'<!doctype html><iframe id="f" style="width:{width}px;height:800px;border:0" srcdoc="{escape(text)}"></iframe>'
        "<script>onload = () => { document.title = 'wide ' + "
        "document.getElementById('f').contentDocument.documentElement.scrollWidth }</script>",
        encoding="utf-8",
    )
    return int(re.search(r"<title>wide (\d+)", browse(frame, tmp_path / "profile")[0]).group(1))


@needs_browser
@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_fits_a_telephone_and_a_desk(report, tmp_path, width):
    text = html_of(report, tmp_path)
    assert page_width(text, width, tmp_path) <= width
    planted = text.replace("<main>", '<main><div style="width:1300px">x</div>')
    assert page_width(planted, width, tmp_path) > width


@pytest.mark.slow
@needs_browser
def test_the_dependences_of_many_columns_are_seen_whole_at_a_desk(tmp_path):
    """No picture in a section of dependences is wider than its place, so that none has to be scrolled sideways."""
    table, metadata = many_columns(75)
    report = generated_report(table, table, metadata)
    script = (
        "<script>onload = () => { document.title = 'hidden ' + [...document.querySelectorAll('.wide .scroll')]"
        ".filter(place => place.scrollWidth > place.clientWidth).length }</script>"
    )
    for publishable in (False, True):
        text = re.sub("<meta http-equiv[^>]*>", "", html_of(report, tmp_path, publishable=publishable))
        for planted, hidden in ((text, False), (text.replace("wide alone", "wide"), True)):
            (tmp_path / "report.html").write_text(
                planted.replace("</main>", "</main>" + script), encoding="utf-8"
            )
            document, _ = browse(tmp_path / "report.html", tmp_path / "profile")
            assert (int(re.search(r"<title>hidden (\d)", document).group(1)) > 0) is hidden

"""The app in a real browser, from an upload to a download: wide, as narrow as a phone, cancelled, interrupted."""

from __future__ import annotations

import json
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest
from reviewing import (
    COLUMNS,
    browser,
    find,
    fits,
    load_by,
    needs_browser,
    press_keys,
    served,
    tab_to,
    write_people,
)
from sentences import LEAD, total

from sdv_plausible import Release
from sdv_plausible.utils.atomic_files import PREFIX

pytest.importorskip("selenium", reason="selenium is not installed: pip install selenium")
pytestmark = [
    needs_browser,
    pytest.mark.slow,  # each fit is a process that loads SDV
]

MAIN = ".actions button.main"
CUT_OPTIONS = """const pen = document.createElement("canvas").getContext("2d");
return [...document.querySelectorAll("select")].filter(e => e.offsetParent).flatMap(e => {
  const style = getComputedStyle(e);
  pen.font = style.font;
  const room = e.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - 18;  // the arrow
  return [...e.options].map(o => o.text).filter(text => pen.measureText(text).width > room);
})"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "held").mkdir()
    write_people(tmp_path / "people.csv", 2000)
    some = {name: words for name, words in COLUMNS.items() if name != "town"}
    (tmp_path / "domain.json").write_text(json.dumps(some))
    return tmp_path


def until(driver, true, seconds=120):
    from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
    from selenium.webdriver.support.ui import WebDriverWait

    between = (NoSuchElementException, StaleElementReferenceException)  # a page that is being replaced
    WebDriverWait(driver, seconds, ignored_exceptions=between).until(true)


def press(driver, selector, *, by_keys=False):
    """Press a button that loads another page, and wait for it."""
    if by_keys:
        tab_to(driver, selector)
    load_by(
        driver, lambda: press_keys(driver, "\ue007") if by_keys else find(driver, selector).click()
    )  # Return


def is_sound(driver):
    """Nothing sticks out, scrolls sideways, is too small, lacks a name, or comes from elsewhere."""
    fits(driver, "button, input, select, textarea, nav a")
    nameless = driver.execute_script(
        "return [...document.querySelectorAll('input, select, textarea')]"
        ".filter(e => e.type !== 'hidden' && !e.labels.length).map(e => e.outerHTML)"
    )
    assert nameless == []
    assert driver.execute_script(CUT_OPTIONS) == []
    assert driver.execute_script("return document.querySelectorAll('h1, main').length") == 2
    assert driver.execute_script("return document.querySelectorAll('[aria-current=step]').length") == 1
    loaded = driver.execute_script("return performance.getEntriesByType('resource').map(e => e.name)")
    home = "/".join(driver.current_url.split("/")[:4])
    assert all(name.startswith(home) for name in loaded), loaded
    assert [line for line in driver.get_log("browser") if "status of 422" not in line["message"]] == []


def upload(driver, folder):
    find(driver, "#table").send_keys(str(folder / "people.csv"))
    find(driver, "#domain").send_keys(str(folder / "domain.json"))
    press(driver, MAIN)


def to_the_budget(driver, folder):
    upload(driver, folder)
    press(driver, MAIN)
    press(driver, MAIN)
    until(driver, lambda d: total() in find(d, "#planned").text)  # the script planned
    find(driver, "#rows").clear()
    find(driver, "#rows").send_keys("200")


def download(driver, folder, key, name):
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
    find(driver, f"a[href$='/files/{key}'][download]").click()
    until(driver, lambda _: (folder / name).exists(), 30)
    return folder / name


def test_from_an_upload_to_a_download(folder):
    """The wide page: test_accessibility.py."""
    held = folder / "held"
    told = served(folder, "app", "--debug", TMPDIR=str(held))
    with told as (address, running), browser(folder, 390) as driver:
        driver.get(address)
        assert "token" not in driver.current_url
        is_sound(driver)
        find(driver, "#path").send_keys("/none.csv")
        press(driver, MAIN)
        assert driver.switch_to.active_element.get_attribute("id") == "told"
        assert "there is no file /none.csv" in find(driver, "#told").text
        is_sound(driver)
        find(driver, "#path").clear()
        upload(driver, folder)
        is_sound(driver)
        press(driver, MAIN)
        is_sound(driver)
        press(driver, MAIN)
        until(driver, lambda d: total() in find(d, "#planned").text)
        find(driver, "#table_rows").send_keys("2000")
        until(driver, lambda d: "At about 2,000 rows" in find(d, "#planned").text)
        find(driver, "#rows").clear()
        find(driver, "#rows").send_keys("200")
        is_sound(driver)
        press(driver, "#begin")
        is_sound(driver)
        assert find(driver, "[role=status]").is_displayed()
        until(driver, lambda d: d.current_url.endswith("/result"))
        until(driver, lambda d: "inspection_private.html" in find(d, "main").text)
        is_sound(driver)
        assert find(driver, "#sentence").text.startswith(LEAD)
        rows = download(driver, folder, "rows", "synthetic.csv").read_text().splitlines()
        assert (rows[0], len(rows)) == ("id,age,sex,town,day", 201)
        release = Release.load(download(driver, folder, "release", "table.release"))
        assert len(release.sample(7)) == 7
        assert json.loads(download(driver, folder, "ledger", "ledger.json").read_text())["delta"] == 1e-9
        home = driver.current_url.removesuffix("/result")
        for page in ("full_report", "inspection"):
            driver.get(f"{home}/files/{page}?show")
            assert driver.execute_script("return document.querySelectorAll('svg').length") > 0
            assert [line for line in driver.get_log("browser") if "script" not in line["message"]] == []
        driver.get(f"{home}/result")
        press(driver, ".end button")
        assert "Closed" in find(driver, "h1").text
        assert running.wait(30) == 0
    assert list(held.glob(f"{PREFIX}*")) == []


def test_with_the_keyboard_only(folder):
    with served(folder, "app") as (address, running), browser(folder, 390) as driver:
        driver.get(address)
        tab_to(driver, "#path")
        press_keys(driver, str(folder / "people.csv"))
        press(driver, MAIN, by_keys=True)
        assert not find(driver, "#c1-range_max").is_displayed()
        tab_to(driver, "#c1-sdtype")
        press_keys(driver, "num")
        press(driver, "button[formaction$='/save']", by_keys=True)
        assert driver.switch_to.active_element.get_attribute("id") == "told"
        tab_to(driver, "#column-1 summary")
        assert not find(driver, "#c1-bins").is_displayed()
        press_keys(driver, " ")
        assert find(driver, "#c1-bins").is_displayed()
        for end, text in (("min", "18"), ("max", "90")):
            tab_to(driver, f"#c1-range_{end}")
            press_keys(driver, text)
        is_sound(driver)
        tab_to(driver, "#c2-same")
        press_keys(driver, " ")
        press(driver, "button[formaction$='/same']", by_keys=True)
        assert find(driver, "#c2-range_max").get_attribute("value") == "90"
        press(driver, MAIN, by_keys=True)
        press(driver, MAIN, by_keys=True)
        for name, text in (("epsilon", "9"), ("rows", "200")):
            tab_to(driver, f"#{name}")  # what is in it is selected
            press_keys(driver, text)
        until(driver, lambda d: total(8.99) in find(d, "#planned").text)
        press(driver, "#begin", by_keys=True)
        press(driver, "#cancel", by_keys=True)
        assert find(driver, "h1").text == "Cancelled"
        assert "Nothing was released" in find(driver, "main").text
        press(driver, ".actions a.button", by_keys=True)
        press(driver, "#begin", by_keys=True)
        until(driver, lambda d: d.current_url.endswith("/result") and not d.find_elements("id", "step"))
        for reached in ("#total-heading ~ details summary", ".files a", "#forget"):
            tab_to(driver, reached)
        is_sound(driver)
        press(driver, ".end button", by_keys=True)
        assert running.wait(30) == 0


def test_eighteen_columns_are_a_page(folder):
    """A row each: in about a screen and a half at a desk, and no wider than a phone."""
    names = [f"a_long_name_{i}" for i in range(18)]
    (folder / "people.csv").write_text("\n".join([",".join(names), *[",".join("7" * 18)] * 5, ""]))
    words = [*COLUMNS.values()][1:] * 4 + [{"sdtype": None}, {"sdtype": "id"}]
    (folder / "domain.json").write_text(json.dumps(dict(zip(names, words, strict=True))))
    heights = {}
    for width in (1280, 390):
        with served(folder, "app") as (address, _), browser(folder, width) as driver:
            driver.get(address)
            upload(driver, folder)
            is_sound(driver)
            heights[width] = driver.execute_script("return document.documentElement.scrollHeight")
            rows = driver.execute_script(
                "return [...document.querySelectorAll('.row')].map(e => e.offsetHeight)"
            )
            assert len(rows) == 18
            assert max(rows) < (70 if width == 1280 else 150)
            load_by(driver, find(driver, "button[formaction$='/compare']").click)
            is_sound(driver)
    assert heights[1280] <= 1550
    assert heights[390] <= 3400


def test_cancelled_and_without_script(folder):
    from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException

    with served(folder, "app") as (address, _), browser(folder, 390) as driver:
        driver.get(address)
        to_the_budget(driver, folder)
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        find(driver, "#begin").click()
        until(driver, lambda d: d.find_elements("css selector", "#cancel"))
        until(driver, lambda d: "total epsilon" in find(d, "#charged").text)  # the page refreshes itself
        with suppress(NoSuchElementException, StaleElementReferenceException):  # a short fit may be done
            find(driver, "#cancel").click()
        until(driver, lambda d: "Cancelled" in find(d, "h1").text or "Done" in find(d, "h1").text)
        assert "total epsilon" in find(driver, "#charged").text


def test_an_interrupted_program_leaves_nothing(folder):
    held, number = folder / "held", signal.SIGTERM
    with served(folder, "app", TMPDIR=str(held)) as (address, running), browser(folder, 390) as driver:
        driver.get(address)
        to_the_budget(driver, folder)
        press(driver, "#begin")
        assert list(held.glob(f"{PREFIX}*/*/*/table/people.csv"))
        children = children_of(running.pid)
        assert children
        running.send_signal(number)
        assert running.wait(30) in (0, 128 + number)
        assert list(held.glob(f"{PREFIX}*")) == []
        for _ in range(50):
            if not any(map(is_running, children)):
                break
            time.sleep(0.2)
        assert not any(map(is_running, children))


def children_of(process):
    """Processes that a process started, on Linux."""
    tasks = Path(f"/proc/{process}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def is_running(process):
    stat = Path(f"/proc/{process}/stat")
    return stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"

"""Photograph the pages of the app, wide and as narrow as a phone.

    python docs/draw_app.py docs/images

Needs the extra ``[dev]``, chromium and chromedriver.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from reviewing import COLUMNS, browser, served, write_people
from selenium.webdriver.support.ui import WebDriverWait

SIZES = {"wide": (1280, 800), "narrow": (390, 800)}
SHOWN = {"table": "wide", "columns": "wide", "budget": "wide", "result": "narrow"}


def photographs(folder: Path, size: str) -> dict[str, bytes]:
    """Return the pages of a release of simulated rows, as PNGs."""
    write_people(folder / "people.csv", 20_000)
    some = {name: words for name, words in COLUMNS.items() if name != "town"}
    (folder / "domain.json").write_text(json.dumps(some))
    found = {}
    with served(folder, "app") as (address, _), browser(folder, *SIZES[size]) as driver:
        wait, main = WebDriverWait(driver, 120), ".actions button.main"

        def go(selector: str) -> None:
            driver.execute_script("window.isOld = true")
            driver.find_element("css selector", selector).click()
            ready = "return !window.isOld && document.readyState === 'complete'"
            wait.until(lambda d: d.execute_script(ready))

        driver.get(address)
        found["table"] = photograph(driver)
        driver.find_element("id", "table").send_keys(str(folder / "people.csv"))
        driver.find_element("id", "domain").send_keys(str(folder / "domain.json"))
        go(main)
        found["columns"] = photograph(driver)
        go(main)
        go(main)
        driver.find_element("id", "table_rows").send_keys("20000")
        wait.until(lambda d: "20,000 rows" in d.find_element("id", "planned").text)
        found["budget"] = photograph(driver)
        go("#begin")
        wait.until(lambda d: d.current_url.endswith("/result") and not d.find_elements("id", "step"))
        found["result"] = photograph(driver)
    return found


def photograph(driver: Any) -> bytes:
    """Return what the window shows from the top of the page."""
    driver.execute_script("document.activeElement.blur(); window.scrollTo(0, 0)")
    return driver.get_screenshot_as_png()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Photograph the app.")
    parser.add_argument("folder", type=Path)
    target = parser.parse_args().folder
    for each in SIZES:
        with tempfile.TemporaryDirectory() as place:
            for name, picture in photographs(Path(place), each).items():
                if SHOWN[name] == each:
                    (target / f"app_{name}_{each}.png").write_bytes(picture)

"""A review page for tests: in this process without a socket, or as a program with a browser before it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
HOST = "127.0.0.1:4711"
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
NO_BROWSER = "chromium and chromedriver are not installed: apt-get install chromium chromium-driver"
AXE = find_spec("axe_playwright_python")  # is not imported: of it the script alone is used
needs_browser = pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason=NO_BROWSER)
QUIET = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage"
)
COLUMNS: Mapping[str, Mapping[str, Any]] = {
    "id": {"sdtype": "id"},
    "age": {"sdtype": "numerical", "range_min": 18, "range_max": 80},
    "sex": {"sdtype": "categorical", "range_values": ["1", "2"]},
    "town": {"sdtype": "categorical", "range_values": ["Bern", "Chur"]},
    "day": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d", "range_min": "2020-01-01", "range_max": "2020-12-31"},
}  # fmt: skip
"""Of :func:`write_people`: ages over 80 and Basel do not fit."""


def write_people(path: Path, rows: int = 400) -> Path:
    """A table in which some ages and one town do not fit :data:`COLUMNS`."""
    rng = np.random.default_rng(5)
    ages, sexes = rng.integers(18, 90, rows), rng.choice([1, 2], rows)
    towns, months = rng.choice(["Bern", "Basel", "Chur"], rows), rng.integers(1, 13, rows)
    cells = zip(range(rows), ages, sexes, towns, months, strict=True)
    lines = [f"P{i:04d},{age},{sex},{town},2020-{month:02d}-11" for i, age, sex, town, month in cells]
    path.write_text("\n".join(["id,age,sex,town,day", *lines, ""]))
    return path


@contextmanager
def program(folder: Path, *arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """``sdv-plausible declare people.csv -o domain.json --web`` in a folder: its address, and itself."""
    command = ["declare", "people.csv", "-o", "domain.json", "--web", *arguments]
    with served(folder, *command) as found:
        yield found


@contextmanager
def served(folder: Path, *command: str, **environment: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A command that serves pages, in a folder: its address, and itself."""
    place = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])  # this checkout's
    environment = {**os.environ, "PYTHONPATH": place, **environment}
    running = subprocess.Popen(
        [sys.executable, "-m", "sdv_plausible", *command], cwd=folder, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, env=environment,
    )  # fmt: skip
    assert running.stdout is not None
    try:
        said = ""
        for line in running.stdout:
            said += line
            if found := re.search(r"http://\S+", line):
                yield found[0], running
                break
        else:
            raise AssertionError(said)
    finally:
        running.terminate()
        running.wait(20)
        running.stdout.close()


@contextmanager
def browser(folder: Path, width: int, height: int = 900) -> Iterator[Any]:
    """Chromium in a window of this width, with a profile of its own in a folder."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for option in [*QUIET.split(), f"--user-data-dir={folder / 'profile'}", "--force-device-scale-factor=1"]:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=DRIVER))
    try:
        sizes = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", sizes)
        yield driver
    finally:
        driver.quit()


def serious(driver):
    """Findings that keep people out, by rule, with where they are."""
    return findings(driver, ("serious", "critical"))


def findings(driver, impacts=("minor", "moderate", "serious", "critical")):
    """Findings of axe-core, by rule, with where they are."""
    script = Path(next(iter(AXE.submodule_search_locations)), "axe.min.js").read_text(encoding="utf-8")
    driver.set_script_timeout(120)
    driver.execute_script(script)
    found = driver.execute_async_script("axe.run(document).then(found => arguments[0](found.violations))")
    hard = [one for one in found if one["impact"] in impacts]
    return {one["id"]: [node["target"] for node in one["nodes"]] for one in hard}


def fits(driver: Any, controls: str) -> None:
    """Nothing scrolls sideways, and every control that is shown lies in the window and can be hit by a finger."""
    assert driver.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    sizes = driver.execute_script(
        f"return [...document.querySelectorAll('{controls}')].filter(e => e.offsetParent)"
        ".map(e => [e.id || e.innerText, e.offsetHeight, e.getBoundingClientRect().right])"
    )
    width = driver.execute_script("return window.innerWidth")
    assert all(height >= 40 and right <= width for _, height, right in sizes), sizes


def find(driver: Any, selector: str) -> Any:
    """The first element of a selector."""
    return driver.find_element("css selector", selector)


def load_by(driver: Any, act: Callable[[], object]) -> None:
    """Do something that loads another page, and wait for it."""
    from selenium.webdriver.support.ui import WebDriverWait

    driver.execute_script("window.isOld = true")
    act()
    ready = "return !window.isOld && document.readyState === 'complete'"
    WebDriverWait(driver, 120).until(lambda d: d.execute_script(ready))


def press_keys(driver: Any, *keys: str) -> None:
    """Press keys, wherever the focus is."""
    from selenium.webdriver import ActionChains

    ActionChains(driver).send_keys(*keys).perform()


def tab_to(driver: Any, selector: str) -> None:
    """Press the tab key until the focus is there: in the window, and under no bar."""
    from selenium.webdriver import Keys

    script = """const e = document.activeElement, bar = document.querySelector(".actions");
    if (!e.matches(arguments[0])) return null;
    const top = e.getBoundingClientRect().top, over = bar && !bar.contains(e) && bar.getBoundingClientRect();
    return 0 <= top && top < innerHeight && !(over && over.top <= top && top < over.bottom);"""
    for _ in range(150):
        if (is_seen := driver.execute_script(script, selector)) is not None:
            assert is_seen, f"{selector} is focused out of sight"
            return
        press_keys(driver, Keys.TAB)
    raise AssertionError(f"{selector} cannot be reached with the tab key")

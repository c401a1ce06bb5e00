"""Photograph the review page of declarations, wide and as narrow as a phone.

    python docs/draw_review_page.py docs/images

Needs the extra ``[dev]``, chromium and chromedriver.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from reviewing import COLUMNS, browser, program, write_people

SIZES = {"wide": (1280, 800), "narrow": (390, 800)}


def photograph(folder: Path, name: str) -> bytes:
    """Return the page, after a comparison with simulated rows, as a PNG."""
    write_people(folder / "people.csv")
    (folder / "domain.json").write_text(json.dumps({**COLUMNS}))
    with program(folder) as (address, _), browser(folder, *SIZES[name]) as driver:
        driver.get(address)
        driver.find_element("css selector", "button[formaction$=compare]").click()
        driver.execute_script(
            "document.activeElement.blur(); document.getElementById('column-1').scrollIntoView()"
        )
        return driver.get_screenshot_as_png()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Photograph the review page.")
    parser.add_argument("folder", type=Path)
    target = parser.parse_args().folder
    for each in SIZES:
        with tempfile.TemporaryDirectory() as place:
            (target / f"review_page_{each}.png").write_bytes(photograph(Path(place), each))

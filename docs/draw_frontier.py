"""Photograph the frontier of "Plausible deniability with a number": k against total and pass rate.

    python docs/draw_frontier.py docs/images

Needs the extra ``[dev]``, chromium and chromedriver. No table is read: a plan looks at no row.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from reviewing import browser

from sdv_plausible import PlausibleDeniabilitySynthesizer, RandomizedTest, metadata_of
from sdv_plausible.datasets import census_like_metadata


def photograph(folder: Path) -> bytes:
    """Return the figure of the page's own plan, as a PNG."""
    domain, test = census_like_metadata(), RandomizedTest.within(rows=100, least_rows=20_000)
    synth = PlausibleDeniabilitySynthesizer(metadata_of(domain), domain=domain, test=test, epsilon=1.0)
    page = folder / "frontier.html"
    synth.plan().frontier([50, 100, 200, 395, 800, 1_600, 3_200, 6_400, 12_800]).figure().write_html(
        page, config={"displayModeBar": False}
    )
    with browser(folder, 800, 600) as driver:
        driver.get(page.as_uri())
        png: bytes = driver.find_element("css selector", ".plot-container").screenshot_as_png
    return png


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Photograph the frontier.")
    parser.add_argument("folder", type=Path)
    target = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as place:
        (target / "deniability_frontier.png").write_bytes(photograph(Path(place)))

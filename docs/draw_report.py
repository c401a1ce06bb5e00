"""Photograph scores and distances in the evaluation report of simulated rows.

    python docs/draw_report.py docs/images/report.png

Needs the extra ``[dev]``, chromium and chromedriver.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from reviewing import browser

from sdv_plausible import PlausibleDeniabilitySynthesizer, metadata_of
from sdv_plausible.datasets import census_like, census_like_metadata
from sdv_plausible.evaluation import PlausibleDeniabilityReport

SIZE = (1000, 842)


def photograph(folder: Path) -> bytes:
    """Return the report of README's release, as a PNG."""
    domain = census_like_metadata()
    synth = PlausibleDeniabilitySynthesizer(metadata_of(domain), epsilon=1.0, delta=1e-9, domain=domain)
    table = census_like(100_000)
    synth.fit(table)
    report = PlausibleDeniabilityReport(ledger=synth.privacy_ledger(), structure=synth.get_structure())
    report.generate(table, synth.sample(10_000), synth.metadata, verbose=False)
    report.to_html(folder / "report.html")
    with browser(folder, *SIZE) as driver:
        driver.get((folder / "report.html").as_uri())
        driver.execute_script("document.documentElement.style.scrollbarWidth = 'none'")
        driver.execute_script("[...document.querySelectorAll('h2')].at(-1).scrollIntoView()")
        return driver.get_screenshot_as_png()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Photograph the report.")
    parser.add_argument("file", type=Path)
    target = parser.parse_args().file
    with tempfile.TemporaryDirectory() as place:
        target.write_bytes(photograph(Path(place)))

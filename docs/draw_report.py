"""Photograph the distances of a report on the embedded census: the picture of the README.

    python docs/draw_report.py docs/images

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

WIDTH, HEIGHT = 800, 900


def write_report(path: Path) -> None:
    """Write the report that the README's lines make."""
    table, domain = census_like(100_000), census_like_metadata()
    metadata = metadata_of(domain)
    synth = PlausibleDeniabilitySynthesizer(metadata, domain=domain, epsilon=1.0, delta=1e-9)
    synth.fit(table)
    report = PlausibleDeniabilityReport(
        ledger=synth.privacy_ledger(), holdout=census_like(20_000), target="income_class"
    )
    report.generate(table, synth.sample(20_000), metadata, verbose=False)
    report.to_html(path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Photograph the distances of a report.")
    parser.add_argument("folder", type=Path)
    target = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as place:
        write_report(Path(place) / "report.html")
        with browser(Path(place), WIDTH, HEIGHT) as driver:
            driver.get((Path(place) / "report.html").as_uri())
            picture = driver.find_element("css selector", "section[aria-label=Distances] .grid")
            picture.screenshot(str(target / "report_distances.png"))

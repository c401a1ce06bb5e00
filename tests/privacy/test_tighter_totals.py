"""The promise page's table of totals: what its releases cost today."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sdv_plausible import PlausibleDeniabilitySynthesizer, metadata_of
from sdv_plausible.privacy.ledger_record import rounded_up
from tests.flat import values

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "privacy_promise.md"
DOMAIN = {f"c{i}": {"range_values": list(range(8))} for i in range(11)}
RANDOMISED: dict[str, Any] = {"omega": 5, "test": "randomized"}
RELEASES: dict[str, dict[str, Any]] = {
    "default, no seeds": {},
    "release test with seeds, k 50, epsilon0 1": {"omega": 5},
    "735,000 seeds, k 50, epsilon0 1, 10,000 rows": {
        **RANDOMISED, "k": 50, "epsilon0": 1.0, "row_cap": 10_000, "least_rows": 735_000,
    },
    "735,000 seeds, k 200, epsilon0 0.1, 10,000 rows": {
        **RANDOMISED, "k": 200, "epsilon0": 0.1, "row_cap": 10_000, "least_rows": 735_000,
    },
    "100,000 seeds, k 50, epsilon0 1, 1,000 rows": {
        **RANDOMISED, "k": 50, "epsilon0": 1.0, "row_cap": 1000, "least_rows": 100_000,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", RELEASES)
def test_the_table_says_what_they_cost(name):
    (line,) = [
        line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("|") and f"{name} |" in line
    ]
    *_, coarse, fine = [cell.split(", ")[-1].strip() for cell in line.strip("| ").split("|")]
    for said, delta in ((coarse, 1e-6), (fine, 1e-9)):
        synth = PlausibleDeniabilitySynthesizer(
            metadata_of(DOMAIN), domain=DOMAIN, delta=delta, **values(**RELEASES[name])
        )
        assert rounded_up(synth.plan().ledger.total()) == said

"""The coverage of forecasts that docs/explanation/choosing.md states, from what was measured."""

from pathlib import Path

import pytest

from benchmarks.pair_forecasts import CHECKED, CHOSEN, KEPT, report
from benchmarks.utility import Line, read
from sdv_plausible.models.forecast import CLASSES


def within(lines: list[Line], tables: tuple[str, ...], kind: str, scale: float = 1.0) -> tuple[int, int]:
    """How many measured means lie within the forecast, times ``scale``, and how many there are."""
    means = [line for line in lines if line["table"] in tables and kind in (line["class"], "all")]
    return sum(line["measured"] <= scale * line["forecast"] for line in means), len(means)


@pytest.mark.parametrize(("name", "tables"), [("chosen by", CHOSEN), ("checked on", CHECKED)])
def test_nine_of_ten_means_lie_within_the_forecast_as_the_page_says(name, tables):
    """Of tables without a part in it, too. Planted: half of the forecast."""
    lines = read(KEPT)
    assert {line["table"] for line in lines} == {*CHOSEN, *CHECKED}
    counts = [within(lines, tables, kind) for kind in (*CLASSES, "all")]
    assert all(inside >= 0.9 * means for inside, means in counts)
    inside, means = within(lines, tables, "all", 0.5)
    assert inside < 0.9 * means
    page = (Path(__file__).parents[2] / "docs/explanation/choosing.md").read_text("utf-8")
    assert f"| {name} | " + " | ".join("{} of {}".format(*count) for count in counts) in page


def test_a_report_counts_what_is_within():
    run = {"table": "adult", "epsilon": 1.0, "rows": 344, "class": "both small", "pairs": 3}
    lines = [{**run, "measured": 0.1, "forecast": f} for f in (0.05, 0.2, 0.3, 0.1)]
    assert "| chosen by | both small | 4 | 75% | 1.5 (0.50) |" in report(lines)

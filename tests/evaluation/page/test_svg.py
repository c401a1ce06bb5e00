"""Numbers, ticks and labels of a drawing."""

import pytest

from sdv_plausible.evaluation.page.charts import CHARACTER, number, shorten, shorten_all, ticks


def test_axis_numbers_and_labels():
    found = [number(v) for v in (0.25, 0, 1999, 20_000, 3e6, -15_500, 1e12)]
    assert found == ["0.25", "0", "1999", "20k", "3M", "-15.5k", "1.0e+12"]
    assert ticks(0, 1) == pytest.approx([0, 0.25, 0.5, 0.75, 1.0])
    assert ticks(0.4, 1.0) == pytest.approx([0.4, 0.6, 0.8, 1.0])
    assert ticks(1, 1) == [1]
    assert shorten("short", 100) == "short"
    assert shorten("a very long name indeed", 60).endswith("\u2026")


def test_labels_that_are_cut_stay_different():
    labels = ["Self-employed (incorporated)", "Self-employed (not incorporated)", "Some college, no degree",
              "Some college, 1 year"]  # fmt: skip
    room = 14 * CHARACTER
    assert len(set(shorten_all(labels, room))) == 4
    assert len({shorten(label, room) for label in labels}) < 4  # control
    assert shorten_all(["short", "short"], room) == ["short", "short"]
    # cut once more where two of three part later, and the whole end where it has room
    alike = [
        f"the same beginning, {end}" for end in ("early one, last word x", "early one, last word y", "z")
    ]
    assert len(set(shorten_all(alike, room))) == 3
    numbered = [f"a_rather_long_column_name_{i:02d}" for i in range(2)]
    assert shorten_all(numbered, room) == ["a_ra\u2026ame_00", "a_ra\u2026ame_01"]

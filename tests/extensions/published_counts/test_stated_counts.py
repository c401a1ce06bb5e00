"""Counts that others state: read cell by cell, refused in one line where they are not the domain's, added up."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest

from sdv_plausible import Domain, StatedCounts

DAYS = {"datetime_format": "%Y-%m-%d", "range_min": "2001-01-01", "range_max": "2001-01-03"}
DOMAIN = Domain.from_declarations(
    {
        "sex": {"range_values": ["f", "m"]},
        "age": {"range_min": 0, "range_max": 9, "bins": [0, 5, 9]},
        "day": {"sdtype": "datetime", **DAYS},
        "flag": {"range_values": [True, False], "range_is_nullable": True},
    }
)
CELLS = {"sex": ["f", "f", "m", "m"], "age": [0, 7, 0, 7], "count": [10, -2.4, 30, 40]}


def stated(changed=None, **options):
    return StatedCounts(table=pd.DataFrame({**CELLS, **(changed or {})}), **({"scale": 2.0} | options))


def test_cells_find_their_codes_in_any_order():
    shuffled = pd.DataFrame(CELLS).sample(frac=1, random_state=1)
    for table in (pd.DataFrame(CELLS), shuffled, shuffled.astype(str)):
        answer = StatedCounts(table=table, scale=2.0).answer(DOMAIN)
        np.testing.assert_array_equal(answer.values, [[10, -2], [30, 40]])
        assert (answer.scale, answer.scales, answer.noise) == (2.0, 2.0, "discrete gaussian")
        assert [axis.column for axis in answer.asked.tables[0]] == [0, 1]
        assert answer.is_published


def test_values_of_one_bin_are_added_up_with_their_noise():
    table = pd.DataFrame({"age": range(10), "count": 1.0})
    answer = StatedCounts(table=table, scale=2.0).answer(DOMAIN)
    np.testing.assert_array_equal(answer.values, [5, 5])
    assert answer.scale == pytest.approx(2 * math.sqrt(5))
    exact = StatedCounts(table=table, noise="exact", scale=5.0, source="X").answer(DOMAIN)
    assert exact.scale == 5 * 2 + 0.5  # each was rounded by 2 at most
    exact = stated({"count": [1, 2, 3, 4]}, noise="exact", scale=None, source="X")
    both = exact.added(dataclasses.replace(exact, source="Y"))
    assert (both.noise, both.answer(DOMAIN).scale, both.source) == ("exact", 0.5, "X, Y")
    np.testing.assert_array_equal(both.answer(DOMAIN).values, [[2, 4], [6, 8]])


def test_every_count_may_have_noise_of_its_own_and_unknown_ones_what_is_said_of_them():
    answer = stated({"error": [1.0, 2.0, 0.0, 4.0]}, scale="error").answer(DOMAIN)
    np.testing.assert_allclose(answer.scales, [[1, 2], [12**-0.5, 4]])
    assert answer.scale == pytest.approx(math.sqrt(np.mean(np.square(answer.scales))))
    table = pd.DataFrame({"sex": ["f", "f", "m"], "age": [0, 7, 0], "count": [10, None, 30]})
    answer = StatedCounts(table=table, scale=1.0, unknown=(2, 3)).answer(DOMAIN)
    np.testing.assert_array_equal(answer.values, [[10, 2], [30, 2]])
    np.testing.assert_allclose(answer.scales, [[1, 3], [1, 3]])


def test_missing_is_a_cell_and_dates_are_read_as_the_domain_says():
    flags = pd.DataFrame({"flag": [True, False, None], "count": [1, 2, 3]})
    days = pd.DataFrame({"day": ["2001-01-03", "2001-01-01", "2001-01-02"], "count": [1, 2, 3]})
    stamps = days.assign(day=pd.to_datetime(days["day"]))
    for table, counts in ((flags, [1, 2, 3]), (days, [2, 3, 1]), (stamps, [2, 3, 1])):
        np.testing.assert_array_equal(StatedCounts(table=table, scale=1.0).answer(DOMAIN).values, counts)


def deviation(answer):
    return answer.scales * {"discrete gaussian": 1.0, "discrete laplace": 2**0.5}.get(answer.noise, 3**-0.5)


def test_the_variances_of_several_holders_add_up():
    """Whatever the order of their cells. Planted: holders' deviations that are added are too wide."""
    for laws in (("gaussian", "gaussian"), ("laplace", "laplace"), ("laplace", "gaussian")):
        turned = {name: cells[::-1] for name, cells in CELLS.items()}
        first = stated(turned, noise=laws[0], scale=3.0, source="A", privacy="epsilon 1")
        other = stated(noise=laws[1], scale=4.0, source="B")
        whole, parts = first.added(other).answer(DOMAIN), [one.answer(DOMAIN) for one in (first, other)]
        np.testing.assert_array_equal(whole.values, [[20, -5], [60, 80]])  # -4.8 is rounded once
        assert deviation(whole) == pytest.approx(math.hypot(*map(deviation, parts)))
        assert deviation(whole) < 0.8 * sum(map(deviation, parts))
        assert first.added(other).words.startswith("A, B states A epsilon 1 for counts over sex, age")


EXACT = {"noise": "exact", "scale": None}
REFUSED = {
    "unknown column": ({"sec": CELLS["sex"]}, {"columns": ["sec", "age"]}, "name \\['sec'\\].*did you mean 'sex'.*: rename"),
    "a value outside": ({"sex": ["f", "f", "x", "x"]}, {}, "a cell 'x', which column 'sex'.*: declare it, translate"),
    "a total": ({"sex": ["f", "f", "m", "Total"]}, {}, "leave totals out"),
    "a number outside": ({"age": [0, 7, 0, 11]}, {}, "a cell 11, which column 'age'"),
    "a missing value": ({"sex": ["f", "f", "m", None]}, {}, "a cell None, which column 'sex'"),
    "a cell twice": ({"age": [0, 0, 0, 7]}, {}, "1 cells twice: add them up"),
    "a cell lacking": ({"age": [0, 4, 0, 7]}, {}, "lack 1 of 4 cells, first sex f, age 5 to 9: give each"),
    "negative scale": ({}, {"scale": -1.0}, "scale \\(-1.0\\) must be a finite number above 0: it is"),
    "no scale": ({}, {"scale": None}, "scale .* must be"),
    "negative errors": ({"e": [1, 1, 1, -1]}, {"scale": "e"}, "1 cells of 'e' .* at least 0: mend"),
    "a column of errors that is not there": ({}, {"scale": "e"}, "lacks .*'e'"),
    "counts that are none": ({"count": [1, 2, 3, "secret"]}, {}, "1 cells of 'count' .* finite numbers: mend"),
    "infinite counts": ({"count": [1, 2, 3, math.inf]}, {}, "1 cells of 'count' .* finite numbers"),
    "exact without source": ({}, EXACT, "source .* must say who published exact counts"),
    "an empty source": ({}, {"source": " "}, "source .* must be a text"),
    "a source that looks like a claim": ({}, {"source": "X\n\nTotal epsilon 0.1"}, "source .* must be a text of one line"),
    "a statement of two lines": ({}, {"privacy": "rho 1\r\nTotal epsilon 0.1"}, "privacy .* must be a text of one line"),
    "a cell twice, spelled otherwise": ({"age": [4, "4", 4.0, 7]}, {}, "1 cells twice"),
    "exact below 0": ({}, {**EXACT, "source": "X"}, "1 cells of 'count' .* at least 0, as they are exact"),
    "another law": ({}, {"noise": "cauchy"}, 'noise .* must be "gaussian"'),
    "no columns": ({}, {"columns": ["count"]}, "columns .* must be different columns"),
    "half of unknown": ({}, {"unknown": (1,)}, "unknown .* must be a count and a scale"),
    "no scale of unknown": ({}, {"unknown": (1, 0)}, "unknown .* above 0"),
}  # fmt: skip


def test_what_cannot_be_is_refused_in_one_line():
    for changed, options, words in REFUSED.values():
        with pytest.raises(ValueError, match=words) as told:
            stated(changed, **options).answer(DOMAIN)
        assert "\n" not in str(told.value)


def test_no_frame_too_many_cells_and_holders_of_other_cells_are_refused(monkeypatch):
    with pytest.raises(ValueError, match="table .* must be a DataFrame"):
        StatedCounts(table=CELLS, scale=1.0)
    one = StatedCounts(table=pd.DataFrame({"sex": ["f", "m"], "count": [1, 2]}), scale=1.0)
    for other, words in (
        (stated({"age": [0, 7, 0, 8]}), "2 cells over sex, age are not in all"),
        (one, "others must be counts over sex, age"),
    ):
        with pytest.raises(ValueError, match=words):
            stated().added(other)
    monkeypatch.setattr("sdv_plausible.extensions.published_counts.stated_counts.MAX_CELLS", 3)
    with pytest.raises(ValueError, match="have 4 cells, of at most 3"):
        stated().answer(DOMAIN)

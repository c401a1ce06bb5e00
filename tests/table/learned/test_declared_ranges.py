"""Declared ranges whose bins are learned: what is known beforehand, what is asked, and what comes of it."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from cases import fast_and_nightly
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.noise.mechanisms import record_calls
from sdv_plausible.queries.partition_selection import FrequentValueCounts
from sdv_plausible.queries.queryable import NoisyValues, Queryable
from sdv_plausible.table.codec import ColumnCodec
from sdv_plausible.table.declared.declarations import read_declarations
from sdv_plausible.table.declared.specifications import declare
from sdv_plausible.table.learned.declared_ranges import (
    FEW_POINTS,
    PARTS,
    DeclaredRange,
    declared_range_of,
    ends_of,
)
from sdv_plausible.table.learned.private_columns import FEW, _drop_light_ends, learn_attributes
from sdv_plausible.table.learned.private_domain import DomainPlan, LearningBudget
from sdv_plausible.table.learned.raw_queries import FrameColumns, RunCounts
from sdv_plausible.table.learned.value_grid import GridRuns, ValueGrid, bins_around

RANGES = {
    "whole": {"range_min": 0, "range_max": 999},
    "wide": {"range_min": -5, "range_max": 10**9, "range_is_nullable": False},
    "cents": {"range_min": 0.0, "range_max": 9.5, "decimal_places": 2},
    "unknown digits": {"range_min": 0.0, "range_max": 9.5},
    "dates": {"range_min": "2019-06-01", "range_max": "2024-12-31", "datetime_format": "%Y-%m-%d"},
}


def bounds(spec: dict, max_bins: int = 30) -> DeclaredRange:
    return declared_range_of(declare("x", spec, None, max_bins), spec)


def plan(spec: dict) -> DomainPlan:
    known = bounds(spec)
    return DomainPlan.make({"x": known.sdtype}, LearningBudget.of(1.0, 1e-6), bounds={"x": known})


def learn(column, spec: dict, seed: int = 0, max_bins: int = 30):
    made = plan(spec)
    ledger = PrivacyLedger(delta=1e-6)
    rows = Queryable(
        FrameColumns(pd.DataFrame({"x": column})), ledger, made.entries(), KeyedRNG.from_seed(seed)
    )
    return learn_attributes(rows, made, {"x": {}}, {}, max_bins)["x"]


@pytest.mark.parametrize(
    ("spec", "wide"),
    [
        ({"range_min": 0, "range_max": 110}, False), ({"range_min": 0, "range_max": 199}, False),
        ({"range_min": 0, "range_max": 200}, True), ({"range_min": 0.0, "range_max": 1.0}, True),
        ({"range_min": 2.5, "range_max": 2.5}, False),
        ({"range_min": "2020-01-01", "range_max": "2020-03-01", "datetime_format": "%Y-%m-%d"}, False),
        ({"range_min": "2020-01-01", "range_max": "2023-01-01", "datetime_format": "%Y-%m-%d"}, True),
    ],
)  # fmt: skip
def test_ranges_of_few_values_are_single_values_and_need_no_learning(spec, wide):
    attribute = declare("x", spec, None, 100)
    assert attribute.is_wide == wide
    if not wide:
        assert attribute.lower == attribute.upper
    found = read_declarations({"x": spec}, "infer", 100, {"x": {}})
    assert (set(found.bounds), set(found.attributes)) == (({"x"}, set()) if wide else (set(), {"x"}))


@settings(max_examples=300, deadline=None)
@given(st.integers(-(2**40), 2**40), st.integers(0, 2**41), st.sampled_from([None, 1, 2]))
def test_the_grid_covers_the_range_once(low, width, decimals):
    spec = {"range_min": low / 4, "range_max": (low + width) / 4, "decimal_places": decimals}
    lattice = bounds(spec).grid or ValueGrid(kind="float")
    known = bounds(spec)
    first, last = known.coarse_cells(lattice)
    low_point, high_point = known.ends(lattice)
    assert spec["range_min"] <= lattice.value(low_point) or high_point < low_point
    assert lattice.value(high_point) <= spec["range_max"] or high_point < low_point
    if len(first):
        assert (first[0], last[-1]) == (low_point, high_point)
        assert (first[1:] == last[:-1] + 1).all()
        assert (first <= last).all()
        assert len(first) >= min(PARTS, high_point - low_point + 1)


def test_a_range_of_months_ends_on_the_last_ones_last_day():
    spec = {"range_min": "2000-01", "range_max": "2013-12", "datetime_format": "%Y-%m"}
    known, months = bounds(spec), np.arange("2000-01", "2014-01", dtype="M8[M]")
    last = int(np.datetime64("2013-12-31", "ns").view(np.int64))
    assert known.plain.upper[-1] == last
    assert known.ends(known.grid) == (12 * 30, 12 * 43 + 11)
    found = learn(np.repeat(months.astype(str), 20).astype(object), spec)
    assert found.upper[-1] == last
    assert known.leads_to(found)
    assert {str(pd.Timestamp(end).is_month_start) for end in found.lower} == {"True"}
    assert {str(pd.Timestamp(end).is_month_end) for end in found.upper} == {"True"}


def test_the_grid_begins_a_cell_at_every_power_of_two_and_year():
    known = bounds({"range_min": 0, "range_max": 1024})
    first, last = known.coarse_cells(ValueGrid(kind="integer"))
    assert {2**i for i in range(11)} <= set(first.tolist())
    assert last[-1] == 1024
    days = bounds(RANGES["dates"])
    first, _ = days.coarse_cells(days.grid)
    years = [np.datetime64(f"{year}-01-01", "D").astype(int) for year in range(2020, 2025)]
    assert set(years) <= set(first.tolist())


def test_a_range_of_one_point_is_one_cell_and_one_of_none_has_none():
    for low, high, cells in ((2.5, 2.5, [25]), (2.51, 2.59, []), (2.41, 2.59, [25])):
        spec = {"range_min": low, "range_max": high, "decimal_places": 1}
        plain = replace(bounds(RANGES["cents"]).plain, lower=(low,), upper=(high,), decimals=1)
        first, last = declared_range_of(plain, spec).coarse_cells(ValueGrid(kind="float", decimals=1))
        assert (first.tolist(), last.tolist()) == (cells, cells)


def test_what_the_declaration_leaves_open_is_asked():
    day = 86_400 * 10**9
    dates = RANGES["dates"]
    assert bounds(dates).grid == ValueGrid(kind="datetime", unit=day)
    assert bounds(RANGES["whole"]).resolution is None
    found = declared_range_of(replace(bounds(dates).plain, datetime_format=None), dates)
    assert (found.resolution, found.grid) == (None, None)
    told = {"range_is_nullable": True}
    asked = [
        RANGES["whole"],
        {**RANGES["whole"], **told},
        RANGES["unknown digits"],
        {**RANGES["unknown digits"], **told},
    ]
    assert [bounds(spec).learns_precision for spec in asked] == [True, False, True, True]
    assert bounds({**RANGES["whole"], **told}).nullable is True


def test_bins_of_two_values_are_wide():
    plain = bounds(RANGES["whole"]).plain
    assert replace(plain, lower=(0, 2), upper=(1, 2)).is_wide
    assert not replace(plain, lower=(0, 1), upper=(0, 1)).is_wide


def test_a_range_between_two_points_keeps_equal_bins():
    """Whole numbers were found in a range without one."""
    spec = {"range_min": 0.2, "range_max": 0.8}
    found = learn([0.0] * 5000, spec)
    assert (found.kind, found.lower[0], found.upper[-1], found.provenance) == ("float", 0.2, 0.8, "private")


def test_bins_that_lost_an_empty_end_were_learned_in_the_range():
    """Found at random: no source was cited of dates that begin years after the range. Control: other ranges."""
    spec = {"range_min": "2000-01-01", "range_max": "2030-12-31", "datetime_format": "%Y-%m-%d"}
    days = pd.to_datetime("2019-03-01") + pd.to_timedelta(np.arange(2000) % 30, unit="D")
    known, found = bounds(spec, 10), learn(days, spec, max_bins=10)
    assert found.lower[0] > known.low
    assert found.upper[-1] < known.high
    assert known.leads_to(found)
    assert not bounds({**spec, "range_min": "2019-03-20"}, 10).leads_to(found)
    assert not bounds({**spec, "range_max": "2019-03-10"}, 10).leads_to(found)
    assert known.leads_to(replace(found, lower=(known.low,), upper=(known.high,)))


def test_spikes_zeros_and_tails_are_found():
    """A column like capital gains: 90 % zeros, two heavy values, a tail. False alarm: noise 30 sd away.

    Control: equal bins hold the zeros with 333 other values.
    """
    rng = np.random.default_rng(0)
    column = np.where(rng.random(40_000) < 0.9, 0, rng.choice([7688, 15024], 40_000))
    spec = {"range_min": 0, "range_max": 99_999}
    found = learn(column, spec)
    singles = {low for low, high in zip(found.lower, found.upper, strict=True) if low == high}
    assert {0, 7688, 15024} <= singles
    assert (found.lower[0], found.nullable) == (0, False)
    assert 15_024 <= found.upper[-1] <= 99_999
    assert len(found.lower) <= 30
    assert bounds(spec).plain.upper[0] == 3332


def test_a_value_beyond_a_declared_range_gets_no_bin_however_many_hold_it():
    column = np.where(np.arange(40_000) % 3 == 0, 500_000, np.arange(40_000) % 900 - 400)
    column[::7] = -3
    found = learn(column, {"range_min": 0, "range_max": 99_999})
    assert min(found.lower) >= 0
    assert max(found.upper) <= 99_999


def test_missing_values_and_digits_are_learned_where_they_are_not_declared():
    column = np.where(np.arange(20_000) % 5 == 0, np.nan, np.arange(20_000) % 900 / 100)
    found = learn(column, RANGES["unknown digits"])
    assert (found.nullable, found.decimals) == (True, 2)
    assert not learn(column[1:5], {**RANGES["cents"], "range_is_nullable": False}).nullable
    assert learn(np.arange(20_000) % 9 / 1.0, RANGES["unknown digits"]).kind == "integer"


@pytest.mark.parametrize("spec", RANGES.values(), ids=RANGES)
def test_what_is_drawn_is_what_was_charged(spec):
    dates = pd.Series(pd.date_range("2020-01-01", periods=1500).strftime("%Y-%m-%d"))
    column = dates if "datetime_format" in spec else pd.Series(np.arange(1500) % 9.25)
    made = plan(spec)
    with record_calls() as calls:
        learn(column, spec)
    spent = sum((c.sensitivity / c.scale) ** 2 for c in calls)
    assert 0.5 * made.mu**2 < spent <= made.mu**2 * (1 + 1e-9)
    known = bounds(spec)
    if not known.may_be_long:  # every single value got noise, whether a row holds it or not
        low, high = known.ends(known.grid)
        assert any(c.shape == (high - low + 1,) for c in calls) or known.may_have_decimals


def recorded(values: list, spec: dict, monkeypatch, dtype=float) -> list[np.ndarray]:
    """Every table that is measured, when the noisy answers are the same whatever the rows are."""
    seen: list[np.ndarray] = []

    def ask(self, question, share):
        exact = np.array(question.exact(self._rows))
        seen.append(exact)
        return NoisyValues(values=np.where(np.arange(len(exact)) % 61 < 2, 900.0, 0.0), sigma=1.0)

    def ask_frequent(self, question, share, failure):
        points, counts, _ = question.occurring(self._rows)
        seen.append(np.bincount(np.searchsorted(sorted(ALPHABET), points), counts, minlength=9))
        return FrequentValueCounts(
            values=[], counts=np.zeros(0), public=np.zeros(0), sigma=1.0, granularity=1.0
        )

    with monkeypatch.context() as patch:
        patch.setattr(Queryable, "ask", ask)
        patch.setattr(Queryable, "ask_frequent", ask_frequent)
        learn(pd.Series(values, dtype=dtype), spec, max_bins=8)
    return seen


ALPHABET = [0.0, 4.0, 999.0, -7.0, 5e6, 4.25, np.nan]


@pytest.mark.parametrize("size", fast_and_nightly([0, 1], [2]))
@pytest.mark.parametrize("name", ["whole", "wide", "cents", "unknown digits"])
def test_one_row_changes_each_measured_table_by_one(name, size, monkeypatch):
    """Brute force over all tables of up to two rows and all rows added to them."""
    for rows in itertools.combinations_with_replacement(ALPHABET, size):
        before = recorded(list(rows), RANGES[name], monkeypatch)
        for extra in ALPHABET:
            after = recorded([*rows, extra], RANGES[name], monkeypatch)
            assert max(np.abs(a - b).sum() for a, b in zip(before, after, strict=True)) <= 1


def test_a_text_beside_numbers_is_in_no_measured_cell(monkeypatch):
    """Neither missing nor a number, in any question after that for the rows; another word cannot be read."""
    for name in ("whole", "wide", "cents", "unknown digits"):
        spec = {key: end for key, end in RANGES[name].items() if key != "range_is_nullable"}
        spec["special_values"] = ["N"]
        bare, with_text, with_word = (
            recorded([4.0, *more], spec, monkeypatch, object)[1:] for more in ([], ["N", "N"], ["M"])
        )
        assert (with_text[0] - bare[0])[-3:].tolist() == [2, 0, 0]  # the precision: texts, unread, missing
        assert all((a == b).all() for a, b in zip(bare[1:], with_text[1:], strict=True))
        assert (with_word[0] - bare[0])[-3:].tolist() == [0, 1, 0]


def test_texts_beside_numbers_keep_their_codes_and_are_not_taken_for_missing():
    numbers = np.arange(20_000) % 900
    column = pd.Series(np.where(np.arange(20_000) % 5 == 0, "N", numbers.astype(str)), dtype=object)
    found = learn(column, {"range_min": 0, "range_max": 900, "special_values": [-1, "N", "?"]})
    assert found.values == ("N", "?")
    assert not found.nullable
    assert found.num_ordered == found.cardinality - 2 == len(found.lower)
    assert (found.lower[0], found.upper[-1]) == (-1, 900)
    codes = ColumnCodec(found).encode(pd.Series(["N", -1, "?"], dtype=object))
    assert codes.tolist() == [found.num_ordered, 0, found.num_ordered + 1]


@pytest.mark.parametrize(
    ("spec", "scale"),
    [
        ({"range_min": 0, "range_max": 10**6}, 1),
        ({"range_min": 0.0, "range_max": 10.0**4, "decimal_places": 2}, 100),
    ],
)
def test_how_round_numbers_are_is_learned(spec, scale):
    """Incomes in hundreds: all but few are multiples of 100 again. Control: without the question next to none is."""
    rng = np.random.default_rng(8)
    column = np.rint(rng.lognormal(10, 0.6, 40_000) / 100).clip(1, 9_999) * 100 / scale
    found = learn(column, {**spec, "range_is_nullable": False}, max_bins=100)
    codec = ColumnCodec(found)

    def share(attribute) -> float:
        drawn = ColumnCodec(attribute).decode(codec.encode(pd.Series(column)), KeyedRNG.from_seed(1))
        points = np.rint(np.asarray(drawn, dtype=float) * scale)
        assert (np.abs(points / scale - drawn) < 1e-9).all()
        assert codec.encode(pd.Series(drawn)).tolist() == codec.encode(pd.Series(column)).tolist()
        return float((points % 100 == 0).mean())

    assert share(found) > 0.9
    assert share(replace(found, rounding=None)) < 0.8


def test_rounding_is_asked_where_the_declaration_tells_the_points():
    asked = {name: bool(bounds(spec).steps) for name, spec in RANGES.items()}
    assert asked == {"whole": True, "wide": True, "cents": True, "unknown digits": False, "dates": False}


def test_overlapping_cells_are_caught(monkeypatch):
    """Planted: cells that share their ends."""
    count = RunCounts.exact
    monkeypatch.setattr(RunCounts, "exact", lambda self, rows: count(replace(self, last=self.last + 1), rows))
    before, after = (recorded(rows, RANGES["whole"], monkeypatch) for rows in ([4.0], [4.0, 4.0]))
    assert max(np.abs(a - b).sum() for a, b in zip(before, after, strict=True)) > 1


def test_a_short_range_needs_no_threshold_and_a_long_one_does():
    assert not bounds(RANGES["whole"]).may_be_long
    assert bounds({"range_min": 0, "range_max": FEW_POINTS}).may_be_long
    assert not bounds({"range_min": 0, "range_max": FEW_POINTS - 1}).may_be_long
    assert not bounds({"range_min": 10**6, "range_max": 10**6 + 999}).may_be_long
    assert bounds({"range_min": -(10**6), "range_max": 10}).may_be_long
    assert bounds(RANGES["unknown digits"]).may_be_long
    assert [len(plan(RANGES[name]).losses) for name in ("whole", "wide")] == [1, 2]
    assert "learned within declared bounds: x" in plan(RANGES["whole"]).entries()[0].mechanism


def test_special_values_stay_single_whatever_the_noise_says():
    """Bank's pdays: -1 is "never", beside a range of days. Nobody holds 500."""
    spec = {"range_min": 0, "range_max": 900, "special_values": [-1, 500], "range_is_nullable": False}
    known = bounds(spec)
    assert known.ends(known.grid) == (0, 900)
    found = learn(np.where(np.arange(20_000) % 5 > 0, -1, np.arange(20_000) % 900), spec)
    singles = {low for low, high in zip(found.lower, found.upper, strict=True) if low == high}
    assert {-1, 500} <= singles
    assert (found.lower[0], found.upper[-1]) == (-1, 900)


def test_bins_that_the_user_named_are_not_learned():
    for bins in (20, [0, 10, 1000]):
        found = read_declarations(
            {"x": {"range_min": 0, "range_max": 1000, "bins": bins}}, "infer", 30, {"x": {}}
        )
        assert (set(found.bounds), set(found.attributes)) == (set(), {"x"})


MINUTES = {"range_min": 0, "range_max": 1439, "decimal_places": 0, "range_is_nullable": False,
           "special_values": [0], "rounding": [5, 15, 30, 60]}  # fmt: skip


def clock(n: int = 40_000) -> np.ndarray:
    """Times of day from 5 to 22 h, most in fives of minutes; a few in the night."""
    rng = np.random.default_rng(2)
    fives = rng.integers(60, 264, n) * 5
    return np.where(rng.random(n) < 0.3, rng.integers(300, 1320, n), fives) * (rng.random(n) > 0.001)


def test_a_special_value_stays_single_beside_as_many_others_as_fit():
    """Half of the bins are single values; a bin is left between any two of them."""
    crowded = np.repeat(np.arange(0, 1440, 12), 400)
    attribute = learn(crowded, {k: v for k, v in MINUTES.items() if k != "rounding"}, max_bins=80)
    assert (attribute.lower[0], attribute.upper[0]) == (0, 0)
    assert len(attribute.lower) <= 80


def test_steps_of_the_declaration_are_those_of_the_rounding():
    assert learn(clock(), MINUTES, max_bins=100).rounding.steps == (1, 5, 15, 30, 60)


def test_one_value_that_is_all_has_bins_of_every_size_about_it():
    """Midnight alone: the rest of the day is of any size. Control: bins as always where many rows hold others."""
    attribute = learn(np.zeros(40_000), MINUTES, max_bins=100)
    assert attribute.lower[:5] == (0, 1, 2, 4, 8)
    assert attribute.upper[-1] == 1439
    assert len(attribute.lower) <= 13
    assert len(learn(np.where(np.arange(40_000) % 2, 0, clock()), MINUTES, max_bins=100).lower) > 50


@given(st.integers(-1000, 1000), st.integers(0, 10**12), st.integers(0, 10**12))
def test_runs_about_a_point_cover_the_range_once(point, below, above):
    runs = bins_around(point, point - below, point + above)
    assert (point, point) in runs
    assert runs[0][0] == point - below
    assert runs[-1][1] == point + above
    assert all(last + 1 == first for (_, last), (first, _) in itertools.pairwise(runs))
    assert len(runs) <= 2 * 2 * 16 + 1


WIDE = {  # cells, and a range 10,000 times as wide as they need
    "counts": (lambda rng: rng.poisson(2.5, 20_000), {"range_min": 0, "range_max": 110_000}, 24),
    "with missing cells": (
        lambda rng: np.where(rng.random(20_000) < 0.3, np.nan, rng.lognormal(4, 1, 20_000).round(2)),
        {"range_min": 0.0, "range_max": 4e7, "decimal_places": 2, "range_is_nullable": True},
        20_000,
    ),
    "doubles": (lambda rng: rng.normal(0, 1e-3, 20_000), {"range_min": -45.5, "range_max": 45.5}, 0.02),
}


@pytest.mark.parametrize("kind", WIDE)
def test_bins_end_near_the_rows_where_nothing_stands_out_beyond(kind):
    """Each was drawn evenly to the end of the range: means were 2 to 400 times the true ones."""
    draw, spec, farthest = WIDE[kind]
    attribute = learn(draw(np.random.default_rng(0)), spec, max_bins=100)
    assert 0 < attribute.upper[-1] <= farthest
    assert attribute.lower[0] >= min(0, -farthest)


@pytest.mark.parametrize(("rows", "last"), [(4000, 19), (400, 99)])
def test_a_declared_range_stays_where_noise_hides_a_good_part_of_the_rows(rows, last):
    """Of 400 rows, noise of 200 on what lies beyond tells nothing: ages of 47 and more were cut off once."""
    first = np.arange(0, 100, 10)
    counts = np.where(first == 0, rows, 0.0)
    cells = GridRuns(first, first + 9, counts, np.full(10, 34.0))
    kept = _drop_light_ends(
        cells, ValueGrid(kind="integer"), [], rows, 100.0**2, FEW * rows, spikes_only=False
    )
    assert kept.last[-1] == last


def test_points_that_doubles_do_not_tell_apart_are_of_one_bin() -> None:
    """Far out in a range of cents to 1e17: bins overlapped there by chance of the noise, after a fit was paid."""
    lattice, far = ValueGrid(kind="float", decimals=2), 10**19 - 5000
    lower, upper = ends_of([(0, 5), (6, far), (far + 1, far + 1), (far + 2, 10**19)], lattice, {})
    assert all(low <= high for low, high in zip(lower, upper, strict=True))
    assert all(before < after for before, after in zip(upper, lower[1:], strict=False))
    assert (lower[0], upper[-1]) == (0.0, 1e17)

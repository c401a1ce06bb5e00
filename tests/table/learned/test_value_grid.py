"""Public grids: order and values are kept, cells cover everything once, bins are disjoint and few."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sdv_plausible.table.cells.dates import NANOSECONDS
from sdv_plausible.table.learned.value_grid import (
    DATE_UNITS,
    Bin,
    GridRuns,
    ValueGrid,
    _trim,
    bins_between,
    date_grid,
    equal_parts,
    make_bins,
    split_heavy,
)

LATTICES = [
    ValueGrid(kind="integer"),
    ValueGrid(kind="float", decimals=2),
    ValueGrid(kind="float"),
    ValueGrid(kind="float", decimals=9),
    *(ValueGrid(kind="datetime", unit=unit) for unit in DATE_UNITS),
]


@pytest.mark.parametrize("lattice", LATTICES, ids=str)
def test_lattice_keeps_order_and_values_and_its_grid_covers_everything(lattice):
    rng = np.random.default_rng(0)
    if lattice.kind == "datetime":
        values = np.sort(rng.integers(-(2**62), 2**62, 500) // lattice.unit * lattice.unit)
        ends = np.array([np.iinfo(np.int64).min + 1, np.iinfo(np.int64).max])
    else:
        values = np.sort(np.concatenate([rng.normal(0, 10.0**e, 60) for e in range(-2, 8)] + [[0.0, -0.0]]))
        values = np.round(values, lattice.decimals if lattice.kind == "float" and lattice.decimals else 15)
        values = np.rint(values) if lattice.kind == "integer" else values
        ends = np.array([-np.inf, -1e300, 5e-324, 1e300, np.inf])
    points = lattice.index(values)
    assert (np.diff(points) >= 0).all()
    assert [lattice.value(p) for p in points.tolist()] == values.tolist()
    first, last = lattice.grid()
    assert (last >= first).all()
    assert (first[1:].astype(object) == last[:-1].astype(object) + 1).all()
    for points_ in (points, lattice.index(ends)):
        assert (first[0] <= points_).all()
        assert (points_ <= last[-1]).all()
    assert all(np.isfinite(float(lattice.value(int(p)))) for p in (first[0], last[-1]))


@pytest.mark.parametrize("seed", range(40))
def test_bins_are_disjoint_few_and_keep_spikes_alone(seed):
    rng = np.random.default_rng(seed)
    starts = np.sort(rng.choice(4000, 60, replace=False)) * int(rng.choice([1, 3, 10**6]))
    last = np.minimum(np.append(starts[1:] - 1, starts[-1] + 50), starts + rng.integers(0, 10**6, 60))
    cells = GridRuns(starts, last, rng.normal(50, 100, 60), np.full(60, 100.0))
    spikes = sorted({int(p) for p in rng.choice(np.concatenate([starts, last]), rng.integers(0, 6))})
    most = int(rng.integers(2 * len(spikes) + 2, 80))
    bins = make_bins(cells, spikes, most)
    assert 1 <= len(bins) <= most
    assert all(a <= b for a, b in bins)
    assert all(b < c for (_, b), (c, _) in itertools.pairwise(bins))
    if most > 60:
        assert all((s, s) in bins for s in spikes)


def test_points_of_months_are_months():
    """The last moment of a point is the month's last day; ends are what 64 bits hold."""
    months = date_grid(1, "%Y-%m")
    starts = np.arange("1678-01", "2262-04", dtype="M8[M]")
    moments = starts.astype("M8[ns]").view(np.int64)
    points = months.index(moments)
    assert (np.diff(points) == 1).all()
    assert [months.value(p) for p in points.tolist()] == moments.tolist()
    last = np.array([months.last(p) for p in points.tolist()])
    assert (last[:-1] == moments[1:] - months.unit).all()
    assert (months.index(last) == points).all()
    first, end = months.grid()
    assert (first[1:] == end[:-1] + 1).all()
    ends = months.index(np.array([-(2**63) + 1, 2**63 - 1]))
    assert first[0] <= ends[0] < ends[1] <= end[-1]
    assert months.value(int(ends[0])) == -(2**63) + 1
    assert months.last(int(ends[1])) == 2**63 - 1 - months.unit


@pytest.mark.parametrize(("form", "finest"), [("%H:%M", "min"), ("%H:%M:%S", "s"), ("%I %p", "h")])
def test_the_grid_of_a_clock_is_one_day(form, finest):
    """Midnights alone are no clock: then its points are what the format shows."""
    for name, unit in NANOSECONDS.items():
        clock = date_grid(unit, form)
        assert clock.unit == (unit if name != "D" else NANOSECONDS[finest])
        first, last = clock.grid()
        start = np.datetime64("1900-01-01", "ns").view(np.int64)
        assert len(first) == 24
        assert clock.value(int(first[0])) == start
        assert clock.value(int(last[-1]) + 1) == start + NANOSECONDS["D"]
        assert (first[1:] == last[:-1] + 1).all()


def test_heavy_cells_are_cut_into_equal_parts():
    cells = GridRuns(
        np.array([0, 10, 100]), np.array([9, 10, 355]), np.array([5.0, 900.0, 900.0]), np.ones(3)
    )
    stays, parts, numbers = split_heavy(cells, 100.0)
    assert numbers == [64]
    assert stays.first.tolist() == [0, 10]
    assert parts == equal_parts(100, 355, 64)
    assert parts[0] == (100, 103)
    assert parts[-1][1] == 355


def night_and_day() -> list[tuple[int, int]]:
    """Bins of a day by minutes: next to nothing before 5 h, then 100 rows in every quarter of an hour."""
    starts = np.arange(0, 1440, 15)
    counts = np.where(starts < 300, 3.0, 100.0)
    return make_bins(GridRuns(starts, starts + 14, counts, np.full(96, 5.0)), [], 10)


def test_bins_end_where_the_density_jumps():
    assert all(b < 300 or a >= 300 for a, b in night_and_day())


@pytest.mark.parametrize(("name", "value"), [("JUMP", 1e9), ("UNEVEN", 0.0)])
def test_planted_fault_bins_of_equal_mass_alone(name, value, monkeypatch):
    """Either part is needed: a bin that ends there, and no merging afterwards."""
    monkeypatch.setattr(f"sdv_plausible.table.learned.value_grid.{name}", value)
    with pytest.raises(AssertionError):
        test_bins_end_where_the_density_jumps()


def end_of_heavy_and_empty(deviation: float) -> int:
    """Last point of a bin of three points with 100 rows, and 90 in which noise leaves none."""
    noise = [5.0, -5, 4, -4, 3, -3, 2, -2, 1]
    return _trim(
        [Bin(0, 2, 100.0), *(Bin(3 + 10 * i, 12 + 10 * i, c) for i, c in enumerate(noise))], deviation
    ).last


def test_a_bin_loses_an_empty_end_but_none_that_noise_may_have_emptied(monkeypatch):
    assert end_of_heavy_and_empty(0.1) == 2
    assert end_of_heavy_and_empty(30.0) == 92
    monkeypatch.setattr(
        "sdv_plausible.table.learned.value_grid.CERTAIN", 0.0
    )  # planted: as if counts had no noise
    assert end_of_heavy_and_empty(30.0) == 2


def deviation_in_bins(times_too_wide: int) -> float:
    """Standard deviation of 100,000 whole numbers about 0 of deviation 40, drawn evenly in bins, in times of theirs."""
    values = np.rint(np.random.default_rng(0).normal(0, 40, 100_000)).astype(np.int64)
    cells = np.linspace(-200 * times_too_wide, 200 * times_too_wide, 65).astype(np.int64)
    first, last = cells[:-1], cells[1:] - 1
    counts = np.histogram(values, np.append(first, last[-1] + 1))[0]
    noise = np.random.default_rng(1).normal(0, 100, len(first))
    found, parts, _ = split_heavy(GridRuns(first, last, counts + noise, np.full(64, 100.0)), 1000.0)
    first, last = np.array(parts).T
    counts = np.histogram(values, np.append(first, last[-1] + 1))[0]
    bins = make_bins(
        found.join(GridRuns(first, last, counts.astype(float), np.full(len(first), 100.0))), [], 60
    )
    low, high = np.array(bins, dtype=float).T
    held = np.bincount(
        np.clip(np.searchsorted(low, values, "right") - 1, 0, len(bins) - 1), minlength=len(bins)
    )
    middle, spread = (low + high) / 2, ((high - low + 1) ** 2 - 1) / 12
    mean = np.average(middle, weights=held)
    return float(np.sqrt(np.average((middle - mean) ** 2 + spread, weights=held)) / values.std())


@pytest.mark.parametrize("times_too_wide", [1, 3, 30, 1000])
def test_bins_far_out_are_no_wider_than_what_they_hold(times_too_wide, monkeypatch):
    assert deviation_in_bins(times_too_wide) == pytest.approx(1, abs=0.03)
    monkeypatch.setattr("sdv_plausible.table.learned.value_grid.TAPER", 1e30)
    assert times_too_wide < 3 or deviation_in_bins(times_too_wide) > 1.1, "planted: out to the end of a range"


def test_bins_far_out_are_few_and_doubles_tell_them_apart():
    """Beside a narrow bulk and at the end of what a lattice holds; where there are few bins, none is for the ends."""
    far = 2**62
    cells = GridRuns(np.array([-far, 0, 10]), np.array([-1, 9, far]), np.array([1.0, 900, 1]), np.ones(3))
    for spikes, most in itertools.product(([], [far - 1], [3, 5, far]), (4, 7, 20, 100)):
        bins = make_bins(cells, spikes, most)
        assert len(bins) <= most
        starts = [float(first) for first, _ in bins]
        assert all(a < b for a, b in itertools.pairwise(starts)) or far - 1 in spikes
    assert make_bins(GridRuns(*np.zeros((4, 0))), [], 10) == []


def test_runs_between_points():
    assert bins_between([3, 0], 0, 5) == [(0, 0), (1, 2), (3, 3), (4, 5)]
    assert bins_between([9], 0, 5) == [(0, 5), (9, 9)]


def standing_out(*counts: float) -> list[int]:
    """Which of these cells, of noise 1, stand out."""
    first = np.arange(len(counts))
    found = GridRuns(first, first, np.array(counts, dtype=float), np.ones(len(counts))).significant()
    return np.flatnonzero(found).tolist()


@pytest.mark.parametrize(
    ("counts", "found"),
    [
        (
            (4.5, 0, 0, 0, 0, 0, 50, 90, 3, 0, 0),
            [6, 7, 8],
        ),  # alone noise can do this; beside another less is enough
        ((6.0, 0, 0, 0, 0, 0, 50, 90, 3, 0, 0), [0, 6, 7, 8]),
        ((0, 4.5, 0), [1]),  # all that there is
        ((0, 3.2, 0, 1.0), [1]),
        ((0, 90, 0, 0, 0, 6), [1, 5]),
        ((0, 0, 0, 0, *[2.5] * 8, 0, 0, 0, 0), list(range(4, 12))),  # none of them does, together they do
    ],
)
def test_light_cells_stand_out_together_and_a_cell_on_its_own_must_do_so_more(counts, found):
    assert set(found) <= set(standing_out(*counts))
    assert len(standing_out(*counts)) <= len(found) + 2


@pytest.mark.parametrize("lattice", LATTICES, ids=str)
def test_parts_cover_a_run_once_and_are_not_many(lattice):
    rng = np.random.default_rng(1)
    first, last = lattice.grid()
    for i in rng.integers(0, len(first), 12).tolist():
        for wanted in (2, 5, 16, 64, 256):
            parts = lattice.parts(int(first[i]), int(last[i]), wanted)
            assert parts[0][0] == first[i]
            assert parts[-1][1] == last[i]
            assert all(a <= b for a, b in parts)
            assert all(b + 1 == c for (_, b), (c, _) in itertools.pairwise(parts))
            assert len(parts) <= 2 * wanted + 2


@pytest.mark.parametrize("month", ["0001-01", "1600-05", "1677-08", "1677-09", "1700-02", "2262-04"])
def test_every_month_has_ends_that_64_bits_hold(month: str) -> None:
    """Noise alone may choose any: months before 1677-09 ended fits that had paid (seen red)."""
    months = ValueGrid(kind="datetime", unit=NANOSECONDS["D"], shown="months")
    point = int(np.datetime64(month, "M").astype(int))
    assert -(2**63) < months.value(point) <= months.last(point) < 2**63

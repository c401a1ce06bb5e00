"""Dates as whole numbers: read row by row, out of reach is missing, and how a column writes them."""

from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from dateutil.tz import gettz

from sdv_plausible.table.cells.dates import (
    NANOSECONDS,
    as_nanoseconds,
    date_style,
    format_unit,
    mask_out_of_range,
)

MISSING = np.iinfo(np.int64).min


def test_dates_out_of_reach_do_not_wrap_round():
    """In seconds the year 3000 is a date; in nanoseconds it would silently become 1830."""
    column = pd.Series(np.array(["3000-01-01", "2020-01-01"], dtype="M8[s]"))
    assert as_nanoseconds(column, row_by_row=True).tolist() == [MISSING, pd.Timestamp("2020-01-01").value]
    wrapped = column.to_numpy().astype("M8[ns]")  # the planted bug
    assert pd.Timestamp(wrapped[0]).year == 1830


def test_a_row_is_read_as_if_it_were_alone():
    """What cannot be read is missing, and moments of every zone are one number."""
    column = pd.Series(["2020-01-01", "soon", None, "2020-01-01T01:00:00+01:00", "1500-01-01", "01.02.2020"])
    read = as_nanoseconds(column, row_by_row=True)
    start = pd.Timestamp("2020-01-01").value
    assert read.tolist() == [start, MISSING, MISSING, start, MISSING, MISSING]
    alone = [as_nanoseconds(pd.Series([cell], dtype=object), row_by_row=True)[0] for cell in column]
    assert read.tolist() == alone


def test_without_that_a_bad_date_is_an_error_of_its_column():
    far = np.array(["3000-01-01"], dtype="M8[s]")
    for cells, rule in ((["soon"], "that do not match"), (far, "outside the years 1678 to 2262")):
        with pytest.raises(ValueError, match=f"column 'day' has dates {rule}"):
            as_nanoseconds(pd.Series(cells, name="day"))


def test_zones_are_read_in_utc_and_written_again():
    column = pd.Series(pd.to_datetime(["2020-07-01 12:00"]).tz_localize("Europe/Zurich"))
    assert as_nanoseconds(column).tolist() == [pd.Timestamp("2020-07-01 10:00").value]
    assert date_style(column, None) == {"time_zone": "Europe/Zurich"}
    assert date_style(pd.Series(pd.to_datetime(["2020-07-01"])), None) == {"datetime_format": None}
    assert date_style(pd.Series(["2020"]), "%Y") == {"datetime_format": "%Y"}


def test_a_format_shows_what_differs_by_its_unit_and_no_less():
    """By writing moments that are one unit apart, and half a unit: the first look different (time of day at least)."""
    assert format_unit(None) == 1
    forms = ["%Y", "%d.%m.%Y", "%H", "%I %p %d %m %Y", "%Y %H:%M", "%H:%M:%S", "%Y %T", "%c", "%X", "%S.%f"]
    for form in (*forms, "%Y-%m-%d %H:%M:%S.%f"):
        unit = format_unit(form)
        start = pd.Timestamp(pd.Timestamp("2020-03-04 05:06:07.000008").value // unit * unit)
        texts = [(start + pd.Timedelta(shift, "ns")).strftime(form) for shift in (0, unit // 2, unit)]
        assert texts[0] == texts[1]
        assert unit >= NANOSECONDS["D"] or texts[2] != texts[0]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "Asia/Manila", "America/Juneau", "America/New_York"])
@pytest.mark.parametrize("of", [str, ZoneInfo, gettz])
def test_of_moments_of_zones_those_are_kept_that_have_objects(of, zone):
    """By hand: 64 bits end on 2262-04-11 and 1677-09-21. A sixteen hours' lag was let in, and ended the process."""
    kept = ["1677-09-23", "2262-04-12", "9999-12-31"]
    gone = ["0001-01-01 15:00", "0001-01-02", "1600-01-01", "9999-12-31 10:00", "10000-01-01"]
    fine = ["1677-09-23", "2262-04-10"], ["2262-04-11 23:47:16", "1677-09-21 00:12:44"]
    for unit, (stay, leave) in {"s": (kept, gone), "us": (kept, gone), "ns": fine}.items():
        moments = pd.Series(np.array([*stay, *leave], dtype=f"M8[{unit}]"))
        column = mask_out_of_range(moments.dt.tz_localize("UTC").dt.tz_convert(of(zone)))
        missing = column.isna().tolist()  # what pytest would print of a column ends the process too
        assert missing == [False] * len(stay) + [True] * len(leave)
        objects = list(column)  # which ended the process with moments before 1677, once they are let in
        kept_cells = [cell.tz_convert("UTC").tz_localize(None) for cell in objects[: len(stay)]]
        assert kept_cells == [*moments[: len(stay)]]


def test_no_number_ends_the_reading_of_dates_with_names_of_months():
    """Beside missing cells alone, pandas took 10**400 for a double (seen red)."""
    for cells in ([None, 10**400], [None, "5 May 2013", 10**400]):
        found = as_nanoseconds(pd.Series(cells, dtype=object), "%d %b %Y", row_by_row=True)
        assert (found != MISSING).tolist() == [isinstance(cell, str) for cell in cells]

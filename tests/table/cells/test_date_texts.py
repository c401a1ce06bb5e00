"""Dates as text: each spelling is read as pandas reads it, is written as it was, and knows no locale."""

import _strptime
import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdv_plausible.table.cells import dates
from sdv_plausible.table.cells.dates import (
    BROADER,
    FORMATS,
    MONTHS,
    as_nanoseconds,
    detect_date_format,
    digits_format,
    has_names,
    main_date_format,
    names_to_digits,
    read_date,
    shows_date,
    shows_months,
    shows_time,
    write_date,
    write_dates,
)

OFFSETS = ("+00:00", "+0000", "-03:30", "+0545")
MOMENTS = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2099, 12, 31))


def in_utc(moment):
    return moment if moment.tzinfo is None else moment.astimezone(dt.timezone.utc).replace(tzinfo=None)


@pytest.mark.parametrize("form", FORMATS)
@given(moment=MOMENTS, offset=st.sampled_from(OFFSETS))
def test_what_a_format_writes_is_read_back_by_it_alone_as_by_pandas(form, moment, offset):
    text = write_date(moment, form) + (offset if "%z" in form else "")
    found = detect_date_format(text)
    assert found is not None
    assert form in (found, BROADER.get(found))
    read = read_date(text, found)
    assert "%z" in found or write_date(read, found) == text
    known = pd.Timestamp(in_utc(read_date(text, form))).value
    for row_by_row in (True, False):
        cells = pd.Series([text, None], dtype=object)
        assert as_nanoseconds(cells, form, row_by_row=row_by_row).tolist() == [known, np.iinfo(np.int64).min]
    again = write_dates(pd.Series(np.array([known], dtype="M8[ns]")).dt.tz_localize("UTC"), form)[0]
    assert again == (text if "%z" not in form else write_date(in_utc(read), form) + "+0000")


TEXTS = {
    "2013-12-13T14:30:00Z": "%Y-%m-%dT%H:%M:%SZ", "2013-12-13T14:30:00.123Z": "%Y-%m-%dT%H:%M:%S.%fZ",
    "2013-12-13 14:30": "%Y-%m-%d %H:%M", "2013-12-13T14:30:00.5": "%Y-%m-%dT%H:%M:%S.%f",
    "2013-12-13 14:30:00+02:00": "%Y-%m-%d %H:%M:%S%z", "13-Dec-2013": "%d-%b-%Y",
    "2013-12-13T14:30:00+00:00": "%Y-%m-%dT%H:%M:%S+00:00", "3-DEC-2013": "%d-%b-%Y",
    "13 May 2013": "%d %b %Y", "13 december 2013": "%d %B %Y", "December 3, 2013": "%B %d, %Y",
    "2013-12": "%Y-%m", "9:05": "%H:%M", "23:59:59": "%H:%M:%S", "20131213": "%Y%m%d",
    "1/5/2020": "%m/%d/%Y", "13.12.2013 9:05": "%d.%m.%Y %H:%M",
    "2010/04/04 18:00:00": "%Y/%m/%d %H:%M:%S", "03/26/2024 07:53 AM": "%m/%d/%Y %I:%M %p",
    "13/6/2024 12:53:01 pm": "%d/%m/%Y %I:%M:%S %p", "3/26/24": "%m/%d/%y", "26/3/24 7:53": "%d/%m/%y %H:%M",
    "12:05 AM": "%I:%M %p", "202403": "%Y%m", "209912": "%Y%m",
    **dict.fromkeys((
        "", "202413", "202400", "189912", "20243", "13:05 PM", "0:05 AM", "7:53 A", "7:53AM", "4:3", "24:00", "23:59:60", "9:05:1", "2013-13", "2013-1", "2013121", "18991231", "21000101",
        "20130230", "201312130", "+20131213", "13-Dez-2013", "13-Sept-2013", "31 Feb 2013", "Dec 2013", "Z",
        "2013-12-13T14:30:00z", "2013-12-13 14:30:00+0", "2013-12-13  14:30", "\u0662\u0660\u0661\u0663-12", "<b12>",
        "13-<b12>-2013", "Main Street 5", "May 5, 2013 ",
    )),
}  # fmt: skip


def test_texts_and_their_format():
    assert {text: detect_date_format(text) for text in TEXTS} == TEXTS


def test_the_list_is_closed_and_each_format_stands_once():
    page = (Path(__file__).parents[3] / "docs/explanation/proofs/type_votes.md").read_text(encoding="utf-8")
    assert f"one of {len(FORMATS)} formats" in page
    assert len(set(FORMATS)) == len(FORMATS)
    assert all(FORMATS.index(narrow) < FORMATS.index(broad) for narrow, broad in BROADER.items())


def test_the_format_of_a_column():
    for counts, form in (
        ({"%Y-%m-%d": 5, "%m/%d/%Y": 5}, "%Y-%m-%d"),  # the first of equals
        ({"%m/%d/%Y": 8, "%d/%m/%Y": 1}, "%m/%d/%Y"),
        ({"%m/%d/%Y": 7, "%d/%m/%Y": 2}, "%d/%m/%Y"),
        ({"%d %b %Y": 6, "%d %B %Y": 4}, "%d %B %Y"),  # "May" is in both
        ({"%Y-%m-%dT%H:%M:%S+00:00": 6, "%Y-%m-%dT%H:%M:%S%z": 3}, "%Y-%m-%dT%H:%M:%S%z"),  # winter in London
        ({"%H:%M": 1, "%H:%M:%S": 2}, "%H:%M:%S"),
    ):
        assert main_date_format(counts, 10) == form


def test_the_broader_of_two_formats_reads_what_both_read():
    cells = {"%m/%d/%Y": "03/04/2020", "%m/%d/%Y %H:%M:%S": "03/04/2020 10:11:12", "%m/%d/%y": "03/04/20",
             "%m/%d/%Y %I:%M %p": "03/04/2020 10:11 AM", "%m/%d/%Y %I:%M:%S %p": "03/04/2020 10:11:12 AM",
             "%m/%d/%y %H:%M": "03/04/20 10:11", "%m/%d/%Y %H:%M": "03/04/2020 10:11", "%d %b %Y": "5 May 2013",
             "%b %d, %Y": "May 5, 2013", "%Y-%m-%d %H:%M:%S+00:00": "2013-12-13 14:30:00+00:00",
             "%Y-%m-%dT%H:%M:%S+00:00": "2013-12-13T14:30:00+00:00"}  # fmt: skip
    assert cells.keys() == BROADER.keys()
    for form, text in cells.items():
        assert detect_date_format(text) == form
        read_date(text, BROADER[form])


def test_what_formats_show():
    clocks = {form for form in FORMATS if not shows_date(form)}
    assert clocks == {"%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p"}
    assert {form for form in FORMATS if shows_months(form)} == {"%Y-%m", "%Y%m"}
    timed = {form for form in FORMATS if "%H" in form or "%I" in form}
    assert {form for form in FORMATS if shows_time(form)} == timed - clocks
    assert not shows_date("%I:%M %p")
    assert shows_months("%b %y")
    assert not any(map(shows_months, (None, "%Y", "%Y-%m-%d")))


def test_months_names_are_asked_of_nobody():
    """The process' locale would be: pandas and strftime are handed numbers. Control: the format as it is."""
    for form in FORMATS:
        assert has_names(form) == ("%b" in form.lower() or "%p" in form)
        assert not has_names(digits_format(form))
    assert digits_format("%d %b, %%b") == "%d <b%m>, %%b"
    days = [dt.datetime(2020, month, 1) for month in range(1, 13)]
    assert [write_date(day, "%B") for day in days] == [*MONTHS]
    assert [names_to_digits(name[:3], "%b") for name in MONTHS] == [f"<b{i:02}>" for i in range(1, 13)]
    assert names_to_digits(7, "%b") == 7
    assert write_dates(pd.Series([days[4], pd.NaT]), "%b")[0] == "May"


def test_halves_of_a_day_are_asked_of_nobody():
    """Midnight is 12 AM and noon is 12 PM; every minute of a day comes back. Control: what strptime reads."""
    assert digits_format("%m/%d/%Y %I:%M %p") == "%m/%d/%Y <I%H>:%M"
    for form in ("%I:%M %p", "%I:%M:%S %p"):
        for minute in range(24 * 60):
            moment = dt.datetime(2024, 3, 26, minute // 60, minute % 60)
            text = write_date(moment, form)
            assert text == moment.strftime(form)
            assert (read_date(text, form) - dt.datetime(1900, 1, 1)).seconds == 60 * minute
            assert read_date(text.lower(), form) == dt.datetime.strptime(text, form)


def test_an_english_name_is_read_where_the_locale_has_another(monkeypatch):
    """A German process: strptime knows Dez and no Dec. Control: strptime itself fails."""

    german = ["", "jan", "feb", "mär", "apr", "mai", "jun", "jul", "aug", "sep", "okt", "nov", "dez"]
    locale = _strptime.LocaleTime()
    locale.a_month = locale.f_month = german
    monkeypatch.setattr(_strptime, "_TimeRE_cache", _strptime.TimeRE(locale))
    monkeypatch.setattr(_strptime, "_regex_cache", {})
    with pytest.raises(ValueError, match="does not match"):
        dt.datetime.strptime("13-Dec-2013", "%d-%b-%Y")
    assert dates.read_date("13-Dec-2013", "%d-%b-%Y") == dt.datetime(2013, 12, 13)

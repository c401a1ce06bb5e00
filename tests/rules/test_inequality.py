"""Order of numbers and dates: the nearest row that keeps it, also in odd ranges, formats and zones."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdv_plausible.rules import Inequality
from sdv_plausible.rules.inequality import LAST, NANOSECONDS
from sdv_plausible.table.columns.domain import Attribute
from sdv_plausible.table.declared.declarations import read_declarations

DATES = {"sdtype": "datetime"}
NUMBERS = {"a": {"sdtype": "numerical"}, "b": {"sdtype": "numerical"}}
DAYS, MINUTES = "%Y-%m-%d", "%Y-%m-%d %H:%M"


def dates(first, second=None):
    """Words of two columns of dates."""
    return {"a": {**DATES, "datetime_format": first}, "b": {**DATES, "datetime_format": second}}


def formats_of(words):
    return {n: w.get("datetime_format") for n, w in words.items() if w["sdtype"] == "datetime"}


def column(name, kind, first, last, **more):
    return Attribute(name=name, kind=kind, lower=(first,), upper=(last,), **more)


FORMATS = [None, "%Y-%m-%d", "%d.%m.%y", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S.%f"]


def made_of(low, apart, rule, words, known):
    found, formats = {a.name: a for a in known}, formats_of(words)
    (attribute,) = rule.attributes(found, words, {})
    table = pd.DataFrame({rule.low: low, rule.distance: apart})
    high = rule.unfold(table, formats, {rule.high: attribute})[rule.high]
    assert rule.holds(table.assign(**{rule.high: high}), formats).all()
    assert rule.fits(found, {rule.high: attribute})
    return high


MOMENTS = st.datetimes(pd.Timestamp("1970-01-02"), pd.Timestamp("2060-01-01"))


@given(st.lists(st.tuples(MOMENTS, st.integers(0, 900)), min_size=1, max_size=5), st.sampled_from(FORMATS),
       st.sampled_from(FORMATS), st.sampled_from(["D", "h", "min", "s"]), st.booleans())  # fmt: skip
def test_order_holds_in_every_format(rows, first, second, unit, strict):
    """Also where the higher one's text shows days alone, and the lower one a time of day."""
    rule = Inequality("a", "b", strict=strict, unit=unit)
    low = pd.Series([pd.Timestamp(moment) for moment, _ in rows])
    text = low if first is None else low.dt.strftime(first)
    ends = (pd.Timestamp("1969-01-01").value, pd.Timestamp("2060-01-01").value)
    known = [column("a", "datetime", *ends, datetime_format=first), column("b - a", "integer", int(strict), 901)]  # fmt: skip
    words = dates(first, second)
    rule.check(words)
    made_of(list(text), [apart + strict for _, apart in rows], rule, words, known)


def test_dates_of_all_centuries():
    """500 years of nanoseconds do not fit 64 bits."""
    table = pd.DataFrame({"a": pd.to_datetime(["1700-01-01", "1969-06-01", "2200-01-01", None]),
                          "b": pd.to_datetime(["2200-01-01", "1969-06-03", "1700-01-01", "2000-01-01"])})  # fmt: skip
    ends = (pd.Timestamp("1678-01-01").value, LAST - NANOSECONDS["D"] * 400)
    known = [column("a", "datetime", *ends, nullable=True), column("b - a", "integer", 0, 10**12, nullable=True)]  # fmt: skip
    years = (pd.Timestamp("2200-01-01") - pd.Timestamp("1700-01-01").as_unit("s")).days
    for unit in {*NANOSECONDS} - {"ns"}:
        rule, days = Inequality("a", "b", unit=unit), NANOSECONDS["D"] // NANOSECONDS[unit]
        folded = rule.fold(table, {"a": None, "b": None})["b - a"]
        assert folded[:3].tolist() == [years * days, 2 * days, 0]
        assert np.isnan(folded[3])
        high = made_of(list(table["a"]), list(folded), rule, {"a": DATES, "b": DATES}, known)
        assert high[:3].tolist() == [*table["b"][:2], table["a"][2]]
        assert pd.isna(high[3])


def test_a_part_of_a_unit_is_cut_off():
    later = pd.to_datetime(["2000-01-01 13:00", "2000-01-03 11:00", "2000-01-03 12:00"])
    table = pd.DataFrame({"a": pd.to_datetime(["2000-01-01 12:00"] * 3), "b": later})
    folded = Inequality("a", "b", strict=True, unit="D").fold(table, {"a": None, "b": None})
    assert folded["b - a"].tolist() == [1, 1, 2]


def test_numbers_with_digits_of_their_own():
    """A whole number not below one with digits is rounded up; sums of decimals are exact; an order holds to the last digit."""
    rule, words = Inequality("a", "b"), {**NUMBERS, "b": {"sdtype": "numerical", "range_min": 5, "range_max": 9}}  # fmt: skip
    known = [column("a", "float", 0.0, 8.0, decimals=1), column("b - a", "float", 0.0, 9.0, decimals=1)]
    high = made_of([0.1, 5.1, 7.7, 3.0], [0.2, 0.0, 9.0, 4.0], rule, words, known)
    assert high.tolist() == [5, 6, 9, 7], "within the declared range"
    assert high.dtype == np.int64
    assert made_of([0.1], [0.2], rule, NUMBERS, known).tolist() == [0.3]
    cells = list(np.random.default_rng(0).uniform(0, 200, 500))
    known = [column(name, "float", 0.0, 200.0) for name in ("a", "b - a")]
    made_of(cells, [0.0] * 500, rule, NUMBERS, known)


def test_what_is_declared_of_the_distance():
    words = {"a": {"sdtype": "numerical", "range_min": 0, "range_max": 9},
             "b": {"sdtype": "numerical", "range_min": 0, "range_max": 20, "range_is_nullable": False}}  # fmt: skip
    apart = lambda words, **options: Inequality("a", "b", **options).surrogate_specs(words)["b - a"]  # noqa: E731
    assert apart(words) == {"sdtype": "numerical", "range_min": 0, "range_max": 20, "decimal_places": 0}
    assert apart(words, strict=True, most=3)["range_max"] == 3
    assert apart(words, strict=True)["range_min"] == 1
    words["a"] = {"sdtype": "numerical"}
    assert "range_max" not in apart(words)
    spec = apart(words, most=50)
    known = read_declarations({"b - a": spec}, "private", 100, {"b - a": spec}).known("b - a")
    assert known.kind == "float", "whole ends would say that distances of unknown digits are whole"
    with pytest.raises(ValueError, match="needs their ranges"):
        apart({n: {"sdtype": "numerical", "decimal_places": 1} for n in "ab"}, strict=True)


def test_the_unit_follows_from_the_formats():
    for first, second, unit in [
        (DAYS, "%d.%m.%Y", "D"),
        (DAYS, MINUTES, "min"),
        (None, MINUTES, "s"),
        (MINUTES, DAYS, "D"),  # a date without a time of day is the whole day
        (None, DAYS, "D"),
    ]:
        assert Inequality("a", "b").resolve(dates(first, second)).unit == unit
    assert Inequality("a", "b", unit="h").resolve(dates(None, DAYS)).unit == "h"


def test_wrong_parameters_and_formats_that_do_not_tell_the_day():
    for form in ("%Y-%m", "%H:%M", "%Y", "%d"):
        with pytest.raises(ValueError, match="must include the day"):
            Inequality("a", "b").check(dates(None, form))
    for wrong in ({"low": "b"}, {"most": -1}, {"unit": "week"}, {"strict": "yes"}, {"low": ""}):
        with pytest.raises(ValueError, match="most|unit|strict|distinct"):
            Inequality(**{"low": "a", "high": "b", **wrong})


def test_distances_that_noise_found_below_zero_are_none():
    """Of few filled cells noise alone may be found: a fit that has paid does not end for it; a strict order holds."""
    for kind, unit, words, cell in (("integer", None, NUMBERS, 50), ("datetime", "s", dates(None), pd.Timestamp(50))):  # fmt: skip
        low = column("a", kind, 0, 10**9 * 100)
        for ends in ((-500, -300), (-500, 10), (2**62, 2**62 + 5)):
            known = [low, column("b - a", "integer", *ends)]
            made_of([cell, cell], [*ends], Inequality("a", "b", unit=unit), words, known)
    rule, day = Inequality("a", "b", strict=True, unit="D"), NANOSECONDS["D"]
    low = column("a", "datetime", 0, 100 * day, datetime_format=DAYS, unit=day)
    known = [low, column("b - a", "integer", -5, 0)]
    made_of(["1970-01-05", "1970-04-11"], [-5, 0], rule, dates(DAYS, DAYS), known)


def test_a_learned_end_beyond_what_the_format_writes_is_no_end():
    """Noise may put it there; `%y` writes years up to 2068, and the bin would have ended before it began."""
    rule, first = Inequality("a", "b", most=30), pd.Timestamp("2090-01-01").value
    low = column("a", "datetime", first, first + 9 * NANOSECONDS["D"], datetime_format="%d.%m.%y")
    known = {"a": low, rule.distance: column(rule.distance, "integer", 0, 30)}
    (made,) = rule.attributes(known, dates("%d.%m.%y", "%d.%m.%y"), {})
    assert made.lower[0] <= made.upper[0]


SAME = ["2020-01-05 14:00", "2020-01-05 00:00", "2020-01-04 23:59", "2020-01-06 08:00"]


def test_a_moment_is_not_after_the_day_that_it_is_on():
    """A date without a time of day is the whole day, on the clock of the moments. Control: moments against moments."""
    ends = [int(pd.Timestamp(end).value) for end in ("2020-01-01", "2020-01-31")]
    for unit, zone in itertools.product((None, "D", "h", "min"), (None, "Asia/Tokyo", "America/New_York")):
        words = dates(None if zone else MINUTES, DAYS)
        rule, formats = Inequality("a", "b", unit=unit).resolve(words), formats_of(words)
        moments = pd.Series(pd.to_datetime(SAME)).dt.tz_localize(zone) if zone else pd.Series(SAME)
        table = pd.DataFrame({"a": moments, "b": ["2020-01-05"] * 4})
        assert rule.holds(table, formats).tolist() == [True, True, True, False]
        kept = table[:3]
        folded = rule.fold(kept, formats)[rule.distance]
        if rule.unit == "D":
            assert folded.tolist() == [0, 0, 1], "the same day is no day apart"
        style = {"time_zone": zone} if zone else {"datetime_format": MINUTES}
        apart = column(rule.distance, "integer", 0, int(folded.max()))
        known = {"a": column("a", "datetime", *ends, **style), rule.distance: apart}
        (made,) = rule.attributes(known, words, {})
        back = rule.unfold(kept.assign(**{rule.distance: folded}), formats, {"b": made})["b"]
        assert back.tolist() == kept["b"].tolist(), "and comes back as the same day"
        assert rule.fits(known, {"b": made})
        if zone is None:
            plain, exact = table.assign(b="2020-01-05 00:00"), {"a": MINUTES, "b": MINUTES}
            assert rule.holds(plain, exact).tolist() == [False, True, True, False]
    strict = Inequality("a", "b", strict=True).resolve(dates(MINUTES, DAYS))  # which is one of days
    table = pd.DataFrame({"a": SAME, "b": ["2020-01-05"] * 4})
    assert strict.holds(table, {"a": MINUTES, "b": DAYS}).tolist() == [False, False, True, False]


def test_what_may_be_between_a_moment_and_a_date_is_declared_by_days():
    words = dates(MINUTES, DAYS)
    words["b"]["range_max"] = "2020-01-05"
    rule = Inequality("a", "b").resolve(words)
    for first in ("2020-01-01 12:00", "2020-01-01 00:00"):  # from its first moment on no day more
        words["a"]["range_min"] = first
        assert rule.surrogate_specs(words)[rule.distance]["range_max"] == 4

"""Order of numbers and dates: the nearest row that keeps it, also in odd ranges, formats and zones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdv_plausible.rules import Inequality
from sdv_plausible.rules.spacing import LAST, NANOSECONDS
from sdv_plausible.table.columns.domain import Attribute
from sdv_plausible.table.declared.declarations import read_declarations

DATES = {"sdtype": "datetime"}
FORMATS = [None, "%Y-%m-%d", "%d.%m.%y", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S.%f"]


def made_of(low, apart, rule, words, known):
    found = {a.name: a for a in known}
    (attribute,) = rule.attributes(found, words, {})
    table = pd.DataFrame({rule.low: low, rule.distance: apart})
    formats = {n: w.get("datetime_format") for n, w in words.items() if w["sdtype"] == "datetime"}
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
    ends = {"lower": (pd.Timestamp("1969-01-01").value,), "upper": (pd.Timestamp("2060-01-01").value,)}
    known = [Attribute(name="a", kind="datetime", datetime_format=first, **ends),
             Attribute(name="b - a", kind="integer", lower=(int(strict),), upper=(901,))]  # fmt: skip
    words = {"a": {**DATES, "datetime_format": first}, "b": {**DATES, "datetime_format": second}}
    rule.check(words)
    made_of(list(text), [apart + strict for _, apart in rows], rule, words, known)


def test_dates_of_all_centuries():
    """500 years of nanoseconds do not fit 64 bits."""
    for unit in NANOSECONDS:
        if unit == "ns":
            return
        rule = Inequality("a", "b", unit=unit)
        table = pd.DataFrame({"a": pd.to_datetime(["1700-01-01", "1969-06-01", "2200-01-01", None]),
                              "b": pd.to_datetime(["2200-01-01", "1969-06-03", "1700-01-01", "2000-01-01"])})  # fmt: skip
        formats = {"a": None, "b": None}
        folded = rule.fold(table, formats)["b - a"]
        days = NANOSECONDS["D"] // NANOSECONDS[unit]
        assert folded[:3].tolist() == [
            (pd.Timestamp("2200-01-01") - pd.Timestamp("1700-01-01").as_unit("s")).days * days,
            2 * days,
            0,
        ]
        assert np.isnan(folded[3])
        ends = {"lower": (pd.Timestamp("1678-01-01").value,), "upper": (LAST - NANOSECONDS["D"] * 400,)}
        known = [Attribute(name="a", kind="datetime", nullable=True, **ends),
                 Attribute(name="b - a", kind="integer", lower=(0,), upper=(10**12,), nullable=True)]  # fmt: skip
        high = made_of(list(table["a"]), list(folded), rule, {"a": DATES, "b": DATES}, known)
        assert high[:3].tolist() == [*table["b"][:2], table["a"][2]]
        assert pd.isna(high[3])


def test_a_part_of_a_unit_is_cut_off():
    rule = Inequality("a", "b", strict=True, unit="D")
    table = pd.DataFrame(
        {
            "a": pd.to_datetime(["2000-01-01 12:00"] * 3),
            "b": pd.to_datetime(["2000-01-01 13:00", "2000-01-03 11:00", "2000-01-03 12:00"]),
        }
    )
    assert rule.fold(table, {"a": None, "b": None})["b - a"].tolist() == [1, 1, 2]


def test_numbers_with_digits_of_their_own():
    """A whole number not below one with digits is rounded up; sums of decimals are exact."""
    words = {"a": {"sdtype": "numerical"}, "b": {"sdtype": "numerical", "range_min": 5, "range_max": 9}}
    known = [Attribute(name="a", kind="float", decimals=1, lower=(0.0,), upper=(8.0,)),
             Attribute(name="b - a", kind="float", decimals=1, lower=(0.0,), upper=(9.0,))]  # fmt: skip
    high = made_of([0.1, 5.1, 7.7, 3.0], [0.2, 0.0, 9.0, 4.0], Inequality("a", "b"), words, known)
    assert high.tolist() == [5, 6, 9, 7], "within the declared range"
    assert high.dtype == np.int64
    words["b"] = {"sdtype": "numerical"}
    assert made_of([0.1], [0.2], Inequality("a", "b"), words, known).tolist() == [0.3]


def test_what_is_declared_of_the_distance():
    words = {"a": {"sdtype": "numerical", "range_min": 0, "range_max": 9},
                             "b": {"sdtype": "numerical", "range_min": 0, "range_max": 20, "range_is_nullable": False}}  # fmt: skip
    assert Inequality("a", "b").stand_ins(words)["b - a"] == {
        "sdtype": "numerical", "range_min": 0, "range_max": 20, "decimal_places": 0,
    }  # fmt: skip
    assert Inequality("a", "b", strict=True, most=3).stand_ins(words)["b - a"]["range_max"] == 3
    assert Inequality("a", "b", strict=True).stand_ins(words)["b - a"]["range_min"] == 1
    words["a"] = {"sdtype": "numerical"}
    assert "range_max" not in Inequality("a", "b").stand_ins(words)["b - a"]
    spec = Inequality("a", "b", most=50).stand_ins(words)["b - a"]
    apart = read_declarations({"b - a": spec}, "private", 100, {"b - a": spec}).known("b - a")
    assert apart is not None
    assert apart.kind == "float", "whole ends would say that distances of unknown digits are whole"
    with pytest.raises(ValueError, match="needs their ranges"):
        Inequality("a", "b", strict=True).stand_ins(
            {n: {"sdtype": "numerical", "decimal_places": 1} for n in "ab"}
        )


def test_the_unit_follows_from_the_formats():
    for first, second, unit in [
        ("%Y-%m-%d", "%d.%m.%Y", "D"),
        ("%Y-%m-%d", "%Y-%m-%d %H:%M", "min"),
        (None, "%Y-%m-%d %H:%M", "s"),
        ("%Y-%m-%d %H:%M", "%Y-%m-%d", "D"),  # a date without a time of day is the whole day
        (None, "%Y-%m-%d", "D"),
    ]:
        words = {"a": {**DATES, "datetime_format": first}, "b": {**DATES, "datetime_format": second}}
        assert Inequality("a", "b").resolved(words).unit == unit
    assert Inequality("a", "b", unit="h").resolved(words).unit == "h"


def test_a_format_must_tell_the_day():
    for form in ("%Y-%m", "%H:%M", "%Y", "%d"):
        with pytest.raises(ValueError, match="must tell the day"):
            Inequality("a", "b").check({"a": DATES, "b": {**DATES, "datetime_format": form}})


def test_wrong_parameters():
    for wrong in ({"low": "b"}, {"most": -1}, {"unit": "week"}, {"strict": "yes"}, {"low": ""}):
        with pytest.raises(ValueError, match="most|unit|strict|distinct"):
            Inequality(**{"low": "a", "high": "b", **wrong})


def test_distances_that_noise_found_below_zero_are_none():
    """Of few filled cells noise alone may be found: a fit that has paid does not end for it."""
    for dates in (False, True):
        rule = Inequality("a", "b", unit="s" if dates else None)
        words = {name: {"sdtype": "datetime" if dates else "numerical"} for name in "ab"}
        low = Attribute(name="a", kind="datetime" if dates else "integer", lower=(0,), upper=(10**9 * 100,))
        for ends in ((-500, -300), (-500, 10), (2**62, 2**62 + 5)):
            apart = Attribute(name="b - a", kind="integer", lower=(ends[0],), upper=(ends[1],))
            cell = pd.Timestamp(50) if dates else 50
            made_of([cell, cell], [ends[0], ends[1]], rule, words, [low, apart])


def test_a_strict_order_of_dates_holds_where_noise_found_no_distance():
    rule = Inequality("a", "b", strict=True, unit="D")
    words = {name: {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"} for name in "ab"}
    day = 86_400 * 10**9
    low = Attribute(
        name="a", kind="datetime", datetime_format="%Y-%m-%d", lower=(0,), upper=(100 * day,), unit=day
    )
    apart = Attribute(name="b - a", kind="integer", lower=(-5,), upper=(0,))
    made_of(["1970-01-05", "1970-04-11"], [-5, 0], rule, words, [low, apart])


def test_an_order_of_numbers_holds_to_the_last_digit():
    rule, words = Inequality("a", "b"), {name: {"sdtype": "numerical"} for name in "ab"}
    low = Attribute(name="a", kind="float", lower=(0.0,), upper=(200.0,))
    apart = Attribute(name="b - a", kind="float", lower=(0.0,), upper=(200.0,))
    cells = list(np.random.default_rng(0).uniform(0, 200, 500))
    made_of(cells, [0.0] * 500, rule, words, [low, apart])


def test_a_learned_end_beyond_what_the_format_writes_is_no_end():
    """Noise may put it there; `%y` writes years up to 2068, and the bin would have ended before it began."""
    words = {n: {"sdtype": "datetime", "datetime_format": "%d.%m.%y"} for n in ("low", "high")}
    rule, day = Inequality("low", "high", most=30), NANOSECONDS["D"]
    first = pd.Timestamp("2090-01-01").value
    low = Attribute(
        name="low", kind="datetime", lower=(first,), upper=(first + 9 * day,), datetime_format="%d.%m.%y"
    )
    apart = Attribute(name=rule.distance, kind="integer", lower=(0,), upper=(30,))
    (made,) = rule.attributes({"low": low, rule.distance: apart}, words, {})
    assert made.lower[0] <= made.upper[0]


DAYS = "%Y-%m-%d"
SAME = ["2020-01-05 14:00", "2020-01-05 00:00", "2020-01-04 23:59", "2020-01-06 08:00"]


def test_a_moment_is_not_after_the_day_that_it_is_on():
    """A date without a time of day is the whole day, on the clock of the moments. Control: moments against moments."""
    for unit in (None, "D", "h", "min"):
        for zone in (None, "Asia/Tokyo", "America/New_York"):
            words = {
                "a": {**DATES, "datetime_format": None if zone else "%Y-%m-%d %H:%M"},
                "b": {**DATES, "datetime_format": DAYS},
            }
            rule = Inequality("a", "b", unit=unit).resolved(words)
            formats = {name: spec["datetime_format"] for name, spec in words.items()}
            moments = pd.Series(pd.to_datetime(SAME)).dt.tz_localize(zone) if zone else pd.Series(SAME)
            table = pd.DataFrame({"a": moments, "b": ["2020-01-05"] * 4})
            assert rule.holds(table, formats).tolist() == [True, True, True, False]
            kept = table[:3]
            style = {"time_zone": zone} if zone else {"datetime_format": "%Y-%m-%d %H:%M"}
            ends = [int(pd.Timestamp(end).value) for end in ("2020-01-01", "2020-01-31")]
            folded = rule.fold(kept, formats)[rule.distance]
            if rule.unit == "D":
                assert folded.tolist() == [0, 0, 1], "the same day is no day apart"
            known = {
                "a": Attribute(name="a", kind="datetime", lower=(ends[0],), upper=(ends[1],), **style),
                rule.distance: Attribute(
                    name=rule.distance, kind="integer", lower=(0,), upper=(int(folded.max()),)
                ),
            }
            (made,) = rule.attributes(known, words, {})
            back = rule.unfold(kept.assign(**{rule.distance: folded}), formats, {"b": made})["b"]
            assert back.tolist() == kept["b"].tolist(), "and comes back as the same day"
            assert rule.fits(known, {"b": made})
            exact = {"a": formats["a"], "b": "%Y-%m-%d %H:%M"}
            plain = table.assign(b="2020-01-05 00:00")
            if zone is None:
                assert rule.holds(plain, exact).tolist() == [False, True, True, False]


def test_a_strict_order_of_a_moment_and_a_date_is_one_of_days():
    rule = Inequality("a", "b", strict=True)
    words = {"a": {**DATES, "datetime_format": "%Y-%m-%d %H:%M"}, "b": {**DATES, "datetime_format": DAYS}}
    rule = rule.resolved(words)
    formats = {name: spec["datetime_format"] for name, spec in words.items()}
    table = pd.DataFrame({"a": SAME, "b": ["2020-01-05"] * 4})
    assert rule.holds(table, formats).tolist() == [False, False, True, False]


def test_what_may_be_between_a_moment_and_a_date_is_declared_by_days():
    words = {
        "a": {**DATES, "datetime_format": "%Y-%m-%d %H:%M", "range_min": "2020-01-01 12:00"},
        "b": {**DATES, "datetime_format": DAYS, "range_max": "2020-01-05"},
    }
    rule = Inequality("a", "b").resolved(words)
    assert rule.stand_ins(words)[rule.distance]["range_max"] == 4
    words["a"]["range_min"] = "2020-01-01 00:00"  # from its first moment on no day more
    assert rule.stand_ins(words)[rule.distance]["range_max"] == 4

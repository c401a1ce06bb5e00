"""Dates with a time of day: both come out, wherever the clock is; nothing moves to another row or day."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sdv.metadata import Metadata
from sdv.sampling import Condition

from sdv_plausible import PaperNetwork, PlausibleDeniabilitySynthesizer, Release
from sdv_plausible.rules import DateAndTime, Equal, Inequality, Multiple
from sdv_plausible.rules.date_and_time import DAY
from sdv_plausible.rules.rule_files import rule_from_dict
from sdv_plausible.rules.rule_set import FittedRules
from sdv_plausible.rules.rules_and_declarations import rules_with_declarations
from sdv_plausible.rules.structural_zeros import possible_pairs
from sdv_plausible.table.columns.domain import Attribute, Domain

FORM = "%Y-%m-%d %H:%M"
DATES = {"sdtype": "datetime", "datetime_format": FORM}
RANGE = {"range_min": "2015-01-01 00:00", "range_max": "2015-12-31 23:59", "range_is_nullable": False}
LETTERS = {"range_values": ["u", "v"]}
MOMENTS = st.datetimes(pd.Timestamp("1700-01-02"), pd.Timestamp("2260-01-01"))


def read(columns, domain=None, rules=(), **options):
    return rules_with_declarations(rules, domain, columns, 100, **options)


def there_and_back(column, rule, form=None, zone=None):
    table, formats = pd.DataFrame({"a": column}), {"a": form}
    ends = {"lower": (pd.Timestamp.min.value,), "upper": (pd.Timestamp.max.value,)}
    whole = Attribute(name="a", kind="datetime", nullable=True, datetime_format=form, time_zone=zone, **ends)
    return rule.unfold(pd.DataFrame(rule.fold(table, formats)), {}, {"a": whole})["a"]


# --- one row ----------------------------------------------------------------------------------------


@given(st.lists(st.one_of(MOMENTS, st.none()), min_size=1, max_size=5),
       st.sampled_from([None, FORM, "%Y-%m-%dT%H:%M:%S", "%d.%m.%Y %H h"]),
       st.sampled_from(["s", "min", "15min", "h"]))  # fmt: skip
def test_date_and_time_are_the_moment(rows, form, resolution):
    moments = pd.to_datetime(pd.Series(rows, dtype="M8[ns]"))
    given_column = moments if form is None else moments.dt.strftime(form).where(moments.notna(), None)
    found = there_and_back(given_column, DateAndTime("a", resolution), form)
    wanted = moments.dt.floor({"h": "h"}.get(resolution, resolution))
    if form is not None and resolution != "h":
        wanted = pd.to_datetime(moments.dt.strftime(form), format=form).dt.floor(resolution)
    shown = wanted if form is None else wanted.dt.strftime(form).where(moments.notna(), None)
    assert [None if pd.isna(v) else v for v in found] == [None if pd.isna(v) else v for v in shown]


def test_clocks_of_a_time_zone_and_ends_of_the_calendar():
    """Hours that are skipped or come twice; the first date of 64 bits has no midnight, the last no evening: nothing wraps around."""
    zone = "Europe/Zurich"
    moments = pd.Series(pd.date_range("2015-03-28", "2015-03-30", freq="30min", tz=zone))
    assert (there_and_back(moments, DateAndTime("a", "min"), zone=zone) == moments).all()
    folded = DateAndTime("a", "h").fold(pd.DataFrame({"a": moments}), {"a": None})
    assert folded["a: time (h)"].iloc[0] == 0  # midnight in Zurich, 23 h in Greenwich
    twice = pd.Series(pd.to_datetime(["2015-10-25 00:30", "2015-10-25 01:30"]).tz_localize("UTC"))
    found = there_and_back(twice.dt.tz_convert(zone), DateAndTime("a", "min"), zone=zone)
    assert (found.dt.strftime("%H:%M") == "02:30").all()
    first, last = pd.Timestamp.min, pd.Timestamp.max
    found = there_and_back(pd.Series([first, last]), DateAndTime("a", "s"))
    for moved, moment in zip(found, (first, last), strict=True):
        assert abs(moved.value - moment.value) <= DAY


def test_each_row_alone():
    moments = pd.Series(pd.date_range("2015-01-01 03:07", periods=50, freq="1000min").strftime(FORM))
    moments[7], moments[9] = None, "31.12.2015"
    rule, table = DateAndTime("a", "min"), pd.DataFrame({"a": moments})
    whole = pd.DataFrame(rule.fold(table, {"a": FORM}))
    rows = [pd.DataFrame(rule.fold(table.iloc[[i]], {"a": FORM})) for i in range(len(table))]
    pd.testing.assert_frame_equal(whole, pd.concat(rows))
    assert whole.iloc[[7, 9]].isna().all(axis=None)


# --- when a column is split ------------------------------------------------------------------------


def test_words_decide():
    """No row is there to decide."""
    for spec, declared, resolution in (
    (DATES, {}, "min"),
    ({**DATES, "datetime_format": "%c"}, {}, "s"),
    ({**DATES, "datetime_format": "%Y-%m-%d"}, {}, None),
    ({"sdtype": "datetime"}, {}, None),
    ({"sdtype": "datetime"}, {"resolution": "15min"}, "15min"),
    (DATES, {"resolution": "D", **RANGE}, None),
    (DATES, {"resolution": "h"}, "h"),
    (DATES, {"parts": "whole"}, None),
    ({"sdtype": "datetime"}, {"parts": "split"}, "s"),
    (DATES, {"bins": 12, **RANGE}, None),
):  # fmt: skip
        _, columns, rules = read({"a": spec}, {"a": {"sdtype": "datetime", **declared}})
        assert [rule.resolution for rule in rules.deriving_rules] == ([resolution] if resolution else [])
        assert list(columns) == (["a: date", f"a: time ({resolution})"] if resolution else ["a"])
    rules = read({"a": DATES, "b": DATES, "c": DATES}, None, [Inequality("a", "b"), Equal("c", "a")])[2]
    assert [rule.columns[0] for rule in rules.deriving_rules if isinstance(rule, DateAndTime)] == ["a"]
    assert set(rules.made) == {"a", "b", "c"}
    assert not read({"a": DATES}, split_dates=False)[2]
    domain = {"a": {"range_min": 0, "range_max": 10, "resolution": 0.25}}
    found, _, rules = read({"a": {"sdtype": "numerical"}}, domain)
    assert rules.deriving_rules == (Multiple("a", 0.25),)
    assert found.columns["a / 0.25"]["range_max"] == 40


def test_words_and_rules_that_mean_nothing():
    number = {"sdtype": "numerical"}
    for spec, words in (
        (number, {"resolution": "min"}), (number, {"resolution": 0}), (number, {"parts": "split"}), (DATES, {"resolution": 5}),
        (DATES, {"resolution": "7min"}), (DATES, {"parts": "date"}), ({"sdtype": "categorical"}, {"resolution": 1}),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="column 'a'"):
            read({"a": spec}, {"a": {"sdtype": spec["sdtype"], **words}})
    with pytest.raises(ValueError, match="part of a day"):
        DateAndTime("a", "D")
    for spec, said in (({**DATES, "datetime_format": "%Y-%m-%d"}, "has no time of day"), (number, "datetime")):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            read({"a": spec}, None, [DateAndTime("a")])
    assert rule_from_dict(DateAndTime("a", "min").to_dict()) == DateAndTime("a", "min")


# --- what is missing -------------------------------------------------------------------------------


def test_both_are_missing_or_neither():
    rules = read({"a": DATES})[2]
    date, time = rules.added
    days = tuple(DAY * day for day in range(3))
    domain = Domain((Attribute(name=date, kind="datetime", lower=days, upper=days, nullable=True),
                     Attribute(name=time, kind="integer", lower=(0,), upper=(1439,), nullable=True)))  # fmt: skip
    (possible,) = possible_pairs(rules, domain).values()
    assert possible.tolist() == [[True, False]] * 3 + [[False, True]]


# --- rows of a fit ---------------------------------------------------------------------------------


def flights(rows=6000):
    """Departures from 6 to 8 h, in fives of minutes; flights of 45 to 199 minutes; a tenth is missing."""
    rng = np.random.default_rng(5)
    minute = rng.choice([360, 420, 480], rows) + rng.integers(0, 12, rows) * 5
    start = pd.Series(pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 365, rows), unit="D"))
    start += pd.to_timedelta(minute, unit="min")
    end = start + pd.to_timedelta(rng.integers(45, 200, rows), unit="min")
    start[rng.random(rows) < 0.1] = pd.NaT
    letters = rng.choice(["u", "v"], rows)
    return pd.DataFrame({"a": start.dt.strftime(FORM), "b": end.dt.strftime(FORM), "x": letters})


def made(columns, domain, **options):
    metadata = Metadata.load_from_dict({"tables": {"t": {"columns": columns}}})
    return PlausibleDeniabilitySynthesizer(metadata, domain=domain, **options)


def fitted(*rules, **words):
    columns = {"a": DATES, "b": DATES, "x": {"sdtype": "categorical"}}
    nullable = {**RANGE, "range_is_nullable": True, **words}
    domain = {"a": nullable, "b": {**nullable, "range_max": "2016-01-01 23:59"}, "x": LETTERS}
    synth = made(columns, domain, epsilon=2.0, rules=rules, random_state=1)
    synth.fit(flights())
    return synth


@pytest.fixture(scope="module")
def synth():
    return fitted(Inequality("a", "b", most=600))


def at_night(table):
    return float(pd.to_datetime(table["a"], format=FORM).dropna().dt.hour.isin([1, 2, 3]).mean())


def test_nights_are_empty_and_flights_last(synth):
    drawn = synth.sample(3000)
    assert at_night(drawn) < 0.02
    start, end = (pd.to_datetime(drawn[name], format=FORM) for name in "ab")
    assert (start.dropna().dt.minute % 5 == 0).mean() > 0.8
    minutes = (end - start).dropna() / pd.Timedelta(1, "min")
    assert (minutes >= 0).all()
    assert minutes.median() == pytest.approx(122, abs=15)
    assert drawn["a"].isna().mean() == pytest.approx(0.1, abs=0.04)
    assert start.min() >= pd.Timestamp("2015-01-01")
    assert start.max() <= pd.Timestamp("2015-12-31 23:59")


def test_whole_dates_lose_the_clock():
    """The planted bug of the test above: a column that is left whole has days for bins."""
    assert at_night(fitted(parts="whole").sample(3000)) > 0.08


def test_conditions_on_a_made_date(synth):
    value = "2015-03-05 07:15"
    for given_value in (value, None):
        condition = Condition(num_rows=20, column_values={"a": given_value})
        made = synth.sample_from_conditions([condition])["a"]
        assert set(made.dropna()) == ({value} if given_value else set())
    for wrong, what in (("2017-03-05 07:15", "must lie between"), ("noon", "no such value")):
        with pytest.raises(ValueError, match=what):
            synth.sample_from_conditions([Condition(num_rows=5, column_values={"a": wrong})])


def test_a_release_file_holds_it_and_its_domain_can_be_used_again(synth, tmp_path):
    synth.release(allow_no_claim=True).save(tmp_path / "flights.zip")
    release = Release.load(tmp_path / "flights.zip")
    made = release.sample(1000)
    assert at_night(made) < 0.02
    assert set(release.sample(20, given={"a": "2015-03-05 07:15"})["a"]) == {"2015-03-05 07:15"}
    with pytest.raises(ValueError, match="internal columns of the model"):
        release.sample(5, given={"a: date": "2015-03-05"})
    again = PlausibleDeniabilitySynthesizer.from_release(release)
    assert at_night(again.sample(500)) < 0.05
    options = {"domain": synth.get_domain(), "rules": [Inequality("a", "b", most=600)], "epsilon": 4.0}
    assert PlausibleDeniabilitySynthesizer(synth.metadata, **options).plan().ledger is not None
    assert not FittedRules().given({})


def test_stand_ins_that_do_not_fit_are_refused():
    rule = DateAndTime("a", "h")
    whole = {"a": Attribute(name="a", kind="datetime", lower=(0,), upper=(DAY,))}
    date = Attribute(name="a: date", kind="datetime", lower=(0,), upper=(0,))
    for last, nullable, fits in ((23, False, True), (24, False, False), (23, True, False)):
        time = Attribute(name=rule.time, kind="integer", lower=(0,), upper=(last,), nullable=nullable)
        assert rule.fits({"a: date": date, rule.time: time}, whole) == fits


def test_a_structure_keeps_dates_whole():
    columns, model = {"a": DATES, "x": {"sdtype": "categorical"}}, PaperNetwork(structure={"a": [], "x": ["a"]})  # fmt: skip
    found = made(columns, {"a": RANGE, "x": LETTERS}, model=model)
    found.fit(flights(2000)[["a", "x"]].dropna())
    assert found.get_domain().names == ("a", "x")

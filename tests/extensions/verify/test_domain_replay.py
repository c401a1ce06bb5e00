"""Learned columns of every kind made anew from the recorded answers: the same to the last digit."""

from __future__ import annotations

import functools
import json

import numpy as np
import pandas as pd
import pytest

from sdv_plausible import Release, fit_source
from sdv_plausible.extensions.verify.domain_replay import replay_domain
from sdv_plausible.extensions.verify.independent.all_checks import check
from sdv_plausible.extensions.verify.independent.content_checks import value_of
from sdv_plausible.extensions.verify.independent.verdict import ContradictionError, UncheckableError
from sdv_plausible.table.learned.value_grid import ValueGrid

FORMS = {"born": "%Y-%m-%d", "clock": "%H:%M", "month": "%Y-%m", "stamp": "%Y-%m-%d %H:%M:%S"}
NUMBERS = ("pay", "age", "size", "tiny", "code", "negative", "missing", "money")
WITHIN = {
    "pay": {"range_min": 0, "range_max": 1e6, "decimal_places": 2, "special_values": [7.5]},
    "age": {"range_min": 0, "range_max": 120, "decimal_places": 0, "range_is_nullable": False},
    "size": {"range_min": -1e5, "range_max": 1e5},
    "tiny": {"range_min": 0, "range_max": 1, "range_is_nullable": False},
    "code": {"range_min": 0, "range_max": 1000, "decimal_places": 0, "special_values": [9999]},
    "negative": {"range_min": -50000, "range_max": 50000, "decimal_places": 0, "rounding": [10, 100]},
    "missing": {"range_min": 0, "range_max": 1000, "decimal_places": 0, "special_values": ["N"]},
    "born": {"range_min": "1900-01-01", "range_max": "2020-12-31"},
    "stamp": {"range_min": "2019-01-01 00:00:00", "range_max": "2021-12-31 00:00:00"},
    "month": {"range_min": "1990-01", "range_max": "2025-12"},
    "clock": {"range_min": "00:00", "range_max": "23:59"},
}


def table(n):
    rng = np.random.default_rng(3)
    start, days = pd.Timestamp("1940-01-01"), pd.to_timedelta(rng.integers(0, 25_000, n), unit="D")
    seconds = pd.to_timedelta(rng.integers(0, 3 * 10**7, n), unit="s")
    return pd.DataFrame(
        {
            "pay": np.round(rng.lognormal(10.5, 0.6, n), 2),
            "age": rng.integers(18, 90, n),
            "size": rng.normal(0, 1, n) * 1e3,
            "tiny": rng.random(n) * 1e-3,
            "code": np.where(rng.random(n) < 0.2, 9999, rng.integers(0, 1000, n)),
            "negative": rng.integers(-500, 500, n) * 100,
            "missing": np.where(rng.random(n) < 0.3, np.nan, rng.integers(0, 1000, n)),
            "money": rng.integers(0, 2000, n) * 50,
            "born": (start + days).strftime(FORMS["born"]),
            "clock": (start + seconds).strftime(FORMS["clock"]),
            "month": (start + days).strftime(FORMS["month"]),
            "stamp": (pd.Timestamp("2020-01-01") + seconds).strftime(FORMS["stamp"]),
            "ward": rng.choice(list("abcdef"), n, p=[0.4, 0.2, 0.2, 0.1, 0.09, 0.01]),
            "side": rng.choice(["left", "right", None], n),
            "grade": rng.choice([1, 2, 3], n),
            "answer": rng.choice(["yes", "no"], n),
            "flag": rng.choice([True, False], n),
        }
    )


def domain(within):
    found = {name: {"sdtype": "numerical"} for name in NUMBERS}
    found |= {name: {"sdtype": "datetime", "datetime_format": form} for name, form in FORMS.items()}
    found |= {name: {"sdtype": "categorical"} for name in ("ward", "side", "answer")}
    found |= {"grade": {"sdtype": "ordinal"}, "flag": {"sdtype": "boolean"}}
    return {name: {**words, **(WITHIN.get(name, {}) if within else {})} for name, words in found.items()}


@functools.cache
def released(n, epsilon, within=False):
    release = fit_source(table(n), domain=domain(within), epsilon=epsilon, model="independent")
    return Release.from_bytes(release.to_bytes())


def test_columns_of_every_kind_are_the_same_again():
    """Of few rows and of many, with much noise and with little, with ranges that are declared and without."""
    for n, epsilon in ((300, 1.0), (3000, 20.0)):
        for within in (False, True):
            release = released(n, epsilon, within)
            learned = [a for a in release.domain if a.provenance == "private"]
            assert len(learned) >= 14
            said = replay_domain(release)
            assert said.startswith(f"the answers lead to {len(learned)} learned columns again")
            assert ("7.5 of 'pay'" in said) == within, "a declared value is named, and no other"
            assert ("9999 of 'code'" in said) == within


def test_every_bin_that_is_another_is_refused():
    """Of every learned column: an end that is moved, and digits. Control: above."""
    text = released(3000, 20.0).to_bytes(readable=True)
    for i, column in enumerate(json.loads(text)["domain"]):
        if column["provenance"] == "private" and len(column["lower"]) > 1:
            changed = json.loads(text)
            lower, upper = changed["domain"][i]["lower"], changed["domain"][i]["upper"]
            middle = len(lower) // 2
            lower[middle] = upper[middle]
            if column["lower"][middle] != lower[middle]:
                with pytest.raises(ContradictionError, match=r"has other lower"):
                    replay_domain(Release.from_bytes(json.dumps(changed).encode()))
    document = json.loads(released(300, 1.0).to_bytes())
    document["answers"]["asked"] = [a for a in document["answers"]["asked"] if a["paid_by"] != ["domain"]]
    with pytest.raises(UncheckableError, match="learned earlier"):
        replay_domain(Release.from_bytes(json.dumps(document).encode()))


def test_points_stand_for_what_they_do_in_the_program():
    """The second reading's points, which share no code."""
    day, few = 86_400 * 10**9, (-400, -1, 0, 1, 7, 600)
    for lattice in (
        ValueGrid(kind="integer"), ValueGrid(kind="float", decimals=3), ValueGrid(kind="float"), ValueGrid(kind="float", decimals=9),
        ValueGrid(kind="datetime", unit=60 * 10**9), ValueGrid(kind="datetime", unit=day, shown="months"),
    ):  # fmt: skip
        details = {name: getattr(lattice, name) for name in ("kind", "decimals", "unit", "shown")}
        for point in (*few, *((2**62, -(2**62) + 5) if lattice.kind == "float" else ())):
            assert value_of(point, details) == lattice.value(point)


# --- midnights of a time zone ---------------------------------------------------------------------------

ZONES = ("America/New_York", "Europe/Zurich", "Asia/Kathmandu")
IN_2023 = {"range_min": "2023-01-01", "range_max": "2024-12-31"}
SAID = {
    "nothing": {},
    "a range": IN_2023,
    "a range of days": {**IN_2023, "resolution": "D"},
    "bins": {**IN_2023, "resolution": "D", "bins": 7},
    "a few days": {"range_min": "2023-03-01", "range_max": "2023-05-09", "resolution": "D"},
}


def midnights(zone, n=4000):
    days = np.datetime64("2023-03-01") + np.random.default_rng(2).integers(0, 70, n)
    return pd.Series(days.astype("M8[ns]")).dt.tz_localize(zone)


@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("zone", ZONES)
def test_midnights_of_a_time_zone_stay_midnights(zone, said):
    """Days on both sides of a night on which clocks change; and the days are those of the declared ends.

    At epsilon 20 and 4,000 rows noise hides no hour: a false alarm is below 1e-9.
    """
    rows = pd.DataFrame({"day": midnights(zone), "sex": np.resize(["f", "m"], 4000)})
    domain = {"day": {"sdtype": "datetime", **SAID[said]}, "sex": {"range_values": ["f", "m"]}}
    release = Release.from_bytes(fit_source(rows, domain=domain, epsilon=20.0).to_bytes())
    made = release.sample(500)["day"].dropna()
    assert str(made.dtype) == f"datetime64[ns, {zone}]"
    assert {*made.dt.hour} == {0}
    if said != "nothing":
        first, last = (pd.Timestamp(SAID[said][end]).date() for end in ("range_min", "range_max"))
        assert made.dt.date.between(first, last).all()
    assert replay_domain(release) in ("no column was learned", "the answers lead to 1 learned columns again")
    assert {str(one) for one in check(release.to_bytes()) if one.state == "refused"} == set()

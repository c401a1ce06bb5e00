"""Every spelling of dates, with nothing declared: voted for, learned, and written back as it was."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
import pytest

from sdv_plausible import fit_source
from sdv_plausible.table.cells.dates import (
    FORMATS,
    as_nanoseconds,
    detect_date_format,
    shows_time,
    write_dates,
)

ROWS = 2000
ODD = 7  # row of one cell that is no date
pytestmark = pytest.mark.filterwarnings("ignore")  # of noise


@functools.cache
def moments():
    """Three years, some days more often; times of day about 13:30, none at night."""
    rng = np.random.default_rng(0)
    days = np.datetime64("2013-03-01", "D") + (rng.beta(2, 3, ROWS) * 1200).astype(int)
    seconds = (np.clip(rng.normal(13.5, 2, ROWS), 5, 22) * 3600).astype("m8[s]")
    return pd.Series((days + seconds).astype("M8[ns]"))


def texts_of(form):
    """Offsets are of two hours."""
    return write_dates(moments(), form).astype(object) + ("+02:00" if "%z" in form else "")


def fitted(cells):
    options = {"epsilon": 6.0, "model": "independent", "random_state": 1, "allow_no_claim": True}
    return fit_source(pd.DataFrame({"when": cells}), types="voted", **options)


@pytest.mark.parametrize("form", FORMATS)
def test_a_column_comes_back_in_its_spelling_and_within_its_range(form):
    """One odd cell changes nothing. Seeded: no false alarm; a mean moves by .7 % of the range by chance."""
    real = texts_of(form)
    release = fitted(real.where(real.index != ODD, "none of yours"))
    (words,) = [column.spec for column in release.schema.columns]
    assert words == {"sdtype": "datetime", "datetime_format": form}
    split = {"when: date", f"when: time ({'s' if '%S' in form else 'min'})"}
    assert {a.name for a in release.domain} == (split if shows_time(form) else {"when"})
    texts = release.sample(1000)["when"].dropna()
    assert len(texts) > 950
    shapes, known = (
        set(column.str.replace("[0-9]", "0", regex=True).str.replace("[A-Za-z]+", "a", regex=True))
        for column in (texts, real.str.replace("+02:00", "+0000"))  # which comes back in UTC
    )
    assert shapes <= known
    assert {detect_date_format(text) for text in texts} <= {detect_date_format(text) for text in real}
    before, after = (as_nanoseconds(column, form, row_by_row=True) / 1 for column in (real, texts))
    span = before.max() - before.min()
    ends = [0.02, 0.5, 0.98]
    assert np.abs(np.quantile(after, ends) - np.quantile(before, ends)).max() < 0.08 * span
    assert abs(after.mean() - before.mean()) < 0.04 * span


def test_months_come_as_often_as_they_are(monkeypatch):
    """Ten years, more months than bins; measured .014 to .018 apart, seeded. Planted: bins of days, .16 and more."""
    months = [f"{2000 + i // 12}-{i % 12 + 1:02}" for i in range(120)]
    real = pd.Series(np.random.default_rng(0).choice(months, 20_000), dtype=object)

    def apart():
        columns = (fitted(real).sample(20_000)["when"], real)
        drawn, given = (c.value_counts(normalize=True).reindex(months, fill_value=0.0) for c in columns)
        return float((drawn - given).abs().sum() / 2)

    assert apart() < 0.04
    monkeypatch.setattr("sdv_plausible.table.learned.value_grid.shows_months", lambda _: False)
    assert apart() < 0.04  # first days of months are a pattern
    monkeypatch.setattr("sdv_plausible.table.learned.private_columns.has_patterns", lambda _: False)
    assert apart() > 0.1


def test_a_clock_never_leaves_its_day():
    """Also late in the evening: no bin goes past midnight."""
    real = pd.Series(np.repeat(["23:59", "23:58", "00:00", "23:30"], ROWS // 4), dtype=object)
    hours = fitted(real).sample(1000)["when"].str[:2].value_counts()
    assert hours["23"] + hours["00"] > 980
    assert 180 < hours["00"] < 320  # 250, and over five standard errors

"""Dates that mean something else, such as 9999-12-31 for "still open": they stand alone, and are released as such."""

import numpy as np
import pandas as pd
import pytest
from cases import each_once

from sdv_plausible import Release, fit_source
from sdv_plausible.cli.main import main
from sdv_plausible.extensions.verify.domain_replay import replay_domain
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.synthesizer import PlausibleDeniabilitySynthesizer
from sdv_plausible.table.cells.dates import FORMATS, read_date, sentinel_texts
from sdv_plausible.table.declared.domain_file import DomainFile
from sdv_plausible.table.declared.specifications import declared_attribute

OPEN, ROWS = "9999-12-31", 2000
RANGE = {"range_min": "2020-01-01", "range_max": "2025-12-31"}
DATE = {"sdtype": "datetime", "datetime_format": "%Y-%m-%d", "special_values": [OPEN]}


def table(form="%Y-%m-%d", special=OPEN):
    """30 % are open, 10 % missing; those that are open have no amount."""
    rng = np.random.default_rng(0)
    moments = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 6 * 365 * 24, ROWS), unit="h")
    cells, kind = moments.strftime(form).to_numpy(dtype=object), rng.random(ROWS)
    cells = np.where(kind < 0.3, special, np.where(kind > 0.9, None, cells))
    return pd.DataFrame({"closed": cells, "paid": np.where(kind < 0.3, "no", "yes")})


def released(words, rows, **more):
    domain = {"closed": words, "paid": {"sdtype": "categorical", "range_values": ["no", "yes"]}}
    found = fit_source(rows, domain=domain, epsilon=20.0, random_state=1, allow_no_claim=True, **more)
    return Release.from_bytes(found.to_bytes())


def check_rows(rows, special=OPEN, last="2026"):
    """Shares within five deviations of binomial draws of 2,000 rows each (false alarm 6e-7), and noise."""
    closed = rows["closed"]
    assert abs((closed == special).mean() - 0.3) < 0.07
    assert abs(closed.isna().mean() - 0.1) < 0.05
    assert ((closed == special) == (rows["paid"] == "no")).mean() > 0.95, "and it hangs on the other column"
    others = closed[(closed != special) & closed.notna()]
    assert others.min() >= "2019"
    assert others.max() < last


RANGES = (
    {**DATE, **RANGE},
    DATE,
    {**DATE, **RANGE, "range_is_nullable": True},
    {**DATE, "range_max": "2025-12-31"},
)


def placed(rows, place, folder):
    """The rows, or a file of them."""
    if place == "csv":
        rows.to_csv(folder / "a.csv", index=False)
    elif place == "parquet":
        rows.to_parquet(folder / "a.parquet")
    return rows if place == "memory" else folder / f"a.{place}"


@pytest.mark.parametrize(("words", "place"), each_once(RANGES, ["memory", "csv", "parquet"]))
def test_it_comes_out_as_often_as_it_is(words, place, tmp_path):
    release = released(words, placed(table(), place, tmp_path))
    last = "2026" if "range_max" in words else "2030"
    assert release.domain["closed"].values == (OPEN,)
    check_rows(release.sample(ROWS), last=last)
    replay_domain(release)
    if place == "parquet":
        release.sample_to_parquet(tmp_path / "rows", ROWS)
        check_rows(pd.read_parquet(tmp_path / "rows"), last=last)


def test_a_moment_with_one_is_not_split():
    """Midnight of the year 9999 has no place on a clock."""
    form, special = "%Y-%m-%d %H:%M", "9999-12-31 00:00"
    words = {"sdtype": "datetime", "datetime_format": form, "special_values": [special]}
    check_rows(released(words, table(form, special)).sample(ROWS), special, last="2030")


def test_one_inside_the_range_stands_alone():
    words = {**DATE, **RANGE, "range_min": "1900-01-01", "special_values": ["1900-01-01"]}
    rows = released(words, table(special="1900-01-01")).sample(ROWS)
    assert abs((rows["closed"] == "1900-01-01").mean() - 0.3) < 0.07


def test_check_finds_nothing(tmp_path, capsys):
    """Control: without the word such cells are outside."""
    path, words = placed(table(), "csv", tmp_path), {**DATE, **RANGE, "range_is_nullable": True}
    for said, fits in ((words, True), ({**words, "special_values": None}, False)):
        DomainFile(columns={"closed": said}).save(tmp_path / "d.json")
        assert main(["check", str(path), "--domain", str(tmp_path / "d.json")]) == 0
        assert ("every cell matches" in capsys.readouterr().out) == fits


def test_what_is_refused():
    for words, rule in (
        ({"datetime_format": None}, "in the datetime_format"),
        ({"special_values": ["31.12.9999"]}, "in the datetime_format"),
        ({"special_values": [9999]}, "must be a list of distinct texts in the column's format"),
        ({"parts": "split"}, "remove parts"),
    ):
        with pytest.raises(ValueError, match=rule):
            declared_attribute("closed", {**DATE, **RANGE, **words})


def undeclared(special, more=None, rows=None, **options):
    """A fit at epsilon 3 of dates without a range, of which three of ten are ``special``."""
    words = {"sdtype": "datetime", "datetime_format": "%Y-%m-%d", **(more or {})}
    domain = {} if "types" in options else {"closed": words, "paid": {"sdtype": "categorical"}}
    rows = table(special=special) if rows is None else rows
    return fit_source(rows, domain=domain, epsilon=3.0, random_state=1, allow_no_claim=True, **options)


@pytest.mark.parametrize("options", [{}, {"types": "voted"}])
@pytest.mark.parametrize("place", ["memory", "csv"])
def test_a_usual_date_for_never_is_learned(place, options, tmp_path):
    release = undeclared(OPEN, rows=placed(table(), place, tmp_path), **options)
    assert release.domain["closed"].values == (OPEN,)
    closed = release.sample(ROWS)["closed"]
    assert abs((closed == OPEN).mean() - 0.3) < 0.07
    assert release.columns().loc["closed", "missing"] < 0.17
    replay_domain(Release.from_bytes(release.to_bytes()))


@pytest.mark.parametrize(("special", "more"), [("4712-12-31", {}), (OPEN, RANGE)])
def test_dates_out_of_reach_are_named(special, more, tmp_path):
    """No usual date for "never", or one beside a declared range: it comes out missing, and the fit says so."""
    path, shares = placed(table(special=special), "csv", tmp_path), r"\((2[5-9]|3[0-5])%\)"
    with pytest.warns(UserWarning, match=f"closed {shares}: these shares of the cells cannot be read"):
        release = undeclared(special, more, path)
    assert release.domain["closed"].values == ()
    assert release.columns().loc["closed", "missing"] > 0.25


def test_a_date_for_never_that_few_rows_hold_is_no_value():
    """Control: one row in 2,000. Noise alone lifts one of five counts over 4 deviations in 2 of 10,000 fits."""
    rows = table()
    rows.loc[rows["closed"] == OPEN, "closed"] = "2024-05-05"
    rows.loc[0, "closed"] = OPEN
    assert undeclared(OPEN, rows=rows).domain["closed"].values == ()


def test_read_off_the_rows_it_is_a_value():
    """Without a claim (undeclared="infer"), where nanoseconds could not hold it."""
    words = {
        "closed": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"},
        "paid": {"sdtype": "categorical"},
    }
    synth = PlausibleDeniabilitySynthesizer(metadata_from_columns(words), undeclared="infer")
    synth.fit(table())
    assert synth.get_domain()["closed"].values == (OPEN,)
    assert abs((synth.sample(ROWS)["closed"] == OPEN).mean() - 0.3) < 0.07


def test_usual_dates_for_never_are_written_as_their_column():
    """Of every format that shows whole years, and only of these; each is a date, and beyond nanoseconds."""
    for form in FORMATS:
        found = sentinel_texts(form)
        assert bool(found) == ("%Y" in form)
        assert all(read_date(text, form).year >= 2999 for text in found)

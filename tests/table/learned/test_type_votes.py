"""Types by a vote over cells: each cell has one vote, and one odd cell decides nothing."""

from __future__ import annotations

import datetime as dt

import neighbouring
import numpy as np
import pandas as pd
import pytest
from voting import held_vote

from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import ONE_ROW
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.questions.queryable import Queryable
from sdv_plausible.table.cells.date_texts import FORMATS, write_date
from sdv_plausible.table.cells.number_texts import NUMBER_KINDS
from sdv_plausible.table.columns.cell_texts import Spelling, kind_of
from sdv_plausible.table.learned.raw_counts import FrameColumns
from sdv_plausible.table.learned.type_votes import (
    KINDS,
    CellKinds,
    length_range,
    vote_entry,
    vote_failure,
    vote_types,
)

SPELLING = Spelling()
COINS = Coins.from_seed(1)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "missing"), ("12", "number"), ("-1.5e3", "number"), ("007", "text"), ("0", "number"),
        ("0.5", "1234.5"), ("TRUE", "truth"), ("yes", "text"), ("2020-02-29", "%Y-%m-%d"),
        ("2021-02-29", "text"), ("03/04/2020", "%m/%d/%Y"), ("31/12/2020", "%d/%m/%Y"),
        ("31.12.2020", "%d.%m.%Y"), ("2020-01-02 03:04:05", "%Y-%m-%d %H:%M:%S"), ("Ann", "text"),
        ("20131213", "%Y%m%d"), ("20131313", "number"), ("20131213.0", "1234.5"), ("2013", "number"),
        (" 14:30 ", "%H:%M"), ("2013-12", "%Y-%m"), ("13-Dec-2013", "%d-%b-%Y"), ("1899", "number"),
        ("1.234", "1.234"), ("45%", "1234%"), ("EUR 120", "EUR 1234"), ("-€1,234.50", "€1,234.5"), ("$007", "text"),
        ("1\u00a0234", "1 234"), ("12,5", "1234,5"), ("1,234,567", "1,234.5"), ("$5%", "text"), ("+-5", "text"),
    ],
)  # fmt: skip
def test_kinds(text, kind):
    assert kind_of(text, SPELLING) == kind


def columns(n: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 365, n)]
    names = ["".join(rng.choice(list("abcdef"), int(k))) for k in rng.integers(5, 10, n)]
    return pd.DataFrame(
        {
            "age": rng.integers(0, 90, n).astype(str),
            "day": [f"{d:%d/%m/%Y}" for d in days],
            "sex": rng.choice(["f", "m"], n),
            "name": names,
            "sure": rng.choice(["true", "false"], n),
        },
        dtype=object,
    )


def test_types_are_found_within_the_budget():
    voted, ledger = held_vote(columns(20_000), 0.3, 1e-9, COINS)
    assert voted["age"] == {"sdtype": "numerical"}
    assert voted["day"] == {"sdtype": "datetime", "datetime_format": "%d/%m/%Y"}
    assert voted["sex"] == {"sdtype": "categorical"}
    assert voted["sure"] == {"sdtype": "boolean"}
    assert voted["name"] == {"sdtype": "id", "regex_format": "[a-z]{5,9}"}
    assert isinstance(ledger, PrivacyLedger)
    assert 0.27 < ledger.total() <= 0.3


def test_one_odd_cell_decides_nothing():
    """Control: ninety of a hundred do. Seeded coins: no false alarm."""
    for odd, expected in ((1, "numerical"), (4_000, "categorical")):
        table = columns(5_000)[["age"]]
        table.loc[: odd - 1, "age"] = "none of yours"
        voted, _ = held_vote(table, 0.3, 1e-9, COINS)
        assert voted["age"]["sdtype"] == expected


@pytest.mark.parametrize(
    ("share", "expected"),
    [(1, "datetime"), (0.95, "datetime"), (0.85, "numerical"), (0.3, "numerical"), (0, "numerical")],
)
def test_eight_digits_are_dates_where_nearly_all_are_and_else_numbers(share, expected):
    """By hand: nine tenths are needed. Noise of 12 cells and seeded coins: no false alarm."""
    table = columns(5_000)[["age"]]
    dates = [
        f"{dt.date(1990, 1, 1) + dt.timedelta(days=i % 9_000):%Y%m%d}" for i in range(int(share * 5_000))
    ]
    table.loc[: len(dates) - 1, "age"] = dates
    voted, _ = held_vote(table, 0.3, 1e-9, COINS)
    assert voted["age"] == {
        "sdtype": expected,
        **({"datetime_format": "%Y%m%d"} if expected == "datetime" else {}),
    }


def test_eight_digits_among_other_dates_are_no_dates():
    table = pd.DataFrame({"x": ["20131213", "2013-12-13"] * 2_000}, dtype=object)
    voted, _ = held_vote(table, 0.3, 1e-9, COINS)
    assert voted["x"]["sdtype"] == "categorical"


def spelled(*shares):
    """5,000 cells, so many in a hundred of each text."""
    cells = [text for text, share in shares for _ in range(50 * share)]
    table = pd.DataFrame({"x": [*cells, *["odd"] * (5_000 - len(cells))]}, dtype=object)
    voted, _ = held_vote(table, 0.3, 1e-9, COINS)
    return voted["x"]["sdtype"], voted["x"].get("number_format")


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ([("45%", 95)], ("numerical", "1234.5%")),
        ([("45%", 85)], ("categorical", None)),
        ([("12", 95), ("1,234", 5)], ("numerical", "1,234.5")),  # rather than thousands lost
        ([("12", 95), ("odd", 5)], ("numerical", None)),
        ([("1.5", 60), ("1.234", 40)], ("numerical", None)),
        ([("1.234", 60), ("12,5", 40)], ("numerical", "1.234,5")),
        ([("1,234", 94), ("12,5", 6)], ("numerical", "1,234.5")),
        ([("1,234", 80), ("12,5", 20)], ("numerical", "1234,5")),
        ([("$5", 50), ("€5", 50)], ("categorical", None)),  # neither reads nine tenths
        ([("$5", 95), ("€5", 5)], ("numerical", "$1234.5")),
        ([("\u20bf5", 100)], ("categorical", None)),  # a mark that is not in the list
        ([("1 234", 100)], ("numerical", "1 234.5")),
        ([("20131213", 50), ("1,234", 50)], ("numerical", "1,234.5")),
    ],
)  # fmt: skip
def test_one_spelling_must_read_over_nine_tenths_of_the_cells(shares, expected):
    """By hand; noise of 12 cells and seeded coins: no false alarm."""
    assert spelled(*shares) == expected


def test_a_table_s_own_spelling_stays_a_plain_number():
    """Also where it has a comma for the point: such columns are written as numbers, as before."""
    table = pd.DataFrame({"x": ["12,5", "1.234,5", "7"] * 2_000}, dtype=object)
    rows = [vote_entry(1, 0.3, 1e-9)]
    ledger = PrivacyLedger(delta=1e-9)
    asked = Queryable(FrameColumns(table), ledger, rows, COINS)
    spelling = Spelling(decimal=",", thousands=".")
    assert vote_types(asked, ["x"], spelling, vote_failure(1e-9)) == {"x": {"sdtype": "numerical"}}


def test_at_a_small_budget_kinds_are_found_and_common_values_stay_a_category():
    """Noise of 1,367 cells per count (control: names are text of lengths at a budget that shows it, above)."""
    table = columns(32_000)
    voted, _ = held_vote(table, 0.012, 1e-9, COINS)
    assert {name: words["sdtype"] for name, words in voted.items()} == {
        "age": "numerical", "day": "datetime", "sex": "categorical", "name": "categorical", "sure": "boolean",
    }  # fmt: skip


def test_what_noise_may_hide_is_no_evidence():
    """Numbers that stand out of the noise, but not by twice as much as text may hide in it: a category."""
    table = columns(4_000)[["age"]]  # noise of 611
    voted, ledger = held_vote(table, 0.012, 1e-9, COINS)
    assert voted["age"]["sdtype"] == "categorical"
    assert ledger.total() <= 0.012


@pytest.mark.parametrize("n", [0, 1, 30])
def test_where_noise_decides_there_is_text(n):
    voted, _ = held_vote(columns(n), 0.01, 1e-9, COINS)
    assert {words["sdtype"] for words in voted.values()} == {"categorical"}


# --- how far one cell moves the counts ----------------------------------------------------------------------------

CELLS = ("", "7", "03/04/2020", "text", "true", "20131213", "May 5, 2013", "1,234", "$5")
TWICE = {
    "03/04/2020": "%d/%m/%Y",
    "20131213": "number",
    "May 5, 2013": "%B %d, %Y",
    "1,234": "1234,5",
    "$5": "number",
}  # what else they could be


def counted(table, lengths=False):
    frame = pd.DataFrame({"x": [cell or None for cell in table]}, dtype=object)
    return CellKinds("x", SPELLING, lengths).exact(FrameColumns(frame))


@pytest.mark.parametrize("relation", neighbouring.RELATIONS)
@pytest.mark.parametrize("lengths", [False, True])
def test_counts_move_no_further_than_stated(relation, lengths):
    found = neighbouring.largest_move(lambda t: counted(t, lengths), CELLS, 2, relation)
    assert neighbouring.within(found, CellKinds("x", SPELLING, lengths).sensitivity(relation))


@pytest.mark.parametrize("form", FORMATS)
def test_a_cell_of_every_format_counts_once(form):
    text = write_date(dt.datetime(2013, 12, 23, 14, 30), form) + ("+02:00" if "%z" in form else "")
    counts = counted([text])
    assert counts.sum() == counts[KINDS.index(form)] == 1


def test_a_number_of_every_spelling_counts_once():
    counts = counted(["1234" if kind == "number" else kind for kind in NUMBER_KINDS])
    assert counts.sum() == len(NUMBER_KINDS)
    assert all(counts[KINDS.index(kind)] == 1 for kind in NUMBER_KINDS)


@pytest.mark.parametrize("twice", TWICE)
def test_planted_fault_a_date_that_counts_in_every_format_it_fits(twice):
    def planted(table):
        counts = counted(table)
        counts[KINDS.index(TWICE[twice])] += sum(cell == twice for cell in table)
        return counts

    found = neighbouring.largest_move(planted, CELLS, 2, ONE_ROW)
    assert not neighbouring.within(found, CellKinds("x", SPELLING).sensitivity(ONE_ROW))
    assert len(set(KINDS)) == len(KINDS)


def test_lengths_but_for_one_in_a_hundred():
    counts = np.zeros(64)
    counts[[0, 3, 7, 40]] = 1, 500, 500, 2
    assert length_range(counts) == (4, 8)
    assert length_range(np.full(64, -3.0)) == (1, 16)
    assert length_range(counts, sigma=100) == (4, 8)

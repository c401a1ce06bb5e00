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
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.queryable import FrequentValueCounts, NoisyValues, Queryable
from sdv_plausible.queries.transcript import NoisyAnswer, Transcript
from sdv_plausible.table.cells.dates import FORMATS, write_date
from sdv_plausible.table.cells.number_texts import NUMBER_KINDS
from sdv_plausible.table.columns.cell_reader import FRACTION_KINDS, Spelling, cell_kind
from sdv_plausible.table.learned.raw_queries import FrameColumns
from sdv_plausible.table.learned.type_inference import (
    BUCKETS,
    FAMILIES,
    LISTS,
    NUMBERS,
    OTHERS,
    CellKindCounts,
    FamilyCounts,
    InferenceRowCount,
    NoisyShare,
    family_of,
    has_repeats,
    infer_types,
    length_limits,
    other_kind_shares,
    threshold_failure,
    type_inference_entry,
)

SPELLING = Spelling()
COINS = KeyedRNG.from_seed(1)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "missing"), ("12", "number"), ("-1.5e3", "number"), ("007", "0123"), ("0", "number"),
        ("0.5", "1234.5"), ("TRUE", "TRUE"), ("false", "truth"), ("yes", "text"), ("2020-02-29", "%Y-%m-%d"),
        ("2021-02-29", "text"), ("03/04/2020", "%m/%d/%Y"), ("31/12/2020", "%d/%m/%Y"),
        ("31.12.2020", "%d.%m.%Y"), ("2020-01-02 03:04:05", "%Y-%m-%d %H:%M:%S"), ("Ann", "text"),
        ("20131213", "%Y%m%d"), ("20131313", "number"), ("20131213.0", "1234.5"), ("2013", "number"),
        (" 14:30 ", "%H:%M"), ("2013-12", "%Y-%m"), ("13-Dec-2013", "%d-%b-%Y"), ("1899", "number"),
        ("1.234", "1.234"), ("45%", "1234%"), ("EUR 120", "EUR 1234"), ("-€1,234.50", "€1,234.5"), ("$007", "text"),
        ("1\u00a0234", "1 234"), ("12,5", "1234,5"), ("1,234,567", "1,234.5"), ("$5%", "text"), ("+-5", "text"),
        ("02134", "0123"), ("-007", "0123"), ("+41445027490", "+123"), ("+5", "+123"), ("-5", "number"),
        ("8931440400000000000", "number"), ("8931440400000000001", "0123"), ("9007199254740993", "0123"),
        ("9007199254740992", "number"), ("1.10", "1234.50"), ("1.9", "1234.5"), ("2.50", "1234.50"), ("0.25", "1234.25"),
        ("1.0", "1234.5"), ("(532.67)", "(1234.5)"), ("$1,234.50", "$1,234.5"), ("202403", "%Y%m"), ("202413", "number"),
        ("03/26/2024 07:53 AM", "%m/%d/%Y %I:%M %p"), ("2010/04/04 18:00:00", "%Y/%m/%d %H:%M:%S"),
    ],
)  # fmt: skip
def test_kinds(text, kind):
    assert cell_kind(text, SPELLING) == kind


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


def spelled(shares):
    """5,000 cells, so many in a hundred of each text."""
    cells = [text for text, share in shares for _ in range(50 * share)]
    table = pd.DataFrame({"x": [*cells, *["odd"] * (5_000 - len(cells))]}, dtype=object)
    voted, _ = held_vote(table, 0.9, 1e-9, COINS)
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
        ([("$1,234.50", 30), ("$999.00", 55), ("(532.67)", 15)], ("numerical", "($1,234.5)")),
        ([("\u20bf5", 100)], ("categorical", None)),  # a mark that is not in the list
        ([("1 234", 100)], ("numerical", "1 234.5")),
        ([("20131213", 50), ("1,234", 50)], ("numerical", "1,234.5")),
    ],
)  # fmt: skip
def test_one_spelling_must_read_over_nine_tenths_of_the_cells(shares, expected):
    """By hand; noise of 12 cells and seeded coins: no false alarm."""
    assert spelled(shares) == expected


def test_a_table_s_own_spelling_stays_a_plain_number():
    """Also where it has a comma for the point: such columns are written as numbers, as before."""
    table = pd.DataFrame({"x": ["12,5", "1.234,5", "7"] * 2_000}, dtype=object)
    rows = [type_inference_entry(1, 0.3, 1e-9)]
    ledger = PrivacyLedger(delta=1e-9)
    asked = Queryable(FrameColumns(table), ledger, rows, COINS)
    spelling = Spelling(decimal=",", thousands=".")
    assert infer_types(asked, ["x"], spelling, threshold_failure(1e-9)) == {"x": {"sdtype": "numerical"}}


def test_at_a_small_budget_kinds_are_found_and_common_values_stay_a_category():
    """Noise of 1,000 cells per value hides which values are frequent; two that all have still repeat."""
    table = columns(32_000)
    voted, _ = held_vote(table, 0.022, 1e-9, COINS)
    assert {name: words["sdtype"] for name, words in voted.items()} == {
        "age": "numerical", "day": "datetime", "sex": "categorical", "name": "id", "sure": "boolean",
    }  # fmt: skip


def spread(holders: np.ndarray, seed: int, sigma: float) -> np.ndarray:
    """Noisy counts of the buckets of values that so many rows hold."""
    rng = np.random.default_rng(seed)
    exact = np.bincount(rng.integers(BUCKETS, size=len(holders)), holders, minlength=BUCKETS)
    return exact + rng.normal(0, sigma, BUCKETS)


@pytest.mark.parametrize(
    ("rows", "values", "expected"),
    [
        (4_000, 12, True),
        (4_000, 4_000, False),
        (4_000, 400, False),
        (100_000, 30, True),
        (100_000, 10_000, False),
    ],
)
def test_values_that_repeat_are_seen_where_noise_hides_which(rows: int, values: int, expected: bool) -> None:
    """Noise of 80 cells hides a value in 333 rows (of large tables frequent ones are found before). At most 4 of 100 seeded draws differ.

    The rate is below .01 in 2,000 draws of each, so that one in 10,000 runs of other seeds would fail.
    """
    holders = np.full(values, rows / values)
    found = [has_repeats(float(rows), spread(holders, seed, 80.0), 80.0) for seed in range(100)]
    assert abs(sum(found) - 100 * expected) <= 4


def test_a_frequent_value_beside_free_text_makes_no_category_of_a_large_table() -> None:
    """A tenth of 100,000 cells say "none", all others differ: invented, not a column of "none" alone."""
    holders = np.array([10_000, *[1] * 90_000])
    assert not any(has_repeats(1e5, spread(holders, seed, 80.0), 80.0) for seed in range(20))


def test_what_noise_hides_altogether_is_a_category() -> None:
    """Noise of 400 cells of 4,000: twelve values and 4,000 look alike."""
    assert all(has_repeats(4e3, spread(np.ones(4_000), seed, 400.0), 400.0) for seed in range(5))


def test_a_dozen_values_of_a_small_table_are_a_category() -> None:
    """From cells to the type, eight columns of 4,000 rows at .3. Planted: no buckets, which took it for free text."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {f"c{i}": rng.choice([f"town {j}" for j in range(12)], 4_000) for i in range(8)}, dtype=object
    )
    voted, _ = held_vote(table, 0.3, 1e-9, COINS)
    assert sum(words["sdtype"] == "categorical" for words in voted.values()) >= 6


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

CELLS = ("", "7", "03/04/2020", "text", "TRUE", "20131213", "May 5, 2013", "1,234", "$5", "007", "+7", "1.10")
TWICE = {
    "03/04/2020": ("format of dates", "%d/%m/%Y"),
    "20131213": ("family", "number"),
    "May 5, 2013": ("format of dates", "%B %d, %Y"),
    "1,234": ("spelling of numbers", "1234,5"),
    "$5": ("family", "number"),
    "007": ("family", "number"),
    "1.10": ("spelling of numbers", "1234.5"),
}  # what else they could be


def counted(table, by="family"):
    frame = pd.DataFrame({"x": [cell or None for cell in table]}, dtype=object)
    return CellKindCounts("x", SPELLING, by).exact(FrameColumns(frame))


@pytest.mark.parametrize("relation", neighbouring.RELATIONS)
@pytest.mark.parametrize("by", LISTS)
def test_counts_move_no_further_than_stated(relation, by):
    found = neighbouring.largest_move(lambda t: counted(t, by), CELLS, 2, relation)
    assert neighbouring.within(found, CellKindCounts("x", SPELLING, by).sensitivity(relation))


@pytest.mark.parametrize("relation", neighbouring.RELATIONS)
def test_the_number_of_rows_moves_no_further_than_stated(relation):
    def rows(table):
        return InferenceRowCount().exact(FrameColumns(pd.DataFrame({"x": list(table)}, dtype=object)))

    assert neighbouring.within(
        neighbouring.largest_move(rows, CELLS, 2, relation), InferenceRowCount().sensitivity(relation)
    )


@pytest.mark.parametrize("form", FORMATS)
def test_a_cell_of_every_format_counts_once(form):
    text = write_date(dt.datetime(2013, 12, 23, 14, 30), form) + ("+02:00" if "%z" in form else "")
    counts = counted([text], "format of dates")
    assert counts.sum() == counts[FORMATS.index(form)] == 1


def test_a_number_of_every_spelling_counts_once_and_every_kind_has_a_family():
    cells = ["1234" if kind == "number" else kind for kind in NUMBERS]
    counts = counted(cells, "spelling of numbers")
    assert counts.sum() == len(NUMBERS) == len(NUMBER_KINDS) + len(FRACTION_KINDS)
    assert (counts == 1).all()
    families = counted(cells)
    assert families.sum() == len(NUMBERS)
    assert {*FAMILIES} >= {
        family_of(kind, SPELLING) for kind in (*NUMBERS, *FORMATS, "0123", "+123", "TRUE", "text")
    }


@pytest.mark.parametrize("twice", TWICE)
def test_planted_fault_a_cell_that_counts_as_all_that_it_could_be(twice):
    by, other = TWICE[twice]

    def planted(table):
        counts = counted(table, by)
        counts[LISTS[by].index(other)] += sum(cell == twice for cell in table)
        return counts

    found = neighbouring.largest_move(planted, CELLS, 2, ONE_ROW)
    assert not neighbouring.within(found, CellKindCounts("x", SPELLING, by).sensitivity(ONE_ROW))


@pytest.mark.parametrize("by", LISTS)
def test_nothing_stands_twice_in_a_list(by):
    assert len(set(LISTS[by])) == len(LISTS[by])


# --- codes are no numbers ------------------------------------------------------------------------------------------


def drawn(make, n=5_000):
    rng = np.random.default_rng(0)
    return [make(rng, i) for i in range(n)]


CODES = {
    "ZIP codes": (lambda rng, i: f"{rng.integers(1_000, 99_999):05d}", ("id", "[0-9]{5,5}")),  # 9 % zeros in front
    "telephones": (lambda rng, i: f"+4144{rng.integers(10**7):07d}", ("id", r"\+[0-9]{11,11}")),
    "19 digits": (lambda rng, i: f"{rng.integers(10**18, 9 * 10**18)}", ("id", "[0-9]{19,19}")),
    "versions": (lambda rng, i: f"1.{1 + i % 20}", ("categorical", None)),
    "prices": (lambda rng, i: f"{rng.gamma(3, 50):.2f}", ("numerical", None)),
    "lab values": (lambda rng, i: f"{rng.lognormal(1, 1.5):#.3g}".rstrip("."), ("numerical", None)),  # 1.50 and 12.5
    "doubles": (lambda rng, i: str(round(rng.gamma(3, 50), 2)), ("numerical", None)),
    "whole doubles": (lambda rng, i: f"{rng.integers(90)}.0", ("numerical", None)),
    "one code of zeros": (lambda rng, i: "007" if i == 0 else f"{rng.integers(90)}", ("numerical", None)),
    "year and month": (lambda rng, i: f"20{i % 20:02d}{1 + i % 12:02d}", ("datetime", None)),
    "capitals": (lambda rng, i: "TRUE" if i % 3 else "FALSE", ("categorical", None)),
    "slashes": (lambda rng, i: f"2010/{1 + i % 12:02d}/04 {i % 24:02d}:00:00", ("datetime", None)),
    "halves of a day": (lambda rng, i: f"03/{1 + i % 28:02d}/2024 {1 + i % 12:02d}:53 PM", ("datetime", None)),
    "years of two digits": (lambda rng, i: f"{1 + i % 12}/{1 + i % 28}/{i % 30:02d}", ("datetime", None)),
}  # fmt: skip


@pytest.mark.parametrize("case", CODES)
def test_a_number_has_the_canonical_text_of_a_number(case):
    """Noise of 16 of 5,000 cells, seeded coins: no false alarm."""
    make, expected = CODES[case]
    voted, _ = held_vote(pd.DataFrame({"x": drawn(make)}, dtype=object), 0.6, 1e-9, COINS)
    assert (voted["x"]["sdtype"], voted["x"].get("regex_format")) == expected


# --- what the vote does not see ------------------------------------------------------------------------------------


def blurred(cells, epsilon, seed=1):
    """The type that a vote gives a column, whether it was decided, and the share that may be of another kind."""
    answers, rng = Transcript(), KeyedRNG.from_seed(seed)
    table = pd.DataFrame({"x": cells}, dtype=object)
    rows = Queryable(
        FrameColumns(table),
        PrivacyLedger(delta=1e-9),
        [type_inference_entry(1, epsilon, 1e-9)],
        rng,
        transcript=answers,
    )
    voted = infer_types(rows, ["x"], SPELLING, threshold_failure(1e-9))
    assert all(isinstance(one, NoisyAnswer) for one in answers.answers)
    return voted["x"]["sdtype"], *other_kind_shares(answers.answers, SPELLING)["x"]


@pytest.mark.parametrize("share", [0.0, 0.05])
def test_the_share_of_another_kind_is_bounded_from_noisy_answers_alone(share):
    """One-sided at 5 % of fits: of 60 seeded ones by chance more than 9 miss with a probability of .0007."""
    cells = ["x"] * round(4_000 * share) + ["17"] * round(4_000 * (1 - share))
    found = [blurred(cells, 0.1, seed)[2] for seed in range(60)]
    assert sum(one.most < share for one in found) <= 9
    assert 0.01 < np.mean([one.most for one in found]) - share < 0.08


def test_missing_cells_are_of_no_other_kind():
    """Half the cells are missing, and all others numbers: of the present ones none is anything else."""
    counts = np.where(np.isin(FAMILIES, ["missing", "number"]), 500.0, 0.0)
    found = FamilyCounts(counts, 1.0, (1000.0, 1.0))
    assert found.present == 500
    assert found.others(["number"]).estimate == 0
    assert found.others(["date"]).estimate == pytest.approx(1.0)


def test_a_vote_that_may_miss_a_tenth_does_not_decide():
    """By hand: at 300 rows noise of 32 cells is 1.64 x 1.4 x 32 / 300 = 24 % of them. Control: 7,000 rows."""
    assert blurred(["17"] * 300, 0.1)[1] is False
    sdtype, decided, share = blurred(["17"] * 7_000, 0.1)
    assert (sdtype, decided) == ("numerical", True)
    assert share.most < OTHERS


def test_noise_makes_no_codes_of_numbers():
    """Thirty columns of 4,000 numbers at .3, in six seeded votes. One look took one in 160 for codes (seen red)."""
    rng = np.random.default_rng(3)
    table = pd.DataFrame({f"n{i}": rng.integers(0, 90, 4_000).astype(str) for i in range(30)}, dtype=object)
    for seed in range(6):
        voted, _ = held_vote(table, 0.3, 1e-9, KeyedRNG.from_seed(seed))
        assert not [name for name, words in voted.items() if words["sdtype"] == "id"]


def test_codes_among_numbers_are_seen():
    """Control: 6 % of postcodes with a zero in front, in six of six seeded votes."""
    cells = ["02134"] * 480 + ["73012"] * 7_520
    for seed in range(6):
        voted, _ = held_vote(
            pd.DataFrame({"zip": cells, "n": ["7"] * 8_000}, dtype=object),
            0.3,
            1e-9,
            KeyedRNG.from_seed(seed),
        )
        assert voted["zip"]["sdtype"] != "numerical"


def test_lengths_but_for_one_in_a_hundred():
    counts = np.zeros(64)
    counts[[0, 3, 7, 40]] = 1, 500, 500, 2
    assert length_limits(counts) == (4, 8)
    assert length_limits(np.full(64, -3.0)) == (1, 16)
    assert length_limits(counts, sigma=100) == (4, 8)


class Spending:
    """Answers at random in the place of rows, and the shares that were asked for."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.shares = rng, []

    def ask(self, question, share):
        self.shares.append(share)
        if isinstance(question, InferenceRowCount):
            return NoisyValues(values=np.array([4000.0]), sigma=20.0)
        size, likely = len(LISTS[question.by]), self.rng.integers(len(LISTS[question.by]))
        values = self.rng.normal(0, 80, size)
        values[likely] += self.rng.choice([0, 3500, 4000])
        values[self.rng.integers(size)] += self.rng.choice([0, 150, 400])
        return NoisyValues(values=values, sigma=80.0)

    def ask_frequent(self, question, share, failure):
        self.shares.append(share)
        counts = np.array([self.rng.choice([0.0, 500.0, 4000.0])])
        return FrequentValueCounts(
            values=[(False, "a")],
            counts=counts,
            public=np.zeros(1),
            sigma=self.rng.choice([5.0, 80.0]),
            granularity=1.0,
        )


def test_no_column_asks_for_more_than_its_part():
    """Whatever the answers are, by 4,000 draws of them: a share too many ended fits that were paid."""
    rng, spent = np.random.default_rng(4), set()
    for _ in range(4000):
        rows = Spending(rng)
        infer_types(rows, ["x"], SPELLING, 1e-9)
        spent.add(round(sum(rows.shares), 6))
    assert max(spent) <= 1
    assert len(spent) == 6  # every way through the vote


@pytest.mark.parametrize(("other", "kind"), [(0.0, "datetime"), (85.0, "categorical")])
def test_a_kind_is_decided_by_what_other_cells_may_be(other, kind):
    """8.5 % of dates in another format, which noise of 2 % may make more than 10 %: nothing is decided."""
    forms = dict.fromkeys(FORMATS, 0.0) | {"%Y-%m-%d": 1000 - other, "%d.%m.%Y": other}
    given = {
        "cells of every family": [1000.0 if one == "date" else 0.0 for one in FAMILIES],
        "cells of every format of dates": list(forms.values()),
        "rows of a vote": [1000.0],
    }

    class Answers:
        def ask(self, question, _):
            return NoisyValues(values=np.array(given[question.asked().kind]), sigma=20.0)

    assert infer_types(Answers(), ["x"], SPELLING, 1e-12)["x"]["sdtype"] == kind


@pytest.mark.parametrize(
    ("estimate", "deviation", "decides"),
    [(0.0, 0.06, True), (0.09, 0.0, True), (0.11, 0.0, False), (0.04, 0.09, True), (0.06, 0.06, False), (0.04, 0.11, False)],
)  # fmt: skip
def test_a_share_decides_by_what_it_seems_and_by_what_it_may_be(estimate, deviation, decides):
    """Of .04 with so much noise that it may be .22 nothing is decided."""
    assert NoisyShare(estimate, deviation).decides == decides


def test_what_a_column_does_not_ask_for_is_the_next_ones():
    """Red before: eleven columns left 6 to 36 % of the vote's budget, and now but a part of the last one's share."""
    rng = np.random.default_rng(5)
    for _ in range(300):
        rows = Spending(rng)
        infer_types(rows, [str(i) for i in range(11)], SPELLING, 1e-9)
        assert 0.94 < sum(rows.shares) <= 1 + 1e-9
        families = [share for share in rows.shares[1:] if share >= 0.5 * 0.94 / 11]
        assert len(families) >= 11  # no column has less than an even part

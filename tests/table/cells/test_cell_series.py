"""The one form of a cell: equal values have one, and none depends on the cells beside it."""

import datetime as dt
import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdv_plausible.table.cells.canonical_forms import NOT_A_VALUE, canonical, distinct_values, is_storable
from sdv_plausible.table.cells.cell_series import as_doubles, mask_invalid, normalize_cells
from sdv_plausible.table.cells.dates import as_nanoseconds
from sdv_plausible.table.columns.cell_reader import Spelling
from sdv_plausible.table.contribution_bounding import person_keys
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.table.files.parquet_files import parse_arrow_table
from sdv_plausible.table.learned.raw_queries import value_counts

ZURICH = pd.Timestamp("2020-01-01 13:00", tz="Europe/Zurich")
HUGE = 10**400
FAMILIES = [
    [1, 1.0, np.int8(1), np.float32(1), Decimal(1), Fraction(1), 1 + 0j, np.complex128(1)],
    [2.5, np.float64(2.5), Decimal("2.5"), Fraction(5, 2)],
    [True, np.True_],
    [False, np.False_],
    ["a", np.str_("a")],
    [ZURICH, ZURICH.tz_convert("UTC"), ZURICH.to_pydatetime(), ZURICH.tz_convert("Asia/Tokyo")],
    [pd.Timestamp("2020-01-01"), np.datetime64("2020-01-01"), dt.datetime(2020, 1, 1)],
    [b"a"],
    [(1, 2)],
    [10.0**300, Decimal("1e300")],
]


def test_equal_values_have_one_form_and_others_another():
    """Truth values apart: they are told from 1 and 0 by those who must (columns.value_counts)."""
    for family in FAMILIES:
        ((_, form),) = {(type(canonical(value)), canonical(value)) for value in family}
        assert canonical(form) == form
        hash(form)
    firsts = [canonical(family[0]) for family in FAMILIES if not isinstance(family[0], bool)]
    assert len({*firsts}) == len(firsts)
    assert type(canonical(True)) is bool
    assert type(canonical(1)) is int


@given(st.one_of(st.integers(-(2**80), 2**80), st.floats(allow_nan=False, allow_infinity=False)))
def test_a_number_is_what_a_column_of_doubles_would_hold(value):
    """One missing cell turns whole numbers into doubles: the form must be the same before and after."""
    assert canonical(value) == canonical(float(value))
    assert type(canonical(value)) is type(canonical(float(value)))
    if isinstance(value, int) and abs(value) <= 2**53:
        assert canonical(value) == value
        assert type(canonical(float(value))) is int


def test_numbers_beyond_all_doubles_stay_as_they_are():
    assert canonical(HUGE) == HUGE
    assert canonical(np.float64("inf")) == math.inf


def test_numbers_are_read_one_by_one():
    odds = [
        1j, 2 + 0j, np.complex64(1j), HUGE, -HUGE, 2**64, "x", None, True, Fraction(2), Fraction(1, 4),
        Decimal(3),
    ]  # fmt: skip
    columns = [["3", "4.5"], [True, False], [3, "4"], [0.5, None], [2**64, -1], [1, 1.5, "a word"]]
    for others, odd in itertools.product(columns, odds):
        together = as_doubles(pd.Series([*others, odd], dtype=object))
        alone = [as_doubles(pd.Series([cell], dtype=object))[0] for cell in [*others, odd]]
        np.testing.assert_array_equal(together, np.array(alone))
    assert as_doubles(pd.Series([Fraction(1, 4), Decimal(3)])).tolist() == [0.25, 3]
    for text in ("1_000", "\u0663", "0x1p5", "1,5", "", "now"):
        assert np.isnan(as_doubles(pd.Series([text, "3"], dtype=object))).tolist() == [True, False]


def test_long_numbers_in_text_are_read_alike_beside_any_cell():
    """Of a column with a missing cell or a word pandas reads long whole numbers less exactly."""
    rng = np.random.default_rng(0)
    texts = [str(number) for number in rng.integers(10**16, 10**18, 300)]
    for neighbour in (None, "a word", "1.5", 2**70, 1 + 2j, True):
        beside = as_doubles(pd.Series([*texts, neighbour], dtype=object))[:-1]
        assert beside.tolist() == [float(text) for text in texts]
    with_pandas = pd.to_numeric(pd.Series([*texts, None], dtype=object), errors="coerce")[:-1]
    assert with_pandas.tolist() != [float(text) for text in texts]  # the control


def test_durations_are_odd_however_they_are_stored():
    """A column of durations alone has another type than one with a word beside them."""
    one = pd.Series([dt.timedelta(days=1)] * 3)
    for column in (one, one.astype(object)):
        assert {canonical(value) for value in column} == {NOT_A_VALUE}
        assert value_counts(column) == ({}, 3)
    cell = (1,)
    for _ in range(40):
        cell = (cell, cell)
    assert canonical(cell) is NOT_A_VALUE  # at once


def test_what_no_file_can_hold_is_missing_where_domains_are_learned():
    for odd in (b"x", (1, 2), math.inf, 1j, dt.timedelta(1), frozenset("a"), "\ud800", HUGE, "a" * 100_001):
        column = pd.Series(["a"] * 5 + [odd] * 5 + [None], dtype=object)
        assert value_counts(column) == ({(False, "a"): 5}, 6)
    assert is_storable("a" * 100_000)
    assert not is_storable("a" * 100_001)


def test_moments_and_durations_are_no_numbers_however_they_are_stored():
    """Among objects they are none: one number beside them, or one more missing cell, may not decide on all others."""
    for stored in ("timedelta64[ns]", "datetime64[s]", "duration[us][pyarrow]", "timestamp[ns][pyarrow]"):
        column = pd.Series(pd.array([1, 2, None], dtype="Int64")).astype(stored)
        assert np.isnan(as_doubles(column)).all()
        beside = pd.concat([column.astype(object), pd.Series([5], dtype=object)])
        assert np.isnan(as_doubles(beside)[:-1]).all()


def test_the_door_leaves_no_class_of_its_own_and_touches_no_other_column():
    odd = pd.Series([[1], Decimal(2), "a"] * 2, index=[5, 5, 6, 7, 8, 9], dtype=object)
    frame = pd.DataFrame({"odd": odd, "same": range(6), "kept": odd.astype(str).astype("category")})
    kinds = pd.Index(["a", dt.timedelta(1)], dtype=object)
    frame["kind"] = pd.Categorical.from_codes([0, 1, 0] * 2, categories=kinds)
    found = normalize_cells(frame)
    assert found["odd"].tolist() == [NOT_A_VALUE, Decimal(2), "a"] * 2
    assert found["kind"].tolist() == ["a", NOT_A_VALUE, "a"] * 2
    assert found.index.equals(frame.index)
    pd.testing.assert_frame_equal(found[["same", "kept"]], frame[["same", "kept"]])
    assert mask_invalid(found["odd"]).isna().tolist() == [True, False, False] * 2
    assert frame["odd"].iloc[0] == [1]  # the user's is as it was


@pytest.mark.parametrize("index", ["uint8", "uint32", "int8"])
def test_dictionaries_of_arrow_are_read_as_their_values(index):
    """pandas found no distinct cells of unsigned indices beside a missing one, nor of int8 beyond 127 values."""
    kind = pa.dictionary(getattr(pa, index)(), pa.string())

    def counts_of(*parts):
        chunks = pa.chunked_array([pa.array(part, pa.string()).cast(kind) for part in parts])
        frame = normalize_cells(pd.DataFrame({"x": pd.arrays.ArrowExtensionArray(chunks)}))
        return chunks, value_counts(frame["x"])[0]

    for cells in (["a", "b"], ["a", None]):
        assert counts_of(cells * 20)[1] == {(False, cell): 20 for cell in cells if cell}
    many, counts = counts_of(*([f"v{i}" for i in range(k, k + 100)] for k in (0, 100)))
    assert len(counts) == 200
    read = parse_arrow_table(
        pa.table({"x": many}), column_types({"x": {"sdtype": "categorical"}}), Spelling()
    )
    assert read["x"].nunique() == 200


def test_floats_of_few_bits_name_nobody_where_several_numbers_become_one():
    names = pa.array([7.0, 2.0**24 + 1, 2.0**24 - 1], pa.float32())
    read = parse_arrow_table(
        pa.table({"whose": names}), column_types({"whose": {"sdtype": "id"}}), Spelling()
    )
    assert [name is None for name in person_keys(read["whose"])] == [False, True, False]


def test_parts_that_lie_in_arrows_memory_hold_the_cells_of_a_file_that_is_read():
    types = column_types({"t": {"sdtype": "categorical"}, "n": {"sdtype": "numerical"}})
    words = [["a", "b"], ["a", None, "b"], ["b", " a", "a", ""], [None]]
    counts = [[1.5, 2.0], [1.5, None, -0.0], [1.5, math.inf, math.nan], [2**60]]
    for texts, numbers in itertools.product(words, counts):
        table = pa.table({"t": pa.array(texts * 12, pa.string())[:12], "n": pa.array(numbers * 12)[:12]})
        part, read = (parse_arrow_table(table, types, Spelling(), categories=yes) for yes in (True, False))
        assert part["n"].tolist() == pytest.approx(read["n"].tolist(), rel=0, abs=0, nan_ok=True)
        assert not np.isinf(part["n"]).any()
        assert read["n"].to_numpy().flags.writeable
        found = part["t"].astype(object)
        assert found.where(found.notna(), None).tolist() == read["t"].where(read["t"].notna(), None).tolist()


@pytest.mark.parametrize("far", [-(2**40), 10**13])
@pytest.mark.parametrize("stored", ["M8[s]", "zone", "timestamp[s][pyarrow]", "duration[s][pyarrow]"])
def test_a_far_moment_in_a_category_is_one_cell(stored, far):
    """Python has no object for it: pandas ended the fit, or the process."""
    moments = pd.Series([0] * 30 + [60, far], dtype="int64")
    if stored in ("M8[s]", "zone"):
        moments = pd.Series(moments.to_numpy().view("M8[s]"))
        moments = (
            moments.dt.tz_localize("UTC").dt.tz_convert("Europe/Zurich") if stored == "zone" else moments
        )
    else:
        moments = moments.astype(stored)
    column = normalize_cells(pd.DataFrame({"x": moments.astype("category")}))["x"]
    counts, missing = value_counts(column)
    assert missing == 32 if stored.startswith("duration") else 30 in counts.values()
    assert len(distinct_values(column)[0]) == 32


def test_an_offset_is_its_own_cells():
    texts = pd.Series(["2020-01-01T00:00:00+02:00", "2020-01-01T00:00:00.5"], dtype=object)
    assert (
        as_nanoseconds(texts, None, row_by_row=True)[1] == as_nanoseconds(texts[1:], None, row_by_row=True)[0]
    )

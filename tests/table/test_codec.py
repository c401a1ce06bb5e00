"""Tables to codes and back, for every kind of column; and each row's codes depend on that row alone."""

import datetime as dt
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.table import codec
from sdv_plausible.table.cells.dates import NANOSECONDS, local_to_utc, utc_to_local
from sdv_plausible.table.cells.rounding import Rounding
from sdv_plausible.table.codec import Codec, ColumnCodec
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.learned.inferred_domains import infer_attribute

DAY = NANOSECONDS["D"]
ROUNDING = Rounding((1, 5, 100), ((0.0, 1.0, 0.0), (0.5, 0.2, 0.3)))


def encode(attribute, column, seed=0):
    table, rng = pd.DataFrame({attribute.name: column}), KeyedRNG.from_seed(seed)
    return Codec(Domain((attribute,))).encode(table, rng)[:, 0].tolist()


def decode(attribute, codes, seed=0):
    codes, rng = np.array(codes).reshape(-1, 1), KeyedRNG.from_seed(seed)
    return Codec(Domain((attribute,))).decode(codes, rng)[attribute.name]


WORDS = pd.Series(["b", "a", None, "z", "a", "b", "b"], dtype=object)
CELLS = {
    "texts": ("categorical", ("a", "b"), WORDS),
    "categories": ("ordinal", ("a", "b"), WORDS.astype("category")),
    "numbers": ("integer", (), pd.Series([3, np.nan, 12, 99, -5, 0, 11])),
    "nullable numbers": ("integer", (), pd.Series([3, None, 12, 99, -5, 0, 11], dtype="Int64")),
    "without end": ("float", (), pd.Series([3, np.nan, 12, np.inf, -np.inf, -0.0], dtype="float32")),
    "numbers and texts": ("integer", ("a",), pd.Series([3, "a", None, 12.0, "z", 99, "a"], dtype=object)),
    "dates": ("datetime", (), pd.to_datetime(pd.Series([3, 12, None, 99, -5, 0, 11]))),
}


@pytest.mark.parametrize("at_once", [1, 3, 7])
@pytest.mark.parametrize("name", CELLS)
def test_cells_are_coded_as_each_alone_however_many_at_once(name, at_once):
    kind, values, column = CELLS[name]
    bins = {} if kind in ("categorical", "ordinal") else {"lower": (0, 10), "upper": (9, 19)}
    for nullable in (False, True):
        one = ColumnCodec(Attribute(name="x", kind=kind, values=values, nullable=nullable, **bins))
        alone = [one.encode(column.iloc[[i]].reset_index(drop=True))[0] for i in range(len(column))]
        found = np.full(len(column), 99, dtype=np.int8)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(codec, "AT_ONCE", at_once)
            patch.setattr(codec, "AT_ONCE", at_once)
            one.encode_into(found, column)
        assert found.tolist() == alone
        assert len(set(alone)) > 2


@st.composite
def bins(draw, limit, unit=1):
    """Closed bins of whole units, apart from one another."""
    ends = sorted(draw(st.sets(st.integers(-limit, limit), min_size=2, max_size=12)))
    ends = ends[: len(ends) // 2 * 2]
    lower = [e * unit for e in ends[::2]]
    upper = [e * unit for e in ends[1::2]]
    if draw(st.booleans()):
        upper[0] = lower[0]  # a value by itself
    return tuple(lower), tuple(upper)


FORMS = [
    (None, 1), (None, NANOSECONDS["s"]), ("%d.%m.%Y", DAY), ("%Y-%m-%d %H:%M", NANOSECONDS["min"]),
    ("%Y-%m-%dT%H:%M:%S.%f", 1000), ("%Y-%m-%d %H:%M:%S%z", NANOSECONDS["s"]),
]  # fmt: skip
SCALARS = (
    st.text(max_size=4), st.integers(-9, 9), st.floats(0.25, 9.75), st.just(True), st.binary(max_size=2),
)  # fmt: skip


@st.composite
def attributes(draw):
    kind = draw(st.sampled_from(["categorical", "ordinal", "integer", "float", "datetime"]))
    common = {"name": "x", "kind": kind, "nullable": draw(st.booleans())}
    if kind in ("categorical", "ordinal"):
        values = draw(st.lists(st.one_of(*SCALARS), min_size=1, max_size=6))
        return Attribute(**common, values=tuple(dict.fromkeys(values)))
    if kind == "datetime":
        form, unit = draw(st.sampled_from(FORMS))
        zone = draw(st.sampled_from([None, "Europe/Zurich"])) if form is None else None
        lower, upper = draw(bins(8 * 10**18 // unit, unit))
        provenance = draw(st.sampled_from(["declared", "inferred"])) if form else "declared"
        return Attribute(
            **common, lower=lower, upper=upper, unit=unit, datetime_format=form, time_zone=zone,
            provenance=provenance,
        )  # fmt: skip
    common["values"] = draw(st.sampled_from([(), (), ("N",), ("N", "not known", " N")]))
    rounding = draw(st.sampled_from([None, ROUNDING]))
    if kind == "integer":
        lower, upper = draw(bins(2**52))
        return Attribute(**common, lower=lower, upper=upper, rounding=rounding)
    decimals = draw(st.sampled_from([None, 0, 1, 3]))
    lower, upper = (tuple(v / 10.0 ** (decimals or 0) for v in ends) for ends in draw(bins(10**6)))
    rounding = None if decimals is None else rounding
    return Attribute(**common, lower=lower, upper=upper, decimals=decimals, rounding=rounding)


@settings(max_examples=300, deadline=None)
@given(attributes(), st.integers(0, 10**6), st.data())
def test_codes_to_values_to_codes_is_the_identity(attribute, seed, data):
    codes = data.draw(st.lists(st.integers(0, attribute.cardinality - 1), min_size=1, max_size=8))
    column = decode(attribute, codes, seed)
    assert encode(attribute, column, seed + 1) == codes
    present = column[column.notna() & ~column.isin(attribute.texts)]
    if attribute.texts:
        assert column.dtype == object
        assert {type(v) for v in present} <= {int if attribute.kind == "integer" else float}
    if attribute.kind == "integer":
        assert all(float(v).is_integer() for v in present)
    if attribute.decimals is not None:
        assert all(round(v, attribute.decimals) == v for v in present)
    if attribute.kind == "datetime" and attribute.datetime_format is None:
        stamps = present.dt.tz_convert("UTC").dt.tz_localize(None) if attribute.time_zone else present
        start = np.array(attribute.lower)[[c for c in codes if c != attribute.missing_code]]
        assert ((stamps.to_numpy().astype("i8") - start) % attribute.unit == 0).all()
    assert column.isna().tolist() == [c == attribute.missing_code for c in codes]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.integers(-(2**70), 2**70), st.just(None)), min_size=1, max_size=30))
def test_inferred_domains_hold_every_value_of_big_integers(values):
    """Beyond 2**53 neighbours may share a bin, but every value comes back as close as a float can tell."""
    column = pd.Series(values, dtype=object)
    attribute = infer_attribute("x", column, "numerical")
    back = decode(attribute, encode(attribute, column))
    for before, after in zip(values, back, strict=True):
        assert pd.isna(after) if before is None else float(after) == float(before)


MIXED = Attribute(name="x", kind="integer", values=("N", "?"), lower=(0, 10), upper=(9, 19), nullable=True)


def test_texts_beside_numbers_are_matched_to_the_letter_and_other_texts_read_as_numbers():
    cells = ["N", " N", "n", "12", 3, 3.7, None, "?", "x", 99, np.str_("N"), True]
    assert encode(MIXED, pd.Series(cells, dtype=object)) == [2, 4, 4, 1, 0, 0, 4, 3, 4, 1, 2, 0]
    assert encode(MIXED, pd.Series([1.0, np.nan, 15])) == [0, 4, 1]
    assert encode(MIXED, pd.Series(["N", "12", None], dtype="category")) == [2, 1, 4]
    for stored in ("string", "string[pyarrow]"):
        assert encode(MIXED, pd.Series(["N", "12", None], dtype=stored)) == [2, 1, 4]
    without_bins = replace(MIXED, lower=(), upper=())
    assert encode(without_bins, pd.Series(["N", 5, "?"], dtype=object)) == [0, 2, 1]
    assert decode(without_bins, [0, 1]).tolist() == ["N", "?"]
    back = decode(MIXED, [2, 0, 3, 4])
    assert [back[0], back[2]] == ["N", "?"]
    assert isinstance(back[1], int)
    assert pd.isna(back[3])
    codec = Codec(Domain((MIXED,)))
    assert codec.encode_value("x", "N") == 2
    codec.check_value("x", "?")
    for value in ("M", " N", 25):
        with pytest.raises(ValueError, match="column 'x'"):
            codec.check_value("x", value)


def test_draws_fill_the_bin_with_its_ends():
    attribute = Attribute(name="x", kind="integer", lower=(10,), upper=(13,))
    counts = decode(attribute, [0] * 4000).value_counts()
    assert sorted(counts.index) == [10, 11, 12, 13]
    assert counts.min() > 800  # expected 1000, deviation 27: a false alarm has probability below 1e-12


def test_categories_of_any_dtype_survive():
    for column in (
        pd.Series([True, False, None], dtype=object),
        pd.Series([True, False, None], dtype="boolean"),
        pd.Series([1, 2, None], dtype="Int64"),
        pd.Series(["a", "b", None], dtype="string"),
        pd.Series(pd.Categorical(["b", "a", None], categories=["c", "b", "a"])),
        pd.Series(pd.Categorical([2, 1, None])),
        pd.Series(["x", 3, None, 2.5, b"y"], dtype=object),
        pd.Series([(1, 2), (3, 4), None], dtype=object),
        pd.Series([pd.Timestamp("2020-01-01"), "x", None], dtype=object),
    ):
        attribute = infer_attribute("x", column, "categorical")
        back = decode(attribute, encode(attribute, column))
        assert back.isna().tolist() == column.isna().tolist()
        assert all(a == b for a, b in zip(back.dropna(), column.dropna(), strict=True)), column


def test_offsets_and_zones_come_back():
    column = pd.Series(["2020-01-01 10:00:00+0200", "2020-07-01 11:00:00-0330"])
    attribute = infer_attribute("x", column, "datetime", {"datetime_format": "%Y-%m-%d %H:%M:%S%z"})
    back = decode(attribute, encode(attribute, column))
    assert back.tolist() == ["2020-01-01 08:00:00+0000", "2020-07-01 14:30:00+0000"]
    zoned = pd.Series(
        pd.date_range("2021-10-31 00:30", periods=4, freq="h", tz="Europe/Zurich")
    )  # 02:30 comes twice
    attribute = infer_attribute("x", zoned, "datetime")
    back = decode(attribute, encode(attribute, zoned))
    assert (back == zoned).all()
    assert str(back.dt.tz) == "Europe/Zurich"


def test_outside_cells_are_clipped_missing_or_drawn():
    number = Attribute(name="x", kind="integer", lower=(0, 5), upper=(4, 9))
    assert encode(number, pd.Series([-7, 99, np.inf, -np.inf])) == [0, 1, 1, 0]
    word = Attribute(name="x", kind="categorical", values=("a", "b"), nullable=True)
    assert encode(word, pd.Series(["a", "new", None])) == [0, 2, 2]
    strict = Attribute(name="x", kind="categorical", values=tuple("abcdefgh"))
    drawn = encode(strict, pd.Series(["new"] * 2000))
    counts = np.bincount(drawn, minlength=8)
    assert counts.min() > 150  # expected 250, deviation 15: a false alarm has probability below 1e-9
    assert drawn != encode(strict, pd.Series(["new"] * 2000), seed=1)


def test_dates_that_cannot_be_read_are_missing_and_not_the_earliest_date():
    days = tuple(i * DAY for i in range(50))
    column = pd.Series(["1970-01-08", *["soon"] * 200, "1500-01-01"])
    for nullable in (False, True):
        ends = {"lower": days, "upper": days, "unit": DAY, "datetime_format": "%Y-%m-%d"}
        codes = encode(Attribute(name="x", kind="datetime", nullable=nullable, **ends), column)
        assert codes[0] == 7
        # where nothing is missing, drawn from all 50; reading them as the first date gives 1
        assert set(codes[1:]) == {50} if nullable else len(set(codes[1:])) > 20


def test_values_of_conditions():
    days = {"lower": (0,), "upper": (9 * DAY,), "unit": DAY, "datetime_format": "%Y-%m-%d"}
    number = Attribute(name="n", kind="integer", lower=(0, 5), upper=(4, 9))
    word = Attribute(name="c", kind="categorical", values=("a", "b"), nullable=True)
    codec = Codec(Domain((number, word, Attribute(name="d", kind="datetime", **days))))
    for name, value, code in (("n", 7, 1), ("c", "b", 1), ("c", None, 2), ("d", "1970-01-03", 0)):
        assert codec.encode_value(name, value) == code
    for name, value in (("c", "z"), ("n", None), ("n", "many"), ("d", None), ("d", "soon")):
        with pytest.raises(ValueError, match=f"column '{name}' has no"):
            codec.encode_value(name, value)
    for name, value in (("n", 10), ("n", -1), ("d", "1971-01-01")):
        with pytest.raises(ValueError, match=f"column '{name}'.*must lie between"):
            codec.check_value(name, value)


def test_a_value_that_would_be_written_as_another_is_refused_and_the_nearest_are_named():
    days = {"kind": "datetime", "lower": (0,), "upper": (9 * DAY,)}
    codec = Codec(
        Domain(
            (
                Attribute(name="n", kind="integer", lower=(0, 20), upper=(9, 29)),
                Attribute(name="f", kind="float", lower=(0.0,), upper=(1.0,), decimals=1),
                Attribute(name="d", datetime_format="%d.%m.%Y", **days),
                Attribute(name="z", time_zone="Europe/Zurich", **days),
            )
        )
    )
    for name, value, rule in (
        ("n", 5.5, r"\(5\.5\) must be a whole number: the nearest are 5 and 6"),
        ("n", 9.25, r"\(9\.25\) must be a whole number: the nearest are 9 and 20"),
        ("n", "7", "must be a number"),
        ("n", "5.5", "must be a number"),
        ("f", "0.5", "must be a number"),
        ("d", pd.Timestamp("1970-01-03"), "must be a text: the nearest is '03.01.1970'"),
        ("d", pd.Timestamp("1970-01-03 12:00"), "must be a text: the nearest is '03.01.1970'"),
        ("z", pd.Timestamp("1970-01-03"), r"must be a date with the time zone.*\(Europe/Zurich\)"),
    ):
        with pytest.raises(ValueError, match=f"column '{name}': a given value .*{rule}"):
            codec.check_value(name, value)
    same = [("n", 7), ("n", 7.0), ("n", True), ("f", 0.25), ("d", "03.01.1970"), ("z", "1970-01-03")]
    for name, value in same:
        codec.check_value(name, value)


NUMBER = Attribute(name="x", kind="float", lower=(-1e30, -1.0, 0.0, 0.5, 2.0, 1e9), upper=(-1.0, 0.0, 0.5, 2.0, 1e9, 1e30), nullable=True)  # fmt: skip
WORD = Attribute(name="x", kind="categorical", values=("a", "1", 1, 2.5, False), nullable=True)


def date(form):
    days = tuple(range(18_000 * DAY, 18_400 * DAY, DAY))
    return Attribute(
        name="x", kind="datetime", lower=days, upper=days, unit=DAY, datetime_format=form, nullable=True
    )


CASES = {
    "numbers": (NUMBER, st.one_of(st.integers(-(2**53), 2**53), st.floats(-9, 9), st.none(), st.booleans(), st.sampled_from(["1.5", "?", "", "-3"]))),
    "big numbers": (NUMBER, st.one_of(st.integers(-(2**80), 2**80), st.none())),
    "words": (WORD, st.one_of(st.sampled_from(["a", "1", "b", 1, 0, 2.5, 3.5, True, None]), st.integers(0, 3))),
    "dates": (date(None), st.one_of(st.sampled_from(["2020-01-01", "2019-08-09T10:00", "2020-02-30", "01.02.2020", "x", None]), st.dates(dt.date(2019, 5, 1), dt.date(2020, 4, 1)), st.just(pd.Timestamp("2020-01-01", tz="Asia/Tokyo")))),
    "dates with a format": (date("%d.%m.%Y"), st.sampled_from(["01.02.2020", "1.2.2020", "2020-01-01", "31.02.2020", "?", None])),
    "dates as whole numbers": (date("%Y%m%d"), st.sampled_from([20200101, 20200301, 20209999, 7, None])),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_row_is_read_the_same_whatever_the_other_rows_are(case, data):
    """The guarantee rests on it: pandas chooses one type, and guesses one date format, for a whole column."""
    attribute, values = CASES[case]
    rows = data.draw(st.lists(values, min_size=1, max_size=6))
    alone = [encode(attribute, pd.Series([row]))[0] for row in rows]
    assert encode(attribute, pd.Series(rows)) == alone
    assert encode(attribute, pd.Series(rows, dtype=object)) == alone


def test_the_metamorphic_test_sees_dependence_on_other_rows():
    """Control: left to itself, pandas reads all rows in the format of the first one."""

    def naive(rows):
        return pd.to_datetime(pd.Series(rows), errors="coerce").isna().tolist()

    assert naive(["2020-01-02", "01.02.2020"]) == [False, True]
    assert naive(["01.02.2020"]) == [False]


def test_values_of_a_bin_wider_than_63_bits_are_inside_it():
    """All of it is drawn from, evenly: dates of five centuries are 2**64 nanoseconds apart."""
    low, high = -(2**63) + 2, 2**63 - 2
    for unit in (1, 86_400 * 10**9):
        ends = {"lower": (low // unit * unit + unit,), "upper": (high // unit * unit,)}
        attribute = Attribute(name="when", kind="datetime", unit=unit, **ends)
        drawn = Codec(Domain((attribute,))).decode(np.zeros((4000, 1), dtype=np.int32), KeyedRNG.from_seed(0))
        moments = drawn["when"].astype("int64").to_numpy()
        assert ends["lower"][0] <= moments.min() < -(2**62)
        assert 2**62 < moments.max() <= ends["upper"][0]
        assert not (moments - ends["lower"][0] % unit).astype(object).tolist()[0] % unit
        assert abs((moments > 0).mean() - 0.5) < 6 * 0.5 / np.sqrt(4000)  # false alarm 2e-9


def decoded_plainly(attribute, codes, rng):
    """Numbers as they were decoded before looked-up ends: both ends of every cell's bin, then draws."""
    column = ColumnCodec(attribute)
    missing = codes == attribute.missing_code if attribute.nullable else np.zeros(len(codes), dtype=bool)
    bins = np.minimum(codes, len(attribute.lower) - 1)
    low, high = column._lower[bins], column._upper[bins]
    wide = np.flatnonzero(low < high)
    numbers = low.copy()
    if len(wide):
        draw, zone = column._draw if attribute.rounding is None else column._draw_rounded, attribute.time_zone
        first, last = (
            utc_to_local(low[wide], zone),
            utc_to_local(high[wide], zone),
        )  # dates as clocks show them
        drawn = local_to_utc(draw(first, np.maximum(first, last), rng), zone)
        numbers[wide] = np.clip(drawn, low[wide], high[wide])
    if attribute.kind == "datetime":
        return column._write_dates(np.where(missing, np.iinfo(np.int64).min, numbers))
    if attribute.kind == "float" and attribute.decimals is not None:
        numbers = np.round(numbers, attribute.decimals)
    return np.where(missing, np.nan, numbers) if missing.any() else numbers


@settings(max_examples=150, deadline=None)
@given(attributes().filter(lambda a: a.lower), st.integers(0, 10**6))
def test_numbers_are_decoded_as_before(attribute, seed):
    """Same values, types and coins, of texts beside numbers, dates with formats, rounding and missing cells."""
    codes = np.random.default_rng(seed).integers(0, attribute.cardinality, 60)
    codes = codes[(codes < len(attribute.lower)) | (codes == attribute.missing_code)]
    one, other = KeyedRNG.from_seed(seed), KeyedRNG.from_seed(seed)
    found = ColumnCodec(attribute)._decode_numbers(codes, one)
    wanted = decoded_plainly(attribute, codes, other)
    assert found.dtype == wanted.dtype
    assert pd.Series(found).equals(pd.Series(wanted))
    assert one.words(1) == other.words(1)


def test_planted_bins_taken_for_single_values_are_seen():
    attribute = Attribute(name="x", kind="integer", lower=(0, 10), upper=(9, 10))
    column, codes = ColumnCodec(attribute), np.zeros(60, dtype=int)
    column._is_wide[:] = False
    found = column._decode_numbers(codes, KeyedRNG.from_seed(1))
    assert not np.array_equal(found, decoded_plainly(attribute, codes, KeyedRNG.from_seed(1)))


def test_many_values_are_checked_as_each_one():
    for attribute, fits, odd in (
        (Attribute(name="x", kind="integer", lower=(0, 5), upper=(4, 9)), [0, 9, 7.0], [10, -1, 2.5, "a", None]),
        (Attribute(name="x", kind="float", lower=(0.0,), upper=(9.0,), decimals=1, nullable=True), [0.1, 9, None], [9.5, "a"]),
        (Attribute(name="x", kind="float", lower=(0.0,), upper=(9.0,), values=("N",)), [0.123, "N"], ["M", 10.0]),
        (Attribute(name="x", kind="categorical", values=("a", "b")), ["a", "b", "a"], ["c", None]),
    ):  # fmt: skip
        one = Codec(Domain((attribute,)))
        each = [one.encode_value("x", value) for value in fits]
        for dtype in (object, None):
            assert one.check_values("x", pd.Series(fits, dtype=dtype)).tolist() == each
        for value in odd:
            with pytest.raises(ValueError, match="column 'x'") as alone:
                one.check_value("x", value)
            with pytest.raises(ValueError, match="column 'x'") as together:
                one.check_values("x", pd.Series([*fits, value], dtype=object))
            assert str(together.value) == str(alone.value)

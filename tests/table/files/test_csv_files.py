"""The reader: a cell's value is a function of its own text and of the declarations. Whatever else is in the file has no say.

All comparisons are exact, so that there is no false alarm; the planted readers below are caught on given tables, surely.
"""

import csv
import datetime as dt
import io
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible import Domain, count_unreadable, read_csv, read_parquet
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.table.cells.dates import FORMATS
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns import cell_reader
from sdv_plausible.table.columns.cell_reader import CellReader, Spelling
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.table.files import csv_files
from sdv_plausible.table.files.csv_files import csv_columns

COLUMNS = {
    "age": {"range_min": 0, "range_max": 110},
    "income": {"range_min": 0.0, "range_max": 1e6, "decimal_places": 2},
    "grade": {"range_values": [1, 2, 3]},
    "mixed": {"range_values": ["a", "1", 2.5, dt.date(2020, 1, 3), Decimal("7.5")]},
    "zip": {"sdtype": "categorical"},
    "member": {"sdtype": "boolean"},
    "flag": {"range_values": [False, True]},
    "size": {"sdtype": "ordinal", "range_values": ["s", "m", "l"]},
    "start": {"range_min": "2000-01-01", "range_max": "2030-12-31", "datetime_format": "%Y-%m-%d"},
    "at": {"sdtype": "datetime", "datetime_format": "%d.%m.%Y %H:%M"},
    "exactly": {
        "sdtype": "datetime",
        "datetime_format": "%Y-%m-%d %H:%M:%S.%f",
        "range_min": "1700-01-01 00:00:00.0",
        "range_max": "2200-01-01 00:00:00.0",
    },
    "zoned": {"sdtype": "datetime", "datetime_format": "%Y-%m-%dT%H:%M:%S%z"},
    "id": {"sdtype": "id"},
    "email": {"sdtype": "email", "pii": True},
}
VALUED = {name: spec for name, spec in COLUMNS.items() if name not in ("zip", "at", "zoned", "id", "email")}

ODD = [
    *[
        "", " ", "n/k", "NA", "nan", "None", "inf", "-inf", "1e400", "1", "1.0", "01", "+1", " 1", "1,5",
        "1_000", "0x1", "١",
    ],
    *[
        "2.5", "01234", "9007199254740993", "-0", "true", "TRUE ", "ja", "0", "today", "now", "NaT",
        "2020-01-03", "2020-02-30",
    ],
    *[
        "2020-01-03T00:00", "03.01.2020 10:00", "9999-12-31", "0001-01-01", "a", " a", "A", "f", "s", "7.5",
        'quo"te', "a,b",
    ],
    *[
        "2020-01-03 00:00:00.123456789", "2020-01-03 00:00:00.5", "9999-12-31 00:00:00.5",
        "1500-01-01 00:00:00.123456",
    ],
    *[
        "2020-01-03T00:00:00+0100", "2020-01-03T00:00:00Z", "2020-01-03T00:00:00-11:30",
        "9999-12-31T00:00:00+0000",
    ],
    *["two\nlines", "\ufeff", "\u00a0", "\x00", "é", "\U0001f600"],
]  # fmt: skip
cells = st.one_of(
    st.sampled_from(ODD),
    st.text(st.characters(codec="utf-8"), max_size=6),
    st.integers().map(str),
    st.floats().map(str),
)
records = st.lists(cells, min_size=len(COLUMNS), max_size=len(COLUMNS))


def as_csv(rows):
    file = io.StringIO(newline="")
    csv.writer(file, quoting=csv.QUOTE_ALL).writerows([list(COLUMNS), *rows])
    return file.getvalue()


def write(folder, text):
    path = folder / "table.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def forms(table):
    """Every cell with its type."""
    return [[(type(value).__name__, repr(value)) for value in row] for row in table.itertuples(index=False)]


def check_alone(folder, rows, more, place, read):
    """A further row changes no other cell, and no column's type."""
    place = min(place, len(rows))
    one = read(write(folder, as_csv(rows)), COLUMNS)
    two = read(write(folder, as_csv([*rows[:place], more, *rows[place:]])), COLUMNS)
    assert one.dtypes.to_dict() == two.dtypes.to_dict()
    rest = two.drop(index=place).reset_index(drop=True)
    assert forms(one) == forms(rest)
    codec = Codec(Domain.from_declarations(VALUED))
    same = [codec.encode(table, KeyedRNG.from_seed(0)) for table in (one, rest)]
    assert (same[0] == same[1]).all()


@settings(max_examples=25)
@given(st.lists(records, max_size=5), records, st.integers(0, 5), st.sampled_from([1, 2, 3, 1000]))
def test_no_row_has_a_say_in_how_another_is_read(tmp_path_factory, rows, more, place, block):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_files, "BLOCK", block)
        check_alone(tmp_path_factory.mktemp("reading"), rows, more, place, read_csv)


def inferring(path, declarations):
    return pd.read_csv(path)[list(declarations)]


def inferring_numbers(path, declarations):
    """All cells as text, and then whole numbers where all cells of a column are."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    for name in table:
        if table[name].str.fullmatch("[0-9]+").all():
            table[name] = table[name].astype("int64")
    return table


def guessing_dates(path, declarations):
    """Dates in the format of the first row."""
    table = read_csv(path, {**declarations, "start": {"sdtype": "categorical"}})
    form = "%Y-%m-%d" if str(table["start"].dropna().iloc[0])[4:5] == "-" else "%d.%m.%Y"
    table["start"] = pd.to_datetime(table["start"], format=form, errors="coerce")
    return table


def dropping_rare(path, declarations):
    """Categories that occur once are missing."""
    table = read_csv(path, declarations)
    table["zip"] = table["zip"].where(table["zip"].map(table["zip"].value_counts()) > 1)
    return table


PLAIN = [
    "30", "10.5", "1", "a", "01234", "true", "false", "s", "2020-01-03", "03.01.2020 10:00",
    "2020-01-03 00:00:00.5", "2020-01-03T00:00:00Z", "P1", "a@b.ch",
]  # fmt: skip


def test_readers_that_look_at_other_rows_are_caught(tmp_path):
    for read, odd, rows in (
        (inferring, {"grade": "n/k"}, 2),  # whole numbers become text
        (inferring, {"age": ""}, 2),  # whole numbers become doubles
        (inferring, {"zip": "n/k"}, 2),  # a leading zero comes back
        (inferring_numbers, {"age": "n/k"}, 2),
        (guessing_dates, {"start": "03.01.2020"}, 2),
        (dropping_rare, {}, 1),
    ):
        more = [odd.get(name, value) for name, value in zip(COLUMNS, PLAIN, strict=True)]
        with pytest.raises(AssertionError):
            check_alone(tmp_path, [PLAIN] * rows, more, 0, read)


def read_cells(spec, texts, **spelling):
    return CellReader(column_types({"x": spec})["x"], Spelling(**spelling)).read(texts).tolist()


@pytest.mark.parametrize(
    "spec", [{"sdtype": "numerical"}, {"range_values": ["1", "2"]}, {"sdtype": "boolean"}]
)
def test_what_is_remembered_of_other_blocks_changes_no_cell(monkeypatch, spec):
    """Texts are read once; what a reader forgets, it reads again. Odd cells are counted each time."""
    texts = np.random.default_rng(0).choice(["1", "2", "3.5", "", "x", " 1", "yes"], (20, 4))
    column = column_types({"x": spec})["x"]
    alone = [CellReader(column, Spelling()) for _ in range(80)]
    one_by_one = [one.read([text])[0] for one, text in zip(alone, texts.ravel().tolist(), strict=True)]
    for most in (0, 1, 3, 1000):
        monkeypatch.setattr(cell_reader, "_CACHE_SIZE", most)
        reader = CellReader(column, Spelling())
        found = [value for block in texts.tolist() for value in reader.read(block)]
        assert list(map(repr, found)) == list(map(repr, one_by_one))
        assert reader.unread == sum(one.unread for one in alone)
        assert reader.read([]).tolist() == []


NONE = math.nan
NUMBERS = [
    (["1", "+1.5", "-.5", "2.", "1e3", " 7 ", "007"], {}, [1, 1.5, -0.5, 2, 1000, 7, 7]),
    (["x", "1,5", "inf", "nan", "1e999", "0x1", "1_0", "1 000", "١", "", "--1", "1e", "."], {}, [NONE] * 13),
    (["1,5", "1.5", "1.234,5", "1.234.567", "1.23", "12.34.567"], {"decimal": ",", "thousands": "."}, [1.5, NONE, 1234.5, 1234567, NONE, NONE]),
    (["1'234", "1234", "1'23"], {"thousands": "'"}, [1234, 1234, NONE]),
    (["-1", "NA", "-9"], {"na_values": ["NA", "-9"]}, [-1, NONE, NONE]),
]  # fmt: skip
VALUES = [
    (["f", "m"], ["f", " m", "F", "", "x"], ["f", "m", "F", None, "x"]),
    ([1, 2], ["1", "1.0", "01", "2e0", "3", "one"], [1, 1, 1, 2, "3", "one"]),
    (["01", 1], ["01", "1", "1.0", "001"], ["01", 1, 1, 1]),
    ([0.1, 1e20], ["0.10", "1e20", "100000000000000000000"], [0.1, 1e20, 1e20]),
    ([False, True], ["no", "TRUE", "1", "maybe", "0.0"], [False, True, True, "maybe", False]),
    (["yes", True], ["yes", "true"], ["yes", True]),
    ([dt.date(2020, 1, 3), Decimal("7.5")], ["2020-01-03", "7.5", "7.50"], [dt.date(2020, 1, 3), Decimal("7.5"), "7.50"]),
    ([2**60], [str(2**60), str(2**60 + 1), str(2**60 + 2**12)], [2**60, 2**60, str(2**60 + 2**12)]),
]  # fmt: skip


def test_cells_of_every_declaration():
    """Truth values in a spelling of one's own, dates by their format alone, and what is invented is text and no more."""
    words = {"true_values": ["ja", "oui"], "false_values": ["nein"]}
    form = {"sdtype": "datetime", "datetime_format": "%d.%m.%Y"}
    days = [
        "03.01.2020", " 03.01.2020", "2020-01-03", "13.13.2020", "today", "now", "NaT", "", "03.01.1500",
        "3.1.20",
    ]  # fmt: skip
    cases = [
        *(({"sdtype": "numerical"}, texts, how, [*map(float, wanted)]) for texts, how, wanted in NUMBERS),
        *(({"range_values": values}, texts, {}, wanted) for values, texts, wanted in VALUES),
        ({"sdtype": "boolean"}, ["Ja", "nein", "OUI ", "true", ""], words, [True, False, True, None, None]),
        (form, days, {}, ["03.01.2020"] * 2 + [None] * 6 + ["03.01.1500", None]),
        ({"sdtype": "id"}, ["007", "", " x"], {}, ["007", None, " x"]),
    ]
    for spec, texts, spelling, wanted in cases:
        assert list(map(repr, read_cells(spec, texts, **spelling))) == list(map(repr, wanted)), (spec, texts)


def test_empty_and_odd_files(tmp_path):
    table = read_csv(write(tmp_path, as_csv([])), COLUMNS)
    assert len(table) == 0
    assert table.dtypes.to_dict() == read_csv(write(tmp_path, as_csv([PLAIN])), COLUMNS).dtypes.to_dict()
    number = {"sdtype": "numerical"}
    for skipped in (b"\xef\xbb\xbfage\r\n\r\n1\r\n\n2", b"age\r1\r2\r"):
        assert read_csv(write(tmp_path, skipped), {"age": number})["age"].tolist() == [1, 2]
    undeclared = read_csv(write(tmp_path, "b,note,a\n1,x,2\n"), {"a": number, "b": number})
    assert undeclared.columns.tolist() == ["b", "a"]
    with pytest.raises(FileNotFoundError):
        read_csv(tmp_path / "nowhere.csv", COLUMNS)
    long = write(tmp_path, f"age,name\n3,{'S' * 200_000}\n")
    texts = next(csv_files.csv_texts(long, column_types({"name": {"sdtype": "id"}}), 1))
    assert len(texts["name"][0][0]) == 200_000


def test_encodings_separators_quotes(tmp_path):
    declared = {"näme": {"sdtype": "categorical"}, "größe": {"sdtype": "numerical"}}
    for content, options in (
        ("näme;größe\nZoë;1,5\n".encode("cp1252"), {"encoding": "cp1252", "separator": ";", "decimal": ","}),
        ("näme\tgröße\nZoë\t1.5\n".encode("utf-16"), {"encoding": "utf-16", "separator": "\t"}),
        ("\ufeffnäme,größe\nZoë,1.5\n".encode("utf-16-le"), {"encoding": "utf-16-le"}),
        ("\ufeffnäme,größe\n'Zoë',1.5\n".encode(), {"quote": "'"}),
    ):
        assert read_csv(write(tmp_path, content), declared, **options).iloc[0].tolist() == ["Zoë", 1.5]


def test_cells_that_cannot_be_read_are_counted_for_the_holder(tmp_path):
    path = write(tmp_path, "age,start,member,zip\n1,2020-01-03,yes,01\nx,today,,n/k\n,,maybe,\n")
    declared = {name: COLUMNS[name] for name in ("age", "start", "member", "zip")}
    assert count_unreadable(path, declared) == {"age": 1, "start": 1, "member": 1}


def test_malformed_files_are_refused_without_a_value(tmp_path):
    for content, words in (
        ("", "has no header line"),
        ("a,b\n1,2\nSECRET,3,4\n", "line 3 has 3 cells, but the header line has 2"),
        ('a,b\n1,"SE\nCRET"\nSECRET\n', "line 4 has 1 cells"),
        ("a,a\n1,2\n", "columns 1 and 2 of the header line have the same name"),
        ("a,\n1,2\n", "column 2 of the header line has no name"),
        ("a;c\n1;2\n", "lacks the declared columns ['b']"),
        ('a,b\n1,"SECRET\n', "is not CSV"),
        ('a,b\n1,"SEC"RET\n', "line 2 is not CSV"),
        (b"a,b\n1,SECRET\xff\n", "not text in the encoding 'utf-8'"),
    ):
        declared = {"b": {"sdtype": "categorical"}} | (
            {"a": {"sdtype": "id"}} if isinstance(content, bytes) else {}
        )
        with pytest.raises(ValueError, match="table.csv") as caught:
            read_csv(write(tmp_path, content), declared)
        assert words in str(caught.value)
        assert "SECRET" not in str(caught.value)
        told = caught.value
        while (told := told.__cause__ or told.__context__) is not None:
            assert not isinstance(told, UnicodeError)  # which holds the bytes


def test_decimals_of_parquet_are_read_as_they_are_written(parquet):
    written = [Decimal(i) / 10 for i in range(90)]
    for kind in (pa.decimal128(5, 1), pa.decimal256(40, 1)):
        read = read_parquet(parquet({"x": pa.array(written, kind)}), {"x": {"sdtype": "numerical"}})
        assert read["x"].tolist() == [float(one) for one in written]


RECORDED = [
    *("52", "-1.5", "1e3", "00501", " 52 ", '"52,5"', "1.234", '"1,234.5"', "1.234.567", "n;3;x", "n|3"),
    *(f'"{dt.datetime(2020, 1, 3, 4, 5).strftime(form)}"' for form in FORMATS),
]


def test_a_record_in_the_place_of_the_header_line_is_refused_without_a_value(tmp_path):
    """Names are published, and the first person's cells must not become them."""
    for cell in RECORDED:
        path = write(tmp_path, f"SECRET,{cell},m,x\nBern,{cell},f,x\n")
        with pytest.raises(ValueError, match=r"column 2 of the header line is a number or a date") as caught:
            csv_columns(path)
        told = str(caught.value).replace(str(path), "")
        assert not [value for value in ("SECRET", cell.strip(' "')) if value in told]
        assert "first line must name the columns" in told
        assert "declare" in told
        assert (
            len(csv_columns(path, known=["SECRET", "other"])) == 4
        )  # a declared name shows that it is a header
        with pytest.raises(ValueError, match="is a number or a date"):
            csv_columns(path, known=["town"])
    for name in ("age", "2019 Q1", "x1", "1st", "Straße", "a-1", "$", "e5", "nan"):
        assert csv_columns(write(tmp_path, f"{name},other\n1,2\n")) == [name, "other"]


def test_bad_options_name_themselves(tmp_path):
    for options, words in (
        ({"encoding": "utf-99"}, "encoding ('utf-99')"),
        ({"encoding": "hex"}, "encoding ('hex')"),
        ({"encoding": 5}, "encoding (5)"),
        ({"separator": ",,"}, "separator (',,')"),
        ({"separator": '"'}, "separator"),
        ({"quote": ""}, "quote ('')"),
        ({"decimal": ""}, "decimal ('')"),
        ({"decimal": "5"}, "decimal ('5')"),
        ({"decimal": ",", "thousands": ","}, "must be two different characters"),
        ({"na_values": "NA"}, "na_values ('NA') must be a list"),
        ({"na_values": [1]}, "na_values ([1]) must be a list"),
        ({"true_values": ["x"], "false_values": ["X "]}, "share 'x'"),
        ({"na_values": ["yes"]}, "share 'yes'"),
        ({"na_values": ["m"]}, "column 'sex': the declared value 'm' is also in na_values"),
        ({"domain": {}}, "declare no column"),
        ({"domain": {"start": {"sdtype": "datetime"}}}, "'start' holds dates as text: give its datetime_format"),
        ({"domain": {"start": {"sdtype": "datetime", "datetime_format": "%Q"}}}, "datetime_format ('%Q')"),
        ({"domain": {"start": {}}}, "column 'start': its type is unknown"),
        ({"domain": {"start": 5}}, "column 'start' (int) must be a mapping"),
        ({"domain": {"sex": {"sdtype": "id"}}, "metadata": {"sex": {"sdtype": "numerical"}}}, "the metadata 'numerical'"),
        ({"metadata": 5, "domain": None}, "metadata (int) must be"),
        ({"metadata": {"columns": {"sex": 5}}}, "metadata: its columns must be a mapping"),
    ):  # fmt: skip
        given = {"domain": {"sex": {"range_values": ["f", "m"]}}, "na_values": [""], **options}
        with pytest.raises(ValueError, match=".") as caught:
            read_csv(write(tmp_path, "sex,start\nf,2020\n"), **given)
        assert words in str(caught.value)


def test_types_come_from_domain_or_metadata():
    sdv = {
        "METADATA_SPEC_VERSION": "V1",
        "tables": {"t": {"columns": {"a": {"sdtype": "numerical"}, "b": {"sdtype": "id"}}}},
    }
    for metadata in (sdv, sdv["tables"]["t"], sdv["tables"]["t"]["columns"]):
        types = column_types({"a": {"range_min": 0, "range_max": 9}}, metadata)
        assert {name: kind.sdtype for name, kind in types.items()} == {"a": "numerical", "b": "id"}
    found = column_types(Domain.from_declarations(VALUED))
    for name, kind in column_types(VALUED).items():
        assert (found[name].values, found[name].datetime_format) == (kind.values, kind.datetime_format)
    assert [found[name].sdtype for name in ("age", "flag", "size")] == ["numerical", "boolean", "ordinal"]
    written = {"a": {"sdtype": "categorical", "range_values": ["x"]}}
    assert column_types("written", written)["a"].values == ("x",)
    assert column_types(None, written)["a"].values == ()


STORED = {
    "whole": ([1, None, 3], {"sdtype": "numerical"}, [1.0, NONE, 3.0]),
    "infinite": ([1.5, None, math.inf], {"sdtype": "numerical"}, [1.5, NONE, NONE]),
    "decimal": ([Decimal("1.25"), None, Decimal(3)], {"sdtype": "numerical"}, [1.25, NONE, 3.0]),
    "numbers as text": (["1.5", None, "x"], {"sdtype": "numerical"}, [1.5, NONE, NONE]),
    "text": (["f", None, "zz"], {"range_values": ["f", "m"]}, ["f", None, "zz"]),
    "codes as doubles": ([1.0, None, 7.0], {"range_values": [1, 2]}, [1, None, "7"]),
    "codes as text": (["1", "", "01"], {"range_values": [1, 2]}, [1, None, 1]),
    "flags": ([True, None, False], {"sdtype": "boolean"}, [True, None, False]),
    "flags as text": (["yes", "no", "x"], {"sdtype": "boolean"}, [True, False, None]),
    "dates as text": (["2020-01-03", None, "x"], {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"}, ["2020-01-03", None, None]),
    "days": ([dt.date(2020, 1, 3), None, dt.date(1, 1, 1)], {"range_values": ["2020-01-03"]}, ["2020-01-03", None, "0001-01-01"]),
    "ids": ([5, None, 6], {"sdtype": "id"}, [5, None, 6]),
    "nothing": ([None, None, None], {"sdtype": "numerical"}, [NONE] * 3),
}  # fmt: skip


@pytest.fixture
def parquet(tmp_path):
    def write(columns):
        pyarrow.parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
        return tmp_path / "t.parquet"

    return write


def test_parquet_cells_go_by_the_same_rules(parquet):
    path = parquet({name: values for name, (values, _, _) in STORED.items()})
    table = read_parquet(path, {name: spec for name, (_, spec, _) in STORED.items()})
    for name, (_, _, expected) in STORED.items():
        assert list(map(repr, table[name].tolist())) == list(map(repr, expected)), name


def test_parquet_dates_keep_unit_and_zone_and_reach_the_codec(parquet):
    moments = [dt.datetime(2020, 1, 3), None, dt.datetime(9999, 1, 1)]
    days = [dt.date(2020, 1, 3), None, dt.date(1, 1, 1)]
    path = parquet({"at": pa.array(moments, pa.timestamp("us", tz="Europe/Zurich")), "day": pa.array(days)})
    table = read_parquet(path, {"at": {"sdtype": "datetime"}, "day": {"sdtype": "datetime"}})
    assert table.dtypes.astype(str).tolist() == ["datetime64[us, Europe/Zurich]", "datetime64[s]"]
    year = {"range_min": "2020-01-01", "range_max": "2020-12-31", "range_is_nullable": True}
    domain = Domain.from_declarations({"day": {"sdtype": "datetime", **year}})
    assert (
        Codec(domain).encode(table, KeyedRNG.from_seed(0))[1:, 0].tolist() == [domain["day"].missing_code] * 2
    )


def test_parquet_types_that_contradict_the_declaration_are_refused(parquet):
    for values, sdtype, why in (
        ([[1], [2]], "categorical", ", but a cell must be a single value"),
        ([dt.datetime(2020, 1, 1)], "numerical", ", but declared as 'numerical'"),
        ([5], "datetime", ", but declared as 'datetime'"),
        ([b"x"], "boolean", ", which is not supported"),
    ):
        declared = {"sdtype": sdtype, "datetime_format": "%Y" if sdtype == "datetime" else None}
        with pytest.raises(ValueError, match=f"'x' is stored as .*{why}"):
            read_parquet(parquet({"x": values}), {"x": declared})


def test_damaged_parquet_is_one_line(tmp_path, parquet):
    whole = parquet({"x": ["SECRET"] * 100}).read_bytes()
    for content in (b"", b"PAR1", whole[: len(whole) // 2], whole[:-9] + b"\0" * 9):
        (tmp_path / "t.parquet").write_bytes(content)
        with pytest.raises(
            ValueError, match="cannot be read as Parquet: the file is damaged, or not Parquet"
        ):
            read_parquet(tmp_path / "t.parquet", {"x": {"sdtype": "categorical"}})
    with pytest.raises(ValueError, match=r"lacks the declared columns \['y'\]"):
        read_parquet(parquet({"x": ["SECRET"]}), {"y": {"sdtype": "categorical"}})

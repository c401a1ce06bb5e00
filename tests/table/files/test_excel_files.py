"""Excel files: cells as they are typed, nothing that one row could change in another, and no formulas."""

import datetime as dt
from pathlib import Path

import pandas as pd
import pytest

from sdv_plausible import Files, fit_source, read_excel
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.table.files import excel_files
from sdv_plausible.table.files.table_file import count_unreadable_cells, file_columns, write_table

openpyxl = pytest.importorskip("openpyxl")
NUMBER, CATEGORY = {"sdtype": "numerical"}, {"sdtype": "categorical"}


def written(path: Path, *records: tuple, merged: str = "", sheets: tuple[str, ...] = ("people",)) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name in sheets:
        page = book.create_sheet(name)
        for record in records:
            page.append(record)
        if merged:
            page.merge_cells(merged)
    book.save(path)
    return path


def test_every_cell_is_read_as_it_is_typed_and_declared(tmp_path):
    day, moment = dt.datetime(2020, 1, 31), dt.datetime(2021, 5, 6, 10, 30)
    path = written(
        tmp_path / "p.xlsx",
        ("age", "income", "day", "moment", "member", "at", "left out"),
        (34, "1.234,5", day, moment, True, dt.time(14, 30), "x"),
        (None,) * 7,
        ("x", 2.5, "01.02.2020", None, "nein", None, "x"),
        (7, "", moment, day, None, "14:30:00", None, None),
    )
    declared = {
        "age": NUMBER, "income": NUMBER, "member": {"sdtype": "boolean", "range_values": [True, False]},
        "day": {"sdtype": "datetime", "datetime_format": "%d.%m.%Y"}, "moment": {"sdtype": "datetime"}, "at": CATEGORY,
    }  # fmt: skip
    marks = {"decimal": ",", "thousands": ".", "true_values": ["ja"], "false_values": ["nein"]}
    table = read_excel(path, declared, **marks)
    assert table["age"].tolist()[::2] == [34, 7]
    assert table["income"].tolist()[:2] == [1234.5, 2.5]
    assert table["day"].tolist() == ["31.01.2020", "01.02.2020", None]
    assert table["moment"].tolist() == [moment, pd.NaT, day]
    assert table["member"].tolist() == [True, False, None]
    assert table["at"].tolist() == ["14:30:00", None, "14:30:00"]
    assert table.isna().sum().to_dict() == {
        "age": 1,
        "income": 1,
        "day": 1,
        "moment": 1,
        "member": 1,
        "at": 1,
    }
    file = Files(path, **marks)
    assert count_unreadable_cells(file, column_types(declared)) == {"age": 1, "day": 1}
    assert file_columns(file) == [*table.columns, "left out"]


@pytest.mark.parametrize(
    ("records", "options", "words"),
    [
        ([("a",), ("=1+1",)], {}, "row 2 has a formula"),
        ([("a", "b"), (1, 2)], {"merged": "A2:B2"}, "has merged cells"),
        ([("a", None), (1, 2)], {}, "row 2 has more cells"),
        ([("a", None, "a"), (1, 2, 3)], {}, "column 2 of the header line has no name"),
        ([("a", "a")], {}, "have the same name"),
        ([("b",)], {}, r"lacks the declared columns \['a'\]"),
        ([], {}, "no header line"),
        ([("a",)], {"sheets": ("one", "two")}, r"must name one of the 2 sheets of .*\['one', 'two'\]"),
    ],
)
def test_what_could_mix_rows_or_is_no_table_is_refused_and_no_cell_is_quoted(
    tmp_path, records, options, words
):
    path = written(tmp_path / "p.xlsx", *records, **options)
    with pytest.raises(ValueError, match=words):
        read_excel(path, {"a": NUMBER})


def test_a_sheet_by_name_and_files_that_are_none(tmp_path, monkeypatch):
    path = written(tmp_path / "p.xlsx", ("a",), (1,), sheets=("one", "two"))
    assert read_excel(path, {"a": NUMBER}, sheet="two")["a"].tolist() == [1]
    with pytest.raises(ValueError, match="sheet .*'three'"):
        read_excel(path, {"a": NUMBER}, sheet="three")
    (tmp_path / "no.xlsx").write_text("a\n1\n")
    with pytest.raises(ValueError, match=r"cannot be read as .xlsx"):
        read_excel(tmp_path / "no.xlsx", {"a": NUMBER})
    for file, words in (
        (Files(path, separator=";"), "plays no part in Excel"),
        (Files("p.csv", sheet="a"), "sheet .* CSV"),
    ):
        with pytest.raises(ValueError, match=words):
            file_columns(file)
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(ValueError, match=r"pip install 'sdv-plausible\[excel\]'"):
        read_excel(path, {"a": NUMBER})


def test_a_record_that_comes_changes_no_other_cell(tmp_path):
    records = [(1, "007"), (2, "x"), (3, "1")]
    declared = {"a": NUMBER, "b": CATEGORY}
    alone = read_excel(written(tmp_path / "p.xlsx", ("a", "b"), *records), declared)
    for odd in ((2.5, "y"), ("text", 4), (dt.datetime(2020, 1, 1), True), (None, None), (1e300, "é" * 99)):
        more = read_excel(written(tmp_path / "q.xlsx", ("a", "b"), odd, *records), declared)
        assert more.tail(3).to_numpy().tolist() == alone.to_numpy().tolist()


def test_texts_stay_texts_and_nothing_tells_when_a_file_was_written(tmp_path, monkeypatch):
    table = pd.DataFrame(
        {
            "=n": ["=1+1", "+1", None], "x": [1.5, 2.0, None], "day": pd.to_datetime(["2020-01-31", None, "2021-05-06"]),
            "old": pd.to_datetime(["1850-01-31", "2020-01-31", None]), "zone": pd.to_datetime(["2020-01-31"] * 3, utc=True),
        }
    )  # fmt: skip
    path = tmp_path / "rows.xlsx"
    write_table(table, path)
    before = path.read_bytes()
    page = openpyxl.load_workbook(path).active
    assert [cell.data_type for cell in page["A"][:3]] == ["s", "s", "s"]
    assert page["A2"].quotePrefix
    values = [[cell.value for cell in row] for row in page.iter_rows(min_row=2)]
    first = ["=1+1", 1.5, dt.datetime(2020, 1, 31), "1850-01-31", "2020-01-31 00:00:00+00:00"]
    assert values[0] == first
    assert values[2][:4] == [None, None, dt.datetime(2021, 5, 6), None]
    assert read_excel(path, {"=n": CATEGORY})["=n"].tolist() == ["=1+1", "+1", None]
    assert b"2026" not in before
    monkeypatch.setattr("time.localtime", lambda *_: (2031, 1, 2, 3, 4, 5, 0, 1, 0))
    write_table(table, path)
    assert path.read_bytes() == before


def test_what_a_sheet_cannot_hold_is_refused(tmp_path, monkeypatch):
    for text in ("\x07", "x" * 32_768):
        with pytest.raises(ValueError, match="column 'a' has texts that an Excel file cannot hold"):
            write_table(pd.DataFrame({"a": [text]}), tmp_path / "rows.xlsx")
    monkeypatch.setattr(excel_files, "MOST_ROWS", 2)
    with pytest.raises(ValueError, match=r"rows \(3\) must be at most 2"):
        write_table(pd.DataFrame({"a": [1, 2, 3]}), tmp_path / "rows.xlsx")
    assert not list(tmp_path.iterdir())


def test_a_fit_of_the_file_is_that_of_its_rows(tmp_path):
    declared = {"a": {**NUMBER, "range_min": 0, "range_max": 9}, "b": {"range_values": ["x", "y"]}}
    table = pd.DataFrame({"a": [i % 10 for i in range(200)], "b": ["x", "y"] * 100})
    write_table(table, path := tmp_path / "p.xlsx")
    options = {"random_state": 0, "allow_no_claim": True}
    assert fit_source(path, domain=declared, **options) == fit_source(table, domain=declared, **options)
    write_table(table, tmp_path / "q.xlsx")
    with pytest.raises(ValueError, match="names 2 Excel files"):
        fit_source(tmp_path / "*.xlsx", domain=declared, **options)

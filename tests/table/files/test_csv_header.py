"""The header line tells the separator by itself, or is refused: what the rows hold has no say."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import DOUBTFUL

from sdv_plausible import Files, count_unreadable, fit_source, read_csv
from sdv_plausible.table.declared.codebook import read_codebook
from sdv_plausible.table.files import csv_files as module
from sdv_plausible.table.files.csv_files import (
    SEPARATORS,
    check_csv,
    csv_columns,
    csv_separator,
    detect_separator,
)

TOLD = {
    "town,age": (",", ["town", "age"]),
    "town;age": (";", ["town", "age"]),
    "town\tage": ("\t", ["town", "age"]),
    "town|age": ("|", ["town", "age"]),
    "town": (",", ["town"]),
    'town;"age, in years";sex': (";", ["town", "age, in years", "sex"]),
    'town;"age, sex, year"': (";", ["town", "age, sex, year"]),
    '"town;ship",age': (",", ["town;ship", "age"]),
    '"a ""b"";c"\t"d;e;f"': ("\t", ['a "b";c', "d;e;f"]),
    "town;income, CHF;age": (";", ["town", "income, CHF", "age"]),
    '5" pipe;town': (";", ['5" pipe', "town"]),
    "\n\r\ntown;age": (";", ["town", "age"]),
    "\ufefftown;age": (";", ["town", "age"]),
    '\ufeff"town, ship";age': (";", ["town, ship", "age"]),
}
ROWS = ("1,2,3\n", "1;2\n4;5\n", "a\tb\n", '"', "", "\x00|||\n", "," * 70_000)


def test_the_header_line_tells_the_separator(tmp_path):
    path = tmp_path / "t.csv"
    for line, (separator, names) in TOLD.items():
        for rows in ROWS:
            path.write_text(f"{line}\n{rows}", newline="")
            assert csv_separator(path) == separator
            assert csv_columns(path) == names


def test_as_a_table_that_is_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes('ort;größe;"lohn, CHF"\nZürich;1,5;7\n'.encode("latin-1"))
    types = {"größe": {"sdtype": "numerical"}, "lohn, CHF": {"sdtype": "numerical"}}
    assert read_csv(path, types, encoding="latin-1", decimal=",").iloc[0].tolist() == [1.5, 7]
    assert count_unreadable(path, types, encoding="latin-1") == {"größe": 1}
    check_csv(path, "latin-1")


def test_a_doubtful_header_line_is_refused_by_itself(tmp_path):
    """Whatever the rows are: the words are the same, and none is of a cell."""
    path = tmp_path / "t.csv"
    for doubt in DOUBTFUL.values():
        said = set()
        for rows in ROWS:
            path.write_text(f"{doubt}\n{rows}", newline="")
            with pytest.raises(ValueError, match="header line") as caught:
                csv_columns(path)
            said.add(str(caught.value))
        assert len(said) == 1
    for text in ('{"town": "Bern"}', "<html>", "[1]", "%PDF-1.7"):
        path.write_text(text)
        with pytest.raises(ValueError, match="is not a table of lines and cells"):
            csv_columns(path, separator="\t")


def test_what_is_given_or_declared_settles_it(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("town;age, in years\nBern;3\n")
    assert csv_columns(path, separator=";") == ["town", "age, in years"]
    path.write_text('"town;age"\n"Bern;3"\n')
    with pytest.raises(ValueError, match="';' in its name.*give it .separator.*declare the column .domain"):
        csv_columns(path, separator=",")
    assert csv_columns(path, known=["town;age"]) == ["town;age"]
    assert read_csv(path, {"town;age": {"sdtype": "categorical"}})["town;age"].tolist() == ["Bern;3"]
    path.write_text('town;"a\nb"\nBern;3\n')
    assert csv_columns(path, separator=";") == ["town", "a\nb"]


NAMES = st.lists(st.text(st.sampled_from("ab,;\t|\"' "), min_size=1), min_size=2, max_size=5, unique=True)


@given(names=NAMES, separator=st.sampled_from(SEPARATORS))
def test_a_line_whose_names_are_all_quoted_is_never_in_doubt(names, separator):
    line = io.StringIO()
    csv.writer(line, delimiter=separator, quoting=csv.QUOTE_ALL).writerow(names)
    assert detect_separator("t.csv", iter([line.getvalue()]), '"') == ([line.getvalue()], separator)


def test_a_separator_read_off_the_rows_would_be_seen(tmp_path, monkeypatch):
    """The control: what most of a file has is the rows'."""
    honest = module.detect_separator

    def sniffed(path, lines, quote):
        return honest(path, iter(["".join(lines)]), quote)

    monkeypatch.setattr("sdv_plausible.table.files.csv_files.detect_separator", sniffed)
    with pytest.raises((AssertionError, ValueError)):
        test_the_header_line_tells_the_separator(tmp_path)


def test_files_of_one_table_are_written_alike(tmp_path):
    (tmp_path / "1.csv").write_text("a;b\n1;2\n")
    (tmp_path / "2.csv").write_text("a,b\n1,2\n")
    words = {name: {"range_min": 0, "range_max": 9} for name in "ab"}
    with pytest.raises(ValueError, match="2.csv: the header line"):
        fit_source(tmp_path, domain=words)
    (tmp_path / "2.csv").write_text("b;a\n1;2\n")
    for source in (tmp_path, Files(tmp_path, separator=";")):
        assert {column.name for column in fit_source(source, domain=words).schema.columns} == {"a", "b"}


@pytest.mark.parametrize("separator", [",", ";"])
def test_a_code_book_is_written_as_offices_write(separator, tmp_path):
    """With a list of values that is longer than the module csv has a cell."""
    many = [f"value {i}" for i in range(20_000)]
    path = tmp_path / "book.csv"
    path.write_text("name,type,values\nage,category,".replace(",", separator) + "|".join(many) + "\n")
    csv.field_size_limit(131_072)
    assert read_codebook(path).columns["age"]["range_values"] == many

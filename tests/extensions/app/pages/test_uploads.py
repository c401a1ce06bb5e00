"""Bad files: each is refused in one clear line, and takes nothing away."""

import json

import pandas as pd
import pytest
from tables import DOUBTFUL

from sdv_plausible.table.files.table_file import read_file

GOOD = b"town,age\nBern,31\nChur,47\n"
LATIN = "town,age\nZürich,31\n".encode("cp1252")


def test_bad_tables(place):
    browser = place.browser()
    browser.open(content=GOOD)
    for name, content, words in (
        ("t.csv", b"", "t.csv is empty"),
        ("t.csv", b"town,age\n", "no rows"),
        ("t.csv", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is no text"),
        ("t.csv", b'{"town": "Bern"}', "is not a table"),
        ("t.csv", b"<html><body>", "is not a table"),
        ("t.csv", LATIN, "cp1252"),
        ("t.csv", b"town,town\nBern,Bern\n", "columns 1 and 2 of the header line have the same name"),
        ("t.csv", b"town,\nBern,1\n", "column 2 of the header line has no name"),
        ("t.csv", b"Bern,31\nChur,47\n", "column 2 of the header line is a number or a date"),
        ("t.csv", b"town,age\nBern,31\nBern\n", "line 3 has 1 cells"),
        *[("t.csv", f"{header}\nBern;31\n".encode(), "header line") for header in DOUBTFUL.values()],
        ("t.parquet", b"PAR1 but no Parquet PAR1", "cannot be read as Parquet"),
        ("t.xlsx", b"PK", "must end in .csv"),
    ):
        answer = browser.open(name, content)
        assert answer.status_code == 422
        assert "Nothing was opened" in answer.text
        assert words in answer.text
        assert str(place.sessions.root) not in answer.text
        assert browser.session.review.table.names == ["town", "age"]  # the one before is still there
        assert len(list(browser.session.folder.iterdir())) == 1
    assert place.errors == []


def test_other_forms_of_csv(place):
    browser = place.browser()
    assert browser.open(content=LATIN, encoding="cp1252").url.path.endswith("/columns/")
    forms = {"na_values": "?\r\nNA", "decimal": "comma"}
    for chosen in ("semicolon", ""):
        browser.open(content=b"town;age\nBern;?\nChur;1,5\n", separator=chosen, **forms)
        assert browser.session.review.table.names == ["town", "age"]
        table = read_file(browser.session.review.table.files, {"age": {"sdtype": "numerical"}})
        assert table["age"].fillna(-1).tolist() == [-1, 1.5]


def test_parquet(place, tmp_path):
    pytest.importorskip("pyarrow")
    pd.DataFrame({"town": ["Bern"]}).to_parquet(tmp_path / "t.parquet")
    browser = place.browser()
    content = (tmp_path / "t.parquet").read_bytes()
    answer = browser.open("t.parquet", content, separator="semicolon")
    assert "only applies to CSV files" in answer.text
    browser.open("t.parquet", content)
    assert browser.session.review.table.path.suffix == ".parquet"
    assert browser.session.review.table.names == ["town"]


def test_by_path(place, tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(GOOD)
    browser = place.browser()
    assert "there is no file" in browser.open("", path=str(tmp_path / "none.csv")).text
    assert "choose a file" in browser.open("").text
    assert "leave one of them out" in browser.open(content=GOOD, path=str(path)).text
    browser.open("", path=f" {path} ")
    assert browser.session.review.table.path == path
    browser.post("close")
    assert path.read_bytes() == GOOD


def test_with_a_domain_file_and_a_code_book(place):
    browser = place.browser()
    domain = json.dumps({"age": {"sdtype": "numerical", "range_min": 0, "range_max": 99}}).encode()
    browser.open(content=GOOD, domain=("d.json", domain))
    assert browser.session.review.file.columns["age"]["range_max"] == 99
    assert browser.session.review.file.columns["town"] == {"sdtype": None}
    browser.open(content=b"2019,2020\n1,2\n", domain=("d.json", domain.replace(b"age", b"2019")))
    assert browser.session.review.table.names == ["2019", "2020"]  # as one is declared
    answer = browser.open(content=GOOD, codebook=("book.xyz", b"column,type\n"))
    assert "code books with the ending" in answer.text
    refused = browser.open(content=GOOD, domain=("d.json", b"[1]")).text
    assert "{" not in refused.split("Nothing was opened")[1][:80]
    syntax, coded = ("book.sps", b"VALUE LABELS town 1 'Bern' 2 'Chur'.\n"), b"town,age\n1,31\n"
    assert browser.open(content=coded, codebook=syntax).status_code == 200
    assert browser.session.review.file.columns["town"]["range_values"] == [1, 2]
    assert "book.sps" in browser.get("columns/").text
    blank = json.dumps({"town": {"sdtype": None}, "age": {"sdtype": "id"}}).encode()
    browser.open(content=coded, codebook=syntax, domain=("d.json", blank))
    assert browser.session.review.file.columns["town"]["range_values"] == [1, 2]
    assert browser.session.review.file.columns["age"] == {"sdtype": "id"}


def test_what_others_say_of_an_uploaded_file_is_not_shown(place, monkeypatch):
    """Errors of other packages may quote its cells; ours name columns alone."""

    def foreign(*_):
        raise KeyError("SECRETCELL")

    monkeypatch.setattr("sdv_plausible.extensions.app.pages.app_pages.review_upload", foreign)
    answer = place.browser().open(content=GOOD)
    assert "Nothing was opened" in answer.text
    assert "SECRETCELL" not in answer.text

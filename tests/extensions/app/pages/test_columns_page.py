"""A code book that is uploaded on the page of the columns: what it fills in, keeps and refuses."""

import re

import pytest
from apps import HOME, ORIGIN

from sdv_plausible.extensions.app.pages import browser_access
from sdv_plausible.extensions.app.pages.columns_page import ColumnsPage

TABLE = b"town,age,sex,note\nBern,31,f,x\nChur,47,m,y\n"
BOOK = b"name,type,values,min,max,labels\ntown,category,Bern|Chur,,,\nage,integer,,0,99,\nsex,category,f|m,,,\nother,date,,,,\n"
NO_TYPE = {f"c{number}-sdtype": "" for number in range(4)}


@pytest.fixture
def browser(place):
    opened = place.browser()
    opened.open(content=TABLE)
    assert isinstance(opened.session.columns, ColumnsPage)
    return opened


def read(browser, name="book.csv", content=BOOK, **fields):
    """Send the form with a code book, as the button does."""
    page = browser.get("columns/").text
    version = re.search(r'name="version" value="(\w+)"', page)[1]
    files = {"codebook": (name, content)} if name else {"codebook": ("", b"")}
    data = {"token": browser.token(), "version": version, **NO_TYPE, **fields}
    return browser.client.post(HOME + "columns/codebook", data=data, files=files, headers=ORIGIN)


def test_it_fills_in_columns_without_a_type_and_keeps_the_others(browser):
    text = read(browser, **{"c2-sdtype": "ordinal", "c2-range_values": "m, f"}).text
    assert "The code book filled in 2 of 3 columns without a type." in text
    columns = browser.session.review.file.columns
    town = {"sdtype": "categorical", "range_values": ["Bern", "Chur"], "source": "book.csv"}
    assert columns["town"] == town
    assert (columns["age"]["range_max"], columns["age"]["source"]) == (99, "book.csv")
    assert columns["sex"] == {"sdtype": "ordinal", "range_values": ["m", "f"]}
    assert columns["note"]["sdtype"] is None
    assert not list(browser.session.work.glob("*/codebook"))  # it is read, and not kept


def test_what_is_left_out_stays_out(browser):
    read(browser, **{"c0-sdtype": "left out"})
    assert "town" not in browser.session.review.file.columns


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("", b"", "choose a file"),
        ("book.exe", b"x", "nothing reads code books that end in"),
        ("book.csv", b"<script>alert(1)</script>,b\n", "no code book"),
        ("book.csv", b"\xff\xfe\x00", "not UTF-8"),
        ("../../b.json", b"[" * 100_000, "The code book was not read"),
    ],
)
def test_a_file_that_is_no_code_book_changes_nothing(browser, name, content, words):
    before = browser.session.review.file
    answer = read(browser, name, content, **{"c1-sdtype": "id"})
    assert answer.status_code == 422
    assert words in answer.text
    assert "<script>alert" not in answer.text
    assert str(browser.session.folder) not in answer.text
    assert "selected>id<" in answer.text  # what was typed is still there
    assert browser.session.review.file == before


def test_a_marked_field_is_corrected_first(browser):
    answer = read(browser, **{"c1-sdtype": "numerical", "c1-range_min": "x"})
    assert answer.status_code == 422
    assert 'id="c1-range_min-refusal"' in answer.text
    assert not browser.session.review.is_saved


def test_a_file_beyond_the_limit_is_not_read(browser, monkeypatch):
    monkeypatch.setattr(browser_access, "MAX_CODEBOOK_BYTES", 5_000)
    assert read(browser, content=BOOK + b"x" * 5_000).status_code == 413
    assert read(browser).status_code == 200


def test_a_file_that_was_not_read_is_not_dropped(browser):
    """A form without files sends the name of a chosen file."""
    answer = browser.keep_columns("save", codebook="book.csv", **NO_TYPE)
    assert answer.status_code == 422
    assert "press “Read the code book”" in answer.text


def test_without_a_table_or_a_file_there_is_nothing_to_read(place, browser):
    assert browser.post("columns/codebook").status_code == 415
    other = place.browser()
    data, files = {"token": other.token()}, {"codebook": ("book.csv", BOOK)}
    answer = other.client.post(HOME + "columns/codebook", data=data, files=files, headers=ORIGIN)
    assert answer.url.path == HOME

"""What a browser sends: names are made harmless, and neither files nor texts grow beyond their limits."""

import os

import pytest
from apps import HOME, MOST_BYTES, ORIGIN

from sdv_plausible.extensions.app.pages import uploads
from sdv_plausible.extensions.app.pages.uploads import safe_file_name


def test_names():
    for sent_, kept in {
        "people.csv": "people.csv",
        "Zürich 2024 (1).csv": "Zürich 2024 (1).csv",
        "../../etc/passwd": "passwd",
        "C:\\data\\people.csv": "people.csv",
        "..": "table",
        ".bashrc": "bashrc",
        "a\x1b[31m\n.csv": "a__31m_.csv",
        "x" * 300 + ".parquet": "x" * 80 + ".parquet",
    }.items():
        assert safe_file_name(sent_) == kept


def sent(place, texts=(), files=(), **headers):
    browser = place.browser()
    parts = [("token", (None, browser.token())), *((name, (None, text)) for name, text in texts), *files]
    return browser, browser.client.post(HOME + "open", files=parts, headers={**ORIGIN, **headers})


def is_refused(browser, answer, code, words):
    assert answer.status_code == code
    assert words in answer.text
    assert browser.session.review is None
    assert [path for path in browser.session.folder.rglob("*") if path.is_file()] == []


TOO_MUCH = {
    "a file": ([], [("table", ("people.csv", b"age\n" + b"1\n" * (MOST_BYTES // 2)))], 413, "is not taken"),
    "a text": ([("na_values", "x" * 5001)], [("table", ("people.csv", b"age\n1\n"))], 400, "too much text"),
    "fields": ([(f"f{i}", "x") for i in range(20)], [], 400, "too many fields"),
    "files": ([], [(f"f{i}", ("a.csv", b"a\n1\n")) for i in range(4)], 400, "too many fields"),
}


@pytest.mark.parametrize("what", TOO_MUCH)
def test_more_than_is_taken_is_refused_and_leaves_nothing(place, monkeypatch, what):
    monkeypatch.setattr(
        uploads, "MAX_FIELD_BYTES", 5000
    )  # of a megabyte, so that the whole is not too large first
    texts, files, code, words = TOO_MUCH[what]
    is_refused(*sent(place, texts, files), code, words)


@pytest.mark.parametrize("length", ["12", "-1", "many", None])
def test_a_length_that_lies_or_is_missing_helps_nobody(place, length):
    """What comes is counted, whatever the header says."""
    browser = place.browser()
    body = (
        f'--b\r\nContent-Disposition: form-data; name="token"\r\n\r\n{browser.token()}\r\n--b\r\n'
        'Content-Disposition: form-data; name="table"; filename="t.csv"\r\n\r\nage\n'
    ).encode()
    headers = {**ORIGIN, "content-type": "multipart/form-data; boundary=b"}
    headers |= {} if length is None else {"content-length": length}
    parts = [body, *[b"1\n" * 100_000] * (MOST_BYTES // 100_000), b"\r\n--b--\r\n"]
    answer = browser.client.post(HOME + "open", content=iter(parts), headers=headers)
    is_refused(browser, answer, 413, "is not taken")


def test_what_is_within_the_limits_is_taken(place, monkeypatch):
    monkeypatch.setattr(uploads, "MAX_FIELD_BYTES", 5000)
    browser, answer = sent(place, [("na_values", "x" * 4999)], [("table", ("people.csv", b"age\n1\n"))])
    assert answer.url.path == HOME + "columns/"
    kept = next(path for path in browser.session.folder.rglob("people.csv"))
    assert os.name != "posix" or kept.parent.stat().st_mode & 0o777 == 0o700

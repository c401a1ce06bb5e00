"""Codes and numbers as code books write them."""

import pytest

from sdv_plausible.table.declared.codebook import (
    Codebook,
    labelled_declaration,
    numerical_declaration,
    parse_codes,
    parse_number,
    read_text,
)


def test_codes_are_as_in_a_table():
    assert parse_codes(["1", 2, " -3 "]) == [1, 2, -3]
    assert parse_codes(["1", "01"]) == ["1", "01"]
    assert parse_codes(["1", "N"]) == ["1", "N"]
    assert parse_codes(["1", "2.5"]) == ["1", "2.5"]


def test_numbers_stay_whole():
    for text, found in (("7", 7), ("-1", -1), ("7.0", 7.0), (".5", 0.5), ("1e3", 1000.0), (3, 3), (2.5, 2.5)):
        assert parse_number(text) == found
        assert type(parse_number(text)) is type(found)
    for text in ("", "N", "1,5", True, None, "nan", "inf", "1 2", "٣", "0x1"):
        assert parse_number(text) is None


def test_codes_beside_a_range():
    whole = {"sdtype": "numerical", "range_min": 0, "range_max": 99}
    assert numerical_declaration("pay", 0, 99, ["-1"]) == ({**whole, "special_values": [-1]}, [])
    words, messages = numerical_declaration("pay", None, 99)
    assert words == {"sdtype": "numerical", "range_max": 99}
    assert (messages[0][0], messages[0][1].startswith("no range")) == ("pay", True)
    assert "codes -1" in numerical_declaration("pay", None, None, [-1])[1][0][1]
    words, messages = numerical_declaration("pay", 0, 99, ["N"])  # a special value, or named
    assert words.get("special_values") == ["N"] or "not numbers" in messages[0][1]


def test_values_with_labels():
    words, messages = labelled_declaration("sex", ["1", "2"], ["9"])
    assert words == {"sdtype": "categorical", "range_values": [1, 2, 9]}
    assert "is the list complete" in messages[0][1]
    assert labelled_declaration("code", ["1"], [], is_text=True)[0]["range_values"] == ["1"]
    assert labelled_declaration("age", ["99"], ["99"])[0] == {"sdtype": "numerical", "special_values": [99]}
    assert labelled_declaration("name", [], [], is_text=True)[0] == {"sdtype": None}


def test_blanks_cite_nothing():
    found = Codebook(columns={"a": {"sdtype": None}, "b": {"sdtype": "id"}}).with_source("x.csv")
    assert found.columns == {"a": {"sdtype": None}, "b": {"sdtype": "id", "source": "x.csv"}}


def test_text_in_another_encoding(tmp_path):
    path = tmp_path / "book.csv"
    path.write_bytes(b"gr\xf6sse")
    with pytest.raises(ValueError, match="line 1 is not UTF-8: save this CSV code book in that encoding"):
        read_text(path, "CSV code book")

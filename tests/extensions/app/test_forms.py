"""Words to texts and back; refusals stand beside the field that they are about."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdv_plausible.extensions.app.forms import (
    FIELDS,
    LEFT_OUT,
    NO_FIELD,
    field_of_error,
    field_texts,
    meaning,
    read_column_form,
    read_numbers,
    read_scalar,
    refusals,
    scalar_text,
    selectable_sdtypes,
    words_without_field,
)
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.table.declared.specifications import date_ends

SCALARS = st.one_of(
    st.text(max_size=8), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans(), st.none(),
    st.sampled_from(["1", "1.5", "true", "null", '"', ' "a" ', "[1]", "NaN", "1e999", "-", "a\nb", " ", "\u2028"]),
)  # fmt: skip


@given(SCALARS)
def test_a_line_is_read_as_what_was_shown(value):
    text = scalar_text(value)
    assert "\n" not in text
    found = read_scalar(text.strip())
    assert found == value
    assert type(found) is type(value)


@given(st.lists(SCALARS, min_size=1, max_size=5))
def test_lists_come_back(values):
    (lines,) = (f for f in FIELDS if f.word == "range_values")
    text = lines.show(values).replace("\r\n", "\n")
    assert lines.read(text, None) == values


WORDS = [
    {"sdtype": None},
    {"sdtype": "numerical", "range_min": 0, "range_max": 9.5, "decimal_places": 1, "bins": [0, 5, 9.5]},
    {"sdtype": "numerical", "range_min": 0, "range_max": 99, "special_values": [999, "none"], "bins": 10},
    {"sdtype": "datetime", "range_min": 2020, "range_max": "2021", "datetime_format": "%Y"},
    {"range_values": ["1", 2, None, "a b ", True], "buckets": [0, 0, 1, 1], "range_is_nullable": True},
    {"sdtype": "id", "regex_format": "[A-Z]{3}", "pii": False, "source": " the law "},
]


def test_what_is_not_edited_stays_as_it_is():
    for words in WORDS:
        as_sent = {word: text.replace("\n", "\r\n") for word, text in field_texts(words).items()}
        assert read_column_form("x", words, as_sent).words == words


def test_numbers_and_what_is_none_is_refused_with_the_rule():
    usual = {"epsilon": "1", "delta": "1e-9", "k": "50", "rows": "10000", "table_rows": ""}
    texts = {"epsilon": " 0.5 ", "k": "1,000", "rows": "1,000,000", "table_rows": ""}
    read = {"epsilon": 0.5, "k": 1000, "rows": 10**6, "table_rows": None}
    assert read_numbers(texts, usual) == (read, {})
    for name, text, said in (
        ("epsilon", "", "epsilon ('') must be a number, such as 1"),
        ("delta", "1,000", "delta ('1,000') must be a number, such as 1e-9"),
        ("k", "1.5", "k ('1.5') must be a whole number from 1 on"),
        ("k", "1,5", "k ('1,5') must be a number, such as 50"),  # and not 15
        ("rows", "1,0000", "rows ('1,0000') must be a number, such as 10000"),
        ("rows", "inf", "rows ('inf') must be a whole number from 1 on"),
        ("rows", " ", "rows ('') must be a number, such as 10000"),
        ("table_rows", "many", "table_rows ('many') must be a number, such as 10000, or left empty"),
    ):
        assert read_numbers({name: text}, usual) == ({}, {name: said})


def test_a_refusal_stands_beside_its_field_if_there_is_one():
    rows, k = Refused("num_rows", 0, "must be more"), Refused("k", 0, "must be more")
    assert field_of_error(rows, {"rows": "", "k": ""}) == "rows"
    assert field_of_error(k, {"rows": "", "k": ""}) == "k"
    assert field_of_error(k, {"rows": ""}) == field_of_error(ValueError("k"), {"k": ""}) == ""


def fill(**texts):
    return read_column_form("x", {"sdtype": None}, texts)


def test_what_is_filled_in():
    found = fill(
        sdtype="numerical", range_min=" 0 ", range_max="1.5", special_values="-9\r\nnone", bins="0, 1, 1.5"
    )
    assert found.refusals == {}
    assert found.words == {
        "sdtype": "numerical", "range_min": 0, "range_max": 1.5, "special_values": [-9, "none"], "bins": [0, 1, 1.5],
    }  # fmt: skip
    day = {"range_min": "20200101", "range_max": "20201231", "datetime_format": "%Y%m%d"}
    found = fill(sdtype="datetime", bins="12", **day)
    assert (found.refusals, found.words) == ({}, {"sdtype": "datetime", "bins": 12, **day})
    found = fill(sdtype="categorical", range_values='f\r\nm\r\n\r\n"1"\r\n1', range_is_nullable="yes").words
    assert (found["range_values"], found["range_is_nullable"]) == (["f", "m", "1", 1], True)


def test_what_is_cleared_is_gone():
    words = {"sdtype": "numerical", "range_min": 0, "range_max": 9, "bins": 3}
    texts = {**field_texts(words), "bins": "", "range_min": " "}
    assert read_column_form("x", words, texts).words == {"sdtype": "numerical", "range_max": 9}
    assert read_column_form("x", words, {**texts, "sdtype": ""}).words["sdtype"] is None
    assert read_column_form("x", words, {**texts, "sdtype": LEFT_OUT}).words is None


def test_refusals_stand_beside_their_field():
    number, category, date = ({"sdtype": name} for name in ("numerical", "categorical", "datetime"))
    for texts, place, said in (
        ({**number, "range_min": "5", "range_max": "1"}, "range_min", "range_min <= range_max"),
        ({**number, "range_min": "a", "range_max": "1"}, "range_min", "must be a finite number"),
        ({**number, "bins": "3"}, "range_min", "gives no values"),
        ({**number, "range_min": "0", "range_max": "9", "bins": "0 7"}, "bins", "must begin at"),
        ({**number, "decimal_places": "-1"}, "decimal_places", "a whole number from 0"),
        ({**number, "range_values": "1"}, "range_values", "cannot be used with"),
        ({**number, "special_values": "1\n1"}, "special_values", "distinct"),
        ({**date, "datetime_format": "iso"}, "datetime_format", "strftime"),
        ({**date, "range_min": "May", "range_max": "2020-01-01"}, "range_min", "must be dates"),
        ({**category, "range_values": "f\nf"}, "range_values", "distinct"),
        ({**category, "range_min": "1"}, "range_min", "cannot be used with"),
        ({"sdtype": "numeric", "range_min": "0", "range_max": "1"}, "sdtype", "numerical"),
        ({**category, "range_values": "f", "range_is_nullable": "perhaps"}, "range_is_nullable", "true"),
    ):
        found = fill(**texts).refusals
        assert said in " ".join(found.values())
        assert place in found
    assert set(fill(**number, decimal_places="x", bins="0").refusals) == {"decimal_places", "bins"}  # at once


def test_what_is_said_without_a_range_is_taken():
    for texts in (
        {"sdtype": "numerical", "range_min": "0"},
        {"sdtype": "numerical", "decimal_places": "2"},
        {"sdtype": "categorical", "range_is_nullable": "no"},
        {"sdtype": "datetime", "datetime_format": "%Y-%m-%d", "special_values": "9999-12-31"},
    ):
        found = fill(**texts)
        assert not found.refusals
        assert "partly learned" in meaning("x", found.words)


def places(name, words):
    return set(refusals(name, words))


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ({"sdtype": None, "bins": 3}, "range_values"),  # tells no type
        ({"sdtype": None, "datetime_format": "%Y"}, "sdtype"),
        ({"sdtype": "numerical", "range_min": 0.2, "range_max": 0.8, "decimal_places": 0}, "range_min"),
        ({"sdtype": "numerical", "range_min": 1.0, "range_max": 1.0000000000000002}, "bins"),
        ({"sdtype": "numerical", "range_min": 0, "range_max": 9, "special_values": [0.5]}, "special_values"),
        ({"sdtype": "datetime", "range_min": "2021-01-01", "range_max": "2020-01-01"}, "range_min"),
        ({"sdtype": "categorical", "groups": 1}, "range_values"),
        ({"sdtype": "categorical", "range_values": ["a"], "groups": {"g": ["b"]}}, "range_values"),
        ({"sdtype": "categorical", "range_values": ["a"], "groups": {"g": ["a"], "h": ["a"]}}, NO_FIELD),
    ],
)
def test_no_sentence_is_read_to_place_a_refusal(words, place, monkeypatch):
    assert places("range_max", words) == {place}
    monkeypatch.setattr(Refused, "__str__", lambda _: "fixes no values decimal_places")
    assert places("range_max", words) == {place}


def test_a_refusal_is_of_one_column_alone():
    """Named like a word, it does not mislead; a word without a field is refused for the whole column."""
    assert places("bins", {"sdtype": "numerical", "range_min": 5, "range_max": 1}) == {"range_min"}
    assert places("x", {"sdtype": "id", "colour": "red"}) == {NO_FIELD}
    assert words_without_field({"sdtype": "id", "pii": True, "order": None}) == {"pii": True}
    with pytest.raises(Refused, match="must be dates") as refused:
        date_ends("x", "May", "2020-01-01", None)
    assert (refused.value.field, refused.value.__cause__) == ("range_min", None)  # it holds no other error


def test_what_the_words_come_to():
    assert meaning("x", {"sdtype": None}) == "no type yet"
    assert meaning("x", {"sdtype": "id"}) == "placeholder values"
    assert meaning("x", {"sdtype": "categorical"}) == "values are learned"
    assert meaning("x", {"range_values": ["f", "m", None]}) == "2 values, and missing"
    assert meaning("x", {"range_min": 0, "range_max": 10**6}) == "bins are learned"
    assert meaning("x", {"range_min": 0, "range_max": 10**6, "bins": 10}) == "10 values and bins"
    assert "pays for it" in meaning("x", {"kind": "categorical", "provenance": "private"})
    assert "phone_number" in selectable_sdtypes({})
    assert selectable_sdtypes({"sdtype": "ssn"})[-1] == "ssn"  # a type of its own can be kept

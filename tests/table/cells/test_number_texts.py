"""Spellings of numbers: a closed list, each cell of one kind by its own text, read and written back exactly."""

import math
import random
import re

from sdv_plausible.table.cells.number_texts import (
    MONEY,
    NUMBER_FORMAT,
    NUMBER_KINDS,
    is_number_format,
    main_number_format,
    number_kind,
    plain_number_text,
    read_number,
    write_number,
)

FORMATS = [kind for kind in NUMBER_KINDS if is_number_format(kind)]


def test_the_list_is_closed_and_every_format_is_in_the_schema_s_pattern():
    """By hand: 75 places of a mark, 8 ways of digits, brackets or none; 1234.5 alone is for files with decimal commas."""
    places = 1 + 2 + 4 * len(MONEY)
    assert len(FORMATS) == len(set(FORMATS)) == 2 * 8 * places
    assert len(NUMBER_KINDS) == 2 * 13 * places
    assert all(re.match(NUMBER_FORMAT, form) for form in FORMATS)
    assert all(number_kind("1234" if kind == "number" else kind) == kind for kind in NUMBER_KINDS)
    none = [
        "$1,234.50", "$1234.5%", "1,234,5", "₿1234.5", "", "1234", "%1234.5", "$  1234.5", "($1234.5",
        "$(1234.5)",
    ]  # fmt: skip
    assert not [form for form in none if is_number_format(form)]


def test_a_number_is_read_as_it_is_written():
    rng = random.Random(1)
    for form in FORMATS:
        for number in (0, 7, -7, 1234, -1234567, 0.5, 1e-7, *(rng.uniform(-1e9, 1e9) for _ in range(5))):
            assert read_number(f" {write_number(number, form)} ", form) == number
        assert read_number(write_number(-1234.567, form, 2), form) == -1234.57
        assert write_number(1234.5, form, 1) == form.strip("()")


def test_what_a_text_shows():
    for text, kind, plain in (
        ("45%", "1234%", "45"), ("45 %", "1234 %", "45"), ("EUR 120", "EUR 1234", "120"), ("€1,234.50", "€1,234.5", "1234.50"),
        ("$12", "$1234", "12"), ("1,234", "1,234", "1234"), ("1.234,50", "1.234,5", "1234.50"), ("12,5", "1234,5", "12.5"),
        ("1 234", "1 234", "1234"), ("1\u00a0234,5 €", "1 234,5 €", "1234.5"), ("1\u202f234", "1 234", "1234"),
        ("1\u2019234.50 CHF", "1'234.5 CHF", "1234.50"), ("-$5", "$1234", "-5"), ("$-5", "$1234", "-5"), ("\u22125%", "1234%", "-5"),
        ("+€5", "€1234", "5"), ("1,234,567", "1,234.5", "1234567"), ("0,123", "1234,5", "0.123"), ("1,2345", "1234,5", "1.2345"),
        ("1234,567", "1234,5", "1234.567"), ("(532.67)", "(1234.5)", "-532.67"), ("($1,234.50)", "($1,234.5)", "-1234.50"),
        ("$(5)", "($1234)", "-5"), ("(5 €)", "(1234 €)", "-5"), ("(12%)", "(1234%)", "-12"),
    ):  # fmt: skip
        assert number_kind(text) == kind
        form, read = main_number_format({kind: 1}, 1)
        assert read == 1
        assert plain_number_text(text, form) == plain


def test_what_is_no_number_of_the_list():
    none = [
        "%", "$", "007", "$007", "$5%", "--5", "+-5", "-$-5", "1,23,456", "1,234,5", "12.", ".5", "1e5", "５",
        "(-5)", "-(5)", "((5))", "(5", "()", "(007)",
    ]  # fmt: skip
    for text in ("", "5 apples", "$ ", "(555) 123", *none):
        assert number_kind(text) is None
        assert all(math.isnan(read_number(text, form)) for form in FORMATS)


def test_currency_thousands_and_brackets_are_optional():
    """One type of numbers: what is left out, or written another way, changes no number."""
    for form in ("$1234.5", "$1,234.5", "($1 234.5)"):
        for text in ("$1,234.50", "1,234.5", "$1234.5", "$1'234.5", "1234.50"):
            assert read_number(text, form) == 1234.5
        for text in ("($1,234.50)", "-$1234.5", "(1234.5)", "$(1,234.5)"):
            assert read_number(text, form) == -1234.5
    assert write_number(-1234.5, "($1,234.5)", 2) == "($1,234.50)"
    assert write_number(-1234.5, "$1,234.5", 2) == "-$1,234.50"


def test_a_spelling_reads_its_own_marks_alone_and_a_blank_between_does_not_count():
    assert read_number("$ 5", "$1234.5") == read_number("$5", "$ 1234.5") == 5
    others = [(text, "$1234.5") for text in ("€5", "5$", "5%", "USD 5")]
    for text, form in (*others, ("5", "1234.5%"), ("12,5", "$1,234.5"), ("$12,5", "$1,234.5")):
        assert math.isnan(read_number(text, form))
    assert read_number("1,234", "1234,5") == 1.234


def test_mixtures_and_ties():
    for counts, form, read in (
        ({"number": 60, "1,234": 40}, "1,234.5", 100),
        ({"number": 32, "1,234": 60, "1234,5": 8}, "1,234.5", 92),  # a tenth is needed
        ({"number": 29, "1,234": 60, "1234,5": 11}, "1234,5", 100),
        ({"$1.234": 100}, "$1.234,5", 100),  # three figures after the mark: thousands
        ({"$1.234": 80, "$1234.5": 20}, "$1234.5", 100),
        ({"1 234": 50, "1234,5": 50}, "1 234,5", 100),
        ({"1 234": 100}, "1 234.5", 100),
        ({"number": 95, "1234,5": 5}, "1234,5", 100),
        ({"$1,234.5": 30, "$1234.5": 60, "(1234.5)": 10}, "($1,234.5)", 100),
        ({"$1234.5": 15, "1234.5": 85}, "$1234.5", 100),
        ({"$1234.5": 5, "1234.5": 95}, "1234.5", 95),  # a tenth is needed
        ({"1234%": 15, "number": 85}, "1234.5", 85),  # of another size
        ({"$1234": 50, "€1234": 50}, "$1234.5", 50),  # the first of equals
        ({"$1234": 40, "€1234": 60}, "€1234.5", 60),
        ({"$1234": 40, "$ 1234": 60}, "$ 1234.5", 100),  # a blank does not count, but is written back
        ({"1.234": 50, "1234,5": 40, "1.234,5": 10}, "1.234,5", 100),
        ({"1,234.5": 50, "1.234,5": 50}, "1,234.5", 50),
        ({}, "", 0),
    ):  # fmt: skip
        assert main_number_format(counts, sum(counts.values())) == (form, read)

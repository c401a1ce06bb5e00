"""Pasted cells, line by line: what each sets, and which lines are not understood."""

import pytest

from sdv_plausible.extensions.app.review.pasting import MAX_PROBLEMS, read_paste

TYPES = {"age": "", "sex": "categorical", "name": "id"}
NO_RANGE = {"range_min": "", "range_max": "", "range_values": ""}


@pytest.mark.parametrize(
    ("line", "texts"),
    [
        ("age", {}),
        ("sex", {"sdtype": "categorical"}),
        ("age\tDate\t2020-01-01\t2020-12-31", {"sdtype": "datetime", "range_min": "2020-01-01", "range_max": "2020-12-31", "range_values": ""}),
        ("age\tnumber\t0", {**NO_RANGE, "sdtype": "numerical", "range_min": "0"}),
        ("age\tint", {"sdtype": "numerical", "decimal_places": "0"}),
        ("age\t\ta;b", {**NO_RANGE, "range_values": "a, b"}),
        ("sex\t\tf, m\t\tYES\tthe law", {**NO_RANGE, "sdtype": "categorical", "range_values": "f, m", "range_is_nullable": "yes", "source": "the law"}),
        ("sex\t\tf|m\t9", {**NO_RANGE, "sdtype": "categorical", "range_values": "f, m", "range_max": "9"}),
    ],
)  # fmt: skip
def test_a_line(line, texts):
    pasted = read_paste(line, TYPES)
    assert pasted.problems == ()
    (found,) = pasted.texts.values()
    assert found == texts


def test_a_header_is_skipped_unless_it_is_a_column():
    assert read_paste("Column\tType\nage\tid", TYPES).problems == ()
    assert list(read_paste("name\tid\nage\tid", TYPES).texts) == ["name", "age"]
    assert read_paste("age\tid\nColumn\tType", TYPES).problems == (
        "Line 2 (Column): the table has no such column to fill in",
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("age\ta\tb\tc\td\te\tf", "more than 6 cells"),
        ("age\tgan", "type 'gan' is unknown"),
        ('age\t"0', "quotes of the pasted cells do not match"),
        ("x" * 500_001, "paste fewer columns"),
    ],
)
def test_a_line_that_is_not_understood_sets_nothing(text, words):
    pasted = read_paste(text, TYPES)
    assert dict(pasted.texts) == {}
    assert words in pasted.problems[0]


def test_problems_are_few_and_short():
    problems = read_paste("\n".join(["y" * 4_000] * 100), TYPES).problems
    assert len(problems) == MAX_PROBLEMS + 1
    assert problems[-1] == "and 80 more lines"
    assert max(map(len, problems)) < 200

"""Labels in SPSS syntax."""

import pytest

from sdv_plausible.extensions.codebooks.spss_syntax import read_spss_syntax

SYNTAX = """* Labels of the survey.
GET FILE='survey.sav'.
VARIABLE LABELS sex 'Sex of person' age "Age, in years"
 / zip 'Post code'.
value labels sex 1 'Male' 2 'Female' 9 'It''s unknown'
 /region 'N' 'North' 'S' 'South'
 / age -1 "Not told".
ADD VALUE LABELS sex 3 'Other'.
VAL LAB q1 TO q5 1 'Yes'.
MISSING VALUES sex (9) / age (-1) pay (97, 98).
MISSING VALUES size (LO THRU -1).   /* a range */
EXECUTE.
"""


def test_labels(written):
    found = read_spss_syntax(written(SYNTAX))
    assert found.columns == {
        "sex": {"sdtype": "categorical", "range_values": [1, 2, 9, 3]},
        "age": {"sdtype": "numerical", "special_values": [-1]},
        "zip": {"sdtype": None},
        "region": {"sdtype": "categorical", "range_values": ["N", "S"]},
        "pay": {"sdtype": "numerical", "special_values": [97, 98]},
        "size": {"sdtype": None},
    }
    said = "\n".join(found.lines)
    for words in (
        "commands that are not read: GET, EXECUTE",
        "q1 TO q5",
        "size: a range of missing values is not read: LO THRU -1",
        "sex: a category of the values with labels",
        "codes '-1'",
        "codes '97', '98'",
    ):
        assert words in said


def test_damaged(written):
    for text, words in (
        ("VALUE LABELS sex 1 'Male.\n", "line 1 has a text without an end"),
        ("VALUE LABELS sex 1 'Male' 2.\n", "'2' has no label"),
        ("VALUE LABELS 'M' 'Male'.\n", "must be the name"),
        ("VALUE LABELS sex male 'Male'.\n", "there must be a value"),
        ("MISSING VALUES sex 9.\n", "in brackets"),
        ("MISSING VALUES sex (9.\n", "in brackets"),
    ):
        with pytest.raises(ValueError, match=words):
            read_spss_syntax(written(text))


def test_nothing_in_it(written):
    assert read_spss_syntax(written("")).columns == {}

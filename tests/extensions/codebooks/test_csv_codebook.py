"""Code books in CSV."""

import pytest

from sdv_plausible import Domain
from sdv_plausible.extensions.codebooks.csv_codebook import read_csv_codebook

BOOK = """name,type,min,max,values,labels,missing,decimals,format,comment
age,,0,110,,,no,0,,
pay,numerical,0,1e6,,,yes,2,,in francs
sex,,,,f|m,female|male,No,,,
grade,ordinal,,,1|2|3,,,,,
code,,,,01|02,,,,,
start,,2020-01-01,2025-12-31,,,,,%Y-%m-%d,
member,boolean,,,,,,,,
id,id,,,,,,,,
what,,,,,,,,,
"""


def test_every_column(written):
    found = read_csv_codebook(written("\ufeff" + BOOK))
    number = {"sdtype": "numerical", "range_min": 0}
    assert found.columns == {
        "age": {**number, "range_max": 110, "decimal_places": 0, "range_is_nullable": False},
        "pay": {**number, "range_max": 1e6, "decimal_places": 2, "range_is_nullable": True},
        "sex": {"sdtype": "categorical", "range_values": ["f", "m"], "range_is_nullable": False},
        "grade": {"sdtype": "ordinal", "range_values": [1, 2, 3]},
        "code": {"sdtype": "categorical", "range_values": ["01", "02"]},
        "start": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d", "range_min": "2020-01-01", "range_max": "2025-12-31"},
        "member": {"sdtype": "boolean"},
        "id": {"sdtype": "id"},
        "what": {"sdtype": None},
    }  # fmt: skip
    assert found.messages == (
        (None, "columns of the code book that are not understood: comment"),
        ("what", "its type is unknown"),
    )
    assert found.lines[1] == "what: its type is unknown"
    Domain.from_declarations({n: w for n, w in found.columns.items() if n not in ("id", "what")})


def test_damaged(written):
    for text, words in (
        ("", "must have 'name'"),
        ("column,min\na,1\n", "must have 'name'"),
        ("name,min\na,x\n", r"column 'a': min \('x'\) must be a number"),
        ("name,decimals\na,2.5\n", "decimal_places .2.5. must be a whole number"),
        ("name,missing\na,perhaps\n", "must be yes or no"),
        ("name,min\na,1\na,2\n", "'a' has two lines"),
        ("name,min\na\n", "must have 2 cells"),
        ("name,min\na,1,2\n", "must have 2 cells"),
        ("name,min\n,1\n", "must not be empty"),
        ('name,min\na,"1\n', "is not CSV"),
        ("name,type,values\na,datetime,1|2\n", "range_values cannot be used with"),
    ):
        with pytest.raises(ValueError, match=words):
            read_csv_codebook(written(text))


def test_types_as_people_write_them(written):
    """Control: a word that means no type stays, and SDV's metadata refuses it."""
    book = "name,type,min,max\na,Number,0,9\nb,integer,0,9\nc,category,,\nd,date,,\ne,nmber,,\n"
    types = [words["sdtype"] for words in read_csv_codebook(written(book)).columns.values()]
    assert types == ["numerical", "numerical", "categorical", "datetime", "nmber"]

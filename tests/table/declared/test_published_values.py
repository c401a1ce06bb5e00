"""What a published table tells."""

from collections import Counter
from functools import partial

import pandas as pd
import pytest

from sdv_plausible.sdv.type_detection import detect_types
from sdv_plausible.table.cells.dates import FORMATS
from sdv_plausible.table.columns.cell_reader import PLAIN_SPELLING, cell_kind, detect_number_format
from sdv_plausible.table.declared.codebook import MOST_VALUES, declarations_of_table


def words(*cells):
    return declarations_of_table(pd.DataFrame({"x": pd.Series(cells, dtype=object)})).columns["x"]


def test_each_kind():
    assert words("1", "30", "-2") == {
        "sdtype": "numerical", "range_min": -2, "range_max": 30, "decimal_places": 0, "range_is_nullable": False,
    }  # fmt: skip
    assert words("1.25", None, "3") == {
        "sdtype": "numerical", "range_min": 1.25, "range_max": 3, "decimal_places": 2, "range_is_nullable": True,
    }  # fmt: skip
    assert "decimal_places" not in words("1e3", "2")
    assert words("b", "a")["range_values"] == ["a", "b"]
    assert words("01", "10")["range_values"] == ["01", "10"]
    assert words("True", "false", None)["sdtype"] == "boolean"
    assert words("2020-02-01", "2019-12-31")["range_max"] == "2020-02-01"
    assert words("2020-02-01T10:00:00")["datetime_format"] == "%Y-%m-%dT%H:%M:%S"
    assert words("2020-02-01", "2020-2-1")["sdtype"] == "categorical"
    assert words("2020-2-1", "2020-02-01")["sdtype"] == "categorical"
    assert words("31.12.2019", "01.02.2020") == {
        "sdtype": "datetime", "datetime_format": "%d.%m.%Y", "range_min": "31.12.2019", "range_max": "01.02.2020",
        "range_is_nullable": False,
    }  # fmt: skip
    assert words("03/04/2020", "31/12/2020")["datetime_format"] == "%d/%m/%Y"
    assert words("10", "-2.5")["range_max"] == 10
    assert words("+10", "-2.5")["range_values"] == ["+10", "-2.5"]
    assert words("TRUE", "FALSE")["range_values"] == ["FALSE", "TRUE"]
    assert words("02134", "10001")["range_values"] == ["02134", "10001"]
    assert words("202403", "202404")["datetime_format"] == "%Y%m"
    assert words("$1,234.50", "(12.25)")["number_format"] == "($1,234.5)"
    assert words("20131213", "20140102")["datetime_format"] == "%Y%m%d"
    assert words("20131213", "7") == {
        "sdtype": "numerical", "range_min": 7, "range_max": 20131213, "decimal_places": 0, "range_is_nullable": False,
    }  # fmt: skip


SAME = [
    ("31.12.2020", "13.02.2020"), ("12/31/2020", "01/30/2020"), ("31/12/2020", "13/02/2020"),
    ("2020/12/31", "2020/01/01"), ("12/31/2020 10:11", "01/30/2020 10:12"), (" 2020-01-01", "2020-01-02 "),
    ("2020-01-02 03:04:05", "2021-01-02 03:04:05"), ("2020-01-02T03:04:05", "2021-01-02T03:04:05"),
    ("2020-01-02T03:04:05Z", "2021-01-02T03:04:05Z"), ("2020-01-02 03:04", "2021-01-02 03:05"),
    ("13-Dec-2013", "04-May-2014"), ("December 13, 2013", "April 14, 2014"), ("2013-12", "2014-01"),
    ("14:30", "09:05"), ("14:30:01", "09:05:02"), ("20131213", "20140102"),
    ("1", "2.5"), ("+1", "+2.5"), ("1.", "-.5e1"), ("45%", "7%"), ("$1,234.50", "$12"), ("1.234,5 €", "2,5 €"), ("1 234", "5"), ("12,5", "13,25"), ("007", "010"), ("1e400", "2e400"), ("false ", " True"), ("FALSE", "TRUE"), ("202403", "202512"), ("03/26/2024 07:53 AM", "03/27/2024 12:53 PM"), ("yes", "no"),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:Parsing dates")
@pytest.mark.parametrize("cells", SAME)
def test_the_same_texts_are_the_same_kind_for_a_vote_for_a_detection_and_in_public(cells):
    kinds = {cell_kind(cell, PLAIN_SPELLING) for cell in cells}
    spelled, read = detect_number_format(
        Counter(map(partial(cell_kind, spelling=PLAIN_SPELLING), cells)), PLAIN_SPELLING
    )
    kind = "number" if read == len(cells) and not kinds & {"%Y%m%d", "%Y%m"} else next(iter(kinds))
    assert kind == "number" or len(kinds) == 1
    detected = detect_types(pd.DataFrame({"x": [*cells] * 20}, dtype=object), PLAIN_SPELLING)["x"]
    others = {
        "number": "numerical",
        "truth": "boolean",
        **dict.fromkeys(("text", "0123", "+123", "TRUE"), "categorical"),
    }
    sdtype, form = others.get(kind, "datetime"), kind if kind in FORMATS else None
    assert (words(*cells)["sdtype"], words(*cells).get("datetime_format")) == (sdtype, form)
    of_sdv = {"boolean": {"boolean", "categorical"}, "numerical": {"numerical", "ordinal"}}  # by its version
    assert detected["sdtype"] in of_sdv.get(sdtype, {sdtype})
    assert detected.get("datetime_format") == form
    assert detected.get("number_format") == words(*cells).get("number_format") == spelled


def test_numbers_as_text_have_their_range_and_digits():
    assert words("$1,234.50", "-$12.25") == {
        "sdtype": "numerical", "range_min": -12.25, "range_max": 1234.5, "decimal_places": 2, "number_format": "$1,234.5",
        "range_is_nullable": False,
    }  # fmt: skip
    assert words("45%", "120%")["decimal_places"] == 0
    assert words("$5", "€5")["sdtype"] == "categorical"


def test_what_cannot_be_listed_is_named():
    names = pd.DataFrame({"x": [f"name {i}" for i in range(MOST_VALUES + 1)], "y": None}, dtype=object)
    found = declarations_of_table(names)
    assert found.columns == {"x": {"sdtype": None}, "y": {"sdtype": None}}
    assert found.lines == ["x: more than 1,000 different texts: is it an id?", "y: no value: is it an id?"]

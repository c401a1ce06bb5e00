"""What does not fit a declaration is told to the holder, and to nobody else."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sentences import notes_of

from sdv_plausible import PlausibleDeniabilitySynthesizer, metadata_of
from sdv_plausible.table.data_checks import (
    MIN_CELLS,
    check_columns,
    columns_mostly_outside,
    columns_often_truncated,
)
from sdv_plausible.table.declared.specifications import declare

FINE = {"range_values": ["f", "m"]}
N = 100
MISTAKES = {
    "texts for whole numbers": (FINE | {"range_values": ["1", "2"]}, [1, 2] * 50, "hold whole numbers, but texts are declared"),
    "whole numbers for texts": ({"range_values": [1, 2]}, ["1", "2"] * 50, "hold texts, but whole numbers are declared"),
    "texts for truth values": ({"range_values": ["True", "False"]}, [True, False] * 50, "hold truth values, but texts are declared"),
    "capitals": (FINE, ["F", "M"] * 50, "differ from declared values only in capitals or spaces"),
    "spaces": (FINE, [" f", "m "] * 50, "differ from declared values only in capitals or spaces"),
    "other values": (FINE, ["f", "x"] * 50, "have undeclared values"),
    "another code book": (FINE, ["female", "male"] * 50, "have undeclared values"),
    "another scale": ({"range_min": 0, "range_max": 1, "decimal_places": 2}, [10.0, 90.0] * 50, "outside the declared range"),
    "below the range": ({"range_min": 0, "range_max": 99}, [-1, 5] * 50, "outside the declared range"),
    "above a wide range": ({"range_min": 0, "range_max": 9999}, [5, 10_000] * 50, "outside the declared range"),
    "texts for numbers": ({"range_min": 0, "range_max": 99}, ["n/k", "5"] * 50, "are not numbers, and become "
                                                                                "missing"),
    "decimal commas": ({"range_min": 0.0, "range_max": 9.0}, ["1,5", "2,5"] * 50, "are not numbers"),
    "fractions": ({"range_min": 0, "range_max": 9}, [1.5, 2.0] * 50, "have digits after the point, which are cut off"),
    "another date format": (
        {"range_min": "2020-01-01", "range_max": "2020-03-01", "datetime_format": "%Y-%m-%d"}, ["01.02.2020"] * N,
        "are not dates in the declared format",
    ),
    "days and months exchanged": (
        {"range_min": "01/01/2020", "range_max": "31/12/2020", "datetime_format": "%d/%m/%Y"}, ["01/13/2020"] * N,
        "are not dates in the declared format",
    ),
    "missing, declared never": ({**FINE, "range_is_nullable": False}, ["f", None] * 50, "are missing, but declared never to be"),
    "never missing, declared so": (
        {"range_min": 0, "range_max": 5000, "range_is_nullable": True}, list(range(N)), "are missing, though declared"
    ),
}  # fmt: skip


def findings(spec, column, show=lambda line: None):
    attribute = declare("x", spec, None, 100)
    said = spec.get("range_is_nullable")
    return check_columns(pd.DataFrame({"x": column}), {"x": attribute}, {"x": said}, show)


FITS = [
    (FINE, ["f", "m"] * 50), ({"range_min": 0, "range_max": 99}, list(range(N))), (FINE, ["f", None] * 50),
    ({"range_min": 0, "range_max": 5000}, [1.0, np.nan] * 50), ({"range_values": [1, 2]}, [1.0, 2.0] * 50),
    ({"range_min": 0.0, "range_max": 9.0, "decimal_places": 1}, [1.5] * N),
]  # fmt: skip


def test_no_mistake_is_silent_and_what_fits_is_not_blamed():
    for name, (spec, column, words) in MISTAKES.items():
        found = findings(spec, column)
        assert not found, name
        assert words in str(found), name
    for spec, column in FITS:
        assert findings(spec, column)
        assert "every cell matches" in str(findings(spec, column))


def test_values_are_shown_and_kept_nowhere():
    shown = []
    found = findings(FINE, ["quidquid"] * N, shown.append)
    assert shown == ["x: 'quidquid', ..."]
    assert "quidquid" not in str(found) + repr(found)
    assert b"quidquid" not in pickle.dumps(found)
    assert found.findings[0].share == 1.0


def fitted(column, document):
    synth = PlausibleDeniabilitySynthesizer(metadata_of(document), domain=document)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        synth.fit(pd.DataFrame({"x": column, "y": ["f", "m"] * (len(column) // 2)}))
    told = notes_of(caught)
    return synth, [text for text in told if "at about " not in text]  # of noise, on so few rows


def test_a_fit_warns_by_name_alone_and_the_release_is_the_same():
    """The one silent disaster of a wrong declaration: all is missing, and the claim stands."""
    document = {"x": {"range_values": ["1", "2"]}, "y": FINE}
    wrong, said = fitted([1, 2] * 50, document)
    assert len(said) == 1
    assert "x: most cells are outside the declared values" in said[0]
    right, nothing = fitted(["1", "2"] * 50, document)
    assert nothing == []
    ledgers = [one.privacy_ledger().entries for one in (wrong, right)]
    assert {e.name for one in ledgers for e in one} > {"model", "noise"}
    assert len({tuple(e for e in one if e.name != "noise") for one in ledgers}) == 1
    assert "hold whole numbers" in str(wrong.check(pd.DataFrame({"x": [1, 2], "y": ["f", "f"]}), show=len))
    with pytest.raises(ValueError, match=r"lacks the declared columns \['y'\]"):
        wrong.check(pd.DataFrame({"x": [1]}))


def test_few_cells_and_few_strangers_are_no_reason_to_warn():
    known = {"x": declare("x", FINE, None, 100)}
    assert columns_mostly_outside(pd.DataFrame({"x": ["x"] * (MIN_CELLS - 1)}), known) == []
    assert columns_mostly_outside(pd.DataFrame({"x": ["x"] * MIN_CELLS}), known) == ["x"]
    assert columns_mostly_outside(pd.DataFrame({"x": ["x", "f"] * 50}), known) == []


def test_whole_numbers_that_cut_off_digits_are_named_to_the_holder():
    """Whole ends declare whole numbers: 0 to 35 over rates such as 5.32. Controls: one in ten; declared digits."""
    words = {"sdtype": "numerical", "range_min": 0, "range_max": 35}
    for ends in (words, {**words, "range_max": 10**7}):
        for digits in ({}, {"decimal_places": 2}):
            said = fitted([5.32, 7.97] * 50, {"x": {**ends, **digits}, "y": FINE})[1]
            assert any("x: digits after the point are cut off" in text for text in said) == (not digits)
    known = {"x": declare("x", words, None, 100)}
    assert columns_often_truncated(pd.DataFrame({"x": [5.5, *[7.0] * 9] * 10}), known) == []
    assert columns_often_truncated(pd.DataFrame({"x": [5.5, 5.5, *[7.0] * 8] * 10}), known) == ["x"]

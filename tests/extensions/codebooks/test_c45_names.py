"""Code books of the UCI repository."""

import pytest

from sdv_plausible.extensions.codebooks.c45_names import read_c45_names
from sdv_plausible.table.declared.codebook import read_codebook

NAMES = """| A made-up table. Unknown values are "?".
| Ages: of 1990

yes, no.

age: continuous.
pay-class:  low , middle,high.   | per year
grade: 1, 2, 3
code: 01, 02.
town: discrete 40.
weight: ignore.
city.of.birth: St. Gallen, Bern.
"""


def test_every_column(written):
    path = written(NAMES, "people.names")
    found = read_c45_names(path)
    assert found.columns == {
        "age": {"sdtype": "numerical"},
        "pay-class": {"sdtype": "categorical", "range_values": ["low", "middle", "high"]},
        "grade": {"sdtype": "categorical", "range_values": [1, 2, 3]},
        "code": {"sdtype": "categorical", "range_values": ["01", "02"]},
        "town": {"sdtype": "categorical"},
        "weight": {"sdtype": None},
        "city.of.birth": {"sdtype": "categorical", "range_values": ["St. Gallen", "Bern"]},
        "class": {"sdtype": "categorical", "range_values": ["yes", "no"]},
    }
    said = "\n".join(found.lines)
    for part in ("'?' stands for", "age: no range", "town: a category", "weight: to be"):
        assert part in said
    cited = read_codebook(path).columns  # the ending tells the reader
    assert cited["grade"]["source"] == "people.names"
    assert "source" not in cited["weight"], "it says nothing"


def test_the_classes_are_the_last_column_whatever_it_is_called(written):
    found = read_c45_names(written("a, b.\nage: continuous.\n", "people.names"))
    assert list(found.of_table(["age", "income"]).columns) == ["age", "income"]
    assert "'class'" in found.of_table(["age", "income"]).lines[-1]
    assert found.of_table(["age", "class"]).columns == found.columns
    assert found.of_table(["class", "age"]).columns == found.columns  # the last one, under its own name


def test_what_cannot_be_meant(written):
    for text, message in (
        ("", "must list the classes"),
        ("age: continuous.\n", "must list the classes"),
        ("a, b.\nage continuous.\n", "'age continuous' must be a name, a colon"),
        ("a, b.\n: x, y.\n", "must be a name, a colon"),
        ("a, b.\nage:\n", "must be a name, a colon"),
        ("a, b.\nage: continuous.\nage: 1, 2.\n", "'age' has two lines"),
    ):
        with pytest.raises(ValueError, match=message):
            read_c45_names(written(text))
    assert read_c45_names(written("a, b.\nsex: f, f.\n")).columns["sex"]["range_values"] == ["f"]

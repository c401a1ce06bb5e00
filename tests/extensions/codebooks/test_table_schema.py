"""Table Schemas of Frictionless Data."""

import pytest

from sdv_plausible.extensions.codebooks.table_schema import read_table_schema
from sdv_plausible.table.declared.codebook import read_codebook

FIELDS = [
    {"name": "age", "type": "integer", "constraints": {"required": True, "minimum": 0, "maximum": 110}},
    {"name": "pay", "type": "number", "constraints": {"minimum": "0.5", "maximum": 1e6}},
    {"name": "size", "type": "number", "constraints": {"minimum": 0, "multipleOf": 2}},
    {"name": "born", "type": "date", "constraints": {"minimum": "1900-01-01", "maximum": "2025-12-31"}},
    {"name": "day", "type": "date", "format": "fmt:%d.%m.%Y", "constraints": {"minimum": "01.01.1900"}},
    {"name": "seen", "type": "datetime", "format": "any", "constraints": {"required": False}},
    {"name": "year", "type": "year", "constraints": {"minimum": 1900, "maximum": 2025}},
    {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"], "required": True}},
    {"name": "grade", "type": "integer", "categories": [{"value": 1, "label": "a"}, {"value": 2}], "categoriesOrdered": True},
    {"name": "member", "type": "boolean"},
    {"name": "name", "constraints": {"maxLength": 80}},
    {"name": "number", "type": "integer"},
    {"name": "mail", "constraints": {"unique": True}},
]  # fmt: skip
SCHEMA = {"fields": FIELDS, "primaryKey": "number", "missingValues": ["", "-99"]}


@pytest.mark.parametrize(
    "document", [SCHEMA, {"name": "r", "schema": SCHEMA}, {"resources": [{"path": "t.csv", "schema": SCHEMA}]}],
    ids=["schema", "resource", "package"],
)  # fmt: skip
def test_every_field(written, document):
    found = read_table_schema(written(document))
    assert found.columns == {
        "age": {"sdtype": "numerical", "range_min": 0, "range_max": 110, "decimal_places": 0, "range_is_nullable": False},
        "pay": {"sdtype": "numerical", "range_min": 0.5, "range_max": 1e6, "range_is_nullable": True},
        "size": {"sdtype": "numerical", "range_min": 0, "range_is_nullable": True},
        "born": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d", "range_min": "1900-01-01", "range_max": "2025-12-31", "range_is_nullable": True},
        "day": {"sdtype": "datetime", "datetime_format": "%d.%m.%Y", "range_min": "01.01.1900", "range_is_nullable": True},
        "seen": {"sdtype": "datetime", "range_is_nullable": True},
        "year": {"sdtype": "numerical", "range_min": 1900, "range_max": 2025, "decimal_places": 0, "range_is_nullable": True},
        "sex": {"sdtype": "categorical", "range_values": ["f", "m"], "range_is_nullable": False},
        "grade": {"sdtype": "ordinal", "range_values": [1, 2], "range_is_nullable": True},
        "member": {"sdtype": "boolean", "range_values": [False, True], "range_is_nullable": True},
        "name": {"sdtype": None},
        "number": {"sdtype": "id"},
        "mail": {"sdtype": "id"},
    }  # fmt: skip
    said = "\n".join(found.lines)
    for words in ("missingValues ['', '-99']: give them as na_values", "size: not understood: multipleOf", "size: no range is told",
                  "day: no range of dates", "seen: no range of dates", "name: no values are listed"):  # fmt: skip
        assert words in said
    assert (
        read_codebook(written(document, "s.json")).columns["age"]["source"] == "s.json"
    )  # found by its keys


def test_cells_as_they_are_written_and_keys_of_several_fields(written):
    """Values for missing cells are none; parts of a key that say more than a key does are columns."""
    fields = [
        {"name": "sex", "constraints": {"enum": ["f", "m", "", None, "-99"]}},
        {"name": "grade", "type": "integer", "constraints": {"enum": ["1", "2"]}},
        {"name": "member", "type": "boolean", "trueValues": ["yes"], "falseValues": ["no"]},
        {"name": "pay", "type": "number", "decimalChar": ",", "missingValues": ["-1"]},
        {"name": "year", "type": "year", "constraints": {"minimum": 2000, "maximum": 2010}},
        {"name": "case", "type": "integer"},
    ]
    document = {"fields": fields, "primaryKey": ["year", "case"], "missingValues": ["", "-99"]}
    found = read_table_schema(written(document))
    assert [found.columns[name].get("range_values") for name in ("sex", "grade", "member")] == [["f", "m"], [1, 2], ["no", "yes"]]  # fmt: skip
    assert [found.columns[name]["sdtype"] for name in ("member", "year", "case")] == ["categorical", "numerical", "id"]  # fmt: skip
    assert "pay: not understood: decimalChar, missingValues" in found.lines


def test_mistakes(written):
    for document, words in (
        ({"fields": []}, "no Table Schema"),
        ({"fields": [{"type": "string"}]}, "no Table Schema"),
        ({"resources": [{"schema": SCHEMA}, {"schema": SCHEMA}]}, "no Table Schema"),
        ([], "no Table Schema"),
        ({"fields": [{"name": "a", "constraints": ["required"]}]}, "field 'a' has not the form"),
        ({"fields": [{"name": "a", "constraints": {"enum": "abc"}}]}, "field 'a' has not the form"),
        ({"fields": [{"name": "a", "constraints": {"enum": [["b"]]}}]}, "field 'a' has not the form"),
        ({"fields": [{"name": "a", "categories": [{"label": "b"}]}]}, "field 'a' has not the form"),
        ({"fields": [{"name": "a", "type": ["string"]}]}, "field 'a' has not the form"),
        ({"fields": [{"name": "a"}], "missingValues": "NA"}, "must be lists of texts"),
        ({"fields": [{"name": "a"}], "primaryKey": 5}, "must be lists of texts"),
        ({"fields": [{"name": "a"}, {"name": "a"}]}, "'a' has two fields"),
        ({"fields": [{"name": 5}]}, "must be text"),
        ({"fields": [{"name": "a", "type": "integer", "constraints": {"minimum": "x"}}]}, "must be a number"),
        ({"fields": [{"name": "a", "type": "integer", "constraints": {"minimum": 2, "maximum": 1}}]}, "no number is between"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            read_table_schema(written(document))

"""JSON Schema of records."""

import pytest

from sdv_plausible.extensions.codebooks.json_schema import read_json_schema

PROPERTIES = {
    "age": {"type": "integer", "minimum": 0, "exclusiveMaximum": 111, "description": "years"},
    "pay": {"type": ["number", "null"], "minimum": 0, "maximum": 1e6, "multipleOf": 0.01},
    "sex": {"enum": ["f", "m", None]},
    "one": {"const": "x"},
    "born": {"type": "string", "format": "date"},
    "seen": {"type": "string", "format": "date-time"},
    "member": {"type": "boolean"},
    "name": {"type": "string", "maxLength": 80},
    "size": {"type": "number", "minimum": 0},
    "other": {"$ref": "#/x"},
    "odd": {"type": "number", "minimum": 0, "maximum": 9, "multipleOf": 3},
}
SCHEMA = {"type": "object", "properties": PROPERTIES, "required": ["age", "sex", "member"]}


@pytest.mark.parametrize("document", [SCHEMA, {"type": "array", "items": SCHEMA}], ids=["record", "table"])
def test_every_property(written, document):
    found = read_json_schema(written(document))
    assert found.columns == {
        "age": {
            "sdtype": "numerical", "range_min": 0, "range_max": 110, "decimal_places": 0, "range_is_nullable": False,
        },
        "pay": {
            "sdtype": "numerical", "range_min": 0, "range_max": 1e6, "decimal_places": 2, "range_is_nullable": True,
        },
        "sex": {"sdtype": "categorical", "range_values": ["f", "m"], "range_is_nullable": True},
        "one": {"sdtype": "categorical", "range_values": ["x"], "range_is_nullable": True},
        "born": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d", "range_is_nullable": True},
        "seen": {"sdtype": "datetime", "range_is_nullable": True},
        "member": {"sdtype": "boolean", "range_values": [False, True], "range_is_nullable": False},
        "name": {"sdtype": None},
        "size": {"sdtype": "numerical", "range_min": 0, "range_is_nullable": True},
        "other": {"sdtype": None},
        "odd": {"sdtype": "numerical", "range_min": 0, "range_max": 9, "range_is_nullable": True},
    }  # fmt: skip
    said = "\n".join(found.lines)
    for words in ("name: not understood: maxLength", "other: not understood: $ref", "odd: multipleOf 3 is not",
                  "size: no range", "born: no range of dates"):  # fmt: skip
        assert words in said


def test_damaged(written):
    for document, words in (
        ("[]", "is no JSON schema of records"),
        ({"properties": {"a": 3}}, "must be an object"),
        ({"properties": {"a": {"enum": "x"}}}, "enum .* must be a list"),
        ({"properties": {"a": {"type": "integer", "minimum": "0"}}}, "minimum .* must be a number"),
        ({"properties": {"a": {"type": "integer", "minimum": 3, "maximum": 1}}}, "no number is between"),
        ({"properties": {"a": {"type": "number", "multipleOf": 0}}}, "multipleOf .* must be a number"),
    ):
        with pytest.raises(ValueError, match=words):
            read_json_schema(written(document))

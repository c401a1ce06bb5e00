"""The published schema of the domain file."""

from pathlib import Path

import jsonschema

from benchmarks.raw_codebooks import read_codebook
from sdv_plausible.table.columns.column_document import WORDS
from sdv_plausible.table.declared.domain_file import SCHEMA, DomainFile, digest
from tests.schemas import DOMAIN_FILE

ROOT = Path(__file__).parents[3]
VALIDATOR = jsonschema.Draft202012Validator(DOMAIN_FILE)


def test_what_is_written_validates():
    """Our own declarations, and every word."""
    assert set(DOMAIN_FILE["$defs"]["column"]["properties"]) == set(WORDS)
    for path in sorted((ROOT / "benchmarks/domains").glob("*.json")):
        VALIDATOR.validate({"schema": SCHEMA, "columns": read_codebook(path.stem).domain})
    age = {"sdtype": None, "range_min": 0, "bins": [0, 1, 2], "source": "x"}
    file = DomainFile(columns={"age": age}, looked={"age": digest(age)}, detected=True, editor_schema="x")
    VALIDATOR.validate(file.to_dict())
    VALIDATOR.validate({"schema": SCHEMA, "columns": {"age": dict.fromkeys(WORDS)}})


def test_what_is_wrong_is_seen():
    whole = {"schema": SCHEMA, "columns": {}}
    for document in (
        {"columns": {}},
        {"schema": SCHEMA},
        whole | {"rows": 3},
        whole | {"looked": {"age": "abc"}},
    ):
        assert not VALIDATOR.is_valid(document)
    for wrong in (
        3, {"rangemin": 0}, {"decimal_places": 16}, {"bins": 0}, {"bins": [1]}, {"source": ""}, {"range_values": "f"},
        {"datetime_format": "Y"}, {"provenance": "private"},
    ):  # fmt: skip
        assert not VALIDATOR.is_valid({"schema": SCHEMA, "columns": {"age": wrong}})


def is_taken(document):
    try:
        DomainFile.of(document)
    except ValueError:
        return False
    return True


def test_schema_and_program_accept_the_same_beside_the_columns():
    """But for what learning cost, which is looked into by whoever pays it."""
    values = [None, "", "x", [], ["0" * 64], {}, {"age": "0" * 64}, True, 5]
    for key in ("$schema", "detected", "looked", "looked_rules", "rules_source", "learned"):
        for value in values:
            document = {"schema": SCHEMA, "columns": {}, key: value}
            is_paid = key == "learned" and isinstance(value, dict)
            assert VALIDATOR.is_valid(document) == is_taken(document) or is_paid, (key, value)
    for name in ("age", "", " ", "\t", "ä", "n" * 1000, "n" * 1001):
        document = {"schema": SCHEMA, "columns": {name: {"sdtype": "id"}}}
        assert VALIDATOR.is_valid(document) == is_taken(document), name

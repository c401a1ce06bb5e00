"""The published schema of the domain file."""

from pathlib import Path

import jsonschema
import pytest

from benchmarks.raw_codebooks import read_codebook
from sdv_plausible.table.columns.column_document import WORDS
from sdv_plausible.table.declared.domain_file import SCHEMA, DomainFile, digest
from tests.schemas import DOMAIN_FILE

ROOT = Path(__file__).parents[3]
VALIDATOR = jsonschema.Draft202012Validator(DOMAIN_FILE)


def test_every_word_is_in_the_schema():
    assert set(DOMAIN_FILE["$defs"]["column"]["properties"]) == set(WORDS)


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks/domains").glob("*.json")), ids=lambda p: p.stem)
def test_our_declarations_validate(path):
    columns = read_codebook(path.stem).domain
    VALIDATOR.validate({"schema": SCHEMA, "columns": columns})


def test_what_is_written_validates():
    age = {"sdtype": None, "range_min": 0, "bins": [0, 1, 2], "source": "x"}
    file = DomainFile(columns={"age": age}, looked={"age": digest(age)}, detected=True, editor_schema="x")
    VALIDATOR.validate(file.to_dict())
    VALIDATOR.validate({"schema": SCHEMA, "columns": {"age": dict.fromkeys(WORDS)}})


@pytest.mark.parametrize(
    "document",
    [
        {"columns": {}},
        {"schema": SCHEMA},
        {"schema": SCHEMA, "columns": {}, "rows": 3},
        {"schema": SCHEMA, "columns": {}, "looked": {"age": "abc"}},
        *(
            {"schema": SCHEMA, "columns": {"age": wrong}}
            for wrong in (3, {"rangemin": 0}, {"decimal_places": 16}, {"bins": 0}, {"bins": [1]}, {"source": ""},
                          {"range_values": "f"}, {"datetime_format": "Y"}, {"provenance": "private"})
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_seen(document):
    assert not VALIDATOR.is_valid(document)


@pytest.mark.parametrize("key", ["$schema", "detected", "looked", "looked_rules", "rules_source", "learned"])
@pytest.mark.parametrize("value", [None, "", "x", [], ["0" * 64], {}, {"age": "0" * 64}, True, 5])
def test_schema_and_program_accept_the_same_beside_the_columns(key, value):
    document = {"schema": SCHEMA, "columns": {}, key: value}
    try:
        DomainFile.of(document)
    except ValueError:
        assert not VALIDATOR.is_valid(document)
        return
    # What learning cost is looked into by whoever pays it.
    assert VALIDATOR.is_valid(document) or (key == "learned" and isinstance(value, dict))


@pytest.mark.parametrize("name", ["age", "", " ", "\t", "ä", "n" * 1000, "n" * 1001])
def test_schema_and_program_accept_the_same_names(name):
    document = {"schema": SCHEMA, "columns": {name: {"sdtype": "id"}}}
    try:
        DomainFile.of(document)
    except ValueError:
        assert not VALIDATOR.is_valid(document)
        return
    assert VALIDATOR.is_valid(document)

"""The published schema of the release file is what the program makes, and columns in it are as stated."""

from __future__ import annotations

import json
from importlib import resources

from jsonschema import Draft202012Validator

from sdv_plausible.release.file.published import schema_document, schema_text
from sdv_plausible.table.columns.column_document import MOST_DIGITS


def test_the_published_file_is_this_one() -> None:
    published = resources.files("sdv_plausible.release.file").joinpath("release.schema.json")
    assert published.read_text(encoding="utf-8") == schema_text(), (
        "python -m sdv_plausible.release.file.published"
    )


def test_every_form_that_is_named_is_there() -> None:
    document = schema_document()
    Draft202012Validator.check_schema(document)
    text = json.dumps(document)
    assert {part.split('"')[0] for part in text.split("#/$defs/")[1:]} <= set(document["$defs"])
    assert document["$defs"]["attribute"]["properties"]["decimals"]["maximum"] == MOST_DIGITS

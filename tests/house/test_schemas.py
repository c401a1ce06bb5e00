"""The published schemas are what `docs/write_schemas.py` makes of the forms that the program reads by."""

from __future__ import annotations

import json
import runpy

import pytest
from jsonschema import Draft202012Validator
from pages import ROOT

from sdv_plausible.table.columns.column_document import MAX_DECIMALS
from tests.schemas import RELEASE_FILE

SCRIPT = runpy.run_path(str(ROOT / "docs/write_schemas.py"))


@pytest.mark.parametrize("path", SCRIPT["SCHEMAS"])
def test_what_ships_is_what_is_made(path: str) -> None:
    made = SCRIPT["SCHEMAS"][path]()
    assert (ROOT / path).read_text(encoding="utf-8") == SCRIPT["text_of"](made), (
        "python docs/write_schemas.py"
    )
    Draft202012Validator.check_schema(made)
    named = {part.split('"')[0] for part in json.dumps(made).split("#/$defs/")[1:]}
    assert named <= set(made["$defs"])


def test_no_schema_ships_that_nobody_makes() -> None:
    paths = [path for folder in ("docs", "sdv_plausible") for path in (ROOT / folder).rglob("*.schema.json")]
    assert {path.relative_to(ROOT).as_posix() for path in paths} == set(SCRIPT["SCHEMAS"])


def test_columns_of_a_release_are_as_stated() -> None:
    assert RELEASE_FILE["$defs"]["attribute"]["properties"]["decimals"]["maximum"] == MAX_DECIMALS

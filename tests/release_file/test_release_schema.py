"""The published schema of the release file says what the program has: forms of cells and columns, names, limits."""

from __future__ import annotations

import copy
import json
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator
from releases import SCHEMA, SCHEMA_FILE

from sdv_plausible.privacy.neighbours import RELATIONS
from sdv_plausible.questions.transcript import Noise
from sdv_plausible.release_file import answers, arrays, documents, settings
from sdv_plausible.release_file.domain import REQUIRED
from sdv_plausible.release_file.release import FORMAT, SECTIONS
from sdv_plausible.rules.files import KINDS
from sdv_plausible.table.column_document import MOST_DIGITS, SHARED, attribute_form
from sdv_plausible.table.forms import LONGEST_NAME, LONGEST_TEXT


def stated(document: dict[str, Any]) -> dict[str, Any]:
    """What the schema says of things that the program has, too."""
    defs, sections = document["$defs"], document["properties"]
    parts = sections["settings"]["properties"]
    return {
        "format": sections["format"]["const"],
        "sections": sorted(sections),
        "cells": {name: defs[name] for name in SHARED},
        "column": defs["attribute"],
        "dtypes": [one["properties"]["dtype"]["enum"] for one in defs["array"]["oneOf"]],
        "sides": [one["properties"]["shape"]["maxItems"] for one in defs["array"]["oneOf"]],
        "noise": defs["answer"]["properties"]["noise"]["enum"],
        "parts": defs["answer"]["properties"]["rows"]["enum"],
        "kinds of rules": sorted(one["properties"]["rule"]["const"] for one in defs["rule"]["oneOf"]),
        "settings": sections["settings"]["required"],
        "relations": sorted(parts["neighbours"]["enum"]),
        "longest": (defs["column_name"]["maxLength"], defs["entry"]["properties"]["note"]["maxLength"]),
    }


def of_program() -> dict[str, Any]:
    """The same as the program has it."""
    return {
        "format": FORMAT,
        "sections": sorted(SECTIONS),
        "cells": {name: form for name, (form, _) in SHARED.items()},
        "column": attribute_form(*REQUIRED),
        "dtypes": [list(arrays.DTYPES)] * 2,
        "sides": [arrays.MOST_SIDES] * 2,
        "noise": list(get_args(Noise)),
        "parts": list(answers.PARTS),
        "kinds of rules": sorted(KINDS),
        "settings": sorted({*settings.PRIVACY, *settings.UNIT, *settings.OTHERS}),
        "relations": sorted(RELATIONS),
        "longest": (LONGEST_NAME, LONGEST_TEXT),
    }


def plain(found: Any) -> Any:
    return json.loads(json.dumps(found))


def test_the_schema_says_what_the_program_has() -> None:
    assert plain(stated(SCHEMA)) == plain(of_program())
    assert SCHEMA_FILE.read_bytes() == documents.write(SCHEMA, readable=True)


@pytest.mark.parametrize("name", [*stated(SCHEMA)])
def test_another_schema_is_caught(name: str) -> None:
    changed = copy.deepcopy(SCHEMA)
    changed["properties"]["format"]["const"] += "0"
    changed["properties"]["more"] = {}
    defs, sections = changed["$defs"], changed["properties"]
    defs["value"]["anyOf"].pop()
    defs["attribute"]["required"].pop()
    for one in defs["array"]["oneOf"]:
        one["properties"]["dtype"]["enum"].pop()
        one["properties"]["shape"]["maxItems"] += 1
    for part in ("noise", "rows"):
        defs["answer"]["properties"][part]["enum"].pop()
    defs["rule"]["oneOf"].pop()
    sections["settings"]["required"].pop()
    sections["settings"]["properties"]["neighbours"]["enum"].pop()
    defs["column_name"]["maxLength"] += 1
    assert plain(stated(changed)[name]) != plain(of_program()[name])


def test_every_form_that_is_named_is_there() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    text = json.dumps(SCHEMA)
    assert {part.split('"')[0] for part in text.split("#/$defs/")[1:]} <= set(SCHEMA["$defs"])
    assert SCHEMA["$defs"]["attribute"]["properties"]["decimals"]["maximum"] == MOST_DIGITS

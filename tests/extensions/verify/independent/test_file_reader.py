"""The second reading reads what the program writes, and refuses what jsonschema refuses."""

import itertools
import json
import re
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from lying import damaged, honest

from sdv_plausible import Release
from sdv_plausible.extensions.verify.independent.file_reader import (
    array_of,
    canonical,
    check_sizes,
    read,
    schema,
    schema_violations,
)
from sdv_plausible.extensions.verify.independent.verdict import ContradictionError
from sdv_plausible.release.file.json_documents import encode
from tests import ruled
from tests.schemas import RELEASE_FILE

ARRAYS = ([], [0, 255], [-1, 3], [[1, 70_000]], [[[2**40]]], [0.5, -1e300], [[1.0, 2.0]])


def test_arrays_come_back_and_those_that_are_none_are_refused():
    for values, readable in itertools.product(ARRAYS, (False, True)):
        told = np.array(values)
        found = array_of(encode(told, readable=readable))
        np.testing.assert_array_equal(found, told)
        assert found.dtype == (np.float64 if told.dtype.kind == "f" else np.int64)
    for change in ({"dtype": "int16"}, {"shape": [3]}, {"data": "!"}, {"data": "AAAA"}, {"dtype": "float64"}):
        with pytest.raises(ContradictionError, match="array"):
            array_of({**encode(np.array([1, 2])), **change})


def test_what_is_no_strict_json_is_refused():
    for text in ('{"a":1,"a":1}', '{"a":NaN}', '{"a":-Infinity}', '{"a":1e999}', "{"):
        with pytest.raises(ValueError, match=r"."):
            read(text.encode())


def test_both_forms_have_the_bytes_of_which_the_digest_is():
    for case in ("adaptive, row", "learned, strong", "k"):
        release = Release.from_bytes(honest(case).encode())
        for readable in (False, True):
            assert canonical(read(release.to_bytes(readable=readable))) == release.to_bytes()


def keywords(form: Any) -> set[str]:
    """Keywords of a schema, names of properties and definitions apart."""
    if isinstance(form, list):
        return {word for inner in form for word in keywords(inner)}
    if not isinstance(form, dict):
        return set()
    named = [inner for name in ("properties", "$defs") for inner in form.get(name, {}).values()]
    rest = [inner for name, inner in form.items() if name not in ("properties", "$defs", "enum", "const")]
    return {*form} | keywords(named) | keywords([inner for inner in rest if isinstance(inner, (dict, list))])


def test_every_keyword_of_the_schema_is_read():
    """Control: words that say nothing of a value are told apart here, so that a new keyword is named."""
    said = {"$schema", "$id", "$defs", "title", "description", "contentEncoding"}
    known = {
        "$ref", "anyOf", "oneOf", "not", "const", "enum", "type", "minimum", "maximum", "exclusiveMinimum",
        "minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems", "prefixItems", "items",
        "minProperties", "maxProperties", "properties", "required", "additionalProperties",
    }  # fmt: skip
    assert keywords(schema()) - said <= known
    assert {"oneOf", "not", "prefixItems"} <= keywords(schema())


def test_breaches_name_the_entry_and_its_rule():
    """Of one of several forms, too, where its kind is named. Control: of a kind that is none."""
    form = schema()
    for change, words in {
        (("settings", "certified"), True): r"file\.settings\.certified is not known to the format$",
        (("losses", "l1"), 30_000_000): r"\.l1 is out of its range.*: 2,000,000 is the most$",
        (("settings", "omega"), None): r"file\.settings\.omega is lacking$",
        (("losses", "epsilon0"), "x"): r"\.epsilon0 must be of type number",
        (("losses", "type"), "x"): r"losses\[0\] has none of its forms",
    }.items():
        document = json.loads(honest("k"))
        ((where, name), value) = change
        losses = next(
            e["losses"][0] for e in document["ledger"]["entries"] if e["name"] == "seeds" and e["losses"]
        )
        (document["settings"] if where == "settings" else losses)[name] = value
        if value is None:
            del document["settings"][name]
        found = [*schema_violations(document, form, form)]
        assert re.search(words, found[0]), found


@pytest.mark.parametrize(("case", "many"), [("learned, strong", 80), ("rules of all kinds", 8)])
def test_files_are_refused_as_jsonschema_refuses_them(case, many):
    """Of damaged files those and no others. Control: some of each."""
    rng, validator, form = np.random.default_rng(1), Draft202012Validator(RELEASE_FILE), schema()
    ruled_text = ruled.fitted().release().to_bytes()
    whole = json.loads(ruled_text if case.startswith("rules") else honest(case))
    assert form == RELEASE_FILE
    assert not any(schema_violations(whole, form, form))
    states = set()
    for _ in range(many):
        changed = damaged(whole, rng)
        fits = validator.is_valid(changed)
        assert any(schema_violations(changed, form, form)) != fits, next(
            schema_violations(changed, form, form), None
        )
        states.add(fits)
    assert states == {True, False} or many < 10


def test_totals_that_take_minutes_are_refused():
    """Two ledgers of related tables together, or one. Control: the entropies of a thousand columns."""
    for loss in (
        {"type": "PureDP", "epsilon": 1e-300, "count": 10**7},
        {"type": "BoundedRangeLoss", "epsilon": 1e-4, "count": 1_200_000},
        {"type": "GaussianLoss", "sensitivity_over_sigma": 100.0, "count": 150},
        {"type": "GaussianLoss", "sensitivity_over_sigma": 1e300, "count": 1},
    ):
        with pytest.raises(ContradictionError, match="are the most"):
            check_sizes([{"entries": [{"losses": [loss]}]}] * 2)
    check_sizes([{"entries": [{"losses": [{"type": "PureDP", "epsilon": 0.1, "count": 1_001_000}]}]}])
    # Kinds are counted over all tables. Control: one fewer, and uses of the same kind.
    many = [{"type": "PureDP", "epsilon": 0.1 + i / 1000, "count": 1} for i in range(21)]
    with pytest.raises(ContradictionError, match="42 kinds"):
        check_sizes([{"entries": [{"losses": many}]}] * 2)
    check_sizes([{"entries": [{"losses": many[:20]}, {"losses": many[:20]}]}] * 2)

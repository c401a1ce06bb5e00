"""A release as an entry of OpenDP's registry: against the facts of its schema, which registry_schema.json pins."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import releases
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from sdv_plausible import to_registry
from sdv_plausible.extensions.standards.registry import (
    KNOWN,
    RELEASE_TYPES,
    SECTORS,
    missing,
    registry_entry,
    to_yaml,
)
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.ledger_record import LedgerRecord, rounded_up

SCHEMA = json.loads(Path(__file__).with_name("registry_schema.json").read_text())
FULL: dict[str, Any] = {
    "name": "Synthetic census: \"A & B\" | 'C'", "data_curators": ["Office of Numbers", "Ünïversity"],
    "intended_use": "Teaching.\nAlso: tests", "data_product_region": "Graubünden",
    "description": "- one\n- two # no comment\n\n  three", "publication_date": "2026-01-31",
    "data_product_sector": "Government", "data_domain": "people of 2025", "actors": "the office",
    "release_type": "Many releases", "release_type_details": "each year", "data_source_type_details": "a survey",
    "preprocessing_and_hyperparameter_tuning": "none; epsilon was set by law",
    "justification": "a committee", "sources": "https://example.org/paper", "notes": "none",
    "registry_authors": ["A. Person"],
}  # fmt: skip


def errors(entry: Any) -> list[str]:
    validator = Draft7Validator(SCHEMA, format_checker=Draft7Validator.FORMAT_CHECKER)
    return sorted("/".join(map(str, error.path)) for error in validator.iter_errors(entry))


def ledger(case: str = "declared") -> PrivacyLedger:
    return releases.shared(case).privacy_ledger()


def leaves(node: Any, path: str = "") -> dict[str, Any]:
    if not isinstance(node, dict):
        return {path: node}
    return {key: value for name in node for key, value in leaves(node[name], f"{path}/{name}").items()}


@pytest.mark.parametrize("case", ["declared", "private", "paper's learner", "seeds", "uniform"])
def test_a_full_entry_is_of_the_schema(case):
    entry = yaml.safe_load(to_registry(ledger(case), **FULL))
    assert errors(entry) == []
    assert entry["tier"] == 3
    assert entry["status"] == "Draft"
    said = entry["deployment"]
    for name, field in KNOWN.items():
        text = said[field.section][name]
        assert text == FULL[name] or FULL[name] in text
    blank = [path for path, value in leaves(entry).items() if value in ("", [""])]
    assert blank == []


def test_a_draft_lacks_its_date_alone_and_shows_its_blanks():
    """A choice may be absent and a text empty; a date may be neither, so a draft cannot pass for complete."""
    for case in ("declared", "private"):
        text = to_registry(ledger(case))
        entry = yaml.safe_load(text)
        assert errors(entry) == ["deployment/basic/publication_date"]
        assert errors(yaml.safe_load(to_registry(ledger(case), publication_date="2026-01-31"))) == []
        assert entry["tier"] == 2
        marked = re.findall(r"^ *#? *(\w+):.* # to be filled in", text, re.MULTILINE)
        expected = {*missing({}), "notes"} - {
            "preprocessing_and_hyperparameter_tuning"
        }  # which has our own words before
        assert sorted(marked) == sorted(expected)
        assert "By the curator: [to be filled in]" in text


def test_technical_fields_are_the_ledgers():
    made = ledger("seeds")
    entry = yaml.safe_load(to_registry(made))["deployment"]
    parameters = entry["privacy_loss"]["privacy_parameters"]
    assert parameters == {"epsilon": float(rounded_up(made.total(), 4)), "delta": made.delta}
    assert parameters["epsilon"] >= made.total()
    assert isinstance(parameters["delta"], float)  # 1e-09 would be text
    assert entry["privacy_loss"]["privacy_unit"] == "one row"
    assert made.neighbours.relation in entry["privacy_loss"]["privacy_unit_details"]
    assert all(item in entry["privacy_loss"]["privacy_unit_details"] for item in made.not_covered)
    assert made.sentence() in entry["privacy_loss"]["privacy_parameters_details"]
    charged = [e for e in made.entries if e.status == "charged"]
    assert {e.name for e in charged} >= {"seeds", "tables"}
    for e in charged:
        assert e.mechanism in entry["implementation"]["mechanisms"]
        assert (
            f"- {e.name}: epsilon {rounded_up(e.epsilon(made.delta), 4)}"
            in entry["accounting"]["composition"]
        )
    assert "declared: " in entry["dp_variant"]["unprotected_quantities"]


def test_what_plays_no_part_is_not_called_unprotected():
    entry = yaml.safe_load(to_registry(ledger()))["deployment"]
    assert "no seed record" not in entry["dp_variant"]["unprotected_quantities"]


def test_columns_are_listed_where_the_domain_is_given():
    release = releases.shared().release()
    entry = yaml.safe_load(to_registry(release.ledger, domain=release.domain))
    said = entry["deployment"]["dp_variant"]["data_domain"]
    assert "- city: categorical, 4 codes, declared" in said  # three cities, and missing
    assert all(f"- {name}: " in said for name in release.domain.names)
    mine = yaml.safe_load(to_registry(release.ledger, domain=release.domain, data_domain="mine"))
    assert mine["deployment"]["dp_variant"]["data_domain"] == "mine"


def test_a_domain_that_was_read_off_the_rows_is_refused():
    column = SimpleNamespace(name="age", kind="integer", cardinality=3, provenance="inferred")
    with pytest.raises(ValueError, match="read off the rows in columns age"):
        to_registry(ledger(), domain=SimpleNamespace(attributes=[column]))


BAD: list[tuple[dict[str, Any], str]] = [
    ({"nmae": "x"}, "no field 'nmae'.*it has name, data_curators"),
    ({"name": ""}, r"name \(''\) must be text"), ({"name": 5}, r"name \(5\) must be text"),
    ({"data_curators": "Office"}, "must be a list of texts"), ({"data_curators": []}, "must be a list of texts"),
    ({"registry_authors": [""]}, "must be a list of texts"),
    ({"data_product_sector": "Sport"}, 'must be "Technology", "Healthcare"'),
    ({"release_type": "Some"}, 'must be "One release" or "Many releases"'),
    ({"publication_date": "31.1.2026"}, "must be a date such as 2026-01-31"),
    ({"publication_date": "20260131"}, "must be a date such as 2026-01-31"),
]  # fmt: skip


def test_what_the_registry_would_not_take():
    for known, words in BAD:
        with pytest.raises(ValueError, match=words):
            to_registry(ledger(), **known)


def test_our_fields_are_the_schemas():
    sections = SCHEMA["properties"]["deployment"]["properties"]
    for name, field in KNOWN.items():
        there = sections[field.section]["properties"][name]
        assert (there.get("type") == "array") is field.many
        assert tuple(there.get("enum", ())) == field.choices
    assert tuple(sections["basic"]["properties"]["data_product_sector"]["enum"]) == SECTORS
    assert tuple(sections["deployment_model"]["properties"]["release_type"]["enum"]) == RELEASE_TYPES


def test_every_field_of_the_schema_is_answered():
    def check(node, schema, path=""):
        left_out = set(schema["properties"]) - set(node)
        assert left_out <= {"rho", "privacy_unit_details"} - set(node), (path, left_out)
        for name, below in schema["properties"].items():
            if "properties" in below:
                check(node[name], below, f"{path}/{name}")

    check(registry_entry(LedgerRecord.of(ledger().to_dict()), **FULL), SCHEMA)


def test_the_schema_is_pinned_with_its_source():
    pinned = r"commit [0-9a-f]{40} .*sha256 of that file: [0-9a-f]{64}.*MIT License"
    assert re.search(pinned, SCHEMA["$comment"])


def test_planted_entries_that_are_not_of_the_schema_are_caught():
    said = "deployment"
    for change, path in (
        (lambda e: e.update(status="Done"), "status"),
        (lambda e: e[said]["basic"].update(surprise="x"), "deployment/basic"),
        (lambda e: e[said]["dp_variant"].update(variant_name="(epsilon, delta)"), "deployment/dp_variant/variant_name"),
        (lambda e: e[said]["privacy_loss"]["privacy_parameters"].update(epsilon="1"),
            "deployment/privacy_loss/privacy_parameters/epsilon"),
        (lambda e: e[said]["basic"].pop("name"), "deployment/basic"),
        (lambda e: e[said]["administrative"].update(registry_authors=[]),
            "deployment/administrative/registry_authors"),
    ):  # fmt: skip
        entry = registry_entry(LedgerRecord.of(ledger().to_dict()), **FULL)
        change(entry)
        assert errors(entry) == [path]


def test_the_address_is_that_of_the_registrys_own_check():
    text = to_registry(ledger(), name="My table", data_curators=["A B", "C"], publication_date="2026-01-31")
    assert text.splitlines()[1] == "url_slug: my-table-a-b-c-2026"
    assert to_registry(ledger()).splitlines()[1] == "url_slug: draft"


@given(st.lists(st.text(), min_size=1), st.text(), st.floats(0, 1e9), st.floats(0, 1))
def test_yaml_is_read_as_it_was_meant(texts, text, epsilon, delta):
    entry = {
        "url_slug": text,
        "basic": {"a": "\n".join(texts), "many": texts, "b": text},
        "numbers": {"epsilon": epsilon, "delta": delta, "tier": 3},
    }
    assert yaml.safe_load(to_yaml(entry)) == entry


def test_words_with_a_meaning_in_yaml_stay_text():
    for word in (
        "yes",
        "null",
        "on",
        "1e-09",
        "2020",
        "- a",
        "# x",
        "a: b",
        "",
        " a ",
        "\ud800",
        "\x85",
        "  ",
    ):
        entry = {"url_slug": word, "a": word, "b": f"{word}\n{word}", "many": [word]}
        assert yaml.safe_load(to_yaml(entry)) == entry

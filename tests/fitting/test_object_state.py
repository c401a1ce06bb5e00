"""What an object holds: parameters that are fixed, and no detected value, path or budget in what leaves.

Pickles, copies and metadata of whole synthesizers: tests/privacy/test_detected_metadata.py.
"""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
from sdv.metadata import Metadata

from sdv_plausible.fitting.object_state import (
    TRANSIENT,
    check_budget_there,
    fixed_parameters,
    is_path,
    without_details,
    without_transient,
)

DOCUMENT = {
    "tables": {"a": {"primary_key": "k", "columns": {
        "k": {"sdtype": "id", "regex_format": "[0-9]{3}"},
        "n": {"sdtype": "numerical", "range_min": 17.0, "range_max": 987654.32, "range_is_nullable": True},
        "d": {"sdtype": "datetime", "datetime_format": "%Y", "range_min": "1999"},
        "c": {"sdtype": "categorical", "range_values": ["only here"], "high_cardinality": False},
    }}},
    "relationships": [],
}  # fmt: skip
SCHEMA = {
    "k": {"sdtype": "id", "regex_format": "[0-9]{3}"}, "n": {"sdtype": "numerical"},
    "d": {"sdtype": "datetime", "datetime_format": "%Y"}, "c": {"sdtype": "categorical"},
}  # fmt: skip


class Owner:
    budget = None

    def __init__(self, epsilon, domain=None, budget=None):
        self.epsilon, self.domain, self.budget = epsilon, domain, budget


def test_metadata_keeps_its_schema_alone_and_is_not_touched():
    before = copy.deepcopy(DOCUMENT)
    assert without_details(DOCUMENT)["tables"]["a"] == {"primary_key": "k", "columns": SCHEMA}
    assert before == DOCUMENT
    plain = {"tables": {"a": {"columns": SCHEMA}}, "relationships": []}
    kept = without_details(Metadata.load_from_dict(plain))
    assert isinstance(kept, Metadata)
    assert kept.to_dict()["tables"]["a"]["columns"] == SCHEMA
    assert without_details(5) == 5


def test_what_leaves_lacks_what_is_the_owners():
    state = {"epsilon": 1.0, "domain": "/home/x", "_from_files": {"domain": {"a": 1}}}
    state |= dict.fromkeys(TRANSIENT, "secret")
    kept = {"epsilon": 1.0, "domain": {"a": 1}, "_lost_budget": True, "public": None}
    assert without_transient(state) == kept
    assert "public" not in without_transient({"epsilon": 1.0})
    one = Owner(1.0)
    check_budget_there(one)
    vars(one)["_lost_budget"] = True
    with pytest.raises(ValueError, match="^budget: .* its saved file does not contain"):
        check_budget_there(one)


def test_parameters_are_copies_and_set_once():
    assert fixed_parameters(Owner, but=("budget",)) == ("epsilon", "domain", "budget")
    given = {"a": [1]}
    one = Owner(1.0, given)
    given["a"].append(2)
    one.domain["a"].append(3)
    assert one.domain == {"a": [1]}
    with pytest.raises(AttributeError, match=r"epsilon .1\.0. cannot be changed"):
        one.epsilon = 2.0
    one.budget = "another"
    assert (is_path("x"), is_path(Path("x")), is_path({})) == (True, True, False)

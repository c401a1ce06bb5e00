"""Schemas of pandera, in the three forms that its versions write."""

import sys
from itertools import pairwise

import pytest
import yaml

from sdv_plausible.extensions.codebooks.pandera_schema import read_pandera

SCHEMA = {
    "schema_type": "dataframe",
    "version": "0.20",
    "columns": {
        "age": {
            "dtype": "int64", "nullable": False,
            "checks": {"greater_than_or_equal_to": 0, "less_than_or_equal_to": {"value": 110, "options": {}}},
        },
        "pay": {"dtype": "float64", "nullable": True, "checks": {"in_range": {"min_value": 0, "max_value": 1e6}}},
        "sex": {"dtype": "str", "nullable": False, "checks": {"isin": ["f", "m"]}},
        "grade": {
            "dtype": "int64", "nullable": True,
            "checks": [{"value": [1, 2], "options": {"check_name": "isin", "raise_warning": False}}],
        },
        "born": {"dtype": "datetime64[ns]", "nullable": True, "checks": None},
        "member": {"dtype": "bool", "nullable": False, "checks": None},
        "name": {"dtype": "str", "nullable": False, "checks": {"str_length": {"max_value": 80}}},
        "size": {"dtype": "float64", "nullable": True, "checks": {"greater_than": {"min_value": 0}}},
    },
    "checks": {"wide": {}},
}  # fmt: skip


@pytest.mark.parametrize("name", ["schema.json", "schema.yaml"])
def test_every_column(written, name):
    found = read_pandera(written(yaml.safe_dump(SCHEMA) if name.endswith("yaml") else SCHEMA, name))
    assert found.columns == {
        "age": {
            "sdtype": "numerical", "range_min": 0, "range_max": 110, "decimal_places": 0, "range_is_nullable": False,
        },
        "pay": {"sdtype": "numerical", "range_min": 0, "range_max": 1e6, "range_is_nullable": True},
        "sex": {"sdtype": "categorical", "range_values": ["f", "m"], "range_is_nullable": False},
        "grade": {"sdtype": "categorical", "range_values": [1, 2], "range_is_nullable": True},
        "born": {"sdtype": "datetime", "range_is_nullable": True},
        "member": {"sdtype": "boolean", "range_values": [False, True], "range_is_nullable": False},
        "name": {"sdtype": None},
        "size": {"sdtype": "numerical", "range_min": 0, "range_is_nullable": True},
    }  # fmt: skip
    assert "name: the check str_length is not understood" in found.lines
    assert "checks of the whole table are not read" in found.lines


ALIASES = f"a: &a [{', '.join('x' * 10)}]\n" + "".join(
    f"{after}: &{after} [{', '.join([f'*{before}'] * 10)}]\n" for before, after in pairwise("abcdefghij")
)  # some hundred characters that stand for 10^10 entries


def test_damaged(written):
    for document, name, words in (
        ("[]", "a.json", "is no schema of pandera"),
        ({"columns": {"a": 3}}, "a.json", "is no schema of pandera"),
        ({"columns": {"a": {"checks": {"gt": "x"}}}}, "a.json", "must be a number"),
        ("a: [", "a.yaml", "is no YAML"),
        ("!!python/object/apply:os.getcwd []", "a.yaml", "is no YAML"),
        (ALIASES, "a.yaml", "once its aliases are followed"),
        ("columns: &c\n  name: {dtype: str, checks: *c}", "a.yaml", "once its aliases are followed"),
    ):
        with pytest.raises(ValueError, match=words):
            read_pandera(written(document, name))


def test_without_pyyaml(written, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ImportError, match=r"sdv-plausible\[codebooks\]"):
        read_pandera(written("a: 1", "a.yaml"))

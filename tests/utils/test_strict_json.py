"""Strict JSON at every file of ours: what json.loads would guess is refused."""

from __future__ import annotations

import pytest

from sdv_plausible import Domain
from sdv_plausible.rules.rule_files import read_rules
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.table.declared.domain_file import read_domain_file
from sdv_plausible.utils.json_schema import strict_json

DOCUMENTS = (
    ('{"a": {"b": 1, "b": 2}}', "has the key 'b' twice"),
    ('{"a": [NaN]}', "contains NaN"),
    ('{"a": -1e999}', "outside the range of doubles"),
    ("[" * 100_000, "is nested too deeply"),
    ('{"a": secret}', "line 1,? column 7"),
)
FILES = {
    "domain": read_domain_file,
    "finished domain": Domain.load,
    "rules": read_rules,
    "types": column_types,
}


def test_what_json_would_guess_is_refused(tmp_path):
    """By every reader of a file. Control: a plain document."""
    for text, said in DOCUMENTS:
        with pytest.raises(ValueError, match=said) as caught:
            strict_json(text)
        assert "secret" not in str(caught.value)
        for kind, read in FILES.items():
            path = tmp_path / f"{kind}.json"
            path.write_text(text)
            with pytest.raises(ValueError, match=said):
                read(path)
    assert strict_json('{"a": [1, 2.5, null, {"a": "b"}]}') == {"a": [1, 2.5, None, {"a": "b"}]}


def test_a_name_twice_among_many_is_found_at_once():
    """A quadratic search took minutes for a file of a megabyte (this test: past its time limit)."""
    names = ", ".join(f'"{i}": 1' for i in range(100_000))
    with pytest.raises(ValueError, match="has the key '7' twice"):
        strict_json(f'{{{names}, "7": 2}}')

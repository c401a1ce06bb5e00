"""The template holds names and what public sources say, nothing of the rows."""

from __future__ import annotations

from sdv_plausible.table.declared.domain_file import blanks, drafted


def test_names_and_blanks():
    found = drafted(["a", "b"], {"b": {"sdtype": "id", "source": "x"}, "c": {"sdtype": "id"}})
    assert found.columns == {"a": {"sdtype": None}, "b": {"sdtype": "id", "source": "x"}}
    assert blanks(found) == ["a"]
    assert not found.detected
    assert blanks(drafted(["a"], {"a": {"sdtype": None, "range_min": 0}})) == ["a"]

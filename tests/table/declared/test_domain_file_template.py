"""The template holds names and what public sources say, nothing of the rows."""

from sdv_plausible.table.declared.domain_file import DomainFile, blanks, digest, draft_domain_file


def test_names_and_blanks():
    found = draft_domain_file(["a", "b"], {"b": {"sdtype": "id", "source": "x"}, "c": {"sdtype": "id"}})
    assert found.columns == {"a": {"sdtype": None}, "b": {"sdtype": "id", "source": "x"}}
    assert blanks(found) == ["a"]
    assert not found.detected
    assert blanks(draft_domain_file(["a"], {"a": {"sdtype": None, "range_min": 0}})) == ["a"]


def test_a_blank_of_the_file_to_start_from_declares_nothing():
    """It stood against what a code book says of the column."""
    start = DomainFile(
        columns={"a": {"sdtype": None}, "b": {"sdtype": "id"}, "c": {"sdtype": None, "source": "x"}},
        looked={"a": digest({})},
    )
    said = {"a": {"sdtype": "numerical", "source": "book"}, "b": {"sdtype": "categorical"}}
    found = draft_domain_file(["a", "b", "c", "d"], said, start)
    assert found.columns == {
        "a": said["a"], "b": start.columns["b"], "c": start.columns["c"], "d": {"sdtype": None},
    }  # fmt: skip
    assert found.looked == start.looked  # also of what it left blank

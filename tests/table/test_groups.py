"""Groups of a category's values: their two forms, what is refused, and that they survive being written down."""

import json

import pytest

from sdv_plausible.release.file.document_nodes import DocumentNode
from sdv_plausible.release.file.domain_section import read_column
from sdv_plausible.table.columns.domain import Attribute, Domain, write_attribute
from sdv_plausible.table.declared.specifications import groups_of

ICD = ["A00", "A01", "J10", "J11", "Z99"]


def declared(groups, **words):
    return Domain.from_declarations({"code": {"range_values": ICD, "groups": groups, **words}})["code"]


def test_values_get_the_group_that_was_declared():
    for groups, expected in (
        ({"infections": ["A00", "A01"], "lungs": ["J10", "J11"], "other": ["Z99"]}, (0, 0, 1, 1, 2)),
        ({"lungs": ["J11", "J10"]}, (0, 0, 1, 1, 0)),  # what no group names shares one
        (1, (0, 0, 1, 1, 2)),
        (3, (0, 1, 2, 3, 4)),
        (99, (0, 1, 2, 3, 4)),
        ({}, (0, 0, 0, 0, 0)),
    ):
        assert groups_of("code", groups, ICD) == expected
        assert declared(groups).groups == expected
    assert declared(None).groups is None


def test_what_groups_cannot_mean_is_refused_by_name():
    for groups, words, said in (
        ({"a": ["A00"], "b": ["A00"]}, {}, "put each value in one group"),
        ({"a": ["X00"]}, {}, "range_values lacks it"),
        (0, {}, "of at least 1"),
        (True, {}, "of at least 1"),
        (["A00"], {}, "a mapping of group names"),
        ({"a": "A00"}, {}, "a mapping of group names"),
        (1, {"sdtype": "ordinal"}, "cannot be used with sdtype 'ordinal'"),
        (1, {"sdtype": "numerical", "range_values": None}, "cannot be used with sdtype 'numerical'"),
        (1, {"sdtype": "categorical", "range_values": None}, "also list the values"),
        (1, {"buckets": [0] * 5}, "leave groups out"),
    ):
        with pytest.raises(ValueError, match=f"code.*{said}"):
            declared(groups, **words)
    for groups in ((0, 0), (0, 1, -1, 0, 0), [0] * 5, (0.5,) * 5):  # one for every value
        with pytest.raises(ValueError, match="groups"):
            Attribute(name="code", kind="categorical", values=tuple(ICD), groups=groups)


@pytest.mark.parametrize("groups", [1, None])
def test_they_survive_in_a_domain_and_in_a_release(groups, tmp_path):
    attribute = declared(groups)
    Domain((attribute,)).save(tmp_path / "d.json")
    assert Domain.load(tmp_path / "d.json")["code"] == attribute
    written = json.loads(json.dumps(write_attribute(attribute)))
    assert ("groups" in written) == (groups is not None)  # releases without groups are written as before
    assert read_column(DocumentNode(written, "a")) == attribute

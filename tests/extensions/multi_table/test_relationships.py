"""How tables hang together: every metadata that cannot be is refused in one clear line, before any row."""

import itertools
import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pandas as pd
import pytest
from trees import ENDS, metadata_of

from sdv_plausible.extensions.multi_table.multi_table_synthesizer import (
    PlausibleDeniabilityMultiTableSynthesizer,
)
from sdv_plausible.extensions.multi_table.relationships import (
    MOST_CHILDREN,
    MOST_ROWS,
    Relationship,
    TableTree,
    read_tree,
)
from sdv_plausible.privacy.neighbours import Neighbours, RelatedTablesUnit, neighbours_from_fields
from sdv_plausible.privacy.parameter_checks import Refused

KEY, CATEGORY = {"sdtype": "id"}, {"sdtype": "categorical"}
METADATA = metadata_of(
    {
        "homes": {"home": "id", "tenure": "categorical"},
        "people": {"person": "id", "of": "id", "age": "numerical"},
    },
    ("homes", "home", "people", "of"), keys=("people", "person"),
)  # fmt: skip
Change = Callable[[dict[str, Any]], Any]


def renamed(table: str, old: str, new: str) -> Change:
    def change(said: dict[str, Any]) -> None:
        columns = said["tables"][table]["columns"]
        columns[new] = columns.pop(old)

    return change


def named(old: str, new: str) -> Change:
    def change(said: dict[str, Any]) -> None:
        said["tables"][new] = said["tables"].pop(old)
        for relation in said["relationships"]:
            for word in ("parent_table_name", "child_table_name"):
                relation[word] = new if relation[word] == old else relation[word]

    return change


def related(**words: Any) -> Change:
    return lambda said: said["relationships"][0].update(words)


def more(**words: Any) -> Change:
    return lambda said: said["relationships"].append({**said["relationships"][0], **words})


REFUSED: dict[str, tuple[Change, str]] = {
    "a cycle": (
        more(parent_table_name="people", parent_primary_key="person", child_table_name="homes",
            child_foreign_key="home"), "2 relationships"),
    "two relationships": (more(child_foreign_key="person"), "people has several parents, or one twice"),
    "two parents": (
        lambda said: (said["tables"].update(towns={"primary_key": "town", "columns": {"town": {"sdtype": "id"}}}),
            more(parent_table_name="towns", parent_primary_key="town")(said)), "people has several parents"),
    "two roots": (lambda said: said["tables"].update(towns={"columns": {}}), "fit what does not hang together apart"),
    "a chain whose middle has no key": (
        lambda said: (
            said["tables"].update(trips={"columns": {"by": {"sdtype": "id"}}}),
            said["tables"]["people"].pop("primary_key"),
            said["relationships"].append(dict(zip(ENDS, ("people", "person", "trips", "by"), strict=True))),
        ), "names 'person' of 'people', which must be its primary key (None)",
    ),
    "names that one dot makes one": (
        lambda said: (
            said["tables"].update({"homes.x": {"columns": {"of": {"sdtype": "id"}, "y": {"sdtype": "categorical"}}}}),
            said["tables"]["homes"]["columns"].update({"x.y": {"sdtype": "categorical"}}),
            more(child_table_name="homes.x")(said)), "the names homes.x.y stand for"),
    "no relationship": (lambda said: said["relationships"].clear(), "0 relationships"),
    "one table": (lambda said: (said["tables"].pop("homes"), said["relationships"].clear()),
        "PlausibleDeniabilitySynthesizer fits one table"),
    "a table that hangs on itself": (related(child_table_name="homes", child_foreign_key="tenure"),
        "homes is its own parent, which is not supported"),
    "a table that is not there": (related(child_table_name="pets"), "names pets, which is no table"),
    "a key of two columns": (related(parent_primary_key=["home", "tenure"]), "must be one column"),
    "a foreign key of two": (related(child_foreign_key=["of", "age"]), "must be one column"),
    "a key that is no text": (related(child_foreign_key=3), "must be one column"),
    "a foreign key that is not there": (related(child_foreign_key="lost"),
        "table 'people' has no column 'lost', which is its key"),
    "a key that is not there": (related(parent_primary_key="lost"),
        "table 'homes' has no column 'lost', which is its key"),
    "a key that is modelled": (lambda said: said["tables"]["homes"]["columns"]["home"].update(sdtype="numerical"),
        "key 'home' of table 'homes' has sdtype 'numerical' and must have 'id'"),
    "a foreign key that is modelled": (
        lambda said: said["tables"]["people"]["columns"]["of"].update(sdtype="categorical"),
        "key 'of' of table 'people' has sdtype 'categorical' and must have 'id'"),
    "another primary key": (lambda said: said["tables"]["homes"].update(primary_key="tenure"),
        "must be its primary key ('tenure')"),
    "no primary key": (lambda said: said["tables"]["homes"].pop("primary_key"), "must be its primary key (None)"),
    "a child's key that is its parent's": (lambda said: said["tables"]["people"].update(primary_key="of"),
        "say max_children=1"),
    "the count's name": (renamed("homes", "tenure", "number of people"), "number of people stand for"),
    "a parent's name beside": (renamed("people", "age", "homes.tenure"), "the names homes.tenure stand for"),
    "a sibling's name": (renamed("people", "age", "sibling.of"), "the names sibling.of"),
    "a name as siblings have": (renamed("people", "age", "sibling.height"), "the names sibling.height stand for"),
    "a parent named sibling": (named("homes", "sibling"), "the names sibling stand for"),
    "no columns": (lambda said: said["tables"].update(people={}), "no column 'of'"),
}  # fmt: skip
NO_METADATA: list[Any] = [
    None, 3, "metadata", [], {}, pd.DataFrame(), {"columns": {}}, {"tables": 3}, {"tables": {}},
    {"tables": [], "relationships": {}}, {"tables": {1: {}}, "relationships": []},
    {"tables": {1: {}, "b": {}}, "relationships": []},
    {"tables": {"a": 3, "b": {}}, "relationships": [{}]}, {"tables": {"a": {"columns": 3}}, "relationships": []},
    {"tables": {"a": {}, "b": {}}, "relationships": [3]}, {"tables": {"a": {}, "b": {}}, "relationships": [{}]},
    {"tables": {"a": {"columns": {"x": {}}}}, "relationships": [{}]},
    {"tables": {"a": {"columns": 3}, "b": {}}, "relationships": [{"parent_table_name": "a", "child_table_name": "b"}]},
    {"tables": {"a": {}, "b": {}}, "relationships": [{"parent_table_name": ["a"], "child_table_name": "b"}]},
]  # fmt: skip
DOORS: tuple[Callable[[Any], Any], ...] = (
    lambda m: read_tree(m, 8),
    PlausibleDeniabilityMultiTableSynthesizer,
)


def changed(change: Change) -> dict[str, Any]:
    said = json.loads(json.dumps(METADATA))  # in which no two columns are one object
    change(said)
    return dict(said)


def test_what_cannot_be_is_refused_in_one_line():
    for (case, (change, words)), door in itertools.product(REFUSED.items(), DOORS):
        with pytest.raises(Refused) as told:
            door(changed(change))
        assert words in str(told.value), case
        assert "\n" not in str(told.value)
        assert str(told.value).startswith("metadata")


def test_what_is_no_metadata_is_refused():
    for metadata, door in itertools.product(NO_METADATA, DOORS):
        with pytest.raises(Refused, match="metadata .* must"):
            door(metadata)


def test_the_bound_on_children_is_a_public_whole_number_for_each_table_that_hangs_on_another():
    for most in (0, -1, 1.5, "8", None, MOST_CHILDREN + 1, True):
        with pytest.raises(Refused, match="max_children"):
            read_tree(METADATA, most)
        with pytest.raises(Refused, match="max_children of people"):
            read_tree(METADATA, {"people": most})
    for bounds in ({}, {"homes": 3}, {"people": 3, "pets": 3}):
        with pytest.raises(Refused, match=r"a number, or one for each of people"):
            read_tree(METADATA, bounds)
    assert read_tree(METADATA, {"people": 3})[0].rows("people") == 3


def chain(length: int) -> dict[str, Any]:
    """Tables of which each hangs on the one before."""
    links = [(f"t{i}", "key", f"t{i + 1}", "of") for i in reversed(range(length - 1))]
    tables = {f"t{i}": {"key": "id", "of": "id", "age": "numerical"} for i in range(length)}
    return metadata_of(tables, *links, keys=(f"t{length - 1}", "key"))


def test_of_a_chain_a_family_has_the_product_of_its_bounds():
    tree = read_tree(chain(4), {"t1": 2, "t2": 3, "t3": 5})[0]
    assert tree.tables == ("t0", "t1", "t2", "t3")
    assert [tree.rows(name) for name in tree.tables] == [1, 2, 6, 30]
    assert tree.family.rows == 30
    assert (
        "any one family (a row of t0 with all rows of t1 that name it in of, of which at most 2 are used, "
        in (tree.family.relation)
    )
    assert "a row of t2 that is used in of, of which at most 5 are used of each" in tree.family.unit
    assert MOST_CHILDREN**2 == MOST_ROWS
    with pytest.raises(Refused, match="one family may have 1,000,000,000 rows of 't3'"):
        read_tree(chain(4), MOST_CHILDREN)
    with pytest.raises(Refused, match="one family may have 2,000,000 rows of 't3'"):
        read_tree(chain(4), {"t1": MOST_CHILDREN, "t2": MOST_CHILDREN, "t3": 2})


def test_links_that_are_no_tree_are_refused_wherever_they_come_from():
    """As from a file, which nobody checked."""
    for links in ((), ("ab", "ab"), ("bc", "ab"), ("ab", "cd"), ("ab", "ba")):
        with pytest.raises(ValueError, match="links"):
            TableTree(
                links=tuple(
                    Relationship(parent=a, child=b, primary_key="k", foreign_key="f", most=2)
                    for a, b in links
                )
            )


def test_the_link_that_is_there():
    tree, columns, keys = read_tree(METADATA, 8)
    (link,) = tree.links
    assert (link.parent, link.child, link.primary_key, link.foreign_key) == ("homes", "people", "home", "of")
    assert (link.most, [*columns["homes"]]) == (8, ["home", "tenure"])
    assert [*columns["people"]] == ["person", "of", "age"]
    assert keys == {"homes": "home", "people": "person"}
    one = changed(lambda said: said["tables"]["people"].update(primary_key="of"))
    assert read_tree(one, 1)[0].rows("people") == 1
    listed = changed(related(parent_primary_key=["home"], child_foreign_key=["of"]))
    assert read_tree(listed, 8)[0] == tree


def test_the_unit_is_the_same_after_a_file():
    family = read_tree(METADATA, 8)[0].family
    words = json.loads(json.dumps(asdict(family)))
    assert neighbours_from_fields(words) == family != neighbours_from_fields({"rows": 8, "person": "of"})
    assert type(neighbours_from_fields({"rows": 8})) is Neighbours
    assert (
        "one family (a row of homes with all rows of people that name it in of, of which at most 8 are used)"
        in (family.unit)
    )
    assert isinstance(family, RelatedTablesUnit)


DECLARED = {
    "a column that is not there": {"people": {"lost": {"range_min": 0, "range_max": 3}}},
    "the count": {"homes": {"number of people": {"range_min": 0, "range_max": 3}}},
    "a parent's column": {"people": {"homes.tenure": {"range_values": ["x"]}}},
    "a sibling's column": {"people": {"sibling.age": {"range_min": 0, "range_max": 3}}},
    "a key": {"homes": {"home": {"sdtype": "categorical", "range_values": ["a"]}}},
    "a foreign key": {"people": {"of": {"sdtype": "categorical", "range_values": ["a"]}}},
    "a table that is not there": {"pets": {}},
    "no mapping": {"people": 5},
}


def test_declarations_that_fit_no_column_are_refused_before_anything_is_paid():
    for domain in DECLARED.values():
        with pytest.raises(Refused) as told:
            PlausibleDeniabilityMultiTableSynthesizer(METADATA, domain=domain)
        assert "\n" not in str(told.value)


def test_a_child_without_a_column_to_model_is_refused():
    bare = changed(lambda said: said["tables"]["people"]["columns"].pop("age"))
    with pytest.raises(Refused, match="'people' must have a column that is modelled beside its keys"):
        PlausibleDeniabilityMultiTableSynthesizer(bare)


def _two_tables(column: str, **options: Any) -> PlausibleDeniabilityMultiTableSynthesizer:
    tables = {"H": {"h": "id", column: "categorical"}, "P": {"h": "id", "s": "categorical"}}
    domain = {"H": {column: {"range_values": ["a", "b"]}}, "P": {"s": {"range_values": ["x", "y"]}}}
    return PlausibleDeniabilityMultiTableSynthesizer(
        metadata_of(tables, ("H", "h", "P", "h")), domain=domain, types="declared", **options
    )


def test_a_name_that_is_too_long_beside_a_row_is_refused_before_a_fit():
    """Its table's name and a point stand before it there. Control: two letters less."""
    with pytest.raises(ValueError, match=r"name 'H\.n+.* 1,001 letters.*: rename"):
        _two_tables("n" * 999)
    _two_tables("n" * 998)


def test_a_delta_that_leaves_a_table_no_epsilon_is_refused_by_name():
    with pytest.raises(ValueError, match=r"delta \(0\.4\) must be smaller"):
        _two_tables("n", delta=0.4)
    _two_tables("n", delta=1e-3)

"""From fields to a release: figures, choices, rules; and a plan before any row."""

import json
from dataclasses import replace

import pytest
from reviewing import COLUMNS, write_people

from sdv_plausible.table.declared.domain_file import drafted
from sdv_plausible.web.app.order import EXAMPLES, USUAL, in_lines, parse_rules, read_order, with_inequality
from sdv_plausible.web.forms import place_of
from sdv_plausible.web.review.review import Table


@pytest.fixture
def read(tmp_path):
    table = Table(write_people(tmp_path / "people.csv"), tuple(COLUMNS), {"encoding": "utf-8"})

    def made(columns=COLUMNS, **texts):
        return read_order(table, drafted(table.names, columns), texts)

    return made


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("epsilon", "a"), ("epsilon", ""), ("rows", "0"), ("rows", "1.5"), ("rows", "inf"), ("rows", "1e15"), ("k", "x"),
        ("table_rows", "-1"), ("model", "gan"), ("test", ""), ("person", "nobody"), ("rules", "{"),
        ("rules", "{}"), ("rules", '[{"rule": "none"}]'), ("blank", "guess"),
    ],
)  # fmt: skip
def test_refused_beside_its_field(read, name, text):
    order, refusals = read(**{name: text})
    assert order is None
    assert list(refusals) == [name]
    assert refusals[name].startswith((name, "rule "))


@pytest.mark.parametrize("text", ["-1", "nan"])
def test_refused_by_the_synthesizer(read, text):
    order, _ = read(epsilon=text)
    with pytest.raises(ValueError, match="epsilon") as refused:
        order.plan()
    assert place_of(refused.value, USUAL) == "epsilon"


def test_a_plan(read):
    order, refusals = read(table_rows="20,000")
    assert refusals == {}
    plan = order.plan()
    assert plan.ledger.total() == pytest.approx(1, rel=1e-3)
    assert plan.forecast.rows == 20_000


def test_columns_left_blank(read):
    some = {name: words for name, words in COLUMNS.items() if name != "age"}
    voted, _ = read(some)
    assert voted.open_columns == ("age",)
    assert "types" in [entry.name for entry in voted.plan().ledger.entries]
    assert voted.plan().ledger.total() <= 1 + 1e-9
    left, _ = read(some, blank="leave")
    assert left.open_columns == ()
    assert "age" not in left.declared.columns
    none, _ = read({}, blank="leave")
    with pytest.raises(ValueError, match="every column is left out"):
        none.plan()


def test_a_person_that_was_left_blank_is_not_edited_by_being_chosen(read):
    """Its words follow from the choice: after a look at the blank the same order lost its claim."""
    rest = {name: words for name, words in COLUMNS.items() if name != "id"}
    order, _ = read(rest, person="id")
    seen = replace(order, file=order.file.looked_at([*COLUMNS]))
    assert "id" in seen.file.looked
    assert seen.plan().ledger.claims_privacy
    words = {**seen.file.columns, "age": {"sdtype": "numerical", "range_min": 1, "range_max": 98}}
    assert not replace(seen, file=replace(seen.file, columns=words)).plan().ledger.claims_privacy


def test_a_person_is_no_blank_and_a_vote_goes_with_one(read):
    rest = {name: words for name, words in COLUMNS.items() if name != "id"}
    order, _ = read(rest, person="id", rows_per_person="3")
    assert "at most 3" in order.plan().ledger.sentence()
    order, _ = read({}, person="id", rows_per_person="3")
    assert order.open_columns == tuple(name for name in COLUMNS if name != "id")
    ledger = order.plan().ledger
    assert "types" in [entry.name for entry in ledger.entries]
    assert "at most 3" in ledger.sentence()


def test_the_rows_that_a_row_by_row_test_charges_are_those_to_make(read):
    few, _ = read(test="randomized", rows="10")
    many, _ = read(test="randomized", rows="1000")
    assert few.plan().ledger.total() < many.plan().ledger.total()
    paid, _ = read(test="randomized", rows="10", row_cap="1000")
    assert paid.plan().ledger.total() == many.plan().ledger.total()
    low, _ = read(test="randomized", rows="10", row_cap="9")
    with pytest.raises(
        ValueError, match=r"row_cap \(9\) must be at least the rows that are asked for \(10\)"
    ) as refused:
        low.plan()
    assert place_of(refused.value, USUAL) == "row_cap"


def test_rows_that_are_drawn_again_are_paid_for_if_it_is_said_how_many(read):
    """At this door there was no way out."""
    rules = '[{"rule": "forbidden", "when": {"sex": "1", "town": "Bern"}}]'
    order, refusals = read(test="randomized", rows="10", rules=rules)
    assert refusals == {}
    with pytest.raises(ValueError, match="drawn again: .* row_cap, such as 20") as refused:
        order.plan()
    assert place_of(refused.value, USUAL) == "test"
    paid, _ = read(test="randomized", rows="10", rules=rules, row_cap="20")
    assert "first 20 rows" in paid.plan().ledger.sentence()


def test_rules(read):
    assert len(parse_rules(in_lines([rule.to_dict() for rule in EXAMPLES]))) == 3  # those of the page
    text = with_inequality("", {"low": "age", "high": "id"})
    assert json.loads(with_inequality(text, {"low": "id", "high": "sex"}))[1]["high"] == "sex"
    for pair in ({}, {"low": "age"}, {"low": "age", "high": "age"}):
        with pytest.raises(ValueError, match="two columns that differ"):
            with_inequality("", pair)
    order, _ = read(rules='[{"rule": "forbidden", "combinations": [{"sex": "1", "town": "Bern"}]}]')
    assert order is None or "rules" in [entry.name for entry in order.plan().ledger.entries]


def test_every_usual_text_is_taken(read):
    assert read(**USUAL)[1] == {}

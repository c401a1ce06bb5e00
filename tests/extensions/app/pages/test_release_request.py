"""From fields to a release: figures, choices, rules; and a plan before any row."""

import json
from dataclasses import replace

import pytest
from reviewing import COLUMNS, write_people

from sdv_plausible.extensions.app.forms import field_of_error
from sdv_plausible.extensions.app.pages.release_request import (
    EXAMPLES,
    USUAL,
    parse_rules,
    read_request,
    rules_to_json,
    with_inequality,
)
from sdv_plausible.extensions.app.review.review import ReviewedTable
from sdv_plausible.table.declared.domain_file import draft_domain_file


@pytest.fixture
def read(tmp_path):
    table = ReviewedTable(write_people(tmp_path / "people.csv"), tuple(COLUMNS), {"encoding": "utf-8"})

    def made(columns=COLUMNS, **texts):
        return read_request(table, draft_domain_file(table.names, columns), texts)

    return made


def test_refused_beside_its_field(read):
    wrong = {
        "epsilon": ["a", ""], "rows": ["0", "1.5", "inf", "1e15"], "k": ["x"], "table_rows": ["-1"], "model": ["gan"],
        "test": [""], "person": ["nobody"], "rules": ["{", "{}", '[{"rule": "none"}]'], "blank": ["guess"],
    }  # fmt: skip
    for name, text in ((name, text) for name, texts in wrong.items() for text in texts):
        order, refusals = read(**{name: text})
        assert (order, list(refusals)) == (None, [name])
        assert refusals[name].startswith((name, "rule "))


def refused_by_plan(order, words):
    """The field beside which a plan is refused."""
    with pytest.raises(ValueError, match=words) as refused:
        order.plan()
    return field_of_error(refused.value, USUAL)


def test_a_plan(read):
    assert read(**USUAL)[1] == {}
    order, refusals = read(table_rows="20,000")
    assert refusals == {}
    plan = order.plan()
    assert plan.ledger.total() == pytest.approx(1, rel=1e-3)
    assert plan.forecast.rows == 20_000
    assert {refused_by_plan(read(epsilon=text)[0], "epsilon") for text in ("-1", "nan")} == {"epsilon"}


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


def test_whether_to_go_on_with_too_few_rows_is_a_choice(read):
    for few, anyway in (({}, False), ({"few": "stop"}, False), ({"few": "go_on"}, True)):
        assert read({"age": {"sdtype": "numerical"}}, **few)[0].synthesizer().anyway is anyway
    assert "few" in read({"age": {"sdtype": "numerical"}}, few="perhaps")[1]


def test_at_least_k_records_behind_a_row_stay_within_the_total(read):
    order, refusals = read(test="release_k", k="20", epsilon="2")
    assert refusals == {}
    test = order.synthesizer()
    plan = order.plan()
    assert (test.test.k, test.test.omega.high) == (20, 3)  # one of four modelled columns is kept
    costs = {entry["name"]: entry["epsilon"] for entry in plan.ledger.to_dict()["entries"]}
    assert costs["seeds"] == 1
    assert 0.9 < costs["model"] <= 1
    assert 1.9 < plan.ledger.total() <= 2
    assert "(20, 1)-plausible deniability holds for every row" in str(plan.ledger)
    assert read(test="release", k="20", epsilon="2")[0].plan().ledger.total() <= 2  # control: k is not used
    some = {name: words for name, words in COLUMNS.items() if name != "age"}
    assert refused_by_plan(read(some, test="release_k")[0], "declare the types of age") == "test"
    assert read(some, test="release_k", blank="leave")[0].synthesizer().test.omega.high == 2
    assert refused_by_plan(read(test="release_k", epsilon="-1")[0], r"epsilon \(-1") == "epsilon"


def test_the_rows_that_a_row_by_row_test_charges_are_those_to_make(read):
    def order(**texts):
        return read(test="randomized", **{"rows": "10", **texts})[0]

    many = order(rows="1000").plan().ledger.total()
    assert order().plan().ledger.total() < many == order(row_cap="1000").plan().ledger.total()
    words = r"row_cap \(9\) must be at least the number of requested rows \(10\)"
    assert refused_by_plan(order(row_cap="9"), words) == "row_cap"
    # Rows that are drawn again are paid for if it is said how many.
    rules = '[{"rule": "forbidden", "when": {"sex": "1", "town": "Bern"}}]'
    assert (
        refused_by_plan(
            order(rules=rules), "drawn again. .* row_cap to the number of rows to draw, such as 20"
        )
        == "test"
    )
    assert "first 20 rows" in order(rules=rules, row_cap="20").plan().ledger.sentence()


def test_rules(read):
    assert len(parse_rules(rules_to_json([rule.to_dict() for rule in EXAMPLES]))) == 3  # those of the page
    text = with_inequality("", {"low": "age", "high": "id"})
    assert json.loads(with_inequality(text, {"low": "id", "high": "sex"}))[1]["high"] == "sex"
    for pair in ({}, {"low": "age"}, {"low": "age", "high": "age"}):
        with pytest.raises(ValueError, match="two columns that differ"):
            with_inequality("", pair)
    order, _ = read(rules='[{"rule": "forbidden", "combinations": [{"sex": "1", "town": "Bern"}]}]')
    assert order is None or "rules" in [entry.name for entry in order.plan().ledger.entries]

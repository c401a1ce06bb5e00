"""Messages on columns: one sentence, one table, and hints in the words of the reader."""

from __future__ import annotations

import copy
import pickle

import pytest

from sdv_plausible.utils.messages import ColumnNote, attention_table, translate

RARE = ColumnNote({"ward": "13%", "mixed": "89%"}, "of the cells are rare", "Declare them (domain=...).")
EMPTY = ColumnNote(["mixed"], "no value survived", "Raise epsilon.")


@pytest.mark.parametrize(
    ("hint", "command", "page", "ledger"),
    [
        ("Declare it (domain=...)", "Declare it (--domain FILE)", "Declare it on the page Columns", "Declare it"),
        (
            'Declare it (domain={"a": {"sdtype": "id"}}), or raise epsilon',
            'Declare it (--domain FILE with {"a": {"sdtype": "id"}}), or raise epsilon',
            "Declare it on the page Columns, or raise epsilon",
            "Declare it, or raise epsilon",
        ),
        (
            'Declare it (domain={"a": {}}; dates too)',
            'Declare it (--domain FILE with {"a": {}}; dates too)',
            "Declare it on the page Columns (dates too)",
            "Declare it",
        ),
        ("set types=\"voted\", undeclared='private'", "set --types voted, --undeclared private", None, None),
        ("fit: anyway=True", "fit: --anyway", "fit: choose so on the page Budget", None),
        (
            "synth.check(table) shows why",
            "sdv-plausible check shows why",
            "Compare on the page Columns",
            None,
        ),
        ("list them (na_values)", "list them (--na-values)", "list them as texts for missing on the page Table", "list them"),
        ("fewer, or use test='release'", "fewer, or use --test release", "fewer, or choose another privacy test", None),
        ("plain words", "plain words", "plain words", "plain words"),
    ],
)  # fmt: skip
def test_hints_are_in_the_words_of_the_reader(hint, command, page, ledger):
    assert translate(hint, "command") == command
    assert translate(hint, "page") == (page or hint)
    assert translate(hint, "ledger") == (ledger or hint)


def test_a_note_is_a_sentence_that_keeps_its_parts():
    assert RARE == "ward (13%), mixed (89%): these shares of the cells are rare. Declare them (domain=...)."
    assert EMPTY == "mixed: no value survived. Raise epsilon."
    for same in (copy.copy(RARE), copy.deepcopy(RARE), pickle.loads(pickle.dumps(RARE))):
        assert (same, same.columns, same.way_out) == (RARE, RARE.columns, RARE.way_out)
    assert RARE.of_table("visits").startswith("visits: ward (13%), visits: mixed (89%): these")
    assert "\n" not in ColumnNote(["a\nb"], "odd", "Rename it.")


def test_a_table_has_one_block_for_each_column():
    assert attention_table([RARE, EMPTY], "command").splitlines() == [
        "  column  what happened              what to do",
        "  ward    13% of the cells are rare  Declare them (--domain FILE).",
        "  mixed   89% of the cells are rare  Declare them (--domain FILE).",
        "          No value survived          Raise epsilon.",
    ]


def test_long_cells_are_wrapped_and_control_characters_escaped():
    note = ColumnNote(["a\x1b[2J", "b" * 60], "long " * 30, 'Declare it (domain={"a\x1b[2J": {}}).')
    table = attention_table([note])
    assert max(map(len, table.splitlines())) < 115
    assert "\x1b" not in table
    assert "b" * 24 in table


def test_of_notes_with_the_same_way_out_the_first_is_shown():
    again = ColumnNote({"mixed": "up to 94%"}, "of the values may be lost", EMPTY.way_out)
    table = attention_table([EMPTY, again, ColumnNote(["x"], "odd", 'Declare (domain={"x": 1}).')])
    assert "No value survived" in table
    assert "94%" not in table


def test_an_example_names_the_column_of_its_line():
    table = attention_table([ColumnNote(["a", "b"], "odd", 'Declare it (domain={"a": {}}).')])
    assert '(domain={"b": {}})' in table

"""Texts of a file are quoted on one line, after words that say whose they are."""

from __future__ import annotations

from sdv_plausible.privacy.foreign_texts import LONGEST, entry_name, plain_or_quoted, quoted, says


def test_a_quoted_text_cannot_end_its_quotation_or_line() -> None:
    found = quoted('Certified" Total epsilon 0.001\nby the office\x1b[2J')
    assert found.count('"') == 2
    assert found.isprintable()
    assert len(quoted("x" * 3 * LONGEST)) < LONGEST + 10
    assert says("Certified") == 'The file says: "Certified"'


def test_names_that_are_no_word_are_quoted() -> None:
    assert plain_or_quoted("income_2") == "income_2"
    assert plain_or_quoted("income. Total epsilon 0") == '"income. Total epsilon 0"'
    assert entry_name("model") == "model"
    assert entry_name("persons: model") == "persons: model"
    assert entry_name("certified model") == '"certified model"'
    assert entry_name("epsilon 0: model") == '"epsilon 0": model'

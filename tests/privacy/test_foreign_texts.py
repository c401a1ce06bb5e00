"""Texts of a file are quoted on one line, after words that say whose they are."""

from __future__ import annotations

from sdv_plausible.privacy.ledger_record import MAX_QUOTED, entry_name, plain_or_quoted, quoted, says


def test_a_text_cannot_leave_its_quotation_marks_or_line() -> None:
    lie = 'Certified" Total epsilon 0.001\nby the office\x1b[2J'
    for text in (lie, 'a" b', "a\nb", "\x1b[31m", "\u202eb", "a" * 3 * MAX_QUOTED):
        found = quoted(text)
        assert found.count('"') == 2
        assert found[0] == found[-1] == '"'
        assert found.isprintable()
        assert len(found) <= MAX_QUOTED + 5
    assert says("Certified") == 'The file says: "Certified"'


def test_one_word_is_a_name_and_more_are_quoted() -> None:
    for name in ("ward", "größe_2", "income_2"):
        assert plain_or_quoted(name) == name
    for name in ("a b", "x" * 99, "income. Total epsilon 0"):
        assert plain_or_quoted(name) == f'"{name}"'
    for name in ("model", "public table", "homes: model", "persons: model"):
        assert entry_name(name) == name
    for name in ("ok", "certified model"):
        assert entry_name(name) == f'"{name}"'
    for table in ("my homes", "epsilon 0"):
        assert entry_name(f"{table}: model") == f'"{table}": model'

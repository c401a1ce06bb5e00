"""Control characters of foreign text are written out; what is readable stays."""

from __future__ import annotations

from sdv_plausible.utils.text_output import escape_controls


def test_control_characters_are_written_out():
    """Escape sequences, bells, NUL, turned writing and lone surrogates; lines and tabs stay where they are kept."""
    for hostile in ("\x1b[2J", "\x07", "\0", "\x9b", "\u202e", "\u2066", "\u2028", "\ud800"):
        found = escape_controls(f"a{hostile}b")
        assert found.isprintable(), hostile
        assert found == f"a\\u{ord(hostile[0]):04x}{hostile[1:]}b"
    assert escape_controls("a\n\tb") == "a\n\tb"
    assert escape_controls("a\nb", keep="") == "a\\u000ab"
    assert escape_controls("Zürich 東京 100 %") == "Zürich 東京 100 %"

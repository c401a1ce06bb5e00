"""What a notebook shows: the words of the text form, escaped."""

from __future__ import annotations

import math
from html import unescape
from re import sub

from sdv_plausible.utils.html_templates import count, decimals, fragment, percent, text

HOSTILE = "<script>alert(1)</script> & co"


def test_everything_is_escaped_and_nothing_is_lost():
    given = {"rows": [(HOSTILE, "b")], "notes": [HOSTILE]}
    found = fragment(HOSTILE, head=("x", HOSTILE), **given)
    assert "<script" not in found
    words = unescape(sub("<[^>]+>", "\n", found))
    assert words.count(HOSTILE) == 4
    assert text(HOSTILE, **given).count(HOSTILE) == 3  # plain text needs no head


def test_text_is_aligned_and_numbers_are_written_once():
    assert text("t", [("a", "b"), ("ccc", "d")], ["n"]) == "t\n  a    b\n  ccc  d\n  n"
    assert text("t") == "t"
    assert "<table" not in fragment("t", notes=["n"])
    assert [percent(share) for share in (0.25, 1, math.nan)] == ["25.0%", "100.0%", "n/a"]
    assert count(1234567) == "1,234,567"
    assert decimals(0.25) == "0.250"

"""A failed comparison of two long values is reported without a line-by-line diff, also in CI."""

from __future__ import annotations

import difflib

import pytest
from comparing import check_same, first_difference

ONE, OTHER = ([f"{i} {side}" for i in range(30)] for side in "ab")


@pytest.mark.parametrize("where", ["", "CI", "BUILD_NUMBER"])
def test_a_failing_assertion_compares_no_lines(where, monkeypatch):
    """Controls: the second and third case, where pytest computes the diff because a variable is set."""
    if where:
        monkeypatch.setenv(where, "true")
    explained = []
    honest = difflib.ndiff
    monkeypatch.setattr(difflib, "ndiff", lambda *lines: explained.append(lines) or honest(*lines))
    with pytest.raises(AssertionError):
        assert ONE == OTHER
    assert bool(explained) == bool(where)


def test_the_first_difference_is_said():
    with pytest.raises(AssertionError, match="the state: at 0: '0 a'|the state: at 0: \\['0 a'"):
        check_same(ONE, OTHER, "the state")
    check_same(ONE, list(ONE), "the state")
    assert first_difference({"a": 1, "b": 2}, {"a": 1}) == "at 'b': 2 against 'nothing'"
    assert first_difference({"a": 1}, {"a": 1, "b": 2}) == "there is also ['b']"
    assert first_difference([1], [1, 2]) == "1 against 2 elements"
    assert first_difference("same", b"same") == "'same' against b'same'"
    assert len(first_difference("x" * 10_000, "y" * 10_000)) < 300

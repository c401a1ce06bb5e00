"""Rows that are asked for are paid for, unless more are said; where rows are drawn again it must be said."""

from __future__ import annotations

import pytest

from sdv_plausible.fitting.arguments import paid_row_cap
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.rules.conditions import Forbidden
from sdv_plausible.rules.derived_columns import Sum

MAKING, LIMITING = Sum("total", ("room", "meals")), Forbidden({"sex": "f"})


def test_what_is_paid_for():
    for rows, rules, row_cap, paid in ((5, [], None, 5), (0, [MAKING], None, 1), (5, [], 5, 5), (5, [LIMITING], 9, 9)):  # fmt: skip
        assert paid_row_cap(rows, rules, row_cap) == paid
    for rules, row_cap, field in (([LIMITING, MAKING], None, "test"), ([], 4, "row_cap"), ([LIMITING], 4, "row_cap")):  # fmt: skip
        with pytest.raises(Refused) as refused:
            paid_row_cap(5, rules, row_cap)
        assert refused.value.field == field

"""Rules that hold in every row, declared without the rows: they cost no privacy and hold in every sample.

The names below load on first use: a table without rules needs none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdv_plausible.utils.late import late_names

if TYPE_CHECKING:
    from sdv_plausible.rules.conditions import Allowed, Forbidden, Implies
    from sdv_plausible.rules.determined import Determined
    from sdv_plausible.rules.making import Equal, Sum
    from sdv_plausible.rules.moments import DateAndTime
    from sdv_plausible.rules.multiples import Multiple
    from sdv_plausible.rules.one_hot import OneHot
    from sdv_plausible.rules.rule import Rule
    from sdv_plausible.rules.spacing import Inequality
    from sdv_plausible.rules.written import save_rules

__all__ = [
    "Allowed",
    "DateAndTime",
    "Determined",
    "Equal",
    "Forbidden",
    "Implies",
    "Inequality",
    "Multiple",
    "OneHot",
    "Rule",
    "Sum",
    "save_rules",
]

_HOME = {
    "Allowed": "conditions",
    "DateAndTime": "moments",
    "Determined": "determined",
    "Equal": "making",
    "Forbidden": "conditions",
    "Implies": "conditions",
    "Inequality": "spacing",
    "Multiple": "multiples",
    "OneHot": "one_hot",
    "Rule": "rule",
    "Sum": "making",
    "save_rules": "written",
}

__getattr__, __dir__ = late_names(__name__, _HOME)

"""Rules that hold in every row, declared without the rows: they cost no privacy and hold in every sample."""

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

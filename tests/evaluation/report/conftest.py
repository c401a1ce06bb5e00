"""A report of two tables."""

import copy

import pytest
from report_cases import DIAGNOSTICS, QUICK, STRUCTURE, Ledger

from sdv_plausible.evaluation import PlausibleDeniabilityReport


@pytest.fixture
def described():
    kinds = {"id": "id", "ticket": "categorical", "city": "categorical", "member": "boolean", "age": "numerical",
             "children": "numerical", "income": "numerical", "start": "datetime", "grade": "categorical"}  # fmt: skip
    more = {
        "email": {"sdtype": "email", "pii": True},
        "day": {"sdtype": "datetime", "datetime_format": "%d.%m.%Y"},
    }
    return {
        "columns": {**{name: {"sdtype": kind} for name, kind in kinds.items()}, **more},
        "primary_key": "id",
    }


@pytest.fixture
def tables(mixed_table):
    return mixed_table.iloc[:350].reset_index(drop=True), mixed_table.iloc[350:].reset_index(drop=True)


@pytest.fixture(scope="session")
def generated():
    """Made at the first test that asks, and kept."""
    return {}


@pytest.fixture
def report(tables, described, generated):
    if not generated:
        made = PlausibleDeniabilityReport(
            ledger=Ledger(), structure=STRUCTURE, diagnostics=DIAGNOSTICS, **QUICK
        )
        made.generate(*tables, {"tables": {"people": described}}, verbose=False)
        generated["report"] = made
    return copy.deepcopy(generated["report"])  # which a test may change

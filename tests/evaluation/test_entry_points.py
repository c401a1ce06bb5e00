"""Whatever is imported first, SDMetrics has the metrics and the report, and they are ours."""

from __future__ import annotations

import sys

import pytest
from import_orders import run_in_turn

from sdv_plausible import evaluation

ORDERS = {
    "ours first": "import sdv_plausible.evaluation as ours",
    "our metrics first": "import sdv_plausible.evaluation.metrics, sdv_plausible.evaluation as ours",
    "our report first": "from sdv_plausible.evaluation import PlausibleDeniabilityReport; import sdv_plausible.evaluation as ours",
    "sdmetrics first": "import sdmetrics.reports; import sdv_plausible.evaluation as ours",
}


SAME = (
    "from sdmetrics import reports, single_table; "
    "found = {name: getattr(single_table, name, None) or getattr(reports, name, None) for name in ours.__all__}; "
    "assert all(found[name] is getattr(ours, name) for name in ours.__all__), found"
)


@pytest.fixture(scope="module")
def raised():
    programs = {name: f"{code}; {SAME}" for name, code in ORDERS.items()}
    return run_in_turn(
        programs | {"planted": f"{ORDERS['ours first']}; ours.ModelAccuracy = object(); {SAME}"}
    )


@pytest.mark.skipif(sys.platform == "win32", reason="no fork on this platform")
@pytest.mark.parametrize("order", ORDERS)
def test_add_ons_load_in_any_order(order, raised):
    assert raised[order] == ""
    assert "AssertionError" in raised["planted"]


def test_public_names_resolve():
    assert set(evaluation.__all__) <= set(dir(evaluation))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = evaluation.nothing

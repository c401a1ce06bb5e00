"""Whatever is imported first, SDMetrics has the metrics and the report, and they are ours."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sdv_plausible import evaluation

ORDERS = {
    "ours first": "import sdv_plausible.evaluation as ours",
    "our metrics first": "import sdv_plausible.evaluation.metrics, sdv_plausible.evaluation as ours",
    "our report first": "from sdv_plausible.evaluation import PlausibleDeniabilityReport; import sdv_plausible.evaluation as ours",
    "sdmetrics first": "import sdmetrics.reports; import sdv_plausible.evaluation as ours",
}


@pytest.mark.parametrize("order", ORDERS)
def test_add_ons_load_in_any_order(order):
    code = (
        f"import warnings; warnings.filterwarnings('error', message='Failed to'); {ORDERS[order]}; "
        "from sdmetrics import reports, single_table; "
        "found = {name: getattr(single_table, name, None) or getattr(reports, name, None) for name in ours.__all__}; "
        "assert all(found[name] is getattr(ours, name) for name in ours.__all__), found"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_public_names_resolve():
    assert set(evaluation.__all__) <= set(dir(evaluation))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = evaluation.nothing

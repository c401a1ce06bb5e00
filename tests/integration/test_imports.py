"""Whatever is imported first, the class is in SDV, and SDMetrics has our metrics and report; the package itself imports nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest
from import_orders import run_in_turn

ORDERS = {
    "ours first": "from sdv_plausible import PlausibleDeniabilitySynthesizer as A; from sdv.single_table import PlausibleDeniabilitySynthesizer as B",
    "our module first": "from sdv_plausible.synthesizer import PlausibleDeniabilitySynthesizer as A; import sdv; B = sdv.single_table.PlausibleDeniabilitySynthesizer",
    "sdv first": "import sdv; from sdv.single_table import PlausibleDeniabilitySynthesizer as B; from sdv_plausible import PlausibleDeniabilitySynthesizer as A",
    "sdv's module first": "from sdv.single_table import PlausibleDeniabilitySynthesizer as B; from sdv_plausible.synthesizer import PlausibleDeniabilitySynthesizer as A",
}
METRICS = {
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
PROGRAMS = {
    **{name: f"{code}; assert A is B" for name, code in ORDERS.items()},
    **{f"metrics, {name}": f"{code}; {SAME}" for name, code in METRICS.items()},
}
PLANTED = {
    "planted": "A, B = object(), object(); assert A is B",
    "planted metrics": f"{METRICS['ours first']}; ours.ModelAccuracy = object(); {SAME}",
}


@pytest.fixture(scope="module")
def raised():
    return run_in_turn(PROGRAMS | PLANTED)


@pytest.mark.skipif(sys.platform == "win32", reason="no fork on this platform")
@pytest.mark.parametrize("order", PROGRAMS)
def test_import_orders(order, raised):
    assert raised[order] == ""
    assert all("AssertionError" in raised[name] for name in PLANTED)


def test_the_package_is_cheap_to_import():
    code = (
        "import sys, sdv_plausible; heavy = {'sdv', 'rdt', 'torch', 'opendp', 'pandas', 'sklearn', 'dp_accounting'}; "
        "assert not heavy & set(sys.modules), heavy & set(sys.modules); assert 'plan' in dir(sdv_plausible)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_public_names_resolve():
    import sdv_plausible

    for name in sdv_plausible.__all__:
        assert getattr(sdv_plausible, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = sdv_plausible.nothing

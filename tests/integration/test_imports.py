"""Whatever is imported first, the class is in SDV; the package itself imports nothing heavy."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

ORDERS = {
    "ours first": "from sdv_plausible import PlausibleDeniabilitySynthesizer as A; from sdv.single_table import PlausibleDeniabilitySynthesizer as B",
    "our module first": "from sdv_plausible.synthesizer import PlausibleDeniabilitySynthesizer as A; import sdv; B = sdv.single_table.PlausibleDeniabilitySynthesizer",
    "sdv first": "import sdv; from sdv.single_table import PlausibleDeniabilitySynthesizer as B; from sdv_plausible import PlausibleDeniabilitySynthesizer as A",
    "sdv's module first": "from sdv.single_table import PlausibleDeniabilitySynthesizer as B; from sdv_plausible.synthesizer import PlausibleDeniabilitySynthesizer as A",
}


# One process per order, forked from one that has loaded what is neither SDV's nor ours: that takes most of the time.
IN_TURN = """
import json, os, sys, traceback, warnings
import numpy, pandas, plotly.express, scipy.stats, sklearn.ensemble, torch
assert not {"sdv", "rdt", "sdmetrics", "ctgan", "copulas", "sdv_plausible"} & set(sys.modules)
for name, code in json.load(sys.stdin).items():
    child = os.fork()
    if child == 0:
        warnings.filterwarnings("error", message="Failed to load")
        try:
            exec(code)
            os._exit(0)
        except BaseException:
            print(name, traceback.format_exc(), flush=True)
            os._exit(1)
    if os.waitpid(child, 0)[1] == 0:
        print("good:", name, flush=True)
"""


@pytest.fixture(scope="module")
def told():
    orders = {name: f"{code}; assert A is B" for name, code in ORDERS.items()}
    orders["a planted failure"] = f"import sdv_plausible; {ORDERS['ours first']}; assert A is not B"
    done = subprocess.run(
        [sys.executable, "-c", IN_TURN], input=json.dumps(orders), capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="no fork on this platform")
@pytest.mark.parametrize("order", ORDERS)
def test_import_orders(order, told):
    assert f"good: {order}\n" in told
    assert "good: a planted failure" not in told


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

"""Whatever is imported first, the class is in SDV; the package itself imports nothing heavy."""

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


@pytest.fixture(scope="module")
def raised():
    orders = {name: f"{code}; assert A is B" for name, code in ORDERS.items()}
    return run_in_turn(orders | {"planted": "A, B = object(), object(); assert A is B"})


@pytest.mark.skipif(sys.platform == "win32", reason="no fork on this platform")
@pytest.mark.parametrize("order", ORDERS)
def test_import_orders(order, raised):
    assert raised[order] == ""
    assert "AssertionError" in raised["planted"]


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

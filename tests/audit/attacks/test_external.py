"""Anonymeter behind one call: a clear message where it is missing; run where an environment has it."""

from __future__ import annotations

import os
import sys

import pytest
from attacked import CopyCat, people

from sdv_plausible.audit.attacks.external import anonymeter_risks

PYTHON = os.environ.get("SDV_PLAUSIBLE_ANONYMETER")  # interpreter of an environment that has it


def test_a_missing_library_is_named_with_a_way_out() -> None:
    rows = people(50)
    with pytest.raises(ModuleNotFoundError, match="environment of its own"):
        anonymeter_risks(rows, rows, rows, python=sys.executable)


@pytest.mark.slow
@pytest.mark.skipif(PYTHON is None, reason="SDV_PLAUSIBLE_ANONYMETER names no Python with anonymeter")
def test_copies_can_be_singled_out_and_linked() -> None:
    rows, others = people(600, seed=1), people(600, seed=2)
    copies = CopyCat()
    copies.fit(rows)
    copied = {
        r.threat: r for r in anonymeter_risks(rows, others, copies.sample(600), python=PYTHON, attacks=200)
    }
    strange = {
        r.threat: r for r in anonymeter_risks(rows, others, people(600, seed=3), python=PYTHON, attacks=200)
    }
    assert copied["linkability"].risk > strange["linkability"].risk
    assert copied["singling out"].members > strange["singling out"].members

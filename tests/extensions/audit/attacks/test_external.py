"""Anonymeter behind one call: a clear message where it is missing; run where an environment has it."""

import os
import subprocess
import sys
import tempfile

import pytest
from attacked import CopyCat, people
from killing import READY, SIGNALS, ended, waiting

from sdv_plausible.extensions.audit.attacks import external
from sdv_plausible.extensions.audit.attacks.external import anonymeter_risks

PYTHON = os.environ.get("SDV_PLAUSIBLE_ANONYMETER")  # interpreter of an environment that has it


def test_a_missing_library_is_named_with_a_way_out() -> None:
    rows = people(50)
    with pytest.raises(ModuleNotFoundError, match="environment of its own"):
        anonymeter_risks(rows, rows, rows, python=sys.executable)


ATTACK = f"""
import signal, subprocess
import pandas as pd
from sdv_plausible.extensions.audit.attacks import external

def run(arguments, **options):
    if "-W" in arguments:
        {READY}
    return subprocess.CompletedProcess(arguments, 0)

external.subprocess.run = run
rows = pd.DataFrame({{"name": ["Anna"]}})
external.anonymeter_risks(rows, rows, rows, python="python")
"""


@pytest.mark.skipif(os.name != "posix", reason="there are no such locks")
def test_the_next_attack_removes_the_rows_that_a_killed_one_left(tmp_path, monkeypatch) -> None:
    def done(arguments, **options):
        seen.append(list(tmp_path.glob("*/real.csv")))
        return subprocess.CompletedProcess(arguments, 0, "", "")

    seen, rows = [], people(5)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(external.subprocess, "run", done)
    with waiting(ATTACK, TMPDIR=str(tmp_path)) as running:
        ended(running, SIGNALS[-1])
    assert list(tmp_path.glob("*/real.csv"))
    with pytest.raises(RuntimeError, match="anonymeter failed"):
        anonymeter_risks(rows, rows, rows, python="python")
    assert [len(files) for files in seen] == [1, 1]  # before its own, what was left; then its own
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.skipif(PYTHON is None, reason="SDV_PLAUSIBLE_ANONYMETER names no Python with anonymeter")
def test_copies_can_be_singled_out_and_linked() -> None:
    rows, others = people(600, seed=1), people(600, seed=2)
    copies = CopyCat()
    copies.fit(rows)
    copied, strange = (
        {r.threat: r for r in anonymeter_risks(rows, others, made, python=PYTHON, attacks=200)}
        for made in (copies.sample(600), people(600, seed=3))
    )
    assert copied["linkability"].risk > strange["linkability"].risk
    assert copied["singling out"].members > strange["singling out"].members

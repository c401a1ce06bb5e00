"""OpenDP's measurements: within the budget by their own privacy map, loaded late, and nothing of the user's changed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from opendp import mod

from sdv_plausible.privacy.noise import opendp as _opendp


@pytest.mark.parametrize("kind", ["discrete_laplace", "discrete_gaussian", "noisy_max"])
def test_opendps_own_privacy_map_stays_within_the_budget(kind: _opendp.Kind) -> None:
    exceeded = 0
    for sensitivity, budget in [(1, 0.1), (1, 1 / 3), (3, 0.7), (1, 1e-6), (100, 0.05), (7, 1e3)]:
        built, scale = _opendp.measurement(kind, sensitivity, budget)
        assert built.map(sensitivity) <= budget
        assert built.map(sensitivity) > budget * (1 - 1e-13)  # and nothing is wasted
        exceeded += _opendp._build(kind, scale * 0.999).map(sensitivity) > budget
    assert exceeded == 6  # control: a smaller scale would not do


def test_opendp_is_loaded_late_and_its_features_are_left_alone() -> None:
    script = """
import sys
from sdv_plausible.privacy.noise.mechanisms import discrete_laplace
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
assert "opendp" not in sys.modules
discrete_laplace([1], sensitivity=1, epsilon=1, rng=KeyedRNG.from_seed(1))
assert "opendp" not in sys.modules
discrete_laplace([1], sensitivity=1, epsilon=1, rng=KeyedRNG.from_os_entropy())
from opendp import mod
assert not mod.GLOBAL_FEATURES
"""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr


def test_features_that_the_user_enabled_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mod, "GLOBAL_FEATURES", {"contrib", "other"})
    _opendp._build("discrete_laplace", 1.0)
    assert {"contrib", "other"} == mod.GLOBAL_FEATURES

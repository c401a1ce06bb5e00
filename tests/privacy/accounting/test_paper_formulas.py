"""The paper's formulas as printed, and how far they are above ours."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sdv_plausible.privacy.accounting.composition import compose
from sdv_plausible.privacy.accounting.losses import PureDP
from sdv_plausible.privacy.accounting.paper_theorems import (
    paper_advanced_composition,
    paper_entropy_sensitivity,
    paper_model_loss,
    paper_parameter_loss,
    paper_sampling_amplification,
    paper_sequential_composition,
    paper_structure_loss,
)
from sdv_plausible.privacy.accounting.sensitivity import entropy_sensitivity


def test_paper_formulas_as_printed() -> None:
    assert paper_sequential_composition([(0.1, 1e-9), (0.2, 0.0)]) == pytest.approx((0.3, 1e-9))
    epsilon, delta = paper_advanced_composition(0.1, 1e-10, 100, 1e-9)
    assert epsilon == pytest.approx(0.1 * math.sqrt(200 * math.log(1e9)) + 10 * (math.exp(0.1) - 1))
    assert delta == pytest.approx(1e-8 + 1e-9)
    assert paper_sampling_amplification(1.0, 1e-9, 0.1) == pytest.approx(
        (math.log(1 + 0.1 * (math.e - 1)), 1e-10)
    )
    structure = paper_structure_loss(11, 0.005, 2.0**-30, 0.01)
    assert structure.epsilon == pytest.approx(
        0.005 * math.sqrt(264 * 30 * math.log(2)) + 132 * 0.005 * math.expm1(0.005) + 0.01
    )
    parameters = paper_parameter_loss(11, 0.05, 2.0**-30)
    assert paper_model_loss(structure, parameters) == (max(structure.epsilon, parameters.epsilon), 2.0**-30)


def test_paper_figures_are_above_ours() -> None:
    """Theorem 3 on 132 entropies against the exact composition of the same noise."""
    printed = paper_advanced_composition(0.02, 0.0, 132, 1e-9).epsilon
    ours = compose([PureDP(epsilon=0.02, count=132)], 1e-9)
    assert ours < 0.95 * printed
    assert np.isfinite(ours)


def test_entropy_sensitivity_is_twice_the_exact_one() -> None:
    assert paper_entropy_sensitivity(280_000) / entropy_sensitivity(280_000) == pytest.approx(2.03, abs=0.005)
    assert all(paper_entropy_sensitivity(n) > 2 * entropy_sensitivity(n) for n in (100, 10**4, 10**7, 10**12))

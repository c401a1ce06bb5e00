"""Optimal composition: randomised response, enumerated."""

import math

import oracles_accounting as oracle
import pytest

from theory.optimal_composition import optimal_composition


def test_optimal_composition_is_that_of_randomised_response():
    atoms = oracle.compose_atoms([oracle.randomised_response(0.7)] * 6)
    for total in (1e-2, 1e-3):
        epsilon = optimal_composition(0.7, 0.0, 6, total)
        assert oracle.atoms_delta(atoms, epsilon) == pytest.approx(total, rel=1e-6)
    assert optimal_composition(0.7, 1e-3, 6, 5e-3) == math.inf
    assert optimal_composition(0.0, 1e-3, 6, 1e-2) == 0.0
    assert optimal_composition(0.7, 1e-4, 6, 1e-2) > optimal_composition(0.7, 0.0, 6, 1e-2)

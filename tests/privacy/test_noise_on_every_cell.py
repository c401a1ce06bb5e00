"""Noise covers every declared cell: the only record of a cell changes nothing but noise.

A spy collects every noise call. It must be of as many numbers as there are answers, which are those of the declared domain
(that the same is asked of other rows, see test_asked_again.py); in return a table in which only the occupied cells get noise,
the planted bug, shows which cells are occupied.
"""

from __future__ import annotations

import numpy as np
import pytest
from test_asked_sensitivities import LEARNERS, TABLES, fitted

from sdv_plausible.privacy.noise import mechanisms as noise
from sdv_plausible.queries import queryable

BARE = [name for name in LEARNERS if name not in ("uniform", "random")]  # which ask for something


def bare(learner: str) -> list[str]:
    """Answers of which some cell has no noise, with the only record of a cell and without it."""
    found = []
    for codes in (TABLES["one odd row"], TABLES["equal rows"]):
        seen = fitted(learner, codes)
        assert seen
        for asked in seen:
            shape = np.shape(asked.answer.values)
            if [call.shape for call in asked.calls] != [shape]:
                found.append(f"{asked.kind} of shape {shape} got noise for {asked.calls}")
    return found


@pytest.mark.parametrize("learner", BARE)
def test_the_only_record_of_a_cell_changes_no_noise_call(learner: str) -> None:
    assert bare(learner) == []


@pytest.mark.parametrize("learner", ["independent", "given arcs", "cfs", "adaptive"])
def test_noise_on_observed_cells_only_is_caught(learner: str, monkeypatch) -> None:
    assert queryable.noise is queryable.noise is noise
    honest = noise.discrete_gaussian

    def only_observed(values, **how):
        noisy = np.array(values)
        occupied = noisy > 0
        noisy[occupied] = honest(noisy[occupied], **how)
        return noisy

    monkeypatch.setattr(noise, "discrete_gaussian", only_observed)
    assert bare(learner)

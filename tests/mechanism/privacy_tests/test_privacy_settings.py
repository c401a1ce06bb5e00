"""The privacy parameters: each bad one named, delta shared out once, and the test that they make."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from sdv_plausible.extensions.models.paper.paper_network import PaperNetwork
from sdv_plausible.extensions.models.uniform import Uniform
from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.mechanism.privacy_tests.privacy_settings import SEED_DELTA_SHARE
from sdv_plausible.mechanism.privacy_tests.release_level import ReleaseTest
from sdv_plausible.mechanism.privacy_tests.row_tests import DeterministicTest, RandomizedTest
from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from tests.flat import bound, settings_of

GOOD = {
    "epsilon": 1.0, "delta": 1e-6, "k": 30, "gamma": 4.0, "epsilon0": 0.7, "omega": None, "test": "randomized",
    "row_cap": 500, "seed_free_share": 0.4, "split": None, "least_rows": 2000,
}  # fmt: skip


def made(**changed):
    return settings_of(**{**GOOD, **changed})


BAD = {
    "epsilon": [0, -1, math.nan, "1", True, None, -math.inf],
    "delta": [0, 1, -0.1, math.nan, "a", None],
    "k": [0, -3, 2.5, True, "4", None],
    "gamma": [0.999, 0.5, math.inf, math.nan, None, "4"],
    "epsilon0": [0, -1, math.inf, None],
    "omega": [-1, (3, 2), "some", 1.5, True],
    "test": ["none", None, 3],
    "row_cap": [0, 1.5, math.inf],
    "seed_free_share": [0, -0.1, 1.1, math.nan, None],
    "least_rows": [0, 0.5, True],
    "split": [
        (0.5, 0.5), (0.5, 0.5, 0.0), (0.5, 0.5, 0.5), "abc", 1, (0.2, 0.2, -0.2), (0.1, 0.1, True), (0.1, 0.2, "0.3"),
    ],
}  # fmt: skip


def test_bad_parameters_are_named_with_their_value():
    for name, values in BAD.items():
        for value in values:
            with pytest.raises(ValueError, match=f"^{name} .*must"):
                made(**{name: value})


def test_good_parameters():
    for changed in (
        {"epsilon": math.inf}, {"k": np.int64(1)}, {"gamma": 1}, {"seed_free_share": 1}, {"row_cap": 1},
        {"omega": "all"}, {"omega": (1, 2)}, {"split": [0.1, 0.2, 0.7]}, {"split": (1 / 3, 1 / 3, 1 / 3)},
        {"split": (0.1, 0.1, 0.1)},
    ):  # fmt: skip
        made(**changed)
    assert made(omega=2).test.omega == Omega(2, 2)
    assert made(omega=None).test.omega is None


def test_delta_is_shared_out_once():
    """Half goes to the seeds where they are used and their test has a delta; else all of it to the model."""
    names, omegas = ("release", "randomized", "deterministic"), (None, "all", 1, (1, 3))
    for privacy_test, omega in itertools.product(names, omegas):
        settings = made(test=privacy_test, omega=omega)
        uses = privacy_test != "release" or omega in (1, (1, 3))
        assert settings.test.uses_seeds == uses
        shared = uses and privacy_test != "deterministic"
        assert settings.seed_delta == pytest.approx(SEED_DELTA_SHARE * 1e-6 if shared else 0.0)
        assert settings.model_delta + settings.seed_delta == 1e-6
        assert min(settings.model_delta, settings.seed_delta) >= 0


def test_the_test_has_the_parameters_of_the_settings():
    """Bound anew: else a test of one fit would be charged with another one's delta, or protect others."""
    kept, usual = made(omega=1, test="release"), {"k": 30, "epsilon0": 0.7}
    assert kept.test == bound(ReleaseTest, delta=kept.seed_delta, **usual)
    assert made(test="release").test == bound(ReleaseTest, delta=1e-6, uses_seeds=False, **usual)
    found = made(test="deterministic").test
    assert found == bound(DeterministicTest, k=30, gamma=4.0, row_cap=500, delta=1e-6)
    found, limits = made(test="randomized"), {"row_cap": 500, "seed_free_share": 0.4, "least_rows": 2000}
    assert found.test == bound(RandomizedTest, gamma=4.0, delta=found.seed_delta, **limits, **usual)
    other = replace(made(omega=1), delta=1e-3, neighbours=Neighbours(rows=3))
    assert (other.test.delta, other.test.neighbours) == (other.seed_delta, Neighbours(rows=3))
    assert RandomizedTest(k=30) == RandomizedTest(k=30).bound(1e-9, ONE_ROW)


def test_a_split_lowers_the_total_of_single_rows_alone():
    """Rows of a person fall into several parts, a replaced one is in two. Control: one row added or removed."""
    split = (0.25, 0.25, 0.5)
    for neighbours in (Neighbours(rows=3, person="home"), Neighbours(replace=True)):
        assert made(split=split, neighbours=neighbours).random_split(Uniform()) is None
    assert made(split=split, neighbours=ONE_ROW).random_split(Uniform()) is not None
    assert made(split=None).random_split(Uniform()) is None


def test_structure_and_parameters_are_apart_for_the_papers_learner_alone():
    """Any other may ask whichever rows it likes, whatever it says: its two parts count as one."""

    class Derived(PaperNetwork):
        pass

    class Says(Uniform):
        parts_apart = True

    settings, both = made(split=(0.25, 0.25, 0.5)), {"structure", "parameters"}
    apart = settings.random_split(PaperNetwork()).parts
    assert apart == ((0.25, {"structure"}), (0.25, {"parameters"}), (0.5, {"seeds"}))
    for learner in (Derived, Says, AdaptiveNetwork):
        assert settings.random_split(learner()).parts == ((0.5, both), (0.5, {"seeds"}))

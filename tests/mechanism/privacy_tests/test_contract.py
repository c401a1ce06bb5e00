"""What all privacy tests have in common: how many attributes they keep by default, and what they warn of."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.mechanism.privacy_tests.contract import PREFIX_CELLS
from sdv_plausible.mechanism.privacy_tests.release_level import ReleaseTest
from sdv_plausible.mechanism.privacy_tests.row_tests import DeterministicTest, RandomizedTest
from sdv_plausible.models.base import PrefixModel, SeedModel
from tests.flat import bound

TESTS = {
    "release": bound(ReleaseTest, k=20, epsilon0=1.0, delta=1e-6),
    "randomized": RandomizedTest(k=20, gamma=4.0, epsilon0=1.0, row_cap=70, least_rows=100),
    "deterministic": DeterministicTest(k=20, gamma=4.0, row_cap=70),
}


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=7))
def test_by_default_the_row_by_row_tests_keep_as_many_attributes_as_make_few_groups(cardinalities):
    """The most that leave one to be resampled and at most so many combinations."""
    few = [n for n in range(len(cardinalities)) if n == 0 or math.prod(cardinalities[:n]) <= PREFIX_CELLS]
    kept = max(few)
    for name in ("randomized", "deterministic"):
        omega = TESTS[name].default_omega(cardinalities)
        assert omega == Omega(len(cardinalities) - kept, len(cardinalities) - kept)
        assert len(omega.among(len(cardinalities))) == 1
    assert TESTS["release"].default_omega(cardinalities).is_all


def test_what_each_test_covers_and_which_models_it_takes():
    assert TESTS["release"].covers == "any number of rows, the release file and the saved synthesizer"
    some = "the first 70 rows released from this fit, not the saved synthesizer"
    assert TESTS["randomized"].covers.startswith(some)
    assert TESTS["deterministic"].covers is None
    assert [test.row_limit for test in TESTS.values()] == [None, 70, 70]
    assert [test.has_delta for test in TESTS.values()] == [True, True, False]
    for test in TESTS.values():
        test.check_model(PrefixModel)
    TESTS["randomized"].check_model(SeedModel)


def test_seeds_play_no_part_only_where_the_release_test_resamples_all():
    for omega in (None, Omega(None, None), Omega(1, 1), Omega(0, 3)):
        uses = {name: replace(test, omega=omega).uses_seeds for name, test in TESTS.items()}
        assert uses == {
            "release": omega is not None and not omega.is_all,
            "randomized": True,
            "deterministic": True,
        }


def test_warnings_are_about_public_numbers():
    for name, test in TESTS.items():
        found = test.warnings(71, 19)
        assert any("row_cap (70)" in text for text in found) == (name != "release")
        assert any(text.startswith("k (20) is above the number of rows (19)") for text in found)
        assert test.warnings(70, 100) == test.warnings(None, None) == []


def test_parameters_are_named_where_they_are_out_of_range():
    """Of any test by itself; those of a fit's options in test_settings.py."""
    for made in (ReleaseTest, DeterministicTest, RandomizedTest):
        for k in (0, 1.0, True, "5", None):
            with pytest.raises(ValueError, match=r"^k \(.*whole number of at least 1"):
                made(k=k)
    for name, value in (("epsilon0", 0.0), ("epsilon0", math.inf), ("delta", 0.0), ("delta", 1.0)):
        with pytest.raises(ValueError, match=rf"^{name} \("):
            bound(ReleaseTest, **{"k": 3, "epsilon0": 1.0, "delta": 0.1, name: value})

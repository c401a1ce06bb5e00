"""What all privacy tests have in common: how many attributes they keep by default, what they complain of and warn of."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.mechanism.privacy_tests.base import PREFIX_CELLS
from sdv_plausible.mechanism.privacy_tests.deterministic import DeterministicTest
from sdv_plausible.mechanism.privacy_tests.randomized import RandomizedTest
from sdv_plausible.mechanism.privacy_tests.release_level import ReleaseTest
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
    kept = max(
        n for n in range(len(cardinalities)) if n == 0 or math.prod(cardinalities[:n]) <= PREFIX_CELLS
    )  # fmt: skip
    for name in ("randomized", "deterministic"):
        omega = TESTS[name].default_omega(cardinalities)
        assert omega == Omega(len(cardinalities) - kept, len(cardinalities) - kept)
        assert len(omega.among(len(cardinalities))) == 1
    assert TESTS["release"].default_omega(cardinalities).is_all


def test_what_each_test_covers():
    assert TESTS["release"].covers == "any number of rows, the release file and the saved synthesizer"
    assert TESTS["randomized"].covers.startswith(
        "the first 70 rows released from this fit; not the saved synthesizer"
    )
    assert TESTS["deterministic"].covers is None
    assert [test.row_limit for test in TESTS.values()] == [None, 70, 70]
    assert [test.has_delta for test in TESTS.values()] == [True, True, False]


@pytest.mark.parametrize("omega", [None, Omega(None, None), Omega(1, 1), Omega(0, 3)], ids=str)
def test_seeds_play_no_part_only_where_the_release_test_resamples_all(omega):
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


def test_the_release_test_needs_models_with_prefix_groups():
    with pytest.raises(
        ValueError, match=r"test \('release'\) needs a model with prefix groups, not SeedModel"
    ):
        TESTS["release"].check_model(SeedModel)
    for test in TESTS.values():
        test.check_model(PrefixModel)
    TESTS["randomized"].check_model(SeedModel)


@pytest.mark.parametrize("k", [0, 1.0, True, "5", None])
def test_k_is_a_whole_number(k):
    for made in (ReleaseTest, DeterministicTest, RandomizedTest):
        with pytest.raises(ValueError, match=r"^k \(.*whole number of at least 1"):
            made(k=k)


@pytest.mark.parametrize("gamma", [0.999, 0.5, math.inf, "4", None])
def test_gamma_is_at_least_1(gamma):
    with pytest.raises(ValueError, match=r"^gamma \("):
        RandomizedTest(k=3, gamma=gamma, epsilon0=1.0)
    RandomizedTest(k=3, gamma=1, epsilon0=1.0)


@pytest.mark.parametrize(
    ("name", "value"), [("epsilon0", 0.0), ("epsilon0", math.inf), ("delta", 0.0), ("delta", 1.0)]
)
def test_epsilon0_and_delta_of_the_release_test(name, value):
    with pytest.raises(ValueError, match=rf"^{name} \("):
        bound(ReleaseTest, **{"k": 3, "epsilon0": 1.0, "delta": 0.1, name: value})

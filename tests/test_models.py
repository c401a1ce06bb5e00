"""Learners by the names that a user gives them."""

from __future__ import annotations

import guarded
import pytest

from sdv_plausible.models import make_learner
from sdv_plausible.models.adaptive.learner import AdaptiveNetwork
from sdv_plausible.models.datasynthesizer.learner import GreedyBayes
from sdv_plausible.models.gaussian_copula.learner import GaussianCopula
from sdv_plausible.models.paper.learner import PaperNetwork
from sdv_plausible.models.uniform import Uniform


def test_learners_by_name():
    assert isinstance(make_learner("bayesian_network"), AdaptiveNetwork)
    assert make_learner("bayesian_network", "cfs", {"max_cost": 9}) == PaperNetwork(max_cost=9)
    assert make_learner("bayesian_network", {"a": ["b"]}).structure == {"a": ["b"]}
    assert make_learner("independent").structure == "independent"
    assert make_learner("uniform") == Uniform()
    assert make_learner("random") == Uniform()
    assert make_learner("correlated", None, {"max_parents": 2}) == GreedyBayes(max_parents=2)
    assert make_learner("gaussian_copula", None, {"max_buckets": 4}) == GaussianCopula(max_buckets=4)
    own = Uniform()
    assert make_learner(own) is own
    for model, options in (
        ("tree", {}),
        (3, {}),
        ("uniform", {"max_cost": 3}),
        ("bayesian_network", {"depth": 3}),
    ):
        with pytest.raises(ValueError, match="model"):
            make_learner(model, None, options)


def test_learners_that_look_at_all_pairs_of_columns_say_so():
    """They refuse a thousand columns before anything costs (tests/models/test_base.py)."""
    looks = {
        name: getattr(learner, "looks_at_pairs", False) for name, learner in guarded.learners({}).items()
    }
    assert {name for name, pairs in looks.items() if pairs} == {
        "adaptive",
        "cfs",
        "normal",
        "as printed",
        "copula",
    }

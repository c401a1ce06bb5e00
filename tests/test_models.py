"""Learners by the names that a user gives them."""

import guarded
import pytest

from sdv_plausible import AdaptiveNetwork, GaussianCopula, GreedyBayes, PaperNetwork, Uniform
from sdv_plausible.models import NAMES, learner_config, learner_from_config, make_learner, named_learner


def test_learners_by_name():
    assert isinstance(make_learner("bayesian_network"), AdaptiveNetwork)
    assert named_learner("bayesian_network", {"max_cost": 9}, structure="cfs") == PaperNetwork(max_cost=9)
    assert named_learner("bayesian_network", structure={"a": ["b"]}).structure == {"a": ["b"]}
    assert make_learner("paper") == PaperNetwork()
    assert named_learner("paper", {"max_cost": 9}, noise="paper") == PaperNetwork(max_cost=9, noise="paper")
    assert make_learner("independent").structure == "independent"
    assert make_learner("uniform") == Uniform()
    assert make_learner("random") == Uniform()
    assert named_learner("correlated", {"max_parents": 2}) == GreedyBayes(max_parents=2)
    assert named_learner("gaussian_copula", {"max_buckets": 4}) == GaussianCopula(max_buckets=4)
    own = Uniform()
    assert make_learner(own) is own
    for model in ("tree", 3, Uniform):
        with pytest.raises(ValueError, match="model"):
            make_learner(model)

    class Alike:  # has the methods, and says nothing of the rest
        plan, fit = Uniform.plan, Uniform.fit

    with pytest.raises(ValueError, match=r"derive your own from sdv_plausible\.models\.base\.Learner"):
        make_learner(Alike())
    for model, options in (("uniform", {"max_cost": 3}), ("bayesian_network", {"depth": 3})):
        with pytest.raises(ValueError, match="model"):
            named_learner(model, options)


def test_options_of_the_papers_network_are_its_alone():
    for model in ("latent", "correlated", "uniform"):
        with pytest.raises(
            ValueError, match=rf"structure \('cfs'\) .* has no effect with model \('{model}'\)"
        ):
            named_learner(model, structure="cfs")
    with pytest.raises(ValueError, match=r"structure .* has no effect with model \('independent'\)"):
        named_learner("independent", structure="cfs")
    assert named_learner("independent", noise="paper") == PaperNetwork(structure="independent", noise="paper")


def test_a_model_in_words_is_that_model_again_but_for_a_learner_of_ones_own():
    split = PaperNetwork(noise="paper", accounting="paper", split=(0.2, 0.3, 0.5), max_parents=2)
    others = [split, PaperNetwork(structure={"a": ["b"]}), PaperNetwork(), AdaptiveNetwork(), Uniform()]
    others += [AdaptiveNetwork(max_cost=7), GreedyBayes(max_parents=2), GaussianCopula()]
    for model in (*NAMES, *others):
        words = learner_config(model)
        assert learner_from_config(words) == make_learner(model)
        assert words["model"] in NAMES

    class Own(Uniform):
        pass

    assert "model" not in learner_config(Own())
    with pytest.raises(ValueError, match="model"):
        learner_from_config(learner_config(Own()))


def test_words_of_earlier_files_are_read():
    """A split and a structure could stand beside any model, and play no part; the paper's network had no name."""
    words = {
        "model": "bayesian_network", "structure": None, "model_parameters": None, "split": [0.2, 0.3, 0.5],
    }  # fmt: skip
    assert learner_from_config(words) == AdaptiveNetwork()
    assert learner_from_config({**words, "structure": "adaptive"}) == AdaptiveNetwork()
    assert learner_from_config({**words, "structure": "cfs"}) == PaperNetwork(split=(0.2, 0.3, 0.5))
    assert learner_from_config({**words, "noise": "paper"}) == PaperNetwork(
        noise="paper", split=(0.2, 0.3, 0.5)
    )
    assert learner_from_config({**words, "model": "latent", "structure": "cfs"}) == make_learner("latent")


def test_learners_that_look_at_all_pairs_of_columns_say_so():
    """They refuse a thousand columns before anything costs (tests/models/test_base.py)."""
    looks = {name for name, learner in guarded.learners({}).items() if learner.looks_at_pairs}
    assert looks == {"adaptive", "workload", "cfs", "normal", "as printed", "copula"}

"""Audits: what a mechanism really discloses, computed from outside, against what is claimed of it.

Transition matrices of synthesizers of small tables, the exact output distribution of Mechanism 1 and of noisy
learners, and membership attacks. Everything here is for small universes and for whoever builds or checks a
mechanism: an audit of confidential rows is as confidential as they are. The names below load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sdv_plausible.audit.attacks.bounds import AttackBounds, attack_bounds, mu_lower_bound, provable
    from sdv_plausible.audit.attacks.white_box import WhiteBoxResult, white_box, worst_tables
    from sdv_plausible.audit.claims import Comparison, compare
    from sdv_plausible.audit.count_synthesizers import (
        discrete_gaussian,
        independent_rows,
        laplace,
        multinomial_dirichlet,
    )
    from sdv_plausible.audit.estimated_matrix import EstimatedMatrix, monte_carlo
    from sdv_plausible.audit.exact import deterministic_pass, randomized_pass
    from sdv_plausible.audit.figures import plot_curves, plot_log_ratios, plot_transitions
    from sdv_plausible.audit.learning import compare_learner
    from sdv_plausible.audit.small_universe import (
        mechanism_matrix,
        noise_weight,
        release_test_matrix,
        seed_likelihood,
        tables_of_sizes,
        universe,
    )
    from sdv_plausible.audit.transition_matrix import Cell, Disclosure, TransitionMatrix

_HOME = {
    "AttackBounds": "attacks.bounds",
    "Cell": "transition_matrix",
    "Comparison": "claims",
    "Disclosure": "transition_matrix",
    "EstimatedMatrix": "estimated_matrix",
    "TransitionMatrix": "transition_matrix",
    "WhiteBoxResult": "attacks.white_box",
    "attack_bounds": "attacks.bounds",
    "compare": "claims",
    "compare_learner": "learning",
    "deterministic_pass": "exact",
    "discrete_gaussian": "count_synthesizers",
    "independent_rows": "count_synthesizers",
    "laplace": "count_synthesizers",
    "mechanism_matrix": "small_universe",
    "monte_carlo": "estimated_matrix",
    "mu_lower_bound": "attacks.bounds",
    "multinomial_dirichlet": "count_synthesizers",
    "noise_weight": "small_universe",
    "plot_curves": "figures",
    "plot_log_ratios": "figures",
    "plot_transitions": "figures",
    "provable": "attacks.bounds",
    "randomized_pass": "exact",
    "release_test_matrix": "small_universe",
    "seed_likelihood": "small_universe",
    "tables_of_sizes": "small_universe",
    "universe": "small_universe",
    "white_box": "attacks.white_box",
    "worst_tables": "attacks.white_box",
}

__all__ = [
    "AttackBounds",
    "Cell",
    "Comparison",
    "Disclosure",
    "EstimatedMatrix",
    "TransitionMatrix",
    "WhiteBoxResult",
    "attack_bounds",
    "compare",
    "compare_learner",
    "deterministic_pass",
    "discrete_gaussian",
    "independent_rows",
    "laplace",
    "mechanism_matrix",
    "monte_carlo",
    "mu_lower_bound",
    "multinomial_dirichlet",
    "noise_weight",
    "plot_curves",
    "plot_log_ratios",
    "plot_transitions",
    "provable",
    "randomized_pass",
    "release_test_matrix",
    "seed_likelihood",
    "tables_of_sizes",
    "universe",
    "white_box",
    "worst_tables",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'sdv_plausible.audit' has no attribute {name!r}")
    return getattr(import_module(f"sdv_plausible.audit.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])

"""Audits: what a mechanism really discloses, computed from outside, against what is claimed of it.

Transition matrices of synthesizers of small tables, the exact output distribution of Mechanism 1 and of noisy
learners, and membership attacks. Everything here is for small universes and for whoever builds or checks a
mechanism: an audit of confidential rows is as confidential as they are. The names below load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdv_plausible.late import late_names

if TYPE_CHECKING:
    from sdv_plausible.audit.attacks.attributes import AttributeBound, attribute_inference
    from sdv_plausible.audit.attacks.black_box import CanaryGame, canary_game, shadow_attack
    from sdv_plausible.audit.attacks.bounds import (
        AttackBounds,
        OneRunBound,
        attack_bounds,
        mu_lower_bound,
        one_run_bound,
        provable,
    )
    from sdv_plausible.audit.attacks.external import AnonymeterRisk, anonymeter_risks
    from sdv_plausible.audit.attacks.frames import crafted, outliers, random_rows, rarity
    from sdv_plausible.audit.attacks.white_box import (
        WhiteBoxResult,
        white_box,
        white_box_of_default,
        worst_tables,
    )
    from sdv_plausible.audit.auditing import run
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
    from sdv_plausible.audit.results import AuditResult, StageResult
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
    "AnonymeterRisk": "attacks.external",
    "AttackBounds": "attacks.bounds",
    "AttributeBound": "attacks.attributes",
    "AuditResult": "results",
    "CanaryGame": "attacks.black_box",
    "Cell": "transition_matrix",
    "Comparison": "claims",
    "Disclosure": "transition_matrix",
    "EstimatedMatrix": "estimated_matrix",
    "OneRunBound": "attacks.bounds",
    "StageResult": "results",
    "TransitionMatrix": "transition_matrix",
    "WhiteBoxResult": "attacks.white_box",
    "anonymeter_risks": "attacks.external",
    "attack_bounds": "attacks.bounds",
    "attribute_inference": "attacks.attributes",
    "canary_game": "attacks.black_box",
    "compare": "claims",
    "compare_learner": "learning",
    "crafted": "attacks.frames",
    "deterministic_pass": "exact",
    "discrete_gaussian": "count_synthesizers",
    "independent_rows": "count_synthesizers",
    "laplace": "count_synthesizers",
    "mechanism_matrix": "small_universe",
    "monte_carlo": "estimated_matrix",
    "mu_lower_bound": "attacks.bounds",
    "multinomial_dirichlet": "count_synthesizers",
    "noise_weight": "small_universe",
    "one_run_bound": "attacks.bounds",
    "outliers": "attacks.frames",
    "plot_curves": "figures",
    "plot_log_ratios": "figures",
    "plot_transitions": "figures",
    "provable": "attacks.bounds",
    "random_rows": "attacks.frames",
    "randomized_pass": "exact",
    "rarity": "attacks.frames",
    "release_test_matrix": "small_universe",
    "run": "auditing",
    "seed_likelihood": "small_universe",
    "shadow_attack": "attacks.black_box",
    "tables_of_sizes": "small_universe",
    "universe": "small_universe",
    "white_box": "attacks.white_box",
    "white_box_of_default": "attacks.white_box",
    "worst_tables": "attacks.white_box",
}

__all__ = [
    "AnonymeterRisk",
    "AttackBounds",
    "AttributeBound",
    "AuditResult",
    "CanaryGame",
    "Cell",
    "Comparison",
    "Disclosure",
    "EstimatedMatrix",
    "OneRunBound",
    "StageResult",
    "TransitionMatrix",
    "WhiteBoxResult",
    "anonymeter_risks",
    "attack_bounds",
    "attribute_inference",
    "canary_game",
    "compare",
    "compare_learner",
    "crafted",
    "deterministic_pass",
    "discrete_gaussian",
    "independent_rows",
    "laplace",
    "mechanism_matrix",
    "monte_carlo",
    "mu_lower_bound",
    "multinomial_dirichlet",
    "noise_weight",
    "one_run_bound",
    "outliers",
    "plot_curves",
    "plot_log_ratios",
    "plot_transitions",
    "provable",
    "random_rows",
    "randomized_pass",
    "rarity",
    "release_test_matrix",
    "run",
    "seed_likelihood",
    "shadow_attack",
    "tables_of_sizes",
    "universe",
    "white_box",
    "white_box_of_default",
    "worst_tables",
]

__getattr__, __dir__ = late_names(__name__, _HOME)

"""Audits: what a mechanism really discloses, computed from outside, against what is claimed of it.

Transition matrices of synthesizers of small tables, the exact output distribution of Mechanism 1 and of noisy
learners, and membership attacks. Everything here is for small universes and for whoever builds or checks a
mechanism: an audit of confidential rows is as confidential as they are. The names below load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdv_plausible.utils.late import late_names

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
    from sdv_plausible.audit.disclosure.claims import Comparison, compare
    from sdv_plausible.audit.disclosure.count_synthesizers import (
        discrete_gaussian,
        independent_rows,
        laplace,
        multinomial_dirichlet,
    )
    from sdv_plausible.audit.disclosure.estimated_matrix import EstimatedMatrix, monte_carlo
    from sdv_plausible.audit.disclosure.exact import deterministic_pass, randomized_pass
    from sdv_plausible.audit.disclosure.figures import plot_curves, plot_log_ratios, plot_transitions
    from sdv_plausible.audit.disclosure.learning import compare_learner
    from sdv_plausible.audit.disclosure.small_universe import (
        mechanism_matrix,
        noise_weight,
        release_test_matrix,
        seed_likelihood,
        tables_of_sizes,
        universe,
    )
    from sdv_plausible.audit.disclosure.transition_matrix import Cell, Disclosure, TransitionMatrix
    from sdv_plausible.audit.results import AuditResult, StageResult

_NAMES: dict[str, tuple[str, ...]] = {  # of each module
    "attacks.attributes": ("AttributeBound", "attribute_inference"),
    "attacks.black_box": ("CanaryGame", "canary_game", "shadow_attack"),
    "attacks.bounds": (
        "AttackBounds",
        "OneRunBound",
        "attack_bounds",
        "mu_lower_bound",
        "one_run_bound",
        "provable",
    ),
    "attacks.external": ("AnonymeterRisk", "anonymeter_risks"),
    "attacks.frames": ("crafted", "outliers", "random_rows", "rarity"),
    "attacks.white_box": ("WhiteBoxResult", "white_box", "white_box_of_default", "worst_tables"),
    "auditing": ("run",),
    "claims": ("Comparison", "compare"),
    "count_synthesizers": ("discrete_gaussian", "independent_rows", "laplace", "multinomial_dirichlet"),
    "estimated_matrix": ("EstimatedMatrix", "monte_carlo"),
    "exact": ("deterministic_pass", "randomized_pass"),
    "figures": ("plot_curves", "plot_log_ratios", "plot_transitions"),
    "learning": ("compare_learner",),
    "results": ("AuditResult", "StageResult"),
    "small_universe": (
        "mechanism_matrix",
        "noise_weight",
        "release_test_matrix",
        "seed_likelihood",
        "tables_of_sizes",
        "universe",
    ),
    "transition_matrix": ("Cell", "Disclosure", "TransitionMatrix"),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}

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

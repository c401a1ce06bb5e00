"""Audits: what a mechanism really discloses, computed from outside, against what is claimed of it.

Transition matrices of synthesizers of small tables, the exact output distribution of Mechanism 1 and of noisy
learners, and membership attacks. Everything here is for small universes and for whoever builds or checks a
mechanism: an audit of confidential rows is as confidential as they are. The names below load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sdv_plausible.audit.count_synthesizers import (
        discrete_gaussian,
        independent_rows,
        laplace,
        multinomial_dirichlet,
    )
    from sdv_plausible.audit.estimated_matrix import EstimatedMatrix, monte_carlo
    from sdv_plausible.audit.figures import plot_log_ratios, plot_transitions
    from sdv_plausible.audit.transition_matrix import Cell, Disclosure, TransitionMatrix

_HOME = {
    "Cell": "transition_matrix",
    "Disclosure": "transition_matrix",
    "EstimatedMatrix": "estimated_matrix",
    "TransitionMatrix": "transition_matrix",
    "discrete_gaussian": "count_synthesizers",
    "independent_rows": "count_synthesizers",
    "laplace": "count_synthesizers",
    "monte_carlo": "estimated_matrix",
    "multinomial_dirichlet": "count_synthesizers",
    "plot_log_ratios": "figures",
    "plot_transitions": "figures",
}

__all__ = [
    "Cell",
    "Disclosure",
    "EstimatedMatrix",
    "TransitionMatrix",
    "discrete_gaussian",
    "independent_rows",
    "laplace",
    "monte_carlo",
    "multinomial_dirichlet",
    "plot_log_ratios",
    "plot_transitions",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'sdv_plausible.audit' has no attribute {name!r}")
    return getattr(import_module(f"sdv_plausible.audit.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])

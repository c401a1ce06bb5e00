"""Exact curves of both privacy tests, the release test and noisy learners under what the ledger charges.

Run: python -m benchmarks.audit_curves

Everything is enumerated on small universes (docs/explanation/how_protective.md); the picture is on docs/explanation/audit.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from sdv_plausible.extensions import audit
from sdv_plausible.extensions.audit.disclosure import exact
from sdv_plausible.extensions.audit.disclosure.claims import Comparison
from sdv_plausible.extensions.audit.disclosure.small_universe import (
    mechanism_matrix,
    noise_weight,
    release_test_matrix,
    seed_likelihood,
)
from sdv_plausible.extensions.models.gaussian_copula.copula_learner import GaussianCopula
from sdv_plausible.mechanism.privacy_tests.release_level import ReleaseTest
from sdv_plausible.mechanism.privacy_tests.row_tests import RandomizedTest
from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.models.conditional_table import ConditionalTable
from sdv_plausible.privacy.neighbours import ONE_ROW
from sdv_plausible.table.columns.domain import Attribute, Domain

PICTURE = Path(__file__).parent.parent / "docs" / "images" / "audit_all_curves.png"
EPSILONS = np.linspace(0.0, 4.0, 41)
HALF = Fraction(1, 2)
CLAIMED, EXACT = "#9E9E9E", "#0B6E4F"


def even() -> BayesianNetwork:
    """One column of two values, resampled by a fair coin or kept."""
    fair = np.array([[0.5, 0.5]])
    return BayesianNetwork([ConditionalTable(child=0, parents=(), buckets=(), probabilities=fair)])


def charged_and_exact(name: str, num_rows: int = 1) -> Comparison:
    """Privacy Test 2 at k = 3 on 8 and 9 rows; Test 1, which has no charge, is held against this one's."""
    charged = (
        RandomizedTest(k=3, gamma=2.0, epsilon0=1.0, row_cap=num_rows, seed_free_share=0.5, least_rows=8)
        .bound(0.1, ONE_ROW)
        .charge(1.0)[-1]
    )
    likelihood = seed_likelihood(even(), (2,), {0: HALF, 1: HALF})
    passes = exact.deterministic_pass(3) if name == "1" else exact.randomized_pass(3, noise_weight(1.0))
    tables = audit.tables_of_sizes(2, [8, 9])
    matrix = mechanism_matrix(tables, likelihood, passes, Fraction(2), num_rows=num_rows)
    return audit.compare(matrix, charged.losses, EPSILONS)


def released() -> Comparison:
    """The release test at k = 2 on up to four rows."""
    test = ReleaseTest(k=2, epsilon0=1.0, omega=1).bound(0.2, ONE_ROW)
    matrix = release_test_matrix(
        audit.tables_of_sizes(2, range(5)), ("a", "b"), k=2, margin=test.margin, epsilon0=1.0
    )
    return audit.compare(matrix, [loss for entry in test.charge(1.0) for loss in entry.losses], EPSILONS)


def learned(learner: Any) -> Comparison:
    """A learner at epsilon 1, delta 1e-4, on tables of one and two rows of two columns."""
    domain = Domain(tuple(Attribute(name=n, kind="categorical", values=(0, 1)) for n in "xy"))
    budget = ModelBudget(epsilon=1.0, delta=1e-4)
    return audit.compare_learner(learner, domain, budget, audit.tables_of_sizes(4, (1, 2)), EPSILONS)


def main() -> None:
    """Enumerate and draw."""
    panels: Sequence[tuple[str, Comparison]] = [
        ("Privacy Test 2, one row", charged_and_exact("2")),
        ("Privacy Test 2, two rows", charged_and_exact("2", 2)),
        ("Privacy Test 1, against Test 2's charge", charged_and_exact("1")),
        ("Release test", released()),
        ("Default learner", learned(AdaptiveNetwork())),
        ("Gaussian copula", learned(GaussianCopula())),
    ]
    figure, axes = plt.subplots(2, 3, figsize=(13, 7.5), layout="constrained")
    for axis, (title, found) in zip(axes.flat, panels, strict=True):
        print(f"{title}: {found}")
        for name, deltas, colour, style in (
            ("claimed", found.claimed, CLAIMED, "--"),
            ("exact", found.exact, EXACT, "-"),
        ):
            axis.plot(
                found.epsilons,
                np.where(deltas > 1e-12, deltas, np.nan),
                style,
                color=colour,
                lw=2.5,
                label=name,
            )
        axis.set(title=title, xlabel="epsilon", ylabel="delta", yscale="log")
        axis.grid(color="#DDDDDD")
        axis.legend(frameon=False)
    figure.savefig(PICTURE, dpi=90)


if __name__ == "__main__":
    main()

"""What is run: sizes, rows of the tables, privacy parameters. The last are the paper's."""

from __future__ import annotations

import math
from dataclasses import dataclass

K, GAMMA, EPSILON0, DELTA = 50, 4.0, 1.0, 2.0**-30
EPSILONS = (math.inf, 1.0, 0.1)
TIMED_OMEGA = 9
FIGURE5_LIMITS, FIGURE5_ROWS = {"max_plausible": 100, "max_check_plausible": 50_000}, 10_000  # per core
KS = (10, 25, 50, 75, 100, 150, 200, 250, 500, 1000)
GAMMAS = (2.0, 4.0, 8.0)
LAMBDAS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
PRINTED_LAMBDAS = LAMBDAS[
    1:
]  # the paper's; it takes the best of the non-private classifier, for every method
FITTING_LAMBDAS = {
    "LR": 1e-5,
    "SVM": 1e-4,
}  # at which all three of the paper's numbers of a classifier come out
INNER_EPSILON = (
    2.32  # of structure and of tables: amplified by p = 280,000 / 1,494,974 it is the paper's 1 (Theorem 4)
)
PRIVATE_MODELS = 20  # of figure 1, all of the same rows
MAX_CHECKED, MAX_CHECKED_GAMMA = 100_000, 2.0  # of figure 6
NOISE_DRAWS = 20  # of output perturbation, per repeat: its fit is made once
TARGET = 10  # income class
Omega = int | tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of a table: where the training rows of a classifier, or the rows that are compared, come from.

    Parameters
    ----------
    name : str
        As printed.
    kind : {"reals", "marginals", "cfs", "parts", "printed", "children", "example", "ours"}
        Other real rows; a network without arcs; the paper's learner and test; the same with the whole epsilon for D_T
        and again for D_P, which share no row; the same with the noise and the formulas as printed; as "parts", with parents
        found for one child after another; the paper's learner with the graph that came with the authors' tool; our default
        learner and release.
    omega : int or (int, int)
        Number of resampled attributes, for the three with the paper's test.
    epsilon : float
        Privacy loss of learning the model.
    """

    name: str
    kind: str
    omega: Omega = 11
    epsilon: float = 1.0


OMEGAS: dict[str, Omega] = {"ω=11": 11, "ω=10": 10, "ω=9": 9, "ω∈[9-11]": (9, 11), "ω∈[5-11]": (5, 11)}
REALS = Row(name="reals", kind="reals")
SYNTHETIC = (
    Row(name="marginals", kind="marginals"),
    *(Row(name=name, kind="cfs", omega=omega) for name, omega in OMEGAS.items()),
    Row(name="ω=11, ε=0.1", kind="cfs", epsilon=0.1),
    Row(name="ω=11, not noised", kind="cfs", epsilon=math.inf),
    Row(name="ω=11, ε for each part", kind="parts"),
    Row(name="ω=11, ε=1 after amplification", kind="parts", epsilon=INNER_EPSILON),
    Row(name="ω=11, noise as printed", kind="printed"),
    Row(name="ω=11, noise as printed, ε=1 after amplification", kind="printed", epsilon=INNER_EPSILON),
    Row(name="ω=11, child after child, ε=1 after amplification", kind="children", epsilon=INNER_EPSILON),
    Row(name="ω=11, example graph", kind="example"),
    Row(name="ours (default)", kind="ours"),
)
ROWS = (REALS, *SYNTHETIC)


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Numbers of rows, all explicit.

    Parameters
    ----------
    structure, parameters, seeds, unseen : int
        D_T, D_P, D_S, and real rows that nothing was learned from.
    synthetics : int
        Released rows per table row.
    compared : int
        Rows of each of the two tables in figures 3 and 4.
    train : int
        Training rows of the classifiers of table 3.
    linear : int
        Training rows of table 4's real-data classifiers.
    linear_printed : int
        The same by the paper's rule.
    tested : int
        Unseen rows that classifiers are tested on.
    game : int
        Real rows, and as many synthetic ones, of each of the two mixes of table 5.
    predicted : int
        Training rows of figure 2's forests.
    timed : tuple of int
        Numbers of released rows in figure 5.
    scanned : int
        Candidates of the generic scan that is timed beside it.
    trees : int
        Trees of a forest.
    repeats : int
        Fresh splits, models, synthetics and classifiers.
    """

    structure: int
    parameters: int
    seeds: int
    unseen: int
    synthetics: int
    compared: int
    train: int
    linear: int
    tested: int
    game: int
    predicted: int
    timed: tuple[int, ...]
    scanned: int
    trees: int = 100
    repeats: int = 3
    linear_printed: int = 100_000

    @property
    def total(self) -> int:
        """All real rows of one repeat."""
        return self.structure + self.parameters + self.seeds + self.unseen


SIZES = {
    "acs": Sizes(
        structure=20_000, parameters=20_000, seeds=40_000, unseen=20_000, synthetics=40_000, compared=20_000,
        train=40_000, linear=80_000, tested=20_000, game=10_000, predicted=20_000,
        timed=(10_000, 100_000, 250_000, 500_000, 1_000_000), scanned=256, repeats=5, linear_printed=80_000,
    ),
    "simulated": Sizes(
        structure=280_000, parameters=280_000, seeds=735_000, unseen=100_000, synthetics=100_000, compared=100_000,
        train=100_000, linear=280_000, tested=30_000, game=50_000, predicted=280_000,
        timed=(10_000, 100_000, 250_000, 500_000, 1_000_000), scanned=64, repeats=2,
    ),
    "quick": Sizes(
        structure=3_000, parameters=3_000, seeds=6_000, unseen=2_000, synthetics=2_000, compared=2_000,
        train=2_000, linear=4_000, tested=1_000, game=500, predicted=1_000, timed=(500, 1_000), scanned=16,
        trees=5, repeats=1, linear_printed=2_000,
    ),
}  # fmt: skip

"""Rows to train on and rows to test on, drawn so that no test row was trained on."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
from sdmetrics.errors import IncomputableMetricError

from sdv_plausible.evaluation.coding import sample_positions
from sdv_plausible.evaluation.tables import TablePair


def split_sizes(
    pair: TablePair, holdout: pd.DataFrame | None, test_fraction: float, max_rows: int | None,
    num_trainings: int = 1,
) -> tuple[int, int, bool]:  # fmt: skip
    """Return the number of training rows, of test rows, and whether ``max_rows`` leaves rows unused."""
    # There are real rows for ``num_trainings`` classifiers, none of them used twice.
    max_rows = sys.maxsize if max_rows is None else max_rows
    if not 0 < test_fraction < 1:
        raise ValueError(f"test_fraction ({test_fraction}) must lie between 0 and 1: both parts need rows")
    if max_rows < 2:
        raise ValueError(f"max_rows ({max_rows}) must be at least 2: a classifier needs rows to learn from")
    n = len(pair.real)
    tests = max(1, round(test_fraction * n)) if holdout is None else len(holdout)
    trains = (n if holdout is not None else n - tests) // num_trainings
    if trains < 1 or tests < 1:
        raise IncomputableMetricError(
            f"{n} real rows: classifiers need at least {num_trainings + 1}, to train on and to be tested on"
        )
    return min(trains, max_rows), min(tests, max_rows), trains > max_rows or tests > max_rows


def split_rows(
    pair: TablePair, holdout: pd.DataFrame | None, sizes: tuple[int, int], rng: np.random.Generator,
    twin: bool = False,
) -> tuple[pd.DataFrame, ...]:  # fmt: skip
    """Draw real training rows, synthetic training rows, unseen real rows and, for a twin, other real ones."""
    # ``sizes`` from :func:`split_sizes`.
    num_train, num_test = sizes
    order = rng.permutation(len(pair.real))
    train, test, rest = np.split(order, [num_train, num_train + (num_test if holdout is None else 0)])
    # Equal lengths: the same positions of both tables, so that a copy of the real table trains the same
    # classifier and no synthetic row stands where a test row does. Positions mean nothing in other synthetic
    # tables.
    same_length = len(pair.synthetic) == len(pair.real)
    chosen = train if same_length else rng.permutation(len(pair.synthetic))[:num_train]
    unseen = pair.real.iloc[test]
    if holdout is not None:
        unseen = holdout.iloc[sample_positions(len(holdout), num_test, rng)]
    others = (pair.real.iloc[rest[:num_train]],) if twin else ()
    return pair.real.iloc[train], pair.synthetic.iloc[chosen], unseen, *others

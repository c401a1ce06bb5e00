"""The distinguishing game of [PD] section 6.4: how well a classifier tells synthetic rows from real ones.

A classifier (distinguisher) trains on a balanced mix of real and synthetic rows. It predicts the origin of
the rows of another mix. Accuracy 0.5 is chance, and ideal.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sdmetrics.errors import IncomputableMetricError

from sdv_plausible.evaluation.classifiers import (
    DEFAULT_NUM_RUNS,
    Estimate,
    Training,
    check_classifier_names,
    predict_all,
)
from sdv_plausible.evaluation.features import FeatureEncoder, Features, stack_rows
from sdv_plausible.evaluation.table_pair import DEFAULT_MAX_ROWS, DISTINGUISHERS, TablePair


@dataclass(frozen=True, kw_only=True)
class GameResult:
    """Result of :func:`distinguishing_game`."""

    # Sampling alone moves the accuracy of a run from 0.5 by about ``0.5 / sqrt(num_test)``. A value clearly
    # below 0.5 means that synthetic rows copy real ones: the copy of a training row is in the test mix with
    # the other label. Held-out real rows remove that effect.
    accuracy: dict[str, Estimate]  # by classifier, in [0, 1]
    num_train: int  # rows of the training mix, half of them synthetic
    num_test: int
    held_out: bool  # whether the real rows were held out from the synthesizer
    subsampled: bool  # whether ``max_rows`` left rows unused (surplus rows of the longer table always are)

    @property
    def score(self) -> float:
        """Mean accuracy over the classifiers, each at least 0.5, in [0.5, 1]."""
        return float(np.mean([max(0.5, estimate.mean) for estimate in self.accuracy.values()]))


def _mix_sizes(num_rows: int, test_fraction: float, max_rows: int | None) -> tuple[int, int, bool]:
    """Return the rows per origin in the training and test mix, and whether rows are left unused."""
    max_rows = sys.maxsize if max_rows is None else max_rows
    if not 0 < test_fraction < 1:
        raise ValueError(f"test_fraction ({test_fraction}) must lie between 0 and 1: both mixes need rows")
    if max_rows < 4:
        raise ValueError(f"max_rows ({max_rows}) must be at least 4: a mix needs rows of both kinds")
    if num_rows < 4:
        raise IncomputableMetricError(
            f"{num_rows} rows in the shorter table: the game needs at least 4 of each kind"
        )
    num_test = min(max(1, round(test_fraction * num_rows)), num_rows - 1)
    num_train, max_per_origin = num_rows - num_test, max_rows // 2
    return (
        min(num_train, max_per_origin),
        min(num_test, max_per_origin),
        max(num_train, num_test) > max_per_origin,
    )


def distinguishing_game(
    pair: TablePair,
    *,
    classifiers: str | Sequence[str] = DISTINGUISHERS,
    num_runs: int = DEFAULT_NUM_RUNS,
    test_fraction: float = 0.3,
    max_rows: int | None = DEFAULT_MAX_ROWS,
    holdout: pd.DataFrame | None = None,
    random_state: int = 0,
    tick: Callable[[], object] | None = None,
) -> GameResult:
    """Play the game ``num_runs`` times with each classifier, with fresh mixes per run."""
    # The test mix has ``test_fraction`` of the shorter table's rows, and no row is in both mixes. A mix has
    # at most ``max_rows`` rows (None: no limit). ``holdout`` rows, unseen by the synthesizer, replace the
    # real rows in both mixes. ``tick`` is called once per run and classifier.
    if num_runs < 1:
        raise ValueError(f"num_runs ({num_runs}) must be at least 1")
    classifiers = check_classifier_names("classifiers", classifiers)
    real = pair.real if holdout is None else holdout[list(pair.kinds)]
    num_train, num_test, subsampled = _mix_sizes(min(len(real), len(pair.synthetic)), test_fraction, max_rows)
    trainings, true_origins = [], []
    for run in range(num_runs):
        rng = np.random.default_rng([random_state, run])
        train, test = _mixes(real, pair.synthetic, (num_train, num_test), rng)
        true_origins.append(test[1])
        # Fit on the training mix only. If the real table's categories were known in advance, a category that
        # only the synthetic table has would stand out, but not the reverse.
        encoder = FeatureEncoder(pair.kinds, pair.formats).fit(train[0])
        train_features, test_features = (
            Features.of_rows(encoder, rows, classifiers) for rows, _ in (train, test)
        )
        for name in classifiers:
            seed = int(rng.integers(2**31))
            trainings.append(
                Training(
                    name=name, train=train_features, labels=train[1], test=test_features, random_state=seed
                )
            )
    predictions = predict_all(trainings, tick)
    values: dict[str, list[float]] = {name: [] for name in classifiers}
    for origin, name in itertools.product(true_origins, classifiers):
        values[name].append(float((next(predictions) == origin).mean()))
    return GameResult(
        accuracy={name: Estimate.of(v) for name, v in values.items()},
        num_train=2 * num_train,
        num_test=2 * num_test,
        held_out=holdout is not None,
        subsampled=subsampled,
    )


Mix = tuple[pd.DataFrame, "np.ndarray[tuple[int], np.dtype[np.bool_]]"]


def _mixes(
    real: pd.DataFrame, synthetic: pd.DataFrame, sizes: tuple[int, int], rng: np.random.Generator
) -> tuple[Mix, Mix]:
    """Draw disjoint training and test mixes of real and synthetic rows, with origin labels."""
    shuffled = [(table, rng.permutation(len(table))) for table in (real, synthetic)]
    cut, end = sizes[0], sum(sizes)
    train = _mix([table.iloc[order[:cut]] for table, order in shuffled], rng)
    return train, _mix([table.iloc[order[cut:end]] for table, order in shuffled], rng)


def _mix(parts: Sequence[pd.DataFrame], rng: np.random.Generator) -> Mix:
    """Shuffle rows of both origins together; the labels are True for synthetic rows."""
    order = rng.permutation(sum(len(part) for part in parts))
    is_synthetic = np.repeat([False, True], [len(part) for part in parts])
    return stack_rows(parts).iloc[order], is_synthetic[order]

"""The distinguishing game of [PD] section 6.4: can a classifier tell synthetic rows from real ones.

A distinguisher is trained on as many real as synthetic rows and names the origin of rows of another such mix.
Half right is what guessing gives, and the ideal.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sdmetrics.errors import IncomputableMetricError

from sdv_plausible.evaluation.classifiers import DEFAULT_NUM_RUNS, Estimate, Training, names_of, predict_all
from sdv_plausible.evaluation.features import FeatureEncoder, Features, stack_rows
from sdv_plausible.evaluation.table_pair import DEFAULT_MAX_ROWS, DISTINGUISHERS, TablePair


@dataclass(frozen=True, kw_only=True)
class GameResult:
    """Outcome of :func:`distinguishing_game`."""

    # Accuracy is the share of the test mix named right. Sampling alone moves a run's value from 0.5 by about
    # ``0.5 / sqrt(num_test)``. A value clearly below 0.5 means that synthetic rows copy real ones: the copy
    # of a training row turns up in the test mix with the other label. Held-out real rows remove that effect.
    accuracy: dict[str, Estimate]  # by classifier, in [0, 1]
    num_train: int  # rows of the training mix, half of them synthetic
    num_test: int
    held_out: bool  # whether the real rows were held out from the synthesizer
    subsampled: bool  # whether ``max_rows`` left rows unused; the longer table's surplus always is

    @property
    def score(self) -> float:
        """Mean accuracy over the classifiers, each at least 0.5 (guessing), in [0.5, 1]."""
        return float(np.mean([max(0.5, estimate.mean) for estimate in self.accuracy.values()]))


def _sides(num_rows: int, test_fraction: float, max_rows: int | None) -> tuple[int, int, bool]:
    """Return the rows of each kind in both mixes, and whether ``max_rows`` leaves rows unused."""
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
    num_train, most = num_rows - num_test, max_rows // 2
    return min(num_train, most), min(num_test, most), max(num_train, num_test) > most


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
    """Play the game ``num_runs`` times with each classifier, each run with fresh mixes."""
    # ``test_fraction`` of the shorter table's rows make the test mix; no row is in both. A mix has at most
    # ``max_rows`` rows (None: no bound). Rows of a ``holdout``, which the synthesizer never saw, are the real
    # ones of both mixes. ``tick`` is called once per run and classifier.
    if num_runs < 1:
        raise ValueError(f"num_runs ({num_runs}) must be at least 1")
    classifiers = names_of("classifiers", classifiers)
    real = pair.real if holdout is None else holdout[list(pair.kinds)]
    num_train, num_test, subsampled = _sides(min(len(real), len(pair.synthetic)), test_fraction, max_rows)
    players, origins = [], []
    for run in range(num_runs):
        rng = np.random.default_rng([random_state, run])
        train, test = _mixes(real, pair.synthetic, (num_train, num_test), rng)
        origins.append(test[1])
        # Fitted on the training mix alone: were the real table's categories known in advance, a synthetic
        # category the real table lacks would stand out where its mirror image would not.
        encoder = FeatureEncoder(pair.kinds, pair.formats).fit(train[0])
        learned, asked = (Features.of_rows(encoder, rows, classifiers) for rows, _ in (train, test))
        for name in classifiers:
            seed = int(rng.integers(2**31))
            players.append(Training(name=name, train=learned, labels=train[1], test=asked, random_state=seed))
    said = predict_all(players, tick)
    values: dict[str, list[float]] = {name: [] for name in classifiers}
    for origin, name in itertools.product(origins, classifiers):
        values[name].append(float((next(said) == origin).mean()))
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
    drawn = [(table, rng.permutation(len(table))) for table in (real, synthetic)]
    cut, end = sizes[0], sum(sizes)
    train = _mix([table.iloc[order[:cut]] for table, order in drawn], rng)
    return train, _mix([table.iloc[order[cut:end]] for table, order in drawn], rng)


def _mix(parts: Sequence[pd.DataFrame], rng: np.random.Generator) -> Mix:
    order = rng.permutation(sum(len(part) for part in parts))
    is_synthetic = np.repeat([False, True], [len(part) for part in parts])
    return stack_rows(parts).iloc[order], is_synthetic[order]

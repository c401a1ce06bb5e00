"""Rows to the features of a classifier, and which of them train and which test: none does both.

Not by scikit-learn's ``ColumnTransformer``: its encoders refuse a column whose values are of several types (1
and "a"), its scaler refuses infinite numbers, and a table under evaluation may have both.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sdmetrics.errors import IncomputableMetricError

from sdv_plausible.evaluation.table_codes import category_codes, sample_positions
from sdv_plausible.evaluation.table_pair import Floats, Kind, TablePair, as_numbers

LINEAR = frozenset({"logistic_regression", "linear_svm"})  # classifiers that want indicator features
_MAX_ONE_HOT = 50
_HUGE = 1e300


class FeatureEncoder:
    """Rows to the features of a classifier, fitted once, label-blind, on the rows it is trained on."""

    # Numbers are centred on their median and divided by their inter-quartile range; a missing number becomes
    # the median and sets an indicator feature. Categories become their rank by frequency for trees, or
    # indicator features for linear models (the commonest 50, the rest sharing one). Missing and unseen
    # categories have a rank or indicator each.
    def __init__(self, kinds: Mapping[str, Kind], formats: Mapping[str, str] | None = None) -> None:
        self.kinds = dict(kinds)
        self.formats = dict(formats or {})
        self._centres: dict[str, tuple[float, float]] = {}
        self._ranks: dict[str, dict[Any, int]] = {}

    def fit(self, frame: pd.DataFrame) -> FeatureEncoder:
        """Learn centres, scales and category ranks from ``frame``; return self."""
        for name, kind in self.kinds.items():
            if kind == "categorical":
                codes, values = category_codes([frame[name]])
                counts = np.bincount(codes[0], minlength=len(values) + 1)[1:]
                # stable: equally frequent categories keep their order of appearance, which no label decides
                order = np.argsort(-counts, kind="stable")
                self._ranks[name] = {values[i]: rank for rank, i in enumerate(order)}
            else:
                self._centres[name] = _centre_scale(as_numbers(frame[name], kind, self.formats.get(name))[0])
        return self

    def transform(self, frame: pd.DataFrame, *, one_hot: bool) -> npt.NDArray[np.float32]:
        """Return the features, shape (n, number of features); ``one_hot`` is for linear models."""
        parts: list[Floats] = []
        for name, kind in self.kinds.items():
            if kind == "categorical":
                codes, values = category_codes([frame[name]])
                known = self._ranks[name]
                rank = np.array([-1] + [known.get(value, -2) for value in values])[codes[0]]
                parts.append(_indicators(rank, len(known)) if one_hot else rank[:, None].astype(np.float64))
            else:
                parts.append(self._number_features(frame[name], name, kind, clip=10.0 if one_hot else 1e30))
        return np.concatenate(parts, axis=1).astype(np.float32)

    def _number_features(self, column: pd.Series[Any], name: str, kind: Kind, *, clip: float) -> Floats:
        values, unreadable = as_numbers(column, kind, self.formats.get(name))
        centre, scale = self._centres[name]
        # halves first: the difference of two numbers near the largest float would overflow
        scaled = np.clip((np.clip(values, -_HUGE, _HUGE) / 2 - centre / 2) / (scale / 2), -clip, clip)
        absent = np.isnan(values)
        return np.column_stack([np.where(absent, 0.0, scaled), absent + unreadable.astype(np.float64)])


def _centre_scale(values: Floats) -> tuple[float, float]:
    present = np.clip(values[~np.isnan(values)], -_HUGE, _HUGE)
    if present.size == 0:
        return 0.0, 1.0
    low, centre, high = np.quantile(present, [0.25, 0.5, 0.75], method="lower")
    scale = (high - low) or (present.max() / 2 - present.min() / 2)
    return float(centre), float(scale) or 1.0


def _indicators(rank: npt.NDArray[Any], num_known: int) -> Floats:
    width = min(num_known, _MAX_ONE_HOT)
    # column 0: missing, 1: unseen, 2: known but rare, 3...: the common categories
    slot = np.where(rank < 0, -1 - rank, np.where(rank < width, 3 + rank, 2))
    matrix = np.zeros((rank.size, width + 3))
    matrix[np.arange(rank.size), slot] = 1.0
    return matrix


@dataclass(frozen=True, kw_only=True)
class Features:
    """The same rows as trees and as linear models want them, shapes (n, features)."""

    trees: npt.NDArray[np.float32]
    linear: npt.NDArray[np.float32] | None

    @classmethod
    def of_rows(cls, encoder: FeatureEncoder, rows: pd.DataFrame, classifiers: Sequence[str]) -> Features:
        """Encode ``rows`` for the named classifiers."""
        linear = encoder.transform(rows, one_hot=True) if LINEAR & set(classifiers) else None
        return cls(trees=encoder.transform(rows, one_hot=False), linear=linear)

    def of(self, name: str) -> npt.NDArray[np.float32]:
        """Return the features that classifier ``name`` takes."""
        return self.linear if name in LINEAR and self.linear is not None else self.trees


def stack_rows(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the rows of several tables as one of object columns: unlike dtypes might change values."""
    names = list(parts[0].columns)
    columns = {name: np.concatenate([part[name].to_numpy(dtype=object) for part in parts]) for name in names}
    rows: pd.DataFrame = pd.DataFrame({name: pd.Series(v, dtype=object) for name, v in columns.items()})
    return rows


def shuffle(rows: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Return the rows in random order."""
    shuffled: pd.DataFrame = rows.iloc[rng.permutation(len(rows))]
    return shuffled


def split_sizes(
    pair: TablePair,
    holdout: pd.DataFrame | None,
    test_fraction: float,
    max_rows: int | None,
    num_trainings: int = 1,
) -> tuple[int, int, bool]:
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
    pair: TablePair,
    holdout: pd.DataFrame | None,
    sizes: tuple[int, int],
    rng: np.random.Generator,
    twin: bool = False,
) -> tuple[pd.DataFrame, ...]:
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

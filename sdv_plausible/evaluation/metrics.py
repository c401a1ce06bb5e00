"""The measures of [PD] section 6 as SDMetrics single-table metrics.

All metrics take ``(real_data, synthetic_data, metadata=None, table_name=None, **options)``. Tables are frames
or one-table dicts; metadata is a dict or an SDV ``Metadata`` object. ``compute`` returns the score.
``compute_breakdown`` returns a dict with ``"score"``, its parts, and the numbers of rows used
(``"subsampled"`` is true if ``max_rows`` left rows out). Importing this module registers the metrics with
SDMetrics and SDGym.

Related SDMetrics metrics: on complete categorical columns ``TotalVariationDistance`` is ``1 - TVComplement``
and ``PairwiseTotalVariationDistance`` is ``1 - ContingencySimilarity``. The differences: a missing value is a
category here (TVComplement drops it), numbers are binned on the real data's quantiles (ContingencySimilarity:
ten equal widths), and no pair is dropped for weak association (SDMetrics' quality report drops some).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from sdmetrics.errors import IncomputableMetricError
from sdmetrics.goal import Goal
from sdmetrics.single_table import SingleTableMetric

from sdv_plausible.evaluation import DEFAULT_MAX_ROWS, DEFAULT_NUM_BINS

if TYPE_CHECKING:
    from sdv_plausible.evaluation.classifiers import ClassifierComparison, Estimate, GameResult
    from sdv_plausible.evaluation.table_pair import TablePair


class _SectionSixMetric(SingleTableMetric):  # type: ignore[misc]
    """Base class: a score in [min_value, max_value], taken from the breakdown."""

    min_value = 0.0
    max_value = 1.0
    _breakdown: ClassVar[Callable[..., dict[str, Any]]]  # (pair of tables, **options) -> breakdown

    @classmethod
    def compute(
        cls,
        real_data: Any,
        synthetic_data: Any,
        metadata: Any = None,
        table_name: str | None = None,
        **options: Any,
    ) -> float:
        """Return the score; parameters as in ``compute_breakdown``."""
        breakdown = cls.compute_breakdown(real_data, synthetic_data, metadata, table_name, **options)
        return float(breakdown["score"])

    @classmethod
    def compute_breakdown(
        cls,
        real_data: Any,
        synthetic_data: Any,
        metadata: Any = None,
        table_name: str | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        """Return the score, its parts, and the numbers of rows used."""
        from sdv_plausible.evaluation.table_pair import prepare_holdout, prepare_pair

        pair = prepare_pair(real_data, synthetic_data, metadata, table_name)
        if "holdout" in options:
            options["holdout"] = prepare_holdout(pair, options["holdout"], table_name)
        return cls._breakdown(pair, **options)


class TotalVariationDistance(_SectionSixMetric):
    """Mean total variation distance of real and synthetic columns, in [0, 1]; 0 is ideal.

    [PD] section 6.2, figure 3. Options of ``compute`` and ``compute_breakdown``:

    num_bins : int, default 20
        Quantile bins of a numerical or datetime column, at least 1.
    max_rows : int or None, default None
        Maximum number of rows used of each table. With fewer rows the distance is larger by chance.
    random_state : int, default 0
        Seed of the subsample.

    Parts of the breakdown: ``"columns"`` (``{column: {"score": distance}}``), ``"num_rows_real"``,
    ``"num_rows_synthetic"``, ``"subsampled"``.
    """

    name = "TotalVariationDistance"
    goal = Goal.MINIMIZE

    @classmethod
    def _breakdown(
        cls,
        pair: TablePair,
        *,
        num_bins: int = DEFAULT_NUM_BINS,
        max_rows: int | None = None,
        random_state: int = 0,
    ) -> dict[str, Any]:
        from sdv_plausible.evaluation import table_codes

        coded, row_counts = table_codes.encode_pair(pair, num_bins, max_rows, random_state)
        real, synthetic = coded.tables
        values = table_codes.column_distances(real, synthetic, coded.cardinalities)
        columns = {name: {"score": float(value)} for name, value in zip(coded.columns, values, strict=True)}
        return {"score": float(values.mean()), "columns": columns, **row_counts}


class PairwiseTotalVariationDistance(_SectionSixMetric):
    """Mean total variation distance of the joint distributions of all pairs of columns, in [0, 1].

    0 is ideal. [PD] section 6.2, figure 4. Memory grows with the number of rows, not with the size of the
    joint tables. Options: as :class:`TotalVariationDistance`. Parts of the breakdown: ``"pairs"``
    (``{(column, column): {"score": distance}}``) and the row counts.
    """

    name = "PairwiseTotalVariationDistance"
    goal = Goal.MINIMIZE

    @classmethod
    def _breakdown(
        cls,
        pair: TablePair,
        *,
        num_bins: int = DEFAULT_NUM_BINS,
        max_rows: int | None = None,
        random_state: int = 0,
    ) -> dict[str, Any]:
        if len(pair.kinds) < 2:
            raise IncomputableMetricError(f"only column {list(pair.kinds)} can be compared: pairs need two")
        from sdv_plausible.evaluation import table_codes

        coded, row_counts = table_codes.encode_pair(pair, num_bins, max_rows, random_state)
        real, synthetic = coded.tables
        values = table_codes.pair_distances(real, synthetic, coded.cardinalities)
        pairs = {(coded.columns[i], coded.columns[j]): {"score": value} for (i, j), value in values.items()}
        return {"score": float(np.mean(list(values.values()))), "pairs": pairs, **row_counts}


class ModelAccuracy(_SectionSixMetric):
    """Mean accuracy of predicting each column from all other columns, in [0, 1]; 1 is ideal.

    [PD] section 6.2, figures 1 and 2. For each column, a model trained on synthetic rows predicts the most
    likely value. Its accuracy is measured on unseen real rows. Values are codes (numbers: quantile bins).
    Options:

    structure : dict of str to list of str, optional
        ``{column: parents}`` of a Bayesian network. Its conditional tables are counted on the synthetic rows
        and give the exact most likely value, as in the paper. By default, one random forest per column
        predicts it.
    num_bins : int, default 20
        Quantile bins of numerical columns, at least 1.
    holdout : DataFrame or dict, optional
        Real rows unseen by the synthesizer, used as test rows; otherwise ``test_fraction`` of the real rows.
    test_fraction : float, default 0.3
        Share of real rows used as test rows, in (0, 1).
    max_rows : int or None, default 10,000
        Maximum number of training rows and of test rows; None for all.
    random_state : int, default 0
        Seed of the split and of the forests.

    Parts of the breakdown: ``"columns"``, for each the ``"score"``, ``"real"`` (trained on real rows),
    ``"majority"`` (the paper's marginals: the most common synthetic value) and ``"random_guess"``;
    ``"num_rows_train"``, ``"num_rows_test"``, ``"subsampled"``.
    """

    name = "ModelAccuracy"
    goal = Goal.MAXIMIZE

    @classmethod
    def _breakdown(
        cls,
        pair: TablePair,
        *,
        structure: Mapping[str, str | Sequence[str]] | None = None,
        num_bins: int = DEFAULT_NUM_BINS,
        holdout: pd.DataFrame | None = None,
        test_fraction: float = 0.3,
        max_rows: int | None = DEFAULT_MAX_ROWS,
        random_state: int = 0,
    ) -> dict[str, Any]:
        from sdv_plausible.evaluation import classifiers, table_codes
        from sdv_plausible.evaluation.table_codes import split_rows, split_sizes

        *sizes, subsampled = split_sizes(pair, holdout, test_fraction, max_rows)
        rng = np.random.default_rng(random_state)
        row_sets = split_rows(pair, holdout, (sizes[0], sizes[1]), rng)
        coded = table_codes.encode(row_sets, pair.kinds, formats=pair.formats, num_bins=num_bins)
        real, synthetic, test = coded.tables
        predictor = classifiers.forest_predictor(random_state)
        if structure is not None:
            predictor = classifiers.network_predictor(
                _column_indices(structure, coded.columns), coded.cardinalities
            )
        accuracies = pd.DataFrame(
            {
                "score": classifiers.model_accuracy(synthetic, test, predictor),
                "real": classifiers.model_accuracy(real, test, predictor),
                "majority": classifiers.model_accuracy(synthetic, test, classifiers.majority_predictor),
                "random_guess": [1.0 / np.unique(real[:, j]).size for j in range(real.shape[1])],
            },
            index=list(coded.columns),
        )
        return {
            "score": float(accuracies["score"].mean()),
            "columns": accuracies.to_dict(orient="index"),
            "num_rows_train": len(synthetic),
            "num_rows_test": len(test),
            "subsampled": subsampled,
        }


def _column_indices(
    structure: Mapping[str, str | Sequence[str]], columns: Sequence[str]
) -> dict[int, list[int]]:
    index = {name: j for j, name in enumerate(columns)}
    from sdv_plausible.evaluation.network_layout import as_structure

    network = as_structure(structure)
    unknown = set(network).union(*network.values()) - set(index)
    if unknown:
        raise ValueError(f"structure names {sorted(unknown)}, which are not compared columns: {list(index)}")
    return {index[child]: [index[parent] for parent in parents] for child, parents in network.items()}


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return {"score": estimate.mean, "low": estimate.low, "high": estimate.high, "runs": list(estimate.values)}


def _mean(parts: Mapping[str, Any]) -> float:
    return float(np.mean([part["score"] for part in parts.values()]))


def _rows_used(outcome: ClassifierComparison | GameResult) -> dict[str, Any]:
    return {
        "num_rows_train": outcome.num_train,
        "num_rows_test": outcome.num_test,
        "subsampled": outcome.subsampled,
    }


class ClassifierAccuracy(_SectionSixMetric):
    """Mean accuracy on unseen real rows of classifiers trained on synthetic rows, in [0, 1]; 1 is ideal.

    [PD] section 6.3, tables 3 and 4. Options:

    target : str, optional
        Column to predict; default the last categorical column with 2 to 50 real values. A numerical target
        becomes "above the real median or not".
    classifiers : str or sequence of str, default all
        Of ``tree``, ``random_forest``, ``adaboost``, ``logistic_regression``, ``linear_svm``.
    num_runs : int, default 5
        Number of runs, each with a fresh split, at least 1.
    test_fraction : float, default 0.3
        Share of real rows used as test rows, in (0, 1).
    max_rows : int or None, default 10,000
        Maximum number of training rows and of test rows; None for all.
    holdout : DataFrame or dict, optional
        Real rows unseen by the synthesizer, used as test rows.
    random_state : int, default 0
        Seed of splits and classifiers.

    Parts of the breakdown: ``"classifiers"`` (each with ``"score"``, the 95 % interval ``"low"``, ``"high"``
    over the ``"runs"``, and ``"real"``, the same trained on real rows), ``"majority"`` (the accuracy of
    always predicting the most common class), ``"target"`` and the row counts.
    """

    name = "ClassifierAccuracy"
    goal = Goal.MAXIMIZE

    @classmethod
    def _breakdown(cls, pair: TablePair, **options: Any) -> dict[str, Any]:
        from sdv_plausible.evaluation.classifiers import compare_classifiers

        outcome = compare_classifiers(pair, **options)
        parts = {
            name: {**_estimate(result.synthetic_accuracy), "real": _estimate(result.real_accuracy)}
            for name, result in outcome.results.items()
        }
        return {
            "score": _mean(parts),
            "classifiers": parts,
            "majority": outcome.majority_accuracy,
            "target": outcome.target,
            **_rows_used(outcome),
        }


class ClassifierAgreement(_SectionSixMetric):
    """Share of unseen real rows on which classifiers trained on real and on synthetic rows agree.

    In [0, 1]; 1 is ideal. [PD] section 6.3, table 3. Options: as :class:`ClassifierAccuracy`, and
    ``ceiling=True`` to also compute the agreement of two classifiers trained on different real rows. Then
    each classifier trains on at most half of the real training rows. Parts of the breakdown:
    ``"classifiers"`` (each with ``"score"``, ``"low"``, ``"high"``, ``"runs"`` and, with ``ceiling=True``,
    ``"ceiling"``), ``"target"`` and the row counts.
    """

    name = "ClassifierAgreement"
    goal = Goal.MAXIMIZE

    @classmethod
    def _breakdown(cls, pair: TablePair, **options: Any) -> dict[str, Any]:
        from sdv_plausible.evaluation.classifiers import compare_classifiers

        outcome = compare_classifiers(pair, **options)
        parts = {name: _estimate(result.agreement) for name, result in outcome.results.items()}
        for name, result in outcome.results.items():
            if result.ceiling is not None:
                parts[name]["ceiling"] = result.ceiling.mean
        return {"score": _mean(parts), "classifiers": parts, "target": outcome.target, **_rows_used(outcome)}


class DistinguishingGame(_SectionSixMetric):
    """Accuracy of classifiers that distinguish synthetic rows from real ones, in [0.5, 1].

    0.5 is ideal. [PD] section 6.4, table 5. In the score, an accuracy below 0.5 counts as 0.5; the breakdown
    has the raw accuracies. ``normalize`` maps 0.5 to 1 and 1 to 0. Options:

    classifiers : str or sequence of str, default ``("random_forest", "tree")``
        Of ``tree``, ``random_forest``, ``adaboost``, ``logistic_regression``, ``linear_svm``.
    num_runs : int, default 5
        Number of runs, each with fresh mixes, at least 1.
    test_fraction : float, default 0.3
        Share of the shorter table in the test mix, in (0, 1).
    max_rows : int or None, default 10,000
        Maximum number of rows of the training mix and of the test mix; None for all.
    holdout : DataFrame or dict, optional
        Real rows unseen by the synthesizer; they replace the real rows in both mixes.
    random_state : int, default 0
        Seed of mixes and classifiers.

    Parts of the breakdown: ``"classifiers"`` (each with the mean accuracy as ``"score"``, ``"low"``,
    ``"high"``, ``"runs"``), ``"held_out"`` and the row counts.
    """

    name = "DistinguishingGame"
    goal = Goal.MINIMIZE
    min_value = 0.5
    max_value = 1.0

    @classmethod
    def _breakdown(cls, pair: TablePair, **options: Any) -> dict[str, Any]:
        from sdv_plausible.evaluation.classifiers import distinguishing_game

        outcome = distinguishing_game(pair, **options)
        parts = {name: _estimate(estimate) for name, estimate in outcome.accuracy.items()}
        return {
            "score": outcome.score,
            "classifiers": parts,
            "held_out": outcome.held_out,
            **_rows_used(outcome),
        }

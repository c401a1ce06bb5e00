"""The properties of the report, on SDMetrics' property classes.

SDMetrics scores are better when higher, so each row's ``Score`` is ``1 - distance``, the agreement, or the
share of origins that the distinguisher does not find out (1 where it does no better than guessing, 0 where it
is always right).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sdmetrics.errors import IncomputableMetricError
from sdmetrics.reports.multi_table._properties.base import BaseMultiTableProperty
from sdmetrics.reports.single_table._properties.base import BaseSingleTableProperty

from sdv_plausible.evaluation import classifiers, coding, distances, game
from sdv_plausible.evaluation.report import plots
from sdv_plausible.evaluation.tables import TablePair, column_kinds, prepare, prepare_holdout


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """Settings of a report; see :class:`sdv_plausible.evaluation.PlausibleDeniabilityReport`."""

    target: str | None
    classifiers: tuple[str, ...]
    distinguishers: tuple[str, ...]
    num_runs: int
    max_rows: int | None
    max_rows_distances: int | None
    num_bins: int
    random_state: int


class _TableProperty(BaseSingleTableProperty):  # type: ignore[misc]
    """One property of one table: ``rows`` computes its details from a pair of tables."""

    options: ReportOptions
    holdout: pd.DataFrame | None = None
    plot: ClassVar[Callable[[pd.DataFrame], Any]]

    def rows(self, pair: TablePair, tick: Callable[[], object]) -> Any:
        """Return the details, a frame with a column ``Score``."""
        raise NotImplementedError

    def get_visualization(self) -> Any:
        """Return the property's figure."""
        return type(self).plot(self.details)

    def _generate_details(
        self, real_data: Any, synthetic_data: Any, metadata: Any, progress_bar: Any = None
    ) -> Any:
        try:
            pair = prepare(real_data, synthetic_data, metadata)
            return self.rows(pair, progress_bar.update if progress_bar else lambda: None)
        except IncomputableMetricError as error:
            return pd.DataFrame([{"Score": np.nan, "Error": str(error)}])
        finally:
            self.holdout = None  # a saved report holds no rows


class _ColumnDistances(_TableProperty):
    plot = plots.column_distances

    def rows(self, pair: TablePair, tick: Callable[[], object]) -> Any:
        asked = self.options
        coded, used = coding.encode_pair(pair, asked.num_bins, asked.max_rows_distances, asked.random_state)
        real, synthetic = coded.tables
        values = distances.column_distances(real, synthetic, coded.cardinalities)
        for _ in values:
            tick()
        return pd.DataFrame(
            {
                "Column": coded.columns,
                "Metric": "TotalVariationDistance",
                "Distance": values,
                "Score": 1 - values,
                "Real Rows": used["num_rows_real"],
                "Synthetic Rows": used["num_rows_synthetic"],
            }
        )


class _PairDistances(_TableProperty):
    plot = plots.pair_distances
    statistics: distances.PairStatistics | None = None

    def rows(self, pair: TablePair, tick: Callable[[], object]) -> Any:
        if len(pair.kinds) < 2:
            raise IncomputableMetricError(f"only column {list(pair.kinds)} can be compared: pairs need two")
        asked = self.options
        coded, used = coding.encode_pair(pair, asked.num_bins, asked.max_rows_distances, asked.random_state)
        real, synthetic = coded.tables
        self.statistics = found = distances.pair_statistics(real, synthetic, coded.cardinalities, tick)
        place = tuple(np.array(found.pairs).T)
        return pd.DataFrame(
            {
                "Column 1": [coded.columns[i] for i, _ in found.pairs],
                "Column 2": [coded.columns[j] for _, j in found.pairs],
                "Metric": "PairwiseTotalVariationDistance",
                "Distance": found.distances,
                "Score": 1 - found.distances,
                "Real Dependence": found.real_dependence[place],
                "Synthetic Dependence": found.synthetic_dependence[place],
                "Real Rows": used["num_rows_real"],
                "Synthetic Rows": used["num_rows_synthetic"],
            }
        )


class _ClassifierAgreement(_TableProperty):
    plot = plots.classifier_agreement
    majority: float | None = None

    def rows(self, pair: TablePair, tick: Callable[[], object]) -> Any:
        options = self.options
        outcome = classifiers.compare_classifiers(
            pair,
            options.target if options.target in pair.kinds else None,
            classifiers=options.classifiers,
            num_runs=options.num_runs,
            max_rows=options.max_rows,
            holdout=prepare_holdout(pair, self.holdout),
            random_state=options.random_state,
            ceiling=True,
            tick=tick,
        )
        self.majority = outcome.majority_accuracy
        return pd.DataFrame(
            [
                {
                    "Target": outcome.target,
                    "Classifier": name,
                    "Metric": "ClassifierAgreement",
                    "Score": result.agreement.mean,
                    **_interval("Agreement", result.agreement),
                    "Ceiling": result.ceiling.mean if result.ceiling else np.nan,
                    **(_interval("Ceiling", result.ceiling) if result.ceiling else {}),
                    "Real Accuracy": result.real_accuracy.mean,
                    **_interval("Real", result.real_accuracy),
                    "Synthetic Accuracy": result.synthetic_accuracy.mean,
                    **_interval("Synthetic", result.synthetic_accuracy),
                    "Training Rows": outcome.num_train,
                    "Test Rows": outcome.num_test,
                    "Subsampled": outcome.subsampled,
                }
                for name, result in outcome.results.items()
            ]
        )


class _DistinguishingGame(_TableProperty):
    plot = plots.distinguishing_game

    def rows(self, pair: TablePair, tick: Callable[[], object]) -> Any:
        options = self.options
        outcome = game.distinguishing_game(
            pair,
            classifiers=options.distinguishers,
            num_runs=options.num_runs,
            max_rows=options.max_rows,
            holdout=prepare_holdout(pair, self.holdout),
            random_state=options.random_state,
            tick=tick,
        )
        return pd.DataFrame(
            [
                {
                    "Classifier": name,
                    "Metric": "DistinguishingGame",
                    "Accuracy": estimate.mean,
                    **_interval("Accuracy", estimate),
                    "Score": 2 - 2 * max(0.5, estimate.mean),
                    "Held-out Real Rows": outcome.held_out,
                    "Training Rows": outcome.num_train,
                    "Test Rows": outcome.num_test,
                    "Subsampled": outcome.subsampled,
                }
                for name, estimate in outcome.accuracy.items()
            ]
        )


def _interval(name: str, estimate: classifiers.Estimate) -> dict[str, float]:
    return {f"{name} Low": estimate.low, f"{name} High": estimate.high}


class ReportProperty(BaseMultiTableProperty):  # type: ignore[misc]
    """One property of the report over all its tables."""

    _single_table_property: ClassVar[type[_TableProperty]]
    _num_iteration_case = "table"

    def __init__(self, options: ReportOptions) -> None:
        super().__init__()
        self.options = options
        self.holdouts: dict[str, pd.DataFrame] = {}

    def _configure_single_table_property(self, table_name: str) -> None:
        one = self._properties[table_name]
        one.options, one.holdout = self.options, self.holdouts.get(table_name)

    def _get_num_iterations(self, metadata: dict[str, Any]) -> int:
        return sum(self._ticks(len(column_kinds(t, pd.DataFrame()))) for t in metadata["tables"].values())

    def _ticks(self, num_columns: int) -> int:
        raise NotImplementedError

    def of_table(self, table_name: str) -> Any:
        """Return the property of one table."""
        return self._properties[table_name]


class ColumnDistances(ReportProperty):
    """Total variation distance of each column; ``Score`` is ``1 - Distance``."""

    _single_table_property = _ColumnDistances

    def _ticks(self, num_columns: int) -> int:
        return num_columns


class PairDistances(ReportProperty):
    """Total variation distance of each pair of columns; ``Score`` is ``1 - Distance``."""

    _single_table_property = _PairDistances

    def _ticks(self, num_columns: int) -> int:
        return num_columns * (num_columns - 1) // 2


class ClassifierAgreementProperty(ReportProperty):
    """Agreement of classifiers trained on real and on synthetic rows; ``Score`` is the agreement."""

    _single_table_property = _ClassifierAgreement

    def _ticks(self, num_columns: int) -> int:  # noqa: ARG002 - every table costs the same
        return len(self.options.classifiers) * self.options.num_runs


class DistinguishingGameProperty(ReportProperty):
    """Accuracy of distinguishers; ``Score`` is 1 at 0.5 (guessing) and 0 at 1."""

    _single_table_property = _DistinguishingGame

    def _ticks(self, num_columns: int) -> int:  # noqa: ARG002 - every table costs the same
        return len(self.options.distinguishers) * self.options.num_runs

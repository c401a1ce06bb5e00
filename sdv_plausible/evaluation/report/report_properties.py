"""The properties of the report, built on SDMetrics' property classes.

In SDMetrics, higher scores are better. Each row's ``Score`` is ``1 - distance``, the agreement, or ``2 - 2 *
accuracy`` of the distinguisher (1 at chance, 0 if it is always right).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sdmetrics.errors import IncomputableMetricError
from sdmetrics.reports.multi_table._properties.base import BaseMultiTableProperty
from sdmetrics.reports.single_table._properties.base import BaseSingleTableProperty

from sdv_plausible.evaluation import classifiers, table_codes
from sdv_plausible.evaluation.report import plots
from sdv_plausible.evaluation.table_pair import TablePair, column_kinds, prepare_holdout, prepare_pair


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


class TableProperty(BaseSingleTableProperty):  # type: ignore[misc]
    """Base class of a property of one table; ``_details`` computes its rows."""

    options: ReportOptions
    holdout: pd.DataFrame | None = None
    plot: ClassVar[Callable[[pd.DataFrame], Any]]

    @staticmethod
    def _ticks(options: ReportOptions, num_columns: int) -> int:
        raise NotImplementedError  # number of calls of ``tick`` for a table with this many columns

    def _details(self, pair: TablePair, tick: Callable[[], object]) -> Any:
        raise NotImplementedError  # the details, a frame with a column ``Score``

    def get_visualization(self) -> Any:
        """Return the property's figure."""
        return type(self).plot(self.details)

    def _generate_details(
        self, real_data: Any, synthetic_data: Any, metadata: Any, progress_bar: Any = None
    ) -> Any:
        try:
            pair = prepare_pair(real_data, synthetic_data, metadata)
            return self._details(pair, progress_bar.update if progress_bar else lambda: None)
        except IncomputableMetricError as error:
            return pd.DataFrame([{"Score": np.nan, "Error": str(error)}])
        finally:
            self.holdout = None  # a saved report contains no rows


class ColumnDistanceProperty(TableProperty):
    """Total variation distance of each column; ``Score`` is ``1 - Distance``."""

    plot = plots.column_distances

    @staticmethod
    def _ticks(options: ReportOptions, num_columns: int) -> int:  # noqa: ARG004
        return num_columns

    def _details(self, pair: TablePair, tick: Callable[[], object]) -> Any:
        options = self.options
        coded, row_counts = table_codes.encode_pair(
            pair, options.num_bins, options.max_rows_distances, options.random_state
        )
        real, synthetic = coded.tables
        values = table_codes.column_distances(real, synthetic, coded.cardinalities)
        for _ in values:
            tick()
        return pd.DataFrame(
            {
                "Column": coded.columns,
                "Metric": "TotalVariationDistance",
                "Distance": values,
                "Score": 1 - values,
                "Real Rows": row_counts["num_rows_real"],
                "Synthetic Rows": row_counts["num_rows_synthetic"],
            }
        )


class PairDistanceProperty(TableProperty):
    """Total variation distance of each pair of columns; ``Score`` is ``1 - Distance``."""

    plot = plots.pair_distances
    statistics: table_codes.PairStatistics | None = None

    @staticmethod
    def _ticks(options: ReportOptions, num_columns: int) -> int:  # noqa: ARG004
        return num_columns * (num_columns - 1) // 2

    def _details(self, pair: TablePair, tick: Callable[[], object]) -> Any:
        if len(pair.kinds) < 2:
            raise IncomputableMetricError(f"only column {list(pair.kinds)} can be compared: pairs need two")
        options = self.options
        coded, row_counts = table_codes.encode_pair(
            pair, options.num_bins, options.max_rows_distances, options.random_state
        )
        real, synthetic = coded.tables
        self.statistics = statistics = table_codes.pair_statistics(real, synthetic, coded.cardinalities, tick)
        index = tuple(np.array(statistics.pairs).T)
        return pd.DataFrame(
            {
                "Column 1": [coded.columns[i] for i, _ in statistics.pairs],
                "Column 2": [coded.columns[j] for _, j in statistics.pairs],
                "Metric": "PairwiseTotalVariationDistance",
                "Distance": statistics.distances,
                "Score": 1 - statistics.distances,
                "Real Dependence": statistics.real_dependence[index],
                "Synthetic Dependence": statistics.synthetic_dependence[index],
                "Real Rows": row_counts["num_rows_real"],
                "Synthetic Rows": row_counts["num_rows_synthetic"],
            }
        )


class ClassifierAgreementProperty(TableProperty):
    """Agreement of classifiers trained on real and on synthetic rows; ``Score`` is the agreement."""

    plot = plots.classifier_agreement
    majority: float | None = None

    @staticmethod
    def _ticks(options: ReportOptions, num_columns: int) -> int:  # noqa: ARG004
        # Trained on real, on synthetic and on other real rows.
        return 3 * len(options.classifiers) * options.num_runs

    def _details(self, pair: TablePair, tick: Callable[[], object]) -> Any:
        options = self.options
        outcome = classifiers.compare_classifiers(
            pair,
            options.target if options.target in pair.kinds else None,
            classifiers=options.classifiers,
            num_runs=options.num_runs,
            max_rows=None
            if options.max_rows is None
            else options.max_rows // 2,  # as many rows as in the game
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


class DistinguishingGameProperty(TableProperty):
    """Accuracy of distinguishers; ``Score`` is 1 at accuracy 0.5 (chance) and 0 at accuracy 1."""

    plot = plots.distinguishing_game

    @staticmethod
    def _ticks(options: ReportOptions, num_columns: int) -> int:  # noqa: ARG004
        return len(options.distinguishers) * options.num_runs

    def _details(self, pair: TablePair, tick: Callable[[], object]) -> Any:
        options = self.options
        outcome = classifiers.distinguishing_game(
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


PROPERTIES: Mapping[str, type[TableProperty]] = {
    "Column Distances": ColumnDistanceProperty,
    "Pair Distances": PairDistanceProperty,
    "Classifier Agreement": ClassifierAgreementProperty,
    "Distinguishing Game": DistinguishingGameProperty,
}


class ReportProperty(BaseMultiTableProperty):  # type: ignore[misc]
    """One property over all tables of the report."""

    _num_iteration_case = "table"

    def __init__(self, kind: type[TableProperty], options: ReportOptions) -> None:
        super().__init__()
        self._single_table_property = kind
        self.options = options
        self.holdouts: dict[str, pd.DataFrame] = {}
        self.begin: Callable[[], object] | None = None

    def get_score(self, *tables: Any, **more: Any) -> Any:
        """Call ``begin``, then compute the property as SDMetrics does."""
        if self.begin is not None:
            self.begin()
        return super().get_score(*tables, **more)

    def _configure_single_table_property(self, table_name: str) -> None:
        table_property = self._properties[table_name]
        table_property.options, table_property.holdout = self.options, self.holdouts.get(table_name)

    def _get_num_iterations(self, metadata: dict[str, Any]) -> int:
        column_counts = [len(column_kinds(table, pd.DataFrame())) for table in metadata["tables"].values()]
        return sum(self._single_table_property._ticks(self.options, number) for number in column_counts)

    def of_table(self, table_name: str) -> Any:
        """Return the property of one table."""
        return self._properties[table_name]

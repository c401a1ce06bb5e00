"""Contents of the page's sections; each section's template defines its layout.

Plausible-seed statistics ([PD] figure 6) are counts of real rows, so they are private.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.evaluation.page import charts
from sdv_plausible.evaluation.page.charts import horizontal_bars
from sdv_plausible.evaluation.page.summary import ComparisonSummary
from sdv_plausible.evaluation.page.svg import OTHER, REAL, REFERENCE, SYNTHETIC, Figure
from sdv_plausible.evaluation.table_pair import Floats
from sdv_plausible.utils.html_page import PageSection

_DIAGNOSTIC_KEYS = ("plausible_seeds", "pass_rates")


@dataclass(frozen=True, kw_only=True)
class SeedDiagnostics:
    """Aggregated plausible-seed statistics."""

    # share of candidates with 1, 2 to 3, 4 to 7, ... plausible seeds
    sizes: tuple[tuple[str, float], ...]
    ks: tuple[int, ...]  # increasing
    # for each omega, the pass rate at each k; NaN where unknown
    pass_rates: tuple[tuple[str, tuple[float, ...]], ...]

    @classmethod
    def of(cls, diagnostics: Mapping[str, Any] | None) -> SeedDiagnostics | None:
        """Aggregate ``{"plausible_seeds": array, "pass_rates": {k: {omega: rate}}}``, or one part."""
        if diagnostics is None:
            return None
        unknown = sorted(set(diagnostics) - set(_DIAGNOSTIC_KEYS))
        if unknown:
            raise ValueError(f"diagnostics has the parts {unknown}: only {_DIAGNOSTIC_KEYS} are known")
        rates: Mapping[int, Mapping[Any, float]] = diagnostics.get("pass_rates") or {}
        all_rates = [rate for row in rates.values() for rate in row.values()]
        if any(not 0 <= rate <= 1 for rate in all_rates):
            raise ValueError(
                f"diagnostics['pass_rates'] ({min(all_rates)} to {max(all_rates)}) must be shares in [0, 1]"
            )
        ks = sorted(rates)
        omegas = list(dict.fromkeys(omega for k in ks for omega in rates[k]))
        return cls(
            sizes=_size_shares(np.asarray(diagnostics.get("plausible_seeds", ()), dtype=np.int64)),
            ks=tuple(int(k) for k in ks),
            pass_rates=tuple((str(o), tuple(float(rates[k].get(o, np.nan)) for k in ks)) for o in omegas),
        )


def _size_shares(seeds: Any) -> tuple[tuple[str, float], ...]:
    if seeds.size == 0:
        return ()
    if seeds.min() < 1:
        raise ValueError(
            f"diagnostics['plausible_seeds'] ({seeds.min()}) must be at least 1: its own seed is plausible"
        )
    level = np.frexp(seeds.astype(np.float64))[1] - 1  # count in [2^level, 2^(level + 1))
    return tuple(
        ("1" if i == 0 else f"{2**i} to {2 ** (i + 1) - 1}", float(share))
        for i, share in enumerate(np.bincount(level) / seeds.size)
    )


_NUM_WORST = 8

Shares = tuple[tuple[str, tuple[float, ...]], ...]  # table rows: a name and its shares, in [0, 1]


@dataclass(frozen=True, kw_only=True)
class HeadingSection(PageSection, template="heading.html"):
    """Heading of a table."""

    title: str
    words: str


@dataclass(frozen=True, kw_only=True)
class NotComputedSection(PageSection, template="not_computed.html"):
    """Placeholder for a section that failed, with the reason."""

    title: str
    error: str


@dataclass(frozen=True, kw_only=True)
class DistanceSection(PageSection, template="distances.html"):
    """Distances of columns and pairs, with the distances between real rows as reference."""

    reference: str
    num_compared: int
    num_real: int
    num_synthetic: int
    figures: tuple[Figure, ...]
    worst_pairs: tuple[tuple[str, float, float, float], ...]
    pairs_error: str

    @classmethod
    def of(
        cls, columns: pd.DataFrame, pairs: pd.DataFrame, compared: ComparisonSummary
    ) -> DistanceSection | NotComputedSection:
        """Show the details of both distance properties, where they were computed."""
        if failed(columns):
            return NotComputedSection(title="Distances", error=error_of(columns))
        column_rows = [
            ("real against real", compared.reference_columns, REFERENCE),
            ("synthetic", compared.synthetic_columns, SYNTHETIC),
        ]
        pair_rows = [
            ("real against real", compared.reference_pairs, REFERENCE),
            ("synthetic", compared.synthetic_pairs, SYNTHETIC),
            ("columns shuffled", compared.independent_pairs, OTHER),
        ]
        figures = [_boxes("Columns", "distances of columns", column_rows)]
        if not failed(pairs):
            figures.append(_boxes("Pairs of columns", "distances of pairs", pair_rows))
        return cls(
            reference=compared.reference,
            num_compared=compared.num_rows,
            num_real=int(columns["Real Rows"].iloc[0]),
            num_synthetic=int(columns["Synthetic Rows"].iloc[0]),
            figures=tuple(figures),
            worst_pairs=() if failed(pairs) else _worst(pairs),
            pairs_error=error_of(pairs) if failed(pairs) else "",
        )


def _boxes(caption: str, title: str, rows: Sequence[tuple[str, Floats, str]]) -> Figure:
    listed = [(name, values.tolist(), colour) for name, values, colour in rows]
    return Figure(caption=caption, picture=charts.box_plot(title, listed, "total variation distance"))


def _worst(pairs: pd.DataFrame) -> tuple[tuple[str, float, float, float], ...]:
    worst = pairs.sort_values("Distance", ascending=False).head(_NUM_WORST)
    return tuple(
        (
            f"{row['Column 1']}, {row['Column 2']}",
            row["Distance"],
            row["Real Dependence"],
            row["Synthetic Dependence"],
        )
        for _, row in worst.iterrows()
    )


def failed(details: pd.DataFrame) -> bool:
    """Whether the property with these details could not be computed."""
    # SDMetrics adds this column to all tables if one of them has an error.
    return "Error" in details and bool(details["Error"].notna().any())


def error_of(details: pd.DataFrame) -> str:
    """Return the reason why a property could not be computed."""
    return str(details["Error"].iloc[0])


@dataclass(frozen=True, kw_only=True)
class ClassifierSection(PageSection, template="classifiers.html"):
    """Accuracy and agreement of classifiers trained on real and on synthetic rows."""

    target: str
    majority: float
    num_train: int
    num_test: int
    series: tuple[tuple[str, str], ...]
    figures: tuple[Figure, ...]
    head: tuple[str, ...]
    rows: Shares

    @classmethod
    def of(cls, details: pd.DataFrame, majority: float | None) -> ClassifierSection | NotComputedSection:
        """Show the details; ``majority`` is the accuracy of the most common class."""
        if failed(details):
            return NotComputedSection(title="Classifiers", error=error_of(details))
        kinds = [
            ("trained on real", "Real Accuracy", "Real", REAL),
            ("trained on synthetic", "Synthetic Accuracy", "Synthetic", SYNTHETIC),
            ("agreement", "Score", "Agreement", OTHER),
        ]
        if "Ceiling" in details:
            kinds.append(("agreement of two real", "Ceiling", "Ceiling", REFERENCE))
        rows = _intervals(details, kinds)
        axis = (_axis_start(rows, 0.9), 1.0)
        picture = charts.interval_plot("accuracy of classifiers", rows, "share of test rows", axis)
        return cls(
            target=str(details["Target"].iloc[0]),
            majority=majority or 0.0,
            num_train=int(details["Training Rows"].iloc[0]),
            num_test=int(details["Test Rows"].iloc[0]),
            series=tuple((name, colour) for name, _, _, colour in kinds),
            figures=(Figure(caption="", picture=picture),),
            head=("classifier", *(name for name, *_ in kinds)),
            rows=_values(rows),
        )


@dataclass(frozen=True, kw_only=True)
class GameSection(PageSection, template="game.html"):
    """Accuracy of the distinguishers."""

    real_rows: str
    num_train: int
    num_test: int
    figures: tuple[Figure, ...]
    head: tuple[str, ...]
    rows: Shares

    @classmethod
    def of(cls, details: pd.DataFrame) -> GameSection | NotComputedSection:
        """Show the details of the property."""
        if failed(details):
            return NotComputedSection(title="Distinguishing game", error=error_of(details))
        rows = _intervals(details, (("accuracy", "Accuracy", "Accuracy", SYNTHETIC),))
        held_out = bool(details["Held-out Real Rows"].iloc[0])
        axis = (_axis_start(rows, 0.4), 1.0)
        plot = charts.interval_plot("distinguishing game", rows, "share named right", axis, (0.5, "guessing"))
        return cls(
            real_rows="held-out real rows" if held_out else "the real rows",
            num_train=int(details["Training Rows"].iloc[0]),
            num_test=int(details["Test Rows"].iloc[0]),
            figures=(Figure(caption="", picture=plot),),
            head=("distinguisher", "named right"),
            rows=_values(rows),
        )


_IntervalRows = list[tuple[str, list[charts.Interval]]]


def _intervals(details: pd.DataFrame, kinds: Sequence[tuple[str, str, str, str]]) -> _IntervalRows:
    """Return each classifier's intervals; a kind is (name, value column, interval column, colour)."""
    return [
        (
            _display_name(row["Classifier"]),
            [
                charts.Interval(name=n, value=row[v], low=row[f"{e} Low"], high=row[f"{e} High"], colour=c)
                for n, v, e, c in kinds
            ],
        )
        for _, row in details.iterrows()
    ]


def _values(rows: _IntervalRows) -> Shares:
    return tuple((name, tuple(item.value for item in items)) for name, items in rows)


def _axis_start(rows: _IntervalRows, most: float) -> float:
    """Return the largest multiple of 0.1, at most ``most``, below all values and interval ends."""
    ends = [end for _, items in rows for i in items for end in (i.value, i.low) if not math.isnan(end)]
    return max(0.0, min([most, *(math.floor(10 * end) / 10 for end in ends)]))


def _display_name(name: str) -> str:
    return name.replace("_", " ").replace("adaboost", "AdaBoost").replace("svm", "SVM")


@dataclass(frozen=True, kw_only=True)
class SeedSection(PageSection, template="seeds.html"):
    """Plausible seeds of candidates. Private."""

    figures: tuple[Figure, ...]

    @classmethod
    def of(cls, diagnostics: SeedDiagnostics | None) -> tuple[SeedSection, ...]:
        """Draw the available statistics; return no section without diagnostics."""
        if diagnostics is None:
            return ()
        figures = []
        if diagnostics.sizes:
            labels, shares = zip(*diagnostics.sizes, strict=True)
            picture = horizontal_bars("plausible seeds", labels, [("candidates", shares, REAL)])
            figures.append(
                Figure(caption="Share of candidates by their number of plausible seeds", picture=picture)
            )
        if diagnostics.pass_rates:
            series = [(f"omega = {omega}", rates) for omega, rates in diagnostics.pass_rates]
            picture = charts.line_plot("pass rates", [str(k) for k in diagnostics.ks], series, ("k", "share"))
            figures.append(Figure(caption="Candidates that pass the test", picture=picture))
        return (cls(figures=tuple(figures)),)

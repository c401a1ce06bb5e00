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
from markupsafe import Markup

from sdv_plausible.evaluation.network_layout import Structure
from sdv_plausible.evaluation.page import charts
from sdv_plausible.evaluation.page.charts import (
    OTHER,
    REAL,
    REFERENCE,
    SYNTHETIC,
    Figure,
    heatmap,
    horizontal_bars,
    network_graph,
    network_tree,
    vertical_bars,
)
from sdv_plausible.evaluation.page.summary import ComparisonSummary, Histogram
from sdv_plausible.evaluation.table_pair import Floats
from sdv_plausible.privacy.ledger_record import LedgerText
from sdv_plausible.utils.html_templates import PageSection

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


@dataclass(frozen=True, kw_only=True)
class ColumnSummary:
    """One column of the comparison: its distance, the reference distance, and the most different bar."""

    column: str
    distance: float
    chance: float
    where: str
    real: float
    synthetic: float


@dataclass(frozen=True, kw_only=True)
class ColumnSection(PageSection, template="columns.html"):
    """Histogram of each column; a comparison also has a table, most distant columns first."""

    series: tuple[tuple[str, str], ...]
    lines: tuple[ColumnSummary, ...]
    figures: tuple[Figure, ...]

    @classmethod
    def of(cls, histograms: Sequence[Histogram], tables: Sequence[tuple[str, str]]) -> ColumnSection:
        """Draw histograms of tables, given by name and colour."""
        figures = tuple(_figure(item, tables) for item in histograms)
        return cls(series=tuple(tables), lines=(), figures=figures)

    @classmethod
    def compared(
        cls, names: Sequence[str], compared: ComparisonSummary, tables: Sequence[tuple[str, str]]
    ) -> ColumnSection:
        """Sort table and charts by distance from the real columns, most distant first."""
        has_distances = len(compared.synthetic_columns) == len(names)
        distances = compared.synthetic_columns.tolist() if has_distances else [math.nan] * len(names)
        reference_distances = (
            compared.reference_columns.tolist() if has_distances else [math.nan] * len(names)
        )
        order = sorted(range(len(names)), key=lambda i: -distances[i] if has_distances else i)
        by_column = {name: [h for h in compared.histograms if h.column == name] for name in names}
        lines = tuple(
            _summary(names[i], distances[i], reference_distances[i], by_column[names[i]]) for i in order
        )
        figures = tuple(_figure(histogram, tables) for i in order for histogram in by_column[names[i]])
        return cls(series=tuple(tables), lines=lines, figures=figures)


def _summary(name: str, distance: float, chance: float, histograms: Sequence[Histogram]) -> ColumnSummary:
    """Summarise a column with the bar in which real and synthetic shares differ most."""
    bars = [bar for histogram in histograms for bar in zip(histogram.labels, *histogram.shares, strict=True)]
    where, real, synthetic = max(bars, key=lambda bar: abs(bar[1] - bar[2]))
    return ColumnSummary(
        column=name, distance=distance, chance=chance, where=where, real=real, synthetic=synthetic
    )


def _figure(histogram: Histogram, tables: Sequence[tuple[str, str]]) -> Figure:
    series = [(name, shares, colour) for (name, colour), shares in zip(tables, histogram.shares, strict=True)]
    caption = f"{histogram.column}, {histogram.part}" if histogram.part else histogram.column
    title = f"{caption}: shares of rows"
    if histogram.ordered:
        picture = vertical_bars(title, histogram.labels, histogram.marks, series, histogram.spikes)
    else:
        picture = horizontal_bars(title, histogram.labels, series)
    rows = tuple(zip(histogram.labels, zip(*histogram.shares, strict=True), strict=True))
    return Figure(caption=caption, picture=picture, head=("value", *(name for name, _ in tables)), rows=rows)


_UNCERTAINTY = "symmetrical uncertainty"
_MAX_SIDE_BY_SIDE = 30  # largest number of columns for two dependence matrices side by side

Strengths = Mapping[frozenset[str], float]  # dependence of two columns by their names, in [0, 1]


@dataclass(frozen=True, kw_only=True)
class DependenceSection(PageSection, template="dependence.html"):
    """Symmetrical uncertainty of every pair of columns."""

    alone: bool
    compared: bool
    figures: tuple[Figure, ...]

    @classmethod
    def of(cls, columns: Sequence[str], matrices: Mapping[str, Floats]) -> DependenceSection:
        """Draw the matrix of each table and, for two tables, their difference (second minus first)."""
        figures = [
            Figure(caption=name, picture=heatmap(f"dependence, {name.lower()}", columns, m, _UNCERTAINTY))
            for name, m in matrices.items()
        ]
        if len(matrices) == 2:
            (first, one), (second, other) = matrices.items()
            caption = f"{second} less {first.lower()}"
            title = f"difference of dependences, {caption.lower()}"
            picture = heatmap(title, columns, other - one, "blue: too strong, orange: too weak", signed=True)
            figures.append(Figure(caption=caption, picture=picture))
        alone = len(columns) > _MAX_SIDE_BY_SIDE
        return cls(alone=alone, compared=len(matrices) == 2, figures=tuple(figures))


def pairwise_strengths(columns: Sequence[str], matrix: Floats) -> dict[frozenset[str], float]:
    """Return the strength of each pair of columns from a dependence matrix."""
    return {
        frozenset((column, columns[j])): float(matrix[i, j])
        for i, column in enumerate(columns)
        for j in range(i + 1, len(columns))
    }


@dataclass(frozen=True, kw_only=True)
class NetworkSection(PageSection, template="network.html"):
    """The model's network: each column below its strongest parent, and all links on demand."""

    strongest: Figure
    picture: Markup
    num_links: int
    links: tuple[tuple[str, str, float], ...]

    @classmethod
    def of(cls, structure: Structure, strengths: Strengths | None = None) -> tuple[NetworkSection, ...]:
        """Draw ``{child: parents}``; return no section if it is empty."""
        # ``strengths`` come from a table that may be published wherever the network may. Missing pairs have
        # unknown strength and sort last.
        if not structure:
            return ()
        known_strengths = strengths or {}
        links = [
            (parent, child, known_strengths.get(frozenset((parent, child)), float("nan")))
            for child, parents in structure.items()
            for parent in parents
        ]
        links.sort(key=lambda link: -link[2] if link[2] == link[2] else 1.0)
        return (
            cls(
                strongest=Figure(caption="Strongest links", picture=network_tree(structure, known_strengths)),
                picture=network_graph(structure),
                num_links=len(links),
                links=tuple(links),
            ),
        )


NO_GUARANTEE = "No privacy guarantee is documented for this release: the report was given no privacy ledger."
_DEFAULTS: dict[str, Any] = {
    "mechanism": "", "epsilon": None, "scope": "", "provenance": "none stated", "note": "", "parts": (),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class GuaranteeSection(PageSection, template="guarantee.html"):
    """The guarantee of a release."""

    words: LedgerText  # the ledger's sentences, in order
    entries: tuple[dict[str, Any], ...] = ()  # ledger entries with ``cost`` and the fields of ``_DEFAULTS``
    not_covered: tuple[str, ...] = ()  # what the guarantee does not cover
    claimed: bool = False  # whether there is a ledger whose entries all have a finite cost
    # whether an entry also covers the model's structure, so that the network may be published
    covers_structure: bool = False

    @classmethod
    def of(cls, ledger: Any) -> GuaranteeSection:
        """Copy the guarantee from a ledger, from its dict form, or from None."""
        if ledger is None:
            return cls(words=LedgerText(NO_GUARANTEE))
        document = _document(ledger)
        entries = tuple(_filled(entry) for entry in document["entries"])
        claimed = bool(entries) and all(_finite(entry) for entry in entries)
        if hasattr(ledger, "covers_part"):
            pays_for_structure = ledger.covers_part("structure")
        else:
            pays_for_structure = any("structure" in entry["parts"] for entry in entries)
        return cls(
            words=LedgerText.of(document),
            entries=entries,
            not_covered=tuple(document.get("not_covered", ())),
            claimed=claimed,
            covers_structure=claimed and bool(pays_for_structure),
        )


def _document(ledger: Any) -> Mapping[str, Any]:
    document = ledger.to_dict() if hasattr(ledger, "to_dict") else ledger
    if not isinstance(document, Mapping) or not {"headline", "entries"} <= document.keys():
        raise ValueError(
            f"ledger ({type(ledger).__name__}) must be a PrivacyLedger, or a dict as read from its JSON: "
            "give synthesizer.privacy_ledger()"
        )
    return document


def _filled(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry with all fields; old or foreign ledgers may lack some."""
    filled = {**_DEFAULTS, **{name: value for name, value in entry.items() if value is not None}}
    cost = "" if filled["epsilon"] is None else str(filled["epsilon"])
    return {"cost": cost, **filled, "parts": tuple(filled["parts"])}


def _finite(entry: Mapping[str, Any]) -> bool:
    """Whether an entry has a finite epsilon or is free (declared, assumed, or within another entry)."""
    epsilon = entry["epsilon"]
    if epsilon is None:
        return entry["provenance"] in ("declared", "assumed", "within another")
    return bool(0 <= epsilon < float("inf"))


MAX_LINES = 15  # lines shown per table, most frequent values first
NEEDED = ("estimate", "lower", "upper", "proportion_lower", "proportion_upper")
Line = tuple[str, str, str, str]


@dataclass(frozen=True, kw_only=True)
class CountTable:
    """One table of counts: its columns, its lines, and a note on lines left out."""

    title: str
    lines: tuple[Line, ...]
    left_out: str


@dataclass(frozen=True, kw_only=True)
class IntervalSection(PageSection, template="intervals.html"):
    """Tables of counts with intervals for the table's count and for the population's share."""

    tables: tuple[CountTable, ...]

    @classmethod
    def of(cls, margins: Sequence[pd.DataFrame]) -> list[IntervalSection]:
        """Return one section for all tables of ``synthesizer.margins``, or none without tables."""
        for position, frame in enumerate(margins):
            if absent := [name for name in NEEDED if name not in getattr(frame, "columns", ())]:
                raise ValueError(
                    f"margins[{position}] lacks {absent}: give what synthesizer.margins(columns) gives"
                )
        return [cls(tables=tuple(map(_count_table, margins)))] if margins else []


def _count_table(frame: pd.DataFrame) -> CountTable:
    with_intervals = frame[frame["lower"].notna() & frame["upper"].notna()]
    listed = with_intervals.sort_values("upper", ascending=False, kind="stable").head(MAX_LINES)
    lines = tuple(
        (
            " and ".join(map(str, value)) if isinstance(value, tuple) else str(value),
            "" if math.isnan(line["estimate"]) else f"{line['estimate']:,.0f}",
            f"{line['lower']:,.0f} to {line['upper']:,.0f}",
            ""
            if math.isnan(line["proportion_lower"])
            else f"{line['proportion_lower']:.2%} to {line['proportion_upper']:.2%}",
        )
        for value, line in zip(listed.index, listed.to_dict("records"), strict=True)
    )
    names = [str(name) for name in frame.index.names if name is not None]
    num_left_out = len(frame) - len(lines)
    return CountTable(
        title=" and ".join(names) or "All rows",
        lines=lines,
        left_out=f"and {num_left_out:,} more" if num_left_out else "",
    )

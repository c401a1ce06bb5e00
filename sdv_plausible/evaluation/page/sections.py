"""The report as one self-contained HTML page: no script, no network.

:func:`public_page` takes nothing that was computed from real rows, so nothing of them can slip into it;
:func:`private_page` takes everything.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.evaluation.page import charts
from sdv_plausible.evaluation.page import parts as page
from sdv_plausible.evaluation.page.drawing import OTHER, REAL, REFERENCE, SYNTHETIC
from sdv_plausible.evaluation.page.network import network_graph
from sdv_plausible.evaluation.report.diagnostics import SeedDiagnostics
from sdv_plausible.evaluation.report.guarantee import Guarantee
from sdv_plausible.evaluation.report.summary import ComparisonSummary, Histogram, ReleaseSummary

_PUBLIC = (
    "Apart from the guarantee, everything here is computed from the synthetic table alone, or from the model where the "
    "guarantee covers it: this page tells no more than they do. No figure comes from real rows directly."
)
_UNPROTECTED = "But no guarantee protects the synthetic table: publish this page only where you would publish the table."
_UNCERTAINTY = "symmetrical uncertainty"


@dataclass(frozen=True, kw_only=True)
class TableResults:
    """All that the private page shows of one table.

    Attributes
    ----------
    name : str
    num_rows : (int, int)
        Real and synthetic rows.
    scores : dict of str to float
        Score of each property, over all tables.
    details : dict of str to pandas.DataFrame
        Details of each property for this table.
    majority : float or None
        Accuracy of always naming the commonest class.
    release : ReleaseSummary
    comparison : ComparisonSummary
    """

    name: str
    num_rows: tuple[int, int]
    scores: dict[str, float]
    details: dict[str, pd.DataFrame]
    majority: float | None
    release: ReleaseSummary
    comparison: ComparisonSummary


def public_page(
    date: str, guarantee: Guarantee, releases: Mapping[str, ReleaseSummary | None], structure: Mapping[str, Sequence[str]]
) -> str:
    """Return the page that may be published.

    Parameters
    ----------
    date : str
        Day of the report.
    guarantee : Guarantee
        From the ledger.
    releases : mapping of str to ReleaseSummary or None
        Summaries of the synthetic tables alone; None for one without rows or columns to show.
    structure : mapping of str to sequence of str
        ``{child: parents}`` of a network that the guarantee covers, or empty.
    """
    parts = [
        page.header("Synthetic data: what it is and what protects it", date),
        page.banner("public", _PUBLIC if guarantee.claimed else f"{_PUBLIC} {_UNPROTECTED}"),
        _guarantee(guarantee),
    ]
    for name, release in releases.items():
        if release is None:
            parts.append(f"<h2>Table {escape(name)}</h2><p>No synthetic rows, or no columns, to show.</p>")
            continue
        parts.append(f"<h2>Table {escape(name)}</h2><p>{release.num_rows:,} synthetic rows.</p>")
        parts.append(_histograms(release.histograms, (("synthetic", SYNTHETIC),)))
        picture = charts.heatmap("dependence, synthetic", release.columns, release.dependence, _UNCERTAINTY)
        parts.append(_dependence([("Synthetic", picture)], len(release.columns)))
    parts.append(_network(structure))
    return page.whole("Synthetic data", parts)


def private_page(
    date: str,
    guarantee: Guarantee,
    tables: Sequence[TableResults],
    structure: Mapping[str, Sequence[str]],
    diagnostics: SeedDiagnostics | None,
    failed: Mapping[str, pd.DataFrame],
) -> str:
    """Return the whole page, which must not be published; of ``failed`` tables there are only details with an error."""
    parts = [
        page.header("Synthetic data: how good it is and what protects it", date),
        page.banner(
            "private",
            "Private: most figures here are computed from real rows without noise, and no guarantee covers them. Do "
            "not publish this page; to_html(path, publishable=True) writes one that may be.",
        ),
        _guarantee(guarantee),
    ]
    for table in tables:
        parts += _table_parts(table)
    parts += [f"<h2>Table {escape(name)}</h2>{_error(details)}" for name, details in failed.items()]
    parts += [_network(structure), _diagnostics(diagnostics)]
    return page.whole("Synthetic data report (private)", parts)


def _table_parts(table: TableResults) -> list[str]:
    real, synthetic = table.num_rows
    compared, names = table.comparison, table.release.columns
    heatmaps = [
        ("Real", charts.heatmap("dependence, real", names, compared.real_dependence, _UNCERTAINTY)),
        ("Synthetic", charts.heatmap("dependence, synthetic", names, compared.synthetic_dependence, _UNCERTAINTY)),
    ]
    return [
        f"<h2>Table {escape(table.name)}</h2><p>{real:,} real rows, {synthetic:,} synthetic rows.</p>",
        _scores(table.scores),
        _distances(table),
        _classifiers(table),
        _game(table),
        _histograms(compared.histograms, (("real", REAL), ("synthetic", SYNTHETIC))),
        _dependence(heatmaps, len(names)),
    ]


def _guarantee(guarantee: Guarantee) -> str:
    kind = "guarantee" if guarantee.claimed else "guarantee none"
    quote = f"<blockquote>{escape(guarantee.sentence)}</blockquote>"
    parts = [f'<section class="{kind}"><h2>The guarantee</h2>{quote}']
    if guarantee.entries:
        rows = [(e["name"], e["mechanism"], _cost(e), e.get("scope") or "", e.get("note") or "") for e in guarantee.entries]
        parts.append(page.table(("what", "how", "epsilon alone", "covers", "remarks"), rows, "words"))
        parts.append("<p>Each epsilon is stated as if the entry stood alone; the total in the sentence composes them.</p>")
    if guarantee.not_covered:
        items = "".join(f"<li>{escape(item)}</li>" for item in guarantee.not_covered)
        parts.append(f"<p>Not covered:</p><ul>{items}</ul>")
    parts.append(
        "<p>A guarantee is a fact about the mechanism that made the data. Distances between real and synthetic rows, "
        "large or small, say how useful the data is and nothing about privacy.</p></section>"
    )
    return "".join(parts)


def _cost(entry: Mapping[str, Any]) -> str:
    if entry.get("epsilon") is not None:
        return f"{entry['epsilon']:.3g}"
    return {"declared": "free", "no claim": "no claim"}.get(str(entry.get("provenance")), "none stated")


def _scores(scores: Mapping[str, float]) -> str:
    def card(name: str, value: float) -> str:
        shown = "n/a" if math.isnan(value) else f"{100 * value:.1f}%"
        return f'<div class="card"><b>{shown}</b><span>{escape(name)}</span></div>'

    overall = [value for value in scores.values() if not math.isnan(value)]
    mean = float(np.mean(overall)) if overall else math.nan
    cards = card("Overall", mean) + "".join(card(name, value) for name, value in scores.items())
    words = (
        "Usefulness, not privacy; 100% is ideal. Distances score 1 less the mean distance, the classifiers their mean "
        "agreement, and the game 100% where the origin of rows is guessed and 0% where it is always found out."
    )
    return page.section("Scores", words, f'<div class="cards">{cards}</div>')


def _distances(table: TableResults) -> str:
    columns, pairs, compared = table.details["Column Distances"], table.details["Pair Distances"], table.comparison
    if _failed(columns):
        return page.section("Distances", "", _error(columns))
    words = (
        "Total variation distance, 0 (equal) to 1 (nothing in common), of each column and of each pair of columns; "
        "numbers are compared in bins of the real data's quantiles, a missing value is a value like others. "
        f"Grey: {compared.reference}, which differ by chance alone. Green: the same with every column shuffled, all "
        f"dependence lost. Fewer rows differ more, so every box compares {compared.num_rows:,} real rows with "
        f"{compared.num_rows:,} others; scores and table are {_rows_used(columns, 'Real Rows', 'Synthetic Rows')}"
    )
    single = [("real against real", compared.reference_columns.tolist(), REFERENCE)]
    single.append(("synthetic", compared.synthetic_columns.tolist(), SYNTHETIC))
    figures = [("Columns", charts.box_plot("distances of columns", single, "total variation distance"))]
    if _failed(pairs):
        return page.section("Distances", words, page.grid(figures) + _error(pairs))
    double = [
        ("real against real", compared.reference_pairs.tolist(), REFERENCE),
        ("synthetic", compared.synthetic_pairs.tolist(), SYNTHETIC),
        ("columns shuffled", compared.independent_pairs.tolist(), OTHER),
    ]
    figures.append(("Pairs of columns", charts.box_plot("distances of pairs", double, "total variation distance")))
    worst = pairs.sort_values("Distance", ascending=False).head(8)
    rows = [(f"{r['Column 1']}, {r['Column 2']}", *(f"{r[c]:.3f}" for c in _PAIR_FIGURES)) for _, r in worst.iterrows()]
    listed = "<p>The pairs that differ most, and how dependent they are (symmetrical uncertainty):</p>" + page.table(
        ("pair", "distance", "real", "synthetic"), rows
    )
    return page.section("Distances", words, page.grid(figures) + listed)


_PAIR_FIGURES = ("Distance", "Real Dependence", "Synthetic Dependence")


def _failed(details: pd.DataFrame) -> bool:
    # SDMetrics gives every table this column if one of them has an error
    return "Error" in details and bool(details["Error"].notna().any())


def _error(details: pd.DataFrame) -> str:
    return f"<p>Not computed: {escape(str(details['Error'].iloc[0]))}</p>"


def _rows_used(details: pd.DataFrame, first: str, second: str) -> str:
    a, b = int(details[first].iloc[0]), int(details[second].iloc[0])
    return f"computed from {a:,} {first.lower()} and {b:,} {second.lower()}."


def _classifiers(table: TableResults) -> str:
    details = table.details["Classifier Agreement"]
    if _failed(details):
        return page.section("Classifiers", "", _error(details))
    words = (
        f"Classifiers predict <b>{escape(str(details['Target'].iloc[0]))}</b> on real rows they have not seen. "
        "Agreement: how often the classifier trained on synthetic rows says what its twin trained on real rows says. "
        f"Always naming the commonest class: {100 * (table.majority or 0):.1f}%. "
        f"Shares are {_rows_used(details, 'Training Rows', 'Test Rows')} Lines: 95% intervals over the runs."
    )
    kinds = (
        ("trained on real", "Real Accuracy", "Real", REAL),
        ("trained on synthetic", "Synthetic Accuracy", "Synthetic", SYNTHETIC),
        ("agreement", "Score", "Agreement", OTHER),
    )
    rows = [
        (
            _spoken(r["Classifier"]),
            [
                charts.Interval(name=n, value=r[v], low=r[f"{i} Low"], high=r[f"{i} High"], colour=colour)
                for n, v, i, colour in kinds
            ],
        )
        for _, r in details.iterrows()
    ]
    low = _axis_start(rows, 0.9)
    picture = charts.interval_plot("accuracy of classifiers", rows, "share of test rows", (low, 1.0))
    listed = [
        (
            name,
            *(f"{100 * item.value:.1f}%" for item in items),
        )
        for name, items in rows
    ]
    body = page.key([(n, colour) for n, _, _, colour in kinds]) + '<div class="beside">' + page.grid([("", picture)])
    return page.section("Classifiers", words, body + page.table(("classifier", *(n for n, *_ in kinds)), listed) + "</div>")


def _axis_start(rows: Sequence[tuple[str, Sequence[charts.Interval]]], most: float) -> float:
    """Return a tenth at or below every value and every end of an interval; of one run there is no interval."""
    ends = [end for _, items in rows for item in items for end in (item.value, item.low) if not math.isnan(end)]
    return max(0.0, min([most, *(math.floor(10 * end) / 10 for end in ends)]))


def _spoken(name: str) -> str:
    return name.replace("_", " ").replace("adaboost", "AdaBoost").replace("svm", "SVM")


def _game(table: TableResults) -> str:
    details = table.details["Distinguishing Game"]
    if _failed(details):
        return page.section("Distinguishing game", "", _error(details))
    held = "held-out real rows" if bool(details["Held-out Real Rows"].iloc[0]) else "the real rows"
    words = (
        "A classifier learns to tell synthetic rows from real ones and names the origin of rows it has not seen, half "
        f"of them synthetic. 50% is guessing, and the ideal. Real rows of the game: {held}. "
        f"Shares are {_rows_used(details, 'Training Rows', 'Test Rows')} Values clearly below 50% mean that synthetic "
        "rows repeat real ones."
    )
    rows = [
        (
            _spoken(r["Classifier"]),
            [
                charts.Interval(
                    name="accuracy",
                    value=r["Accuracy"],
                    low=r["Accuracy Low"],
                    high=r["Accuracy High"],
                    colour=SYNTHETIC,
                )
            ],
        )
        for _, r in details.iterrows()
    ]
    low = _axis_start(rows, 0.4)
    picture = charts.interval_plot("distinguishing game", rows, "share named right", (low, 1.0), (0.5, "guessing"))
    listed = [(name, f"{100 * items[0].value:.1f}%") for name, items in rows]
    body = '<div class="beside">' + page.grid([("", picture)]) + page.table(("distinguisher", "named right"), listed) + "</div>"
    return page.section("Distinguishing game", words, body)


_DEPENDENCE = (
    "Symmetrical uncertainty of each pair: 0 if neither column tells anything of the other, 1 if each determines it. "
    "Estimated from counts, so small tables and columns of many values look somewhat more dependent than they are."
)


_MOST_BESIDE = 30
"""Columns of two dependence matrices side by side, at most."""


def _dependence(matrices: Sequence[tuple[str, str]], num_columns: int) -> str:
    kind = "wide" if num_columns <= _MOST_BESIDE else "wide alone"
    return page.section("Dependence between columns", _DEPENDENCE, page.grid(matrices, kind))


def _histograms(histograms: Sequence[Histogram], tables: Sequence[tuple[str, str]]) -> str:
    figures = []
    for one in histograms:
        series = [(name, shares, colour) for (name, colour), shares in zip(tables, one.shares, strict=True)]
        draw = (
            charts.vertical_bars(one.column, one.labels, one.marks, series)
            if one.ordered
            else (charts.horizontal_bars(one.column, one.labels, series))
        )
        figures.append((one.column, draw))
    words = "Share of rows. End bars of numbers hold what lies beyond the 0.5% and 99.5% quantiles."
    return page.section("Columns", words, page.key(tables) + page.grid(figures))


def _network(structure: Mapping[str, Sequence[str]]) -> str:
    if not structure:
        return ""
    words = "An arrow from one column to another: the second is drawn given the first. A wide network scrolls sideways."
    return page.section("Network of the model", words, f'<div class="scroll">{network_graph(structure)}</div>')


def _diagnostics(diagnostics: SeedDiagnostics | None) -> str:
    if diagnostics is None:
        return ""
    figures = []
    if diagnostics.sizes:
        labels, shares = zip(*diagnostics.sizes, strict=True)
        picture = charts.horizontal_bars("plausible seeds", labels, [("candidates", shares, REAL)])
        figures.append(("Share of candidates by their number of plausible seeds", picture))
    if diagnostics.pass_rates:
        series = [(f"omega = {omega}", rates) for omega, rates in diagnostics.pass_rates]
        ks = [str(k) for k in diagnostics.ks]
        figures.append(("Candidates that pass the test", charts.line_plot("pass rates", ks, series, ("k", "share"))))
    note = page.banner("private", "Diagnostic on private data, not for publication.")
    words = "How many records could have been the seed of a candidate, and how many candidates pass the privacy test."
    return page.section("Plausible seeds", words, note + page.grid(figures))

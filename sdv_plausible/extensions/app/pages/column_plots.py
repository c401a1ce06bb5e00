"""Charts of every modelled column: from the noisy answers and, for the data owner, beside the real rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np

from sdv_plausible.evaluation.page.charts import REAL, SYNTHETIC, Figure, number
from sdv_plausible.evaluation.page.inspection import PairSection
from sdv_plausible.evaluation.page.sections import ColumnSection
from sdv_plausible.evaluation.page.summary import Histogram
from sdv_plausible.queries.transcript import NoisyAnswer
from sdv_plausible.release.intervals.margins import MISSING, code_label, measured_over
from sdv_plausible.release.intervals.measured_counts import measured_tables
from sdv_plausible.table.codec import ColumnCodec
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.utils.html_templates import HtmlPage

_NOISY, _REAL = ("noisy answers", SYNTHETIC), ("real rows", REAL)
_MAX_BARS = 20
_MAX_CATEGORIES = 12
_PUBLIC = (
    "Every figure is computed from the noisy answers that the release has paid for. The guarantee covers "
    "this page as it covers the release."
)
_PRIVATE = (
    "NOT private: figures of your real rows, without noise. For the data owner alone; do not publish or pass "
    "on this page."
)


def noisy_counts(answers: Sequence[NoisyAnswer], domain: Domain) -> dict[str, np.ndarray]:
    """Noisy count of each code, at least 0, for the columns whose codes were counted one by one."""
    tables, found = measured_tables(answers), {}
    for j, attribute in enumerate(domain):
        table = measured_over(tables, (j,))
        if table is not None and np.array_equal(table.axes[0].buckets, np.arange(attribute.cardinality)):
            found[attribute.name] = np.maximum(table.counts, 0)
    return {name: counts for name, counts in found.items() if counts.sum()}


def noisy_figures(counts: dict[str, np.ndarray], domain: Domain) -> tuple[Figure, ...]:
    """One chart per column, a function of the noisy counts alone."""
    histograms = [_histogram(domain[name], [noisy]) for name, noisy in counts.items()]
    return ColumnSection.of(histograms, [_NOISY]).figures


def compared_figures(
    counts: dict[str, np.ndarray], domain: Domain, rows: Mapping[str, Any]
) -> tuple[Figure, ...]:
    """Charts of the noisy counts beside real columns. NOT private; cells outside the domain are left out."""
    histograms = []
    for name, noisy in counts.items():
        if name in rows:
            codes, outside, _ = ColumnCodec(domain[name]).placed(rows[name])
            real = np.bincount(codes[~outside], minlength=domain[name].cardinality)
            histograms.append(_histogram(domain[name], [real, noisy]))
    return ColumnSection.of(histograms, [_REAL, _NOISY]).figures


def columns_page(figures: tuple[Figure, ...], *, is_private: bool) -> str:
    """Return the charts as a self-contained page."""
    words = "In each pair, the first bar (blue) is the real rows, the second (orange) the noisy answers."
    return HtmlPage(
        template_packages=("sdv_plausible.evaluation.page",),
        title="Columns (private)" if is_private else "Columns",
        heading="Every column, beside the real rows" if is_private else "Every column, from noisy answers",
        date=date.today().isoformat(),
        kind="private" if is_private else "public",
        banner=_PRIVATE if is_private else _PUBLIC,
        sections=(PairSection(title="Shares of rows", words=words if is_private else "", figures=figures),),
    ).html()


def _histogram(attribute: Attribute, counts: Sequence[np.ndarray]) -> Histogram:
    """Shares of the bars of a column, from the counts of its codes."""
    bins, missing = len(attribute.lower), attribute.missing_code
    if not bins:
        return _categories(attribute, counts)
    edges, labels = _bars(attribute)
    starts = np.append(np.array(attribute.lower, dtype=float), edges[-1])
    # Rows of a bin are spread evenly over it: bars are equally wide, bins may not be.
    ordered = [np.diff(np.interp(edges, starts, np.append(0, np.cumsum(c[:bins])))) for c in counts]
    special = [code for code in range(bins, attribute.cardinality) if code != missing]
    head = [f"exactly {code_label(attribute, code)}" for code in special]
    tail = [MISSING] if missing is not None else []
    bars = [
        np.concatenate([c[special], o, [] if missing is None else [c[missing]]])
        for c, o in zip(counts, ordered, strict=True)
    ]
    marks = [(len(head) + at, labels[at]) for at in dict.fromkeys((0, len(labels) // 2, len(labels) - 1))]
    return Histogram(
        column=attribute.name, ordered=True, labels=(*head, *labels, *tail),
        marks=tuple((at + 0.5, text.split(" to ")[0]) for at, text in marks),
        shares=tuple(map(_shares, bars)), spikes=len(head),
    )  # fmt: skip


def _bars(attribute: Attribute) -> tuple[np.ndarray, list[str]]:
    """Edges and labels of the bars of numbers or dates."""
    lower, upper = np.array(attribute.lower, dtype=float), np.array(attribute.upper, dtype=float)
    step = {"integer": 1.0, "datetime": float(attribute.unit)}.get(attribute.kind, 0.0)
    high = upper[-1] + step
    high = high if high > lower[-1] else lower[-1] + 1.0  # a last bin of a single value
    if len(lower) <= _MAX_BARS:
        edges, ends = np.append(lower, high), upper
    else:
        width = (high - lower[0]) / _MAX_BARS
        width = np.ceil(width / step) * step if step else width
        edges = lower[0] + width * np.arange(np.ceil((high - lower[0]) / width) + 1)
        ends = edges[1:] - step
    texts = [[_text(attribute, value) for value in values] for values in (edges[:-1], ends)]
    return edges, [a if a == b else f"{a} to {b}" for a, b in zip(*texts, strict=True)]


def _text(attribute: Attribute, value: float) -> str:
    if attribute.kind != "datetime":
        return number(value)
    text = str(np.datetime_as_string(np.datetime64(int(value), "ns"), unit="s"))
    return text.replace("T", " ").removesuffix(" 00:00:00")


def _categories(attribute: Attribute, counts: Sequence[np.ndarray]) -> Histogram:
    """One bar for each value; the rarest share one if there are many."""
    noisy = counts[-1]
    shown = np.arange(len(noisy))
    if len(noisy) > _MAX_CATEGORIES:
        shown = np.sort(np.argsort(-noisy, kind="stable")[: _MAX_CATEGORIES - 1])
    others = np.setdiff1d(np.arange(len(noisy)), shown)
    labels = [str(code_label(attribute, int(code))) for code in shown]
    bars = [np.append(c[shown], [c[others].sum()] * bool(len(others))) for c in counts]
    return Histogram(
        column=attribute.name, ordered=False,
        labels=(*labels, *([f"{len(others)} other values"] * bool(len(others)))), marks=(),
        shares=tuple(map(_shares, bars)),
    )  # fmt: skip


def _shares(bars: np.ndarray) -> tuple[float, ...]:
    shares: Any = (bars / max(bars.sum(), 1)).tolist()
    return tuple(shares)

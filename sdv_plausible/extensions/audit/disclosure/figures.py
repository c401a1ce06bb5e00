"""Plotly figures of audits: transition matrices, log ratios, and claimed and exact curves."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from sdv_plausible.extensions.audit.disclosure.claims import Comparison
from sdv_plausible.extensions.audit.disclosure.transition_matrix import Counts, FloatArray, TransitionMatrix

MOST_PRINTED = 12  # largest number of rows and columns with printed values
SIDE = 95  # width in pixels of a cell with a number
CLAIMED, EXACT, ABOVE = "#0072B2", "#E69F00", "#D55E00"  # Okabe and Ito's palette
LEAST_SHOWN = 1e-12  # smallest plotted delta
PAPER = "#FFFFFF"


def plot_transitions(matrix: TransitionMatrix, title: str = "Pr[m | n]") -> Any:
    """Return a heat map of the matrix, as in figures 1 and 3 of [AV].

    Parameters
    ----------
    matrix : TransitionMatrix
        One row for each confidential table, one column for each output.
    title : str
        Title of the figure.

    Returns
    -------
    plotly.graph_objects.Figure
        The heat map.
    """
    rows = [_name(n) for n in matrix.tables]
    figure = _heat_map(title, matrix.probabilities, rows, matrix.outcomes, "probability")
    figure.update_yaxes(title="confidential table n")
    return figure


def plot_log_ratios(
    matrix: TransitionMatrix, epsilon: float | None = None, title: str = "Log ratios of neighbouring tables"
) -> Any:
    """Return a heat map of the log ratios of neighbours, as in figures 2 and 4 of [AV].

    Parameters
    ----------
    matrix : TransitionMatrix
        One row for each pair of neighbours, one column for each output.
    epsilon : float, optional
        Cells above it get a frame.
    title : str
        Title of the figure.

    Returns
    -------
    plotly.graph_objects.Figure
        The heat map.
    """
    sizes = np.abs(matrix.log_ratios)
    rows = [f"{_name(matrix.tables[i])} | {_name(matrix.tables[j])}" for i, j in matrix.pairs]
    figure = _heat_map(title, sizes, rows, matrix.outcomes, "log ratio")
    figure.update_yaxes(title="neighbours n1 | n2")
    if epsilon is not None:
        for i, j in np.argwhere(sizes > epsilon + 1e-9):
            box = {"x0": j - 0.48, "x1": j + 0.48, "y0": i - 0.47, "y1": i + 0.47}
            figure.add_shape(type="rect", line={"color": ABOVE, "width": 3}, **box)
    return figure


def plot_curves(comparison: Comparison, title: str = "Claimed and exact privacy") -> Any:
    """Return claimed and exact delta over epsilon, with marks where the claim is too low.

    Parameters
    ----------
    comparison : Comparison
        Result of ``compare`` or ``compare_learner``.
    title : str
        Title of the figure.

    Returns
    -------
    plotly.graph_objects.Figure
        The curves.
    """
    import plotly.graph_objects as go

    x, figure = comparison.epsilons, go.Figure()
    curves = (("claimed", comparison.claimed, CLAIMED, "dash"), ("exact", comparison.exact, EXACT, "solid"))
    for name, deltas, colour, dash in curves:
        plotted = np.where(deltas > LEAST_SHOWN, deltas, np.nan)
        figure.add_trace(
            go.Scatter(x=x, y=plotted, name=name, line={"color": colour, "dash": dash, "width": 3})
        )
    broken = comparison.broken
    if broken.any():
        marker = {"color": ABOVE, "size": 9, "symbol": "x"}
        y = comparison.exact[broken]
        figure.add_trace(go.Scatter(x=x[broken], y=y, name="claim broken", mode="markers", marker=marker))
    figure.update_layout(title=title, plot_bgcolor=PAPER, font={"size": 14}, width=760, height=460)
    figure.update_xaxes(title="epsilon", gridcolor="#DDDDDD")
    all_deltas = np.concatenate([comparison.claimed, comparison.exact])
    all_deltas = all_deltas[all_deltas > LEAST_SHOWN]
    # 1, 2, 5 of each decade.
    ticks = "D2" if len(all_deltas) and all_deltas.max() < 1000 * all_deltas.min() else None
    figure.update_yaxes(title="delta", type="log", tickformat=".1g", dtick=ticks, gridcolor="#DDDDDD")
    return figure


def _heat_map(
    title: str, values: FloatArray, rows: Sequence[str], outcomes: Sequence[Hashable], what: str
) -> Any:
    import plotly.graph_objects as go

    columns = [_name(y) for y in outcomes]
    printed = max(values.shape) <= MOST_PRINTED
    finite = np.where(np.isfinite(values), values, np.nan)
    top = float(np.nanmax(finite, initial=1e-9))
    text = [[f"{value:.6f}" if np.isfinite(value) else "infinite" for value in row] for row in values]
    figure = go.Figure(
        go.Heatmap(
            z=finite, x=columns, y=rows, text=text, texttemplate="%{text}" if printed else None,
            colorscale="Blues", zmin=0.0, zmax=top, colorbar={"title": what},
            hovertemplate="%{y} to %{x}: %{text}<extra></extra>",
        )
    )  # fmt: skip
    size = {"width": 260 + SIDE * values.shape[1], "height": 190 + 48 * len(rows)} if printed else {}
    figure.update_layout(title=title, plot_bgcolor=PAPER, font={"size": 14}, **size)
    figure.update_xaxes(title="output m", type="category", side="top" if printed else "bottom")
    figure.update_yaxes(autorange="reversed", type="category", automargin=True)
    if printed:
        figure.update_layout(margin={"t": 120}, title={"y": 0.97})
    return figure


def _name(counts: Counts | Hashable) -> str:
    return ", ".join(map(str, counts)) if isinstance(counts, tuple) else str(counts)

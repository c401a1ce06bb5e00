"""Plotly figures: properties of the report (``get_visualization``), noisy counts, and the model's network."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from sdv_plausible.evaluation.network_layout import NetworkLayout, Structure
from sdv_plausible.evaluation.page.charts import OTHER, REAL, REFERENCE, SYNTHETIC, network_graph, shorten_all
from sdv_plausible.utils.text_output import escape_controls


def _figure(title: str, **layout: Any) -> Any:
    figure = go.Figure()
    figure.update_layout(title=title, plot_bgcolor="#FFFFFF", font={"size": 14}, **layout)
    return figure


def column_distances(details: pd.DataFrame) -> Any:
    """Return a bar chart of column distances from the details of "Column Distances"."""
    figure = _figure("Total variation distance of each column", yaxis_title="distance", xaxis_title="column")
    if "Distance" in details:
        figure.add_trace(go.Bar(x=details["Column"], y=details["Distance"], marker_color=SYNTHETIC))
    return figure


def pair_distances(details: pd.DataFrame) -> Any:
    """Return a heat map of pair distances from the details of "Pair Distances"."""
    figure = _figure("Total variation distance of each pair of columns")
    if "Distance" in details:
        names = list(dict.fromkeys([*details["Column 1"], *details["Column 2"]]))
        index = {name: i for i, name in enumerate(names)}
        matrix = np.zeros((len(names), len(names)))
        for first, second, d in zip(
            details["Column 1"], details["Column 2"], details["Distance"], strict=True
        ):
            matrix[index[first], index[second]] = matrix[index[second], index[first]] = d
        figure.add_trace(go.Heatmap(z=matrix, x=names, y=names, colorscale="Blues", zmin=0.0))
        figure.update_yaxes(autorange="reversed")
    return figure


def _bars(details: pd.DataFrame, name: str, value: str, interval: str, colour: str) -> Any:
    errors = {
        "type": "data",
        "symmetric": False,
        "array": details[f"{interval} High"] - details[value],
        "arrayminus": details[value] - details[f"{interval} Low"],
    }
    return go.Bar(x=details["Classifier"], y=details[value], name=name, error_y=errors, marker_color=colour)


def classifier_agreement(details: pd.DataFrame) -> Any:
    """Return a bar chart of accuracy and agreement from the details of "Classifier Agreement"."""
    figure = _figure("Classifiers trained on real and on synthetic rows", yaxis={"range": [0, 1]})
    for name, value, interval, colour in (
        ("real accuracy", "Real Accuracy", "Real", REAL),
        ("synthetic accuracy", "Synthetic Accuracy", "Synthetic", SYNTHETIC),
        ("agreement", "Score", "Agreement", OTHER),
        ("agreement of two real", "Ceiling", "Ceiling", REFERENCE),
    ):
        if "Real Accuracy" in details and value in details:
            figure.add_trace(_bars(details, name, value, interval, colour))
    return figure


def distinguishing_game(details: pd.DataFrame) -> Any:
    """Return a bar chart of the distinguishers' accuracy from the details of "Distinguishing Game"."""
    figure = _figure("Share of origins a distinguisher names right (0.5: guessing)", yaxis={"range": [0, 1]})
    if "Accuracy" in details:
        figure.add_trace(_bars(details, "accuracy", "Accuracy", "Accuracy", SYNTHETIC))
        figure.add_hline(y=0.5, line_dash="dash")
    return figure


def plot_counts(counts: pd.DataFrame, title: str) -> Any:
    """Return a figure of counts as ``margins`` gives them: bars with intervals, or a heat map of a pair."""
    figure, index = _figure(_plotly_text(title), showlegend=False), counts.index
    rows = np.maximum(counts["estimate"].to_numpy(), 0)
    first = _labels(index.get_level_values(0).unique())
    if isinstance(index, pd.MultiIndex):
        second = _labels(index.get_level_values(1).unique())
        cells, colours = rows.reshape(len(first), len(second)).T, {"colorscale": "Blues", "zmin": 0.0}
        bar = {"title": "rows"}
        figure.add_trace(go.Heatmap(x=first, y=second, z=cells, zmax=rows.max(), colorbar=bar, **colours))
        figure.update_yaxes(title_text=_plotly_text(str(index.names[1])), type="category", automargin=True)
    else:
        errors = {
            "type": "data", "symmetric": False, "array": counts["upper"] - rows,
            "arrayminus": rows - counts["lower"], "thickness": 1, "width": 0,
        }  # fmt: skip
        figure.add_trace(go.Bar(x=first, y=rows, error_y=errors, marker_color=SYNTHETIC))
        figure.update_yaxes(title_text="rows")
    figure.update_xaxes(title_text=_plotly_text(str(index.names[0])), type="category", automargin=True)
    return figure


def _labels(values: Iterable[Any]) -> list[str]:
    texts = [str(value).replace(" 00:00:00", "") for value in values]
    return [_plotly_text(text) for text in shorten_all(texts, 200)]


def _plotly_text(words: str) -> str:
    """Text for a figure, where plotly would read tags."""
    return escape(escape_controls(words), quote=False)


def plot_structure(structure: Structure) -> Any:
    """Return a figure of a network ``{child: parents}``; arrows point from parent to child."""
    layout = NetworkLayout(structure)
    positions = {node: (layout.x[node], float(-level)) for node, level in layout.depth.items()}
    figure = _figure("Network of the columns", showlegend=False)
    axes = {"xref": "x", "yref": "y", "axref": "x", "ayref": "y"}
    arrow = {
        "showarrow": True,
        "arrowhead": 2,
        "arrowcolor": "#999999",
        "standoff": 14,
        "startstandoff": 10,
        "text": "",
    }
    for parent, *_, child in layout.routes:
        (from_x, from_y), (x, y) = positions[parent], positions[child]
        figure.add_annotation(x=x, y=y, ax=from_x, ay=from_y, **axes, **arrow)
    coordinates = list(positions.values())
    figure.add_trace(
        go.Scatter(
            x=[x for x, _ in coordinates],
            y=[y for _, y in coordinates],
            text=list(positions),
            mode="markers+text",
            textposition="top center",
            hovertext=[layout.tips[node] for node in positions],
            hoverinfo="text",
            marker={"size": 16, "color": SYNTHETIC},
        )
    )
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    return NetworkFigure(figure, structure)


class NetworkFigure(go.Figure):  # type: ignore[misc]
    """A plotly figure with a static fallback image, for converted notebooks and print."""

    # plotly's own display sends a single MIME type, which nbconvert cannot show
    _ipython_display_ = None

    def __init__(self, figure: Any, structure: Structure) -> None:
        super().__init__(figure)
        self._still = f'<div style="font:11px system-ui,sans-serif">{network_graph(structure)}</div>'

    def _repr_html_(self) -> str:
        return self._still

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None, **_: Any) -> dict[str, Any]:  # noqa: ARG002
        figure_json = json.loads(self.to_json())
        return {
            "application/vnd.plotly.v1+json": figure_json,
            "text/html": self._still,
            "text/plain": "network",
        }

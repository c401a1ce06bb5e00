"""The model's network as an interactive plotly figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sdv_plausible.evaluation.network import layers


def plot_structure(structure: Mapping[str, Sequence[str]]) -> Any:
    """Draw ``{child: [parents]}``; arrows point from parent to child.

    Parameters
    ----------
    structure : mapping of str to sequence of str
        As :meth:`PlausibleDeniabilitySynthesizer.get_structure` returns it.

    Returns
    -------
    plotly.graph_objects.Figure

    Raises
    ------
    ValueError
        If the graph has a cycle.
    """
    import plotly.graph_objects as go

    rows = layers(structure)
    # Layers are staggered, so that an arrow over several of them does not run through the nodes between.
    at = {
        node: ((i + 0.5 + (-0.3, 0.25, 0.05)[level % 3]) / len(row), -float(level))
        for level, row in enumerate(rows)
        for i, node in enumerate(row)
    }
    figure = go.Figure(
        go.Scatter(
            x=[x for x, _ in at.values()],
            y=[y for _, y in at.values()],
            mode="markers+text",
            text=list(at),
            textposition="bottom center",
            hovertext=[f"{node}; parents: {', '.join(structure.get(node, ())) or 'none'}" for node in at],
            hoverinfo="text",
            marker={"size": 16, "color": "#E69F00"},
        )
    )
    for child, parents in structure.items():
        for parent in parents:
            (x, y), (from_x, from_y) = at[child], at[parent]
            figure.add_annotation(
                x=x, y=y, ax=from_x, ay=from_y, xref="x", yref="y", axref="x", ayref="y", text="",
                showarrow=True, arrowhead=2, arrowwidth=1, arrowcolor="#5A5A5A", standoff=9, startstandoff=9, opacity=0.7,
            )  # fmt: skip
    figure.update_xaxes(visible=False).update_yaxes(visible=False)
    figure.update_layout(title="Network of the columns", plot_bgcolor="white", showlegend=False, height=120 + 110 * len(rows))
    return figure

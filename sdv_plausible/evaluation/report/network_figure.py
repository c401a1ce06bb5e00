"""The figure of a network, as a plotly figure that also shows where no script runs."""

from __future__ import annotations

import json
from typing import Any

import plotly.graph_objects as go

from sdv_plausible.evaluation.network_layout import Structure
from sdv_plausible.evaluation.page.network import network_graph


class NetworkFigure(go.Figure):  # type: ignore[misc]
    """A plotly figure with a still picture beside it: converted notebooks and printers show that."""

    # plotly's own display sends one kind alone, which nbconvert cannot show
    _ipython_display_ = None

    def __init__(self, figure: Any, structure: Structure) -> None:
        super().__init__(figure)
        self._still = f'<div style="font:11px system-ui,sans-serif">{network_graph(structure)}</div>'

    def _repr_html_(self) -> str:
        return self._still

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None, **_: Any) -> dict[str, Any]:  # noqa: ARG002
        whole = json.loads(self.to_json())
        return {"application/vnd.plotly.v1+json": whole, "text/html": self._still, "text/plain": "network"}

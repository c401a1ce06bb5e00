"""The network as a figure: plotly where a script runs, a still picture where none does."""

import re
from xml.etree import ElementTree

import plotly.graph_objects as go

from sdv_plausible.evaluation.report.plots import plot_structure

STRUCTURE = {"b": ["a"], "<i>c</i>": ["a", "b"]}


def test_a_converted_notebook_shows_it():
    """Plotly's display would come first, and send nothing that shows without a script."""
    figure = plot_structure(STRUCTURE)
    assert isinstance(figure, go.Figure)
    assert figure._ipython_display_ is None
    found = figure._repr_mimebundle_()
    assert set(found) == {"application/vnd.plotly.v1+json", "text/html", "text/plain"}
    still = found["text/html"]
    assert "<script" not in still
    assert "<i>" not in still
    words = [e.text for e in ElementTree.fromstring(still).iter() if e.tag.endswith("text")]
    assert sorted(words) == ["<i>c</i>", "a", "b"]
    assert len(re.findall("marker-end", still)) == 3
    assert len(found["application/vnd.plotly.v1+json"]["data"]) == len(figure.data)

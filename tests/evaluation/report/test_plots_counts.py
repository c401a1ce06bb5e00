"""Pictures of a release: counts as they were measured, pairs as the model has them, and text as text."""

from functools import cache

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from sdv_plausible import Release, fit_source
from sdv_plausible.evaluation.report.plots import plot_counts

DOMAIN = {
    "town": {"sdtype": "categorical", "range_values": ["<i>a</i>", "b"], "range_is_nullable": False},
    "since": {"sdtype": "datetime", "datetime_format": "%Y", "range_min": "2001", "range_max": "2003"},
    "copy": {"sdtype": "categorical", "range_values": ["x", "y"], "range_is_nullable": False},
}


@cache
def release(model: str = "bayesian_network") -> Release:
    town = np.tile(["<i>a</i>", "b", "b"], 400)
    rows = {"town": town, "since": "2001", "copy": np.where(town == "b", "y", "x")}
    return fit_source(pd.DataFrame(rows), domain=DOMAIN, epsilon=20.0, model=model)


def test_one_column_has_its_measured_counts_with_intervals():
    figure, counts = release().plot("town"), release().margins("town")
    (bars,) = figure.data
    assert isinstance(figure, go.Figure)
    assert list(bars.y) == counts["estimate"].tolist()
    assert np.allclose(bars.error_y.array, counts["upper"] - counts["estimate"])
    assert np.allclose(bars.error_y.arrayminus, counts["estimate"] - counts["lower"])
    assert bars.x == ("&lt;i&gt;a&lt;/i&gt;", "b")
    assert figure.layout.title.text.endswith("noisy counts")


def test_a_pair_that_was_measured_and_one_that_was_not():
    pair = release().plot(["town", "copy"])
    (cells,) = pair.data
    assert pair.layout.title.text.endswith("noisy counts")
    assert np.array_equal(cells.z.T.ravel(), np.maximum(release().margins(["town", "copy"])["estimate"], 0))
    assert (pair.layout.xaxis.title.text, pair.layout.yaxis.title.text) == ("town", "copy")
    other = release("independent").plot(["town", "copy"])
    (cells,) = other.data
    assert "did not measure this pair" in other.layout.title.text
    assert cells.z.shape == (2, 2)
    assert (cells.x, other.layout.xaxis.type) == (("&lt;i&gt;a&lt;/i&gt;", "b"), "category")
    assert cells.z.sum() == pytest.approx(release("independent").answers.number_of_rows())


def test_noise_below_zero_is_drawn_as_none():
    index = pd.Index(["a", "b"], name="<b>x</b>")
    counts = pd.DataFrame({"estimate": [-3.0, 5.0], "lower": [0.0, 2.0], "upper": [4.0, 8.0]}, index=index)
    figure = plot_counts(counts, "t")
    assert list(figure.data[0].y) == [0.0, 5.0]
    assert list(figure.data[0].error_y.array) == [4.0, 3.0]
    assert figure.layout.xaxis.title.text == "&lt;b&gt;x&lt;/b&gt;"


@pytest.mark.parametrize(
    ("columns", "match"), [([], "one or two"), (["town"] * 3, "one or two"), ("age", "columns")]
)
def test_what_cannot_be_drawn(columns, match):
    with pytest.raises(ValueError, match=match):
        release().plot(columns)

"""What the audit's figures show."""

import numpy as np

from sdv_plausible.extensions.audit.disclosure.count_synthesizers import laplace, multinomial_dirichlet
from sdv_plausible.extensions.audit.disclosure.figures import plot_log_ratios, plot_transitions


def test_every_number_of_figure_1_is_printed():
    matrix = multinomial_dirichlet(5, (0.5, 0.5), "plug_in")
    (map_,) = plot_transitions(matrix, "Figure 1").data
    np.testing.assert_allclose(map_.z, matrix.probabilities)
    assert list(map_.text[0][:3]) == ["0.647228", "0.294194", "0.053490"]
    assert map_.texttemplate == "%{text}"
    assert map_.x[0] == "0, 5"


def test_cells_above_epsilon_are_framed_infinite_ones_say_so_and_large_maps_print_nothing():
    figure = plot_log_ratios(multinomial_dirichlet(5, (0.5, 0.5), "plug_in"), epsilon=2.0)
    assert len(figure.layout.shapes) == 8
    assert figure.data[0].y[0] == "0, 5 | 1, 4"
    assert len(plot_log_ratios(laplace(5, 2.0), epsilon=2.0).layout.shapes) == 0
    infinite = plot_log_ratios(multinomial_dirichlet(3, (0.0, 1.0), "plug_in"))
    assert "infinite" in {word for row in infinite.data[0].text for word in row}
    assert plot_transitions(laplace(20, 1.0)).data[0].texttemplate is None

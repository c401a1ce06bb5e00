"""Heat maps: escaped, numbers where there is room, differences with their sign."""

import re
from itertools import product
from xml.etree import ElementTree

import numpy as np

from sdv_plausible.evaluation.page.charts import heatmap, shade

HOSTILE = '<script>alert("1")</script> & co'


def numbers(picture):
    return re.findall(r'font-size="9"[^>]*>([^<]+)<', picture)


def test_cells_have_numbers_where_there_is_room_and_names_are_escaped():
    picture = heatmap(HOSTILE, [HOSTILE, "b"], np.eye(2), HOSTILE)
    assert "<script" not in picture
    ElementTree.fromstring(picture)
    for num_columns, shown in ((2, True), (16, True), (17, False)):
        names = [f"c{i}" for i in range(num_columns)]
        found = numbers(heatmap("m", names, np.full((num_columns, num_columns), 0.25), "scale"))
        assert found == [".25"] * (num_columns**2 if shown else 0)


def test_differences_have_signs_and_a_scale_of_their_own():
    matrix = np.array([[0.0, -0.2], [0.1, 0.0]])
    picture = heatmap("m", ["a", "b"], matrix, "scale", signed=True)
    assert numbers(picture) == ["\u2212.20", ".10"]
    assert ">+0.2<" in picture
    assert "a, b: -0.200" in picture
    assert shade(-1.0, True)[0] in picture  # the largest has the end of the scale
    assert shade(0.5, True)[0] in picture
    assert shade(-0.5, True) != shade(0.5, True)
    assert ">+0.05<" in heatmap("m", ["a"], np.zeros((1, 1)), "scale", signed=True)


def test_numbers_can_be_read_on_their_cells():
    """At least 4.5 to 1 for white or dark text, as the accessibility guidelines ask."""

    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for value, signed in product(np.linspace(-1, 1, 41), (False, True)):
        fill, white = shade(value, signed)
        one, other = sorted([luminance(fill), luminance("#FFFFFF" if white else "#000000")])
        assert (other + 0.05) / (one + 0.05) >= 4.5

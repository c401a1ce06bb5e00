"""Margins of answers that others made: which table speaks, by which law, and what is added up."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

from sdv_plausible.queries.count_queries import Axis, QueryRecord
from sdv_plausible.queries.transcript import SCALES, SOURCE, Noise, NoisyAnswer
from sdv_plausible.release.intervals.confidence_limits import binomial_limits
from sdv_plausible.release.intervals.margins import margins, row_count_bounds
from sdv_plausible.release.intervals.measured_counts import measured_tables
from sdv_plausible.table.columns.domain import Attribute, Domain

DOMAIN = Domain(
    (
        Attribute(name="a", kind="categorical", values=tuple("xyz")),
        Attribute(name="b", kind="categorical", values=tuple("uv")),
        Attribute(name="c", kind="categorical", values=tuple("rs")),
    )
)
VALUES = {1: np.array([100, 200, 300]), 2: np.array([[40, 60], [90, 110], [150, 150]])}


def answer(
    columns: tuple[int, ...],
    scale: float,
    noise: Noise = "discrete gaussian",
    *,
    more: int = 0,
    scales: Any = None,
    stated: bool = True,
) -> NoisyAnswer:
    axes = tuple(Axis.of_codes(j, DOMAIN.cardinalities[j]) for j in columns)
    details = ({SOURCE: "X"} if stated else {}) | ({} if scales is None else {SCALES: tuple(scales)})
    return NoisyAnswer(
        asked=QueryRecord(kind="counts", tables=(axes,), details=details), values=VALUES[len(columns)] + more,
        noise=noise, scale=scale, paid_by=("answers",),
    )  # fmt: skip


def test_columns_that_no_table_is_over_are_added_up_where_most_counts_are_best():
    """One guess does not spoil a table; what a learner of ours chose is not added up."""
    guess = [2.0, 2.0, 2.0, 2.0, 2.0, 900.0]
    given = [answer((0, 2), 30.0, more=1), answer((0, 1), 400.0, scales=guess)]
    found = margins(given, DOMAIN, "a")
    np.testing.assert_array_equal(found["estimate"], [100, 200, 300])
    half = math.ceil(-ndtri(0.025) * (2 * math.sqrt(2) + 0.5))
    np.testing.assert_array_equal((found["upper"] - found["estimate"])[:2], half)
    assert found["upper"].iloc[2] > 1900
    assert set(margins([answer((0, 1), 2.0, stated=False)], DOMAIN, "a")["basis"]) == {"not identified"}


def test_of_one_table_twice_the_exact_one_speaks():
    given = [answer((0,), 5.0, more=9), answer((0,), 0.5, "rounded"), answer((0,), 0.5, "rounded", more=1)]
    found = margins(given, DOMAIN, "a")
    for end in ("estimate", "lower", "upper"):
        np.testing.assert_array_equal(found[end], VALUES[1])


@pytest.mark.parametrize("first", [0, 1])
def test_several_laws_are_averaged_by_their_variances(first):
    """And the law of the longest tails speaks, of the mean's variance, with half a count for its rounding."""
    given = [answer((0,), 30.0, "discrete laplace", more=17), answer((0,), 40.0)]
    found = margins([given[first], given[1 - first]], DOMAIN, "a")
    variance = 1 / (1 / 1800 + 1 / 1600)
    np.testing.assert_array_equal(found["estimate"], VALUES[1] + 8)  # 17 * 1600 / 3400
    half = math.ceil(1.01 * math.log(20) * (math.sqrt(variance / 2) + 0.5))
    np.testing.assert_array_equal(found["upper"] - found["estimate"], half)


@pytest.mark.parametrize("scales", [None, [30.0, 30.0, 31.0]])
def test_proportions_know_noise_and_sampling(scales):
    """Of any law: wider than either alone. Planted: limits of exact counts are narrower."""
    noise: Noise = "discrete laplace" if scales is None else "discrete gaussian"
    given = [answer((0,), 30.0, noise, scales=scales)]
    found = margins(given, DOMAIN, "a")
    low, high = binomial_limits(VALUES[1], VALUES[1], 600, 600, 0.05)
    rows = VALUES[1].sum()
    assert (found["proportion_lower"] < np.minimum(low, found["lower"] / rows) - 0.005).all()
    assert (found["proportion_upper"] > np.maximum(high, found["upper"] / rows) + 0.005).all()


def test_the_number_of_rows_knows_the_longer_tails_of_laplace_noise():
    """Of one count at a small probability they are beyond any Gaussian's of that variance."""
    table = measured_tables([answer((0,), 30.0, "discrete laplace", scales=[30.0, 1e-3, 1e-3])])
    estimate, low, high = row_count_bounds(table, 1, 1e-6)
    assert min(estimate - low, high - estimate) >= 30 * math.log(1e6)

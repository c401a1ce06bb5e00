"""Values that occur: the threshold against summed tails, and one value of one row."""

from __future__ import annotations

import itertools
import math

import neighbouring
import numpy as np

from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.queries.partition_selection import LEAST_HOLDERS, threshold


def gaussian_tail(sigma, least):
    """Pr[Z >= least] of the discrete Gaussian, by summing."""
    z = np.arange(-math.ceil(40 * sigma), math.ceil(40 * sigma) + 1)
    weight = np.exp(-(z**2) / (2 * sigma**2))
    return float(weight[z >= least].sum() / weight.sum())


def test_threshold_keeps_its_failure_probability():
    for mu, failure in itertools.product((0.01, 0.1, 1.0, 3.0), (1e-11, 1e-6, 0.05)):
        least = threshold(1 / mu, failure, ONE_ROW) - LEAST_HOLDERS
        assert gaussian_tail(1 / mu, least) <= failure
        assert gaussian_tail(1 / mu, least - 3) > failure  # and wastes at most two counts


def test_a_value_of_one_unit_and_of_those_who_are_never_named_passes_no_more_often_than_charged():
    """On the larger of two neighbours LEAST_HOLDERS - 1 others hold it, and all rows of one unit; on the smaller it is not there.

    Planted: the threshold of one row, for units of several.
    """
    for relation in neighbouring.RELATIONS:
        most = relation.rows_of(LEAST_HOLDERS) - 1 + relation.rows
        for sigma, failure in ((0.3, 1e-9), (5.0, 1e-6), (40.0, 0.05)):
            assert gaussian_tail(sigma, threshold(sigma, failure, relation) - most) <= failure
    for rows in (2, 4, 50):
        assert gaussian_tail(5.0, threshold(5.0, 1e-6, ONE_ROW) - (LEAST_HOLDERS - 1 + rows)) > 1e-6


def test_all_values_that_a_unit_brings_or_takes_away_share_the_failure():
    """One value for each row of the unit, and for each row of the one in its place: that any of them passes is a failure.

    Control: with the failure undivided, or divided by the rows of one of the two units alone, it fails more often.
    """
    for unit in (Neighbours(rows=3), Neighbours(replace=True), Neighbours(rows=3, replace=True)):
        values = unit.rows * (2 if unit.replace else 1)
        for failure in (0.05, 0.4):
            chances = {}
            for by in (values, 1, unit.rows):
                least = threshold(200.0, failure * values / by, unit)
                tail = gaussian_tail(200.0, least - unit.rows_of(LEAST_HOLDERS) + 1 - unit.rows)
                chances[by] = 1 - (1 - tail) ** values
            assert {by for by, chance in chances.items() if chance <= failure} == {values}


def test_the_threshold_grows_with_the_noise_and_falls_with_the_failure():
    sizes = [threshold(sigma, 1e-6, ONE_ROW) for sigma in (0.1, 1.0, 10.0)]
    failures = [threshold(5.0, failure, ONE_ROW) for failure in (1e-12, 1e-6, 0.01)]
    assert sizes == sorted(set(sizes))
    assert failures == sorted(set(failures), reverse=True)
    assert threshold(1e-9, 0.01, ONE_ROW) == LEAST_HOLDERS + 1 + 1  # always above what one row can make of it
    assert LEAST_HOLDERS == 5  # as the promise says

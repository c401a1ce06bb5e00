"""Entropy sensitivity: brute force over all small histograms."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import oracles_accounting as oracle
import pytest

from sdv_plausible.privacy.accounting.sensitivity import entropy_sensitivity, entropy_sensitivity_in_steps


def test_add_remove_sensitivity_is_the_largest_change_over_all_histograms() -> None:
    for n in range(13):
        changes = [abs(oracle.entropy(more) - oracle.entropy(counts)) for counts, more in one_row_apart(n)]
        assert max(changes) == pytest.approx(entropy_sensitivity(n), abs=1e-12)  # any smaller value is caught
        if n > 1:
            assert max(changes) > entropy_sensitivity(n + 1) + 1e-3  # planted: n of the larger table


def one_row_apart(n: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    return ((counts, more) for counts in oracle.histograms(n) for more in oracle.one_row_more(counts))


def test_normalised_or_summed_functions_are_not_covered() -> None:
    """Planted: symmetrical uncertainty has a larger sensitivity than the entropy; the entropy's bound must not be used."""

    def symmetrical_uncertainty(joint: np.ndarray) -> float:
        both = oracle.entropy(joint.ravel())
        first, second = oracle.entropy(joint.sum(axis=1)), oracle.entropy(joint.sum(axis=0))
        return 2 * (first + second - both) / (first + second) if first + second else 0.0

    n = 30
    table = np.array([[n, 0], [0, 0]])
    more = table + np.array([[0, 0], [0, 1]])
    assert symmetrical_uncertainty(more) - symmetrical_uncertainty(table) > 4 * entropy_sensitivity(n)


def test_sensitivity_falls() -> None:
    sizes = [1, 2, 3, 10, 100, 10**4, 280_000, 10**7, 10**12]
    values = [entropy_sensitivity(n) for n in sizes]
    assert values[0] == 1.0
    assert entropy_sensitivity(0) == 0.0
    assert all(a > b for a, b in zip(values, values[1:], strict=False))
    # Against the definition in exact integers: h2(1/(n+1)) with 60 decimal digits would change nothing.
    n = 10**12
    assert entropy_sensitivity(n) == pytest.approx((math.log2(n + 1) + 1 / math.log(2)) / (n + 1), rel=1e-10)


@pytest.mark.parametrize("step", [0.5, 0.1, 1e-3])
def test_rounded_entropies_move_by_at_most_the_stated_steps(step: float) -> None:
    """Every histogram of up to 9 rows, with rounding errors of half a step added in the worst direction."""
    worst_excess, without_rounding = -99, -99
    for n in range(1, 10):
        limit, rounded_down = entropy_sensitivity_in_steps(n, step), math.floor(entropy_sensitivity(n) / step)
        for pair, error in itertools.product(one_row_apart(n), (-0.25, 0.0, 0.25)):
            one, other = (oracle.entropy(counts) / step + 0.5 for counts in pair)
            moved = abs(math.floor(one - error) - math.floor(other + error))
            worst_excess, without_rounding = (
                max(worst_excess, moved - limit),
                max(without_rounding, moved - rounded_down),
            )
    assert worst_excess <= 0
    assert without_rounding > 0  # planted: rounding the sensitivity down


def test_errors() -> None:
    with pytest.raises(ValueError, match=r"n \(-1\) must"):
        entropy_sensitivity(-1)
    with pytest.raises(ValueError, match=r"step \(0\) must"):
        entropy_sensitivity_in_steps(10, 0)

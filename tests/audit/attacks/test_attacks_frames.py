"""Tables as numbers: ranks, bins, distances with missing cells."""

import numpy as np
import pandas as pd
import pytest
from attacked import people

from sdv_plausible.audit.attacks.frames import TableCoder

FRAME = pd.DataFrame({"x": [1.0, 2.0, 3.0, None], "c": ["a", "b", "a", None]})


def test_ranks_and_bins() -> None:
    coder = TableCoder(FRAME)
    ranks = coder.ranks(FRAME)
    np.testing.assert_allclose(ranks[:3, 0], [1 / 6, 3 / 6, 5 / 6])
    assert np.isnan(ranks[3, 0])
    unknown = pd.DataFrame({"x": [9.0], "c": ["z"]})
    assert coder.bins(unknown).tolist() == [[15, -1]]


def test_distances_count_columns() -> None:
    coder = TableCoder(FRAME)
    ranks = coder.ranks(FRAME)
    far, which = coder.nearest(ranks[:1], ranks[1:])
    assert which.tolist() == [1]
    np.testing.assert_allclose(far, [4 / 6])
    far, _ = coder.nearest(ranks[3:], ranks[:1])  # missing against a number, and another category
    assert far.tolist() == [2.0]
    assert coder.nearest(ranks[3:], ranks)[0].tolist() == [0.0]


def test_density_is_the_mean_of_kernels() -> None:
    coder = TableCoder(FRAME)
    ranks = coder.ranks(FRAME)
    by_hand = np.log(np.mean([1.0, np.exp(-(1 / 3 + 1) / 0.5)]))
    assert coder.log_density(ranks[:1], ranks[:2], 0.5)[0] == pytest.approx(by_hand)


def test_dates_and_truths_are_coded() -> None:
    coder = TableCoder(people(50))
    assert coder.is_number == [True, True, False, False, True]
    assert np.isfinite(coder.ranks(people(50))).all()


def test_an_empty_reference_is_refused() -> None:
    with pytest.raises(ValueError, match="no row"):
        TableCoder(FRAME.iloc[:0])

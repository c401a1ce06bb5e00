"""Tables as numbers: ranks, bins, distances with missing cells; targets: outliers, and rows like no other."""

import numpy as np
import pandas as pd
import pytest
from attacked import people

from sdv_plausible.extensions.audit.attacks.frames import TableCoder, crafted, outliers, random_rows, rarity
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

FRAME = pd.DataFrame({"x": [1.0, 2.0, 3.0, None], "c": ["a", "b", "a", None]})
CODER = TableCoder(FRAME)
RANKS = CODER.ranks(FRAME)
TABLE = people(400)


def test_ranks_and_bins() -> None:
    np.testing.assert_allclose(RANKS[:3, 0], [1 / 6, 3 / 6, 5 / 6])
    assert np.isnan(RANKS[3, 0])
    assert CODER.bins(pd.DataFrame({"x": [9.0], "c": ["z"]})).tolist() == [[15, -1]]
    mixed = TableCoder(people(50))
    assert mixed.is_number == [True, True, False, False, True]
    assert np.isfinite(mixed.ranks(people(50))).all()
    with pytest.raises(ValueError, match="no row"):
        TableCoder(FRAME.iloc[:0])


def test_distances_count_columns_and_density_is_the_mean_of_kernels() -> None:
    far, which = CODER.nearest(RANKS[:1], RANKS[1:])
    assert which.tolist() == [1]
    np.testing.assert_allclose(far, [4 / 6])
    far, _ = CODER.nearest(RANKS[3:], RANKS[:1])  # missing against a number, and another category
    assert far.tolist() == [2.0]
    assert CODER.nearest(RANKS[3:], RANKS)[0].tolist() == [0.0]
    by_hand = np.log(np.mean([1.0, np.exp(-(1 / 3 + 1) / 0.5)]))
    assert CODER.log_density(RANKS[:1], RANKS[:2], 0.5)[0] == pytest.approx(by_hand)


def test_the_odd_row_is_first_and_rarity_is_in_bits() -> None:
    odd = TABLE.copy()
    odd.loc[123, ["age", "job"]] = [120, "only one"]
    assert outliers(odd, 1).tolist() == [123]
    assert rarity(odd)[123] == rarity(odd).max()
    assert rarity(pd.DataFrame({"c": ["a", "a", "a", "b"]}))[3] == 2.0


def test_crafted_rows_are_rarer_than_the_table_and_of_its_types() -> None:
    made = crafted(TABLE, 30, KeyedRNG.from_os_entropy())
    assert (made.dtypes == TABLE.dtypes).all()
    assert not pd.concat([TABLE, made]).duplicated().tail(30).all()
    both = rarity(pd.concat([TABLE, made], ignore_index=True))
    assert np.median(both[400:]) > np.quantile(both[:400], 0.9)


def test_random_rows_differ_and_numbers_are_checked() -> None:
    assert len(set(random_rows(TABLE, 400, KeyedRNG.from_os_entropy()))) == 400
    with pytest.raises(ValueError, match="number of rows"):
        outliers(TABLE, 401)
    with pytest.raises(ValueError, match="at least 1"):
        crafted(TABLE, 0, KeyedRNG.from_os_entropy())

"""Targets: outliers are rare, crafted rows are like no other, random rows are different ones."""

import numpy as np
import pandas as pd
import pytest
from attacked import people

from sdv_plausible.audit.attacks.frames import crafted, outliers, random_rows, rarity
from sdv_plausible.privacy.noise.coins import Coins

TABLE = people(400)


def test_the_odd_row_is_first() -> None:
    odd = TABLE.copy()
    odd.loc[123, ["age", "job"]] = [120, "only one"]
    assert outliers(odd, 1).tolist() == [123]
    assert rarity(odd)[123] == rarity(odd).max()


def test_rarity_is_in_bits() -> None:
    assert rarity(pd.DataFrame({"c": ["a", "a", "a", "b"]}))[3] == 2.0


def test_crafted_rows_are_rarer_than_the_table_and_of_its_types() -> None:
    made = crafted(TABLE, 30, Coins.from_os_entropy())
    assert (made.dtypes == TABLE.dtypes).all()
    assert not pd.concat([TABLE, made]).duplicated().tail(30).all()
    both = rarity(pd.concat([TABLE, made], ignore_index=True))
    assert np.median(both[400:]) > np.quantile(both[:400], 0.9)


def test_random_rows_differ() -> None:
    assert len(set(random_rows(TABLE, 400, Coins.from_os_entropy()))) == 400


def test_numbers_are_checked() -> None:
    with pytest.raises(ValueError, match="number of rows"):
        outliers(TABLE, 401)
    with pytest.raises(ValueError, match="at least 1"):
        crafted(TABLE, 0, Coins.from_os_entropy())

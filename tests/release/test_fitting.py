"""From codes to a release: the split, who is charged first, and what is refused."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom

from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.questions.codes import CodeArray
from sdv_plausible.release.fitting import split_rows


def test_a_split_is_disjoint_secret_and_in_proportion():
    """10,000 rows: false alarm 1e-6 for each part. Parts below 1 in all leave rows unused."""
    rows, shares = CodeArray(np.arange(10_000).reshape(-1, 1), [10_000]), (0.2, 0.3, 0.4)

    def parts(seed: int) -> dict[str, list[int]]:
        split = split_rows(rows, shares, Coins.from_seed(seed))
        return {name: part.records()[:, 0].tolist() for name, part in split.items()}

    found = parts(0)
    ids = [*found["structure"], *found["parameters"], *found["seeds"]]
    assert len(set(ids)) == len(ids)
    assert set(found["learning"]) == {*found["structure"], *found["parameters"]}
    for name, share in zip(("structure", "parameters", "seeds"), shares, strict=True):
        low, high = binom.ppf([5e-7, 1 - 5e-7], 10_000, share)
        assert low <= len(found[name]) <= high
    assert parts(0) == found
    assert parts(1)["seeds"] != found["seeds"]
    assert all(part is rows for part in split_rows(rows, None, Coins.from_seed(0)).values())

"""How many attributes are resampled: what a user may write, and what is drawn."""

from __future__ import annotations

import pytest

from sdv_plausible.models.omega import Omega
from sdv_plausible.privacy.noise.coins import Coins


@pytest.mark.parametrize("omega", [-1, 5, (3, 2), (1, 5), (1,), (1, 2, 3), True, 1.0, "some", (0.5, 1), [True, 2]])
def test_bad_omegas(omega):
    with pytest.raises(ValueError, match="omega"):
        Omega.parse(omega).among(4)


@pytest.mark.parametrize(("omega", "values"), [(2, {2}), ("all", {4}), ((1, 3), {1, 2, 3}), ([0, 1], {0, 1})])
def test_good_omegas(omega, values):
    Omega.parse(omega).among(4)
    assert set(Omega.parse(omega).draw(4, 200, Coins.from_seed(0)).tolist()) == values

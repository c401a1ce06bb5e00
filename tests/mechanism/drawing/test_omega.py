"""How many attributes are resampled: what a user may write, and what is drawn."""

import numpy as np
import pytest
from networks import FALSE_ALARM
from scipy.stats import chisquare

from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.privacy.noise.coins import Coins


@pytest.mark.parametrize(
    "omega", [-1, 5, (3, 2), (1, 5), (1,), (1, 2, 3), True, 1.0, "some", (0.5, 1), [True, 2]]
)
def test_bad_omegas(omega):
    with pytest.raises(ValueError, match="omega"):
        Omega.parse(omega).among(4)


@pytest.mark.parametrize(("omega", "values"), [(2, {2}), ("all", {4}), ((1, 3), {1, 2, 3}), ([0, 1], {0, 1})])
def test_good_omegas(omega, values):
    Omega.parse(omega).among(4)
    assert set(Omega.parse(omega).draw(4, 200, Coins.from_seed(0)).tolist()) == values


def test_a_range_is_drawn_from_uniformly():
    """9,000 draws, seeded, at 1e-6. Control: a range without its last number."""
    drawn = Omega.parse((1, 3)).draw(4, 9000, Coins.from_seed(1))
    assert chisquare(np.bincount(drawn - 1, minlength=3)).pvalue > FALSE_ALARM
    short = Omega.parse((1, 2)).draw(4, 9000, Coins.from_seed(1))
    assert chisquare(np.bincount(short - 1, minlength=3)).pvalue < FALSE_ALARM


@pytest.mark.parametrize("omega", [0, 3, (1, 3), (0, 4), "all"])
def test_an_omega_is_written_as_it_is_read(omega):
    parsed = Omega.parse(omega)
    assert parsed.to_user() == omega
    assert Omega.parse(parsed.to_user()) == parsed
    assert Omega.parse(parsed) is parsed
    assert str(parsed) == repr(omega)
    assert parsed.is_all == (omega == "all")
    assert list(parsed.among(4)) == list(range(4, 5) if omega == "all" else range(*_ends(omega)))


def _ends(omega):
    low, high = omega if isinstance(omega, tuple) else (omega, omega)
    return low, high + 1


def test_none_is_left_to_choose():
    assert Omega.parse(None) is None

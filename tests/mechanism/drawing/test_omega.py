"""How many attributes are resampled: what a user may write, and what is drawn."""

import numpy as np
import pytest
from networks import FALSE_ALARM
from scipy.stats import chisquare

from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG


def test_a_range_is_drawn_from_uniformly():
    """9,000 draws, seeded, at 1e-6. Control: a range without its last number."""
    drawn = Omega.parse((1, 3)).draw(4, 9000, KeyedRNG.from_seed(1))
    assert chisquare(np.bincount(drawn - 1, minlength=3)).pvalue > FALSE_ALARM
    short = Omega.parse((1, 2)).draw(4, 9000, KeyedRNG.from_seed(1))
    assert chisquare(np.bincount(short - 1, minlength=3)).pvalue < FALSE_ALARM


def test_an_omega_is_written_as_it_is_read_and_drawn_from():
    assert Omega.parse(None) is None
    for omega, values in ((0, [0]), (3, [3]), ((1, 3), [1, 2, 3]), ([0, 1], [0, 1]), ("all", [4])):
        parsed, written = Omega.parse(omega), tuple(omega) if isinstance(omega, list) else omega
        assert parsed.to_user() == written
        assert str(parsed) == repr(written)
        assert Omega.parse(parsed.to_user()) == parsed
        assert Omega.parse(parsed) is parsed
        assert parsed.is_all == (omega == "all")
        drawn = set(parsed.draw(4, 200, KeyedRNG.from_seed(0)).tolist())
        assert list(parsed.among(4)) == sorted(drawn) == values
    for omega in (-1, 5, (3, 2), (1, 5), (1,), (1, 2, 3), True, 1.0, "some", (0.5, 1), [True, 2]):
        with pytest.raises(ValueError, match="omega"):
            Omega.parse(omega).among(4)

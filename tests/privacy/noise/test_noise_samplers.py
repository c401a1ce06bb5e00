"""Noise from a stream: exact digits of the geometric distribution."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

from sdv_plausible.privacy.noise import noise_samplers as _samplers
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG


@pytest.mark.parametrize("scale", [0.1, 0.5, 1.0, 3.7, 1e3, 2.0**50])
def test_geometric_digits_multiply_to_the_exact_distribution(scale: float) -> None:
    def largest_error(thresholds: tuple[tuple[np.uint64, np.uint64], ...]) -> Decimal:
        a = (-1 / Decimal(scale)).exp()
        ones = [(int(high) * 2**64 + int(low)) / Decimal(2**128) for high, low in thresholds]
        digits = max(len(ones), 12)
        ones += [Decimal(0)] * (digits - len(ones))
        errors = []
        for g in [*range(40), int(scale), int(7 * scale)]:
            chances = [p if g >> i & 1 else 1 - p for i, p in enumerate(ones)]
            errors.append(abs(math.prod(chances, start=Decimal(1)) - (1 - a) * a**g))
        return max(errors)

    with localcontext() as context:
        context.prec = 80
        assert largest_error(_samplers._digit_thresholds(scale)) < Decimal(2) ** -122
        assert largest_error(_samplers._digit_thresholds(scale * (1 + 1e-15))) > Decimal(2) ** -122  # control


def test_a_tie_in_the_first_64_bits_is_decided_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    first_digit = _samplers._digit_thresholds(1.0)[:1]
    monkeypatch.setattr(_samplers, "_digit_thresholds", lambda scale: first_digit)
    high, low = first_digit[0]
    one = np.uint64(1)

    def digits(second_words: list[np.uint64]) -> list[int]:
        planted = iter([[high - one, high, high + one, high], second_words])
        monkeypatch.setattr(KeyedRNG, "words", lambda self, n: np.array(next(planted)))
        return _samplers._geometric(KeyedRNG.from_seed(11), 1.0, 4).tolist()

    assert digits([low - one, low]) == [1, 1, 0, 0]
    assert digits([low, low - one]) == [1, 0, 0, 1]

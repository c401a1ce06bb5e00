"""Exact privacy loss of N independent draws from one of two coins: Binomial(N, a1) against Binomial(N, a0).

All row-by-row tests reduce to it. A pair of coins is given by its two log likelihood ratios, ``log_high =
ln(a1/a0) > 0`` and ``log_low = ln((1-a1)/(1-a0)) < 0``: privacy depends on their range only
(``docs/explanation/proofs/seed_test.md``, Lemma 2). Sums are binomial tails, so nothing is discretised.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, betaincc

FloatArray = npt.NDArray[np.float64]
_ROUNDING = 1e-9  # relative; far above the error of the incomplete beta function, far below anything reported


@dataclass(frozen=True, kw_only=True)
class BernoulliPairs:
    """Pairs of coins, given by the logarithms of their two likelihood ratios."""

    log_high: FloatArray  # shape (p,): ln(a1/a0), > 0
    log_low: FloatArray  # shape (p,): ln((1-a1)/(1-a0)), < 0

    def __len__(self) -> int:
        return len(self.log_high)

    @property
    def probabilities(self) -> tuple[FloatArray, FloatArray]:
        """The two head probabilities (a0, a1) of each pair."""
        a0 = -np.expm1(self.log_low) / (np.exp(self.log_high) - np.exp(self.log_low))
        return a0, np.minimum(1.0, a0 * np.exp(self.log_high))

    def undominated(self) -> BernoulliPairs:
        """Return the pairs whose range of likelihood ratios is in no other pair's range."""
        order = np.lexsort((self.log_low, -self.log_high))
        low = self.log_low[order]
        best_before = np.concatenate([[np.inf], np.minimum.accumulate(low)[:-1]])
        undominated = order[low < best_before]
        return BernoulliPairs(log_high=self.log_high[undominated], log_low=self.log_low[undominated])

    def epsilon(self, num_draws: int, delta: npt.ArrayLike) -> FloatArray:
        """Smallest epsilon of each pair at its delta, for the worse of the two directions, shape (p,)."""
        # ``delta`` in (0, 1): a scalar, or shape (p,).
        a0, a1 = self.probabilities
        spread = self.log_high - self.log_low
        target = np.broadcast_to(np.asarray(delta, dtype=np.float64), a0.shape)

        def log_ratio(heads: FloatArray) -> FloatArray:
            return heads * spread + num_draws * self.log_low

        # One direction rejects on many heads (at least x), the other on few (at most N - x). Both values
        # are unimodal in x.
        many = _best_threshold(
            lambda x: _log_excess(_upper_tail(x, num_draws, a1), _upper_tail(x, num_draws, a0), target),
            log_ratio,
            num_draws,
            a0.shape,
        )
        few = _best_threshold(
            lambda x: _log_excess(
                _lower_tail(num_draws - x, num_draws, a0), _lower_tail(num_draws - x, num_draws, a1), target
            ),
            lambda x: -log_ratio(num_draws - x),
            num_draws,
            a0.shape,
        )
        # The largest likelihood ratio; it also caps the infinity that an underflowed tail would give.
        many = np.minimum(many, num_draws * self.log_high)
        few = np.minimum(few, -num_draws * self.log_low)
        result: FloatArray = np.maximum(0.0, np.maximum(many, few)) * (1 + _ROUNDING)
        return result

    def profile(self, num_draws: int, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Largest delta over the pairs at every epsilon >= 0: (heads likelier, heads rarer), shapes (e,)."""
        # The first profile is for N draws of the second coin (a1) against the first (a0), the other for the
        # reverse.
        epsilon = np.asarray(epsilon, dtype=np.float64)
        up, down = np.zeros_like(epsilon), np.zeros_like(epsilon)
        for a0, a1, high, low in zip(*self.probabilities, self.log_high, self.log_low, strict=True):
            shift, spread = num_draws * low, high - low
            x = np.clip(np.floor((epsilon - shift) / spread) + 1, 0, num_draws + 1)
            up = np.maximum(
                up, _difference(_upper_tail(x, num_draws, a1), _upper_tail(x, num_draws, a0), epsilon)
            )
            y = np.clip(np.ceil((-epsilon - shift) / spread) - 1, -1, num_draws)
            down = np.maximum(
                down, _difference(_lower_tail(y, num_draws, a0), _lower_tail(y, num_draws, a1), epsilon)
            )
        return up * (1 + _ROUNDING), down * (1 + _ROUNDING)


def cover(log_r: FloatArray, log_odds: FloatArray, resolution: float) -> BernoulliPairs:
    """Coins that dominate every coin with log likelihood ratios (ln r - u, -u), 0 < u <= min(log_odds, ln r).

    The range of u is cut into pieces that are short against ln r; the coin with ratios (ln r - start, -end)
    dominates a piece.
    """
    top = np.minimum(log_odds, log_r)
    pieces = np.maximum(1, np.ceil(top / (resolution * log_r)).astype(np.int64))
    pair = np.repeat(np.arange(len(log_r)), pieces)
    position = np.arange(len(pair)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    start = top[pair] * position / pieces[pair]
    end = top[pair] * (position + 1) / pieces[pair]
    return BernoulliPairs(log_high=log_r[pair] - start, log_low=-end).undominated()


def _upper_tail(x: FloatArray, n: int, a: npt.ArrayLike) -> FloatArray:
    """Pr[X >= x] for X ~ Binomial(n, a) and integer x."""
    inside = np.clip(x, 1, n)
    result: FloatArray = np.where(x <= 0, 1.0, np.where(x > n, 0.0, betainc(inside, n - inside + 1, a)))
    return result


def _lower_tail(x: FloatArray, n: int, a: npt.ArrayLike) -> FloatArray:
    """Pr[X <= x] for X ~ Binomial(n, a) and integer x."""
    inside = np.clip(x, 0, n - 1)
    result: FloatArray = np.where(x >= n, 1.0, np.where(x < 0, 0.0, betaincc(inside + 1, n - inside, a)))
    return result


def _difference(likelier: FloatArray, rarer: FloatArray, epsilon: FloatArray) -> FloatArray:
    """``max(0, likelier - e^epsilon rarer)`` without overflow of e^epsilon."""
    with np.errstate(divide="ignore"):
        scaled = np.exp(np.minimum(epsilon + np.log(rarer), 1.0))
    result: FloatArray = np.maximum(0.0, likelier - scaled)
    return result


def _log_excess(likelier: FloatArray, rarer: FloatArray, delta: FloatArray) -> FloatArray:
    """``ln((likelier - delta)/rarer)``: -inf where likelier <= delta, +inf on underflow."""
    excess = likelier - delta
    with np.errstate(divide="ignore"):
        value = np.log(np.maximum(excess, 0.0)) - np.where(excess > 0, np.log(rarer), 0.0)
    result: FloatArray = np.where(excess > 0, value, -np.inf)
    return result


def _best_threshold(
    value: Callable[[FloatArray], FloatArray],
    log_ratio: Callable[[FloatArray], FloatArray],
    num_draws: int,
    shape: tuple[int, ...],
) -> FloatArray:
    """Maximum value of a threshold test over the thresholds 0..num_draws, by bisection."""
    # Raising the threshold from x to x + 1 drops the outcome x from the event. That helps exactly if the
    # value at x + 1 is at least the log likelihood ratio of x. The ratio rises with x, so the value first
    # rises and then falls. Own code, because thousands of pairs are bisected at once; the integer searches of
    # the standard library and SciPy take one at a time.
    low, high = np.zeros(shape), np.full(shape, float(num_draws))
    while np.any(low < high):
        middle = np.floor((low + high) / 2)
        open_ = low < high
        helps = value(middle + 1) >= log_ratio(middle)
        low = np.where(open_ & helps, middle + 1, low)
        high = np.where(open_ & ~helps, middle, high)
    return value(low)

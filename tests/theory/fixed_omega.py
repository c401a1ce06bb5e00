"""Exact privacy loss of N rows released one by one under Privacy Test 2 with one fixed omega.

A released row tells no more than one toss of a coin, so N rows lose what Binomial(N, a1) against Binomial(N,
a0) loses, at the worst group size and pass rate (``docs/explanation/proofs/seed_test.md``, Theorem 1).
"""

import math
from dataclasses import dataclass

import numpy as np

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.accounting.bernoulli_pairs import cover
from sdv_plausible.privacy.accounting.paper_theorems import log_pass_probability
from sdv_plausible.privacy.accounting.released_rows import COARSE, FINE, RowByRow

_NEGLIGIBLE = 45.0  # groups whose rows appear with probability below exp(-45) are lumped together


@dataclass(frozen=True, kw_only=True)
class FixedOmegaRows(RowByRow):
    """N released rows with one fixed omega: candidates keep a prefix of the seed, k' is its group's size."""

    def epsilon(self, delta):
        """Smallest epsilon at the given delta in (0, 1): exact up to 0.25 % above, never below."""
        delta = check.share_of_delta("delta", delta)
        if self._empty_group_delta() > delta:
            return math.inf
        return float(self.worst_pairs(FINE).epsilon(self.num_rows, delta).max())

    def profile(self, epsilon):
        """Delta at every epsilon >= 0, for removing and adding: the largest over all group sizes; it composes."""
        remove, add = self.worst_pairs(COARSE).profile(self.num_rows, np.asarray(epsilon, dtype=np.float64))
        empty = self._empty_group_delta()
        return np.maximum(remove, empty), np.maximum(add, empty)

    def _empty_group_delta(self):
        """Case c = 0: the new row alone makes its group, whose rows cannot appear without it."""
        log_one = float(log_pass_probability(1, self.k, self.epsilon0, self.noise))
        probability = min(1.0, math.exp(log_one) / ((self.n_lower + 1) * self.pass_rate_floor))
        return 1.0 if probability == 1 else -math.expm1(self.num_rows * math.log1p(-probability))

    def worst_pairs(self, resolution):
        """Return finitely many coins that dominate the coin of every neighbour pair with c >= 1."""
        a = math.exp(-self.epsilon0)
        # Above the peak of the mass increase both the ratio and the increase fall with c: no larger group is worse.
        c = np.arange(1.0, max(self.k, math.ceil(2 * a / (1 - a))) + 3)
        log_p = log_pass_probability(np.append(c, c[-1] + 1), self.k, self.epsilon0, self.noise)
        log_r = np.log1p(1 / c) + np.diff(log_p)
        log_increase = log_p[:-1] + np.log(c) + np.log(np.expm1(log_r))
        peak = int(np.argmax(log_increase)) + 1
        floor = math.log(self.passing_seeds / self.num_rows) - _NEGLIGIBLE
        first, last = _blocks(log_r[:peak], np.maximum(log_increase[:peak], floor), resolution)
        odds = np.exp(np.maximum(log_increase[last], floor) - math.log(self.passing_seeds))
        return cover(log_r[first], np.log1p(odds), resolution)


def fixed_omega_loss(*, delta, **rows):
    """Total epsilon at `delta`; what makes the floor true comes on top (:mod:`theory.pass_rate_test`)."""
    return FixedOmegaRows(**rows).epsilon(delta)


def _blocks(log_r, log_increase, resolution):
    """First and last index of runs of sizes where ratio and increase change by less than `resolution`."""
    keys = np.stack([np.floor(np.log(log_r) / resolution), np.floor(log_increase / resolution)])
    breaks = np.flatnonzero(np.any(np.diff(keys, axis=1) != 0, axis=0))
    return np.append(0, breaks + 1), np.append(breaks, len(log_r) - 1)

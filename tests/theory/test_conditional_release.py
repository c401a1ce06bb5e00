"""One released row: exact enumeration, and the pair that must not be composed in its place."""

import itertools
import math
from fractions import Fraction

import pytest
from oracles_accounting import OVERLAPPING, PREFIXES, SLACK, hockey_stick

from sdv_plausible.extensions.audit.disclosure import exact
from sdv_plausible.privacy.accounting.paper_theorems import theorem1
from theory.conditional_release import conditional_release

A = Fraction(1, 5)  # exp(-epsilon0), rational
EPSILON0 = math.log(5)


@pytest.mark.parametrize("likelihood", [PREFIXES, OVERLAPPING])
def test_claim_covers_every_pair(likelihood):
    test = exact.randomized_pass(4, A)
    for n in (1, 2, 3, 5):
        for table in itertools.combinations_with_replacement(range(3), n):
            for extra in range(3):
                attempts = [exact.attempt(x, likelihood, test, Fraction(2)) for x in ((*table, extra), table)]
                floor = float(min(map(sum, attempts)))
                more, less = (exact.rows_given_release(w, 1) for w in attempts)
                for t in (1, 2, 3):
                    claim = conditional_release(4, 2.0, EPSILON0, t, pass_rate_floor=floor, n_lower=n)
                    for pair, direction in (((more, less), claim.remove), ((less, more), claim.add)):
                        found = float(hockey_stick(*pair, Fraction(math.exp(direction.epsilon))))
                        assert found <= direction.delta * (1 + SLACK) + 1e-12


def test_theorem1_must_not_be_composed_over_released_rows():
    """One row each: {x} against {x, z}. Theorem 1's delta is tiny, the released row gives z away half the time."""
    test = exact.randomized_pass(6, A)
    attempts = [exact.attempt(t, PREFIXES, test, Fraction(2)) for t in ((0, 1), (0,))]
    more, less = (exact.rows_given_release(w, 1) for w in attempts)
    found = float(hockey_stick(more, less, Fraction(10**6)))
    assert found == pytest.approx(0.5)
    assert theorem1(6, 2.0, EPSILON0, 1).delta < 1e-3  # the wrong claim
    claim = conditional_release(6, 2.0, EPSILON0, 1, pass_rate_floor=float(min(map(sum, attempts))))
    assert claim.remove.delta >= found - 1e-12

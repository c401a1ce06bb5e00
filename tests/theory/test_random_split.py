"""Random split: joint outputs enumerated with fractions, and planted errors that are caught."""

import itertools
import math
from fractions import Fraction

import pytest
from oracles_accounting import hockey_stick

from sdv_plausible.extensions.audit.disclosure import exact
from theory.random_split import random_split


def noisy_count(size, limit, a):
    """Discrete Laplace count, clamped to 0..limit: ln(1/a)-DP."""
    out = {v: (1 - a) / (1 + a) * a ** abs(v - size) for v in range(1, limit)}
    return {
        **out,
        0: 1 - exact.discrete_laplace_tail(1 - size, a),
        limit: exact.discrete_laplace_tail(limit - size, a),
    }


def split_outputs(num_rows, parts):
    """Joint outcome of noisy counts of every part; a part's list holds one noise parameter for every use of it."""
    rest = 1 - sum(p for p, _ in parts)
    out = {}
    for where in itertools.product(range(len(parts) + 1), repeat=num_rows):
        weight = math.prod(((*[p for p, _ in parts], rest)[w] for w in where), start=Fraction(1))
        uses = [noisy_count(where.count(i), 3, a) for i, (_, noises) in enumerate(parts) for a in noises]
        for outcome in itertools.product(*(u.items() for u in uses)):
            key, chance = tuple(v for v, _ in outcome), math.prod(p for _, p in outcome)
            out[key] = out.get(key, 0) + weight * chance
    return out


def split_deltas(parts, epsilon):
    factor = Fraction(math.exp(epsilon))
    more, less = split_outputs(3, parts), split_outputs(2, parts)
    return float(hockey_stick(more, less, factor)), float(hockey_stick(less, more, factor))


def test_random_split_is_joint_and_both_directions_hold():
    parts = [(Fraction(1, 4), [Fraction(1, 2)]), (Fraction(1, 2), [Fraction(1, 4)])]
    claim = random_split([(0.25, math.log(2), 0.0), (0.5, math.log(4), 0.0)])
    assert claim.remove.epsilon == pytest.approx(math.log(0.25 * 2 + 0.5 * 4 + 0.25))
    assert claim.add.epsilon == pytest.approx(-math.log(0.25 / 2 + 0.5 / 4 + 0.25))
    assert claim.remove.epsilon < math.log(4)
    assert split_deltas(parts, claim.remove.epsilon)[0] <= 1e-12
    assert split_deltas(parts, claim.add.epsilon)[1] <= 1e-12
    assert split_deltas(parts, claim.remove.epsilon * 0.8)[0] > 1e-4  # tight enough to catch a smaller claim


def test_split_used_twice_is_composed_first_and_amplified_once():
    """Planted: two uses of the same part, each amplified, then added. The exact loss exceeds that sum."""
    half = Fraction(1, 2)
    parts = [(Fraction(1, 5), [half, half])]
    once = random_split([(0.2, 2 * math.log(2), 0.0)])
    added = 2 * random_split([(0.2, math.log(2), 0.0)]).remove.epsilon
    assert split_deltas(parts, once.remove.epsilon)[0] <= 1e-12
    assert added < once.remove.epsilon
    assert split_deltas(parts, added)[0] > 1e-3


def test_split_delta_of_adding_is_not_the_average():
    """Part 1 shows its size with probability 1/10, part 2 is a noisy count: sum p_c delta_c alone is too small."""
    shown, a = Fraction(1, 10), Fraction(1, 9)

    def outputs(num_rows):
        out = {}
        for where in itertools.product((0, 1), repeat=num_rows):
            weight = Fraction(1, 2**num_rows)
            for value, p in noisy_count(where.count(1), 3, a).items():
                for first, q in ((where.count(0), shown), (None, 1 - shown)):
                    out[first, value] = out.get((first, value), Fraction(0)) + weight * p * q
        return out

    claim = random_split([(0.5, 0.0, 0.1), (0.5, math.log(9), 0.0)])
    # One table of no rows against one of one row: all of the loss is in the added row's part.
    found = float(hockey_stick(outputs(0), outputs(1), Fraction(math.exp(claim.add.epsilon))))
    average = 0.5 * 0.1
    assert claim.remove.delta == pytest.approx(average)
    assert average < found <= claim.add.delta
    assert claim.remove.delta <= 0.1
    assert claim.add.delta <= 0.1

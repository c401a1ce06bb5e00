"""A model with three points and four rows, enumerated in fractions: what a test of the point gives, and what not."""

import itertools
import math
from fractions import Fraction

from sdv_plausible.extensions.audit.disclosure.exact import (
    attempt,
    deterministic_pass,
    plausible_seeds,
    randomized_pass,
)
from sdv_plausible.privacy.accounting.released_rows import rows_loss

GAMMA, K, A = Fraction(2), 2, Fraction(1, 3)
POINTS, ROWS, KINDS = range(3), range(4), range(4)
ENCODED = [  # kind of record -> point
    [Fraction(6, 10), Fraction(3, 10), Fraction(1, 10)],
    [Fraction(5, 10), Fraction(4, 10), Fraction(1, 10)],
    [Fraction(1, 100), Fraction(9, 100), Fraction(90, 100)],
    [Fraction(0), Fraction(1, 100), Fraction(99, 100)],
]
DECODED = [  # point -> row
    [Fraction(9, 10), Fraction(1, 10), Fraction(0), Fraction(0)],
    [Fraction(9, 10), Fraction(0), Fraction(1, 10), Fraction(0)],
    [Fraction(9, 10), Fraction(0), Fraction(0), Fraction(1, 10)],
]
BY_ROW = [[sum((q[z] * DECODED[z][y] for z in POINTS), Fraction(0)) for y in ROWS] for q in ENCODED]
TABLES = [t for n in (3, 4) for t in itertools.combinations_with_replacement(KINDS, n)]


def by_point(table, test):
    """One attempt: a point and its row, where the point is tested."""
    points = attempt(table, ENCODED, test, GAMMA)
    return {(z, y): points[z] * DECODED[z][y] for z in POINTS for y in ROWS if points[z] * DECODED[z][y]}


def by_row(table, test):
    """Planted bug: the row's own likelihood is tested, and the point is released with it."""
    passed = [[attempt([d], BY_ROW, lambda _: Fraction(1), GAMMA)[y] for y in ROWS] for d in KINDS]
    found = {}
    for d in table:
        for y in ROWS:
            if not passed[d][y]:
                continue
            alone = test(plausible_seeds(y, d, table, BY_ROW, GAMMA))
            for z in POINTS:
                p = ENCODED[d][z] * DECODED[z][y] * alone / len(table)
                if p:
                    found[z, y] = found.get((z, y), Fraction(0)) + p
    return found


FREE = [Fraction(1, 4)] * 4  # rows made without a seed


def with_free(table, test):
    """Half of the proposals have no seed: one more point, the same for all records, which says so."""
    encoded = [[q / 2 for q in of_kind] + [Fraction(1, 2)] for of_kind in ENCODED]
    points, decoded = attempt(table, encoded, test, GAMMA), [*DECODED, FREE]
    return {(z, y): p * decoded[z][y] for z, p in enumerate(points) for y in ROWS if p * decoded[z][y]}


def with_free_and_point(table, test):
    """Planted bug: a row without a seed comes with the point of the seed that was drawn for it."""
    found = {pair: p for pair, p in with_free(table, test).items() if pair[0] in POINTS}
    every = test(len(table)) / 2
    for d, z, y in itertools.product(table, POINTS, ROWS):
        p = ENCODED[d][z] * FREE[y] * every / len(table)
        if p:
            found[z, y] = found.get((z, y), Fraction(0)) + p
    return found


def undeniable(mechanism):
    """Released pairs that fewer than k records give with probabilities within the factor."""
    found = []
    for table in TABLES:
        for z, y in mechanism(table, deterministic_pass(K)):
            chances = [ENCODED[d][z] if z in POINTS else FREE[y] for d in table]
            most = max(sum(c / GAMMA <= o <= c * GAMMA for o in chances if o) for c in chances if c)
            if most < K:
                found.append((table, z, y))
    return found


def test_every_released_pair_has_k_seeds():
    """Rows without a seed leave without a point. Planted: the untested point of a seed; the row is tested."""
    assert not undeniable(by_point)
    assert not undeniable(with_free)
    assert undeniable(with_free_and_point)
    assert undeniable(by_row)


def test_the_row_alone_has_not():
    """The counterexample of the page, in fractions."""
    tenth, rest = Fraction(1, 10), Fraction(9, 10)
    encoded = [[tenth, rest, Fraction(0)], [tenth, Fraction(0), rest]]
    points = attempt([0, 1], encoded, deterministic_pass(2), Fraction(2))
    assert points[0] == tenth
    assert not points[1]
    decoded = [1, 1, 0]  # whether a point gives y
    one, other = (sum((q[z] * decoded[z] for z in POINTS), Fraction(0)) for q in encoded)
    assert one / other == 10 > GAMMA


def lost(one, other, epsilon):
    return sum(max(p - epsilon * other.get(x, 0), 0) for x, p in one.items())


def given_release(pairs, of_row):
    whole, found = sum(pairs.values()), {}
    for (z, y), p in pairs.items():
        key = y if of_row else (z, y)
        found[key] = found.get(key, Fraction(0)) + p / whole
    return found


def worst(mechanism, exp_epsilon, of_row):
    """Largest delta of one released row over all neighbours."""
    test, found = randomized_pass(K, A), Fraction(0)
    for table in TABLES:
        if len(table) != 3:
            continue
        for more in KINDS:
            one, two = (given_release(mechanism(t, test), of_row) for t in (table, (*table, more)))
            found = max(found, lost(one, two, exp_epsilon), lost(two, one, exp_epsilon))
    return float(found)


def test_the_row_loses_no_more_than_the_point():
    for exp_epsilon in (Fraction(1), Fraction(3, 2), Fraction(2), Fraction(4)):
        assert worst(by_point, exp_epsilon, True) <= worst(by_point, exp_epsilon, False)


def test_what_is_charged_covers_the_pair_and_a_test_of_the_row_loses_more():
    floor = min(float(sum(by_point(t, randomized_pass(K, A)).values())) for t in TABLES)
    _, epsilon = rows_loss(
        num_rows=1, k=K, epsilon0=math.log(3), n_lower=3, gamma=2.0, noise="discrete_laplace",
        delta=0.3, pass_rate_floor=floor,
    )  # fmt: skip
    at = Fraction(math.exp(epsilon))
    assert worst(by_point, at, False) <= 0.3
    assert worst(by_row, at, False) > 3 * worst(by_point, at, False)
    assert worst(with_free, at, False) <= 0.3
    assert worst(with_free_and_point, at, False) > 3 * worst(with_free, at, False)

"""Theorem 1 and the pass probability: exact enumeration of one attempt."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import oracles_accounting as oracle
import pytest
from oracles_accounting import OVERLAPPING, PREFIXES, SLACK, hockey_stick

from sdv_plausible.extensions.audit.disclosure import exact
from sdv_plausible.privacy.accounting.paper_theorems import log_pass_probability, theorem1, theorem1_best

A = Fraction(1, 5)  # exp(-epsilon0), rational
EPSILON0 = math.log(5)


def test_noise_tails_of_the_reference_are_sums() -> None:
    mass = {z: exact.discrete_laplace_mass(z, A) for z in range(-60, 61)}
    for s in range(-5, 6):
        tail = float(sum(p for z, p in mass.items() if z >= s))
        assert tail == pytest.approx(float(exact.discrete_laplace_tail(s, A)))


def test_pass_probability_is_the_noise_tail_and_log_concave() -> None:
    for noise, (k, epsilon0) in itertools.product(
        ("laplace", "discrete_laplace"), [(1, 2.0), (7, 0.5), (50, 0.1)]
    ):
        c = np.arange(3 * k + 40)
        log_p = log_pass_probability(c, k, epsilon0, noise)  # type: ignore[arg-type]
        expected = [oracle.pass_probability(int(x), k, epsilon0, noise) for x in c]
        np.testing.assert_allclose(np.exp(log_p), expected, rtol=1e-12)
        assert np.all(np.diff(log_p, 2) <= 1e-12)
        assert np.isfinite(log_pass_probability(1, 10**6, 1.0, noise))  # type: ignore[arg-type]


@pytest.mark.parametrize("likelihood", [PREFIXES, OVERLAPPING])
def test_theorem1_covers_every_pair_of_attempts(likelihood: list[list[Fraction]]) -> None:
    test = exact.randomized_pass(4, A)
    tightest = 0.0
    tables = [table for n in (1, 2, 3, 5) for table in itertools.combinations_with_replacement(range(3), n)]
    for table, extra in itertools.product(tables, range(3)):
        attempts = (exact.attempt(x, likelihood, test, Fraction(2)) for x in ((*table, extra), table))
        more, less = (dict(enumerate(w)) for w in attempts)
        for t in (1, 2, 3):
            epsilon, delta = theorem1(4, 2.0, EPSILON0, t, n_lower=len(table))
            factor = Fraction(math.exp(epsilon))
            removed = float(hockey_stick(more, less, factor))
            assert max(removed, float(hockey_stick(less, more, factor))) <= delta * (1 + SLACK)
            tightest = max(tightest, removed / delta)
    # Where the new row's group is new (c = 0, t = 1) the sharper delta is reached, so a smaller one would be caught.
    assert tightest > 0.9 if likelihood is PREFIXES else tightest > 0.1


def test_lemmas_of_appendix_c() -> None:
    """Lemmas 2 to 5 and corollary 1 of [PD], for every table of up to four rows and every row more."""
    k, gamma = 4, Fraction(2)
    test, largest = exact.randomized_pass(k, A), Fraction(0)
    tables = [table for n in (1, 2, 3, 4) for table in itertools.combinations_with_replacement(range(3), n)]
    for table, extra, y in itertools.product(tables, range(3), range(len(OVERLAPPING[0]))):
        p = [row[y] for row in OVERLAPPING]
        if not p[extra]:
            continue
        (size, mass), (size_more, mass_more) = (_partitions(t, p) for t in (table, (*table, extra)))
        q, q_more = ({i: test(c[i]) * m[i] for i in m} for c, m in ((size, mass), (size_more, mass_more)))
        assert sum(q.values()) / len(table) == exact.attempt(table, OVERLAPPING, test, gamma)[y]  # Lemma 2
        j = next(i for i in size_more if size_more[i] != size.get(i, 0))
        assert all(q.get(i, 0) == q_more[i] for i in q_more if i != j)  # Lemma 4a
        assert q.get(j, 0) < q_more[j]  # Lemma 4b, and with it corollary 1
        c = size.get(j, 0)
        largest = max(largest, test(c + 1) / test(c))
        assert test(c) <= test(c + 1) <= test(c) / A  # Lemma 3
        for t in range(1, k):
            rest = A ** (k - t) * mass_more[j]
            step = (1 + gamma / t) / A
            assert q_more[j] <= (rest if c < t else step * q[j])  # Lemma 4b
            after = sum(q_more.values()) / (len(table) + 1)
            before = sum(q.values()) / len(table)
            assert after <= step * before + rest / (len(table) + 1)  # Lemma 5
            assert before <= step * after or len(table) < k  # Lemma 5, which is for tables of k rows or more
    assert largest == 1 / A  # Lemma 3 is reached: a factor below exp(epsilon0) would be caught


def _partitions(table: Sequence[int], p: list[Fraction]) -> tuple[Counter[int], dict[int, Fraction]]:
    """Number of rows of every partition at gamma = 2, and the sum of their likelihoods (definitions of appendix C)."""
    size, mass = Counter[int](), dict[int, Fraction]()
    for d in table:
        if p[d]:
            i = next(i for i in itertools.count() if p[d] > Fraction(1, 2 ** (i + 1)))
            size[i] += 1
            mass[i] = mass.get(i, Fraction(0)) + p[d]
    return size, mass


def test_visible_rejection_adds_what_theorem1_does_not_cover() -> None:
    """100 equal rows and an outlier: Pr[reject] jumps by 1/(n+1), far above Theorem 1's delta."""
    test = exact.randomized_pass(7, Fraction(math.exp(-2.0)))
    less = 1 - sum(exact.attempt((0,) * 100, PREFIXES, test, Fraction(2)))
    more = 1 - sum(exact.attempt((*((0,) * 100), 1), PREFIXES, test, Fraction(2)))
    assert float(less) < 1e-80
    assert float(more) == pytest.approx(1 / 101, rel=1e-4)
    assert theorem1(7, 2.0, 2.0, 3).delta == pytest.approx(math.exp(-8.0))
    assert float(more - less) > 20 * theorem1(7, 2.0, 2.0, 3).delta


def test_theorem1_best_takes_the_largest_t() -> None:
    choice = theorem1_best(50, 4.0, 1.0, 1e-6)
    assert choice.t == 36
    assert choice[:2] == tuple(theorem1(50, 4.0, 1.0, 36))
    assert theorem1(50, 4.0, 1.0, 37).delta > 1e-6
    assert theorem1_best(50, 4.0, 1.0, 1e-6, n_lower=735_000).t > 45  # the new row must also be the seed
    with pytest.raises(ValueError, match="cannot be reached with k = 5"):
        theorem1_best(5, 4.0, 1.0, 1e-6)
    with pytest.raises(ValueError, match=r"k \(3\) must exceed t \(5\)"):
        theorem1(3, 4.0, 1.0, 5)


def test_theorem1_best_is_the_search_over_every_t() -> None:
    cases = [(2, 3.0, 0.06), (9, 0.7, 0.02), (60, 0.2, 1e-4)]
    for n, (k, epsilon0, delta) in itertools.product((None, 1000), cases):
        fitting = [t for t in range(1, k) if theorem1(k, 3.0, epsilon0, t, n_lower=n).delta <= delta]
        assert theorem1_best(k, 3.0, epsilon0, delta, n_lower=n).t == max(fitting)

"""Transition matrices against the figures that [AV] prints, against plain fractions, and against Bayes' rule."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import sdv_plausible.extensions.audit as face
from sdv_plausible.extensions.audit.disclosure.count_synthesizers import laplace, multinomial_dirichlet
from sdv_plausible.extensions.audit.disclosure.transition_matrix import (
    TransitionMatrix,
    log,
    tables_of_counts,
)

FIGURE_2 = """
1.003353 0.295930 1.595212 2.894495 4.193778 5.493061
1.256572 0.494432 0.267708 1.029848 1.791988 2.554128
1.682361 1.009417 0.336472 0.336472 1.009417 1.682361
2.554128 1.791988 1.029848 0.267708 0.494432 1.256572
5.493061 4.193778 2.894495 1.595212 0.295930 1.003353
"""
FIGURE_4 = """
1.489880 1.379885 2.000000 2.000000 2.000000 2.000000
2.000000 1.379885 1.379885 2.000000 2.000000 2.000000
2.000000 2.000000 1.379885 1.379885 2.000000 2.000000
2.000000 2.000000 2.000000 1.379885 1.379885 2.000000
2.000000 2.000000 2.000000 2.000000 1.379885 1.489880
"""


def printed(figure: str) -> np.ndarray:
    return np.array(figure.split(), dtype=float).reshape(5, 6)


@pytest.fixture(scope="module")
def figure_1() -> TransitionMatrix:
    return multinomial_dirichlet(5, (0.5, 0.5), "plug_in")


def test_figures_2_and_4_to_six_digits(figure_1):
    np.testing.assert_allclose(np.abs(figure_1.log_ratios), printed(FIGURE_2), rtol=0, atol=5.1e-7)
    np.testing.assert_allclose(np.abs(laplace(5, 2.0).log_ratios), printed(FIGURE_4), rtol=0, atol=5.1e-7)
    assert (np.abs(figure_1.log_ratios) > 2).sum() == 8
    assert laplace(5, 2.0).epsilon == pytest.approx(2.0, abs=1e-12)


def test_the_printed_delta_and_what_it_leaves_out(figure_1):
    even, noisy = stats.binom.pmf(range(6), 5, 0.5), laplace(5, 2.0)
    assert figure_1.probabilistic_delta(2.0, even, "rarer") == pytest.approx(0.000623, abs=5e-7)  # .0006
    assert figure_1.probabilistic_delta(2.0, even) == pytest.approx(0.040516, abs=5e-7)
    assert figure_1.probabilistic_delta(2.0) == pytest.approx(0.103516, abs=5e-7)
    assert figure_1.delta(2.0) == pytest.approx(0.065922, abs=5e-7)
    assert figure_1.worst_pair(2.0)[1:] in {((4, 1), (5, 0)), ((1, 4), (0, 5))}
    assert noisy.probabilistic_delta(2.0) == 0.0  # ratios of exactly 2 do not exceed 2
    assert noisy.delta(2.0) < 1e-12
    milder = multinomial_dirichlet(5, (0.5, 0.5))  # equation 1 itself
    assert milder.epsilon == pytest.approx(math.log(11))
    assert (np.abs(milder.log_ratios) > 2).sum() == 2


def test_rows_for_disclosure_limitation(figure_1):
    assert figure_1.least_change == pytest.approx(1 - 0.647228, abs=5e-7)
    assert laplace(5, 2.0).least_change == pytest.approx(1 - 0.816060, abs=5e-7)
    copies = TransitionMatrix.of({n: {n: 1.0} for n in tables_of_counts(3, 2)})
    assert copies.least_change == 0.0


def test_a_zero_reachable_from_a_neighbour_is_infinite_and_named():
    """Planted: outputs far from the data suppressed, as section 4.1 of [AV] warns."""
    matrix = multinomial_dirichlet(5, (0.0, 0.5), "plug_in")
    assert matrix.epsilon == math.inf
    cell = matrix.worst_cell
    assert (cell.likelier, cell.rarer, cell.probabilities[1]) == ((1, 4), (0, 5), 0.0)
    assert cell.outcome[0] > 0
    for words in ("(1, 4)", "(0, 5)", str(cell.outcome), "inf"):
        assert words in str(cell)
    assert matrix.odds_ratios().min() == 0
    assert matrix.inferential_disclosure(1e-6).posterior == 1.0
    assert 0 < matrix.delta(50.0) < 1


def test_equation_4_is_bayes_rule(figure_1):
    """Posterior odds over prior odds, for another prior than any formula knows of."""
    prior = np.array([0.3, 0.1, 0.05, 0.2, 0.25, 0.1])
    posterior = figure_1.posterior(prior)
    np.testing.assert_allclose(posterior.sum(axis=0), 1)
    one, other = figure_1.pairs.T
    odds = posterior[one] / posterior[other] / (prior[one] / prior[other])[:, None]
    np.testing.assert_allclose(odds, figure_1.odds_ratios(), rtol=1e-10)
    np.testing.assert_allclose(np.exp(figure_1.epsilon), max(odds.max(), 1 / odds.min()), rtol=1e-10)


def test_inferential_disclosure_for_given_prior_odds(figure_1):
    found = figure_1.inferential_disclosure(0.25, certainty=0.9)
    odds = 0.25 * math.exp(figure_1.epsilon)
    assert found.prior == pytest.approx(0.2)
    assert found.posterior == pytest.approx(odds / (1 + odds))
    # 0.9 needs odds of 9, so a ratio of 36, ln 36 = 3.58: outputs 4 and 5 from n1 = 1, against n1 = 0
    assert found.probability == pytest.approx(figure_1.probabilities[1, 4:].sum())
    kept = laplace(5, 2.0).inferential_disclosure(1.0, certainty=0.9)
    assert kept.probability == 0.0  # e^2 : 1 is 0.881
    assert kept.posterior == pytest.approx(math.exp(2) / (1 + math.exp(2)))


def test_delta_by_fractions():
    """The same numbers from exact fractions and the definition, event by event."""
    ways = {
        n: [math.comb(3, y) * Fraction(n + 1, 5) ** y * Fraction(4 - n, 5) ** (3 - y) for y in range(4)] for n in range(4)
    }  # fmt: skip
    matrix = TransitionMatrix.of({(n, 3 - n): dict(enumerate(law)) for n, law in ways.items()})
    pairs = [(ways[a], ways[b]) for a in ways for b in ways if abs(a - b) == 1]
    for epsilon in (0.0, 0.3, 1.0, 2.0):
        factor = Fraction(math.exp(epsilon))
        by_hand = max(
            sum(max(Fraction(0), p - factor * q) for p, q in zip(*pair, strict=True)) for pair in pairs
        )
        assert matrix.delta(epsilon) == pytest.approx(float(by_hand), rel=1e-9, abs=1e-15)


def test_rows_added_or_removed_are_neighbours_too_and_tiny_probabilities_are_no_zeros():
    laws = {n: {sum(n): 1.0} for size in (1, 2) for n in tables_of_counts(size, 2)}
    matrix = TransitionMatrix.of(laws, "add_remove")
    near = {(matrix.tables[i], matrix.tables[j]) for i, j in matrix.pairs}
    assert near == {((0, 1), (1, 1)), ((0, 1), (0, 2)), ((1, 0), (2, 0)), ((1, 0), (1, 1))}
    assert matrix.epsilon == math.inf
    tiny = Fraction(1, 10**400)
    matrix = TransitionMatrix.of({(i, 1 - i): {"a": p, "b": 1 - p} for i, p in enumerate((tiny, 2 * tiny))})
    assert matrix.epsilon == pytest.approx(math.log(2))
    assert log(tiny) == pytest.approx(-400 * math.log(10))


def test_bad_values_are_named(figure_1):
    for words, wrong in (
        ("must add up to 1", lambda: TransitionMatrix.of({(0, 1): {1: 0.5}})),
        ("must hold neighbours", lambda: TransitionMatrix.of({(0, 1): {1: 1.0}}).epsilon),
        ('must be "add_remove"', lambda: TransitionMatrix.of({(0, 1): {1: 1.0}}, "far")),
        ("epsilon", lambda: figure_1.delta(-1.0)),
        ("one for each table", lambda: figure_1.probabilistic_delta(2.0, [1.0])),
        ('must be "both" or "rarer"', lambda: figure_1.probabilistic_delta(2.0, cells="likelier")),
        ("prior_odds", lambda: figure_1.inferential_disclosure(0.0)),
        ("certainty", lambda: figure_1.inferential_disclosure(1.0, 1.0)),
        ("lower n", lambda: multinomial_dirichlet(100, (1.0,) * 5)),
    ):
        with pytest.raises(ValueError, match=words):
            wrong()


def test_the_public_names_load():
    assert set(face.__all__) <= set(dir(face))
    assert all(callable(getattr(face, name)) for name in face.__all__)
    with pytest.raises(AttributeError, match="no attribute"):
        face.no_such_name  # noqa: B018

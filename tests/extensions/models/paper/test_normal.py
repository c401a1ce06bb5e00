"""Normal conditionals: moments against scipy, and that they are made of noisy counts alone."""

import math

import numpy as np
import pytest
from doors import learn
from scipy.stats import gamma, norm

from sdv_plausible.extensions.models.paper import paper_network as learning
from sdv_plausible.extensions.models.paper.paper_network import PaperNetwork, _cells, normal_rows
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.noise.mechanisms import record_calls
from sdv_plausible.table.columns.domain import Attribute, Domain

AGE = Attribute(name="age", kind="integer", lower=tuple(range(100)), upper=tuple(range(100)), nullable=True)
DOMAIN = Domain((Attribute(name="sex", kind="categorical", values=("f", "m")), AGE))
ARCS = {"age": ["sex"]}


def test_rows_are_normal_with_the_moments_they_had():
    """A row of two numbers becomes the Normal between them; missing keeps its share."""
    row = np.zeros((1, 101))
    row[0, [40, 60, 100]] = 0.45, 0.45, 0.1
    found = normal_rows(row, AGE)[0]
    edges = np.arange(101) - 0.5
    narrower = math.sqrt(100 - 1 / 12)  # bins of width 1 add a twelfth
    assert found[:100] == pytest.approx(0.9 * np.diff(norm.cdf(edges, 50, narrower)), abs=1e-6)
    assert found[100] == pytest.approx(0.1)
    assert found.sum() == pytest.approx(1)


def test_bins_of_any_width_get_the_mass_between_their_ends():
    wide = Attribute(name="wage", kind="float", lower=(0.0, 10.0, 40.0), upper=(10.0, 40.0, 100.0))
    found = normal_rows(np.array([[0.2, 0.5, 0.3]]), wide)[0]
    assert found == pytest.approx([0.2, 0.5, 0.3], abs=1e-3)  # three shares follow from two moments
    ends = np.array([[0.0, 10.0, 40.0, 100.0]])
    mass = np.diff(norm(30, 20).cdf(ends[0]))
    assert _cells(np.array([30.0]), np.array([20.0]), ends)[0] == pytest.approx(mass / mass.sum())


@pytest.mark.parametrize(("mean", "deviation"), [(40.7, 15.8), (28.0, 8.0), (84.0, 9.0), (56.5, 20.0)])
def test_a_normal_that_is_cut_off_keeps_the_moments(mean, deviation):
    """Of a Gamma-shaped row and of two heaps, ages from 17 to 96; the Normal of these moments, cut off, does not."""
    values, heaps = np.arange(17, 97), np.zeros(80)
    age = Attribute(name="age", kind="integer", lower=tuple(values.tolist()), upper=tuple(values.tolist()))
    heaps[[max(int(mean - 0.9 * deviation), 17) - 17, min(int(mean + 1.1 * deviation), 96) - 17]] = 0.55, 0.45
    bell = gamma.pdf(values, (mean / deviation) ** 2, scale=deviation**2 / mean)

    def moments(shares):
        centre = values @ shares
        return centre, math.sqrt(shares @ (values - centre) ** 2)

    for row in (heaps, bell / bell.sum()):
        assert moments(normal_rows(row[None], age)[0]) == pytest.approx(moments(row), rel=1e-3)
    planted = np.diff(norm.cdf(np.arange(17, 98) - 0.5, *moments(row)))
    if mean == 40.7:
        assert moments(planted / planted.sum()) != pytest.approx(moments(row), rel=1e-2)


def test_a_single_number_stays_categories_too_and_where_there_is_no_normal_the_nearest_is_taken():
    row = np.zeros((2, 101))
    row[0, 30] = row[1, 100] = 1.0  # the second is always missing
    found = normal_rows(row, AGE)
    assert found[0, 30] > 0.95
    assert found[1, 100] == 1.0
    table = np.array([[0.3, 0.7]])
    assert normal_rows(table, DOMAIN["sex"]) is table
    year = Attribute(name="year", kind="integer", lower=(1900, 1950), upper=(1949, 1999), nullable=True)
    assert normal_rows(np.array([[0.0, 0.0, 1.0]]), year).tolist() == [[0.0, 0.0, 1.0]]  # far from zero
    row = np.zeros((1, 101))
    row[0, [0, 99]] = 0.5
    found = normal_rows(row, AGE)[0, :100]
    assert found @ np.arange(100) == pytest.approx(49.5)
    assert found == pytest.approx(np.full(100, 0.01), abs=1e-3)  # nearly even


def ages(n=4000):
    rng = np.random.default_rng(0)
    sex = rng.integers(0, 2, n)
    age = np.clip(np.rint(rng.normal(30 + 30 * sex, 6)), 0, 99).astype(int)
    return np.column_stack([sex, age])


def fitted(learner, epsilon):
    budget, ledger = ModelBudget(epsilon=epsilon, delta=1e-6), PrivacyLedger(delta=1e-6)
    return learn(learner, ages(), DOMAIN, budget, ledger, KeyedRNG.from_seed(1))


@pytest.mark.parametrize("noise", ["calibrated", "paper"])
def test_a_learned_number_is_normal_given_its_parents(noise):
    """Without noise the mean of each group within 4 standard errors, 0.6; with it a smooth bell all the same."""
    learner = PaperNetwork(structure=ARCS, conditionals="normal", noise=noise)
    models = [fitted(learner, epsilon) for epsilon in (math.inf, 1.0)]
    free, noisy = (next(t for t in model.tables if t.child == 1).probabilities[:, :100] for model in models)
    assert (free @ np.arange(100)) / free.sum(axis=1) == pytest.approx([30, 60], abs=1.5)
    turns = (np.diff(np.sign(np.diff(noisy, axis=1)), axis=1) != 0).sum(axis=1)
    assert (turns <= 1).all()


def looks(learner):
    """Every noisy number that a fit takes, and what is charged."""
    with record_calls() as calls:
        fitted(learner, 1.0)
    return [*calls, *learner.plan(DOMAIN, ModelBudget(epsilon=1.0, delta=1e-6))]


@pytest.mark.parametrize("noise", ["calibrated", "paper"])
def test_normal_conditionals_take_no_further_answer(noise, monkeypatch):
    """Same noise calls, same charge; planted: a learner that asks for counts again to take its moments of."""
    made = {"structure": ARCS, "noise": noise}
    tables, normal = (PaperNetwork(conditionals=kind, **made) for kind in ("table", "normal"))
    plain = looks(tables)
    assert plain
    assert looks(normal) == plain

    def again(rows, attribute):
        fitted(tables, 1.0)
        return normal_rows(rows, attribute)

    monkeypatch.setattr(learning, "normal_rows", again)
    assert looks(normal) != plain


def test_other_conditionals_are_refused():
    said = r"conditionals \('regression'\) must be .* a mean for each configuration"
    with pytest.raises(ValueError, match=said):
        PaperNetwork(conditionals="regression")

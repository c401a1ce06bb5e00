"""The adaptive learner looks at rows only through charged releases (docs/explanation/proofs/adaptive_network.md)."""

import itertools

import numpy as np
import pytest
from doors import door, learn

from sdv_plausible.models.adaptive import adaptive_network
from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.models.adaptive.measurements import Measurements
from sdv_plausible.models.adaptive.schedule import Schedule
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.models.model_checks import categorical_domain
from sdv_plausible.privacy.accounting.composition import calibrate_gaussian
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.noise.mechanisms import record_calls
from sdv_plausible.queries.budget_tracker import QueryBudget
from sdv_plausible.queries.count_queries import CodeArray, L1Distances
from sdv_plausible.table.columns.domain import Attribute, Domain

CARDS = (3, 2, 4, 12)


ENDS = tuple(range(12))
DOMAIN = Domain(
    (*categorical_domain(CARDS[:3]), Attribute(name="number", kind="integer", lower=ENDS, upper=ENDS))
)


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 3, n)
    second, third = (first + rng.integers(0, 2, n)) % 2, rng.integers(0, 4, n)
    return np.stack([first, second, third, first * 3 + rng.integers(0, 4, n)], axis=1)


def fit(codes, epsilon=1.0, rng=None, domain=DOMAIN, **options):
    budget, ledger = ModelBudget(epsilon=epsilon, delta=1e-6), PrivacyLedger(delta=1e-6)
    with record_calls() as calls:
        learn(AdaptiveNetwork(**options), codes, domain, budget, ledger, rng or KeyedRNG.from_os_entropy())
    return ledger, calls


def spent(calls):
    return sum((call.sensitivity / call.scale) ** 2 for call in calls)


def test_the_noise_calls_add_up_to_the_charge():
    for n in (1, 30, 2000):
        ledger, calls = fit(table(n))
        mu = calibrate_gaussian(1.0, 1e-6)
        # What no pair was worth goes to others, or to columns.
        assert 0.995 < spent(calls) / mu**2 <= 1 + 1e-9
        assert ledger.total() <= 1.0
        assert all(call.name == "discrete_gaussian" for call in calls)


def test_nothing_is_left_unspent():
    """Where no pair is worth its noise the columns are asked again; pairs, where no set is. Planted: neither is."""
    for n, epsilon in ((40, 0.1), (30_000, 4.0)):
        codes = np.random.default_rng(1).integers(0, CARDS, (n, 4))
        most = calibrate_gaussian(epsilon, 1e-6) ** 2
        assert spent(fit(codes, epsilon)[1]) > 0.98 * most
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Measurements, "measure_again", lambda _: False)
            assert spent(fit(codes, epsilon)[1]) < 0.98 * most


def test_noise_covers_every_declared_cell_whatever_the_rows():
    """One-way tables have the declared shapes; removing the only record of a cell changes no shape."""
    codes = table(2000)
    codes[0, 2] = 3
    codes[1:, 2] %= 3  # row 0 holds the only record of value 3
    for rows in (codes, codes[1:]):
        assert [c.shape for c in fit(rows, rng=KeyedRNG.from_seed(5))[1]][:5] == [
            (1,),
            *((c,) for c in CARDS),
        ]


def test_score_sensitivity_by_brute_force():
    """Adding a row changes each score by at most 1. Control: a score against the product of the true margins."""
    codes = table(25, seed=3)
    rows = door(codes, CARDS, 5.0, KeyedRNG.from_seed(1))
    schedule = Schedule.make(1e6, QueryBudget(mu=5.0), 4)  # as for a large table: small floor
    made = Measurements(rows, DOMAIN, schedule)
    pairs = list(itertools.combinations(range(4), 2))
    axes = [made._axes_of(e) for e in pairs]
    question = L1Distances(axes, [np.rint(t) for t in made._estimates(np.array(pairs))[0]])

    def scores(table):
        return question.exact(CodeArray(table, CARDS))

    def true_margin_scores(table):
        counts = CodeArray(table, CARDS).tables(axes)
        return np.array([np.abs(t - np.outer(t.sum(1), t.sum(0)) / t.sum()).sum() for t in counts])

    worst = control = 0.0
    for row in itertools.product(*(range(c) for c in CARDS)):
        longer = np.vstack([codes, row])
        worst = max(worst, float(np.abs(scores(longer) - scores(codes)).max()))
        control = max(control, float(np.abs(true_margin_scores(longer) - true_margin_scores(codes)).max()))
    assert worst <= 1
    assert control > 1.2


def tangled(n):
    """Columns of which every pair depends, and three do beyond their pairs."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 3, n), rng.integers(0, 2, n)
    c = (a + 2 * b + (rng.random(n) < 0.3)) % 4
    return np.stack([a, b, c, (3 * (a ^ b) + 2 * c + rng.integers(0, 3, n)) % 12], axis=1)


def alike(n):
    """So many columns that sets of them do not pay, each like a hidden one: no tree explains them."""
    rng = np.random.default_rng(0)
    return (rng.random((n, 1)) < 0.5) ^ (rng.random((n, 40)) < 0.2)


@pytest.mark.parametrize(
    ("codes", "epsilon", "fits"),
    [(tangled(3000), 1.0, 1), (alike(20_000), 0.5, 2), (tangled(3000), 5.0, 3)],
    ids=["a round", "two rounds", "two rounds and sets"],
)
def test_the_last_fit_is_told_that_it_is(codes, epsilon, fits, monkeypatch):
    """Earlier models are drawn from as a whole, the last is the model."""
    told, honest = [], adaptive_network.fit_network

    def fit_network(*given, is_last):
        told.append(is_last)
        return honest(*given, is_last=is_last)

    monkeypatch.setattr(adaptive_network, "fit_network", fit_network)
    columns = [Attribute(name=f"c{j}", kind="ordinal", values=(0, 1)) for j in range(codes.shape[1])]
    domain = DOMAIN if len(columns) == len(CARDS) else Domain(tuple(columns))
    fit(codes.astype(np.int32), epsilon, KeyedRNG.from_seed(3), domain)
    assert told == [False] * (fits - 1) + [True]


def test_pairs_of_the_workload_are_measured_whatever_they_score():
    """In one round and in two; of columns that are independent. Control: without it they are not."""
    for workload, times in (([["c2", "c0"]], 10), ([["c2", "c0"]], 350), ([], 10)):
        codes = np.array([*itertools.product(*map(range, CARDS))] * times)
        ledger, calls = fit(codes, rng=KeyedRNG.from_seed(4), workload=workload)
        assert ((3, 4) in {call.shape for call in calls}) == bool(workload)
        assert ledger.total() <= 1.0


def test_options_have_one_form_and_others_are_named():
    """However it was written; columns that a domain lacks are named."""
    learner = AdaptiveNetwork(workload=[["c2", "c0", "c2"], ("number", "c0")])
    assert learner == AdaptiveNetwork(workload=(("c2", "c0"), ["number", "c0"]))
    assert learner.wanted(DOMAIN) == {(0, 2), (0, 3)}
    learner.check_domain(DOMAIN)
    with pytest.raises(ValueError, match=r"^workload names \['age', 'sex'\], which are not modelled columns"):
        AdaptiveNetwork(workload=[["sex", "age", "c0"]]).check_domain(DOMAIN)
    for workload in ("ab", [["a"]], [["a", "a"]], ["ab", "cd"], [["a", 1]], 3, None, [[]], {"a": "b"}):
        with pytest.raises(ValueError, match=r"^workload \(.*lists of at least two columns.*such as"):
            AdaptiveNetwork(workload=workload)
    assert AdaptiveNetwork() == AdaptiveNetwork(max_cost=300_000)
    assert AdaptiveNetwork(max_cost=1).max_cost == 1
    with pytest.raises(ValueError, match=r"max_cost \(0\) must be a whole number of at least 1"):
        AdaptiveNetwork(max_cost=0)

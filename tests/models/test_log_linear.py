"""Products of factors: the law by definition, draws that follow it exactly, and even draws."""

import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chisquare

from sdv_plausible.mechanism.drawing.released_prefixes import ReleasedSeeds
from sdv_plausible.models import log_linear
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.models.conditional_table import ConditionalTable, ParentConfigurations, spread_uniforms
from sdv_plausible.models.log_linear import FLOOR, Factor, LogLinearConditional, bounded
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

CODES = (5, 4, 3)  # numbers of codes of columns 0, 1, 2; column 3 is the child


BUCKET = np.array([0, 1, 1, 2, 3, 3, 3, 0, 2])  # of each code of the child
# Every record of the parents and the child.
EVERYTHING = np.array(list(itertools.product(*(range(k) for k in (*CODES, 9)))))


def made(seed=0, *, factors=4):
    """A child of nine codes in four buckets, factors of one parent, of two, and of a parent on other buckets."""
    rng = np.random.default_rng(seed)
    inside = rng.random(9)
    inside /= np.bincount(BUCKET, inside)[BUCKET]
    given = [
        ParentConfigurations(parents=(0,), buckets=(np.arange(5),)),
        ParentConfigurations(parents=(1, 2), buckets=(np.array([0, 1, 1, 0]), np.arange(3))),
        ParentConfigurations(parents=(0, 2), buckets=(np.array([0, 0, 1, 1, 0]), np.array([0, 1, 0]))),
        ParentConfigurations(parents=(1,), buckets=(np.arange(4),)),
    ]
    chosen = [given[i % 4] for i in range(factors)]
    weights = tuple(Factor.of(g, rng.random((g.number, 4)) ** 3) for g in chosen)
    base = np.array([0.2, 1.0, 0.0, 0.5])
    return LogLinearConditional(child=3, bucket=BUCKET, inside=inside, base=base, factors=weights)


def by_definition(conditional, record):
    """P(code | parents) in plain loops."""
    weight = [float(w) for w in conditional.base]
    for f in conditional.factors:
        row = 0
        for parent, buckets in zip(f.given.parents, f.given.buckets, strict=True):
            row = row * (int(buckets.max()) + 1) + int(buckets[record[parent]])
        weight = [w * float(x) for w, x in zip(weight, f.weights[row], strict=True)]
    code = record[3]
    b = conditional.bucket[code]
    return weight[b] / sum(weight) * float(conditional.inside[code])


@pytest.mark.parametrize("combined", [1 << 18, 1])
def test_the_probability_is_the_product_by_definition(combined, monkeypatch):
    monkeypatch.setattr(log_linear, "MOST_COMBINED", combined)
    for factors in (0, 1, 4, 20):
        conditional = made(factors=factors)
        told = np.exp(conditional.log_probability(EVERYTHING))
        assert told == pytest.approx([by_definition(conditional, r) for r in EVERYTHING], abs=1e-5)
        assert told.reshape(-1, 9).sum(axis=1) == pytest.approx(1)
        assert np.exp(conditional.tabulated().log_probability(EVERYTHING)) == pytest.approx(told, abs=1e-5)
    # Weights at the floor, everywhere but for one bucket of each factor: a product of them all would be zero.
    given = ParentConfigurations(parents=(0,), buckets=(np.zeros(5, dtype=int),))
    factors = tuple(Factor.of(given, np.eye(4)[[i % 4]]) for i in range(80))
    told = np.exp(replace(made(), base=np.ones(4), factors=factors).log_probability(EVERYTHING[:9]))
    assert np.bincount(BUCKET, told) == pytest.approx(np.full(4, 0.25), abs=1e-4)


class Grid:
    """Coins that show every number of a fine grid, in order."""

    def uniform(self, size):
        return (np.arange(size) + 0.5) / size


def test_what_is_drawn_is_what_is_told():
    """Over a grid of u each code comes as often as it is told, to one point. Control: of other factors."""
    conditional, size = made(), 1 << 16
    for parents in [(0, 0, 0), (4, 3, 2), (2, 1, 1)]:
        record = np.tile([*parents, 0], (size, 1))
        drawn = np.bincount(conditional.draw(record, Grid()), minlength=9) / size
        each = np.column_stack([np.tile(parents, (9, 1)), np.arange(9)])
        told = [np.exp(law.log_probability(each)) for law in (conditional, made(1))]
        own, others = (np.abs(drawn - law).max() for law in told)
        assert own <= 2 / size < others
        assert drawn[3] == drawn[8] == 0  # their bucket has no weight


def test_a_record_has_one_probability_whoever_stands_beside_it_and_none_above_its_bound(monkeypatch):
    """Whatever the parents are. Control: half the bound is not one."""
    conditional = made()
    logs = conditional.log_probability(EVERYTHING).reshape(-1, 9).max(axis=0)
    assert (logs <= conditional.most_likely + 1e-12).all()
    assert not (logs <= conditional.most_likely - np.log(2)).all()
    alone = np.concatenate([conditional.log_probability(r[None]) for r in EVERYTHING[:200]])
    assert (conditional.log_probability(EVERYTHING)[:200] == alone).all()
    monkeypatch.setattr(log_linear, "CELLS_AT_ONCE", 40)
    assert (conditional.log_probability(EVERYTHING)[:200] == alone).all()


def test_a_known_child_gives_its_parents_by_their_exact_law(monkeypatch):
    """Each row's own code, by rejection: parents by chi-square (false alarm 1e-6). Planted: a bound that is too low."""
    conditional = made()
    even = [np.full((1, k), 1 / k) for k in CODES]
    alone = [ConditionalTable(child=j, parents=(), buckets=(), probabilities=p) for j, p in enumerate(even)]
    model = BayesianNetwork([*alone, conditional])
    cells = np.array([(*parents, 1) for parents in np.ndindex(*CODES)])
    law = np.exp(conditional.log_probability(cells))

    def p_value():
        known = {3: np.ones(6_000, dtype=np.int64)}
        codes, found = ReleasedSeeds.none().sample_each(known, model, KeyedRNG.from_seed(3))
        assert found.all()
        counts = np.bincount(np.ravel_multi_index(codes[:, :3].T, CODES), minlength=60)
        return float(chisquare(counts, law / law.sum() * 6_000).pvalue)

    assert p_value() > 1e-6
    low = np.full(9, float(np.log(law).max()) - 3)
    monkeypatch.setitem(vars(conditional), "most_likely", low)
    assert p_value() < 1e-6


def plain(seed=0):
    """A bucket for each of four codes, in another order than theirs."""
    return replace(made(seed), bucket=np.array([3, 0, 2, 1]), inside=np.ones(4))


ALARM = 1e-6  # false-alarm probability of every test by p_of_many; the coins are fixed


def p_of_many(conditional, told):
    """P-value of 40,000 draws of ``draw_many`` for each of four combinations of parents, against what is told."""
    # All in one call, and one after the other: a record must keep its own parents when others are done.
    found, size = [], conditional.cardinality
    four = np.array([(0, 0, 0, 0), (4, 3, 2, 0), (2, 1, 1, 0), (1, 2, 0, 0)])
    drawn = conditional.draw_many(np.tile(four, (40_000, 1)), KeyedRNG.from_seed(0)).reshape(-1, 4)
    for (*parents, _), own in zip(four, drawn.T, strict=True):
        observed = np.bincount(own, minlength=size)
        law = np.exp(told.log_probability(np.column_stack([np.tile(parents, (size, 1)), np.arange(size)])))
        assert not observed[law == 0].any()
        found.append(chisquare(observed[law > 0], 40_000 * law[law > 0]).pvalue)
    return float(4 * min(found))


WAYS = {
    "one table": {},
    "rejection": {"MOST_COMBINED": 1},
    "rejection by several tables": {"MOST_COMBINED": 1, "MOST_ACCEPTANCE": 1},
    "inversion after one": {"MOST_COMBINED": 1, "MOST_PROPOSALS": 1},
    "inversion of many": {"MOST_COMBINED": 1, "MOST_AGAIN": 0},
    "inversion at the end": {"MOST_COMBINED": 1, "FEW": 0, "MOST_AGAIN": 1},
    "too many codes": {"MOST_CODES": 1},
}


@pytest.mark.parametrize("of", [made, plain])
@pytest.mark.parametrize("way", WAYS)
def test_many_records_have_the_law_that_is_told(way, of, monkeypatch):
    """Whatever is proposed and turned away. Control: the law of other factors."""
    for name, value in WAYS[way].items():
        monkeypatch.setattr(log_linear, name, value)
    assert p_of_many(of(), of()) > ALARM > p_of_many(of(), of(1))


BUGS = ("all are kept", "left to the last proposal", "another's parents", "without the base")


@pytest.mark.parametrize("bug", BUGS)
def test_planted_bugs_of_many_draws_are_caught(bug, monkeypatch):
    monkeypatch.setattr(log_linear, "MOST_COMBINED", 1)
    conditional = made()
    if bug == "all are kept":
        every = lambda self, place, rng: np.ones(len(place), dtype=bool)  # noqa: E731
        monkeypatch.setattr(log_linear.Thresholds, "draw", every)
    elif bug == "left to the last proposal":
        monkeypatch.setattr(log_linear, "MOST_PROPOSALS", 1)
        found = lambda self, cumulative, _: np.zeros(len(cumulative), dtype=int)  # noqa: E731
        monkeypatch.setattr(LogLinearConditional, "_invert", found)
    elif bug == "another's parents":
        monkeypatch.setattr(log_linear, "MOST_PROPOSALS", 1)
        rows = LogLinearConditional._rows
        monkeypatch.setattr(LogLinearConditional, "_rows", lambda self, c: rows(self, np.roll(c, 1, 0)))
    else:
        table = conditional._tables[0][1] / np.maximum(conditional.base, 0.1).astype(np.float32)
        tables, _, *others = conditional._rejection_sampler
        conditional.__dict__["_rejection_sampler"] = (
            tables,
            log_linear.AliasTable(table.astype(float)),
            *others,
        )
    assert p_of_many(conditional, made()) < ALARM


def test_factors_and_conditionals_that_are_none_are_refused():
    given = ParentConfigurations(parents=(0,), buckets=(np.arange(5),))
    for weights, what in (
        (np.full((3, 4), 1.0), "a row for each"),
        (np.full((5, 4), 0.5), "largest"),
        (np.full((5, 4), np.nan), "lie in"),
    ):
        with pytest.raises(ValueError, match=what):
            Factor(given=given, weights=weights.astype(np.float32))
    for change, what in (
        ({"base": np.zeros(4)}, "not all 0"),
        ({"base": np.array([1.0, np.nan, 1, 1])}, "finite"),
        ({"inside": np.full(9, 0.5)}, "sum to 1"),
        ({"base": np.ones(5)}, "sum to 1"),
    ):
        with pytest.raises(ValueError, match=what):
            replace(made(), **change)
    found = bounded(np.array([[1e-30, 2.0, 1.0], [0.0, 0.0, 0.0]]))
    assert found.tolist() == [[FLOOR, 1.0, 0.5], [FLOOR] * 3]


def test_a_copy_draws_the_same_and_carries_no_tables_of_its_own_making():
    conditional, records = made(), EVERYTHING
    conditional.log_probability(records)
    copy = pickle.loads(pickle.dumps(conditional))
    assert set(vars(copy)) == {"child", "bucket", "inside", "base", "factors"}
    assert (
        copy.draw(records, KeyedRNG.from_seed(1)) == conditional.draw(records, KeyedRNG.from_seed(1))
    ).all()


def test_each_run_of_neighbours_has_a_number_in_each_interval():
    for n in (1, 2, 1000, 1024):
        alike = np.arange(n)[::-1] // 3
        u = spread_uniforms(alike, KeyedRNG.from_seed(2))
        assert u.shape == (n,)
        assert ((u >= 0) & (u < 1)).all()
    for first in range(0, 340, 80):  # groups of three, so off by one group at the ends
        run = u[np.isin(alike, np.arange(first, first + 80))]
        assert np.ptp(np.bincount((run * 8).astype(int), minlength=8)) <= 6


def test_each_number_alone_is_uniform_and_two_columns_do_not_follow_one_another():
    """400 runs with keys of their own, within 5 deviations: false alarm 1e-6 each. Control: the same number twice."""
    alike = np.arange(64)
    first = np.stack([spread_uniforms(alike, KeyedRNG.from_seed(i)) for i in range(400)])
    second = np.stack([spread_uniforms(alike, KeyedRNG.from_seed(1000 + i)) for i in range(400)])
    assert np.abs(first.mean(axis=0) - 0.5).max() < 5 * np.sqrt(1 / 12 / 400)
    product = (first - 0.5) * (second - 0.5)
    assert abs(product.mean()) < 5 * (1 / 12) / np.sqrt(product.size)
    assert abs(((first - 0.5) ** 2).mean()) > 5 * (1 / 12) / np.sqrt(product.size)


def test_even_draws_hardly_scatter_around_the_law():
    """Control: independent draws of as many records scatter five times as much."""
    conditional = made()
    records = np.column_stack([np.random.default_rng(0).integers(0, k, 20_000) for k in (*CODES, 9)])
    key = np.ravel_multi_index(records[:, :3].T, CODES)
    law = np.exp(conditional.log_probability(EVERYTHING)) * np.bincount(key, minlength=60).repeat(9)
    for systematic in (True, False):
        drawn = conditional.draw(records, KeyedRNG.from_seed(4), systematic=systematic)
        apart = np.abs(np.bincount(key * 9 + drawn, minlength=60 * 9) - law).sum() / 20_000
        assert (apart < 0.015) == systematic

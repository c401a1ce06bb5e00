"""Domains learned under a budget: what one row can change, what is charged, and that the bins are of use.

Statistical checks reject at p < 1e-6, their false-alarm probability, and are shown to reject a planted fault.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from sdv_plausible import (
    Budget,
    PlausibleDeniabilityMultiTableSynthesizer,
    PlausibleDeniabilitySynthesizer,
    fit_source,
)
from sdv_plausible.fitting.domain_learning import learned_file
from sdv_plausible.privacy.accounting.composition import compose
from sdv_plausible.privacy.accounting.losses import InfiniteLoss
from sdv_plausible.privacy.ledger import BudgetExceededError, PrivacyLedger
from sdv_plausible.privacy.noise import mechanisms as noise
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.noise.mechanisms import record_calls
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.queries import queryable
from sdv_plausible.queries.partition_selection import LEAST_HOLDERS, FrequentValueCounts
from sdv_plausible.queries.queryable import NoisyValues, Queryable
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.table.codec import ColumnCodec
from sdv_plausible.table.columns.domain import Attribute
from sdv_plausible.table.declared.domain_file import DomainFile
from sdv_plausible.table.declared.specifications import declare
from sdv_plausible.table.learned import private_domain
from sdv_plausible.table.learned.declared_ranges import DeclaredRange, declared_range_of
from sdv_plausible.table.learned.inferred_domains import infer_attribute
from sdv_plausible.table.learned.private_columns import learn_attributes
from sdv_plausible.table.learned.private_domain import MOST_BINS, DomainPlan, LearningBudget, check_bins
from sdv_plausible.table.learned.raw_queries import FrameColumns, MissingCount
from sdv_plausible.table.learned.value_grid import ValueGrid

ALARM = 1e-6
SDTYPES = {"city": "categorical", "flag": "boolean", "amount": "numerical", "when": "datetime"}


def make_table(n: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    start = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    return pd.DataFrame(
        {
            "city": rng.choice(["Bern", "Basel", "Chur"], n, p=[0.5, 0.3, 0.2]),
            "flag": rng.random(n) < 0.4,
            "amount": np.where(rng.random(n) < 0.3, 0.0, np.round(rng.gamma(3, 50, n), 2)),
            "when": start,
        }
    )


def learn(
    table: pd.DataFrame, plan: DomainPlan | None = None, seed: int = 5, max_bins: int = 30
) -> dict[str, Attribute]:
    plan = plan or DomainPlan.make({c: SDTYPES[c] for c in table}, LearningBudget.of(1.0, 1e-6))
    return learn_from(table, plan, max_bins, KeyedRNG.from_seed(seed))


def columns_behind_a_door(table: pd.DataFrame, plan: DomainPlan, rng: KeyedRNG) -> Queryable:
    return Queryable(FrameColumns(table), PrivacyLedger(delta=1e-6), plan.entries(), rng)


def learn_from(table: pd.DataFrame, plan: DomainPlan, max_bins: int, rng: KeyedRNG) -> dict[str, Attribute]:
    return learn_attributes(columns_behind_a_door(table, plan, rng), plan, {}, {}, max_bins)


# ---- rare values ------------------------------------------------------------------------------------------------------


class Values:
    """So many values, each held by so many rows."""

    def __init__(self, number: int, rows: int) -> None:
        self.number, self.rows = number, rows

    def occurring(self, rows):
        return range(self.number), np.full(self.number, self.rows), np.zeros(1, dtype=np.int64)


def passing(mu: float, failure: float, rows: int, trials: int) -> int:
    """How many of independent values, each held by so many rows, are released."""
    plan = DomainPlan(columns={"x": "categorical"}, mu=mu, failure=failure)
    door = columns_behind_a_door(pd.DataFrame(), plan, KeyedRNG.from_os_entropy())
    return len(door.ask_frequent(Values(trials, rows), 1.0, failure).values)


def too_many(passed: int, trials: int, failure: float) -> bool:
    return bool(stats.binom.sf(passed - 1, trials, failure) < ALARM)


def test_rare_value_passes_no_more_often_than_charged():
    failure, trials = 0.05, 4000
    assert not too_many(passing(0.2, failure, LEAST_HOLDERS, trials), trials, failure)
    assert passing(0.2, failure, LEAST_HOLDERS, trials) > 0
    assert passing(0.2, failure, LEAST_HOLDERS - 1, trials) == 0  # surely


def test_planted_fault_threshold_without_a_margin(monkeypatch):
    monkeypatch.setattr(queryable, "threshold", lambda sigma, failure, neighbours: LEAST_HOLDERS + 1)
    assert too_many(passing(0.2, 0.05, LEAST_HOLDERS, 4000), 4000, 0.05)


def test_planted_fault_half_the_noise(monkeypatch):
    honest = noise.discrete_gaussian

    def double(values, *, rho, **how):
        return honest(values, rho=rho / 4, **how)

    monkeypatch.setattr(noise, "discrete_gaussian", double)  # the threshold is for half of this noise
    assert too_many(passing(0.2, 0.05, LEAST_HOLDERS, 4000), 4000, 0.05)


# ---- one row -----------------------------------------------------------------------------------------------------------

EXTREMES = [
    {"city": "Zz, the only one"},
    {"city": None},
    {"city": "Aarau"},
    {"amount": 1e300},
    {"amount": -1e18},
    {"amount": math.inf},
    {"amount": 1 / 3},
    {"amount": 5e-324},
    {"amount": None},
    {"when": pd.Timestamp("1680-01-01")},
    {"when": pd.Timestamp("2262-01-01 00:00:00.1")},
    {"when": pd.NaT},
    {"flag": None},
]


@pytest.mark.parametrize("extreme", EXTREMES, ids=str)
@pytest.mark.parametrize("num_rows", [300, 4000])
def test_an_extreme_row_moves_no_bound_and_adds_no_value(extreme, num_rows):
    """With the noise held fixed; the chosen seeds keep every noisy count one row away from its threshold."""
    ((name, value),) = extreme.items()
    values = make_table(num_rows)[name].tolist()
    short, longer = (
        pd.DataFrame({name: pd.Series(v)}) for v in (values, [*values, value])
    )  # in the types that pandas chooses
    assert learn(short) == learn(longer)


def test_planted_fault_domain_from_the_rows():
    """The inferred domain fails the comparison above, so the comparison can fail."""
    table = make_table(300)
    for name, value in (("city", "Zz"), ("amount", 1e300), ("when", pd.Timestamp("1680-01-01"))):
        longer = pd.Series([*table[name], value])
        assert infer_attribute(name, table[name], SDTYPES[name]) != infer_attribute(
            name, longer, SDTYPES[name]
        )


def test_one_missing_value_does_not_change_how_whole_numbers_or_categories_are_written():
    """One missing value turns int64 into float64: the values of the domain stay whole, and equal."""
    whole = pd.DataFrame({"n": np.arange(3000) % 5})
    missing = pd.DataFrame({"n": pd.Series([*whole["n"], np.nan])})
    for sdtype in ("numerical", "categorical"):
        first, second = (
            learn_from(
                t, DomainPlan.make({"n": sdtype}, LearningBudget.of(2.0, 1e-6)), 30, KeyedRNG.from_seed(1)
            )["n"]
            for t in (whole, missing)
        )
        assert repr(first) == repr(second)
        assert first.values == (0, 1, 2, 3, 4) or first.kind == "integer"


def recorded_tables(table: pd.DataFrame, sdtype: str, monkeypatch) -> list[object]:
    """Every table that is measured, in order, when the noisy answers are the same whatever the rows are."""
    seen: list[object] = []

    def ask(self, question, share):
        exact = question.exact(self._rows)
        seen.append(np.array(exact))
        return NoisyValues(values=np.where(np.arange(len(exact)) % 61 < 2, 900.0, 0.0), sigma=1.0)

    def ask_frequent(self, question, share, failure):
        _, counts, public = question.occurring(self._rows)
        seen.append(np.append(np.sort(counts), public if len(public) else 0))
        return FrequentValueCounts(
            values=[], counts=np.zeros(0), public=np.zeros(len(public)), sigma=1.0, granularity=1.0
        )

    with monkeypatch.context() as patch:
        patch.setattr(Queryable, "ask", ask)
        patch.setattr(Queryable, "ask_frequent", ask_frequent)
        learn_from(
            table, DomainPlan.make({"x": sdtype}, LearningBudget.of(1.0, 1e-6)), 8, KeyedRNG.from_seed(0)
        )
    return seen


def changes(first: list, second: list) -> list[float]:
    """L1 distance of the tables of two neighbours; occurring values are compared by their sorted counts."""
    assert len(first) == len(second)
    found = []
    for a, b in zip(first, second, strict=True):
        if len(a) != len(b):  # a value that occurs in one of them only: it has one row there
            longer, shorter = (a, b) if len(a) > len(b) else (b, a)
            assert len(longer) == len(shorter) + 1
            shorter = np.append(np.sort(np.append(shorter[:-1], 0)), shorter[-1])
            found.append(float(np.abs(longer.astype(float) - shorter).sum()))
        else:
            found.append(float(np.abs(a.astype(float) - b).sum()))
    return found


ALPHABETS = {
    "categorical": ["a", "b", None],
    "boolean": [True, False, None],
    "numerical": [0.0, -1.5, 1e300, None, math.inf],
    "datetime": [pd.Timestamp("2000-01-01"), pd.Timestamp("1700-05-05 01:02:03"), pd.NaT],
}


@pytest.mark.parametrize("sdtype", ALPHABETS)
def test_one_row_changes_each_measured_table_by_one(sdtype, monkeypatch):
    """Brute force over all tables of up to three rows and all rows added to them."""
    dtype = {"numerical": float, "datetime": "M8[ns]"}.get(sdtype, object)
    frame = lambda values: pd.DataFrame({"x": pd.Series(list(values), dtype=dtype)})  # noqa: E731
    for size in (1, 2, 3):
        for rows in itertools.combinations_with_replacement(ALPHABETS[sdtype], size):
            before = recorded_tables(frame(rows), sdtype, monkeypatch)
            for extra in ALPHABETS[sdtype]:
                after = recorded_tables(frame([*rows, extra]), sdtype, monkeypatch)
                assert max(changes(before, after)) <= 1, (rows, extra)


def test_planted_fault_overlapping_cells(monkeypatch):
    """Cells that share their ends let one row into two of them: the brute force sees it."""
    grid = ValueGrid.grid
    monkeypatch.setattr(ValueGrid, "grid", lambda self: (grid(self)[0], grid(self)[1] + 1))
    frame = lambda values: pd.DataFrame({"x": np.array(values, dtype=float)})  # noqa: E731
    before, after = (
        recorded_tables(frame(v), "numerical", monkeypatch) for v in ([4.0], [4.0, 6.4])
    )  # 6.4 is lattice point 64
    assert max(changes(before, after)) > 1


# ---- charges -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_rows", [40, 3000, 40_000])
def test_noise_drawn_is_what_was_charged(num_rows):
    table = make_table(num_rows)
    plan = DomainPlan.make(SDTYPES, LearningBudget.of(1.0, 1e-6))
    with record_calls() as calls:
        learn(table, plan)
    assert {c.name for c in calls} == {"discrete_gaussian"}
    assert {c.sensitivity for c in calls} == {1.0}
    spent = sum((c.sensitivity / c.scale) ** 2 for c in calls)
    assert 0.5 * plan.mu**2 < spent <= plan.mu**2 * (1 + 1e-9)
    thresholded = sum(isinstance(loss, private_domain.ApproxDP) and loss.count for loss in plan.losses)
    assert thresholded == 3  # city, amount, when
    assert thresholded * plan.failure == pytest.approx(private_domain.FAILURE_SHARE * 1e-6)


def test_spending_a_share_twice_is_refused():
    plan = DomainPlan(columns={"x": "boolean"}, mu=1.0, failure=1e-6)
    rows = columns_behind_a_door(pd.DataFrame({"x": [True]}), plan, KeyedRNG.from_seed(0))
    rows.ask(MissingCount("x"), 0.7)
    with record_calls() as calls, pytest.raises(BudgetExceededError, match="exceeds what is left"):
        rows.ask(MissingCount("x"), 0.7)
    assert not calls


def test_public_cells_do_not_depend_on_the_rows():
    """Removing the only row of a cell changes nothing but noise: as many cells get noise."""
    with record_calls() as calls:
        for value in (3.0, 1e9):
            learn_from(
                pd.DataFrame({"x": [value]}),
                DomainPlan.make({"x": "numerical"}, LearningBudget.of(1.0, 1e-6)),
                8,
                KeyedRNG.from_seed(0),
            )
    half = len(calls) // 2
    assert [c.shape for c in calls[:half]] == [c.shape for c in calls[half:]]


def test_nothing_is_planned_without_columns():
    assert DomainPlan.make({}, LearningBudget.of(1.0, 1e-6)).entries() == []
    assert (
        learn_from(make_table(3), DomainPlan.make({}, LearningBudget.of(1.0, 1e-6)), 8, KeyedRNG.from_seed(0))
        == {}
    )


# ---- without noise ----------------------------------------------------------------------------------------------------


def without_noise(table: pd.DataFrame, max_bins: int = 30, **bounds: DeclaredRange) -> dict[str, Attribute]:
    return learn(
        table,
        DomainPlan.make({c: SDTYPES[c] for c in table}, LearningBudget.of(math.inf, 1e-6), bounds=bounds),
        5,
        max_bins,
    )


def distance(attribute: Attribute, column: pd.Series, seed: int = 1) -> float:
    """Total variation, on a grid of 20 quantiles, of a column to itself after its bins, drawn again."""
    codec, edges = ColumnCodec(attribute), np.unique(np.quantile(column, np.linspace(0, 1, 21)))
    made = codec.decode(codec.encode(column), KeyedRNG.from_seed(seed))
    counts = [np.bincount(np.searchsorted(edges, x, side="right"), minlength=30) for x in (column, made)]
    return float(np.abs(counts[0] - counts[1]).sum() / 2 / len(column))


RANGE = {"range_min": 0.0, "range_max": 10.0**6, "decimal_places": 2}


@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize("skewed", [False, True])
def test_an_infinite_epsilon_is_no_worse_than_a_finite_one(declared, skewed):
    """Deterministic. A smooth column, of which chance repeats values, and a skewed one with a spike."""
    rng, n = np.random.default_rng(3), 20_000
    x = (
        np.where(rng.random(n) < 0.3, 0, np.round(rng.gamma(0.4, 2000, n)))
        if skewed
        else rng.normal(3000, 700, n)
    )
    table = pd.DataFrame({"amount": np.round(x.clip(0))})
    bounds = {"amount": declared_range_of(declare("amount", RANGE, None, 30), RANGE)} if declared else {}
    plan = DomainPlan.make({"amount": "numerical"}, LearningBudget.of(1.0, 1e-6), bounds=bounds)
    exact, noisy = without_noise(table, **bounds)["amount"], learn(table, plan)["amount"]
    assert distance(exact, table["amount"]) <= distance(noisy, table["amount"]) + 0.007


def test_planted_fault_equal_bins_without_noise():
    """What was done before: a declared range kept its equal bins where epsilon was infinite."""
    rng = np.random.default_rng(3)
    column = pd.Series(np.round(rng.gamma(0.4, 2000, 20_000), 2))
    known = declared_range_of(declare("amount", RANGE, None, 30), RANGE)
    assert distance(known.plain, column) > 0.5
    assert distance(without_noise(column.to_frame("amount"), amount=known)["amount"], column) < 0.1


def test_without_noise_a_value_of_few_rows_is_not_named_and_nothing_is_claimed():
    table = pd.DataFrame({"city": ["Bern"] * 50 + ["Basel"] * LEAST_HOLDERS + ["Chur"] * (LEAST_HOLDERS - 1)})
    plan = DomainPlan.make({"city": "categorical"}, LearningBudget.of(math.inf, 1e-6))
    assert without_noise(table)["city"].values == ("Basel", "Bern")
    assert plan.losses == (InfiniteLoss(),)
    assert [entry.status for entry in plan.entries()] == ["no claim"]
    assert plan.least_count == LEAST_HOLDERS
    assert plan.warnings(10_000) == []


@pytest.mark.parametrize("num_rows", [0, 1, 40])
def test_tables_of_few_rows_without_noise(num_rows):
    with np.errstate(all="raise"):
        assert list(without_noise(make_table(40).head(num_rows))) == list(SDTYPES)


def test_fewer_columns_take_a_smaller_share():
    one, all_ = (
        DomainPlan.make({"x": "numerical"}, LearningBudget.of(1.0, 1e-6), declared=d) for d in (9, 0)
    )
    assert one.mu**2 == pytest.approx(all_.mu**2 / 10)
    assert compose(one.losses, 1e-6) < compose(all_.losses, 1e-6) < 1


# ---- the domain is of use ----------------------------------------------------------------------------------------------


def test_no_columns_cost_more_than_the_most() -> None:
    """What a domain that was voted for carries to the next fit; of columns of the dearest kind alone it is all of it."""
    whole, bounds = LearningBudget.of(1.0, 1e-6), declared_range_of(declare("amount", RANGE, None, 30), RANGE)
    most, failures = whole.most
    costs = []
    for sdtype, bounded in [*((sdtype, False) for sdtype in private_domain.WEIGHTS), ("numerical", True)]:
        for number in (1, 3):
            columns = {f"x{i}": sdtype for i in range(number)}
            plan = DomainPlan.make(columns, whole, bounds=dict.fromkeys(columns, bounds) if bounded else {})
            noise_, *thresholds = plan.losses
            assert sum(loss.delta * loss.count for loss in thresholds) <= failures.delta * (1 + 1e-9)
            costs.append(noise_.sensitivity_over_sigma)
    assert max(costs) == pytest.approx(most.sensitivity_over_sigma)


def test_values_bounds_and_rounding_are_found():
    """Deterministic: the noise is seeded. A domain without any look at the rows fails each of these."""
    table = make_table(40_000)
    found = learn(table)
    assert found["city"].values == ("Basel", "Bern", "Chur")
    assert not any(a.nullable for a in found.values())
    amount = found["amount"]
    assert (amount.kind, amount.decimals) == ("float", 2)
    assert any(low == high == 0.0 for low, high in zip(amount.lower, amount.upper, strict=True))
    assert 300 < amount.upper[-1] < 1400
    when = found["when"]
    assert when.unit == 86_400_000_000_000
    assert pd.Timestamp("2020-01-01") <= pd.Timestamp(when.lower[0])
    assert pd.Timestamp(when.upper[-1]) < pd.Timestamp("2025-01-01")
    for attribute, values in ((amount, table["amount"]), (when, table["when"].astype("int64"))):
        assert len(attribute.lower) == 30
        low, high = values.quantile([0.01, 0.99])
        widths = np.subtract(attribute.upper, attribute.lower)
        assert widths[np.less(attribute.lower, high)].max() < 0.5 * (high - low)


def test_missing_values_are_found_and_can_be_ruled_out():
    table = make_table(20_000).astype({"flag": object})
    table.loc[::5] = None
    assert all(a.nullable for a in learn(table).values())
    plan = DomainPlan.make(SDTYPES, LearningBudget.of(1.0, 1e-6), never_missing=frozenset(SDTYPES))
    assert not any(a.nullable for a in learn(table, plan).values())


@pytest.mark.parametrize("num_rows", [1, 2, 30])
def test_tables_too_small_to_see_anything_give_an_empty_domain_not_an_error(num_rows):
    found = learn(make_table(num_rows))
    assert all(a.cardinality >= 1 for a in found.values())
    assert found["city"] == Attribute(name="city", kind="categorical", nullable=True, provenance="private")


@pytest.mark.parametrize(
    "column", [[None, None], [1e308, -1e308], [math.inf, 1.0], [2**63 - 1, -(2**62)], ["7", "x"]], ids=str
)
def test_odd_numbers(column):
    plan = DomainPlan.make({"x": "numerical"}, LearningBudget.of(5.0, 1e-6))
    found = learn_from(pd.DataFrame({"x": column * 2000}), plan, 20, KeyedRNG.from_seed(1))["x"]
    assert found.cardinality <= 21


# ---- columns that were destroyed -------------------------------------------------------------------------


def domain_of(cells, sdtype: str, form: str | None = None, beside: int = 7, seed: int = 3) -> Attribute:
    """The domain of a column of a table of so many undeclared columns more, at epsilon 1 and delta 1e-9."""
    made = DomainPlan.make(
        {"x": sdtype, **{f"n{i}": "boolean" for i in range(4 * beside)}}, LearningBudget.of(1.0, 1e-9)
    )
    alone = DomainPlan(
        columns={"x": sdtype}, mu=made.mu * math.sqrt(made.share("x") + made.share()), failure=made.failure
    )
    rows = columns_behind_a_door(pd.DataFrame({"x": cells}), alone, KeyedRNG.from_seed(seed))
    return learn_attributes(rows, alone, {"x": {"datetime_format": form}}, {}, 100)["x"]


def days_of(first: str, offsets: np.ndarray) -> pd.Series:
    return pd.Series((np.datetime64(first) + offsets).astype("M8[s]"))


def test_columns_of_4000_rows_keep_their_range_and_what_many_rows_share():
    """Each was destroyed by the mechanism before; one noise seed each, far from its chance."""
    rng, n = np.random.default_rng(0), 4000
    years = lambda a: [int(pd.Timestamp(a.lower[0]).year), int(pd.Timestamp(a.upper[-1]).year)]  # noqa: E731
    birth = days_of("1930-01-01", rng.integers(0, 25_000, n)).mask(rng.random(n) < 0.3)
    low, high = years(domain_of(birth, "datetime"))
    wrong = [] if low <= 1935 and 1990 <= high <= 2010 else [("births", low, high)]
    share = np.where(rng.random(n) < 0.566, 100.0, (100 - rng.exponential(8, n)).clip(10, 99.9).round(1))
    found = domain_of(share, "numerical", beside=30)
    if not (100.0 in found.lower and found.upper[-1] == 100.0):
        wrong.append(("percentages", found.lower[-1], found.upper[-1]))
    found = domain_of(rng.integers(6 * 10**18, 7 * 10**18, n), "numerical")
    if not (5.5e18 < found.lower[0] <= 6.01e18 and 6.99e18 <= found.upper[-1] < 7.5e18):
        wrong.append(("beyond 2**62", found.lower[0], found.upper[-1]))
    found = domain_of(rng.integers(2**63, 2**64, n, dtype=np.uint64), "numerical")
    if not 2.0**63 <= found.lower[0] < found.upper[-1] <= 2.0**65:
        wrong.append(("64 bits without a sign", found.lower[0], found.upper[-1]))
    months = pd.Series((np.datetime64("2018-01") + rng.integers(0, 60, n)).astype("M8[s]"))
    found = domain_of(months, "datetime")
    if {pd.Timestamp(end).is_month_start for end in (*found.lower, *found.upper)} != {True}:
        wrong.append(("month starts", len(found.lower)))
    found = domain_of(days_of("2024-06-30", np.zeros(n, dtype=int)), "datetime")
    if found.lower != found.upper:
        wrong.append(("a constant date", found.lower, found.upper))
    minutes = rng.integers(0, 1440, n)
    found = domain_of(minutes // 60 * 100 + minutes % 60, "numerical")
    if any(a // 100 != b // 100 or b % 100 > 59 for a, b in zip(found.lower, found.upper, strict=True)):
        wrong.append(("clock times", found.lower, found.upper))
    assert not wrong


SHARED_BY_MANY: dict[str, tuple[str, np.ndarray | pd.Series]] = {
    "scores": ("numerical", np.random.default_rng(1).integers(1, 11, 3000).astype(float)),
    "rates": ("numerical", np.random.default_rng(2).choice([5.32, 7.97, 14.07, 12.61, 17.09], 3000)),
    "days": ("datetime", days_of("2024-03-01", np.random.default_rng(3).integers(0, 12, 3000))),
}


@pytest.mark.parametrize("kind", SHARED_BY_MANY)
@pytest.mark.parametrize("epsilon", [1.0, 20.0])
def test_no_bin_is_where_noise_alone_was_found(kind, epsilon):
    """Where single values hold all rows, the best of many empty cells is none of the column's."""
    sdtype, cells = SHARED_BY_MANY[kind]
    for rows in (cells, pd.Series(cells).mask(np.random.default_rng(4).random(len(cells)) < 0.3)):
        far = []
        for seed in range(20):
            plan = DomainPlan.make({"x": sdtype, "y": sdtype}, LearningBudget.of(epsilon, 1e-9))
            table = pd.DataFrame({"x": rows, "y": rows})
            found = learn_attributes(
                columns_behind_a_door(table, plan, KeyedRNG.from_seed(seed)), plan, {}, {}, 100
            )["x"]
            ends = [*found.lower, *found.upper]
            present = pd.Series(cells).dropna()
            numbers = present.astype("M8[ns]").astype(np.int64) if sdtype == "datetime" else present
            # Where noise hides single values, cells are coarse, and may be joined by those beside them.
            beside = (
                50 * 365 * 86_400 * 10**9 if sdtype == "datetime" else 20 * (numbers.max() - numbers.min())
            )
            if ends and not numbers.min() - beside <= min(ends) <= max(ends) <= numbers.max() + beside:
                far.append((seed, min(ends), max(ends)))
        assert far == []


TOO_MANY = rf"max_bins \({MOST_BINS + 1}\) must be at most 5,000 where numbers or dates are learned \(x\)"
HOMES = {
    "tables": {
        "homes": {"primary_key": "home", "columns": {"home": {"sdtype": "id"}, "x": {"sdtype": "numerical"}}},
        "people": {"columns": {"of": {"sdtype": "id"}, "sex": {"sdtype": "categorical"}}},
    },
    "relationships": [
        {
            "parent_table_name": "homes", "parent_primary_key": "home",
            "child_table_name": "people", "child_foreign_key": "of",
        }
    ],
}  # fmt: skip


def by_tables(rows: pd.DataFrame, domain: dict, budget: Budget, **options: Any) -> None:
    children = pd.DataFrame({"of": range(len(rows)), "sex": "f"})
    tables = {"homes": rows[["x"]].assign(home=range(len(rows))), "people": children}
    given = {"homes": domain, "people": {"sex": {"range_values": ["f", "m"]}}}
    PlausibleDeniabilityMultiTableSynthesizer(HOMES, domain=given, budget=budget, **options).fit(tables)


def by_metadata(rows: pd.DataFrame, domain: dict, budget: Budget, **options: Any) -> None:
    known = metadata_from_columns({"x": {"sdtype": "numerical"}})
    PlausibleDeniabilitySynthesizer(known, domain=domain, budget=budget, **options).fit(rows)


def by_file(rows: pd.DataFrame, domain: dict, budget: Budget, *, max_bins: int, types: str) -> None:
    learned_file(
        rows,
        DomainFile(columns=domain or {"x": {"sdtype": "numerical"}}),
        1.0,
        1e-9,
        budget=budget,
        max_bins=max_bins,
    )


def by_source(rows: pd.DataFrame, domain: dict, budget: Budget, **options: Any) -> None:
    fit_source(rows, {"columns": {"x": {"sdtype": "numerical"}}}, domain, budget=budget, **options)


def by_vote(rows: pd.DataFrame, _: dict, budget: Budget, *, max_bins: int, types: str) -> None:
    fit_source(rows.astype(str), budget=budget, max_bins=max_bins, types="voted")


DOORS = {one.__name__: one for one in (by_tables, by_metadata, by_file, by_source, by_vote)}


@pytest.mark.parametrize("door", DOORS)
def test_more_bins_than_a_learned_column_may_have_are_refused_before_anything_is_spent(door, tmp_path):
    """A million of them took minutes, in a fit of one table as of several. Control: a declared column may have more."""
    rows, budget = pd.DataFrame({"x": [float(i) for i in range(40)]}), Budget(5.0, 1e-8, tmp_path / "budget")
    with pytest.raises(Refused, match=TOO_MANY):
        DOORS[door](rows, {}, budget, max_bins=MOST_BINS + 1, types="declared")
    assert budget.charged()["epsilon"] == 0
    check_bins(MOST_BINS, {"x": "numerical"}, ["y"])
    check_bins(MOST_BINS + 1, {"x": "categorical"})
    if door in ("by_tables", "by_source"):
        declared = {"x": {"sdtype": "numerical", "range_min": 0, "range_max": 39, "decimal_places": 0}}
        DOORS[door](rows, declared, budget, max_bins=MOST_BINS + 1, types="declared")
        assert budget.charged()["epsilon"] > 0

"""Domains learned under a budget: what one row can change, what is charged, and that the bins are of use.

Statistical checks reject at p < 1e-6, their false-alarm probability, and are shown to reject a planted fault.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from sdv_plausible.privacy.accounting.composition import compose
from sdv_plausible.privacy.accounting.losses import InfiniteLoss
from sdv_plausible.privacy.ledger import BudgetExceededError, PrivacyLedger
from sdv_plausible.privacy.noise import mechanisms as noise
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.privacy.noise.mechanisms import record_calls
from sdv_plausible.questions import queryable
from sdv_plausible.questions.frequent import LEAST_HOLDERS, Frequent
from sdv_plausible.questions.queryable import Answer, Queryable
from sdv_plausible.table.codec import ColumnCodec
from sdv_plausible.table.columns.domain import Attribute
from sdv_plausible.table.declared.specifications import declare
from sdv_plausible.table.learned import private_domain
from sdv_plausible.table.learned.bounds import Bounds, bounds_of
from sdv_plausible.table.learned.inference import infer_attribute
from sdv_plausible.table.learned.lattice import Lattice
from sdv_plausible.table.learned.private_columns import learn_attributes
from sdv_plausible.table.learned.private_domain import DomainPlan, Whole
from sdv_plausible.table.learned.raw_counts import FrameColumns, MissingOrNot

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
    plan = plan or DomainPlan.make({c: SDTYPES[c] for c in table}, Whole.of(1.0, 1e-6))
    return learn_from(table, plan, max_bins, Coins.from_seed(seed))


def columns_behind_a_door(table: pd.DataFrame, plan: DomainPlan, coins: Coins) -> Queryable:
    return Queryable(FrameColumns(table), PrivacyLedger(delta=1e-6), plan.entries(), coins)


def learn_from(table: pd.DataFrame, plan: DomainPlan, max_bins: int, coins: Coins) -> dict[str, Attribute]:
    return learn_attributes(columns_behind_a_door(table, plan, coins), plan, {}, {}, max_bins)


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
    door = columns_behind_a_door(pd.DataFrame(), plan, Coins.from_os_entropy())
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

    def double(values, *, sensitivity, rho, coins):
        return honest(values, sensitivity=sensitivity, rho=rho / 4, coins=coins)

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
            learn_from(t, DomainPlan.make({"n": sdtype}, Whole.of(2.0, 1e-6)), 30, Coins.from_seed(1))["n"]
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
        return Answer(values=np.where(np.arange(len(exact)) % 61 < 2, 900.0, 0.0), sigma=1.0)

    def ask_frequent(self, question, share, failure):
        _, counts, public = question.occurring(self._rows)
        seen.append(np.append(np.sort(counts), public if len(public) else 0))
        return Frequent(values=[], counts=np.zeros(0), public=np.zeros(len(public)), sigma=1.0)

    with monkeypatch.context() as patch:
        patch.setattr(Queryable, "ask", ask)
        patch.setattr(Queryable, "ask_frequent", ask_frequent)
        learn_from(table, DomainPlan.make({"x": sdtype}, Whole.of(1.0, 1e-6)), 8, Coins.from_seed(0))
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
    grid = Lattice.grid
    monkeypatch.setattr(Lattice, "grid", lambda self: (grid(self)[0], grid(self)[1] + 1))
    frame = lambda values: pd.DataFrame({"x": np.array(values, dtype=float)})  # noqa: E731
    before, after = (
        recorded_tables(frame(v), "numerical", monkeypatch) for v in ([4.0], [4.0, 6.4])
    )  # 6.4 is lattice point 64
    assert max(changes(before, after)) > 1


# ---- charges -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_rows", [40, 3000, 40_000])
def test_noise_drawn_is_what_was_charged(num_rows):
    table = make_table(num_rows)
    plan = DomainPlan.make(SDTYPES, Whole.of(1.0, 1e-6))
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
    rows = columns_behind_a_door(pd.DataFrame({"x": [True]}), plan, Coins.from_seed(0))
    rows.ask(MissingOrNot("x"), 0.7)
    with record_calls() as calls, pytest.raises(BudgetExceededError, match="exceeds what is left"):
        rows.ask(MissingOrNot("x"), 0.7)
    assert not calls


def test_public_cells_do_not_depend_on_the_rows():
    """Removing the only row of a cell changes nothing but noise: as many cells get noise."""
    with record_calls() as calls:
        for value in (3.0, 1e9):
            learn_from(
                pd.DataFrame({"x": [value]}),
                DomainPlan.make({"x": "numerical"}, Whole.of(1.0, 1e-6)),
                8,
                Coins.from_seed(0),
            )
    half = len(calls) // 2
    assert [c.shape for c in calls[:half]] == [c.shape for c in calls[half:]]


def test_nothing_is_planned_without_columns():
    assert DomainPlan.make({}, Whole.of(1.0, 1e-6)).entries() == []
    assert learn_from(make_table(3), DomainPlan.make({}, Whole.of(1.0, 1e-6)), 8, Coins.from_seed(0)) == {}


# ---- without noise ----------------------------------------------------------------------------------------------------


def without_noise(table: pd.DataFrame, max_bins: int = 30, **bounds: Bounds) -> dict[str, Attribute]:
    return learn(
        table,
        DomainPlan.make({c: SDTYPES[c] for c in table}, Whole.of(math.inf, 1e-6), bounds=bounds),
        5,
        max_bins,
    )


def distance(attribute: Attribute, column: pd.Series, seed: int = 1) -> float:
    """Total variation, on a grid of 20 quantiles, of a column to itself after its bins, drawn again."""
    codec, edges = ColumnCodec(attribute), np.unique(np.quantile(column, np.linspace(0, 1, 21)))
    made = codec.decode(codec.encode(column), Coins.from_seed(seed))
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
    bounds = {"amount": bounds_of(declare("amount", RANGE, None, 30), RANGE)} if declared else {}
    plan = DomainPlan.make({"amount": "numerical"}, Whole.of(1.0, 1e-6), bounds=bounds)
    exact, noisy = without_noise(table, **bounds)["amount"], learn(table, plan)["amount"]
    assert distance(exact, table["amount"]) <= distance(noisy, table["amount"]) + 0.005


def test_planted_fault_equal_bins_without_noise():
    """What was done before: a declared range kept its equal bins where epsilon was infinite."""
    rng = np.random.default_rng(3)
    column = pd.Series(np.round(rng.gamma(0.4, 2000, 20_000), 2))
    known = bounds_of(declare("amount", RANGE, None, 30), RANGE)
    assert distance(known.plain, column) > 0.5
    assert distance(without_noise(column.to_frame("amount"), amount=known)["amount"], column) < 0.1


def test_without_noise_a_value_of_few_rows_is_not_named_and_nothing_is_claimed():
    table = pd.DataFrame({"city": ["Bern"] * 50 + ["Basel"] * LEAST_HOLDERS + ["Chur"] * (LEAST_HOLDERS - 1)})
    plan = DomainPlan.make({"city": "categorical"}, Whole.of(math.inf, 1e-6))
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
    one, all_ = (DomainPlan.make({"x": "numerical"}, Whole.of(1.0, 1e-6), declared=d) for d in (9, 0))
    assert one.mu**2 == pytest.approx(all_.mu**2 / 10)
    assert compose(one.losses, 1e-6) < compose(all_.losses, 1e-6) < 1


# ---- the domain is of use ----------------------------------------------------------------------------------------------


def test_no_columns_cost_more_than_the_most() -> None:
    """What a domain that was voted for carries to the next fit; of columns of the dearest kind alone it is all of it."""
    whole, bounds = Whole.of(1.0, 1e-6), bounds_of(declare("amount", RANGE, None, 30), RANGE)
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
    plan = DomainPlan.make(SDTYPES, Whole.of(1.0, 1e-6), never_missing=frozenset(SDTYPES))
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
    plan = DomainPlan.make({"x": "numerical"}, Whole.of(5.0, 1e-6))
    found = learn_from(pd.DataFrame({"x": column * 2000}), plan, 20, Coins.from_seed(1))["x"]
    assert found.cardinality <= 21

"""Values too rare to be learned: they are not missing, and get what was learned, in proportion.

Statistical checks reject at p < 1e-6, their false-alarm probability, and are shown to reject a planted fault.
"""

from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sentences import notes_of

from sdv_plausible import PlausibleDeniabilitySynthesizer, Release
from sdv_plausible.fitting.diagnostics import HolderDiagnostics
from sdv_plausible.privacy.accounting.losses import ApproxDP
from sdv_plausible.privacy.ledger import BudgetExceededError, PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.noise.mechanisms import record_calls
from sdv_plausible.queries.partition_selection import FrequentValueCounts, threshold
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.release.file.document_nodes import DocumentNode
from sdv_plausible.release.file.domain_section import read_column
from sdv_plausible.rules import Equal
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.table import codec
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.domain import Attribute, Domain, write_attribute
from sdv_plausible.table.data_checks import check_columns, columns_mostly_outside
from sdv_plausible.table.learned import private_columns, private_domain
from sdv_plausible.table.learned.private_columns import learn_attributes
from sdv_plausible.table.learned.private_domain import DomainPlan, LearningBudget
from sdv_plausible.table.learned.raw_queries import FrameColumns, FrequentValues

ALARM = 1e-6
COUNTS = (600, 300, 100, 250)  # a, b, c and all others


def learned(*, nullable: bool = False, counts: tuple[int, ...] | None = COUNTS) -> Domain:
    return Domain((
        Attribute(
            name="x", kind="categorical", values=("a", "b", "c"), nullable=nullable, counts=counts,
            provenance="private",
        ),
    ))  # fmt: skip


def cells(*values: object) -> pd.DataFrame:
    return pd.DataFrame({"x": np.array(values, dtype=object)})


@pytest.mark.parametrize(("nullable", "expected"), [(True, [0, 3, 3, -1, 2]), (False, [0, -1, -1, -1, 2])])
def test_a_rare_value_has_no_code_and_a_missing_cell_its_own(nullable, expected):
    table = cells("a", None, [1], "rare", "c")  # a list can be no value of a column
    assert Codec(learned(nullable=nullable)).known(table)[:, 0].tolist() == expected


def test_what_was_declared_is_read_as_before():
    table = cells("a", None, "rare", "c")
    assert Codec(learned(nullable=True, counts=None)).known(table)[:, 0].tolist() == [0, 3, 3, 2]


@pytest.mark.parametrize("cell", ["rare", "b", None, 7])
def test_one_row_moves_its_own_code_alone(cell):
    table = cells(*["a", "rare", None, "c"] * 5)
    other = table.copy()
    other.at[6, "x"] = cell
    one, two = (Codec(learned(nullable=True)).known(frame) for frame in (table, other))
    assert set(np.flatnonzero(one != two)) <= {6}


def p_value(codes: np.ndarray) -> float:
    expected = np.array(COUNTS[:3]) / sum(COUNTS[:3]) * len(codes)
    return float(stats.chisquare(np.bincount(codes, minlength=3)[:3], expected).pvalue)


def test_rare_values_are_drawn_in_proportion(monkeypatch):
    table = cells(*["rare"] * 4000)
    for nullable in (True, False):
        codes = Codec(learned(nullable=nullable)).encode(table, KeyedRNG.from_seed(3))[:, 0]
        assert set(codes) == {0, 1, 2}  # and never missing
        assert p_value(codes) > ALARM
    monkeypatch.setattr(codec, "_drawn", lambda attribute, n, rng: rng.integers(3, n))  # planted fault
    assert p_value(Codec(learned()).encode(table, KeyedRNG.from_seed(3))[:, 0]) < ALARM


def test_without_rows_of_learned_values_all_are_alike():
    codes = Codec(learned(counts=(0, 0, 0, 9))).encode(cells(*["rare"] * 999), KeyedRNG.from_seed(3))[:, 0]
    assert set(codes) == {0, 1, 2}


def test_a_value_of_no_rows_is_not_drawn(monkeypatch):
    """Of 0 rows none is made, wherever it stands. Planted: a draw on the edge goes to the value before it."""
    rare = cells(*["rare"] * 999)
    drawn = lambda *counts: set(Codec(learned(counts=counts)).encode(rare, KeyedRNG.from_seed(3))[:, 0])  # noqa: E731
    assert drawn(0, 5, 5, 9) == {1, 2}
    assert drawn(5, 0, 5, 9) == {0, 2}
    search = np.searchsorted
    monkeypatch.setattr(codec.np, "searchsorted", lambda up_to, u, side: search(up_to, u, side="left"))
    assert drawn(0, 5, 5, 9) == {0, 1, 2}


def industries(missing: int, rows: int = 20_000) -> pd.DataFrame:
    """Half of the rows hold one of three values, a tenth no value, the others one of thousands."""
    rng = np.random.default_rng(1)
    values = np.where(rng.random(rows) < 0.5, rng.integers(0, 3, rows), rng.integers(3, 4000, rows)).astype(
        str
    )
    table = pd.DataFrame({"x": values.astype(object), "y": rng.choice(["m", "f"], rows)})
    table.loc[rng.permutation(rows)[:missing], "x"] = None
    return table


def fitted(table: pd.DataFrame) -> tuple[Release, list[str]]:
    words = {name: {"sdtype": "categorical"} for name in table}
    synth = PlausibleDeniabilitySynthesizer(metadata_from_columns(words), epsilon=2.0, delta=1e-6)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        synth.fit(table)
    return synth.release(), [text for text in notes_of(told) if "too rare" in text]


@pytest.mark.parametrize("missing", [0, 2_000])
def test_a_fit_tells_missing_cells_from_rare_values(missing):
    release, told = fitted(industries(missing))
    found = release.domain["x"]
    assert found.values == ("0", "1", "2")
    assert found.nullable or not missing  # of none, noise makes some once in 160 fits: a handful of cells
    assert 0.45 < found.unlearned_share < 0.55
    share = release.sample(3_000)["x"].isna().mean()
    assert share < 0.03 if not missing else 0.05 < share < 0.15
    assert len(told) == 1
    assert f"x ({found.unlearned_share:.0%})" in told[0]
    assert "y (" not in told[0]


def test_what_is_told_is_what_the_release_shows(tmp_path):
    """Of released answers alone: told of the domain in the file as of the rows it is from."""
    release, told = fitted(industries(0))
    release.save(tmp_path / "x.release")
    teller = HolderDiagnostics()
    teller.report_domain(Release.load(tmp_path / "x.release").domain)
    assert [str(one) for one in teller.issued] == told


@pytest.mark.parametrize("counts", [COUNTS, None])
def test_counts_survive_in_a_domain_and_in_a_release(counts, tmp_path):
    domain = learned(counts=counts)
    domain.save(tmp_path / "d.json")
    assert Domain.load(tmp_path / "d.json") == domain
    written = json.loads(json.dumps(write_attribute(domain["x"])))
    assert ("counts" in written) == (counts is not None)
    assert read_column(DocumentNode(written, "a")) == domain["x"]


@pytest.mark.parametrize("counts", [(1, 2, 3), (1, 2, 3, -1), [1, 2, 3, 4], (0.5,) * 4, (2**41, 0, 0, 0)])
def test_counts_that_say_nothing_are_refused(counts):
    with pytest.raises(ValueError, match=r"counts .* leave counts out"):
        learned(counts=counts)


def test_counts_are_of_categories_alone():
    """A number's codes begin with its bins: counts of its texts would be drawn as these."""
    with pytest.raises(ValueError, match=r"counts .* leave counts out"):
        Attribute(name="x", kind="integer", lower=(0,), upper=(9,), values=("N",), counts=(5, 1))


def test_rows_that_noise_may_have_made_hold_no_rare_value():
    """What is left of all rows must stand out; a copy is made of values and has no counts of its own."""
    held = private_columns._CommonValues(
        {(False, "a"): (90.0, 100.0), (False, "b"): (90.0, 100.0)}, (0.0, 100.0)
    )
    for rows, others in ((220.0, 0), (240.0, 60)):  # deviation: sqrt(400), of which 2.5 are 50
        found = held.attribute("x", "categorical", (rows, 100.0), may_miss=True)
        assert found.counts == (90, 90, others)
        (copy,) = Equal("y", "x").attributes({"x": found}, {}, {})
        assert (copy.values, copy.counts) == (found.values, None)


def outside(table: pd.DataFrame, domain: Domain) -> tuple[str, list[str]]:
    """What the holder is told of a table beside a domain."""
    known = {"x": domain["x"]}
    found = check_columns(table, known, {"x": domain["x"].nullable}, lambda line: None)
    return str(found), columns_mostly_outside(table, known)


@pytest.mark.parametrize("nullable", [True, False])
def test_rare_values_are_not_said_to_be_lost(nullable):
    """As many cells outside as the domain says are no stranger. Control: declared values, and more cells."""
    table = cells(*["a"] * 40, *["rare"] * 60)
    many = learned(nullable=nullable, counts=(40, 0, 0, 60))
    text, names = outside(table, many)
    assert "have values that were not learned, and are replaced by learned ones in proportion" in text
    assert names == []
    assert outside(cells(*["a"] * 15, *["rare"] * 85), many)[1] == ["x"]
    text, names = outside(table, learned(nullable=nullable, counts=None))
    assert ("become missing" if nullable else "get random ones") in text
    assert names == ["x"]


# ---- two looks -----------------------------------------------------------------------------------------------------


def several(rows: int = 20_000) -> pd.DataFrame:
    """Four categories of which one has many values, each held by 50 rows."""
    rng = np.random.default_rng(2)
    table = pd.DataFrame({name: rng.choice(["m", "f"], rows) for name in "abc"})
    return table.assign(x=[f"value {i % (rows // 50)}" for i in range(rows)])


def learned_from(table: pd.DataFrame, epsilon: float = 1.5) -> tuple[dict[str, Attribute], DomainPlan, float]:
    """Domains, what they may cost, and the sum of squares that was drawn."""
    plan = DomainPlan.make(dict.fromkeys(table, "categorical"), LearningBudget.of(epsilon, 1e-6))
    rows = Queryable(FrameColumns(table), PrivacyLedger(delta=1e-6), plan.entries(), KeyedRNG.from_seed(4))
    with record_calls() as calls:
        found = learn_attributes(rows, plan, {}, {}, 20)
    return found, plan, sum((call.sensitivity / call.scale) ** 2 for call in calls)


def test_the_second_look_goes_where_values_are_lost(monkeypatch):
    """Deterministic: the noise is seeded. The planted fault shares the second look evenly."""
    found, plan, spent = learned_from(several())
    assert plan.has_two_rounds
    assert spent == pytest.approx(plan.mu**2)
    assert [loss.count for loss in plan.losses if isinstance(loss, ApproxDP)] == [8]
    assert found["a"].values == ("f", "m")
    assert found["a"].counts is not None
    assert found["a"].counts[:2] == pytest.approx((10_000, 10_000), abs=600)
    twice = len(found["x"].values)
    monkeypatch.setattr(private_columns, "FIRST", 1 - 1e-9)
    assert len(learned_from(several())[0]["x"].values) < twice / 2


def test_the_ledger_says_what_the_second_look_takes(monkeypatch):
    """Where columns lost alike, its threshold is the number of rows that is said. Planted: that of one look."""
    asked: list[int] = []
    ask = Queryable.ask_frequent

    def heard(rows: Queryable, question: FrequentValues, share: float, failure: float) -> FrequentValueCounts:
        asked.append(threshold(rows.allowance.sigma(share), failure, rows.neighbours))
        return ask(rows, question, share, failure)

    monkeypatch.setattr(Queryable, "ask_frequent", heard)
    monkeypatch.setattr(private_columns._CommonValues, "others", lambda *_: (100.0, 10.0))
    _, plan, _ = learned_from(several())
    assert asked[4:] == [plan.least_count] * 4
    assert f"fewer than about {plan.least_count:,} rows" in plan.entries()[0].mechanism
    monkeypatch.setattr(private_domain, "FIRST", 0.0)
    assert asked[-1] != plan.least_count


def test_planted_fault_a_second_look_that_nobody_charged(monkeypatch):
    monkeypatch.setattr(private_domain, "_count_thresholded", lambda columns, bounds: len(columns))
    with pytest.raises(BudgetExceededError):
        learned_from(several())


@pytest.mark.parametrize("number", [3, 4])
def test_few_categories_are_looked_at_once(number):
    names = [f"x{i}" for i in range(number)]
    plan = DomainPlan.make(dict.fromkeys(names, "categorical"), LearningBudget.of(1.0, 1e-6))
    assert plan.has_two_rounds == (number >= 4)
    assert not DomainPlan.make(
        dict.fromkeys(names, "categorical"), LearningBudget.of(math.inf, 1e-6)
    ).has_two_rounds


def test_what_one_look_found_and_the_other_did_not_is_kept():
    one = private_columns._CommonValues(
        {(False, "b"): (90.0, 100.0), (False, "a"): (50.0, 100.0)}, (0.0, 100.0)
    )
    other = private_columns._CommonValues(
        {(False, "b"): (120.0, 50.0), (False, "c"): (30.0, 50.0)}, (6.0, 50.0)
    )
    both = one.average_with(other)
    assert list(both.values) == [(False, "a"), (False, "b"), (False, "c")]
    assert both.values[False, "b"] == pytest.approx((110.0, 100 / 3))
    assert both.missing == pytest.approx((4.0, 100 / 3))
    assert both.others((1000.0, 16.0)) == pytest.approx((806.0, math.sqrt(16 + 150 + 200 / 3)))

"""From declarations and a table to a domain: declared, learned or inferred, each said so in the ledger, in the columns' order."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sdv_plausible.privacy.accounting.losses import InfiniteLoss
from sdv_plausible.privacy.ledger import BudgetExceededError, PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.noise.mechanisms import record_calls
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.declared.declarations import Declarations
from sdv_plausible.table.domain_building import build_domain, domain_entries
from sdv_plausible.table.learned.inferred_domains import infer_attribute
from sdv_plausible.table.learned.private_domain import DomainPlan, LearningBudget

SPECS = {
    "age": {"sdtype": "numerical"}, "city": {"sdtype": "categorical"}, "flag": {"sdtype": "boolean"},
    "day": {"sdtype": "datetime", "datetime_format": "%d.%m.%Y"},
}  # fmt: skip
AGE = Attribute(name="age", kind="integer", lower=(0, 50), upper=(49, 99))
DAYS = Attribute(name="day", kind="datetime", lower=(0,), upper=(10**18,), datetime_format="%Y-%m-%d")


def table(n=4000, **changed):
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    cells = {
        "age": rng.integers(18, 90, n),
        "city": rng.choice(["Bern", "Chur"], n),
        "flag": rng.random(n) < 0.4,
    }
    return pd.DataFrame({**cells, "day": pd.Series(days.strftime("%d.%m.%Y")), **changed})


def build(rows, declared, specs=SPECS, ledger=None):
    plan = declared.plan_private(specs, LearningBudget.of(2.0, 1e-6))
    return build_domain(
        rows, declared, specs, 20, plan, ledger or PrivacyLedger(delta=1e-6), KeyedRNG.from_seed(1)
    )


def test_declared_learned_and_inferred_in_the_order_of_the_table():
    declared = Declarations({"age": AGE}, "private")
    rows, ledger = table()[["flag", "age", "day", "city"]], PrivacyLedger(delta=1e-6)
    domain = build(rows, declared, ledger=ledger)
    assert domain.names == ("flag", "age", "day", "city")
    assert domain["age"] is AGE
    assert {a.name: a.provenance for a in domain} == {
        "age": "declared", "city": "private", "flag": "private", "day": "private",
    }  # fmt: skip
    assert domain["city"].values == ("Bern", "Chur")
    assert domain["day"].datetime_format == "%d.%m.%Y"
    assert [entry.name for entry in ledger.entries] == ["domain"]
    inferred = build(rows, Declarations({"age": AGE}, "infer"))
    assert inferred["city"] == infer_attribute("city", rows["city"], "categorical", SPECS["city"], 20)
    assert inferred.inferred == ("flag", "day", "city")


def test_nothing_is_looked_at_before_the_ledger_agrees():
    """Control: where it agrees, noise is drawn."""
    declared = Declarations({}, "private")
    with record_calls() as calls, pytest.raises(BudgetExceededError):
        build(table(50), declared, ledger=PrivacyLedger(delta=1e-6, limit=1e-3))
    assert not calls
    with record_calls() as calls:
        build(table(50), declared)
    assert calls


def test_how_dates_are_written_is_the_tables_schema():
    """A declared range of dates takes the declared format, whatever the column's type; else dates, or dates with a zone."""
    stamps = pd.Series(pd.date_range("2021-01-01", periods=50))
    bare = {**SPECS, "day": {"sdtype": "datetime"}}
    for column, specs, form, zone in (
        (stamps, SPECS, "%d.%m.%Y", None),
        (stamps.dt.strftime("%d.%m.%Y"), SPECS, "%d.%m.%Y", None),
        (stamps, bare, None, None),
        (stamps.dt.tz_localize("Asia/Tokyo"), bare, None, "Asia/Tokyo"),
    ):
        declared = replace(DAYS, datetime_format=None)
        found = build(table(50, day=column), Declarations({"day": declared}), specs)["day"]
        assert (found.datetime_format, found.time_zone) == (form, zone)
        shown = pd.Timestamp(found.lower[0], tz=zone).tz_localize(None).value  # the ends are what clocks show
        assert ((shown,), found.provenance) == (DAYS.lower, "declared")


def test_what_is_inferred_without_a_claim_and_what_is_left_to_others():
    """Dates as text without a format, which a claim refuses before the draw: tests/integration/test_nothing_is_spent.py."""
    specs = {**SPECS, "day": {"sdtype": "datetime"}}
    iso = table(50, day=["2021-01-01"] * 50)
    assert build(iso, Declarations({}, "infer"), specs)["day"].provenance == "inferred"
    specs = {
        **SPECS,
        "age": {"sdtype": "numerical", "transformed": True},
    }  # what was declared is about raw values
    found = build(table(50), Declarations({"age": AGE}), specs)
    assert found["age"].provenance == "inferred"
    assert found["age"] != AGE
    lacking = table(9)[["age"]]
    made = DomainPlan.make({}, LearningBudget.of(1.0, 1e-6))
    ledger, rng = PrivacyLedger(delta=1e-6), KeyedRNG.from_seed(1)
    assert build_domain(lacking, Declarations({"age": AGE}), SPECS, 20, made, ledger, rng) == Domain((AGE,))


def attribute(name, provenance):
    return Attribute(name=name, kind="categorical", values=(1,), provenance=provenance)


def test_what_is_declared_is_free_and_what_is_inferred_ends_the_claim():
    a, b, c = (attribute(*one) for one in (("a", "declared"), ("b", "private"), ("c", "inferred")))
    free, ended = domain_entries(Domain((a, b, c)))
    assert (free.status, free.parts, free.mechanism) == ("declared", ("domain",), "declared: a")
    assert (ended.status, ended.parts, ended.mechanism) == (
        "no claim",
        ("domain",),
        "derived from the rows: c",
    )
    assert ended.losses == (InfiniteLoss(),)
    assert 'undeclared="private"' in ended.note
    assert domain_entries(Domain((b,))) == []  # its plan charges for it
    (entry,) = domain_entries(Domain(tuple(attribute(f"x{i}", "declared") for i in range(9))))
    assert entry.mechanism == "declared: x0, x1, x2, x3, x4, x5 and 3 more"


def test_words_of_a_column_that_is_not_modelled_end_the_claim_too():
    """As the pattern of an id, edited after a look. Control: an id that nobody has looked at."""
    domain = Domain((attribute("a", "declared"),))
    entries = domain_entries(domain, Declarations({}, origins={"home": "edited"}))
    assert [entry.status for entry in entries] == ["declared", "no claim"]
    assert entries[1].mechanism == "declared, then edited after a comparison with the rows: home"
    assert [entry.status for entry in domain_entries(domain, Declarations({}))] == ["declared"]

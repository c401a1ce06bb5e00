"""What became of a column's rows, estimated from noisy answers: near the truth, and a planted loss is seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import QueryRecord
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.queries.transcript import NoisyAnswer, Transcript
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.learned.lost_mass import (
    MOST_LEVELS,
    answers_fault,
    columns_frame,
    estimate_lost_mass,
    lost_mass_warnings,
)
from sdv_plausible.table.learned.private_columns import learn_attributes
from sdv_plausible.table.learned.private_domain import DomainPlan, LearningBudget
from sdv_plausible.table.learned.raw_queries import FrameColumns

SDTYPES = {"amount": "numerical", "share": "numerical", "birth": "datetime", "city": "categorical"}


def learned(n: int = 20_000) -> tuple[Domain, tuple]:
    rng = np.random.default_rng(4)
    table = pd.DataFrame(
        {
            "amount": np.where(rng.random(n) < 0.2, np.nan, rng.lognormal(5, 0.5, n).round(2)),
            "share": np.where(rng.random(n) < 0.6, 100.0, rng.uniform(50, 99, n).round(1)),
            "birth": np.datetime64("1950-01-01") + rng.integers(0, 20_000, n),
            "city": rng.choice(["Bern", "Chur"], n),
        }
    )
    plan, transcript = DomainPlan.make(SDTYPES, LearningBudget.of(1.0, 1e-9)), Transcript()
    ledger = PrivacyLedger(delta=1e-9)
    rows = Queryable(
        FrameColumns(table), ledger, plan.entries(), KeyedRNG.from_seed(1), transcript=transcript
    )
    found = learn_attributes(rows, plan, {}, {}, 100)
    return Domain(tuple(found[name] for name in table)), transcript.answers


def test_shares_are_near_the_truth_and_a_lost_range_is_named():
    """Deterministic: the noise is seeded. Planted: bins that lack the upper half of a column."""
    domain, answers = learned()
    found = {mass.column: mass for mass in estimate_lost_mass(domain, answers)}
    assert {*found} == {*SDTYPES}
    for mass in found.values():
        assert mass.exact + mass.merged + mass.replaced + mass.missing <= 1 + 1e-9
        assert mass.replaced <= 0.02 + 3 * mass.uncertainty
    assert abs(found["amount"].missing - 0.2) < 0.03
    assert abs(found["share"].exact - 0.6) < 0.05
    assert lost_mass_warnings(domain, answers) == []
    birth = domain["birth"]
    half = replace(birth, lower=birth.lower[:40], upper=birth.upper[:40])
    short = replace(domain, attributes=tuple(half if a.name == "birth" else a for a in domain))
    lost = next(mass for mass in estimate_lost_mass(short, answers) if mass.column == "birth")
    assert lost.replaced > 0.4
    assert "birth" in lost_mass_warnings(short, answers)[0]
    assert list(columns_frame(domain, answers).index) == list(SDTYPES)
    assert estimate_lost_mass(domain, ()) == []


def test_missing_cells_of_a_column_that_may_have_none_count_as_replaced():
    """They come out as values of others. Deterministic: the noise is seeded."""
    domain, answers = learned()
    whole = replace(domain["amount"], nullable=False)
    never = replace(domain, attributes=tuple(whole if a.name == "amount" else a for a in domain))
    lost = next(mass for mass in estimate_lost_mass(never, answers) if mass.column == "amount")
    assert lost.missing == 0
    assert abs(lost.replaced - 0.2) < 0.03
    assert "amount" in lost_mass_warnings(never, answers)[0]


def counted(runs: list[tuple[int, int]], counts: list[int], scale: float) -> NoisyAnswer:
    """Noisy counts of runs of whole numbers."""
    first, last = np.array(runs).T
    details = {
        "kind": "integer",
        "decimals": None,
        "unit": 1,
        "first": first,
        "last": last,
        "without": np.zeros(0),
    }
    return NoisyAnswer(
        asked=QueryRecord(kind="runs", columns=("x",), details=details), values=np.array(counts), noise="discrete gaussian",
        scale=scale, paid_by=("domain",),
    )  # fmt: skip


def test_cells_that_are_counted_again_count_by_both():
    """What a round has left counts its last cells once more: the mean by inverse variance, and no part of themselves."""
    sizes = NoisyAnswer(
        asked=QueryRecord(kind="number of rows"), values=np.array([300]), noise="discrete gaussian", scale=1.0,
        paid_by=("domain",),
    )  # fmt: skip
    runs = [(0, 9), (10, 19), (20, 20)]
    column = Attribute(name="x", kind="integer", lower=(0, 10), upper=(9, 19), provenance="private")
    levels = [counted(runs, [100, 100, 80], 2.0), counted(runs, [100, 100, 110], 1.0)]
    (mass,) = estimate_lost_mass(Domain((column,)), [sizes, *levels])
    assert mass.replaced * 300 == pytest.approx((80 / 4 + 110) / (1 / 4 + 1))
    assert mass.uncertainty * 300 == pytest.approx((1 / 4 + 1) ** -0.5)


def test_runs_within_runs_are_added_up_once_each():
    """Sixty levels of a file, each within the one before: asked for twice a level, they took 2^60 steps."""
    attribute = Attribute(name="x", kind="integer", lower=(0,), upper=(0,), provenance="private")

    def answer(kind: str, columns: tuple[str, ...], details: dict, values: list[int]) -> NoisyAnswer:
        asked = QueryRecord(kind=kind, columns=columns, details=details)
        return NoisyAnswer(
            asked=asked, values=np.array(values), noise="discrete gaussian", scale=3.0, paid_by=("domain",), rows="all",
        )  # fmt: skip

    answers = [answer("number of rows", (), {}, [1000])]
    for top in (2**level for level in range(60, 0, -1)):
        first, last = ([0], [top]) if len(answers) == 1 else ([0, top + 1], [top, 2 * top])
        runs = {"first": np.array(first), "last": np.array(last), "without": np.zeros(0, dtype=np.int64)}
        details = {"kind": "integer", "decimals": None, "unit": 1, **runs}
        answers.append(answer("runs", ("x",), details, [5] * len(first)))
    domain = Domain((attribute,))
    assert answers_fault(domain, answers) is None
    assert columns_frame(domain, answers).loc["x", "replaced"] < 0.5
    too_many = [*answers, *[answers[-1]] * MOST_LEVELS]
    assert "at most 100 times" in str(answers_fault(domain, too_many))

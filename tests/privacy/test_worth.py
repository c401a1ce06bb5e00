"""What the noise of a fit is worth: at least 99 % of the epsilon asked, of every model and every kind of learned column.

No statistics: which noise is drawn is recorded, and composed as continuous Gaussian noise of these deviations.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
import pytest

from sdv_plausible.fitting.fit import learn_model
from sdv_plausible.models import NAMES, make_learner
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.privacy.accounting.composition import compose
from sdv_plausible.privacy.accounting.losses import GaussianLoss, Loss
from sdv_plausible.privacy.accounting.sampled_gaussian import SampledGaussianLoss
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.noise.mechanisms import NoiseCall, record_calls
from sdv_plausible.queries.count_queries import CodeArray
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.declared.specifications import declare
from sdv_plausible.table.learned.declared_ranges import declared_range_of
from sdv_plausible.table.learned.private_columns import learn_attributes
from sdv_plausible.table.learned.private_domain import DomainPlan, LearningBudget
from sdv_plausible.table.learned.raw_queries import FrameColumns

EPSILONS = (0.1, 1.0, 10.0)
DELTA = 1e-6
GOAL = 0.99
PARTS = 10_000  # of noise: as many answers as that are as continuous noise is


def worth(calls: Iterable[NoiseCall], charged: Sequence[Loss]) -> float:
    """Epsilon of the noise that was drawn, next to all other losses as they were charged."""
    others = [loss for loss in charged if not isinstance(loss, GaussianLoss)]
    of_samples = [one.sensitivity_over_sigma for one in others if isinstance(one, SampledGaussianLoss)]
    ratios = [c.sensitivity / c.scale for c in calls if c.name == "discrete_gaussian"]
    drawn = [r for r in ratios if not any(math.isclose(r, other) for other in of_samples)]
    each = math.sqrt(math.fsum(r * r for r in drawn) / PARTS)
    return compose([*others, GaussianLoss(sensitivity_over_sigma=each, count=PARTS)], DELTA)


def small_table(columns: int) -> tuple[CodeArray, Domain]:
    """600 rows of codes that depend on one another."""
    rng, cards = np.random.default_rng(columns), [4, 3, 5, 2, 6][:columns]
    base = rng.integers(0, 12, 600)
    codes = np.stack([(base + rng.integers(0, 2, 600)) % c for c in cards], axis=1).astype(np.int32)
    attributes = (
        Attribute(name=f"c{j}", kind="categorical", values=tuple(range(c))) for j, c in enumerate(cards)
    )
    return CodeArray(np.asfortranarray(codes), cards), Domain(tuple(attributes))


@pytest.mark.parametrize("columns", [1, 3, 5])
@pytest.mark.parametrize("model", [name for name in NAMES if name not in ("random", "uniform")])
def test_every_model_is_worth_what_was_asked(model: str, columns: int) -> None:
    """Red before: 85 to 92 % of one column at epsilon 10, 95 to 97 % of three, 56 % of `correlated` at epsilon .1."""
    rows, domain = small_table(columns)
    parts = dict.fromkeys(("learning", "structure", "parameters"), rows)
    for epsilon in EPSILONS if columns < 5 else (1.0,):
        ledger, budget = PrivacyLedger(delta=DELTA), ModelBudget(epsilon=epsilon, delta=DELTA)
        with record_calls() as calls:
            learn_model(parts, domain, make_learner(model), budget, ledger, KeyedRNG.from_seed(1))
        assert GOAL * epsilon <= ledger.total() <= epsilon
        assert GOAL * epsilon <= worth(calls, ledger.losses) <= epsilon


DAYS = pd.Timestamp("2015-01-01") + pd.to_timedelta(np.arange(3000), unit="D")
RAW = {
    "whole": np.arange(3000) % 83,
    "spikes": np.where(np.arange(3000) % 3 == 0, 0, 40),
    "constant": np.full(3000, 7),
    "fractions": np.round(np.geomspace(0.01, 900, 3000), 2),
    "missing": np.full(3000, np.nan),
    "days": DAYS,
    "months": DAYS.to_period("M").to_timestamp(),
}
RANGES: dict[str, tuple[str, dict[str, object]]] = {
    "whole": ("whole", {"range_min": 0, "range_max": 999}),
    "wide": ("whole", {"range_min": -5, "range_max": 10**9, "range_is_nullable": False}),
    "far": ("whole", {"range_min": 10**6, "range_max": 10**9}),
    "cents": ("fractions", {"range_min": 0.0, "range_max": 900, "decimal_places": 2}),
    "digits": ("fractions", {"range_min": 0.0, "range_max": 900.0}),
    "days": ("days", {"range_min": "2015-01-01", "range_max": "2024-12-31", "datetime_format": "%Y-%m-%d"}),
}


def spent(table: pd.DataFrame, plan: DomainPlan) -> float:
    """Share of the budget that learning these columns spends."""
    rows = Queryable(FrameColumns(table), PrivacyLedger(delta=DELTA), plan.entries(), KeyedRNG.from_seed(3))
    with record_calls() as calls:
        learn_attributes(rows, plan, {name: {} for name in table}, {}, 30)
    squares = sum((c.sensitivity / c.scale) ** 2 for c in calls if c.name == "discrete_gaussian")
    return squares / rows.allowance.mu**2


@pytest.mark.parametrize("name", RAW)
def test_a_learned_column_spends_its_share(name: str) -> None:
    """Red before, from 63 % on: looks for finer bins ended early, or there was no pattern to look for."""
    sdtype = "datetime" if name in ("days", "months") else "numerical"
    for epsilon in EPSILONS:
        plan = DomainPlan.make({"x": sdtype}, LearningBudget.of(epsilon, DELTA))
        assert 0.997 < spent(pd.DataFrame({"x": RAW[name]}), plan) <= 1 + 1e-9


@pytest.mark.parametrize("name", RANGES)
def test_a_column_learned_within_a_range_spends_its_share(name: str) -> None:
    column, spec = RANGES[name]
    known = declared_range_of(declare("x", spec, None, 30), spec)
    for epsilon in EPSILONS:
        plan = DomainPlan.make({"x": known.sdtype}, LearningBudget.of(epsilon, DELTA), bounds={"x": known})
        assert 0.997 < spent(pd.DataFrame({"x": RAW[column]}), plan) <= 1 + 1e-9


def test_columns_of_all_kinds_spend_what_was_charged() -> None:
    names = {"c": "categorical", "d": "categorical", "e": "ordinal", "f": "categorical", "g": "boolean"}
    values = np.arange(3000) % 7
    table = pd.DataFrame({name: values % 2 == 0 if name == "g" else values.astype(str) for name in names})
    table = table.assign(n=RAW["fractions"], t=RAW["days"])
    plan = DomainPlan.make({**names, "n": "numerical", "t": "datetime"}, LearningBudget.of(1.0, DELTA))
    assert 0.997 < spent(table, plan) <= 1 + 1e-9
